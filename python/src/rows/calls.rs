//! The row operations, as Python calls them.

use pyo3::{
    Bound, PyAny, PyErr, PyResult,
    exceptions::{PyIndexError, PyTypeError, PyValueError},
    pyclass, pyfunction,
    types::PyTuple,
};
use warpfold::{
    ops::element::Type,
    row::{self, AllMasked, Row, Scales, Targets},
};

use super::{Beside, Out, Second, Wanted, mapped, takes::Takes};
use crate::{
    arrays::{Array, Device},
    dtypes, errors,
};

/// An argument that may be left out.
type Maybe<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

fn array<'py>(object: Maybe<'_, 'py>, name: &str) -> PyResult<Option<Array<'py>>> {
    object.map(|object| Array::of(object, name)).transpose()
}

/// The shape of an array without one of its axes.
pub(super) fn rows_of(x: &Array<'_>, axis: i64) -> PyResult<Vec<u64>> {
    let axes = x.shape.len() as i64;
    let found = if axis < 0 { axis + axes } else { axis };
    if !(0..axes).contains(&found) {
        return Err(PyIndexError::new_err(format!(
            "no axis {axis}: the array has {axes}, from 0 up or from -1 down"
        )));
    }
    let mut rows = x.shape.clone();
    rows.remove(found as usize);
    Ok(rows)
}

fn out_type(x: &Array<'_>, dtype: Maybe<'_, '_>) -> PyResult<Option<Type>> {
    let Some(asked) = dtypes::asked(dtype)? else {
        return Ok(None);
    };
    if asked == x.element || asked == Type::F32 {
        return Ok(Some(asked));
    }
    let (asked, element) = (dtypes::name(asked), dtypes::name(x.element));
    Err(PyTypeError::new_err(format!(
        "dtype: {asked}; answers of {element} are had as that or as float32"
    )))
}

/// What softmax and its logarithm take.
struct Exponential<'a, 'py> {
    x: &'a Bound<'py, PyAny>,
    axis: i64,
    scale: f32,
    causal: Option<i64>,
    mask: Maybe<'a, 'py>,
    bias: Maybe<'a, 'py>,
    dtype: Maybe<'a, 'py>,
    out: Maybe<'a, 'py>,
}

impl<'py> Exponential<'_, 'py> {
    fn mapped<Op: Takes + Scales>(self, row: Row<'_, Op>, masked: u64) -> PyResult<Bound<'py, PyAny>> {
        let x = Array::of(self.x, "x")?;
        let (mask, bias, out) = (
            array(self.mask, "mask")?,
            array(self.bias, "bias")?,
            array(self.out, "out")?,
        );
        let second = match (&mask, &bias) {
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err(
                    "mask and bias: one or the other; a bias of -inf masks, too",
                ));
            }
            (Some(mask), None) => Some((Second::Mask, mask)),
            (None, Some(bias)) => Some((Second::Added, bias)),
            (None, None) => None,
        };
        let mut row = row.axis(self.axis);
        if self.scale != 1.0 {
            row = row.scale(self.scale);
        }
        if let Some(offset) = self.causal {
            row = row.causal_by(offset);
        }
        let rows = rows_of(&x, self.axis)?;
        let wanted = Wanted {
            columns: 0,
            out_type: out_type(&x, self.dtype)?,
            out: out.as_ref(),
            known: [false; 4],
            maps: true,
            rows: &rows,
            op: (
                Op::NAME,
                [
                    self.axis as u64,
                    self.scale.to_bits().into(),
                    u64::from(self.causal.is_some()),
                    self.causal.unwrap_or(0) as u64,
                    masked,
                ],
            ),
        };
        let beside = Beside {
            second,
            ..Beside::NOTHING
        };
        values(mapped(&x, row, &beside, wanted)?)
    }
}

