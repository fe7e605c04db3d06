//! The gradients of a norm's weights and biases.

use std::marker::PhantomData;

use bytemuck::Pod;
use warpfold_kernels::{
    element::{Element, Type},
    kernels::{
        Launch, RowOperands,
        rowwise::{Mode, RowFlags, RowParams, Second, find_columns},
    },
    tree::{LANES, VECTOR_BYTES},
};

use super::kind_of;
use crate::{
    Error, RowFault,
    gpu::{
        Gpu, Prepared, RawStream, Workspace,
        blocking::{Uploaded, download, room_for, upload},
        context::{self, Bound},
        launch::{self, device},
        ready::{Ready, Strides},
    },
    layout::{Axes, Extents, Layout},
    operand::AsView,
    ops::Sum,
    plan::{Plan, Shape},
    row::{ColumnGradients, GroupNormChannels, NormColumns, RowElement, columns::Columns},
};

/// Threads of a block.
const THREADS: u32 = 128;

/// The gradients of a norm's weights and biases on one GPU: planned, its kernels loaded. A launch allocates nothing and waits for nothing.
pub struct PreparedColumns<T> {
    ready: Ready,
    /// What sums the chunks' sums.
    sum: Prepared<Sum, f32>,
    elements: PhantomData<fn(T)>,
}

/// Where the sums of columns are read and written: device addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ColumnPlaces {
    /// The norm's inputs, of the prepared layout.
    pub input: u64,
    /// The gradients of its answers.
    pub gradients: u64,
    /// The means of rows, an f32 of each; 0 where there are none.
    pub means: u64,
    /// Their reciprocal deviations, or reciprocal roots.
    pub reciprocals: u64,
    /// Where the gradients go: an f32 for the weight of each column, then one for the bias of each.
    pub output: u64,
}

impl<T: RowElement> PreparedColumns<T> {
    fn new(gpu: &Gpu, columns: &Columns) -> Result<Self, Error> {
        let element = T::TYPE;
        let entry = find_columns(element).ok_or(Error::NoKernel {
            op: "norm_column_gradient",
            element: element.name(),
        })?;
        let [from, other] = &columns.from;
        let strides = |array: usize| Strides::of(&columns.from[array], columns.reach[array]);
        let several = from.has_several() || other.has_several();
        let layout = several.then(|| Extents::dimensions_of(&columns.from));
        let chunks = columns.sums.shape()[0];
        // How many blocks there are each launch says: of aligned rows a lane has several columns.
        let shape = Shape {
            warps: THREADS / LANES,
            leaves_per_warp: 1,
            blocks: 1,
        };
        let plan = Plan::folds(entry, [from.count, from.len], shape, chunks);
        Ok(Self {
            ready: Ready::new(gpu, plan, [strides(0), strides(1)], layout)?,
            sum: gpu.prepare_axes(Sum, &columns.sums, &Axes::of(&[0]))?,
            elements: PhantomData,
        })
    }

    /// The same, launched early, as [`Prepared::early`] says.
    #[must_use]
    pub fn early(self) -> Self {
        Self {
            ready: self.ready.early(),
            sum: self.sum.early(),
            ..self
        }
    }

