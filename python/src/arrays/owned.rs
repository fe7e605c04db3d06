//! Memory that another library takes over.

use std::{ffi::c_void, ptr};

use pyo3::{Bound, PyAny, PyErr, PyResult, Python, exceptions::PyBufferError, ffi, pyclass, pymethods, types::PyTuple};
use warpfold::ops::element::Type;

use super::dlpack::{self, DlDevice, DlType, Legacy, Tensor, Version, Versioned};
use crate::dtypes;

/// An array that a library takes by `from_dlpack`, once.
#[pyclass(module = "warpfold", name = "_Owned", frozen)]
pub struct Owned {
    element: Type,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

/// What a tensor's manager keeps: its numbers lie in here.
struct Kept {
    shape: Vec<i64>,
    strides: Vec<i64>,
    words: Vec<u128>,
}

impl Owned {
    pub fn new(element: Type, shape: &[u64], bytes: &[u8]) -> Self {
        Self {
            element,
            shape: shape.to_vec(),
            bytes: bytes.to_vec(),
        }
    }

    /// A tensor of a copy, and what keeps it.
    fn tensor(&self) -> (Tensor, *mut c_void) {
        let mut words = vec![0_u128; self.bytes.len().div_ceil(16).max(1)];
        bytemuck::cast_slice_mut(&mut words)[..self.bytes.len()].copy_from_slice(&self.bytes);
        let mut kept = Box::new(Kept {
            shape: self.shape.iter().map(|extent| *extent as i64).collect(),
            strides: super::copy::c_strides(&self.shape),
            words,
        });
        let (code, bits) = dtypes::to_dlpack(self.element);
        let tensor = Tensor {
            data: kept.words.as_mut_ptr().cast(),
            device: DlDevice {
                kind: dlpack::CPU,
                index: 0,
            },
            axes: kept.shape.len() as i32,
            element: DlType { code, bits, lanes: 1 },
            shape: kept.shape.as_mut_ptr(),
            strides: kept.strides.as_mut_ptr(),
            byte_offset: 0,
        };
        (tensor, Box::into_raw(kept).cast())
    }
}

#[pymethods]
impl Owned {
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<&Bound<'py, PyTuple>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = (stream, dl_device, copy);
        let (tensor, context) = self.tensor();
        let (pointer, name, destructor): (*mut c_void, _, ffi::PyCapsule_Destructor) = match max_version {
            Some((major, _)) if major >= dlpack::MAJOR => {
                let managed = Box::new(Versioned {
                    version: Version {
                        major: dlpack::MAJOR,
                        minor: 0,
                    },
                    context,
                    deleter: Some(delete_versioned),
                    flags: 0,
                    tensor,
                });
                (Box::into_raw(managed).cast(), dlpack::VERSIONED, drop_versioned)
            }
            _ => {
                let managed = Box::new(Legacy {
                    tensor,
                    context,
                    deleter: Some(delete_legacy),
                });
                (Box::into_raw(managed).cast(), dlpack::LEGACY, drop_legacy)
            }
        };
        // SAFETY: the pointer is not null, the name is static, and the destructor frees what it points to unless it was taken.
        let capsule = unsafe { ffi::PyCapsule_New(pointer, name.as_ptr(), Some(destructor)) };
        if capsule.is_null() {
            return Err(PyErr::take(py).unwrap_or_else(|| PyBufferError::new_err("no capsule")));
        }
        // SAFETY: a new reference to an object.
        Ok(unsafe { Bound::from_owned_ptr(py, capsule) })
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (dlpack::CPU, 0)
    }
}

unsafe extern "C" fn delete_versioned(managed: *mut Versioned) {
    // SAFETY: made by `__dlpack__`, and deleted once, as DLPack has it.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Kept>()));
    }
}

unsafe extern "C" fn delete_legacy(managed: *mut Legacy) {
    // SAFETY: as above.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Kept>()));
    }
}

/// A capsule whose tensor nobody took has the name that it was made with.
unsafe fn untaken(capsule: *mut ffi::PyObject, name: &std::ffi::CStr) -> *mut c_void {
    // SAFETY: called for a capsule, by its destructor.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, name.as_ptr()) == 1 {
            ffi::PyCapsule_GetPointer(capsule, name.as_ptr())
        } else {
            ptr::null_mut()
        }
    }
}

unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: called with the capsule that `__dlpack__` made.
    unsafe {
        let managed = untaken(capsule, dlpack::VERSIONED);
        if !managed.is_null() {
            delete_versioned(managed.cast());
        }
    }
}

unsafe extern "C" fn drop_legacy(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        let managed = untaken(capsule, dlpack::LEGACY);
        if !managed.is_null() {
            delete_legacy(managed.cast());
        }
    }
}
