//! Asynchronous calls: everything that allocates or waits is done before them.

use std::marker::PhantomData;

use cust::memory::{DeviceCopy, DeviceSlice};

use warpfold_kernels::{element::Item, monoids::Words as _};

use super::{RawStream, memory::Workspace, ready::Ready};
use crate::{Error, operand::DeviceArrays, ops::Reduction, plan::Plan};

/// One operator over one length of items, on one GPU: planned, its kernel loaded. Launch it as often as you like. An item is an element, or
/// [`Two`](crate::ops::element::Two) of them, or one under a mask ([`Masked`](crate::ops::element::Masked)).
///
/// A launch allocates nothing and waits for nothing, so it can be captured in a CUDA graph.
pub struct Prepared<R, I> {
    op: R,
    pub(super) ready: Ready,
    items: PhantomData<fn(I)>,
}

impl<R: Reduction<I>, I: Item> Prepared<R, I> {
    /// By that operator, what was made ready for it.
    pub(crate) fn of(op: R, ready: Ready) -> Self {
        let items = PhantomData;
        Self { op, ready, items }
    }

    /// Whether inputs of so many elements and an output of so many answers are what was prepared for.
    pub(super) fn check(&self, inputs: impl Iterator<Item = usize>, answers: usize) -> Result<(), Error> {
        const {
            assert!(
                size_of::<R::Answer>() == R::Answer::COUNT * R::Answer::UNIT,
                "answers are packed"
            )
        };
        self.ready.check(inputs, answers)
    }

    /// What will be launched.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.ready.plan
    }

    /// The operator.
    #[must_use]
    pub fn op(&self) -> R {
        self.op
    }

    /// The same, launched early: CUDA's programmatic dependent launch. Its blocks may start while the kernel before it on the stream still
    /// runs. They touch no memory until all that this kernel wrote is seen, so no bit changes. A graph keeps it.
    ///
    /// What is saved is the latency of a launch, if the kernel before lets others start: those that are launched early here do. Behind others, and
    /// the first of a stream, it is as any launch.
    ///
    /// It takes compute capability 9.0, and a kernel built for that: of row operations, sums, means, largest and smallest values, their indices, and
    /// log-sum-exp. All but the first are of f32, f16 and bf16, not in segments, and not under masks. Any other is launched as before.
    #[must_use]
    pub fn early(self) -> Self {
        let ready = self.ready.early();
        Self { ready, ..self }
    }

    /// A workspace that fits, its tickets at zero. Allocates and waits, so not while a stream is captured.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn workspace(&self) -> Result<Workspace, Error> {
        self.ready.workspace()
    }

    /// Enqueues the fold of an array on `stream`, or of two, or of an array and its mask, as was prepared for. The answer goes to `answers[0]`, those
    /// of a fold along axes or in segments to as many places, in C order of the axes that are kept. Does not wait.
    ///
    /// Cost on the host: one driver call to launch and three to check the stream and switch contexts.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] where an array is not as long as prepared, or for a fold along axes too short;
    /// [`Error::OutputTooSmall`] where `answers` has too few places; [`Error::ForeignStream`] where the stream is another
    /// context's; [`Error::WorkspaceTooSmall`]; [`Error::Driver`]. Nothing is enqueued then.
    ///
    /// # Safety
    ///
    /// Until the stream has passed the launch: this `Prepared` lives (of a whole array, another handle of its GPU will do);
    /// the arrays stay allocated and unwritten; `answers` and `workspace` stay allocated and are used by nothing else. For a captured launch this
    /// holds for every launch of the graph. What writes to the arrays before is ordered with `stream`: mind that cust's
    /// `from_slice`, `copy_from` and `zeroed` work on the default stream and may return early.
    pub unsafe fn launch(
        &self,
        stream: impl Into<RawStream>,
        arrays: impl DeviceArrays<I>,
        answers: &mut DeviceSlice<R::Answer>,
        workspace: &mut Workspace,
    ) -> Result<(), Error>
    where
        R::Answer: DeviceCopy,
    {
        let arrays = arrays.each();
        let lens = arrays.iter().flatten().map(|(_, len)| *len);
        self.check(lens, answers.len())?;
        let addresses = arrays.map(|array| array.map_or(0, |(address, _)| address));
        // SAFETY: passed on to the caller; the slices are valid for their lengths.
        unsafe { self.launch_raw(stream, addresses, answers.as_device_ptr().as_raw(), workspace) }
    }

    /// The same by device addresses: of arrays of the prepared length, 0 for a second that there is not; and of `answers`, an answer for each
    /// extent, packed, at a multiple of what one is aligned to.
    ///
    /// # Errors
    ///
    /// As [`launch`](Self::launch), and [`Error::Misaligned`].
    ///
    /// # Safety
    ///
    /// As [`launch`](Self::launch); the addresses are valid in this GPU's context.
    pub unsafe fn launch_raw(
        &self,
        stream: impl Into<RawStream>,
        arrays: [u64; 2],
        answers: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        // SAFETY: passed on to the caller.
        unsafe { self.ready.launch_at(stream, (arrays, 0), answers, workspace) }
    }
}

/// The same of an operator that is chosen while the program runs: [`dynamic::Function::prepare`](crate::dynamic::Function::prepare).
pub struct AnyPrepared {
    ready: Ready,
    shape: Vec<u64>,
}

impl AnyPrepared {
    pub(crate) fn new((ready, shape): (Ready, Vec<u64>)) -> Self {
        Self { ready, shape }
    }

    /// What will be launched.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.ready.plan
    }

    /// The shape of the answers.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// As [`Prepared::workspace`].
    ///
    /// # Errors
    ///
    /// As that.
    pub fn workspace(&self) -> Result<Workspace, Error> {
        self.ready.workspace()
    }

    /// As [`Prepared::launch_raw`].
    ///
    /// # Errors
    ///
    /// As that.
    ///
    /// # Safety
    ///
    /// As that.
    pub unsafe fn launch_raw(
        &self,
        stream: impl Into<RawStream>,
        arrays: [u64; 2],
        answers: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        // SAFETY: passed on to the caller.
        unsafe { self.ready.launch_at(stream, (arrays, 0), answers, workspace) }
    }
}
