//! Folds in pieces: an array larger than the memory it is folded in, without changing a bit of the answer.
//!
//! Any power-of-two group of neighbouring leaves is a subtree of the canonical tree, so pieces of one such size, folded
//! by themselves and combined as the tree combines them, give what one fold of the whole would give. Which device
//! folded which piece does not matter.

pub(crate) mod subtrees;

use std::{fmt, marker::PhantomData, sync::Arc};

use warpfold_kernels::{element::Item, monoids::Monoid};

use crate::{
    Error,
    ops::{
        Reduction,
        untyped::{Typed, Untyped, of_words, unpacked, words},
    },
};
use subtrees::{Subtree, Subtrees};

/// Combines the states of consecutive pieces.
///
/// All pieces have the same length, a power of two leaves (1024 elements of f32), but the last, which may be shorter.
///
/// Cost: one `combine` a piece; `log₂` of their number states are kept.
///
/// ```
/// use warpfold::{cpu, ops::Sum, pieces::Pieces};
///
/// let values: Vec<f32> = (0..10_000).map(|i| 1.0 / (1 + i) as f32).collect();
/// let mut pieces = Pieces::<_, f32>::new(Sum, 4096)?;
/// for piece in values.chunks(4096) {
///     pieces.push(cpu::fold(Sum, piece), piece.len() as u64)?;
/// }
/// assert_eq!(pieces.finish()?.0, cpu::reduce(Sum, &values)?);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone)]
pub struct Pieces<R: Reduction<I>, I: Item> {
    pieces: AnyPieces,
    op: PhantomData<fn(R, I)>,
}

impl<R: Reduction<I>, I: Item> Pieces<R, I> {
    /// No piece yet; each but the last will have `piece` elements.
    ///
    /// # Errors
    ///
    /// [`Error::PieceLength`] if `piece` is not a power of two leaves; [`Error::Parameter`].
    pub fn new(op: R, piece: u64) -> Result<Self, Error> {
        Ok(Self {
            pieces: AnyPieces::new(Arc::new(Typed::<R, I>::new(op)), piece)?,
            op: PhantomData,
        })
    }

    /// Elements of each piece but the last.
    #[must_use]
    pub fn piece(&self) -> u64 {
        self.pieces.piece
    }

    /// Elements so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.pieces.len
    }

    /// Whether there are no elements so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.len == 0
    }

    /// Takes the next piece: the `state` of its `len` elements, positions counted from its own start. A piece of no
    /// elements changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::PieceOrder`] if the piece is longer than the others, or comes after a shorter one;
    /// [`Error::LengthOverflow`] if there are 2⁶⁴ elements or more. The pieces so far stay as they were.
    pub fn push(&mut self, state: R::State, len: u64) -> Result<(), Error> {
        self.pieces.push(&words(state), len)
    }

    /// The answer and the state of all pieces together.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyExtent`] where there were no elements and the operator has no answer for that.
    pub fn finish(self) -> Result<(R::Answer, R::State), Error> {
        let (answer, state) = self.pieces.finish()?;
        let answer = unpacked(&answer).next().expect("one answer");
        Ok((answer, of_words(&state)))
    }

    /// The state of all pieces together; of none the identity.
    #[must_use]
    pub fn state(self) -> R::State {
        of_words(&self.pieces.state())
    }
}

impl<R: Reduction<I>, I: Item> fmt::Debug for Pieces<R, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.fmt(f)
    }
}

/// [`Pieces`] of an operator that is chosen while the program runs: states are words, answers bytes.
#[derive(Clone)]
pub struct AnyPieces {
    untyped: Arc<dyn Untyped>,
    piece: u64,
    len: u64,
    whole: Subtrees,
    /// The state of the last piece, if it is shorter than the others.
    last: Option<Vec<u32>>,
}

impl AnyPieces {
    pub(crate) fn new(untyped: Arc<dyn Untyped>, piece: u64) -> Result<Self, Error> {
        let op = untyped.facts();
        op.check()?;
        let leaf = op.leaf_elements();
        if !piece.is_multiple_of(leaf) || !(piece / leaf).is_power_of_two() {
            return Err(Error::PieceLength { piece, leaf });
        }
        Ok(Self {
            untyped,
            piece,
            len: 0,
            whole: Subtrees::default(),
            last: None,
        })
    }

    /// Elements of each piece but the last.
    #[must_use]
    pub fn piece(&self) -> u64 {
        self.piece
    }

    /// Elements so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no elements so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// [`Pieces::push`], of the words of a state.
    ///
    /// # Errors
    ///
    /// As that.
    ///
    /// # Panics
    ///
    /// If these are fewer words than a state has.
    pub fn push(&mut self, state: &[u32], len: u64) -> Result<(), Error> {
        if len == 0 {
            return Ok(());
        }
        if len > self.piece || !self.len.is_multiple_of(self.piece) {
            return Err(Error::PieceOrder {
                len,
                piece: self.piece,
                before: self.len,
            });
        }
        let overflow = || Error::LengthOverflow {
            elements: u64::MAX,
            element_bytes: self.untyped.facts().element_bytes(),
        };
        let end = self.len.checked_add(len).ok_or_else(overflow)?;
        let mut state = state[..self.untyped.words()].to_vec();
        self.untyped.shift(&mut state, self.len);
        if len == self.piece {
            let next = Subtree {
                level: (self.piece / self.untyped.facts().leaf_elements()).ilog2(),
                index: self.len / self.piece,
                states: state,
            };
            self.whole.push(&*self.untyped, next);
        } else {
            self.last = Some(state);
        }
        self.len = end;
        Ok(())
    }

    /// [`Pieces::finish`]: the answer, packed, and the words of the state.
    ///
    /// # Errors
    ///
    /// As that.
    pub fn finish(self) -> Result<(Vec<u8>, Vec<u32>), Error> {
        let (untyped, len) = (self.untyped.clone(), self.len);
        untyped.facts().check_extent(len)?;
        let state = self.state();
        let mut answer = untyped.over_nothing();
        untyped.finish(&state, len, &mut answer);
        Ok((answer, state))
    }

    /// The words of the state of all pieces together: [`Pieces::state`].
    #[must_use]
    pub fn state(self) -> Vec<u32> {
        let state = self.whole.total(&*self.untyped, self.last);
        state.unwrap_or_else(|| self.untyped.identity())
    }
}

impl fmt::Debug for AnyPieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyPieces")
            .field("op", &self.untyped.facts().name())
            .field("piece", &self.piece)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// The answer of an extent of `len` elements whose state is `state`.
pub(crate) fn finish<R: Reduction<T>, T: Item>(op: R, len: u64, state: R::State) -> Result<R::Answer, Error> {
    let monoid = op.monoid();
    if len == 0 {
        monoid.empty().ok_or(Error::EmptyExtent { op: R::NAME })
    } else {
        Ok(monoid.finish(state, len))
    }
}
