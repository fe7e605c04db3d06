//! Softmax and norms, as Python calls them.

use pyo3::{
    Bound, PyAny, PyResult,
    exceptions::{PyIndexError, PyTypeError, PyValueError},
    pyfunction,
    types::PyTuple,
};
use warpfold::{
    ops::element::Type,
    row::{self, AllMasked, Row, Scales},
};

use super::{Beside, Out, Second, Wanted, mapped, takes::Takes};
use crate::{arrays::Array, dtypes, options::Causal};

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
            "axis {axis} is out of bounds for an array of {axes} axes"
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
    causal: Option<Causal>,
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
            self.out.map(Array::out).transpose()?,
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
        if let Some(Causal(offset)) = self.causal {
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
                    self.causal.map_or(0, |Causal(offset)| offset) as u64,
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
    causal: Option<Causal>,
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
    causal: Option<Causal>,
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
            self.out.map(Array::out).transpose()?,
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
