//! Folds in segments.

use pyo3::{
    Bound, PyAny, PyErr, PyResult,
    exceptions::{PyTypeError, PyValueError},
    pyfunction,
};
use warpfold::{fold::Extent, layout::Segments, ops::element::Type};

use crate::{
    answers,
    arrays::{Array, Device},
    dtypes, errors,
    named::{self, Keywords, Named},
    options::{Nan, Rounding},
    reduce,
};

/// The reduction of that name of each segment of an array of one axis, which are divided by one of offsets, lengths, size and keys.
///
/// offsets: 0, then where each segment ends. lengths: of each. size: of all but the last. keys: one for each element, of which neighbours that are equal
/// are a segment. They are integers in host memory; of an array in a GPU's memory the call waits. Each answer has the bits of its elements alone.
#[pyfunction]
#[pyo3(
    signature = (
        op, x, /, *, offsets=None, lengths=None, size=None, keys=None, r#where=None, nan=Nan::Propagate, accuracy=Rounding::default(),
        correction=None, ord=None, y=None
    ),
    text_signature = "(op, x, /, *, offsets=None, lengths=None, size=None, keys=None, where=None, nan='propagate', accuracy='native', correction=None, ord=None, y=None)"
)]
#[expect(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn segments<'py>(
    op: &str,
    x: &Bound<'py, PyAny>,
    offsets: Option<&Bound<'py, PyAny>>,
    lengths: Option<&Bound<'py, PyAny>>,
    size: Option<u64>,
    keys: Option<&Bound<'py, PyAny>>,
    r#where: Option<&Bound<'py, PyAny>>,
    nan: Nan,
    accuracy: Rounding,
    correction: Option<f64>,
    ord: Option<f64>,
    y: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let x = Array::of(x, "x")?;
    let mask = r#where.map(|mask| Array::of(mask, "where")).transpose()?;
    let y = y.map(|second| Array::of(second, "y")).transpose()?;
    if x.shape.len() != 1 {
        return Err(PyValueError::new_err(format!(
            "x: segments are of an array of one axis, and this has {}",
            x.shape.len()
        )));
    }
    let segments = match (offsets, lengths, size, keys) {
        (Some(offsets), None, None, None) => Segments::by_offsets(&integers(offsets, "offsets")?),
        (None, Some(lengths), None, None) => Segments::by_lens(integers(lengths, "lengths")?),
        (None, None, Some(size), None) => Segments::by_size(x.len(), size),
        (None, None, None, Some(keys)) => Ok(Segments::by_keys(&integers(keys, "keys")?)),
        _ => {
            return Err(PyValueError::new_err(
                "offsets, lengths, size, keys: one of them says what segments there are",
            ));
        }
    };
    let segments = segments.map_err(errors::of)?;
    segments.check(x.len()).map_err(errors::of)?;
    let keywords = Keywords {
        nan,
        accuracy,
        correction,
        ord,
        masked: mask.is_some(),
        of_two: y.is_some(),
    };
    let Named {
        function, x, as_type, ..
    } = reduce::by_name(op, x, &keywords)?;
    let x = x.in_order("x")?;
    let mask = mask.map(|mask| mask.in_order("where")).transpose()?;
    let y = y.map(|y| y.in_order("y")).transpose()?;
    let second = named::second(&x, mask.as_ref(), y.as_ref())?;
    match x.device {
        Device::Cpu => {
            let answers = function.on_cpu(x.object.py(), &x, second, Extent::In(&segments))?;
            answers::made(&x, function.answer(), answers, as_type, None)
        }
        Device::Cuda(device) => crate::gpu::in_segments(device, &*function, &x, second, &segments, as_type),
    }
}

/// Whole numbers of an array in host memory, none below 0.
fn integers(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<u64>> {
    let array = Array::of(object, name)?.on_host()?.in_order(name)?;
    if array.shape.len() != 1 {
        return Err(PyValueError::new_err(format!("{name}: it must be of one axis")));
    }
    fn of<N: Copy + TryInto<u64> + ToString>(numbers: &[N], name: &str) -> PyResult<Vec<u64>> {
        let below =
            |number: N| -> PyErr { PyValueError::new_err(format!("{name}: {} is below 0", number.to_string())) };
        numbers
            .iter()
            .map(|number| (*number).try_into().map_err(|_| below(*number)))
            .collect()
    }
    match array.element {
        Type::I64 => of(array.elements::<i64>()?, name),
        Type::I32 => of(array.elements::<i32>()?, name),
        Type::U64 => of(array.elements::<u64>()?, name),
        Type::U32 => of(array.elements::<u32>()?, name),
        other => Err(PyTypeError::new_err(format!(
            "{name}: they are int64, int32, uint64 or uint32, and these are {}",
            dtypes::name(other)
        ))),
    }
}
