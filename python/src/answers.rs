//! From answers to arrays.

use pyo3::{Bound, PyAny, PyResult, types::PyTuple};
use warpfold::{
    dynamic::{AnswerType, Answers},
    ops::element::Type,
};

use crate::arrays::Array;

/// The answers, of their type or of another one that an integer is cut to: an array of the library of `x`, of no axes a scalar where it has
/// such; two of them of an operator with two answers. Where there is an `out`, that.
pub fn made<'py>(
    x: &Array<'py>,
    answer: AnswerType,
    answers: Answers,
    as_type: Option<Type>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let Answers { shape, bytes } = answers;
    let (element, bytes) = match as_type {
        Some(element) if element != answer.element => (element, cut(&bytes, answer.element, element)),
        _ => index(answer.element, bytes),
    };
    if answer.parts == 1 {
        return match out {
            None => x.like(element, &shape, &bytes),
            Some(out) => {
                Array::of(out, "out")?.fill(element, &shape, &bytes)?;
                Ok(out.clone())
            }
        };
    }
    let size = element.bytes();
    let parts = (0..answer.parts).map(|part| {
        let of_part = |answer: &[u8]| answer[part * size..][..size].to_vec();
        let bytes: Vec<u8> = bytes.chunks_exact(answer.parts * size).flat_map(of_part).collect();
        x.like(element, &shape, &bytes)
    });
    Ok(PyTuple::new(x.object.py(), parts.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

/// Answers as they are.
fn index(element: Type, bytes: Vec<u8>) -> (Type, Vec<u8>) {
    (element, bytes)
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
