//! The functions themselves: what each takes, and its text.

use pyo3::{Bound, PyAny, PyResult, exceptions::PyValueError, pyfunction};

use super::Call;
use crate::{
    named,
    options::{Nan, Rounding, Ties},
};

macro_rules! axes {
    () => {
        "\n\naxis: an integer, a tuple of them, or None for all axes. keepdims: keep them, each with one index."
    };
}
macro_rules! out {
    () => {
        "\nout: an array that the answer is written to, of its shape and type."
    };
}
macro_rules! keywords {
    () => {
        concat!(
            axes!(),
            "\nwhere: a mask of bool that broadcasts to x; what is not selected never shows.",
            out!()
        )
    };
}

/// Functions of one array, and what they take beside.
macro_rules! reductions {
    ($($doc:literal $name:ident = $op:literal;)*) => {
        $(
            #[doc = concat!($doc, keywords!())]
            #[pyfunction]
            #[pyo3(signature = (x, /, *, axis=None, keepdims=false, r#where=None, out=None), text_signature = "(x, /, *, axis=None, keepdims=False, where=None, out=None)")]
            pub fn $name<'py>(
                x: &Bound<'py, PyAny>,
                axis: Option<&Bound<'py, PyAny>>,
                keepdims: bool,
                r#where: Option<&Bound<'py, PyAny>>,
                out: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                Call { axis, keepdims, mask: r#where, out, ..Call::new(stringify!($name), $op, x) }.answered()
            }
        )*
    };
}

reductions! {
    "Whether any element is not zero; a NaN is not. False over nothing." any = "any";
    "Whether no element is zero; a NaN is not. True over nothing." all = "all";
    "How many elements are not zero, as int64; a NaN is not." count_nonzero = "count-nonzero";
    "How many elements are NaN, as int64." count_nan = "count-nan";
    "How many elements are infinite, as int64." count_inf = "count-inf";
    "The sum of squares, summed in float64 and rounded once. 0 over nothing." sum_of_squares = "sumsq";
    "The logarithm of the sum of exponentials, without overflow. -inf over nothing." logsumexp = "logsumexp";
    "The skewness of the elements themselves, without a correction for bias. NaN where no two differ." skew = "skew";
    "The excess kurtosis of the elements themselves, without a correction for bias. NaN where no two differ." kurtosis = "kurtosis";
}

/// The same, without a mask.
macro_rules! of_bits {
    ($($doc:literal $name:ident = $op:literal;)*) => {
        $(
            #[doc = concat!($doc, axes!(), out!())]
            #[pyfunction]
            #[pyo3(signature = (x, /, *, axis=None, keepdims=false, out=None), text_signature = "(x, /, *, axis=None, keepdims=False, out=None)")]
            pub fn $name<'py>(
                x: &Bound<'py, PyAny>,
                axis: Option<&Bound<'py, PyAny>>,
                keepdims: bool,
                out: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                Call { axis, keepdims, out, ..Call::new(stringify!($name), $op, x) }.answered()
            }
        )*
    };
}

of_bits! {
    "The bits that all integers have." bitwise_and = "bit-and";
    "The bits that any integer has." bitwise_or = "bit-or";
    "The bits that an odd number of integers have." bitwise_xor = "bit-xor";
}

/// Those with two answers.
macro_rules! of_both {
    ($($doc:literal $name:ident;)*) => {
        $(
            #[doc = concat!($doc, axes!())]
            #[pyfunction]
            #[pyo3(signature = (x, /, *, axis=None, keepdims=false), text_signature = "(x, /, *, axis=None, keepdims=False)")]
            pub fn $name<'py>(
                x: &Bound<'py, PyAny>,
                axis: Option<&Bound<'py, PyAny>>,
                keepdims: bool,
            ) -> PyResult<Bound<'py, PyAny>> {
                Call { axis, keepdims, ..Call::new(stringify!($name), stringify!($name), x) }.answered()
            }
        )*
    };
}

of_both! {
    "The smallest and the largest element, in one pass, as a tuple." minmax;
    "The indices of the smallest and of the largest element, in one pass, as a tuple of int64." argminmax;
}

