//! Which library an object is an array of.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use pyo3::{
    Bound, Py, PyAny, PyResult, Python,
    exceptions::PyTypeError,
    types::{PyAnyMethods as _, PyCapsule, PyCapsuleMethods as _, PyTupleMethods as _, PyType, PyTypeMethods as _},
};
use warpfold::ops::element::Type;

use super::{Library, buffer, dlpack};

/// What is known of types of arrays; the types are kept, so that no other comes to have the address of one.
static LIBRARIES: Mutex<Option<Libraries>> = Mutex::new(None);
/// By the addresses of types.
type Libraries = HashMap<usize, (Py<PyType>, Library)>;
/// So many types at most.
const MOST_TYPES: usize = 256;

impl Library {
    pub(super) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let class = object.get_type();
        let key = class.as_ptr() as usize;
        let lock = || LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, library)) = lock().as_ref().and_then(|libraries| libraries.get(&key)) {
            return Ok(*library);
        }
        let library = Self::found(&class, object)?;
        let kept = (class.unbind(), library);
        let mut libraries = lock();
        let libraries = libraries.get_or_insert_default();
        if libraries.len() < MOST_TYPES {
            libraries.insert(key, kept);
        }
        Ok(library)
    }

    fn found(class: &Bound<'_, PyType>, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let module = class
            .module()
            .map_or_else(|_| String::new(), |module| module.to_string());
        let root = module.split('.').next().unwrap_or_default();
        if let Some(exchange) = exchange_of(class)? {
            return Ok(Self::Exchange(exchange));
        }
        if inherits(class, "MaskedArray") {
            return Err(PyTypeError::new_err(
                "a masked array: pass its data, and the inverse of its mask as where",
            ));
        }
        Ok(match root {
            _ if inherits(class, "ndarray") || inherits(class, "generic") => Self::Numpy,
            "dask" if class.hasattr("chunks")? && class.hasattr("dtype")? => Self::Dask,
            _ if class.hasattr("__dlpack__")? => Self::Dlpack,
            _ if buffer::has(object) => Self::Buffer,
            _ => {
                let name = class.fully_qualified_name()?;
                return Err(PyTypeError::new_err(format!(
                    "{name} is no array: pass one of NumPy, of torch, or of any library that has DLPack"
                )));
            }
        })
    }

    /// A new array in host memory of NumPy's, or of the standard library's.
    ///
    /// # Errors
    ///
    /// What it raises.
    pub fn made<'py>(self, py: Python<'py>, element: Type, shape: &[u64], bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        match (self, shape) {
            (Self::Numpy, []) => buffer::numpy_scalar(py, element, bytes),
            (Self::Numpy, _) => buffer::numpy_array(py, element, shape, bytes),
            (_, []) => buffer::number(py, element, bytes),
            _ => buffer::memoryview(py, element, shape, bytes),
        }
    }
}

/// Whether a class is that one of NumPy's, or is made of it.
fn inherits(class: &Bound<'_, PyType>, name: &str) -> bool {
    let is_it = |base: Bound<'_, PyAny>| {
        let base = base.cast_into::<PyType>().ok()?;
        let module = base.module().ok()?.to_string();
        Some(base.name().ok()? == name && (module == "numpy" || module.starts_with("numpy.")))
    };
    class.mro().iter().any(|base| is_it(base) == Some(true))
}

/// The exchange functions of a class, of the version that is known here.
fn exchange_of(class: &Bound<'_, PyType>) -> PyResult<Option<&'static dlpack::Exchange>> {
    let Ok(capsule) = class.getattr("__dlpack_c_exchange_api__") else {
        return Ok(None);
    };
    let Ok(capsule) = capsule.cast_into::<PyCapsule>() else {
        return Ok(None);
    };
    let pointer = capsule.pointer_checked(Some(dlpack::EXCHANGE))?;
    // SAFETY: the capsule's name says what it points to, and DLPack that it lives as long as the process.
    let exchange = unsafe { pointer.cast::<dlpack::Exchange>().as_ref() };
    Ok((exchange.version.major == dlpack::MAJOR).then_some(exchange))
}
