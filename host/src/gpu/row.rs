//! Row operations.

mod call;
mod columns;
mod double;
mod launches;
mod part;
mod places;

pub use columns::{ColumnPlaces, PreparedColumns};
pub use part::PreparedPart;
pub use places::RowPlaces;

use std::{marker::PhantomData, sync::OnceLock};

use cust::{
    memory::{DeviceCopy, DeviceSlice},
    sys::CUstream,
};
use warpfold_kernels::{
    element::Type,
    kernels::{
        Launch,
        rows::Width,
        rowwise::{RowParams, RowVariant, Second},
    },
    ops::RowOperation as _,
    rowwise::RowOp,
    stages::columns::{Floats as Kind, Shares},
};

use super::{
    Gpu, RawStream, Workspace,
    context::Bound,
    launch::{self, Function},
    memory::DeviceMemory,
    ready::{Ready, Strides, check_answers},
};
use crate::{
    Error, RowFault,
    layout::{Extents, Layout},
    plan::{
        Plan,
        row::{MOST_BLOCKS, Purpose, RowLayout, RowProblem},
    },
    row::{Knowledge as _, Operation, Row, RowElement, Targets, Values},
};

/// A row operation on one GPU: planned, its kernels loaded. Launch it as often as you like.
///
/// A launch allocates nothing and waits for nothing, so it can be captured in a CUDA graph. One thing is left to a first launch: what is aligned and
/// has nothing unusual about it has a kernel of its own, and all else another, which is loaded when it is first needed. So launch once before capturing where addresses are no multiples of 16,
/// weights are of another 16-bit type than the rows, or the entropy is asked for.
pub struct PreparedRow<T, U> {
    rows: ReadyRows,
    elements: PhantomData<fn(T) -> U>,
}

/// Whatever the types: compiled once.
struct ReadyRows {
    ready: Ready,
    name: &'static str,
    params: RowParams,
    /// What the elements are, and the answers.
    kinds: [Kind; 2],
    /// Where answers lie: their dimensions, where there are several, and from a row to the next, from an element to the next.
    out_layout: Option<DeviceMemory<u64>>,
    out_strides: [i64; 2],
    causal: Option<(u64, i64)>,
    shares: Shares,
    /// Whether a row lies along several dimensions.
    is_folded: bool,
    /// What the other array is, if there is one.
    second: Option<Second>,
    /// Whether targets are of 64 bits, and which is none.
    targets: Option<(bool, i64)>,
    maps: bool,
    /// Whether a launch ends with the states of rows.
    knows_sums: bool,
    /// How many rows on the one is that a launch asks for beforehand.
    prefetch: u64,
    /// The plan of launches that are not plain, where those of the other must be; and its kernel, loaded when first asked for.
    general: Option<(Plan, OnceLock<Function>)>,
    /// Whether a launch is plain.
    is_plain: fn(&Launch, Type) -> bool,
    needs_weights: bool,
    /// Whether what is known of rows is read rather than written.
    reads_known: bool,
    /// What combines the states of leaves.
    states: Option<Function>,
    /// Of rows that are split how many of their elements lie before the array's, and how many are others'; and what sums a word of each part.
    part: Option<[u64; 2]>,
    sums: Option<Function>,
    /// What makes of rows' states what is known of them, where nothing is mapped.
    known: Option<Function>,
    is_early: bool,
}

/// What floats of a type are to a kernel.
fn kind_of(op: &'static str, element: Type) -> Result<Kind, Error> {
    Kind::of(element).ok_or(Error::NoKernel {
        op,
        element: element.name(),
    })
}

/// Threads of a block that makes of rows' states what is known of them.
const KNOWN_THREADS: u32 = 128;

