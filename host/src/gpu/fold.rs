//! Blocking calls: what is folded is brought to the device if it is not there, and the answers are brought back.

use cust::memory::DeviceBuffer;

use super::{Gpu, STATE_AT, blocking::upload, context::Bound, launch::check_memory, ready::Ready};
use crate::{
    Error,
    layout::extent::Extent,
    operand::{Memory, Placed, Shapes},
    ops::{AnyOp, untyped::Answers},
    pieces::AnyPieces,
    plan::Plan,
};

/// Arrays in device memory, brought there if they were not. The context is current, and so it must be where this is dropped.
pub(super) struct OnDevice {
    /// Valid as far as cust's types, or who made a view of an address, can tell.
    pub(super) addresses: [u64; 2],
    /// Dropped with the others.
    uploaded: Vec<DeviceBuffer<u8>>,
}

impl OnDevice {
    pub(super) fn of(gpu: &Gpu, placed: &Placed<'_>) -> Result<Self, Error> {
        let mut all = Self {
            addresses: [0; 2],
            uploaded: vec![],
        };
        for (array, place) in placed.arrays.iter().zip(&mut all.addresses) {
            *place = match *array {
                Memory::Device { address, is_asked_for } => {
                    if is_asked_for {
                        check_memory(address, gpu.facts().index)?;
                    }
                    address
                }
                Memory::Host(bytes) => {
                    let array = upload(bytes)?;
                    let address = array.as_device_ptr().as_raw();
                    all.uploaded.push(array);
                    address
                }
            };
        }
        Ok(all)
    }
}

/// Bytes of a leaf's pieces that are not halved any more where device memory runs out: 4 MiB.
const LEAST_PIECE: u64 = 4 << 20;

/// Makes the operator's own [`Pieces`](crate::pieces::Pieces), of so many elements each.
type MakePieces<'a> = &'a dyn Fn(u64) -> Result<AnyPieces, Error>;

impl Gpu {
    /// A launch made ready, and the shape of its answers.
    pub(crate) fn ready(&self, op: &AnyOp, shapes: &Shapes, extent: Extent<'_>) -> Result<(Ready, Vec<u64>), Error> {
        match (extent, shapes.run()?) {
            (Extent::Whole, Some(len)) => Ok((Ready::whole(self, op, Plan::new(op.kernel()?, len))?, vec![])),
            (Extent::In(segments), _) => {
                segments.check(shapes.in_order()?)?;
                let shape = vec![segments.count() as u64];
                Ok((Ready::segments(self, op, segments, &[])?, shape))
            }
            (extent, _) => {
                let along = shapes.along(&extent.axes())?;
                let ready = Ready::along(self, op, &along.layouts, &along.extents)?;
                Ok((ready, along.extents[0].shape.clone()))
            }
        }
    }

    /// The answers of arrays, wherever they are: one launch, or where all are in host memory and folded whole one for each piece.
    pub(crate) fn answers(
        &self,
        op: &AnyOp,
        placed: &Placed<'_>,
        extent: Extent<'_>,
        pieces: MakePieces<'_>,
    ) -> Result<Answers, Error> {
        if let (Extent::Whole, Some(len)) = (extent, placed.pieces_of()?) {
            let (bytes, _) = self.in_pieces(op, placed, len, pieces)?.finish()?;
            return Ok(Answers { shape: vec![], bytes });
        }
        let (ready, shape) = self.ready(op, &placed.shapes, extent)?;
        let _bound = Bound::to(self.context())?;
        let arrays = OnDevice::of(self, placed)?;
        // SAFETY: the arrays are valid as far as `OnDevice` says, and the calls wait for the launch.
        let bytes = unsafe {
            if matches!(extent, Extent::Whole) {
                let words = self.run(&mut self.scratch(), &ready, arrays.addresses)?;
                let at = if ready.answers_are_states { STATE_AT } else { 0 };
                let mut answer: Vec<u8> = bytemuck::cast_slice(&words[at..])[..ready.answer_bytes].to_vec();
                ready.settle(&mut answer);
                answer
            } else {
                self.packed(&ready, arrays.addresses)?
            }
        };
        Ok(Answers { shape, bytes })
    }

    /// The words of the state of arrays in order, wherever they are.
    pub(crate) fn state(&self, op: &AnyOp, placed: &Placed<'_>, pieces: MakePieces<'_>) -> Result<Vec<u32>, Error> {
        let len = placed.shapes.in_order()?;
        if len == 0 || placed.pieces_of()?.is_some() {
            return Ok(self.in_pieces(op, placed, len, pieces)?.state());
        }
        let ready = Ready::whole(self, op, Plan::new(op.kernel()?, len))?;
        let _bound = Bound::to(self.context())?;
        let arrays = OnDevice::of(self, placed)?;
        // SAFETY: the arrays are valid as far as `OnDevice` says, and the call waits for the launch.
        let words = unsafe { self.run(&mut self.scratch(), &ready, arrays.addresses)? };
        Ok(words[STATE_AT..].to_vec())
    }

    /// How many elements arrays in host memory are folded at a time.
    pub(crate) fn piece(&self, op: &AnyOp) -> Result<u64, Error> {
        Ok(op.leaf_elements() << self.piece_leaves(op.leaf_bytes())?)
    }

    /// Loads the kernel of an operator, as a first call would.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare).
    pub fn load(&self, op: &AnyOp) -> Result<(), Error> {
        Ready::whole(self, op, Plan::new(op.kernel()?, 1)).map(drop)
    }

    /// Folds arrays of `len` elements in host memory a piece at a time; in smaller ones where another program has taken the device's memory
    /// meanwhile.
    fn in_pieces(&self, op: &AnyOp, placed: &Placed<'_>, len: u64, pieces: MakePieces<'_>) -> Result<AnyPieces, Error> {
        let mut leaves = 1 << self.piece_leaves(op.leaf_bytes())?;
        loop {
            match self.in_pieces_of(op, placed, len, pieces(leaves * op.leaf_elements())?) {
                Err(Error::OutOfMemory { .. }) if leaves * op.leaf_bytes() as u64 > LEAST_PIECE => leaves /= 2,
                folded => return folded,
            }
        }
    }

    fn in_pieces_of(
        &self,
        op: &AnyOp,
        placed: &Placed<'_>,
        len: u64,
        mut pieces: AnyPieces,
    ) -> Result<AnyPieces, Error> {
        let mut ready: Option<Ready> = None;
        while pieces.len() < len {
            let first = pieces.len();
            let piece = pieces.piece().min(len - first);
            let ready = match &mut ready {
                Some(ready) if ready.plan.len == piece => ready,
                other => other.insert(Ready::whole(self, op, Plan::new(op.kernel()?, piece))?),
            };
            let words = self.run_staged(ready, &placed.in_host(first..first + piece, len))?;
            pieces.push(&words[STATE_AT..], piece)?;
        }
        Ok(pieces)
    }
}
