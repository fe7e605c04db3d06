//! Norms of rows of f64: an operator folds rows, and another launch maps them.

use cust::memory::{CopyDestination, DeviceBuffer};
use warpfold_kernels::{
    kernels::{
        Array, Launch, RowOperands,
        rowwise::{NormF64, RUN, RowFlags, find_doubles},
    },
    stages::columns::Floats,
    tree::LANES,
};

use super::call::{Uploaded, room_for};
use crate::{
    Error,
    gpu::{
        Gpu,
        context::{self, Bound},
        launch::{self, Placement, Strides, array_of, device},
        memory::DeviceMemory,
        status::Status as _,
    },
    layout::{Axes, Extents, Layout},
    operand::AsView,
    ops::SumOfSquares,
    room::room,
    row::{DoubleNorm, MEAN_VARIANCE, Mapped, Row, Rows64, Statistics},
};

/// Warps of a block.
const WARPS: u32 = 4;

/// What the rows of an array in device memory are folded to, in device memory: of each row the mean and the variance, or the sum of squares.
fn fold(gpu: &Gpu, norm: NormF64, input: u64, layout: &Layout, axes: &Axes) -> Result<DeviceBuffer<u8>, Error> {
    let count = Extents::new(layout, axes)?.count as usize;
    let scratch = gpu.scratch();
    let scratch = scratch.as_ref().expect("present until dropped");
    let _bound = Bound::to(gpu.context())?;
    let folded = room_for(if norm.centers { 16 } else { 8 } * count)?;
    let to = folded.as_device_ptr().as_raw();
    // SAFETY: the array is the caller's, and lives past the synchronisation; all else is this call's own.
    unsafe {
        if norm.centers {
            let prepared = gpu.prepare_axes::<f64, _>(MEAN_VARIANCE, layout, axes)?;
            prepared.launch_raw(&scratch.stream, [input, 0], to, &mut prepared.workspace()?)?;
        } else {
            let prepared = gpu.prepare_axes::<f64, _>(SumOfSquares, layout, axes)?;
            prepared.launch_raw(&scratch.stream, [input, 0], to, &mut prepared.workspace()?)?;
        }
    }
    scratch.stream.synchronize().or_fail("cuStreamSynchronize")?;
    Ok(folded)
}

/// f64 that a launch wrote.
fn download(from: &DeviceBuffer<u8>, len: u64) -> Result<Vec<f64>, Error> {
    let mut values = room::<f64>(len)?;
    values.resize(len as usize, 0.0);
    if len > 0 {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        from.copy_to(bytes).or_fail("cuMemcpyDtoH")?;
    }
    Ok(values)
}

impl<Op: DoubleNorm> Row<'_, Op> {
    /// Maps an array of f64 in host memory on a GPU, and waits: to the bits of [`on_cpu_f64`](Row::on_cpu_f64). A residual is added on the CPU. Cost: the array is copied to the device, read
    /// twice there, and the answers are copied back.
    ///
    /// # Errors
    ///
    /// As [`on_cpu_f64`](Row::on_cpu_f64); [`Error::GridOverflow`]; [`Error::NoPtx`], [`Error::StalePtx`], [`Error::DriverTooOld`], [`Error::Driver`]; [`Error::OutOfMemory`].
    pub fn on_f64<'v, V>(self, gpu: &Gpu, values: V) -> Result<Mapped<f64, <Op as DoubleNorm>::Known, Vec<f64>>, Error>
    where
        V: AsView<'v, Element = f64>,
    {
        let view = values.view();
        let Rows64 {
            problem,
            in_order,
            sums,
            layout,
            columns,
        } = self.rows_f64(view.values, &view.its_layout()?)?;
        let values = sums.as_deref().unwrap_or(view.values);
        let (rows, axes) = self.rows_and_axes(&layout)?;
        let from = Extents::new(&rows, &axes)?;
        let norm = self.op.double();
        let _bound = Bound::to(gpu.context())?;
        let input = Uploaded::new(Some(bytemuck::cast_slice(values)))?;
        let folded = fold(gpu, norm, input.address(), &rows, &axes)?;
        let [weights, biases] = columns.map(|column| Uploaded::new(column.as_deref().map(bytemuck::cast_slice)));
        let (weights, biases) = (weights?, biases?);
        let upload = |numbers: Vec<u64>| DeviceMemory::of_numbers(gpu, &numbers);
        let dimensions = from
            .has_several()
            .then(|| upload(Extents::dimensions_of(&[from.clone(), from.clone()])))
            .transpose()?;
        let out_layout = problem
            .to
            .has_several()
            .then(|| upload(problem.to.dimensions()))
            .transpose()?;
        let (answers, known) = (
            room_for(8 * in_order.len() as usize)?,
            room_for(16 * from.count as usize)?,
        );
        context::wait_for_default_stream()?;
        let at = known.as_device_ptr().as_raw();
        let strides = |_: usize| Strides {
            first: from.offset,
            stride: from.stride(),
            step: from.stride_within(),
            reach: layout.reach().unwrap_or((0, 0)),
        };
        let place = Placement::new(1, strides, dimensions);
        let params = norm.params();
        let flags = RowFlags {
            is_folded: from.folded.len() > 1,
            ..RowFlags::of(Floats::F32)
        };
        let passed = Launch {
            arrays: [array_of(place.arrays[0], input.address(), 8), Array::NONE],
            len: from.len,
            count: from.count,
            layout: device(place.layout.as_ref().map_or(0, DeviceMemory::address)),
            answer: device(answers.as_device_ptr().as_raw()),
            flags: flags.bits(params),
            state: device(folded.as_device_ptr().as_raw()),
            numbers: params.bits(),
            rows: RowOperands {
                stride: problem.to.stride(),
                step: problem.to.stride_within(),
                layout: device(out_layout.as_ref().map_or(0, DeviceMemory::address)),
                columns: [device(weights.address()), device(biases.address())],
                shares: problem.shares,
                known: [at, at + 8 * from.count, 0, 0].map(device),
                ..RowOperands::NONE
            },
            ..Launch::NOTHING
        };
        if from.count > 0 {
            // SAFETY: all memory is this call's own, and waited for.
            unsafe { map(gpu, passed)? };
        }
        let statistics = download(&known, 2 * from.count)?;
        let (means, reciprocals) = statistics.split_at(from.count as usize);
        Ok(Mapped {
            shape: in_order.shape().to_vec(),
            values: download(&answers, in_order.len())?,
            sums,
            known: Statistics {
                means: means.to_vec(),
                reciprocals: reciprocals.to_vec(),
            }
            .into(),
        })
    }
}

/// Launches the map, and waits. The context is current.
///
/// # Safety
///
/// What is passed is valid for what the kernel reads and writes.
unsafe fn map(gpu: &Gpu, passed: Launch) -> Result<(), Error> {
    let count = passed.count;
    let warps = count.saturating_mul(passed.len.div_ceil(RUN.into()).max(1));
    let blocks = warps.div_ceil(WARPS.into());
    let blocks = i32::try_from(blocks).map_err(|_| Error::GridOverflow { count, blocks })? as u32;
    let function = gpu.inner.modules.function(find_doubles())?;
    let scratch = gpu.scratch();
    let scratch = scratch.as_ref().expect("present until dropped");
    let shape = [blocks, WARPS * LANES, 1];
    // SAFETY: the entry has this one parameter; that what it points to is valid is the caller's word.
    unsafe { launch::launch_passing(function, shape, scratch.stream.as_inner(), passed)? };
    scratch.stream.synchronize().or_fail("cuStreamSynchronize")
}
