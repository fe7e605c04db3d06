//! A launch made ready, whatever its operator and its elements: this is compiled once, and not with each of them.

use cust::stream::Stream;
use warpfold_kernels::{
    kernels::{Kernel, OpParams},
    stages::load::mask::NO_MASK,
};

use super::{
    Gpu, Workspace,
    context::Bound,
    launch::{self, Function, Launch, Placement, Strides},
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
    gpu: Gpu,
    pub(super) plan: Plan,
    params: OpParams,
    place: Placement,
    function: Function,
}

impl Ready {
    /// Of a whole array.
    pub(super) fn whole(gpu: &Gpu, op: &AnyOp, plan: Plan) -> Result<Self, Error> {
        op.check_extent(plan.len)?;
        let strides = Strides {
            step: 1,
            reach: (0, plan.len),
            ..Strides::default()
        };
        Self::at(gpu, op, plan, Placement::new(plan.entry.arrays, |_| strides, None))
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
        let dimensions = extents[0].has_several().then(|| {
            let each: Vec<Extents> = (0..plan.entry.arrays).map(|i| extents[at(i)].clone()).collect();
            let numbers = Extents::dimensions_of(&each);
            DeviceMemory::of_numbers(gpu, &numbers)
        });
        let strides = |i: usize| Strides {
            first: extents[at(i)].offset,
            stride: extents[at(i)].stride(),
            step: extents[at(i)].stride_within(),
            reach: layouts[at(i)].reach().unwrap_or((0, 0)),
        };
        let place = Placement::new(plan.entry.arrays, strides, dimensions.transpose()?);
        Self::at(gpu, op, plan, place)
    }

    /// Of an array in segments, or where there are `addresses` of arrays that lie apart.
    pub(super) fn segments(gpu: &Gpu, op: &AnyOp, segments: &Segments, addresses: &[u64]) -> Result<Self, Error> {
        op.check_segments(segments)?;
        let plan = Plan::segments(op.kernel()?, segments.len(), segments.count() as u64)?;
        let no_masks = if plan.entry.masked { addresses.len() } else { 0 };
        let mut numbers = room((segments.offsets().len() + addresses.len() + no_masks) as u64)?;
        numbers.extend(segments.offsets().iter().chain(addresses));
        numbers.resize(numbers.len() + no_masks, NO_MASK);
        let numbers = DeviceMemory::of_numbers(gpu, &numbers)?;
        let strides = Strides {
            step: i64::from(!addresses.is_empty()),
            reach: (0, segments.len()),
            ..Strides::default()
        };
        let place = Placement::new(plan.entry.arrays, |_| strides, Some(numbers));
        Self::at(gpu, op, plan, place)
    }

    /// Of an array in segments whose numbers come with each launch.
    pub(super) fn segmented(gpu: &Gpu, op: &AnyOp, len: u64, count: u64) -> Result<Self, Error> {
        op.check()?;
        let plan = Plan::segments(op.kernel()?, len, count)?;
        let strides = Strides {
            reach: (0, plan.len),
            ..Strides::default()
        };
        Self::at(gpu, op, plan, Placement::new(plan.entry.arrays, |_| strides, None))
    }

    fn at(gpu: &Gpu, op: &AnyOp, plan: Plan, place: Placement) -> Result<Self, Error> {
        let element_bytes = plan.entry.element.bytes();
        for Strides { reach, .. } in place.arrays {
            if reach.1 > (isize::MAX as u64) / element_bytes as u64 {
                return Err(Error::LengthOverflow {
                    elements: reach.1,
                    element_bytes,
                });
            }
        }
        let _bound = Bound::to(gpu.context())?;
        let function = gpu.inner.modules.function(plan.entry)?;
        Ok(Self {
            gpu: gpu.clone(),
            plan,
            place,
            function,
            params: op.params(),
        })
    }

    /// The same, launched early.
    pub(super) fn early(self) -> Self {
        let function = self.function.early();
        Self { function, ..self }
    }

    /// Whether it folds all of its input, an element after the other, to one answer or in segments.
    fn is_whole(&self) -> bool {
        let is_whole = |strides: &Strides| {
            let one_run = self.plan.count == 1 && strides.step == 1;
            strides.reach == (0, self.plan.len) && (one_run || self.plan.entry.kernel == Kernel::Segments)
        };
        self.place.arrays[..self.plan.entry.arrays].iter().all(is_whole)
    }

    /// Whether inputs of so many elements and an output of so many answers are what was prepared for.
    pub(super) fn check(&self, inputs: impl Iterator<Item = usize>, answers: usize) -> Result<(), Error> {
        for (strides, input) in self.place.arrays.iter().zip(inputs) {
            let (prepared, got) = (strides.reach.1, input as u64);
            let fits = if self.is_whole() {
                got == prepared
            } else {
                got >= prepared
            };
            if !fits {
                return Err(Error::LengthMismatch { prepared, got });
            }
        }
        if (answers as u64) < self.plan.count {
            return Err(Error::OutputTooSmall {
                needed: self.plan.count as usize,
                got: answers,
            });
        }
        Ok(())
    }

    /// A workspace that fits, its tickets at zero.
    pub(super) fn workspace(&self) -> Result<Workspace, Error> {
        Workspace::new(&self.gpu, self.plan.workspace_words() as u64, self.plan.ticket_words())
    }

    /// Enqueues a launch on a stream; offsets are 0 but where each launch brings its own.
    ///
    /// # Safety
    ///
    /// As [`launch::launch`].
    pub(super) unsafe fn launch_at(
        &self,
        stream: &Stream,
        (inputs, offsets): ([u64; 2], u64),
        answer: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        let _bound = launch::bind(&self.gpu, stream)?;
        let entry = self.plan.entry;
        launch::check_alignment(answer, entry.answer_bytes / entry.answer_words)?;
        let stream = stream.as_inner();
        // SAFETY: passed on to the caller.
        unsafe {
            self.enqueue(Launch {
                gpu: &self.gpu,
                stream,
                inputs,
                offsets,
                workspace,
                answer,
                state: 0,
            })
        }
    }

    /// # Safety
    ///
    /// As [`launch::launch`].
    pub(super) unsafe fn enqueue(&self, launch: Launch<'_>) -> Result<(), Error> {
        if self.plan.count == 0 {
            return Ok(());
        }
        // SAFETY: the function is this plan's, and `gpu` keeps its module loaded; the rest is passed on.
        unsafe { launch::launch(self.function, &self.plan, self.params, &self.place, launch) }
    }
}
