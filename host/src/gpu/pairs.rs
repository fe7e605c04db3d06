//! Folds of two arrays, element by element.

use bytemuck::NoUninit;
use cust::memory::{DeviceCopy, DeviceSlice};
use warpfold_kernels::element::{Element, Two};

use super::{
    Gpu, Prepared,
    answers::{self, upload},
    launch::Bound,
};
use crate::{
    Error, cpu,
    layout::{Axes, Extents, Folded, Layout, Segments},
    ops::Reduction,
    pieces::Pieces,
};

impl Gpu {
    /// Folds two arrays in device memory, element by element, and waits for the answer: that of
    /// [`cpu::reduce_pair`], to the bit. Both are read once, in one launch. Where both begin on a boundary
    /// of 16 bytes they are read fastest.
    ///
    /// For asynchronous calls: [`prepare`](Self::prepare)`::<Two<T>, _>`, then [`Prepared::launch_pair`].
    ///
    /// # Errors
    ///
    /// [`Error::PairMismatch`] where one is longer; otherwise as [`reduce`](Self::reduce), for each array.
    pub fn reduce_pair<T: Element + DeviceCopy, R: Reduction<Two<T>>>(
        &self,
        op: R,
        first: &DeviceSlice<T>,
        second: &DeviceSlice<T>,
    ) -> Result<R::Answer, Error> {
        let inputs = self.check_pair(first, second)?;
        // SAFETY: the slices are valid for their lengths as far as cust's types can tell, and the call waits for the launch.
        unsafe { self.reduce_pair_raw::<T, R>(op, inputs, first.len() as u64) }
    }

    /// The same for `len` elements at each of two device addresses.
    ///
    /// # Errors
    ///
    /// As [`reduce_raw`](Self::reduce_raw), for each array.
    ///
    /// # Safety
    ///
    /// As [`reduce_raw`](Self::reduce_raw), for each array.
    pub unsafe fn reduce_pair_raw<T: Element, R: Reduction<Two<T>>>(
        &self,
        op: R,
        inputs: [u64; 2],
        len: u64,
    ) -> Result<R::Answer, Error> {
        let prepared = self.prepare::<Two<T>, R>(op, len)?;
        // SAFETY: passed on to the caller.
        let words = unsafe { self.run(&mut self.scratch(), &prepared.ready, inputs)? };
        Ok(answers::unpack(bytemuck::cast_slice(&words)))
    }

    /// Folds two arrays in host memory, element by element, and waits for the answer; in pieces, as
    /// [`reduce_host`](Self::reduce_host) does.
    ///
    /// # Errors
    ///
    /// As [`reduce_pair`](Self::reduce_pair).
    pub fn reduce_host_pair<T: Element + NoUninit, R: Reduction<Two<T>>>(
        &self,
        op: R,
        first: &[T],
        second: &[T],
    ) -> Result<R::Answer, Error> {
        Error::check_pair(&[first.len() as u64], &[second.len() as u64])?;
        if first.is_empty() {
            return cpu::reduce_pair(op, first, second);
        }
        let piece = self.piece_len::<Two<T>>()?;
        let mut pieces = Pieces::<R, Two<T>>::new(op, piece as u64)?;
        for (first, second) in first.chunks(piece).zip(second.chunks(piece)) {
            pieces.push(self.fold_host_pair(op, first, second)?, first.len() as u64)?;
        }
        Ok(pieces.finish()?.0)
    }

    /// Folds one piece of two arrays in host memory, element by element, to its state, for [`Pieces`].
    ///
    /// # Errors
    ///
    /// As [`reduce_pair`](Self::reduce_pair); [`Error::OutOfMemory`] where the piece does not fit on the device.
    pub fn fold_host_pair<T: Element + NoUninit, R: Reduction<Two<T>>>(
        &self,
        op: R,
        first: &[T],
        second: &[T],
    ) -> Result<R::State, Error> {
        Error::check_pair(&[first.len() as u64], &[second.len() as u64])?;
        if first.is_empty() {
            return cpu::fold_pair(op, first, second);
        }
        let prepared = self.prepare::<Two<T>, R>(op, first.len() as u64)?;
        let arrays = [bytemuck::cast_slice(first), bytemuck::cast_slice(second)];
        self.fold_staged(&prepared, &arrays)
    }

