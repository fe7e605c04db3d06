//! Numbers of distinct elements.

use pyo3::{Bound, PyAny, PyResult, exceptions::PyTypeError, pyfunction};
use warpfold::{
    cpu,
    dynamic::{Answer as _, Answers},
    layout::Axes,
    ops::element::{Element, Type, bf16, complex64, f8e4m3, f8e5m2, f16},
};

use crate::{
    answers,
    arrays::{Array, Device},
    errors,
    folds::along,
    options,
};

/// How many distinct elements there are, as int64. All NaN are one value, and so are both zeros, as in NumPy's unique.
///
/// axis: an integer, a tuple of them, or None for all axes. keepdims: keep them, each with one index. Of an array in a GPU's memory the call waits.
#[pyfunction]
#[pyo3(signature = (x, /, *, axis=None, keepdims=false))]
pub fn n_unique<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let x = Array::of(x, "x")?;
    let axes = match options::axes(axis)? {
        Some(axes) => along(&axes, keepdims),
        None if keepdims => Axes::all().keepdim(),
        None => Axes::all(),
    };
    macro_rules! of {
        ($($name:ident: $element:ty),*) => {
            match x.element {
                $(Type::$name => counted::<$element>(&x, &axes)?,)*
                Type::Complex32 | Type::Complex128 => {
                    return Err(PyTypeError::new_err("x: the distinct elements of complex128 are not counted"));
                }
            }
        };
    }
    let counts = of!(
        Bool: bool, I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64, F16: f16, Bf16: bf16, F32: f32, F64: f64,
        F8E4M3: f8e4m3, F8E5M2: f8e5m2, Complex64: complex64
    );
    answers::made(&x, u64::ANSWER, counts, Some(Type::I64), None)
}

fn counted<T: Element>(x: &Array<'_>, axes: &Axes) -> PyResult<Answers> {
    let counts = match x.device {
        Device::Cpu => {
            let (elements, layout) = (x.elements::<T>()?, x.layout()?);
            let count = || cpu::distinct_axes(elements, &layout, axes);
            x.object.py().detach(count).map_err(errors::of)?
        }
        Device::Cuda(device) => crate::gpu::distinct::<T>(device, x, axes)?,
    };
    Ok(Answers {
        shape: counts.shape,
        bytes: counts.answers.iter().flat_map(|count| count.to_le_bytes()).collect(),
    })
}
