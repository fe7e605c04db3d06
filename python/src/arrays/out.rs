//! An argument `out`: an array that answers are written to.

use std::slice;

use pyo3::{
    Bound, PyAny, PyResult,
    exceptions::{PyTypeError, PyValueError},
};
use warpfold::{layout::Layout, ops::element::Type};

use super::{Array, Device, Hold, Library};
use crate::{dtypes, errors};

impl<'py> Array<'py> {
    /// The argument `out`, which is written and not read.
    ///
    /// # Errors
    ///
    /// As [`of`](Self::of).
    pub fn out(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let read = || Self::read(object, Library::of(object)?);
        read().map_err(|error| errors::in_argument(object.py(), "out", error))
    }

    /// That it can be an `out` in a GPU's memory.
    ///
    /// # Errors
    ///
    /// As [`fill`](Self::fill); `ValueError` of one that is not in C order.
    pub fn check_out(&self, device: Device, element: Type, shape: &[u64]) -> PyResult<()> {
        self.check_filled(device, element, shape)?;
        if !self.is_in_order() {
            return Err(PyValueError::new_err("out: in a GPU's memory it must be in C order"));
        }
        Ok(())
    }

    /// Writes answers in C order to it: an argument `out`.
    ///
    /// # Errors
    ///
    /// `ValueError` where it is of another shape or not to be written; `TypeError` where it is of another type.
    pub fn fill(&self, element: Type, shape: &[u64], bytes: &[u8]) -> PyResult<()> {
        self.check_filled(Device::Cpu, element, shape)?;
        self.write(bytes)
    }

    fn check_filled(&self, device: Device, element: Type, shape: &[u64]) -> PyResult<()> {
        if self.device != device {
            return Err(PyValueError::new_err(format!(
                "out: it is on {}, and x on {device}",
                self.device
            )));
        }
        if self.shape != shape {
            return Err(PyValueError::new_err(format!(
                "out: its shape is {:?}, and the answer's {shape:?}",
                self.shape
            )));
        }
        if self.element != element {
            return Err(PyTypeError::new_err(format!(
                "out: it is of {}, and the answer of {}",
                dtypes::name(self.element),
                dtypes::name(element)
            )));
        }
        if !self.is_writable || matches!(self.hold, Hold::Copy(_)) {
            return Err(PyValueError::new_err(
                "out: it is not to be written, or its elements are not aligned",
            ));
        }
        Ok(())
    }

    fn write(&self, bytes: &[u8]) -> PyResult<()> {
        let (size, shape) = (self.element.bytes(), &self.shape);
        let each = Layout::strided(&self.shape, &self.strides, 0).map_err(errors::of)?;
        let mut index = vec![0_u64; shape.len()];
        for answer in bytes.chunks_exact(size) {
            let at: i64 = index
                .iter()
                .zip(each.strides())
                .map(|(i, stride)| *i as i64 * stride)
                .sum();
            // SAFETY: its library says that this element is the array's and may be written; the caller asked for it.
            let place = unsafe { slice::from_raw_parts_mut((self.first as i64 + at * size as i64) as *mut u8, size) };
            place.copy_from_slice(answer);
            for (i, extent) in index.iter_mut().zip(shape).rev() {
                *i += 1;
                if *i < *extent {
                    break;
                }
                *i = 0;
            }
        }
        Ok(())
    }
}
