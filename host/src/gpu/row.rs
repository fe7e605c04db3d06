//! Row operations.

use std::{ffi::c_void, marker::PhantomData, ptr, sync::OnceLock};

use bytemuck::Pod;
use cust::{
    memory::{CopyDestination, DeviceBuffer, DeviceCopy, DeviceSlice},
    stream::Stream,
    sys::CUstream,
};
use warpfold_kernels::{
    element::{Element, Type},
    kernels::{
        Entry,
        rowwise::{Mode, RowLaunch, RowParams, find_states},
    },
    stages::columns::Floats as Kind,
};

use super::{
    Gpu,
    answers::upload,
    launch::{self, Bound, Function, Place, Spot, array_of, device},
    prepared::DeviceMemory,
    status::{self, Status as _},
};
use crate::{
    Error, RowFault,
    layout::{Extents, Layout},
    operand::AsView,
    plan::{
        RowPlan,
        row::{Form, Lie, MOST_BLOCKS},
    },
    room::room,
    row::{Floats, Mapped, Operation, Row, RowElement},
};

/// A row operation on one GPU: planned, its kernels loaded. Launch it as often as you like.
///
/// A launch allocates nothing and waits for nothing, so it can be captured in a CUDA graph. One thing is left to a first launch: rows of less than a leaf have a kernel for
/// addresses that are multiples of 16, and one for others, which is loaded when it is first needed. Where addresses are others, launch once before capturing.
pub struct PreparedRow<T, U> {
    ready: Ready,
    elements: PhantomData<fn(T) -> U>,
}

/// Device memory for the states of a row operation that one launch folds and another maps: [`RowPlan::workspace_words`].
pub struct States {
    words: DeviceMemory<u32>,
}

/// Where a row operation reads and writes: device addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowPlaces {
    /// The array's first element, of the prepared layout.
    pub input: u64,
    /// The answers', in C order. It may be the array's own, if that is in C order and answers have its type.
    pub output: u64,
    /// A weight of each column, and their type; none at 0.
    pub weights: (u64, Option<Type>),
    /// A bias of each.
    pub biases: (u64, Option<Type>),
    /// Where what else is known of each row goes, two arrays of an f32 for each; nowhere at 0.
    pub known: [u64; 2],
}

/// Whatever the types: compiled once.
struct Ready {
    gpu: Gpu,
    plan: RowPlan,
    params: RowParams,
    place: Place,
    /// Where answers lie: their dimensions, where there are several, and from a row to the next, from an element to the next.
    out_layout: Option<DeviceMemory<u64>>,
    out_strides: [i64; 2],
    causal: Option<(u64, i64)>,
    out: Kind,
    function: Function,
    /// Of addresses that are not aligned, where those of the plan must be: made when first asked for.
    unaligned: OnceLock<(RowPlan, Function)>,
    needs_weights: bool,
    form: Form,
    cluster: u32,
    /// What combines the states of more leaves than a warp does.
    states: Option<Function>,
    /// Elements of the layout's memory.
    reach: u64,
}

impl Ready {
    fn new<Op: Operation>(
        gpu: &Gpu,
        row: &Row<'_, Op>,
        layout: &Layout,
        element: Type,
        out: Type,
    ) -> Result<Self, Error> {
        let problem = row.layout_problem(layout)?;
        layout.check(i64::MAX as u64)?;
        let from = &problem.from;
        let kind = Kind::of(out).ok_or(Error::NoKernel {
            op: Op::NAME,
            element: out.name(),
        })?;
        let lie = Lie::of(element, from, &problem.to, problem.causal.is_some());
        let size = [from.count, from.len];
        let _bound = Bound::to(gpu.context())?;
        let planned = |cluster: u32| -> Result<(RowPlan, Function), Error> {
            let plan = RowPlan::new(Op::NAME, element, size, lie, row.form, cluster)?;
            Ok((plan, gpu.inner.modules.function(plan.entry)?))
        };
        // The largest cluster that the device can hold of that kernel: not all have room for one of 16 blocks.
        let mut cluster = if gpu.inner.modules.have_clusters() {
            MOST_BLOCKS
        } else {
            1
        };
        let (plan, function) = loop {
            let (plan, function) = planned(cluster)?;
            let shape = [plan.blocks, plan.threads(), plan.cluster()];
            if plan.cluster() == 1 || launch::holds_clusters(function, shape) {
                break (plan, function);
            }
            cluster = plan.cluster() / 2;
        };
        let reach = layout.reach().unwrap_or((0, 0));
        if reach.1 > isize::MAX as u64 / element.bytes() as u64 {
            return Err(Error::LengthOverflow {
                elements: reach.1,
                element_bytes: element.bytes(),
            });
        }
        let dimensions = |extents: &Extents| {
            let several = extents.has_several().then(|| {
                let numbers = extents.dimensions();
                DeviceMemory::new(gpu, 8 * numbers.len(), || DeviceBuffer::from_slice(&numbers))
            });
            several.transpose()
        };
        let spot = Spot {
            first: from.offset,
            stride: from.stride(),
            step: from.stride_within(),
            reach,
        };
        let states = (plan.levels().len() > 1).then(|| {
            let entry: &'static Entry = find_states(Op::STATES).expect("built for every kind of state");
            gpu.inner.modules.function(entry)
        });
        Ok(Self {
            gpu: gpu.clone(),
            plan,
            params: row.op.params(),
            place: Place::new(1, |_| spot, dimensions(from)?),
            out_layout: dimensions(&problem.to)?,
            out_strides: [problem.to.stride(), problem.to.stride_within()],
            causal: problem.causal,
            out: kind,
            function,
            unaligned: OnceLock::new(),
            needs_weights: row.op.needs_weights(),
            form: row.form,
            cluster,
            states: states.transpose()?,
            reach: reach.1,
        })
    }