    /// A fold of two arrays of one shape along axes, planned, its kernel loaded, for asynchronous calls. Each array has strides of
    /// its own: one may be repeated along any axis.
    ///
    /// # Errors
    ///
    /// [`Error::PairMismatch`] where the shapes differ; otherwise as [`prepare_axes`](Self::prepare_axes), for each layout.
    pub fn prepare_pair_axes<T: Element, R: Reduction<Two<T>>>(
        &self,
        op: R,
        first: &Layout,
        second: &Layout,
        axes: &Axes,
    ) -> Result<Prepared<R, Two<T>>, Error> {
        let extents = Extents::of_pair(first, second, axes)?;
        for layout in [first, second] {
            layout.check(i64::MAX as u64)?;
        }
        Prepared::along(self, op, &[first, second], &extents)
    }

    /// Folds two arrays in device memory along axes, element by element, and waits for the answers.
    ///
    /// One launch; nothing is copied, and a query that is repeated against many rows is read from the cache. Runs of both arrays are
    /// read by vectors, all else element by element.
    ///
    /// # Errors
    ///
    /// As [`prepare_pair_axes`](Self::prepare_pair_axes), and [`reduce_axes`](Self::reduce_axes) for each array.
    pub fn reduce_pair_axes<T: Element + DeviceCopy, R: Reduction<Two<T>>>(
        &self,
        op: R,
        first: (&DeviceSlice<T>, &Layout),
        second: (&DeviceSlice<T>, &Layout),
        axes: &Axes,
    ) -> Result<Folded<R::Answer>, Error> {
        Error::check_pair(first.1.shape(), second.1.shape())?;
        for (input, layout) in [first, second] {
            layout.check(input.len() as u64)?;
            self.check_array(input)?;
        }
        let [one, two] = [first, second].map(|(input, layout)| (input.as_device_ptr().as_raw(), layout));
        // SAFETY: the elements lie in the slices, which are valid as far as cust's types can tell, and the call waits.
        unsafe { self.reduce_pair_axes_raw::<T, R>(op, one, two, axes) }
    }

    /// The same for elements at two device addresses.
    ///
    /// # Errors
    ///
    /// As [`reduce_axes_raw`](Self::reduce_axes_raw), for each array; [`Error::PairMismatch`].
    ///
    /// # Safety
    ///
    /// As [`reduce_axes_raw`](Self::reduce_axes_raw), for each array.
    pub unsafe fn reduce_pair_axes_raw<T: Element, R: Reduction<Two<T>>>(
        &self,
        op: R,
        first: (u64, &Layout),
        second: (u64, &Layout),
        axes: &Axes,
    ) -> Result<Folded<R::Answer>, Error> {
        let prepared = self.prepare_pair_axes::<T, R>(op, first.1, second.1, axes)?;
        let shape = Extents::new(first.1, axes)?.shape;
        // SAFETY: passed on to the caller.
        let answers = unsafe { self.answers(&prepared, [first.0, second.0])? };
        Ok(Folded { shape, answers })
    }

