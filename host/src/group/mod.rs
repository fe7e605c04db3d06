//! Ranks that each have a part of an array, and all get the answer.
//!
//! What each rank's part folds to is gathered as bytes on all ranks, and merged there. Nothing is added on the way, so the number of
//! ranks, the order they answer in and the transport change no bit.
//!
//! A [`Transport`] gathers bytes: MPI's `allgather`, PyTorch's, sockets, threads.
//!
//! ```
//! use std::io;
//! use warpfold::{cpu, fold, group::{Group, Transport}, ops::Sum};
//!
//! /// A group of one.
//! struct Alone;
//!
//! impl Transport for Alone {
//!     fn rank(&self) -> usize { 0 }
//!     fn size(&self) -> usize { 1 }
//!     fn all_gather(&self, bytes: &[u8]) -> io::Result<Vec<Vec<u8>>> { Ok(vec![bytes.to_vec()]) }
//! }
//!
//! let values = [1.5_f32, 2.0, -0.5];
//! let part = fold(Sum).partial_on_cpu(&values, 0)?;
//! assert_eq!(Group::over(Alone).reduce(&part, 3)?, cpu::reduce(Sum, &values)?);
//! # Ok::<(), warpfold::Error>(())
//! ```

use std::io;

use warpfold_kernels::element::Item;

use crate::{
    Error, PartialFault,
    fold::extent::InParts,
    ops::{Reduction, untyped::Answers},
    partial::{AnyPartial, Partial},
};

/// What takes bytes from each rank to all.
pub trait Transport {
    /// Which rank this is, counted from 0.
    fn rank(&self) -> usize;
    /// How many ranks there are.
    fn size(&self) -> usize;
    /// Every rank's bytes, by the number of the rank. All ranks call it together; their bytes may be of different lengths.
    ///
    /// # Errors
    ///
    /// If another rank does not answer.
    fn all_gather(&self, bytes: &[u8]) -> io::Result<Vec<Vec<u8>>>;
}

/// Ranks that reduce together.
#[derive(Clone, Copy, Debug)]
pub struct Group<T> {
    transport: T,
}

impl<T: Transport> Group<T> {
    /// The ranks of a transport.
    pub fn over(transport: T) -> Self {
        Self { transport }
    }

    /// The transport.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// The answers of extents of `len` elements, of which each rank has some, on every rank: [`Partial::finish`] of all ranks' partials. All
    /// ranks call it together. One that cannot must tell the others by other means, for they wait.
    ///
    /// Cost: each rank's bytes go to every rank, once.
    ///
    /// # Errors
    ///
    /// On every rank the same, as [`Partial::merge`] and [`Partial::finish`]; [`Error::Transport`] and [`PartialFault::Ranks`] of
    /// a transport that fails.
    pub fn reduce<R: Reduction<I>, I: Item, E: InParts>(
        &self,
        partial: &Partial<R, I, E>,
        len: u64,
    ) -> Result<E::Answers<R::Answer>, Error> {
        Ok(E::answers(self.reduce_any(partial.as_any(), len)?.unpacked()?))
    }

    /// [`reduce`](Self::reduce), of an operator that is chosen while the program runs.
    ///
    /// # Errors
    ///
    /// As that.
    pub fn reduce_any(&self, partial: &AnyPartial, len: u64) -> Result<Answers, Error> {
        let (rank, size) = (self.transport.rank(), self.transport.size());
        let messages = self.transport.all_gather(&partial.to_bytes());
        let messages = messages.map_err(|source| Error::Transport { rank, size, source })?;
        if messages.len() != size {
            let got = messages.len();
            return Err(Error::Partial(PartialFault::Ranks { rank, size, got }));
        }
        let mut all = partial.empty();
        for message in messages {
            all.merge(partial.read(&message)?)?;
        }
        all.finish(len)
    }
}
