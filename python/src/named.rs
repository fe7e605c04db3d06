//! Reductions by name: what is asked for, and an array as the function takes it.

use std::sync::Arc;

use pyo3::{
    PyErr, PyResult,
    exceptions::{PyTypeError, PyValueError},
};
use warpfold::{
    dynamic::Accuracy,
    ops::{LIST, Listed, element::Type},
};

use crate::{
    arrays::Array,
    dtypes,
    folds::{self, AnyFold, Asked, Second},
    options::{Nan, Rounding},
};

/// A function, and the array as it takes it.
pub struct Named<'py> {
    pub asked: Asked,
    pub function: Arc<dyn AnyFold>,
    pub x: Array<'py>,
    /// The type that answers are had as, if not their own.
    pub as_type: Option<Type>,
}

impl<'py> Named<'py> {
    /// What is asked for of an array, whose type is that of its elements. `name` is what it is called in errors.
    pub fn of(name: &str, asked: Asked, x: Array<'py>) -> PyResult<Self> {
        let op = asked.op;
        // Truths are ordered as bytes are.
        let is_truth = x.element == Type::Bool && matches!(op, "minmax" | "argminmax");
        let x = if is_truth { x.into_bytes() } else { x };
        let element = element(&Asked {
            element: x.element,
            ..asked
        });
        let x = if element == x.element { x } else { x.cast(element)? };
        let asked = Asked { element, ..asked };
        let function = folds::function(&asked).ok_or_else(|| none(name, &asked))?;
        Ok(Self {
            asked,
            function,
            x,
            as_type: if is_truth && op == "minmax" {
                Some(Type::Bool)
            } else {
                type_of_answers(op)
            },
        })
    }
}

/// What keywords say of a reduction that is named.
#[derive(Default)]
pub struct Keywords {
    pub nan: Nan,
    pub accuracy: Rounding,
    pub correction: Option<f64>,
    pub ord: Option<f64>,
    /// Whether there is a mask, and a second array.
    pub masked: bool,
    pub of_two: bool,
}

/// What a reduction's name and its keywords ask for, of elements of a type.
pub fn asked(name: &str, element: Type, keywords: &Keywords) -> PyResult<Asked> {
    let &Keywords {
        nan,
        accuracy,
        correction,
        ord,
        masked,
        of_two,
    } = keywords;
    let (op, parameter) = if name == "norm" {
        norm(ord.unwrap_or(2.0))?
    } else {
        let found = listed(name).ok_or_else(|| PyValueError::new_err(format!("op: there is no reduction {name:?}")))?;
        if ord.is_some() {
            return Err(PyTypeError::new_err(format!("ord: {name} has none; norm has")));
        }
        let divides = matches!(found.name, "var" | "std" | "meanvar");
        if found.of_two != of_two {
            let arrays = if found.of_two { "two arrays" } else { "one array" };
            return Err(PyTypeError::new_err(format!("y: {name} is of {arrays}")));
        }
        (found.name, divides.then(|| correction.unwrap_or(0.0)))
    };
    if correction.is_some() && parameter.is_none() || name == "norm" && (correction.is_some() || of_two) {
        let keyword = if correction.is_some() { "correction" } else { "y" };
        return Err(PyTypeError::new_err(format!("{keyword}: {name} has none")));
    }
    if of_two && masked {
        return Err(PyTypeError::new_err(format!("where: {name} takes no mask")));
    }
    Ok(Asked {
        op,
        element,
        masked,
        ignores_nan: nan == Nan::Ignore,
        accuracy: accuracy.0,
        parameter: parameter.map(f64::to_bits),
    })
}

/// The library's operator of a function's name.
fn listed(name: &str) -> Option<&'static Listed> {
    let ours = match name {
        "sum_of_squares" => "sumsq".to_owned(),
        name => name.replace("bitwise", "bit").replace('_', "-"),
    };
    // A norm's power is a number, which norm has.
    LIST.iter().find(|listed| listed.name == ours && ours != "lp")
}

/// The operator of a norm, and its number.
pub fn norm(ord: f64) -> PyResult<(&'static str, Option<f64>)> {
    Ok(match ord {
        1.0 => ("l1", None),
        2.0 => ("l2", None),
        f64::INFINITY => ("linf", None),
        power if power.is_finite() && power > 0.0 => ("lp", Some(power)),
        _ => {
            return Err(PyValueError::new_err(format!(
                "ord: {ord} is no power above 0; of 0 there is count_nonzero, of -inf the min of absolute values"
            )));
        }
    })
}

/// The type that an operator's answers are had as, if not their own: indices and counts are int64.
pub fn type_of_answers(op: &str) -> Option<Type> {
    (op.starts_with("arg") || op.starts_with("count")).then_some(Type::I64)
}

/// The type that elements are folded as: what has a meaning for floats alone is had of integers and truths, too, as NumPy's functions cast them.
pub fn element(asked: &Asked) -> Type {
    let has = |element: Type| has(&Asked { element, ..*asked });
    let of_one = || LIST.iter().any(|listed| listed.name == asked.op && !listed.of_two);
    if is_integer(asked.element) && !has(asked.element) && of_one() && has(Type::F64) {
        Type::F64
    } else {
        asked.element
    }
}

/// Whether there is such an operator, in its own accuracy.
fn has(asked: &Asked) -> bool {
    let accuracy = Accuracy::Native;
    folds::function(&Asked { accuracy, ..*asked }).is_some()
}

/// Whether elements are integers, or truths.
pub fn is_integer(element: Type) -> bool {
    !element.is_float() && !element.is_complex()
}

/// That there is no such operator, and which keyword is why.
pub fn none(name: &str, asked: &Asked) -> PyErr {
    let of = dtypes::name(asked.element);
    let (masked, ignores_nan) = (false, false);
    let text = if !has(&Asked {
        masked,
        ignores_nan,
        ..*asked
    }) {
        format!("{name} has no meaning for {of}")
    } else if asked.masked && !has(&Asked { ignores_nan, ..*asked }) {
        format!("where: {name} of {of} takes no mask")
    } else if asked.ignores_nan && !has(asked) {
        format!("nan: {name} of {of} cannot leave NaN out")
    } else {
        format!(
            "accuracy: {name} of {of} is not computed so here: sums and means are, of float32 compensated, wide and exact, of float64 \
             compensated and exact, of float16 and bfloat16 wide; under a mask sums; and none while NaN is ignored"
        )
    };
    PyTypeError::new_err(text)
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
    let (name, second) = match (mask, second) {
        (Some(mask), _) => ("where", Second::Mask(mask)),
        (_, Some(second)) => ("y", Second::Array(second)),
        _ => return Ok(Second::Nothing),
    };
    match second.array().filter(|other| other.device != x.device) {
        None => Ok(second),
        Some(other) => {
            let (x, other) = (x.device, other.device);
            Err(PyValueError::new_err(format!("{name}: it is on {other}, and x on {x}")))
        }
    }
}