    /// Another plan and kernel than those that were prepared, where these must have aligned addresses and a launch has others. The context is current.
    fn for_addresses(&self, passed: &RowLaunch) -> Result<Option<&(RowPlan, Function)>, Error> {
        let entry = self.plan.entry;
        if passed.widened(entry.element, 1).arguments::<f32>().is_wide || !self.plan.must_be_wide() {
            return Ok(None);
        }
        if let Some(other) = self.unaligned.get() {
            return Ok(Some(other));
        }
        let size = [self.plan.count, self.plan.len];
        let plan = RowPlan::new(entry.op, entry.element, size, Lie::InRuns, self.form, self.cluster)?;
        let function = self.gpu.inner.modules.function(plan.entry)?;
        Ok(Some(self.unaligned.get_or_init(|| (plan, function))))
    }

    /// What weights or biases are, if there are any: aligned, and of a type that they can have.
    fn kind_of(&self, (address, element): (u64, Option<Type>)) -> Result<Kind, Error> {
        if address == 0 {
            return Ok(self.out);
        }
        let entry = self.plan.entry;
        let element = element.unwrap_or(entry.element);
        let kind = Kind::of(element).ok_or(Error::NoKernel {
            op: entry.op,
            element: element.name(),
        })?;
        launch::check_alignment(address, kind.bytes())?;
        Ok(kind)
    }

    /// States that fit; of a plan that has none a word.
    fn workspace(&self) -> Result<States, Error> {
        let count = usize::try_from(self.plan.workspace_words().max(1)).map_err(|_| Error::LengthOverflow {
            elements: self.plan.workspace_words(),
            element_bytes: 4,
        })?;
        // SAFETY: each launch writes what it reads.
        let make = || unsafe { DeviceBuffer::uninitialized(count) };
        let words = DeviceMemory::new(&self.gpu, 4 * count, make)?;
        Ok(States { words })
    }

