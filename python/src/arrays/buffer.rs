//! Python's buffer protocol, and NumPy.

use std::{ffi::CStr, mem::MaybeUninit, slice};

use pyo3::{
    Bound, IntoPyObject as _, Py, PyAny, PyErr, PyResult, Python,
    exceptions::PyTypeError,
    ffi, intern,
    sync::PyOnceLock,
    types::{PyAnyMethods as _, PyByteArray, PyComplex, PyMemoryView, PyModule},
};
use warpfold::ops::element::Type;

use super::{Array, Device, Hold, Library, copy};
use crate::dtypes;

/// A buffer that was asked for: released when dropped.
pub(super) struct Buffer(Box<ffi::Py_buffer>);

// SAFETY: it is only released with the interpreter attached, and its fields are plain numbers and pointers.
unsafe impl Send for Buffer {}

impl Drop for Buffer {
    fn drop(&mut self) {
        Python::attach(|_| {
            // SAFETY: it was got by PyObject_GetBuffer, once, and the interpreter is attached.
            unsafe { ffi::PyBuffer_Release(&mut *self.0) }
        });
    }
}

/// Whether an object has buffers.
pub(super) fn has(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: it is an object.
    unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) == 1 }
}

impl Buffer {
    fn of(object: &Bound<'_, PyAny>, flags: i32) -> PyResult<Self> {
        let mut buffer = Box::new(MaybeUninit::<ffi::Py_buffer>::uninit());
        // SAFETY: it is an object, and there is room for a buffer, which the call fills where it answers 0.
        let code = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), buffer.as_mut_ptr(), flags) };
        if code != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        // SAFETY: filled by the call.
        Ok(Self(unsafe { buffer.assume_init() }))
    }

    fn format(&self) -> &[u8] {
        if self.0.format.is_null() {
            return b"B";
        }
        // SAFETY: where there is a format it is a C string that lives as long as the buffer.
        unsafe { CStr::from_ptr(self.0.format) }.to_bytes()
    }

    /// Extents, or steps in bytes.
    fn numbers(&self, numbers: *const ffi::Py_ssize_t) -> &[isize] {
        if self.0.ndim == 0 || numbers.is_null() {
            return &[];
        }
        // SAFETY: with these flags there are as many as axes, as long as the buffer lives.
        unsafe { slice::from_raw_parts(numbers, self.0.ndim as usize) }
    }
}

/// An array by its buffer.
pub(super) fn read<'py>(object: &Bound<'py, PyAny>, library: Library) -> PyResult<Array<'py>> {
    let py = object.py();
    match Buffer::of(object, ffi::PyBUF_STRIDES | ffi::PyBUF_FORMAT) {
        Ok(buffer) => {
            let bytes = buffer.0.itemsize as usize;
            let format = buffer.format();
            let element = dtypes::of_format(format, bytes).ok_or_else(|| {
                let hint = match (library, format) {
                    (Library::Numpy, [b'>' | b'!', ..]) => {
                        ": x.astype(x.dtype.newbyteorder(\"=\")) has this machine's order of bytes"
                    }
                    _ => "",
                };
                let format = String::from_utf8_lossy(format);
                PyTypeError::new_err(format!(
                    "an array of elements of format {format:?} is none of numbers that warpfold has{hint}"
                ))
            })?;
            of_buffer(object, library, element, buffer)
        }
        // ml_dtypes' types have no format: they are read as unsigned integers.
        Err(error) if matches!(library, Library::Numpy) => {
            let name: String = object
                .getattr(intern!(py, "dtype"))?
                .getattr(intern!(py, "name"))?
                .extract()?;
            let (element, bits) = match dtypes::named(&name) {
                Some(element @ Type::Bf16) => (element, "uint16"),
                Some(element @ (Type::F8E4M3 | Type::F8E5M2)) => (element, "uint8"),
                _ => {
                    let text = format!("an array of {name} is none of numbers that warpfold has");
                    let wrong = PyTypeError::new_err(text);
                    wrong.set_cause(py, Some(error));
                    return Err(wrong);
                }
            };
            let words = object.call_method1(intern!(py, "view"), (bits,))?;
            let buffer = Buffer::of(&words, ffi::PyBUF_STRIDES)?;
            of_buffer(object, library, element, buffer)
        }
        Err(error) => Err(error),
    }
}

fn of_buffer<'py>(object: &Bound<'py, PyAny>, library: Library, element: Type, buffer: Buffer) -> PyResult<Array<'py>> {
    let bytes = element.bytes() as isize;
    let (first, is_writable) = (buffer.0.buf as usize, buffer.0.readonly == 0);
    let shape: Vec<u64> = buffer
        .numbers(buffer.0.shape)
        .iter()
        .map(|extent| *extent as u64)
        .collect();
    let in_order: Vec<isize>;
    let steps = if buffer.0.strides.is_null() {
        // ctypes says none of arrays in C order.
        let strides = copy::c_strides(&shape);
        in_order = strides.iter().map(|stride| *stride as isize * bytes).collect();
        &in_order
    } else {
        buffer.numbers(buffer.0.strides)
    };
    // An axis of one index steps nowhere.
    let is_whole = |(step, extent): (&isize, &u64)| *extent <= 1 || step % bytes == 0;
    let strides: Option<Vec<i64>> = steps
        .iter()
        .zip(&shape)
        .all(is_whole)
        .then(|| steps.iter().map(|step| (step / bytes) as i64).collect());
    let array = |strides, first, hold| Array {
        object: object.clone(),
        library,
        element,
        device: Device::Cpu,
        shape: shape.clone(),
        strides,
        first,
        is_writable,
        hold,
    };
    match strides {
        Some(strides) if first % copy::alignment(element) == 0 || shape.contains(&0) => {
            Ok(array(strides, first, Hold::Buffer(buffer)))
        }
        _ => {
            let steps: Vec<i64> = steps.iter().map(|step| *step as i64).collect();
            let copy = copy::copied(first, &shape, &steps, element)?;
            let first = copy.as_ptr() as usize;
            Ok(array(copy::c_strides(&shape), first, Hold::Copy(copy)))
        }
    }
}