    /// A workspace that fits. Allocates, so not while a stream is captured.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn workspace(&self) -> Result<Workspace, Error> {
        Workspace::new(&self.ready.gpu, self.workspace_words(), self.sum.plan().ticket_words())
    }

    /// Words of a workspace: what the sum of sums needs, then the sums of chunks.
    fn workspace_words(&self) -> u64 {
        self.first_sum() + 2 * self.ready.plan.tiles * self.ready.plan.len
    }

    /// The word of a workspace that is the first sum: at a multiple of what vectors are aligned to.
    fn first_sum(&self) -> u64 {
        self.sum.plan().workspace_words().next_multiple_of(VECTOR_BYTES / 4) as u64
    }

    /// Enqueues the sums on `stream`, in two launches. Does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::Misaligned`]; [`RowFault::Missing`]; [`Error::ForeignStream`]; [`Error::ForeignMemory`] where the workspace is another GPU's; [`Error::GridOverflow`]; [`Error::Driver`].
    ///
    /// # Safety
    ///
    /// As [`PreparedRow::launch_raw`](super::PreparedRow::launch_raw); what is written overlaps nothing that is read.
    pub unsafe fn launch_raw(
        &self,
        stream: impl Into<RawStream>,
        places: &ColumnPlaces,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        let Ready {
            gpu, plan, function, ..
        } = &self.ready;
        let stream = stream.into();
        let _bound = launch::bind(gpu, stream)?;
        let &Plan { count, len, .. } = plan;
        let (words, tickets) = (self.workspace_words() as usize, self.sum.plan().ticket_words());
        // SAFETY: passed on to the caller.
        let start = unsafe { workspace.for_launch(gpu, stream.as_inner(), words, tickets)? };
        let sums = start + 4 * self.first_sum();
        let bytes = T::TYPE.bytes();
        let is_empty = count == 0 || len == 0;
        if places.reciprocals == 0 && !is_empty {
            return Err(Error::Row(RowFault::Missing {
                what: "what the norm knew of rows",
            }));
        }
        for address in [places.input, places.gradients] {
            launch::check_alignment(address, bytes)?;
        }
        for address in [places.means, places.reciprocals] {
            launch::check_alignment(address, 4)?;
        }
        if !is_empty {
            let passed = self.passed(places, sums)?;
            // A vector of columns for each lane, or a column.
            let lanes = if passed.is_wide() {
                len / (VECTOR_BYTES / bytes) as u64
            } else {
                len
            };
            let of_chunk = lanes.div_ceil(THREADS.into());
            let blocks = of_chunk.saturating_mul(plan.tiles);
            let blocks = i32::try_from(blocks).map_err(|_| Error::GridOverflow { count, blocks })? as u32;
            let passed = Launch {
                blocks: of_chunk,
                ..passed
            };
            let shape = [blocks, plan.threads(), 1];
            // SAFETY: the entry has this one parameter; that what it points to is valid is the caller's word.
            unsafe { launch::launch_passing(*function, shape, stream.as_inner(), passed)? };
        }
        // SAFETY: passed on to the caller; the sums are this workspace's.
        unsafe { self.sum.launch_raw(stream, [sums, 0], places.output, workspace) }
    }

    fn passed(&self, places: &ColumnPlaces, sums: u64) -> Result<Launch, Error> {
        let Plan { entry, len, .. } = self.ready.plan;
        let params = RowParams::default();
        let flags = RowFlags {
            from: kind_of(entry.op, T::TYPE)?,
            out: kind_of(entry.op, Type::F32)?,
            columns: [kind_of(entry.op, T::TYPE)?; 2],
            mode: Mode::Whole,
            second: Second::Nothing,
            wide_targets: false,
            is_folded: false,
        };
        let inputs = [places.input, places.gradients];
        let passed = Launch {
            answer: device(sums),
            flags: flags.bits(params),
            numbers: params.bits(),
            rows: RowOperands {
                stride: len as i64,
                known: [places.means, places.reciprocals, 0, 0].map(device),
                ..RowOperands::NONE
            },
            ..self.ready.passed(inputs, [T::TYPE.bytes(); 2])
        };
        Ok(passed.widened(entry.element))
    }
}

impl NormColumns<'_> {
    /// Plans it for arrays of that layout, of elements of `T`, and loads its kernels. Arrays and what is known of rows come with each launch.
    ///
    /// # Errors
    ///
    /// As [`on_cpu`](NormColumns::on_cpu); [`Error::NoPtx`], [`Error::StalePtx`], [`Error::DriverTooOld`], [`Error::Driver`]; [`Error::OutOfMemory`].
    pub fn prepare<T: RowElement>(&self, gpu: &Gpu, layout: &Layout) -> Result<PreparedColumns<T>, Error> {
        PreparedColumns::new(gpu, &self.columns(layout)?)
    }

    /// Sums them on a GPU, and waits: to the bits of [`on_cpu`](NormColumns::on_cpu).
    ///
    /// # Errors
    ///
    /// As [`prepare`](NormColumns::prepare).
    pub fn on<'v, V>(self, gpu: &Gpu, values: V) -> Result<ColumnGradients, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement + Pod,
    {
        let view = values.view();
        let layout = view.its_layout()?;
        let columns = self.columns(&layout)?;
        self.check_known(&columns)?;
        let gradients = self.floats::<V::Element>()?;
        let prepared = PreparedColumns::<V::Element>::new(gpu, &columns)?;
        let mut workspace = prepared.workspace()?;
        let _bound = Bound::to(gpu.context())?;
        debug_assert_eq!(<V::Element as Element>::TYPE.bytes(), size_of::<V::Element>());
        let input = upload(bytemuck::cast_slice(view.values))?;
        let gradients = upload(bytemuck::cast_slice(gradients))?;
        let [means, reciprocals] = self.known.map(|known| Uploaded::new(known.map(bytemuck::cast_slice)));
        let (means, reciprocals) = (means?, reciprocals?);
        let len = 2 * columns.from[0].len;
        let output = room_for(4 * len as usize)?;
        context::wait_for_default_stream()?;
        let places = ColumnPlaces {
            input: input.as_device_ptr().as_raw(),
            gradients: gradients.as_device_ptr().as_raw(),
            means: means.address(),
            reciprocals: reciprocals.address(),
            output: output.as_device_ptr().as_raw(),
        };
        gpu.enqueue_and_wait(|stream| {
            // SAFETY: all memory is this call's own, and waited for.
            unsafe { prepared.launch_raw(stream, &places, &mut workspace) }
        })?;
        Ok(ColumnGradients::of(&download::<f32>(&output, len)?))
    }
}

impl GroupNormChannels<'_> {
    /// Sums them on a GPU, and waits: to the bits of [`on_cpu`](Self::on_cpu). The sums of each sample are added up on the CPU.
    ///
    /// # Errors
    ///
    /// As [`group_norm_gradient`](crate::row::group_norm_gradient), on a GPU.
    pub fn on<'v, V>(self, gpu: &Gpu, values: V) -> Result<ColumnGradients, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement + Pod,
    {
        let view = values.view();
        let layout = view.its_layout()?;
        self.sums(&layout, |row| row.on::<_, f32>(gpu, view))
    }
}
