//! The reductions, as the array API and NumPy call them.

mod functions;

use ::std::sync::Arc;

pub use functions::*;

use pyo3::{
    Bound, PyAny, PyResult, Python,
    exceptions::{PyTypeError, PyValueError},
    intern,
    types::{PyAnyMethods as _, PyDict, PyDictMethods as _},
};
use warpfold::{
    dynamic::{Accuracy, Answers},
    fold::Extent,
    ops::{LIST, element::Type},
};

#[cfg(not(feature = "cuda"))]
use crate::errors;
#[cfg(feature = "cuda")]
use crate::gpu;
use crate::{
    answers,
    arrays::{Array, Device},
    dtypes,
    folds::{self, AnyFold, Asked, Second, along},
    options::{self, Nan},
};

/// A call: an operator of the table, an array, and what keywords say.
struct Call<'a, 'py> {
    /// The Python function.
    name: &'static str,
    /// The operator's name in the table.
    op: &'static str,
    x: &'a Bound<'py, PyAny>,
    axis: Option<&'a Bound<'py, PyAny>>,
    keepdims: bool,
    second: Option<&'a Bound<'py, PyAny>>,
    mask: Option<&'a Bound<'py, PyAny>>,
    nan: Nan,
    accuracy: Accuracy,
    dtype: Option<&'a Bound<'py, PyAny>>,
    parameter: Option<f64>,
    out: Option<&'a Bound<'py, PyAny>>,
}

impl<'a, 'py> Call<'a, 'py> {
    fn new(name: &'static str, op: &'static str, x: &'a Bound<'py, PyAny>) -> Self {
        Self {
            name,
            op,
            x,
            axis: None,
            keepdims: false,
            second: None,
            mask: None,
            nan: Nan::Propagate,
            accuracy: Accuracy::Native,
            dtype: None,
            parameter: None,
            out: None,
        }
    }

    fn answered(self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.x.py();
        if Array::is_lazy(self.x) {
            return self.by_dask(py);
        }
        let mut x = Array::of(self.x, "x")?;
        let (mut accuracy, mut as_type) = (self.accuracy, type_of_answers(self.op));
        if let Some(dtype) = dtypes::asked(self.dtype)? {
            (x, accuracy) = cast(x, dtype, self.op, accuracy)?;
            as_type = Some(dtype);
        }
        let asked = |element: Type| Asked {
            op: self.op,
            element,
            masked: self.mask.is_some(),
            ignores_nan: self.nan == Nan::Ignore,
            accuracy,
            parameter: self.parameter.map(f64::to_bits),
        };
        // What has a meaning for floats alone is had of integers, too: NumPy's functions cast them.
        let native = |element: Type| Asked {
            accuracy: Accuracy::Native,
            ..asked(element)
        };
        let has = |element: Type| folds::function(&native(element)).is_some();
        if is_integer(x.element) && self.second.is_none() && !has(x.element) && has(Type::F64) {
            x = x.cast(Type::F64)?;
        }
        let asked = asked(x.element);
        let function = folds::function(&asked).ok_or_else(|| self.none(&asked))?;
        let mask = self.mask.map(|mask| Array::of(mask, "where")).transpose()?;
        let y = self.second.map(|second| Array::of(second, "y")).transpose()?;
        let beside = second(&x, mask.as_ref(), y.as_ref())?;
        let axes = options::axes(self.axis)?;
        let answer = function.answer();
        // Of integers alone: floats are rounded nowhere but in the operator.
        let as_type = as_type.filter(|to| to.is_float() == answer.element.is_float() && answer.element != Type::Bool);
        if let Device::Cuda(device) = x.device {
            return self.on_gpu(py, device, (&asked, &*function), &x, beside, axes, as_type);
        }
        let answers = match axes {
            Some(axes) => function.on_cpu(py, &x, beside, Extent::Along(&along(&axes, self.keepdims)))?,
            None => Answers {
                shape: vec![1; if self.keepdims { x.shape.len() } else { 0 }],
                ..function.on_cpu(py, &x, beside, Extent::Whole)?
            },
        };
        answers::made(&x, answer, answers, as_type, self.out)
    }

