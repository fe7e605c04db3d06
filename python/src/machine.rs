//! Threads and devices.

use pyo3::{
    PyResult, Python,
    exceptions::{PyRuntimeError, PyValueError},
    pyfunction,
    types::PyAnyMethods as _,
};
use warpfold::cpu;

/// Has the CPU start so many threads, and not one for each core. It is to be called before the first large array; the bits are the same with any number.
#[pyfunction]
#[pyo3(signature = (count, /))]
pub fn set_threads(count: usize) -> PyResult<()> {
    if count == 0 {
        return Err(PyValueError::new_err("count: 0; there is at least one"));
    }
    if cpu::set_threads(count) {
        return Ok(());
    }
    let started = cpu::threads();
    Err(PyRuntimeError::new_err(format!(
        "count: {started} threads were started already, by an earlier call"
    )))
}

/// What folds here: the CPU, and each GPU, with its number.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<String>> {
    let mut all = vec![format!(
        "cpu: {} threads, {}",
        cpu::threads(),
        cpu::vector_instructions()
    )];
    py.detach(|| {
        // Without a driver there are none.
        let count = warpfold::gpu::Gpu::count().unwrap_or(0);
        all.extend((0..count).filter_map(|index| Some(warpfold::gpu::Gpu::new(index).ok()?.facts().to_string())));
    });
    Ok(all)
}

#[pyfunction]
fn after_fork() {
    cpu::after_fork();
}

/// A process that Python forks has none of its parent's threads: it is told so.
pub fn watch_forks(py: Python<'_>) -> PyResult<()> {
    let os = py.import("os")?;
    if let Ok(register) = os.getattr("register_at_fork") {
        let keywords = pyo3::types::PyDict::new(py);
        pyo3::types::PyDictMethods::set_item(&keywords, "after_in_child", pyo3::wrap_pyfunction!(after_fork, py)?)?;
        register.call((), Some(&keywords))?;
    }
    Ok(())
}
