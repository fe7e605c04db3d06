//! Cross-entropy, as Python calls it.

use pyo3::{
    Bound, PyAny, PyErr, PyResult,
    exceptions::{PyTypeError, PyValueError},
    pyclass, pyfunction,
};
use warpfold::{
    ops::element::Type,
    row::{self, Targets},
};

use super::{
    Beside, Out, Wanted,
    calls::{rows_of, values},
    mapped,
};
use crate::{
    arrays::{Array, Device},
    dtypes, errors,
};

/// What cross_entropy answers, an array of float32 for each.
#[pyclass(module = "warpfold", frozen, get_all)]
pub struct Losses {
    /// The loss of each row; 0 of one that is ignored.
    loss: pyo3::Py<PyAny>,
    /// Its log-sum-exp.
    lse: pyo3::Py<PyAny>,
    /// The log-probability of its target.
    log_prob: pyo3::Py<PyAny>,
    /// The entropy of its softmax, in nats.
    entropy: pyo3::Py<PyAny>,
}

/// What cross_entropy and its gradient take.
struct CrossEntropy<'a, 'py> {
    logits: &'a Bound<'py, PyAny>,
    targets: &'a Bound<'py, PyAny>,
    ignore_index: i64,
    label_smoothing: f32,
    z_loss: f32,
    /// Whether the gradient of each loss is asked for, rather than the losses.
    gradient: bool,
}

impl<'py> CrossEntropy<'_, 'py> {
    fn mapped(&self) -> PyResult<Out<'py>> {
        let (x, targets) = (Array::of(self.logits, "logits")?, Array::of(self.targets, "targets")?);
        let rows = rows_of(&x, -1)?;
        if targets.shape != rows {
            let (got, needed) = (&targets.shape, &rows);
            return Err(PyValueError::new_err(format!(
                "targets: their shape is {got:?}, and must be {needed:?}: one for each row"
            )));
        }
        let of_64_bits = match targets.element {
            Type::I64 => true,
            Type::I32 => false,
            other => {
                let name = dtypes::name(other);
                return Err(PyTypeError::new_err(format!(
                    "targets: they are of int64 or int32, and these are of {name}"
                )));
            }
        };
        let row = match x.device {
            Device::Cuda(_) => row::cross_entropy(Targets::Later { of_64_bits }),
            Device::Cpu if of_64_bits => row::cross_entropy(targets.view::<i64>(false)?),
            Device::Cpu => row::cross_entropy(targets.view::<i32>(false)?),
        };
        let row = row
            .ignore_index(self.ignore_index)
            .label_smoothing(self.label_smoothing)
            .z_loss(self.z_loss);
        let row = if self.gradient { row.gradient(1.0) } else { row };
        let wanted = Wanted {
            columns: 0,
            out_type: None,
            out: None,
            known: [!self.gradient; 4],
            maps: self.gradient,
            rows: &rows,
            op: (
                "cross_entropy",
                [
                    self.ignore_index as u64,
                    self.label_smoothing.to_bits().into(),
                    self.z_loss.to_bits().into(),
                    self.gradient.into(),
                    0,
                ],
            ),
        };
        let beside = Beside {
            targets: Some((&targets, self.ignore_index)),
            ..Beside::NOTHING
        };
        mapped(&x, row, &beside, wanted)
    }
}

/// -log_softmax(logits)[target] of each row, in one reading: with its log-sum-exp, its target's log-probability and its entropy.
///
/// targets: int64 or int32, an index for each row. ignore_index: the target of rows that are ignored, whose loss is 0.
/// label_smoothing: the share that all classes have alike. z_loss: the weight of the square of the log-sum-exp, added to each loss.
#[pyfunction]
#[pyo3(
    signature = (logits, targets, /, *, ignore_index=-100, label_smoothing=0.0, z_loss=0.0),
    text_signature = "(logits, targets, /, *, ignore_index=-100, label_smoothing=0.0, z_loss=0.0)"
)]
pub fn cross_entropy<'py>(
    logits: &Bound<'py, PyAny>,
    targets: &Bound<'py, PyAny>,
    ignore_index: i64,
    label_smoothing: f32,
    z_loss: f32,
) -> PyResult<Losses> {
    let call = CrossEntropy {
        logits,
        targets,
        ignore_index,
        label_smoothing,
        z_loss,
        gradient: false,
    };
    let [loss, lse, log_prob, entropy] = call.mapped()?.known;
    let part = |part: Option<Bound<'py, PyAny>>| part.map(Bound::unbind).ok_or_else(missing);
    Ok(Losses {
        loss: part(loss)?,
        lse: part(lse)?,
        log_prob: part(log_prob)?,
        entropy: part(entropy)?,
    })
}

/// The gradient of each row's loss by its logits.
#[pyfunction]
#[pyo3(name = "_cross_entropy_gradient", signature = (logits, targets, /, *, ignore_index=-100, label_smoothing=0.0, z_loss=0.0))]
pub fn cross_entropy_gradient<'py>(
    logits: &Bound<'py, PyAny>,
    targets: &Bound<'py, PyAny>,
    ignore_index: i64,
    label_smoothing: f32,
    z_loss: f32,
) -> PyResult<Bound<'py, PyAny>> {
    values(
        CrossEntropy {
            logits,
            targets,
            ignore_index,
            label_smoothing,
            z_loss,
            gradient: true,
        }
        .mapped()?,
    )
}

fn missing() -> PyErr {
    errors::DeviceError::new_err("a number of each row is missing")
}