pub(super) fn values(out: Out<'_>) -> PyResult<Bound<'_, PyAny>> {
    out.values
        .ok_or_else(|| PyValueError::new_err("the operation has no answers for elements"))
}

/// exp(x * scale - m) / sum of exp(x * scale - m) along an axis, m being the largest.
///
/// axis: the axis of rows. scale: what elements are multiplied by first. causal: of the last two axes, row r sees columns up to r + S - T + causal; None for all.
/// mask: bool, broadcasts to x; what it does not select is as -inf. bias: an array of x's type that is added to x * scale, not with a mask.
/// all_masked: what a row of all -inf becomes, "nan" or "zero". dtype: the type of the answer: that of x, or float32.
/// out: an array that the answer is written to. A row's bits depend on no other row, and on no launch.
#[pyfunction]
#[pyo3(
    signature = (x, /, *, axis=-1, scale=1.0, causal=None, mask=None, bias=None, all_masked="nan", dtype=None, out=None),
    text_signature = "(x, /, *, axis=-1, scale=1.0, causal=None, mask=None, bias=None, all_masked='nan', dtype=None, out=None)"
)]
#[expect(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn softmax<'py>(
    x: &Bound<'py, PyAny>,
    axis: i64,
    scale: f32,
    causal: Option<i64>,
    mask: Maybe<'_, 'py>,
    bias: Maybe<'_, 'py>,
    all_masked: &str,
    dtype: Maybe<'_, 'py>,
    out: Maybe<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let masked = match all_masked {
        "nan" => AllMasked::Nan,
        "zero" => AllMasked::Zero,
        other => {
            return Err(PyValueError::new_err(format!(
                "all_masked: {other:?} is none of nan, zero"
            )));
        }
    };
    Exponential {
        x,
        axis,
        scale,
        causal,
        mask,
        bias,
        dtype,
        out,
    }
    .mapped(row::softmax().all_masked(masked), u64::from(masked == AllMasked::Zero))
}

/// x * scale - logsumexp(x * scale) along an axis: the logarithm of softmax, whose keywords it takes but all_masked.
#[pyfunction]
#[pyo3(
    signature = (x, /, *, axis=-1, scale=1.0, causal=None, mask=None, bias=None, dtype=None, out=None),
    text_signature = "(x, /, *, axis=-1, scale=1.0, causal=None, mask=None, bias=None, dtype=None, out=None)"
)]
#[expect(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn log_softmax<'py>(
    x: &Bound<'py, PyAny>,
    axis: i64,
    scale: f32,
    causal: Option<i64>,
    mask: Maybe<'_, 'py>,
    bias: Maybe<'_, 'py>,
    dtype: Maybe<'_, 'py>,
    out: Maybe<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    Exponential {
        x,
        axis,
        scale,
        causal,
        mask,
        bias,
        dtype,
        out,
    }
    .mapped(row::log_softmax(), 0)
}

/// What norms take.
struct Norm<'a, 'py> {
    x: &'a Bound<'py, PyAny>,
    axis: i64,
    weight: Maybe<'a, 'py>,
    bias: Maybe<'a, 'py>,
    residual: Maybe<'a, 'py>,
    dtype: Maybe<'a, 'py>,
    out: Maybe<'a, 'py>,
    /// Whether what is known of rows is answered, too.
    statistics: bool,
    /// Of group norm, groups of channels are rows.
    groups: Option<u64>,
}

impl<'py> Norm<'_, 'py> {
    fn mapped<Op: Takes>(self, row: Row<'_, Op>, has_mean: bool, numbers: [u64; 2]) -> PyResult<Bound<'py, PyAny>> {
        let x = Array::of(self.x, "x")?;
        let [weight, bias, residual, out] = [
            array(self.weight, "weight")?,
            array(self.bias, "bias")?,
            array(self.residual, "residual")?,
            array(self.out, "out")?,
        ];
        let (row, rows) = match self.groups {
            Some(groups) => (row, vec![x.shape.first().copied().unwrap_or(0), groups]),
            None => (row.axis(self.axis), rows_of(&x, self.axis)?),
        };
        let axis = self.axis.rem_euclid(x.shape.len().max(1) as i64) as usize;
        let wanted = Wanted {
            columns: x.shape.get(axis).copied().unwrap_or(0),
            out_type: out_type(&x, self.dtype)?,
            out: out.as_ref(),
            known: [self.statistics && has_mean, self.statistics, false, false],
            maps: true,
            rows: &rows,
            op: (
                Op::NAME,
                [self.axis as u64, self.groups.unwrap_or(0), numbers[0], numbers[1], 0],
            ),
        };
        let beside = Beside {
            second: residual.as_ref().map(|residual| (Second::Residual, residual)),
            weight: weight.as_ref(),
            bias: bias.as_ref(),
            targets: None,
        };
        let done = mapped(&x, row, &beside, wanted)?;
        let [mean, reciprocal, ..] = done.known;
        let parts = [done.values, done.sums, mean, reciprocal];
        let parts: Vec<Bound<'py, PyAny>> = parts.into_iter().flatten().collect();
        if parts.len() == 1 {
            return Ok(parts.into_iter().next().expect("one"));
        }
        Ok(PyTuple::new(x.object.py(), parts)?.into_any())
    }
}

