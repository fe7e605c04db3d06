//! A kernel made ready to be launched, whatever it computes: this is compiled once, and not with each operator.

use std::array;

use cust::sys::CUstream;
use warpfold_kernels::{
    element::Float,
    kernels::{Array, Kernel, Launch, OpParams},
    stages::load::{around::Around, mask::NO_MASK},
};

use super::{
    Gpu, RawStream, Workspace,
    context::Bound,
    launch::{self, Function, device},
    memory::DeviceMemory,
};
use crate::{
    Error,
    layout::{Extents, Layout, Segments},
    ops::AnyOp,
    plan::Plan,
    room::room,
};

/// A plan, its kernel loaded and what its launches have in common in device memory.
pub(crate) struct Ready {
    pub(super) gpu: Gpu,
    pub(super) plan: Plan,
    pub(super) function: Function,
    arrays: [Strides; 2],
    /// The dimensions of extents, where there are several; the numbers of segments, unless each launch brings its own.
    layout: Option<DeviceMemory<u64>>,
    /// What launches of a fold pass of the operator.
    params: OpParams,
    /// Bytes of an answer.
    pub(super) answer_bytes: usize,
    /// Whether the answers are the states.
    pub(super) answers_are_states: bool,
}

/// Where the extents lie in an array, in elements from its first; nowhere in one that there is not.
#[derive(Clone, Copy, Default)]
pub(super) struct Strides {
    /// The first element of the first extent.
    first: u64,
    /// From one extent to the next, and from one element to the next.
    stride: i64,
    step: i64,
    /// All elements lie from the first on, before the second.
    pub(super) reach: (u64, u64),
}

impl Strides {
    /// Of an array of so many elements that is folded whole, one `step` from the next; or in segments, of which 0 says that they lie in one array, and 1 that each has an address.
    pub(super) fn run(len: u64, step: i64) -> Self {
        Self {
            step,
            reach: (0, len),
            ..Self::default()
        }
    }

    /// Of extents, of an array whose elements reach so far.
    pub(super) fn of(extents: &Extents, reach: Option<(u64, u64)>) -> Self {
        Self {
            first: extents.offset,
            stride: extents.stride(),
            step: extents.stride_within(),
            reach: reach.unwrap_or((0, 0)),
        }
    }

    /// That elements of so many bytes fit in the address space.
    pub(super) fn check(self, element_bytes: usize) -> Result<(), Error> {
        let (_, elements) = self.reach;
        if elements <= isize::MAX as u64 / element_bytes as u64 {
            return Ok(());
        }
        Err(Error::LengthOverflow {
            elements,
            element_bytes,
        })
    }

    /// As a launch passes them, of an array at that address, of elements of so many bytes.
    pub(super) fn at(self, address: u64, pitch: usize) -> Array {
        let at = |element: u64| address + element * pitch as u64;
        let [start, begin, end] = [self.first, self.reach.0, self.reach.1].map(at);
        Array {
            start: device(start),
            stride: self.stride,
            step: self.step,
            around: Around(begin as usize, end as usize),
        }
    }
}

/// What comes with a launch of a fold.
pub(super) struct Places<'a> {
    pub(super) stream: CUstream,
    /// The arrays; 0 for a second, or a mask, that there is not.
    pub(super) inputs: [u64; 2],
    /// The numbers of segments, where each launch brings its own.
    pub(super) offsets: u64,
    pub(super) workspace: &'a mut Workspace,
    /// Where the answers go, packed; 0 for nowhere.
    pub(super) answer: u64,
    /// Where the states go; 0 for nowhere.
    pub(super) state: u64,
}

impl Ready {
    /// Of arrays whose extents lie so, with the numbers of their layout, if there are any.
    pub(super) fn new(gpu: &Gpu, plan: Plan, arrays: [Strides; 2], layout: Option<Vec<u64>>) -> Result<Self, Error> {
        let _bound = Bound::to(gpu.context())?;
        Self::of(gpu, plan, gpu.inner.modules.function(plan.entry)?, arrays, layout)
    }

    /// The same, the kernel having been loaded.
    pub(super) fn of(
        gpu: &Gpu,
        plan: Plan,
        function: Function,
        arrays: [Strides; 2],
        layout: Option<Vec<u64>>,
    ) -> Result<Self, Error> {
        for strides in arrays {
            strides.check(plan.entry.element.bytes())?;
        }
        let layout = layout.map(|numbers| DeviceMemory::of_numbers(gpu, &numbers));
        Ok(Self {
            gpu: gpu.clone(),
            answer_bytes: plan.entry.answer_bytes,
            answers_are_states: false,
            plan,
            function,
            arrays,
            layout: layout.transpose()?,
            params: OpParams::default(),
        })
    }

