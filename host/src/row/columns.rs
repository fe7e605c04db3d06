//! The gradients of a norm's weights and biases.

use warpfold_kernels::{
    element::Element as _,
    kernels::rowwise::CHUNK,
    rowwise::{Column, NormGradient, RowFold as _},
};

use super::{Floats, MeanAndDeviation, Operand, ReciprocalRoot, RowElement, Values, check_known};
use crate::{
    Error, RowFault, cpu,
    layout::{Axes, Extents, Layout},
    operand::AsView,
    ops::Sum,
};

/// The gradients of a norm's weights and biases, to be had: see [`norm_column_gradients`].
#[derive(Clone, Debug)]
#[must_use = "nothing is summed before its last step"]
pub struct NormColumns<'a> {
    pub(crate) gradients: Operand<'a>,
    pub(crate) known: [Option<&'a [f32]>; 2],
}

/// Gradients of a norm's weights and biases.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnGradients {
    /// `Σ dy · x̂` of each column. Of weights beside 1 it is the same.
    pub weight: Vec<f32>,
    /// `Σ dy` of each.
    pub bias: Vec<f32>,
}

/// What a norm knew of rows: [`MeanAndDeviation`], [`ReciprocalRoot`].
pub trait NormKnown {
    /// Means, of none nothing; and reciprocals.
    #[doc(hidden)]
    fn numbers(&self) -> [Option<&[f32]>; 2];
}

impl NormKnown for MeanAndDeviation {
    fn numbers(&self) -> [Option<&[f32]>; 2] {
        [Some(&self.mean), Some(&self.reciprocal_deviation)]
    }
}

impl NormKnown for ReciprocalRoot {
    fn numbers(&self) -> [Option<&[f32]>; 2] {
        [None, Some(&self.reciprocal_root)]
    }
}

/// `Σ dy · x̂` and `Σ dy` of each column, over all rows, with `x̂ = (x − mean) · q`: the gradients of [`layer_norm`](super::layer_norm)'s weights and biases, and of
/// [`rms_norm`](super::rms_norm)'s weights.
///
/// Rows lie along the last axis. Each 32 rows are summed in order, and those sums in the canonical tree, in f32: the bits are a function of the rows alone, on every GPU and the CPU.
/// Of no rows all are 0. Cost: both arrays are read once.
///
/// ```
/// use warpfold::{View, layout::Layout, row};
///
/// let (x, dy) = ([1.0_f32, 2.0, 4.0, 8.0], [0.5_f32, 0.25, 1.0, 2.0]);
/// let rows = Layout::c_order(&[2, 2])?;
/// let known = row::layer_norm(1e-5).on_cpu::<_, f32>(View::new(&x, &rows)?)?.known;
/// let columns = row::norm_column_gradients(&dy, &known).on_cpu(View::new(&x, &rows)?)?;
/// assert_eq!(columns.bias, [1.5, 2.25]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn norm_column_gradients<'a>(gradients: impl Into<Operand<'a>>, known: &'a impl NormKnown) -> NormColumns<'a> {
    NormColumns {
        gradients: gradients.into(),
        known: known.numbers(),
    }
}

/// Where rows lie in both arrays.
pub(crate) struct Columns {
    pub(crate) from: [Extents; 2],
    /// Where chunks' sums lie: a row of those of weights, and one of those of biases, of each.
    pub(crate) sums: Layout,
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "a launch is passed it"))]
    pub(crate) reach: [Option<(u64, u64)>; 2],
}

impl NormColumns<'_> {
    pub(crate) fn columns(&self, layout: &Layout) -> Result<Columns, Error> {
        let other = self.gradients.beside(layout)?;
        let from = Extents::of_pair(layout, &other, &Axes::of(&[-1]))?;
        let rows = from[0].count;
        let chunks = rows.div_ceil(CHUNK.into());
        Ok(Columns {
            sums: Layout::c_order(&[chunks, 2, from[0].len])?,
            from,
            reach: [layout.reach(), other.reach()],
        })
    }

    /// That what is known is known of each row.
    pub(crate) fn check_known(&self, columns: &Columns) -> Result<(), Error> {
        let mut known = self.known.into_iter().flatten();
        known.try_for_each(|known| check_known(known, columns.from[0].count))
    }

    /// The gradients' slice, of the array's type.
    pub(crate) fn floats<T: RowElement>(&self) -> Result<&[T], Error> {
        let what = "gradients";
        match self.gradients.values {
            Values::Floats(floats) => T::of(floats).ok_or(Error::Row(RowFault::Types {
                what,
                of: Floats::element(&floats).name(),
                array: T::TYPE.name(),
            })),
            _ => Err(Error::Row(RowFault::Missing { what })),
        }
    }

    /// Sums them on the CPU.
    ///
    /// # Errors
    ///
    /// [`Error::NoAxis`]; [`Error::Broadcast`] and [`Error::LengthMismatch`] of gradients that do not fit; [`RowFault::Types`], [`RowFault::Rows`]; [`Error::LengthOverflow`].
    pub fn on_cpu<'v, V>(self, values: V) -> Result<ColumnGradients, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement,
    {
        let view = values.view();
        let columns = self.columns(&view.its_layout()?)?;
        self.check_known(&columns)?;
        let gradients = self.floats::<V::Element>()?;
        let [from, other] = &columns.from;
        let len = from.len as usize;
        let op = NormGradient {
            centers: true,
            plus: -0.0,
        };
        let steps = |extents: &Extents| {
            let mut steps = vec![0; len];
            extents.steps(0, &mut steps);
            steps
        };
        let (steps, other_steps) = (steps(from), steps(other));
        let mut sums = vec![-0.0_f32; columns.sums.len() as usize];
        let of_chunk = |chunk: usize, sums: &mut [f32]| {
            let first = chunk as u64 * u64::from(CHUNK);
            let (weights, biases) = sums.split_at_mut(len);
            for row in first..(first + u64::from(CHUNK)).min(from.count) {
                let (start, other) = (from.start(row) as i64, other.start(row) as i64);
                let given = self.known.map(|known| known.map_or(0.0, |known| known[row as usize]));
                let both = weights.iter_mut().zip(biases.iter_mut());
                for ((weight, bias), (step, other_step)) in both.zip(steps.iter().zip(&other_steps)) {
                    let x = view.values[(start + step) as usize].wide();
                    let dy = gradients[(other + other_step) as usize].wide();
                    let (x, dy) = op.take((x, dy), Column::PLAIN, given);
                    *weight += dy * x;
                    *bias += dy;
                }
            }
        };
        let width = (2 * len).max(1);
        cpu::pool::runs(&mut sums, width, 1, &|first, run| {
            (first..)
                .zip(run.chunks_mut(width))
                .for_each(|(chunk, sums)| of_chunk(chunk, sums));
        });
        Ok(ColumnGradients::of(
            &cpu::reduce_axes(Sum, &sums, &columns.sums, &Axes::of(&[0]))?.answers,
        ))
    }
}

impl ColumnGradients {
    /// Of the sums of weights, then those of biases.
    pub(crate) fn of(sums: &[f32]) -> Self {
        let (weight, bias) = sums.split_at(sums.len() / 2);
        Self {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
        }
    }
}
