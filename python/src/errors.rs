//! The exceptions that errors are raised as.

use std::{io, path::Path};

use pyo3::{
    PyErr, Python, create_exception,
    exceptions::{
        PyBufferError, PyFileNotFoundError, PyIndexError, PyKeyError, PyMemoryError, PyOSError, PyRuntimeError,
        PyTypeError, PyValueError,
    },
};
use warpfold::{CheckpointFault, Error};

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
        Error::Meaningless { .. } | Error::NoKernel { .. } | Error::WrongDtype { .. } | Error::Dtype { .. } => {
            PyTypeError::new_err(text)
        }
        Error::NoArray { .. } => PyKeyError::new_err(text),
        Error::File { path, source } => of_file(&path, &source, text),
        Error::Checkpoint {
            fault: CheckpointFault::Missing { shard, .. },
            ..
        } => not_found(&shard),
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

/// What the system says of a file, or what is wrong with its data.
fn of_file(path: &Path, source: &io::Error, text: String) -> PyErr {
    match (source.kind(), source.raw_os_error()) {
        (io::ErrorKind::OutOfMemory, _) => PyMemoryError::new_err(text),
        (io::ErrorKind::NotFound, _) => not_found(path),
        (_, Some(code)) => {
            // Python's class of the number, with the file's name.
            let said = source.to_string();
            let said = said.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((code, said, path.as_os_str().to_owned()))
        }
        (io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof, None) => {
            PyValueError::new_err(text)
        }
        _ => PyOSError::new_err(text),
    }
}

fn not_found(path: &Path) -> PyErr {
    /// C's number of it, on every system.
    const ENOENT: i32 = 2;
    PyFileNotFoundError::new_err((ENOENT, "No such file or directory", path.as_os_str().to_owned()))
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
