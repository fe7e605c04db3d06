//! What keywords say.

use pyo3::{
    Bound, FromPyObject, PyAny, PyResult,
    exceptions::{PyTypeError, PyValueError},
    types::{PyAnyMethods as _, PyBool, PyTuple, PyTupleMethods as _},
};
use warpfold::dynamic::Accuracy;

/// `axis`: none, one, or a tuple of them.
pub fn axes(axis: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<i64>>> {
    let Some(axis) = axis else {
        return Ok(None);
    };
    if let Ok(tuple) = axis.cast::<PyTuple>() {
        return tuple.iter().map(|axis| one(&axis)).collect::<PyResult<_>>().map(Some);
    }
    Ok(Some(vec![one(axis)?]))
}

fn one(axis: &Bound<'_, PyAny>) -> PyResult<i64> {
    let wrong = || PyTypeError::new_err(format!("axis: {} is no integer, nor a tuple of them", text(axis)));
    axis.extract().map_err(|_| wrong())
}

fn text(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "it".to_owned(), |text| text.to_string())
}

/// `causal`: how many columns more the first row sees. A truth is none: True would see one too many, and False is not None.
#[derive(Clone, Copy)]
pub struct Causal(pub i64);

impl<'py> FromPyObject<'_, 'py> for Causal {
    type Error = pyo3::PyErr;
    fn extract(value: pyo3::Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err(
                "causal: an integer, 0 in place of True, and None in place of False",
            ));
        }
        Ok(Self(value.extract()?))
    }
}

/// What becomes of NaN.
#[derive(Clone, Copy, Default, PartialEq)]
pub enum Nan {
    #[default]
    Propagate,
    Ignore,
}

/// Which of equals is answered.
#[derive(Clone, Copy, Default, PartialEq)]
pub enum Ties {
    #[default]
    First,
    Last,
}

/// How sums and means are rounded.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Rounding(pub Accuracy);

macro_rules! words {
    ($($option:ty, $argument:literal: $($word:literal => $value:expr),*;)*) => {
        $(impl $option {
            /// The keyword's value.
            pub fn word(self) -> &'static str {
                let words = [$(($word, $value)),*];
                words.iter().find(|(_, value)| *value == self).map_or(words[0].0, |(word, _)| word)
            }
        }

        impl<'py> FromPyObject<'_, 'py> for $option {
            type Error = pyo3::PyErr;
            fn extract(value: pyo3::Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                let word: String = value.extract()?;
                match &*word {
                    $($word => Ok($value),)*
                    _ => Err(PyValueError::new_err(format!(
                        "{}: {word:?} is none of {}", $argument, [$($word),*].join(", ")
                    ))),
                }
            }
        })*
    };
}

words! {
    Nan, "nan": "propagate" => Self::Propagate, "ignore" => Self::Ignore;
    Ties, "ties": "first" => Self::First, "last" => Self::Last;
    Rounding, "accuracy": "native" => Self(Accuracy::Native), "compensated" => Self(Accuracy::Compensated),
        "wide" => Self(Accuracy::Wide), "exact" => Self(Accuracy::Exact);
}
