//! Folds of arrays in a GPU's memory: planned once for a layout, launched on the current stream of the array's library, and not waited for.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

mod lists;
mod waiting;

pub use lists::norm;
pub use waiting::{described, distinct, partial};

use pyo3::{Bound, PyAny, PyResult, Python, exceptions::PyTypeError, types::PyTuple};
use warpfold::{
    Error,
    dynamic::Layouts,
    fold::Extent,
    gpu::{AnyPrepared, ColumnPlaces, Gpu, PreparedColumns, RawStream, Workspace},
    layout::{Layout, Segments},
    ops::element::Type,
    row::RowElement,
};

use crate::{
    arrays::{Array, Lies, New},
    errors,
    folds::{AnyFold, Asked, Second, along},
    rows::{AnyRow, RowKey},
};

/// What a plan is for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub asked: Asked,
    pub device: usize,
    pub x: Lies,
    pub second: Option<Lies>,
    /// None for all of them.
    pub axes: Option<Vec<i64>>,
    pub keepdims: bool,
}

/// Plans that are kept; the one that was used longest ago goes first.
const MOST_PLANS: usize = 512;

/// What was made for keys, as far as it is kept.
pub struct Kept<K, V> {
    all: HashMap<K, (Arc<V>, u64)>,
    /// Those that a graph was captured with: it may be launched at any time.
    in_graphs: HashMap<K, Arc<V>>,
    /// Counts calls.
    now: u64,
}

impl<K: Clone + Eq + Hash, V> Kept<K, V> {
    fn new() -> Self {
        Self {
            all: HashMap::new(),
            in_graphs: HashMap::new(),
            now: 0,
        }
    }

    /// What there is of a key, made where there is none. While a stream is captured nothing is given up, for nothing can be waited for.
    pub fn of(
        &mut self,
        gpu: &Gpu,
        key: &K,
        is_capturing: bool,
        make: impl FnOnce(&Gpu) -> PyResult<V>,
    ) -> PyResult<Arc<V>> {
        self.now += 1;
        if let Some((plan, used)) = self.all.get_mut(key) {
            *used = self.now;
            if is_capturing {
                self.in_graphs.insert(key.clone(), plan.clone());
            }
            return Ok(plan.clone());
        }
        if let Some(plan) = self.in_graphs.get(key) {
            return Ok(plan.clone());
        }
        let plan = Arc::new(if is_capturing {
            gpu.while_capturing(|| make(gpu)).map_err(errors::of)??
        } else {
            make(gpu)?
        });
        if is_capturing {
            self.in_graphs.insert(key.clone(), plan.clone());
        }
        if self.all.len() >= MOST_PLANS && !is_capturing {
            // A launch of one may still run, and reads what it has in device memory; so several are given up at once.
            gpu.synchronize().map_err(errors::of)?;
            let mut used: Vec<u64> = self.all.values().map(|(_, used)| *used).collect();
            used.sort_unstable();
            let oldest = used[used.len() / 4];
            self.all.retain(|_, (_, used)| *used > oldest);
        }
        self.all.insert(key.clone(), (plan.clone(), self.now));
        Ok(plan)
    }
}

/// What is kept of a device between calls.
pub struct Device {
    pub gpu: Gpu,
    pub folds: Kept<Key, AnyPrepared>,
    pub rows: Kept<RowKey, Box<dyn AnyRow>>,
    pub columns: Kept<ColumnsKey, Box<dyn AnyColumns>>,
    lists: Kept<lists::Key, lists::List>,
    /// Of each stream.
    workspaces: HashMap<RawStream, Workspace>,
}

static DEVICES: Mutex<Vec<Option<Arc<Mutex<Device>>>>> = Mutex::new(vec![]);

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The device of that index, opened once.
pub fn device(py: Python<'_>, index: usize) -> PyResult<Arc<Mutex<Device>>> {
    if let Some(Some(device)) = lock(&DEVICES).get(index) {
        return Ok(device.clone());
    }
    let gpu = py.detach(|| Gpu::new(index)).map_err(errors::of)?;
    let mut devices = lock(&DEVICES);
    if devices.len() <= index {
        devices.resize(index + 1, None);
    }
    // Another thread may have been quicker.
    let device = devices[index].get_or_insert_with(|| {
        Arc::new(Mutex::new(Device {
            gpu,
            folds: Kept::new(),
            rows: Kept::new(),
            columns: Kept::new(),
            lists: Kept::new(),
            workspaces: HashMap::new(),
        }))
    });
    Ok(device.clone())
}

/// What is launched with a workspace that is large enough.
pub trait Launch: Sync {
    /// A workspace that fits.
    fn workspace(&self) -> Result<Workspace, Error>;
    /// Enqueues it.
    fn launch(&self, stream: RawStream, workspace: &mut Workspace) -> Result<(), Error>;
}