/// The same, with a policy for NaN.
macro_rules! of_numbers {
    ($($doc:literal $name:ident = $op:literal;)*) => {
        $(
            #[doc = concat!($doc, "\n\nnan: \"propagate\", or \"ignore\" to leave NaN out.", keywords!())]
            #[pyfunction]
            #[pyo3(signature = (x, /, *, axis=None, keepdims=false, r#where=None, nan=Nan::Propagate, out=None), text_signature = "(x, /, *, axis=None, keepdims=False, where=None, nan='propagate', out=None)")]
            pub fn $name<'py>(
                x: &Bound<'py, PyAny>,
                axis: Option<&Bound<'py, PyAny>>,
                keepdims: bool,
                r#where: Option<&Bound<'py, PyAny>>,
                nan: Nan,
                out: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                Call { axis, keepdims, mask: r#where, nan, out, ..Call::new(stringify!($name), $op, x) }.answered()
            }
        )*
    };
}

of_numbers! {
    "The smallest element; NaN if there is one. An error over nothing." min = "min";
    "The largest element; NaN if there is one. An error over nothing." max = "max";
}

/// The same, of sums.
macro_rules! of_sums {
    ($($doc:literal $name:ident = $op:literal;)*) => {
        $(
            #[doc = concat!(
                $doc,
                "\n\ndtype: the type that elements are cast to first, and that of the answer.\n\
                 accuracy: \"native\", \"compensated\", \"wide\" or \"exact\".\n\
                 nan: \"propagate\", or \"ignore\" to leave NaN out.",
                keywords!()
            )]
            #[pyfunction]
            #[pyo3(signature = (x, /, *, axis=None, dtype=None, keepdims=false, r#where=None, nan=Nan::Propagate, accuracy=Rounding::default(), out=None), text_signature = "(x, /, *, axis=None, dtype=None, keepdims=False, where=None, nan='propagate', accuracy='native', out=None)")]
            #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
            pub fn $name<'py>(
                x: &Bound<'py, PyAny>,
                axis: Option<&Bound<'py, PyAny>>,
                dtype: Option<&Bound<'py, PyAny>>,
                keepdims: bool,
                r#where: Option<&Bound<'py, PyAny>>,
                nan: Nan,
                accuracy: Rounding,
                out: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let Rounding(accuracy) = accuracy;
                Call { axis, dtype, keepdims, mask: r#where, nan, accuracy, out, ..Call::new(stringify!($name), $op, x) }.answered()
            }
        )*
    };
}

of_sums! {
    "The sum, pairwise. Integers and bool are summed in 64 bits, and wrap around there. 0 over nothing." sum = "sum";
    "The arithmetic mean: the sum, divided once. That of integers is float64. NaN over nothing." mean = "mean";
}

/// The product, pairwise. Integers are multiplied in 64 bits, and wrap around there. 1 over nothing.
///
/// dtype: the type that elements are cast to first, and that of the answer. nan: "propagate", or "ignore" to leave NaN out.
#[doc = keywords!()]
#[pyfunction]
#[pyo3(signature = (x, /, *, axis=None, dtype=None, keepdims=false, r#where=None, nan=Nan::Propagate, out=None), text_signature = "(x, /, *, axis=None, dtype=None, keepdims=False, where=None, nan='propagate', out=None)")]
pub fn prod<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    r#where: Option<&Bound<'py, PyAny>>,
    nan: Nan,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    Call {
        axis,
        dtype,
        keepdims,
        mask: r#where,
        nan,
        out,
        ..Call::new("prod", "prod", x)
    }
    .answered()
}

/// Those that divide by the number of elements less a correction.
macro_rules! of_deviations {
    ($($doc:literal $name:ident = $op:literal;)*) => {
        $(
            #[doc = concat!(
                $doc,
                "\n\ncorrection: what is taken off the number of elements to divide by. ddof: NumPy's name of it.\n\
                 nan: \"propagate\", or \"ignore\" to leave NaN out.",
                keywords!()
            )]
            #[pyfunction]
            #[pyo3(signature = (x, /, *, axis=None, correction=0.0, keepdims=false, r#where=None, nan=Nan::Propagate, out=None, ddof=None), text_signature = "(x, /, *, axis=None, correction=0.0, keepdims=False, where=None, nan='propagate', out=None, ddof=None)")]
            #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
            pub fn $name<'py>(
                x: &Bound<'py, PyAny>,
                axis: Option<&Bound<'py, PyAny>>,
                correction: f64,
                keepdims: bool,
                r#where: Option<&Bound<'py, PyAny>>,
                nan: Nan,
                out: Option<&Bound<'py, PyAny>>,
                ddof: Option<f64>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let parameter = Some(taken_off(correction, ddof)?);
                Call { axis, keepdims, mask: r#where, nan, parameter, out, ..Call::new(stringify!($name), $op, x) }.answered()
            }
        )*
    };
}

