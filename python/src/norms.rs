//! Norms of lists of arrays, as of one vector: those of gradients.

use pyo3::{
    Bound, IntoPyObject as _, Py, PyAny, PyErr, PyResult, Python,
    exceptions::{PyTypeError, PyValueError},
    pyfunction,
};
use warpfold::{
    gradients::{Floats, Order, RunningNorm, TotalNorm, grad_norm as norm_of},
    ops::element::Type,
};

use crate::{
    arrays::{Array, Device},
    dtypes, errors, gpu,
    named::{Keywords, Named},
    partial::{Partial, folded},
    reduce,
};

/// The norm of all elements of a list of arrays, taken as one vector, such as the gradients of a model: one launch on a GPU.
///
/// ord: 1, 2, inf, or any other power above 1. The arrays may have different lengths and types: float32, float16, bfloat16 and float64. The answer is of the first
/// one's library and device, float32, or float64 where one of them is. The norm of no arrays is 0.0.
#[pyfunction]
#[pyo3(signature = (arrays, /, *, ord=2.0), text_signature = "(arrays, /, *, ord=2.0)")]
pub fn grad_norm<'py>(py: Python<'py>, arrays: Vec<Bound<'py, PyAny>>, ord: f64) -> PyResult<Bound<'py, PyAny>> {
    let named = |(number, array): (usize, &Bound<'py, PyAny>)| {
        let name = format!("arrays[{number}]");
        let array = Array::of(array, &name)?;
        match array.element {
            Type::F32 | Type::F16 | Type::Bf16 | Type::F64 => Ok(array),
            other => {
                let of = dtypes::name(other);
                let text =
                    format!("{name}: it is of {of}, and norms of lists are of float32, float16, bfloat16 and float64");
                Err(PyTypeError::new_err(text))
            }
        }
    };
    let arrays = arrays
        .iter()
        .enumerate()
        .map(named)
        .collect::<PyResult<Vec<Array<'_>>>>()?;
    let Some(first) = arrays.first() else {
        return Ok(0.0_f64.into_pyobject(py)?.into_any());
    };
    let like = first.object.clone();
    let in_order = arrays.iter().all(Array::is_in_order);
    let is_f64 = arrays.iter().any(|array| array.element == Type::F64);
    if let Device::Cuda(device) = first.device
        && arrays.iter().all(|array| array.device == first.device)
        && in_order
        && !is_f64
    {
        return gpu::norm(device, ord, &arrays);
    }
    let total = if in_order && arrays.iter().all(|array| array.device == Device::Cpu) {
        let floats = arrays.iter().map(floats).collect::<PyResult<Vec<_>>>()?;
        py.detach(|| norm_of(Order::of(ord)).on_cpu(&floats))
            .map_err(errors::of)?
    } else {
        one_by_one(ord, arrays)?
    };
    let (element, bytes) = answer(total, is_f64);
    Array::of(&like, "arrays")?.like(element, &[], &bytes)
}

/// A norm's type and its bytes.
fn answer(total: TotalNorm, is_f64: bool) -> (Type, Vec<u8>) {
    if is_f64 {
        (Type::F64, total.norm_f64.to_le_bytes().to_vec())
    } else {
        (Type::F32, total.norm.to_le_bytes().to_vec())
    }
}

fn floats<'a>(array: &'a Array<'_>) -> PyResult<Floats<'a>> {
    Ok(match array.element {
        Type::F16 => Floats::F16(array.elements()?),
        Type::Bf16 => Floats::Bf16(array.elements()?),
        Type::F64 => Floats::F64(array.elements()?),
        _ => Floats::F32(array.elements()?),
    })
}

/// Of arrays on different devices, or of any strides: each by itself, with the bits of one list.
fn one_by_one(ord: f64, arrays: Vec<Array<'_>>) -> PyResult<TotalNorm> {
    let mut running = norm_of(Order::of(ord)).running().map_err(errors::of)?;
    for array in arrays {
        let keywords = Keywords {
            ord: Some(ord),
            ..Keywords::default()
        };
        let Named { function, x, .. } = reduce::by_name("norm", array, &keywords)?;
        let len = x.len();
        let partial = folded(&*function, x, [None, None], None, 0)?;
        running.partial(&partial, len).map_err(errors::of)?;
    }
    Ok(running.finish())
}

/// The norm of arrays of those lengths, each by a partial of the norm of the same ord.
#[pyfunction]
#[pyo3(name = "_grad_norm_of_partials", signature = (partials, lengths, /, *, ord=2.0))]
pub fn grad_norm_of_partials(partials: Vec<Py<Partial>>, lengths: Vec<u64>, ord: f64) -> PyResult<f64> {
    if partials.len() != lengths.len() {
        return Err(PyValueError::new_err("partials and lengths: there must be as many"));
    }
    let mut running = norm_of(Order::of(ord)).running().map_err(errors::of)?;
    let each = partials.iter().zip(lengths);
    let pushed = each.map(|(partial, length): (&Py<Partial>, u64)| running.partial(&partial.get().any(), length));
    pushed
        .collect::<Result<(), warpfold::Error>>()
        .map_err(|error| -> PyErr { errors::of(error) })?;
    Ok(RunningNorm::finish(running).norm_f64)
}