/// A library's current stream.
#[derive(Clone, Copy)]
pub struct Stream {
    raw: RawStream,
    /// Whether what is launched on it goes to a graph.
    pub is_capturing: bool,
}

impl Stream {
    /// That of an array's library.
    pub fn current(x: &Array<'_>, device: &Mutex<Device>) -> PyResult<Self> {
        // SAFETY: the library whose current one it is keeps it.
        let raw = unsafe { RawStream::from_raw(x.current_stream()?) };
        let is_capturing = lock(device).gpu.is_capturing(raw).map_err(errors::of)?;
        Ok(Self { raw, is_capturing })
    }

    /// The same, for what waits for the GPU, and so goes to no graph.
    fn that_waits(x: &Array<'_>, device: &Mutex<Device>, what: &str) -> PyResult<Self> {
        let stream = Self::current(x, device)?;
        if stream.is_capturing {
            let text = format!("{what} wait for the GPU, so they go to no graph");
            return Err(errors::DeviceError::new_err(text));
        }
        Ok(stream)
    }
}

/// Launches on a stream, in a workspace of that stream, or of a graph that is captured.
pub fn launch(x: &Array<'_>, device: &Mutex<Device>, stream: Stream, launch: &dyn Launch) -> PyResult<()> {
    let py = x.object.py();
    let Stream {
        raw: stream,
        is_capturing,
    } = stream;
    if !is_capturing {
        let waits = x.has_no_stream()?;
        let launched = py.detach(|| {
            let device = &mut *lock(device);
            launch_on(&mut device.workspaces, stream, launch)?;
            if waits { device.gpu.synchronize() } else { Ok(()) }
        });
        return launched.map_err(errors::of);
    }
    // SAFETY: of no words.
    let mut workspace = unsafe { Workspace::from_raw(0, 0) };
    match launch.launch(stream, &mut workspace) {
        Err(Error::WorkspaceTooSmall { needed, .. }) => {
            // Memory of the graph's own, which its library keeps for it.
            let words = needed.div_ceil(4);
            let room = New::on_device(x, Type::I32, &[words as u64])?;
            // SAFETY: of so many words, and nobody else's.
            let mut workspace = unsafe { Workspace::from_raw(room.address(), words) };
            let launched = launch.launch(stream, &mut workspace);
            drop(room.into_object(py)?);
            launched.map_err(errors::of)
        }
        launched => launched.map_err(errors::of),
    }
}

fn launch_on(
    workspaces: &mut HashMap<RawStream, Workspace>,
    stream: RawStream,
    launch: &dyn Launch,
) -> Result<(), Error> {
    if let Some(workspace) = workspaces.get_mut(&stream) {
        match launch.launch(stream, workspace) {
            Err(Error::WorkspaceTooSmall { .. }) => {}
            launched => return launched,
        }
    }
    let mut workspace = launch.workspace()?;
    launch.launch(stream, &mut workspace)?;
    // The one that is replaced is freed when what was launched with it is done: freeing waits.
    workspaces.insert(stream, workspace);
    Ok(())
}

/// What a plan of a norm's columns is for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ColumnsKey {
    pub element: Type,
    pub x: Lies,
    pub dy: Lies,
}

/// Columns made ready, their type forgotten.
pub trait AnyColumns: Send + Sync {
    /// A workspace that fits.
    fn workspace(&self) -> Result<Workspace, Error>;
    /// Enqueues them.
    ///
    /// # Safety
    ///
    /// As [`PreparedColumns::launch_raw`].
    unsafe fn launch(&self, stream: RawStream, places: &ColumnPlaces, workspace: &mut Workspace) -> Result<(), Error>;
}

impl<T: RowElement> AnyColumns for PreparedColumns<T> {
    fn workspace(&self) -> Result<Workspace, Error> {
        Self::workspace(self)
    }
    unsafe fn launch(&self, stream: RawStream, places: &ColumnPlaces, workspace: &mut Workspace) -> Result<(), Error> {
        // SAFETY: passed on to the caller.
        unsafe { self.launch_raw(stream, places, workspace) }
    }
}

/// Columns, and where.
pub struct ColumnsAt<'a> {
    pub plan: &'a dyn AnyColumns,
    pub places: ColumnPlaces,
}

impl Launch for ColumnsAt<'_> {
    fn workspace(&self) -> Result<Workspace, Error> {
        self.plan.workspace()
    }
    fn launch(&self, stream: RawStream, workspace: &mut Workspace) -> Result<(), Error> {
        // SAFETY: as folds are launched, below.
        unsafe { self.plan.launch(stream, &self.places, workspace) }
    }
}

/// A fold, and where.
struct FoldAt<'a> {
    plan: &'a AnyPrepared,
    arrays: [u64; 2],
    answers: u64,
}