impl ReadyRows {
    /// What is `asked` of the numbers that are known of rows, as far as it is settled: with some no launch is plain.
    fn new<Op: Operation>(
        gpu: &Gpu,
        row: &Row<'_, Op>,
        layout: &Layout,
        [element, out]: [Type; 2],
        asked: [bool; 4],
    ) -> Result<Self, Error> {
        let problem = row.layout_problem(layout)?;
        layout.check(i64::MAX as u64)?;
        let [from, other] = &problem.from;
        let second = row.other.as_ref().map(|(second, _)| *second);
        let params = row.op.params();
        let is_seen = problem.causal.is_none()
            || <Op::Op as RowOp>::MASKS && Width::of(element, problem.from[0].len) == Width::Warp;
        let is_plain = !asked[<Op::Op as RowOp>::PLAIN_KNOWS..].contains(&true)
            && is_seen
            && element == out
            && !matches!(second, Some(Second::Mask))
            && !params.negates;
        let row_layout = match RowLayout::of(element, &problem.from, &problem.to, is_plain) {
            RowLayout::Plain | RowLayout::Contiguous if second == Some(Second::Added) => RowLayout::Added,
            layout => layout,
        };
        let _bound = Bound::to(gpu.context())?;
        let size = [from.count, from.len];
        let purpose = match (row.op.maps(), Op::Known::ARE_SUMS) {
            _ if row.part.is_some() => Purpose::Part,
            (true, _) => Purpose::Map,
            (_, true) => Purpose::States,
            _ => Purpose::Know,
        };
        let plan_of = |layout: RowLayout, cluster: u32| {
            Plan::rows(RowProblem {
                library: Op::Op::LIBRARY,
                op: Op::Op::NAME,
                element,
                size,
                layout,
                cluster,
                purpose,
            })
        };
        let planned = planned(gpu, |cluster| plan_of(row_layout, cluster))?;
        let Planned {
            plan,
            function,
            cluster,
            at_once,
        } = planned;
        let general = plan
            .must_be_plain()
            .then(|| plan_of(RowLayout::Contiguous, cluster.min(PORTABLE_BLOCKS)))
            .transpose()?
            .map(|plan| (plan, OnceLock::new()));
        let several = from.has_several() || other.has_several();
        let arrays = [Strides::of(from, layout.reach()), Strides::of(other, problem.reach)];
        let dimensions = several.then(|| Extents::dimensions_of(&problem.from));
        let ready = Ready::of(gpu, plan, function, arrays, dimensions)?;
        let out_layout = problem.to.has_several().then(|| problem.to.dimensions());
        let out_layout = out_layout.map(|numbers| DeviceMemory::of_numbers(gpu, &numbers));
        let known = Op::Op::LIBRARY.find_row(Op::Op::NAME, element, RowVariant::Known);
        let known = known
            .filter(|_| !row.op.maps())
            .map(|entry| gpu.inner.modules.function(entry));
        let plans = [Some(&plan), general.as_ref().map(|(plan, _)| plan)];
        let have_states = row.part.is_some() || plans.iter().flatten().any(|plan| plan.combines() > 0);
        let combines = |kind: &str| {
            let entry = Op::Op::LIBRARY.find_row_states(kind);
            gpu.inner
                .modules
                .function(entry.expect("built for every kind of state"))
        };
        let states = have_states.then(|| combines(Op::Op::STATES));
        let sums = row.part.map(|_| combines("sum"));
        let part = row.part.map(|part| Ok([part.first, part.others(from.len)?]));
        Ok(Self {
            ready,
            name: Op::NAME,
            params,
            kinds: [kind_of(Op::NAME, element)?, kind_of(Op::NAME, out)?],
            out_layout: out_layout.transpose()?,
            out_strides: [problem.to.stride(), problem.to.stride_within()],
            causal: problem.causal,
            shares: problem.shares,
            is_folded: from.folded.len() > 1,
            second,
            targets: row
                .targets
                .as_ref()
                .map(|(targets, ignored)| (targets.values.are_wide(), *ignored)),
            maps: row.op.maps(),
            knows_sums: Op::Known::ARE_SUMS,
            prefetch: prefetch(&plan, at_once),
            general,
            is_plain: Launch::is_plain::<Op::Op>,
            needs_weights: row.op.needs_weights(),
            reads_known: row.given.is_some(),
            states: states.transpose()?,
            part: part.transpose()?,
            sums: sums.transpose()?,
            known: known.transpose()?,
            is_early: false,
        })
    }