    /// The context is current.
    ///
    /// # Safety
    ///
    /// As [`PreparedRow::launch_raw`].
    unsafe fn enqueue(&self, stream: CUstream, places: &RowPlaces, workspace: &mut States) -> Result<(), Error> {
        let plan = &self.plan;
        let states = workspace.words.of(&self.gpu, plan.workspace_words() as usize)?;
        if self.needs_weights && places.weights.0 == 0 {
            return Err(Error::Row(RowFault::NoWeights { op: plan.entry.op }));
        }
        launch::check_alignment(places.input, plan.entry.element.bytes())?;
        launch::check_alignment(places.output, self.out.bytes())?;
        let kinds = [self.kind_of(places.weights)?, self.kind_of(places.biases)?];
        places
            .known
            .iter()
            .try_for_each(|known| launch::check_alignment(*known, 4))?;
        if plan.count == 0 {
            return Ok(());
        }
        let array = |i: usize| {
            let spot = self.place.arrays[i];
            array_of(spot, if i == 0 { places.input } else { 0 }, plan.entry.element.bytes())
        };
        let (period, shown) = self.causal.unwrap_or((0, 0));
        let passed = |mode: Mode| RowLaunch {
            arrays: [array(0), array(1)],
            len: plan.len,
            count: plan.count,
            layout: device(self.place.layout.as_ref().map_or(0, DeviceMemory::address)),
            out: device(places.output),
            out_stride: self.out_strides[0],
            out_step: self.out_strides[1],
            out_layout: device(self.out_layout.as_ref().map_or(0, DeviceMemory::address)),
            flags: RowLaunch::flags(self.out, kinds, mode, self.params),
            columns: [device(places.weights.0), device(places.biases.0)],
            statistics: places.known.map(device),
            states: device(states),
            row_states: device(states),
            states_of_row: plan.leaves,
            leaves: plan.leaves,
            blocks: plan.blocks_of_row.into(),
            period,
            shown,
            numbers: self.params.bits(),
        };
        let (plan, function) = match self.for_addresses(&passed(Mode::Whole))? {
            Some((plan, function)) => (plan, function),
            None => (plan, &self.function),
        };
        let go = |function: &Function, passed: RowLaunch, shape: [u32; 3]| {
            let mut passed = passed.widened(plan.entry.element, 1);
            let mut arguments: [*mut c_void; 1] = [ptr::from_mut(&mut passed).cast()];
            // SAFETY: the entry has this one parameter; that what it points to is valid is the caller's word.
            unsafe { launch::launch_clusters(*function, shape, stream, &mut arguments) }
        };
        let shape = [plan.blocks, plan.threads(), plan.cluster()];
        if !plan.is_split {
            return go(function, passed(Mode::Whole), shape);
        }
        go(function, passed(Mode::Fold), shape)?;
        let words = plan.entry.state_words as u64;
        let (mut first, levels) = (states, plan.levels());
        for pair in levels.windows(2) {
            let next = first + 4 * words * pair[0] * plan.count;
            let groups = pair[1].saturating_mul(plan.count);
            let blocks = i32::try_from(groups.div_ceil(8)).map_err(|_| Error::GridOverflow {
                count: plan.count,
                blocks: groups,
            })?;
            let combine = RowLaunch {
                states: device(first),
                states_of_row: pair[0],
                out: device(next),
                ..passed(Mode::Fold)
            };
            go(
                self.states.as_ref().expect("loaded where there are levels"),
                combine,
                [blocks as u32, 256, 1],
            )?;
            first = next;
        }
        let map = RowLaunch {
            row_states: device(first),
            states_of_row: *levels.last().expect("a split plan has a level"),
            ..passed(Mode::Map)
        };
        go(function, map, shape)
    }
}

impl<T: RowElement, U: RowElement> PreparedRow<T, U> {
    /// What will be launched.
    #[must_use]
    pub fn plan(&self) -> &RowPlan {
        &self.ready.plan
    }

    /// States that fit. Allocates, so not while a stream is captured.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn workspace(&self) -> Result<States, Error> {
        self.ready.workspace()
    }

    /// Enqueues the operation on `stream`, without weights: `input` has the prepared layout, `output` gets its answers in C order. Does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] where `input` is too short; [`Error::OutputTooSmall`]; [`Error::ForeignStream`]; [`Error::ForeignMemory`] where the workspace is
    /// another GPU's; [`Error::WorkspaceTooSmall`]; [`Error::Driver`]. Nothing is enqueued then, unless it is the driver's own.
    ///
    /// # Safety
    ///
    /// As [`launch_raw`](Self::launch_raw).
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        input: &DeviceSlice<T>,
        output: &mut DeviceSlice<U>,
        workspace: &mut States,
    ) -> Result<(), Error>
    where
        T: DeviceCopy,
        U: DeviceCopy,
    {
        let ready = &self.ready;
        if (input.len() as u64) < ready.reach {
            return Err(Error::LengthMismatch {
                prepared: ready.reach,
                got: input.len() as u64,
            });
        }
        let needed = ready.plan.len.saturating_mul(ready.plan.count);
        if (output.len() as u64) < needed {
            return Err(Error::OutputTooSmall {
                needed: needed as usize,
                got: output.len(),
            });
        }
        let places = RowPlaces {
            input: input.as_device_ptr().as_raw(),
            output: output.as_device_ptr().as_raw(),
            ..RowPlaces::default()
        };
        // SAFETY: passed on to the caller; the slices are valid for their lengths.
        unsafe { self.launch_raw(stream, &places, workspace) }
    }

    /// The same by device addresses, with weights and biases, and places for what else is known.
    ///
    /// # Errors
    ///
    /// As [`launch`](Self::launch), but for lengths; [`Error::Misaligned`]; [`Error::NoKernel`] of weights that are no f32, f16 or bf16.
    ///
    /// # Safety
    ///
    /// Until the stream has passed the launch: this `PreparedRow` lives; the addresses are valid in this GPU's context for what is read and
    /// written, which nothing else uses, but inputs may be read; the output overlaps the input nowhere, or it is the input: of the same address, its type, and rows in
    /// C order. For a captured launch this holds for every launch of the graph.
    pub unsafe fn launch_raw(&self, stream: &Stream, places: &RowPlaces, workspace: &mut States) -> Result<(), Error> {
        launch::check_stream(stream.as_inner(), self.ready.gpu.context())?;
        let _bound = Bound::to(self.ready.gpu.context())?;
        // SAFETY: passed on to the caller.
        unsafe { self.ready.enqueue(stream.as_inner(), places, workspace) }
    }
}

