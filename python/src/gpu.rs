//! Folds of arrays in a GPU's memory: planned once for a layout, launched on the current stream of the array's library, and not waited for.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pyo3::{Bound, PyAny, PyResult, Python, types::PyTuple};
use warpfold::{
    dynamic::Layouts,
    gpu::{AnyPrepared, Gpu, RawStream, Workspace},
    ops::element::Type,
};

use crate::{
    arrays::{Array, New},
    errors,
    folds::{AnyFold, Asked, Second},
};

/// What a plan is for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub asked: Asked,
    pub device: usize,
    pub x: (Vec<u64>, Vec<i64>),
    pub second: Option<(Vec<u64>, Vec<i64>)>,
    /// None for all of them.
    pub axes: Option<Vec<i64>>,
    pub keepdims: bool,
}

/// What is kept of a device between calls.
struct Device {
    gpu: Gpu,
    plans: HashMap<Key, (Arc<AnyPrepared>, u64)>,
    /// Counts calls.
    now: u64,
    /// Of each stream.
    workspaces: HashMap<RawStream, Workspace>,
}

/// Plans that are kept; the one that was used longest ago goes first.
const MOST_PLANS: usize = 512;

static DEVICES: Mutex<Vec<Option<Arc<Mutex<Device>>>>> = Mutex::new(vec![]);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The device of that index, opened once.
fn device(index: usize) -> Result<Arc<Mutex<Device>>, warpfold::Error> {
    let mut devices = lock(&DEVICES);
    if devices.len() <= index {
        devices.resize(index + 1, None);
    }
    if let Some(device) = &devices[index] {
        return Ok(device.clone());
    }
    let device = Arc::new(Mutex::new(Device {
        gpu: Gpu::new(index)?,
        plans: HashMap::new(),
        now: 0,
        workspaces: HashMap::new(),
    }));
    devices[index] = Some(device.clone());
    Ok(device)
}

impl Device {
    /// The plan of a key, made where there is none.
    fn plan(&mut self, key: &Key, make: impl FnOnce(&Gpu) -> PyResult<AnyPrepared>) -> PyResult<Arc<AnyPrepared>> {
        self.now += 1;
        if let Some((plan, used)) = self.plans.get_mut(key) {
            *used = self.now;
            return Ok(plan.clone());
        }
        let plan = Arc::new(make(&self.gpu)?);
        if self.plans.len() >= MOST_PLANS {
            let oldest = self
                .plans
                .iter()
                .min_by_key(|(_, (_, used))| *used)
                .map(|(key, _)| key.clone());
            // A launch of it may still run, and reads what it has in device memory.
            self.gpu.synchronize().map_err(errors::of)?;
            oldest.and_then(|oldest| self.plans.remove(&oldest));
        }
        self.plans.insert(key.clone(), (plan.clone(), self.now));
        Ok(plan)
    }

    /// Enqueues a launch.
    fn launch(
        &mut self,
        plan: &AnyPrepared,
        stream: RawStream,
        arrays: [u64; 2],
        answers: u64,
    ) -> Result<(), warpfold::Error> {
        let words = plan.plan().workspace_words();
        let fits = self
            .workspaces
            .get(&stream)
            .is_some_and(|workspace| workspace.fits(words));
        if !fits {
            let larger = plan.workspace()?;
            // The one that is replaced is freed when what was launched with it is done: freeing waits.
            self.workspaces.insert(stream, larger);
        }
        let workspace = self.workspaces.get_mut(&stream).expect("just made");
        // SAFETY: the arrays' library says that they are where they are, and orders what is done to them on this stream, as it does for launches of
        // its own: memory that is freed is given to later ones. The workspace is this stream's alone; plans are kept until they were waited for.
        unsafe { plan.launch_raw(stream, arrays, answers, workspace) }
    }
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
    let device = py.detach(|| device(key.device)).map_err(errors::of)?;
    let answer = function.answer();
    let element = match as_type {
        Some(element) if element.bytes() == answer.element.bytes() => element,
        _ => answer.element,
    };
    let (layout, other) = (x.layout()?, second.array().map(Array::layout).transpose()?);
    let layouts = match (second, &other) {
        (Second::Mask(_), Some(mask)) => Layouts::Masked(&layout, mask),
        (_, Some(other)) => Layouts::Two(&layout, other),
        (_, None) => Layouts::One(&layout),
    };
    let make = |gpu: &Gpu| function.prepare(gpu, layouts, key.axes.as_deref(), key.keepdims);
    let plan = py.detach(|| lock(&device).plan(key, make))?;
    let mut shape = plan.shape().to_vec();
    if key.axes.is_none() {
        shape = vec![1; if key.keepdims { x.shape.len() } else { 0 }];
    }
    if answer.parts > 1 {
        shape.push(answer.parts as u64);
    }
    let stream = x.current_stream()?;
    let new = match out {
        Some(out) => {
            out.check_out(element, &shape)?;
            None
        }
        None => Some(New::on_device(x, element, &shape)?),
    };
    let answers = new.as_ref().map_or_else(|| out.map_or(0, Array::address), New::address);
    let arrays = [x.address(), second.array().map_or(0, Array::address)];
    // SAFETY: the library that has this stream keeps it.
    let stream = unsafe { RawStream::from_raw(stream) };
    let words = plan.plan().workspace_words();
    let is_capturing = words > 0 && lock(&device).gpu.is_capturing(stream).map_err(errors::of)?;
    if is_capturing {
        // Memory of the graph's own, which its library keeps for it.
        let room = New::on_device(x, Type::I32, &[words as u64])?;
        // SAFETY: of so many words, and nobody else's; the rest as `Device::launch` says.
        let launched = unsafe {
            let mut workspace = Workspace::from_raw(room.address(), words);
            plan.launch_raw(stream, arrays, answers, &mut workspace)
        };
        drop(room.into_object(py)?);
        launched.map_err(errors::of)?;
    } else {
        py.detach(|| lock(&device).launch(&plan, stream, arrays, answers))
            .map_err(errors::of)?;
    }
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
