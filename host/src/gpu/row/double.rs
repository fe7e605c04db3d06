//! Norms of rows of f64: an operator folds rows, and another launch maps them.

use cust::memory::DeviceBuffer;
use warpfold_kernels::{
    kernels::{
        Launch, RowOperands,
        rowwise::{NormF64, RUN, RowFlags, find_doubles},
    },
    stages::columns::Floats,
};

use crate::{
    Error,
    gpu::{
        Gpu,
        blocking::{Uploaded, download, room_for},
        context::{self, Bound},
        launch::device,
        memory::DeviceMemory,
        ready::{Ready, Strides},
    },
    layout::{Axes, Extents, Layout},
    operand::AsView,
    ops::{Reduction, SumOfSquares},
    plan::{self, Plan, Shape},
    row::{DoubleNorm, MEAN_VARIANCE, Mapped, Row, Rows64, Statistics},
};

/// Warps of a block.
const WARPS: u32 = 4;

/// What the rows of an array in device memory are folded to, in device memory: of each row the mean and the variance, or the sum of squares.
fn fold(gpu: &Gpu, norm: NormF64, input: u64, layout: &Layout, axes: &Axes) -> Result<DeviceBuffer<u8>, Error> {
    let count = Extents::new(layout, axes)?.count as usize;
    let _bound = Bound::to(gpu.context())?;
    let folded = room_for(if norm.centers { 16 } else { 8 } * count)?;
    let to = folded.as_device_ptr().as_raw();
    if norm.centers {
        fold_to(gpu, MEAN_VARIANCE, input, layout, axes, to)?;
    } else {
        fold_to(gpu, SumOfSquares, input, layout, axes, to)?;
    }
    Ok(folded)
}

/// The same by an operator, at that address.
fn fold_to<R: Reduction<f64>>(
    gpu: &Gpu,
    op: R,
    input: u64,
    layout: &Layout,
    axes: &Axes,
    to: u64,
) -> Result<(), Error> {
    let prepared = gpu.prepare_axes(op, layout, axes)?;
    let mut workspace = prepared.workspace()?;
    gpu.enqueue_and_wait(|stream| {
        // SAFETY: the array is the caller's, and lives past the call; all else is this call's own.
        unsafe { prepared.launch_raw(stream, [input, 0], to, &mut workspace) }
    })
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
        let layout_of = |extents: &Extents, numbers: Vec<u64>| extents.has_several().then_some(numbers);
        let out_layout = layout_of(&problem.to, problem.to.dimensions());
        let out_layout = out_layout.map(|numbers| DeviceMemory::of_numbers(gpu, &numbers));
        let out_layout = out_layout.transpose()?;
        let dimensions = layout_of(&from, Extents::dimensions_of(&[from.clone(), from.clone()]));
        let strides = [Strides::of(&from, layout.reach()), Strides::default()];
        let ready = Ready::new(gpu, plan_of(&from)?, strides, dimensions)?;
        let (answers, known) = (
            room_for(8 * in_order.len() as usize)?,
            room_for(16 * from.count as usize)?,
        );
        context::wait_for_default_stream()?;
        let at = known.as_device_ptr().as_raw();
        let params = norm.params();
        let flags = RowFlags {
            is_folded: from.folded.len() > 1,
            ..RowFlags::of(Floats::F32)
        };
        let passed = Launch {
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
            ..ready.passed([input.address(), 0], [8; 2])
        };
        if from.count > 0 {
            // SAFETY: all memory is this call's own, and waited for.
            gpu.enqueue_and_wait(|stream| unsafe { ready.go(stream.as_inner(), passed) })?;
        }
        let statistics = download::<f64>(&known, 2 * from.count)?;
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

/// The plan of the map.
fn plan_of(from: &Extents) -> Result<Plan, Error> {
    let warps = from.count.saturating_mul(from.len.div_ceil(RUN.into()).max(1));
    let shape = Shape {
        warps: WARPS,
        leaves_per_warp: 1,
        blocks: plan::blocks(from.count, warps.div_ceil(WARPS.into()))?,
    };
    Ok(Plan::folds(find_doubles(), [from.count, from.len], shape, 1))
}