    /// The plan and the kernel of a launch: where these must be plain and it is not, the general ones. The context is current.
    fn of_launch(&self, passed: &Launch) -> Result<(&Plan, &Function), Error> {
        let Ready {
            gpu, plan, function, ..
        } = &self.ready;
        let is_plain = || (self.is_plain)(passed, plan.entry.element);
        let Some((plan, general)) = self.general.as_ref().filter(|_| !is_plain()) else {
            return Ok((plan, function));
        };
        if general.get().is_none() {
            let loaded = gpu.inner.modules.function(plan.entry)?;
            // Another thread's is the same.
            let _ = general.set(loaded);
        }
        Ok((plan, general.get().unwrap_or(function)))
    }

    /// Of both plans that which needs the larger workspace.
    fn largest(&self) -> &Plan {
        let general = self.general.as_ref().map(|(plan, _)| plan);
        let plans = general.into_iter().chain([&self.ready.plan]);
        plans
            .max_by_key(|plan| plan.workspace_words())
            .unwrap_or(&self.ready.plan)
    }

    /// A workspace that fits; of plans that have no states a word.
    fn workspace(&self) -> Result<Workspace, Error> {
        Workspace::new(&self.ready.gpu, self.largest().workspace_words() as u64, 0)
    }

    /// The states of rows, in a workspace that must fit. The context is current.
    ///
    /// # Safety
    ///
    /// As [`Workspace::for_launch`].
    unsafe fn states_in(&self, workspace: &mut Workspace, stream: CUstream) -> Result<u64, Error> {
        // SAFETY: passed on to the caller.
        let [_, states] = unsafe { workspace.for_plan(&self.ready.gpu, stream, self.largest())? };
        Ok(states)
    }
}

/// Blocks of a cluster that every device has room for which has clusters: that of a kernel which is not loaded yet.
const PORTABLE_BLOCKS: u32 = 8;

/// A plan and its kernel.
struct Planned {
    plan: Plan,
    function: Function,
    /// The largest cluster that it could be of.
    cluster: u32,
    /// Clusters that the device has at once, or blocks by themselves; 0 of a device without clusters.
    at_once: u32,
}

/// How far ahead rows are asked for: as many as are under way at once, of clusters, which all wait for each other. Blocks by themselves begin and end at all times: half as far is as good for
/// them, and leaves more of the cache to others (H200s).
fn prefetch(plan: &Plan, at_once: u32) -> u64 {
    if plan.cluster > 1 {
        return at_once.into();
    }
    let rows = if plan.tiles == 1 { plan.shape.warps } else { 1 };
    u64::from(at_once) * u64::from(rows) / u64::from(plan.blocks_that_meet()) / 2
}

/// A plan and its kernel, with the largest cluster that the device can hold of it: not all have room for one of 16 blocks. The context is current.
fn planned(gpu: &Gpu, plan_of: impl Fn(u32) -> Result<Plan, Error>) -> Result<Planned, Error> {
    let modules = &gpu.inner.modules;
    let mut cluster = MOST_BLOCKS;
    loop {
        let plan = plan_of(cluster)?;
        let has_clusters = modules.has_clusters(plan.entry);
        if cluster > 1 && !has_clusters {
            cluster = 1;
            continue;
        }
        let function = modules.function(plan.entry)?.with_dynamic(plan.dynamic_bytes());
        let shape = plan.grid();
        let at_once = if has_clusters && plan.count > 0 {
            launch::clusters_at_once(function, shape)
        } else {
            0
        };
        if plan.cluster == 1 || at_once > 0 || plan.count == 0 {
            return Ok(Planned {
                plan,
                function,
                cluster,
                at_once,
            });
        }
        cluster = plan.cluster / 2;
    }
}

