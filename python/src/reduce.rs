//! The reductions, as the array API and NumPy call them.

mod functions;

pub use functions::*;

use pyo3::{
    Bound, IntoPyObject as _, PyAny, PyResult, Python,
    exceptions::PyTypeError,
    intern,
    types::{PyAnyMethods as _, PyDict, PyDictMethods as _},
};
use warpfold::{
    dynamic::{Accuracy, Answers},
    fold::Extent,
    ops::element::Type,
};

use crate::{
    answers,
    arrays::{Array, Device},
    dtypes,
    folds::{self, AnyFold, Asked, Second, along},
    gpu,
    named::{self, Keywords, Named, is_integer, second},
    options::{self, Nan, Rounding, Ties},
};

/// A call: an operator of the table, an array, and what keywords say.
struct Call<'a, 'py> {
    /// The Python function.
    name: &'a str,
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
    fn new(name: &'a str, op: &'static str, x: &'a Bound<'py, PyAny>) -> Self {
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
        if Array::is_lazy(self.x) {
            return self.by_dask(self.x.py());
        }
        self.of(Array::of(self.x, "x")?)
    }

    /// The answer of an array.
    fn of(&self, mut x: Array<'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = x.object.py();
        let mut accuracy = self.accuracy;
        let dtype = dtypes::asked(self.dtype)?;
        if let Some(dtype) = dtype {
            let all = self.mask.is_none() && self.nan == Nan::Propagate;
            (x, accuracy) = cast(x, dtype, self.op, accuracy, all)?;
        }
        let asked = Asked {
            op: self.op,
            element: x.element,
            masked: self.mask.is_some(),
            ignores_nan: self.nan == Nan::Ignore,
            accuracy,
            parameter: self.parameter.map(f64::to_bits),
        };
        let Named {
            asked,
            function,
            x,
            as_type,
        } = named(self.name, asked, x)?;
        let mask = self.mask.map(|mask| Array::of(mask, "where")).transpose()?;
        let y = self.second.map(|second| Array::of(second, "y")).transpose()?;
        let beside = second(&x, mask.as_ref(), y.as_ref())?;
        let axes = options::axes(self.axis)?;
        let answer = function.answer();
        // Of integers alone: floats are rounded nowhere but in the operator.
        let as_type = dtype.or(as_type);
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
            let function = folds::function(asked).ok_or_else(|| named::none(self.name, asked))?;
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
        let out = self.out.map(Array::out).transpose()?;
        gpu::folded(py, &key, function, x, second, as_type, out.as_ref())
    }

    /// A dask array goes to `warpfold.dask`, with all that a partial takes.
    fn by_dask(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let others = [
            ("y", self.second),
            ("where", self.mask),
            ("dtype", self.dtype),
            ("out", self.out),
        ];
        if let Some((argument, _)) = others.iter().find(|(_, given)| given.is_some()) {
            let hint = match *argument {
                "dtype" => "; x.astype casts",
                "where" => "; nan='ignore' leaves NaN out",
                _ => "",
            };
            let text = format!("{argument}: {} of a dask array takes none{hint}", self.name);
            return Err(PyTypeError::new_err(text));
        }
        let keywords = PyDict::new(py);
        keywords.set_item(intern!(py, "axis"), self.axis)?;
        keywords.set_item(intern!(py, "keepdims"), self.keepdims)?;
        if self.nan != Nan::Propagate {
            keywords.set_item(intern!(py, "nan"), self.nan.word())?;
        }
        if self.accuracy != Accuracy::Native {
            keywords.set_item(intern!(py, "accuracy"), Rounding(self.accuracy).word())?;
        }
        if self.op.ends_with("-last") {
            keywords.set_item(intern!(py, "ties"), Ties::Last.word())?;
        }
        let ord = match self.op {
            "l1" => Some(1.0),
            "linf" => Some(f64::INFINITY),
            _ => self.parameter,
        };
        if let Some(number) = ord {
            let keyword = if self.name == "norm" {
                intern!(py, "ord")
            } else {
                intern!(py, "correction")
            };
            keywords.set_item(keyword, number)?;
        }
        py.import("warpfold.dask")?
            .call_method(self.name, (self.x,), Some(&keywords))
    }
}

/// What is asked for of an array. Of complex numbers it may be whether each is 0, and no more.
fn named<'py>(name: &str, asked: Asked, x: Array<'py>) -> PyResult<Named<'py>> {
    let of_truths = x.element.is_complex() && matches!(asked.op, "any" | "all" | "count-nonzero");
    Named::of(name, asked, if of_truths { truths(x)? } else { x })
}

/// The same of a reduction that is named, and of keywords.
pub fn by_name<'py>(name: &str, x: Array<'py>, keywords: &Keywords) -> PyResult<Named<'py>> {
    let asked = named::asked(name, x.element, keywords)?;
    named(name, asked, x)
}

/// Whether each number of a complex array is not 0.
fn truths<'py>(x: Array<'py>) -> PyResult<Array<'py>> {
    let (py, x) = (x.object.py(), x.into_reals());
    let last = (-1_i64).into_pyobject(py)?.into_any();
    let any = named::asked("any", x.element, &Keywords::default())?;
    Array::of(&of_asked("any", any, x, Some(&last), false)?, "x")
}

/// The reduction that was asked for by name, of all of an array.
pub fn of_asked<'py>(
    name: &str,
    asked: Asked,
    x: Array<'py>,
    axis: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let object = x.object.clone();
    let nan = if asked.ignores_nan { Nan::Ignore } else { Nan::Propagate };
    let call = Call {
        axis,
        keepdims,
        nan,
        accuracy: asked.accuracy,
        parameter: asked.parameter.map(f64::from_bits),
        ..Call::new(name, asked.op, &object)
    };
    call.of(x)
}

/// An array whose elements are cast before they are summed, as the array API has it: to float64, where all are summed, by carrying them so, which
/// reads them once.
fn cast<'py>(x: Array<'py>, dtype: Type, op: &str, accuracy: Accuracy, all: bool) -> PyResult<(Array<'py>, Accuracy)> {
    let refused = match dtype {
        Type::Bool => Some("the answer of a sum is a number; any says whether there is one that is not 0"),
        Type::F8E4M3 | Type::F8E5M2 => Some("sums and products of FP8 are float32"),
        _ if op == "mean" && is_integer(dtype) => Some("a mean is a float"),
        _ if x.element.is_complex() && !dtype.is_complex() => Some("complex numbers are cast to none but those"),
        _ => None,
    };
    if let Some(why) = refused {
        return Err(PyTypeError::new_err(format!("dtype: {}: {why}", dtypes::name(dtype))));
    }
    let is_narrow = matches!(x.element, Type::F16 | Type::Bf16 | Type::F32);
    if x.element == dtype {
        return Ok((x, accuracy));
    }
    if dtype == Type::F64 && is_narrow && matches!(accuracy, Accuracy::Native | Accuracy::Wide) {
        return match op {
            "sum" | "mean" if all => Ok((x, Accuracy::InF64)),
            // Nothing is wider.
            _ => Ok((x.cast(dtype)?, Accuracy::Native)),
        };
    }
    // Integers are summed in 64 bits, of which a narrower type has the low ones.
    if is_integer(x.element) && is_integer(dtype) && dtype != Type::Bool && x.element.is_signed() == dtype.is_signed() {
        return Ok((x, accuracy));
    }
    Ok((x.cast(dtype)?, accuracy))
}