    /// Folds two arrays in host memory along axes, element by element, and waits for the answers. All of both is copied to the device.
    ///
    /// # Errors
    ///
    /// As [`reduce_pair_axes`](Self::reduce_pair_axes); [`Error::OutOfMemory`] where they do not fit on the device.
    pub fn reduce_host_pair_axes<T: Element + NoUninit, R: Reduction<Two<T>>>(
        &self,
        op: R,
        first: (&[T], &Layout),
        second: (&[T], &Layout),
        axes: &Axes,
    ) -> Result<Folded<R::Answer>, Error> {
        Error::check_pair(first.1.shape(), second.1.shape())?;
        for (values, layout) in [first, second] {
            layout.check(values.len() as u64)?;
        }
        let _bound = Bound::to(self.context())?;
        let inputs = [upload(first.0)?, upload(second.0)?];
        let [one, two] = [&inputs[0], &inputs[1]].map(|input| input.as_device_ptr().as_raw());
        // SAFETY: the buffers hold the arrays, and the call waits.
        unsafe { self.reduce_pair_axes_raw::<T, R>(op, (one, first.1), (two, second.1), axes) }
    }

    /// Folds two arrays in device memory in the same segments, element by element, and waits for the answers.
    ///
    /// For asynchronous calls: [`prepare_segments`](Self::prepare_segments)`::<Two<T>, _>`, then [`Prepared::launch_pair`].
    ///
    /// # Errors
    ///
    /// [`Error::PairMismatch`] where one array is longer; otherwise as [`reduce_segments`](Self::reduce_segments), for each.
    pub fn reduce_pair_segments<T: Element + DeviceCopy, R: Reduction<Two<T>>>(
        &self,
        op: R,
        first: &DeviceSlice<T>,
        second: &DeviceSlice<T>,
        segments: &Segments,
    ) -> Result<Vec<R::Answer>, Error> {
        let inputs = self.check_pair(first, second)?;
        segments.check(first.len() as u64)?;
        // SAFETY: the elements lie in the slices, which are valid as far as cust's types can tell, and the call waits.
        unsafe { self.reduce_pair_segments_raw::<T, R>(op, inputs, segments) }
    }

    /// The same for elements at two device addresses.
    ///
    /// # Errors
    ///
    /// As [`reduce_segments_raw`](Self::reduce_segments_raw), for each array.
    ///
    /// # Safety
    ///
    /// As [`reduce_segments_raw`](Self::reduce_segments_raw), for each array.
    pub unsafe fn reduce_pair_segments_raw<T: Element, R: Reduction<Two<T>>>(
        &self,
        op: R,
        inputs: [u64; 2],
        segments: &Segments,
    ) -> Result<Vec<R::Answer>, Error> {
        let prepared = self.prepare_segments::<Two<T>, R>(op, segments)?;
        // SAFETY: passed on to the caller.
        unsafe { self.answers(&prepared, inputs) }
    }

    /// Folds two arrays in host memory in the same segments, element by element, and waits for the answers. All of both is copied to
    /// the device.
    ///
    /// # Errors
    ///
    /// As [`reduce_pair_segments`](Self::reduce_pair_segments); [`Error::OutOfMemory`] where they do not fit on the device.
    pub fn reduce_host_pair_segments<T: Element + NoUninit, R: Reduction<Two<T>>>(
        &self,
        op: R,
        first: &[T],
        second: &[T],
        segments: &Segments,
    ) -> Result<Vec<R::Answer>, Error> {
        Error::check_pair(&[first.len() as u64], &[second.len() as u64])?;
        segments.check(first.len() as u64)?;
        let _bound = Bound::to(self.context())?;
        let inputs = [upload(first)?, upload(second)?];
        let inputs = [&inputs[0], &inputs[1]].map(|input| input.as_device_ptr().as_raw());
        // SAFETY: the buffers hold the arrays, and the call waits.
        unsafe { self.reduce_pair_segments_raw::<T, R>(op, inputs, segments) }
    }

    /// The addresses of two arrays of this GPU's and of one length.
    fn check_pair<T: DeviceCopy>(&self, first: &DeviceSlice<T>, second: &DeviceSlice<T>) -> Result<[u64; 2], Error> {
        Error::check_pair(&[first.len() as u64], &[second.len() as u64])?;
        for array in [first, second] {
            self.check_array(array)?;
        }
        Ok([first, second].map(|array| array.as_device_ptr().as_raw()))
    }
}