impl<T: RowElement, U: RowElement> PreparedRow<T, U> {
    /// What will be launched.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.rows.ready.plan
    }

    /// The same, launched early, as [`Prepared::early`](super::Prepared::early) says.
    #[must_use]
    pub fn early(mut self) -> Self {
        self.rows.is_early = true;
        self
    }

    /// A workspace that fits: [`Plan::workspace_words`]. Allocates, so not while a stream is captured.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn workspace(&self) -> Result<Workspace, Error> {
        self.rows.workspace()
    }

    /// Enqueues the operation on `stream`, of one array and nothing beside it: `input` has the prepared layout, `output` gets its answers in C order. Does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] where `input` is too short; [`Error::OutputTooSmall`]; [`Error::ForeignStream`]; [`Error::ForeignMemory`] where the workspace is
    /// another GPU's; [`Error::WorkspaceTooSmall`]; [`RowFault::Missing`] of an operation that needs more; [`Error::Driver`]. Nothing is enqueued then, unless it is the driver's own.
    ///
    /// # Safety
    ///
    /// As [`launch_raw`](Self::launch_raw).
    pub unsafe fn launch(
        &self,
        stream: impl Into<RawStream>,
        input: &DeviceSlice<T>,
        output: &mut DeviceSlice<U>,
        workspace: &mut Workspace,
    ) -> Result<(), Error>
    where
        T: DeviceCopy,
        U: DeviceCopy,
    {
        let ReadyRows { ready, maps, .. } = &self.rows;
        if !maps {
            let what = "places for what is known of rows, of launch_raw,";
            return Err(Error::Row(RowFault::Missing { what }));
        }
        let (prepared, got) = (ready.reach(0), input.len() as u64);
        if got < prepared {
            return Err(Error::LengthMismatch { prepared, got });
        }
        check_answers(ready.plan.elements(), output.len())?;
        let places = RowPlaces {
            input: input.as_device_ptr().as_raw(),
            output: output.as_device_ptr().as_raw(),
            ..RowPlaces::default()
        };
        // SAFETY: passed on to the caller; the slices are valid for their lengths.
        unsafe { self.launch_raw(stream, &places, workspace) }
    }

    /// The same by device addresses, with what is read and written beside it.
    ///
    /// # Errors
    ///
    /// As [`launch`](Self::launch), but for lengths; [`Error::Misaligned`]; [`Error::NoKernel`] of weights that are no f32, f16 or bf16.
    ///
    /// # Safety
    ///
    /// Until the stream has passed the launch: this `PreparedRow` lives; the addresses are valid in this GPU's context for what is read and
    /// written, which nothing else uses, but inputs may be read; what is written overlaps no input, unless it is one: of the same address, its type, and rows in
    /// C order. For a captured launch this holds for every launch of the graph.
    pub unsafe fn launch_raw(
        &self,
        stream: impl Into<RawStream>,
        places: &RowPlaces,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        let stream = stream.into();
        let _bound = launch::bind(&self.rows.ready.gpu, stream)?;
        // SAFETY: passed on to the caller.
        unsafe { self.rows.enqueue(stream.as_inner(), places, workspace).map(drop) }
    }
}

impl<Op: Operation> Row<'_, Op> {
    /// Plans it for arrays of that layout, of elements of `T` and answers of `U`, and loads its kernels, for launches of your own. Weights, other arrays and targets come with each
    /// launch: say of these that they come [later](crate::row::Later).
    ///
    /// # Errors
    ///
    /// As [`on_cpu`](Row::on_cpu); [`RowFault::WithEachLaunch`] of weights, targets and other arrays that are there now; [`Error::GridOverflow`]; [`Error::NoPtx`], [`Error::StalePtx`],
    /// [`Error::DriverTooOld`], [`Error::Driver`]; [`Error::OutOfMemory`].
    pub fn prepare<T: RowElement, U: RowElement>(
        &self,
        gpu: &Gpu,
        layout: &Layout,
    ) -> Result<PreparedRow<T, U>, Error> {
        for (name, floats) in self.columns() {
            if floats.is_some() {
                return Err(Error::Row(RowFault::WithEachLaunch { op: Op::NAME, name }));
            }
        }
        if self.op.zeroes() {
            return Err(Error::Parameter {
                op: Op::NAME,
                name: "the scale",
                value: 0.0,
                must: "other than 0 where an operation is prepared",
            });
        }
        let later = |name: &'static str| Err(Error::Row(RowFault::WithEachLaunch { op: Op::NAME, name }));
        if self
            .other
            .as_ref()
            .is_some_and(|(_, other)| !matches!(other.values, Values::Later))
        {
            return later("another array's elements");
        }
        if self
            .targets
            .as_ref()
            .is_some_and(|(targets, _)| !matches!(targets.values, Targets::Later { .. }))
        {
            return later("targets");
        }
        Ok(PreparedRow {
            rows: ReadyRows::new(gpu, self, layout, [T::TYPE, U::TYPE], [false; 4])?,
            elements: PhantomData,
        })
    }
}