    /// A fold by an operator, of each array that its entry has.
    fn fold(
        gpu: &Gpu,
        op: &AnyOp,
        plan: Plan,
        strides: impl Fn(usize) -> Strides,
        layout: Option<Vec<u64>>,
    ) -> Result<Self, Error> {
        let arrays = array::from_fn(|i| {
            if i < plan.entry.arrays {
                strides(i)
            } else {
                Strides::default()
            }
        });
        Ok(Self {
            params: op.params(),
            answer_bytes: op.answer_bytes(),
            answers_are_states: op.answers_are_states(),
            ..Self::new(gpu, plan, arrays, layout)?
        })
    }

    /// Of a whole array.
    pub(super) fn whole(gpu: &Gpu, op: &AnyOp, plan: Plan) -> Result<Self, Error> {
        op.check_extent(plan.len)?;
        Self::fold(gpu, op, plan, |_| Strides::run(plan.len, 1), None)
    }

    /// Along axes, each array with its layout, of which `extents` were made.
    pub(super) fn along(gpu: &Gpu, op: &AnyOp, layouts: &[Layout], extents: &[Extents]) -> Result<Self, Error> {
        op.check()?;
        if extents[0].count > 0 {
            op.check_extent(extents[0].len)?;
        }
        let mut plan = Plan::along_all(op.kernel()?, extents)?;
        if gpu.inner.modules.has_clusters(plan.entry) {
            plan = plan.in_clusters();
        }
        // A mask that there is not has the array's layout.
        let at = |i: usize| i.min(extents.len() - 1);
        let layout = extents[0].has_several().then(|| {
            let each: Vec<Extents> = (0..plan.entry.arrays).map(|i| extents[at(i)].clone()).collect();
            Extents::dimensions_of(&each)
        });
        let strides = |i: usize| Strides::of(&extents[at(i)], layouts[at(i)].reach());
        Self::fold(gpu, op, plan, strides, layout)
    }

    /// Of an array in segments, or where there are `addresses` of arrays that lie apart.
    pub(super) fn segments(gpu: &Gpu, op: &AnyOp, segments: &Segments, addresses: &[u64]) -> Result<Self, Error> {
        op.check_segments(segments)?;
        let plan = Plan::segments(op.kernel()?, segments.len(), segments.count() as u64)?;
        let no_masks = if plan.entry.masked { addresses.len() } else { 0 };
        let mut numbers = room((segments.offsets().len() + addresses.len() + no_masks) as u64)?;
        numbers.extend(segments.offsets().iter().chain(addresses));
        numbers.resize(numbers.len() + no_masks, NO_MASK);
        let strides = Strides::run(segments.len(), i64::from(!addresses.is_empty()));
        Self::fold(gpu, op, plan, |_| strides, Some(numbers))
    }

    /// Of an array in segments whose numbers come with each launch.
    pub(super) fn segmented(gpu: &Gpu, op: &AnyOp, len: u64, count: u64) -> Result<Self, Error> {
        op.check()?;
        let plan = Plan::segments(op.kernel()?, len, count)?;
        Self::fold(gpu, op, plan, |_| Strides::run(len, 0), None)
    }

    /// The same, launched early.
    pub(super) fn early(self) -> Self {
        let function = self.function.early();
        Self { function, ..self }
    }

    /// Elements of an array that launches may read, by its number.
    pub(super) fn reach(&self, array: usize) -> u64 {
        self.arrays[array].reach.1
    }

    /// Whether it folds all of its input, an element after the other, to one answer or in segments.
    fn is_whole(&self) -> bool {
        let is_whole = |strides: &Strides| {
            let one_run = self.plan.count == 1 && strides.step == 1;
            strides.reach == (0, self.plan.len) && (one_run || self.plan.entry.kernel == Kernel::Segments)
        };
        self.arrays[..self.plan.entry.arrays].iter().all(is_whole)
    }

    /// Whether inputs of so many elements and an output of so many answers are what was prepared for.
    pub(super) fn check(&self, inputs: impl Iterator<Item = usize>, answers: usize) -> Result<(), Error> {
        for (array, input) in inputs.enumerate() {
            let (prepared, got) = (self.reach(array), input as u64);
            let fits = if self.is_whole() {
                got == prepared
            } else {
                got >= prepared
            };
            if !fits {
                return Err(Error::LengthMismatch { prepared, got });
            }
        }
        check_answers(self.plan.count, answers)
    }