of_deviations! {
    "The variance, divided by n - correction: by n unless it is said, as the array API and NumPy have it. NaN where that is not above 0."
    var = "var";
    "The standard deviation, divided by n - correction: by n unless it is said, as the array API and NumPy have it." std = "std";
}

/// The mean and the variance, in one pass, as a tuple; the variance divided by n - correction, by n unless it is said.
///
/// correction: what is taken off the number of elements to divide by. ddof: NumPy's name of it.
#[doc = axes!()]
#[pyfunction]
#[pyo3(signature = (x, /, *, axis=None, correction=0.0, keepdims=false, ddof=None))]
pub fn meanvar<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    correction: f64,
    keepdims: bool,
    ddof: Option<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    Call {
        axis,
        keepdims,
        parameter: Some(taken_off(correction, ddof)?),
        ..Call::new("meanvar", "meanvar", x)
    }
    .answered()
}

/// What is taken off the number of elements, by one of its names.
fn taken_off(correction: f64, ddof: Option<f64>) -> PyResult<f64> {
    match ddof {
        Some(_) if correction != 0.0 => Err(PyValueError::new_err(
            "ddof: correction is the same number, and is said, too",
        )),
        ddof => Ok(ddof.unwrap_or(correction)),
    }
}

/// Those that answer an index.
macro_rules! of_indices {
    ($($doc:literal $name:ident = $first:literal or $last:literal;)*) => {
        $(
            #[doc = concat!(
                $doc,
                "\n\nties: which of equals, \"first\" or \"last\". nan: \"propagate\", or \"ignore\" to leave NaN out.",
                keywords!()
            )]
            #[pyfunction]
            #[pyo3(signature = (x, /, *, axis=None, keepdims=false, r#where=None, nan=Nan::Propagate, ties=Ties::First, out=None), text_signature = "(x, /, *, axis=None, keepdims=False, where=None, nan='propagate', ties='first', out=None)")]
            pub fn $name<'py>(
                x: &Bound<'py, PyAny>,
                axis: Option<&Bound<'py, PyAny>>,
                keepdims: bool,
                r#where: Option<&Bound<'py, PyAny>>,
                nan: Nan,
                ties: Ties,
                out: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let op = if ties == Ties::Last { $last } else { $first };
                Call { axis, keepdims, mask: r#where, nan, out, ..Call::new(stringify!($name), op, x) }.answered()
            }
        )*
    };
}

of_indices! {
    "The index of the smallest element, as int64: of the first NaN if there is one. An error over nothing; -1 where nothing is selected."
    argmin = "argmin" or "argmin-last";
    "The index of the largest element, as int64: of the first NaN if there is one. An error over nothing; -1 where nothing is selected."
    argmax = "argmax" or "argmax-last";
}

/// Those of two arrays.
macro_rules! of_two {
    ($($doc:literal $name:ident;)*) => {
        $(
            #[doc = concat!($doc, "\n\ny: an array of the type and the shape of x.", axes!(), out!())]
            #[pyfunction]
            #[pyo3(signature = (x, y, /, *, axis=None, keepdims=false, out=None), text_signature = "(x, y, /, *, axis=None, keepdims=False, out=None)")]
            pub fn $name<'py>(
                x: &Bound<'py, PyAny>,
                y: &Bound<'py, PyAny>,
                axis: Option<&Bound<'py, PyAny>>,
                keepdims: bool,
                out: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                Call { axis, keepdims, second: Some(y), out, ..Call::new(stringify!($name), stringify!($name), x) }.answered()
            }
        )*
    };
}

of_two! {
    "The dot product of two arrays: the sum of products, pairwise. 0 over nothing." dot;
    "The cosine of the angle between two arrays, summed in float64. NaN where one is all zeros." cosine;
}

/// A norm: of ord 1, 2 or inf, or any other power above 0. 0 over nothing.
#[doc = keywords!()]
#[pyfunction]
#[pyo3(signature = (x, /, *, ord=2.0, axis=None, keepdims=false, r#where=None, out=None), text_signature = "(x, /, *, ord=2.0, axis=None, keepdims=False, where=None, out=None)")]
pub fn norm<'py>(
    x: &Bound<'py, PyAny>,
    ord: f64,
    axis: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    r#where: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (op, parameter) = named::norm(ord)?;
    Call {
        axis,
        keepdims,
        mask: r#where,
        parameter,
        out,
        ..Call::new("norm", op, x)
    }
    .answered()
}