    #[cfg(feature = "cuda")]
    #[expect(clippy::too_many_arguments, reason = "what was found out of the call")]
    fn on_gpu(
        &self,
        py: Python<'py>,
        device: usize,
        (asked, function): (&Asked, &dyn AnyFold),
        x: &Array<'py>,
        second: Second<'_, 'py>,
        axes: Option<Vec<i64>>,
        as_type: Option<Type>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if asked.accuracy == Accuracy::InF64 && asked.op == "mean" {
            // The sum, which GPUs have, divided by the number of elements, in float64.
            let asked = &Asked { op: "sum", ..*asked };
            let function = folds::function(asked).ok_or_else(|| self.none(asked))?;
            let sums = self.on_gpu(py, device, (asked, &*function), x, second, axes, as_type)?;
            let answers = sums
                .getattr("shape")?
                .extract::<Vec<u64>>()?
                .iter()
                .product::<u64>()
                .max(1);
            return x.divided(&sums, x.len() / answers);
        }
        let key = gpu::Key {
            asked: *asked,
            device,
            x: x.lies(),
            second: second.array().map(Array::lies),
            axes,
            keepdims: self.keepdims,
        };
        let out = self.out.map(|out| Array::of(out, "out")).transpose()?;
        gpu::folded(py, &key, function, x, second, as_type, out.as_ref())
    }

    #[cfg(not(feature = "cuda"))]
    #[expect(clippy::too_many_arguments, reason = "as with GPUs")]
    fn on_gpu(
        &self,
        _: Python<'py>,
        device: usize,
        _: (&Asked, &dyn AnyFold),
        _: &Array<'py>,
        _: Second<'_, 'py>,
        _: Option<Vec<i64>>,
        _: Option<Type>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Err(errors::DeviceError::new_err(format!(
            "x is on cuda:{device}, and this warpfold was built without GPUs"
        )))
    }

    /// That the table has no such operator.
    fn none(&self, asked: &Asked) -> pyo3::PyErr {
        let (name, of) = (self.name, dtypes::name(asked.element));
        let has = |asked: Asked| folds::function(&asked).is_some();
        let native = Asked {
            accuracy: Accuracy::Native,
            ..*asked
        };
        let text = if !has(Asked {
            masked: false,
            ignores_nan: false,
            ..native
        }) {
            format!("{name} has no meaning for {of}")
        } else if asked.masked
            && !has(Asked {
                ignores_nan: false,
                ..native
            })
        {
            format!("where: {name} of {of} takes no mask")
        } else if asked.ignores_nan && !has(native) {
            format!("nan: {name} of {of} cannot leave NaN out")
        } else {
            format!(
                "accuracy: {name} of {of} is not computed so here: sums and means are, of float32 compensated, wide and exact, of float64 \
                 compensated and exact, of float16 and bfloat16 wide; under a mask sums; and none while NaN is ignored"
            )
        };
        PyTypeError::new_err(text)
    }

    /// A dask array goes to `warpfold.dask`.
    fn by_dask(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let keywords = PyDict::new(py);
        keywords.set_item(intern!(py, "axis"), self.axis)?;
        keywords.set_item(intern!(py, "keepdims"), self.keepdims)?;
        py.import("warpfold.dask")?
            .call_method(self.name, (self.x,), Some(&keywords))
    }
}

/// What is folded with an array, once it is found to be of its type and on its device.
pub fn second<'a, 'py>(
    x: &Array<'py>,
    mask: Option<&'a Array<'py>>,
    second: Option<&'a Array<'py>>,
) -> PyResult<Second<'a, 'py>> {
    if let Some(wrong) = mask.filter(|mask| mask.element != Type::Bool) {
        let name = dtypes::name(wrong.element);
        return Err(PyTypeError::new_err(format!(
            "where: a mask is of bool, and this is of {name}"
        )));
    }
    if let Some(wrong) = second.filter(|second| second.element != x.element) {
        let (first, second) = (dtypes::name(x.element), dtypes::name(wrong.element));
        return Err(PyTypeError::new_err(format!("y: it is of {second}, and x of {first}")));
    }
    let second = match (mask, second) {
        (Some(mask), _) => Second::Mask(mask),
        (_, Some(second)) => Second::Array(second),
        _ => Second::Nothing,
    };
    match second.array().filter(|other| other.device != x.device) {
        None => Ok(second),
        Some(other) => {
            let (x, other) = (x.device, other.device);
            Err(PyValueError::new_err(format!(
                "x is on {x}, and what is folded with it on {other}"
            )))
        }
    }
}

