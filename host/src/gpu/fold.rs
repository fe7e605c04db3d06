//! Blocking calls: what is folded is brought to the device if it is not there, and the answers are brought back.

use bytemuck::NoUninit;
use cust::memory::{DeviceBuffer, DeviceCopy, DeviceSlice};
use warpfold_kernels::element::{Element, Item};

use super::{
    Gpu, Prepared, STATE_AT,
    answers::upload,
    context::Bound,
    launch::check_memory,
    ready::Ready,
};
use crate::{
    DeviceView, Error, View,
    dynamic::Answers,
    fold::{Extent, fold},
    layout::{Axes, Folded, Layout, Segments},
    operand::{Memory, Placed, Shapes},
    ops::{AnyOp, Reduction},
    pieces::AnyPieces,
    plan::Plan,
};

/// Arrays in device memory, brought there if they were not. The context is current, and so it must be where this is dropped.
struct OnDevice {
    /// Valid as far as cust's types, or who made a view of an address, can tell.
    addresses: [u64; 2],
    /// Dropped with the others.
    uploaded: Vec<DeviceBuffer<u8>>,
}

impl OnDevice {
    fn of(gpu: &Gpu, placed: &Placed<'_>) -> Result<Self, Error> {
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
                bytemuck::cast_slice(&words)[..ready.plan.entry.answer_bytes].to_vec()
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

/// Short names.
impl Gpu {
    /// A fold of an array of that layout along axes, planned, its kernel loaded, for asynchronous calls:
    /// [`fold(op).along(axes).prepare`](crate::Fold::prepare).
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare); [`Error::NoAxis`], [`Error::AxisTwice`]; [`Error::OutOfBounds`] for a layout that goes before
    /// its memory's start; [`Error::GridOverflow`]; [`Error::OutOfMemory`].
    pub fn prepare_axes<T: Element, R: Reduction<T>>(
        &self,
        op: R,
        layout: &Layout,
        axes: &Axes,
    ) -> Result<Prepared<R, T>, Error> {
        fold(op).along(axes.clone()).prepare(self, layout)
    }

    /// A fold of an array in segments, planned, its kernel loaded and the offsets on the device, for asynchronous calls:
    /// [`fold(op).segments(segments).prepare`](crate::Fold::prepare).
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare); [`Error::EmptySegment`]; [`Error::GridOverflow`]; [`Error::OutOfMemory`].
    pub fn prepare_segments<I: Item, R: Reduction<I>>(
        &self,
        op: R,
        segments: &Segments,
    ) -> Result<Prepared<R, I>, Error> {
        fold(op).segments(segments.clone()).prepare(self)
    }

    /// Folds an array in device memory, of any alignment, and waits for the answer: [`fold(op).on(&gpu, input)`](crate::Fold::on).
    ///
    /// One launch, one copy of the answer, one synchronisation. The workspace is kept between calls. What other streams
    /// still write to `input` must have been waited for.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare); [`Error::ForeignMemory`] where `input` is not this GPU's; [`Error::OutOfMemory`] for
    /// the workspace.
    pub fn reduce<T: Element + DeviceCopy, R: Reduction<T>>(
        &self,
        op: R,
        input: &DeviceSlice<T>,
    ) -> Result<R::Answer, Error> {
        fold(op).on(self, input)
    }

    /// Folds an array in host memory and waits for the answer: [`fold(op).on(&gpu, input)`](crate::Fold::on).
    ///
    /// The array is copied to the device in pieces no larger than the memory that is free, so its size is not limited by
    /// the device's; the answer is the same to the bit. The device memory for a piece is kept for the next call.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce).
    pub fn reduce_host<T: Element + NoUninit, R: Reduction<T>>(&self, op: R, input: &[T]) -> Result<R::Answer, Error> {
        fold(op).on(self, input)
    }

    /// Folds an array in device memory along axes, and waits for the answers: [`fold(op).along(axes).on`](crate::Fold::on). What
    /// [`cpu::reduce_axes`](crate::cpu::reduce_axes) says of extents, indices and empty axes holds here.
    ///
    /// One launch, whatever the axes and strides; nothing of the input is copied. Runs of elements (the last axis of a C-order
    /// array) are read by vectors; all else element by element, neighbouring answers side by side: columns of f32 at nearly the
    /// same speed, and of 2 bytes (of 1) by words where rows have an even number of elements (a multiple of 4). Columns of small
    /// elements in other rows are read at a fraction of it, elements that lie apart as slowly as that is.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce), [`prepare_axes`](Self::prepare_axes) and [`DeviceView::new`].
    pub fn reduce_axes<T: Element + DeviceCopy, R: Reduction<T>>(
        &self,
        op: R,
        input: &DeviceSlice<T>,
        layout: &Layout,
        axes: &Axes,
    ) -> Result<Folded<R::Answer>, Error> {
        fold(op).along(axes.clone()).on(self, DeviceView::new(input, layout)?)
    }

    /// The same of an array in host memory, which is copied to the device.
    ///
    /// # Errors
    ///
    /// As [`reduce_axes`](Self::reduce_axes); [`Error::OutOfMemory`] where the array does not fit on the device.
    pub fn reduce_host_axes<T: Element + NoUninit, R: Reduction<T>>(
        &self,
        op: R,
        input: &[T],
        layout: &Layout,
        axes: &Axes,
    ) -> Result<Folded<R::Answer>, Error> {
        fold(op).along(axes.clone()).on(self, View::new(input, layout)?)
    }

    /// Folds an array in device memory in segments, and waits for the answers: what
    /// [`cpu::reduce_segments`](crate::cpu::reduce_segments) says holds here.
    ///
    /// One launch, whatever the lengths: the work is shared out by elements and segments, so one huge segment among many tiny ones
    /// is many warps' work. Read are the elements and 8 bytes for each segment. Short segments are read more slowly than long ones.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce) and [`prepare_segments`](Self::prepare_segments); [`Error::Offset`] if the segments are not of as many elements
    /// as `input` has.
    pub fn reduce_segments<T: Element + DeviceCopy, R: Reduction<T>>(
        &self,
        op: R,
        input: &DeviceSlice<T>,
        segments: &Segments,
    ) -> Result<Vec<R::Answer>, Error> {
        fold(op).segments(segments.clone()).on(self, input)
    }

    /// The same of an array in host memory, which is copied to the device.
    ///
    /// # Errors
    ///
    /// As [`reduce_segments`](Self::reduce_segments); [`Error::OutOfMemory`] where the array does not fit on the device.
    pub fn reduce_host_segments<T: Element + NoUninit, R: Reduction<T>>(
        &self,
        op: R,
        input: &[T],
        segments: &Segments,
    ) -> Result<Vec<R::Answer>, Error> {
        fold(op).segments(segments.clone()).on(self, input)
    }
}