/// x / sqrt(mean of x * x + eps) * weight along an axis.
///
/// weight: one for each column. residual: an array of x's type and shape that is added first, each sum rounded to that type; then the answer is a tuple, with
/// the sums. one_plus_weight: multiply by 1 + weight. statistics: answer 1 / sqrt(...) of each row, too, as the last of a tuple. dtype: that of x, or float32.
#[pyfunction]
#[pyo3(
    signature = (x, /, weight=None, *, eps=1e-6, axis=-1, residual=None, one_plus_weight=false, statistics=false, dtype=None, out=None),
    text_signature = "(x, /, weight=None, *, eps=1e-6, axis=-1, residual=None, one_plus_weight=False, statistics=False, dtype=None, out=None)"
)]
#[expect(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn rms_norm<'py>(
    x: &Bound<'py, PyAny>,
    weight: Maybe<'_, 'py>,
    eps: f32,
    axis: i64,
    residual: Maybe<'_, 'py>,
    one_plus_weight: bool,
    statistics: bool,
    dtype: Maybe<'_, 'py>,
    out: Maybe<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let row = row::rms_norm(eps);
    let row = if one_plus_weight { row.one_plus_weight() } else { row };
    Norm {
        x,
        axis,
        weight,
        bias: None,
        residual,
        dtype,
        out,
        statistics,
        groups: None,
    }
    .mapped(row, false, [eps.to_bits().into(), one_plus_weight.into()])
}

/// (x - mean) / sqrt(variance + eps) * weight + bias along an axis, the variance divided by n.
///
/// weight, bias: one for each column. residual, dtype: as of rms_norm. statistics: answer the mean and 1 / sqrt(...) of each row, too, as the last of a tuple.
#[pyfunction]
#[pyo3(
    signature = (x, /, weight=None, bias=None, *, eps=1e-5, axis=-1, residual=None, statistics=false, dtype=None, out=None),
    text_signature = "(x, /, weight=None, bias=None, *, eps=1e-5, axis=-1, residual=None, statistics=False, dtype=None, out=None)"
)]
#[expect(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn layer_norm<'py>(
    x: &Bound<'py, PyAny>,
    weight: Maybe<'_, 'py>,
    bias: Maybe<'_, 'py>,
    eps: f32,
    axis: i64,
    residual: Maybe<'_, 'py>,
    statistics: bool,
    dtype: Maybe<'_, 'py>,
    out: Maybe<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    Norm {
        x,
        axis,
        weight,
        bias,
        residual,
        dtype,
        out,
        statistics,
        groups: None,
    }
    .mapped(row::layer_norm(eps), true, [eps.to_bits().into(), 0])
}

/// (x - mean) / sqrt(variance + eps) * weight + bias of groups of channels, which are axis 1 of x.
///
/// weight, bias: one for each channel. statistics: answer the mean and 1 / sqrt(...) of each group of each sample, too.
#[pyfunction]
#[pyo3(
    signature = (x, groups, /, weight=None, bias=None, *, eps=1e-5, statistics=false, dtype=None, out=None),
    text_signature = "(x, groups, /, weight=None, bias=None, *, eps=1e-5, statistics=False, dtype=None, out=None)"
)]
#[expect(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn group_norm<'py>(
    x: &Bound<'py, PyAny>,
    groups: u64,
    weight: Maybe<'_, 'py>,
    bias: Maybe<'_, 'py>,
    eps: f32,
    statistics: bool,
    dtype: Maybe<'_, 'py>,
    out: Maybe<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let norm = Norm {
        x,
        axis: 1,
        weight,
        bias,
        residual: None,
        dtype,
        out,
        statistics,
        groups: Some(groups),
    };
    norm.mapped(row::group_norm(groups, eps), true, [eps.to_bits().into(), 0])
}

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