impl Launch for FoldAt<'_> {
    fn workspace(&self) -> Result<Workspace, Error> {
        self.plan.workspace()
    }
    fn launch(&self, stream: RawStream, workspace: &mut Workspace) -> Result<(), Error> {
        // SAFETY: the arrays' library says that they are where they are, and orders what is done to them on this stream, as it does for launches of
        // its own: memory that is freed is given to later ones. The workspace is this stream's alone; plans are kept until they were waited for.
        unsafe { self.plan.launch_raw(stream, self.arrays, self.answers, workspace) }
    }
}

/// How the arrays of a fold lie.
struct Laid {
    x: Layout,
    second: Option<Layout>,
    is_mask: bool,
}

impl Laid {
    fn of(x: &Array<'_>, second: Second<'_, '_>) -> PyResult<Self> {
        Ok(Self {
            x: x.layout()?,
            second: second.array().map(Array::layout).transpose()?,
            is_mask: matches!(second, Second::Mask(_)),
        })
    }

    fn borrowed(&self) -> Layouts<'_> {
        match &self.second {
            None => Layouts::One(&self.x),
            Some(mask) if self.is_mask => Layouts::Masked(&self.x, mask),
            Some(second) => Layouts::Two(&self.x, second),
        }
    }
}

/// Folds an array in a GPU's memory in segments, whose numbers are copied there: so it waits.
pub fn in_segments<'py>(
    device: usize,
    function: &dyn AnyFold,
    x: &Array<'py>,
    second: Second<'_, 'py>,
    segments: &Segments,
    as_type: Option<Type>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.object.py();
    let device = &*self::device(py, device)?;
    let answer = function.answer();
    if answer.parts > 1 {
        return Err(PyTypeError::new_err(
            "op: in segments of an array in a GPU's memory it must have one answer",
        ));
    }
    let stream = Stream::that_waits(x, device, "segments")?;
    let layouts = Laid::of(x, second)?;
    let plan = py.detach(|| function.prepare(&lock(device).gpu, layouts.borrowed(), Extent::In(segments)))?;
    let new = New::on_device(x, as_type.unwrap_or(answer.element), plan.shape())?;
    let fold = FoldAt {
        plan: &plan,
        arrays: [x.address(), second.array().map_or(0, Array::address)],
        answers: new.address(),
    };
    launch(x, device, stream, &fold)?;
    // The numbers of segments are the plan's.
    py.detach(|| lock(device).gpu.synchronize()).map_err(errors::of)?;
    new.into_object(py)
}

/// Folds an array in a GPU's memory to a new one, or to `out`.
pub fn folded<'py>(
    py: Python<'py>,
    key: &Key,
    function: &dyn AnyFold,
    x: &Array<'py>,
    second: Second<'_, 'py>,
    as_type: Option<Type>,
    out: Option<&Array<'py>>,
) -> PyResult<Bound<'py, PyAny>> {
    let device = &*device(py, key.device)?;
    let answer = function.answer();
    let element = match as_type {
        Some(element) if element.bytes() == answer.element.bytes() => element,
        _ => answer.element,
    };
    let layouts = Laid::of(x, second)?;
    let make = |gpu: &Gpu| match key.axes.as_deref() {
        None => function.prepare(gpu, layouts.borrowed(), Extent::Whole),
        Some(axes) => function.prepare(gpu, layouts.borrowed(), Extent::Along(&along(axes, key.keepdims))),
    };
    let stream = Stream::current(x, device)?;
    let plan = py.detach(|| {
        let device = &mut *lock(device);
        device.folds.of(&device.gpu, key, stream.is_capturing, make)
    })?;
    let mut shape = plan.shape().to_vec();
    if key.axes.is_none() {
        shape = vec![1; if key.keepdims { x.shape.len() } else { 0 }];
    }
    if answer.parts > 1 {
        shape.push(answer.parts as u64);
    }
    let new = match out {
        Some(out) => {
            out.check_out(x.device, element, &shape)?;
            None
        }
        None => Some(New::on_device(x, element, &shape)?),
    };
    let answers = new.as_ref().map_or_else(|| out.map_or(0, Array::address), New::address);
    let arrays = [x.address(), second.array().map_or(0, Array::address)];
    let fold = FoldAt {
        plan: &plan,
        arrays,
        answers,
    };
    launch(x, device, stream, &fold)?;
    let answers = match (new, out) {
        (Some(new), _) => new.into_object(py)?,
        (None, Some(out)) => return Ok(out.object.clone()),
        (None, None) => unreachable!("there is a place for the answers"),
    };
    let answers = match as_type {
        Some(to) if to != element => Array::of(&answers, "x")?.cast(to)?.object,
        _ => answers,
    };
    if answer.parts == 1 {
        return Ok(answers);
    }
    use pyo3::types::{PyAnyMethods as _, PyEllipsis};
    let parts = (0..answer.parts).map(|part| answers.get_item((PyEllipsis::get(py), part)));
    Ok(PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any())
}
