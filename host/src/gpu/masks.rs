//! Folds of what a mask selects.

use bytemuck::NoUninit;
use cust::memory::{DeviceCopy, DeviceSlice};
use warpfold_kernels::element::{Element, Masked};

use super::{
    Gpu, Prepared,
    answers::{self, upload},
    launch::Bound,
};
use crate::{
    Error, cpu,
    layout::{Axes, Extents, Folded, Layout, Segments},
    ops::{AnswerWhere, MaskElement, Reduction, TakesMask, Where},
    pieces::Pieces,
};

impl Gpu {
    /// Folds what a mask selects of an array in device memory, and waits for the answer: that of
    /// [`cpu::reduce_where`], to the bit. Both are read once, in one launch, and fastest where both begin on a boundary of 16 bytes.
    ///
    /// For asynchronous calls: [`prepare`](Self::prepare)`::<Masked<T>, _>` of a [`Where`], then [`Prepared::launch_where`].
    ///
    /// # Errors
    ///
    /// [`Error::MaskMismatch`] where the mask is longer or shorter than the array; [`Error::NoKernel`] of what there is no
    /// kernel of; otherwise as [`reduce`](Self::reduce), for each.
    pub fn reduce_where<T: Element + DeviceCopy, Op: TakesMask, B: MaskElement + DeviceCopy>(
        &self,
        op: Op,
        input: &DeviceSlice<T>,
        mask: &DeviceSlice<B>,
    ) -> Result<AnswerWhere<Op, T>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        let inputs = self.check_masked(input, mask)?;
        // SAFETY: the slices are valid for their lengths as far as cust's types can tell, and the call waits for the launch.
        unsafe { self.reduce_where_raw::<T, Op>(op, inputs, input.len() as u64) }
    }

    /// The same for `len` elements and as many bytes of a mask, at two device addresses.
    ///
    /// # Errors
    ///
    /// As [`reduce_raw`](Self::reduce_raw); [`Error::NoKernel`].
    ///
    /// # Safety
    ///
    /// As [`reduce_raw`](Self::reduce_raw), for array and mask.
    pub unsafe fn reduce_where_raw<T: Element, Op: TakesMask>(
        &self,
        op: Op,
        inputs: [u64; 2],
        len: u64,
    ) -> Result<AnswerWhere<Op, T>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        let prepared = self.prepare::<Masked<T>, Where<Op>>(Where(op), len)?;
        // SAFETY: passed on to the caller.
        let words = unsafe { self.run(&mut self.scratch(), &prepared.ready, inputs)? };
        Ok(answers::unpack(bytemuck::cast_slice(&words)))
    }

    /// Folds what a mask selects of an array in host memory, and waits for the answer; in pieces, as
    /// [`reduce_host`](Self::reduce_host) does.
    ///
    /// # Errors
    ///
    /// As [`reduce_where`](Self::reduce_where).
    pub fn reduce_host_where<T: Element + NoUninit, Op: TakesMask, B: MaskElement + NoUninit>(
        &self,
        op: Op,
        values: &[T],
        mask: &[B],
    ) -> Result<AnswerWhere<Op, T>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        Error::check_mask(values.len(), mask.len())?;
        if values.is_empty() {
            return cpu::reduce_where(op, values, mask);
        }
        let piece = self.piece_len::<Masked<T>>()?;
        let mut pieces = Pieces::<Where<Op>, Masked<T>>::new(Where(op), piece as u64)?;
        for (values, mask) in values.chunks(piece).zip(mask.chunks(piece)) {
            pieces.push(self.fold_host_where(op, values, mask)?, values.len() as u64)?;
        }
        Ok(pieces.finish()?.0)
    }

    /// Folds what a mask selects of one piece of an array in host memory to its state, for [`Pieces`].
    ///
    /// # Errors
    ///
    /// As [`reduce_where`](Self::reduce_where); [`Error::OutOfMemory`] where the piece does not fit on the device.
    pub fn fold_host_where<T: Element + NoUninit, Op: TakesMask, B: MaskElement + NoUninit>(
        &self,
        op: Op,
        piece: &[T],
        mask: &[B],
    ) -> Result<<Where<Op> as Reduction<Masked<T>>>::State, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        Error::check_mask(piece.len(), mask.len())?;
        if piece.is_empty() {
            return cpu::fold_where(op, piece, mask);
        }
        let prepared = self.prepare::<Masked<T>, Where<Op>>(Where(op), piece.len() as u64)?;
        let arrays = [bytemuck::cast_slice(piece), bytemuck::cast_slice(mask)];
        self.fold_staged(&prepared, &arrays)
    }

    /// A fold of what a mask selects along axes, planned, its kernel loaded, for asynchronous calls. The mask is broadcast to the
    /// array's shape; each has strides of its own.
    ///
    /// # Errors
    ///
    /// [`Error::MaskMismatch`] where the mask's shape does not broadcast to the array's; [`Error::NoKernel`]; otherwise as
    /// [`prepare_axes`](Self::prepare_axes), for each layout.
    pub fn prepare_where_axes<T: Element, Op: TakesMask>(
        &self,
        op: Op,
        layout: &Layout,
        mask: &Layout,
        axes: &Axes,
    ) -> Result<Prepared<Where<Op>, Masked<T>>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        let extents = Extents::of_masked(layout, mask, axes)?;
        for layout in [layout, mask] {
            layout.check(i64::MAX as u64)?;
        }
        let mask = mask.of_mask(layout)?;
        Prepared::along(self, Where(op), &[layout, &mask], &extents)
    }

    /// Folds what a mask selects of an array in device memory along axes, and waits for the answers: those of
    /// [`cpu::reduce_where_axes`], to the bit.
    ///
    /// One launch; nothing is copied, and a row of a mask that holds for every row is read from the cache. Runs of both are read by
    /// vectors, all else element by element: of small elements that is slower than without a mask.
    ///
    /// # Errors
    ///
    /// As [`prepare_where_axes`](Self::prepare_where_axes), and [`reduce_axes`](Self::reduce_axes) for each.
    pub fn reduce_where_axes<T: Element + DeviceCopy, Op: TakesMask, B: MaskElement + DeviceCopy>(
        &self,
        op: Op,
        array: (&DeviceSlice<T>, &Layout),
        mask: (&DeviceSlice<B>, &Layout),
        axes: &Axes,
    ) -> Result<Folded<AnswerWhere<Op, T>>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        mask.1.of_mask(array.1)?;
        array.1.check(array.0.len() as u64)?;
        mask.1.check(mask.0.len() as u64)?;
        self.check_array(array.0)?;
        self.check_array(mask.0)?;
        let array = (array.0.as_device_ptr().as_raw(), array.1);
        let mask = (mask.0.as_device_ptr().as_raw(), mask.1);
        // SAFETY: the elements lie in the slices, which are valid as far as cust's types can tell, and the call waits.
        unsafe { self.reduce_where_axes_raw::<T, Op>(op, array, mask, axes) }
    }

    /// The same for elements and a mask's bytes at two device addresses.
    ///
    /// # Errors
    ///
    /// As [`reduce_axes_raw`](Self::reduce_axes_raw); [`Error::MaskMismatch`]; [`Error::NoKernel`].
    ///
    /// # Safety
    ///
    /// As [`reduce_axes_raw`](Self::reduce_axes_raw), for array and mask.
    pub unsafe fn reduce_where_axes_raw<T: Element, Op: TakesMask>(
        &self,
        op: Op,
        array: (u64, &Layout),
        mask: (u64, &Layout),
        axes: &Axes,
    ) -> Result<Folded<AnswerWhere<Op, T>>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        let prepared = self.prepare_where_axes::<T, Op>(op, array.1, mask.1, axes)?;
        let shape = Extents::new(array.1, axes)?.shape;
        // SAFETY: passed on to the caller.
        let answers = unsafe { self.answers(&prepared, [array.0, mask.0])? };
        Ok(Folded { shape, answers })
    }

    /// Folds what a mask selects of an array in host memory along axes, and waits for the answers. All of both is copied to the
    /// device.
    ///
    /// # Errors
    ///
    /// As [`reduce_where_axes`](Self::reduce_where_axes); [`Error::OutOfMemory`] where they do not fit on the device.
    pub fn reduce_host_where_axes<T: Element + NoUninit, Op: TakesMask, B: MaskElement + NoUninit>(
        &self,
        op: Op,
        array: (&[T], &Layout),
        mask: (&[B], &Layout),
        axes: &Axes,
    ) -> Result<Folded<AnswerWhere<Op, T>>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        mask.1.of_mask(array.1)?;
        array.1.check(array.0.len() as u64)?;
        mask.1.check(mask.0.len() as u64)?;
        let _bound = Bound::to(self.context())?;
        let (input, truths) = (upload(array.0)?, upload(mask.0)?);
        let array = (input.as_device_ptr().as_raw(), array.1);
        let mask = (truths.as_device_ptr().as_raw(), mask.1);
        // SAFETY: the buffers hold array and mask, and the call waits.
        unsafe { self.reduce_where_axes_raw::<T, Op>(op, array, mask, axes) }
    }

    /// Folds what a mask selects of an array in device memory in segments, and waits for the answers: those of
    /// [`cpu::reduce_where_segments`], to the bit.
    ///
    /// For asynchronous calls: [`prepare_segments`](Self::prepare_segments)`::<Masked<T>, _>` of a [`Where`], then
    /// [`Prepared::launch_where`].
    ///
    /// # Errors
    ///
    /// [`Error::MaskMismatch`] where the mask is longer or shorter than the array; [`Error::NoKernel`]; otherwise as
    /// [`reduce_segments`](Self::reduce_segments), for each.
    pub fn reduce_where_segments<T: Element + DeviceCopy, Op: TakesMask, B: MaskElement + DeviceCopy>(
        &self,
        op: Op,
        input: &DeviceSlice<T>,
        mask: &DeviceSlice<B>,
        segments: &Segments,
    ) -> Result<Vec<AnswerWhere<Op, T>>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        let inputs = self.check_masked(input, mask)?;
        segments.check(input.len() as u64)?;
        // SAFETY: the elements lie in the slices, which are valid as far as cust's types can tell, and the call waits.
        unsafe { self.reduce_where_segments_raw::<T, Op>(op, inputs, segments) }
    }

    /// The same for elements and a mask's bytes at two device addresses.
    ///
    /// # Errors
    ///
    /// As [`reduce_segments_raw`](Self::reduce_segments_raw); [`Error::NoKernel`].
    ///
    /// # Safety
    ///
    /// As [`reduce_segments_raw`](Self::reduce_segments_raw), for array and mask.
    pub unsafe fn reduce_where_segments_raw<T: Element, Op: TakesMask>(
        &self,
        op: Op,
        inputs: [u64; 2],
        segments: &Segments,
    ) -> Result<Vec<AnswerWhere<Op, T>>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        let prepared = self.prepare_segments::<Masked<T>, Where<Op>>(Where(op), segments)?;
        // SAFETY: passed on to the caller.
        unsafe { self.answers(&prepared, inputs) }
    }

    /// Folds what a mask selects of an array in host memory in segments, and waits for the answers. All of both is copied to the
    /// device.
    ///
    /// # Errors
    ///
    /// As [`reduce_where_segments`](Self::reduce_where_segments); [`Error::OutOfMemory`] where they do not fit on the device.
    pub fn reduce_host_where_segments<T: Element + NoUninit, Op: TakesMask, B: MaskElement + NoUninit>(
        &self,
        op: Op,
        values: &[T],
        mask: &[B],
        segments: &Segments,
    ) -> Result<Vec<AnswerWhere<Op, T>>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        Error::check_mask(values.len(), mask.len())?;
        segments.check(values.len() as u64)?;
        let _bound = Bound::to(self.context())?;
        let (input, truths) = (upload(values)?, upload(mask)?);
        let inputs = [&input, &truths].map(|array| array.as_device_ptr().as_raw());
        // SAFETY: the buffers hold array and mask, and the call waits.
        unsafe { self.reduce_where_segments_raw::<T, Op>(op, inputs, segments) }
    }

    /// The addresses of an array of this GPU's and of a mask of its length.
    fn check_masked<T: DeviceCopy, B: DeviceCopy>(
        &self,
        input: &DeviceSlice<T>,
        mask: &DeviceSlice<B>,
    ) -> Result<[u64; 2], Error> {
        Error::check_mask(input.len(), mask.len())?;
        self.check_array(input)?;
        self.check_array(mask)?;
        Ok([input.as_device_ptr().as_raw(), mask.as_device_ptr().as_raw()])
    }
}