impl<Op: Operation> Row<'_, Op> {
    /// Plans it for arrays of that layout, of elements of `T` and answers of `U`, and loads its kernels, for launches of your own. Weights come with each launch.
    ///
    /// # Errors
    ///
    /// As [`on_cpu`](Row::on_cpu); [`RowFault::WithEachLaunch`] of weights; [`RowFault::TooLong`] of a form that reads a row once; [`Error::GridOverflow`]; [`Error::NoPtx`], [`Error::StalePtx`],
    /// [`Error::DriverTooOld`], [`Error::Driver`]; [`Error::OutOfMemory`].
    pub fn prepare<T: RowElement, U: RowElement>(
        &self,
        gpu: &Gpu,
        layout: &Layout,
    ) -> Result<PreparedRow<T, U>, Error> {
        for (name, floats) in [("weights", self.weights), ("biases", self.biases)] {
            if floats.is_some() {
                return Err(Error::Row(RowFault::WithEachLaunch { op: Op::NAME, name }));
            }
        }
        Ok(PreparedRow {
            ready: Ready::new(gpu, self, layout, T::TYPE, U::TYPE)?,
            elements: PhantomData,
        })
    }

    /// Maps an array in host memory on a GPU, and waits: to the bits of [`on_cpu`](Row::on_cpu). The array is copied to the device, and the answers back.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Row::prepare).
    pub fn on<'v, V, U>(self, gpu: &Gpu, values: V) -> Result<Mapped<U, Op::Known>, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement + Pod,
        U: RowElement + Pod,
    {
        let view = values.view();
        let layout = view.its_layout()?;
        self.check(&layout)?;
        let ready = Ready::new(gpu, &self, &layout, <V::Element as Element>::TYPE, U::TYPE)?;
        let mut workspace = ready.workspace()?;
        let count = ready.plan.count as usize;
        let scratch = gpu.scratch();
        let scratch = scratch.as_ref().expect("present until dropped");
        let _bound = Bound::to(gpu.context())?;
        let input = upload(bytemuck::cast_slice(view.values))?;
        let floats = |floats: Option<Floats<'_>>| floats.map(|floats| upload(floats.bytes())).transpose();
        let (weights, biases) = (floats(self.weights)?, floats(self.biases)?);
        let address = |buffer: &Option<DeviceBuffer<u8>>| buffer.as_ref().map_or(0, |b| b.as_device_ptr().as_raw());
        let out_bytes = layout.len() as usize * U::TYPE.bytes();
        // SAFETY: only ever read after the launch has filled them.
        let output = unsafe { DeviceBuffer::<u8>::uninitialized(out_bytes.max(1)) };
        let output = output.map_err(|error| status::memory(out_bytes, error))?;
        let known = DeviceBuffer::<u32>::zeroed(2 * count.max(1)).map_err(|error| status::memory(8 * count, error))?;
        launch::wait_for_default_stream()?;
        let first = known.as_device_ptr().as_raw();
        let places = RowPlaces {
            input: input.as_device_ptr().as_raw(),
            output: output.as_device_ptr().as_raw(),
            weights: (address(&weights), self.weights.map(|floats| floats.element())),
            biases: (address(&biases), self.biases.map(|floats| floats.element())),
            known: [first, first + 4 * count as u64],
        };
        // SAFETY: all memory is this call's own, and waited for.
        unsafe { ready.enqueue(scratch.stream.as_inner(), &places, &mut workspace)? };
        scratch.stream.synchronize().or_fail("cuStreamSynchronize")?;
        let mut values = room::<U>(layout.len())?;
        values.resize(layout.len() as usize, U::narrowed(0.0));
        if out_bytes > 0 {
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
            output.copy_to(bytes).or_fail("cuMemcpyDtoH")?;
        }
        let mut words = vec![0; 2 * count.max(1)];
        known.copy_to(&mut words).or_fail("cuMemcpyDtoH")?;
        let known = (0..count).map(|row| [row, count + row].map(|at| f32::from_bits(words[at])));
        Ok(Mapped {
            shape: layout.shape().to_vec(),
            values,
            known: known.collect::<Vec<_>>().into(),
        })
    }
}