/// The operator of a reduction's name in the table, and its number.
fn table_name(name: &str, correction: Option<f64>, ord: Option<f64>) -> PyResult<(&'static str, Option<f64>)> {
    if name == "norm" {
        return norm_name(ord.unwrap_or(2.0));
    }
    let ours = match name {
        "sum_of_squares" => "sumsq".to_owned(),
        name => name.replace("bitwise", "bit").replace('_', "-"),
    };
    let found = LIST.iter().find(|listed| listed.name == ours);
    let found = found.ok_or_else(|| PyValueError::new_err(format!("op: there is no reduction {name:?}")))?;
    let divides = matches!(found.name, "var" | "std" | "meanvar");
    Ok((found.name, divides.then(|| correction.unwrap_or(0.0))))
}

/// The function that a reduction's name and its options ask for.
pub fn named(
    name: &str,
    (element, masked): (Type, bool),
    (nan, accuracy): (Nan, Accuracy),
    (correction, ord): (Option<f64>, Option<f64>),
) -> PyResult<(Asked, Arc<dyn AnyFold>)> {
    let (op, parameter) = table_name(name, correction, ord)?;
    let asked = Asked {
        op,
        element,
        masked,
        ignores_nan: nan == Nan::Ignore,
        accuracy,
        parameter: parameter.map(f64::to_bits),
    };
    match folds::function(&asked) {
        Some(function) => Ok((asked, function)),
        None => {
            let of = dtypes::name(element);
            Err(PyTypeError::new_err(format!(
                "op: there is no {op} of {of} with these options"
            )))
        }
    }
}

/// The operator of a norm, and its number.
fn norm_name(ord: f64) -> PyResult<(&'static str, Option<f64>)> {
    Ok(match ord {
        1.0 => ("l1", None),
        2.0 => ("l2", None),
        f64::INFINITY => ("linf", None),
        power if power.is_finite() && power > 0.0 => ("lp", Some(power)),
        _ => {
            return Err(PyValueError::new_err(format!(
                "ord: {ord} is no power above 0; of 0 there is count_nonzero, of -inf min(abs(x))"
            )));
        }
    })
}

/// The type that an operator's answers are had as, if not their own: indices and counts are int64.
pub fn type_of_answers(op: &str) -> Option<Type> {
    (op.starts_with("arg") || op.starts_with("count")).then_some(Type::I64)
}

/// Whether elements are integers, or truths.
fn is_integer(element: Type) -> bool {
    !element.is_float() && !element.is_complex()
}

/// An array whose elements are cast before they are summed, as the array API has it: to float64 by carrying them so, which reads them once.
fn cast<'py>(x: Array<'py>, dtype: Type, op: &str, accuracy: Accuracy) -> PyResult<(Array<'py>, Accuracy)> {
    let is_narrow = matches!(x.element, Type::F16 | Type::Bf16 | Type::F32);
    if x.element == dtype {
        return Ok((x, accuracy));
    }
    if dtype == Type::F64 && is_narrow && accuracy == Accuracy::Native && matches!(op, "sum" | "mean") {
        return Ok((x, Accuracy::InF64));
    }
    // Integers are summed in 64 bits, of which a narrower type has the low ones.
    if is_integer(x.element) && is_integer(dtype) && dtype != Type::Bool && x.element.is_signed() == dtype.is_signed() {
        return Ok((x, accuracy));
    }
    Ok((x.cast(dtype)?, accuracy))
}
