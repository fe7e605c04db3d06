//! The exceptions that errors are raised as.

use pyo3::{
    PyErr, Python, create_exception,
    exceptions::{PyBufferError, PyIndexError, PyMemoryError, PyRuntimeError, PyTypeError, PyValueError},
};
use warpfold::Error;

create_exception!(
    warpfold,
    DeviceError,
    PyRuntimeError,
    "A GPU, its driver or its kernels are missing, or failed."
);

/// The exception of an error.
pub fn of(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::NoAxis { .. } => PyIndexError::new_err(text),
        Error::OutOfMemory { .. } | Error::LengthOverflow { .. } => PyMemoryError::new_err(text),
        Error::Meaningless { .. } | Error::NoKernel { .. } => PyTypeError::new_err(text),
        Error::NoDriver { .. }
        | Error::NoDevice { .. }
        | Error::NoPtx { .. }
        | Error::StalePtx { .. }
        | Error::Driver { .. }
        | Error::DriverTooOld { .. }
        | Error::ForeignMemory { .. }
        | Error::ForeignStream => DeviceError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The same error of an argument of that name, where it says no name.
pub fn in_argument(py: Python<'_>, argument: &str, error: PyErr) -> PyErr {
    let named = format!("{argument}: {}", error.value(py));
    let wrapped = if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(named)
    } else if error.is_instance_of::<PyValueError>(py) {
        PyValueError::new_err(named)
    } else if error.is_instance_of::<PyBufferError>(py) {
        PyBufferError::new_err(named)
    } else {
        return error;
    };
    wrapped.set_cause(py, error.cause(py));
    wrapped
}
