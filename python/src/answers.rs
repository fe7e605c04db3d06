//! From answers to arrays.

use pyo3::{Bound, PyAny, PyResult, Python, types::PyTuple};
use warpfold::{
    dynamic::{AnswerType, Answers},
    ops::element::Type,
};

use crate::arrays::{Array, Library};

/// The answers, of their type or of another one that an integer is cut to: an array of the library of `x`, of no axes a scalar where it has
/// such; two of them of an operator with two answers. Where there is an `out`, that.
pub fn made<'py>(
    x: &Array<'py>,
    answer: AnswerType,
    answers: Answers,
    as_type: Option<Type>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let (1, Some(out)) = (answer.parts, out) {
        let (element, bytes) = typed(answer, answers.bytes, as_type);
        Array::out(out)?.fill(element, &answers.shape, &bytes)?;
        return Ok(out.clone());
    }
    in_parts(x.object.py(), answer, answers, as_type, &|element, shape, bytes| {
        x.like(element, shape, bytes)
    })
}

/// The same of a library, of no array.
pub fn as_library<'py>(
    py: Python<'py>,
    library: Library,
    answer: AnswerType,
    answers: Answers,
    as_type: Option<Type>,
) -> PyResult<Bound<'py, PyAny>> {
    in_parts(py, answer, answers, as_type, &|element, shape, bytes| {
        library.made(py, element, shape, bytes)
    })
}

type Make<'a, 'py> = &'a dyn Fn(Type, &[u64], &[u8]) -> PyResult<Bound<'py, PyAny>>;

fn in_parts<'py>(
    py: Python<'py>,
    answer: AnswerType,
    answers: Answers,
    as_type: Option<Type>,
    make: Make<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let (element, bytes) = typed(answer, answers.bytes, as_type);
    if answer.parts == 1 {
        return make(element, &answers.shape, &bytes);
    }
    let size = element.bytes();
    let parts = (0..answer.parts).map(|part| {
        let of_part = |answer: &[u8]| answer[part * size..][..size].to_vec();
        let bytes: Vec<u8> = bytes.chunks_exact(answer.parts * size).flat_map(of_part).collect();
        make(element, &answers.shape, &bytes)
    });
    Ok(PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

/// Answers of their type, or of one that integers are cut to.
fn typed(answer: AnswerType, bytes: Vec<u8>, as_type: Option<Type>) -> (Type, Vec<u8>) {
    match as_type {
        Some(element) if element != answer.element => (element, cut(&bytes, answer.element, element)),
        _ => (answer.element, bytes),
    }
}

/// The low bytes of integers, or integers with more bytes of their sign.
fn cut(bytes: &[u8], from: Type, to: Type) -> Vec<u8> {
    let (from_bytes, to_bytes) = (from.bytes(), to.bytes());
    let each = |number: &[u8]| -> Vec<u8> {
        let fill = if from.is_signed() && number[from_bytes - 1] >= 128 {
            255
        } else {
            0
        };
        (0..to_bytes)
            .map(|byte| number.get(byte).copied().unwrap_or(fill))
            .collect()
    };
    bytes.chunks_exact(from_bytes).flat_map(each).collect()
}