    /// A workspace that fits, its tickets at zero.
    pub(super) fn workspace(&self) -> Result<Workspace, Error> {
        Workspace::new(&self.gpu, self.plan.workspace_words() as u64, self.plan.ticket_words())
    }

    /// What every launch passes, of arrays at those addresses of elements of so many bytes: the plan's part, and where extents lie.
    pub(super) fn passed(&self, inputs: [u64; 2], pitches: [usize; 2]) -> Launch {
        Launch {
            arrays: array::from_fn(|i| self.arrays[i].at(inputs[i], pitches[i])),
            layout: device(self.layout.as_ref().map_or(0, DeviceMemory::address)),
            ..self.plan.launch()
        }
    }

    /// Enqueues a launch in the plan's shape. The context is current.
    ///
    /// # Safety
    ///
    /// As [`launch::launch_passing`]; the stream has passed the launch before this is dropped.
    pub(super) unsafe fn go(&self, stream: CUstream, passed: Launch) -> Result<(), Error> {
        // SAFETY: the entry has this one parameter, and `gpu` keeps its module loaded; the rest is passed on.
        unsafe { launch::launch_passing(self.function, self.plan.grid(), stream, passed) }
    }

    /// Enqueues a fold on a stream; offsets are 0 but where each launch brings its own.
    ///
    /// # Safety
    ///
    /// As [`enqueue`](Self::enqueue).
    pub(super) unsafe fn launch_at(
        &self,
        stream: impl Into<RawStream>,
        (inputs, offsets): ([u64; 2], u64),
        answer: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        let stream = stream.into();
        let _bound = launch::bind(&self.gpu, stream)?;
        launch::check_alignment(answer, self.answer_bytes / self.plan.entry.answer_words)?;
        let stream = stream.as_inner();
        // SAFETY: passed on to the caller.
        unsafe {
            self.enqueue(Places {
                stream,
                inputs,
                offsets,
                workspace,
                answer,
                state: 0,
            })
        }
    }

    /// The same where the context is current.
    ///
    /// # Safety
    ///
    /// The inputs are valid for what is read of them and unwritten, answers and states are 0 or valid for an answer or a state of each extent, and the workspace is used by
    /// nothing else, all until the stream has passed the launch.
    pub(super) unsafe fn enqueue(&self, places: Places<'_>) -> Result<(), Error> {
        if self.plan.count == 0 {
            return Ok(());
        }
        let pitches = [0, 1].map(|array| self.plan.entry.pitch(array));
        for (input, pitch) in places.inputs.into_iter().zip(pitches) {
            launch::check_alignment(input, pitch)?;
        }
        // SAFETY: passed on to the caller.
        let [tickets, slots] = unsafe { places.workspace.for_plan(&self.gpu, places.stream, &self.plan)? };
        let (answer, state) = match (self.answers_are_states, places.state) {
            (true, 0) => (0, places.answer),
            (true, state) => (0, state),
            (false, state) => (places.answer, state),
        };
        let mut passed = self.passed(places.inputs, pitches);
        if self.layout.is_none() {
            passed.layout = device(places.offsets);
        }
        if self.params.numbers_only && self.plan.entry.masked && places.inputs[1] == 0 {
            passed.arrays[1].start = device(NO_MASK);
            passed.arrays[1].around = Around(0, usize::MAX);
        }
        let passed = Launch {
            slots: device(slots),
            tickets: device(tickets),
            answer: device(answer),
            state: device(state),
            numbers: [self.params.number, 0],
            flags: self.params.flags().into(),
            ..passed
        };
        // SAFETY: passed on to the caller.
        unsafe { self.go(places.stream, passed) }
    }

    /// Gives answers that are states the one NaN of all answers, in host memory: a state's has the sign and payload that the GPU made.
    pub(super) fn settle(&self, answers: &mut [u8]) {
        if self.answers_are_states {
            for answer in answers.as_chunks_mut().0 {
                *answer = <f64 as Float>::from_f64(f64::from_ne_bytes(*answer)).to_ne_bytes();
            }
        }
    }
}

/// Whether there is room for as many answers as are needed.
pub(super) fn check_answers(needed: u64, got: usize) -> Result<(), Error> {
    if got as u64 >= needed {
        return Ok(());
    }
    Err(Error::OutputTooSmall {
        needed: needed as usize,
        got,
    })
}