/// NumPy, which is there where its arrays are.
fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let numpy = NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind))?;
    Ok(numpy.bind(py))
}

/// NumPy's scalar type of elements, or ml_dtypes'.
pub(super) fn numpy_dtype(py: Python<'_>, element: Type) -> PyResult<Bound<'_, PyAny>> {
    static TYPES: [PyOnceLock<Py<PyAny>>; 32] = [const { PyOnceLock::new() }; 32];
    let found = TYPES[element as usize % 32].get_or_try_init(py, || -> PyResult<Py<PyAny>> {
        Ok(match element {
            Type::Bf16 | Type::F8E4M3 | Type::F8E5M2 => {
                py.import("ml_dtypes")?.getattr(dtypes::name(element))?.unbind()
            }
            Type::Bool => numpy(py)?.getattr("bool_")?.unbind(),
            element => numpy(py)?.getattr(dtypes::name(element))?.unbind(),
        })
    })?;
    Ok(found.bind(py).clone())
}

/// A scalar of NumPy's.
pub(super) fn numpy_scalar<'py>(py: Python<'py>, element: Type, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    numpy_dtype(py, element)?.call1((number(py, element, bytes)?,))
}

/// An array of NumPy's.
pub(super) fn numpy_array<'py>(
    py: Python<'py>,
    element: Type,
    shape: &[u64],
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let array = numpy(py)?.call_method1(intern!(py, "empty"), (shape, numpy_dtype(py, element)?))?;
    if !bytes.is_empty() {
        let words = match element {
            Type::Bf16 => array.call_method1(intern!(py, "view"), ("uint16",))?,
            Type::F8E4M3 | Type::F8E5M2 => array.call_method1(intern!(py, "view"), ("uint8",))?,
            _ => array.clone(),
        };
        let buffer = Buffer::of(&words, ffi::PyBUF_WRITABLE)?;
        assert!(buffer.0.len as usize == bytes.len(), "as large as its shape says");
        // SAFETY: a new array, in C order, of so many bytes, which nobody else knows.
        unsafe { slice::from_raw_parts_mut(buffer.0.buf.cast::<u8>(), bytes.len()) }.copy_from_slice(bytes);
    }
    Ok(array)
}

/// A number of Python's.
pub(super) fn number<'py>(py: Python<'py>, element: Type, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    use warpfold::files::{bf16, f8e4m3, f8e5m2, f16};
    fn of<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.try_into().expect("as many bytes as a number has")
    }
    let float = |number: f64| Ok(number.into_pyobject(py)?.into_any());
    let signed = |number: i64| Ok(number.into_pyobject(py)?.into_any());
    let unsigned = |number: u64| Ok(number.into_pyobject(py)?.into_any());
    match element {
        Type::Bool => Ok((bytes[0] != 0).into_pyobject(py)?.to_owned().into_any()),
        Type::I8 => signed(i8::from_le_bytes(of(bytes)).into()),
        Type::I16 => signed(i16::from_le_bytes(of(bytes)).into()),
        Type::I32 => signed(i32::from_le_bytes(of(bytes)).into()),
        Type::I64 => signed(i64::from_le_bytes(of(bytes))),
        Type::U8 => unsigned(u8::from_le_bytes(of(bytes)).into()),
        Type::U16 => unsigned(u16::from_le_bytes(of(bytes)).into()),
        Type::U32 => unsigned(u32::from_le_bytes(of(bytes)).into()),
        Type::U64 => unsigned(u64::from_le_bytes(of(bytes))),
        Type::F16 => float(f16::from_le_bytes(of(bytes)).to_f64()),
        Type::Bf16 => float(bf16::from_le_bytes(of(bytes)).to_f64()),
        Type::F8E4M3 => float(f8e4m3::from_bits(bytes[0]).to_f32().into()),
        Type::F8E5M2 => float(f8e5m2::from_bits(bytes[0]).to_f32().into()),
        Type::F32 => float(f32::from_le_bytes(of(bytes)).into()),
        Type::F64 => float(f64::from_le_bytes(of(bytes))),
        Type::Complex64 => {
            let (re, im) = bytes.split_at(4);
            let [re, im] = [re, im].map(|part| f32::from_le_bytes(of(part)).into());
            Ok(PyComplex::from_doubles(py, re, im).into_any())
        }
        Type::Complex128 => {
            let (re, im) = bytes.split_at(8);
            let [re, im] = [re, im].map(|part| f64::from_le_bytes(of(part)));
            Ok(PyComplex::from_doubles(py, re, im).into_any())
        }
        Type::Complex32 => unreachable!("no array of Python's is of complex numbers of 32 bits"),
    }
}

/// A memoryview of a new array.
pub(super) fn memoryview<'py>(
    py: Python<'py>,
    element: Type,
    shape: &[u64],
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let name = dtypes::name(element);
    let format = dtypes::format(element).ok_or_else(|| {
        PyTypeError::new_err(format!(
            "a memoryview has no format for answers of {name}: pass a NumPy array"
        ))
    })?;
    let view = PyMemoryView::from(&PyByteArray::new(py, bytes))?;
    if bytes.is_empty() {
        // It has no axes of no index.
        return view.call_method1(intern!(py, "cast"), (format,));
    }
    view.call_method1(intern!(py, "cast"), (format, shape))
}
