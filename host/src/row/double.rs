//! Norms of rows of f64: the [operators](crate::ops) of f64 fold a row, and its elements are mapped in f64.

use std::iter::zip;

use warpfold_kernels::kernels::rowwise::NormF64;

use super::{
    Floats, GroupNorm, HasWeights, LayerNorm, Mapped, MeanAndDeviation, Problem, ReciprocalRoot, RmsNorm, Row, Shaped,
    Values, at, channels::Channels,
};
use crate::{
    Error, RowFault,
    cpu::{self, pool, rowwise::place},
    layout::{Axes, Extents, Layout},
    operand::AsView,
    ops::{MeanVariance, SumOfSquares},
    room::room,
};

/// A norm that takes rows of f64, too.
pub trait DoubleNorm: HasWeights {
    /// What it knows of rows.
    type Known: From<Statistics>;
    /// Whether distances from the mean are normalised, or the elements; what is added to the mean of their squares; and what to each weight.
    #[doc(hidden)]
    fn double(self) -> NormF64;
}

/// What is known of each row.
#[doc(hidden)]
#[derive(Debug)]
pub struct Statistics {
    /// 0 of a norm that does not center.
    pub(crate) means: Vec<f64>,
    pub(crate) reciprocals: Vec<f64>,
}

impl From<Statistics> for MeanAndDeviation<f64> {
    fn from(Statistics { means, reciprocals }: Statistics) -> Self {
        Self {
            mean: means,
            reciprocal_deviation: reciprocals,
        }
    }
}

impl From<Statistics> for ReciprocalRoot<f64> {
    fn from(Statistics { reciprocals, .. }: Statistics) -> Self {
        Self {
            reciprocal_root: reciprocals,
        }
    }
}

/// Every NaN is the same one.
fn canonical(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

/// Nothing is added to weights.
const AS_THEY_ARE: f64 = -0.0;

impl DoubleNorm for LayerNorm {
    type Known = MeanAndDeviation<f64>;
    fn double(self) -> NormF64 {
        NormF64 {
            centers: true,
            epsilon: self.epsilon.into(),
            plus: AS_THEY_ARE,
        }
    }
}

impl DoubleNorm for GroupNorm {
    type Known = MeanAndDeviation<f64>;
    fn double(self) -> NormF64 {
        NormF64 {
            centers: true,
            epsilon: self.epsilon.into(),
            plus: AS_THEY_ARE,
        }
    }
}

impl DoubleNorm for RmsNorm {
    type Known = ReciprocalRoot<f64>;
    fn double(self) -> NormF64 {
        NormF64 {
            centers: false,
            epsilon: self.epsilon.into(),
            plus: self.plus().into(),
        }
    }
}

/// What is known of rows of so many elements.
fn statistics(norm: NormF64, values: &[f64], rows: &Layout, axes: &Axes, len: u64) -> Result<Statistics, Error> {
    let folded: Vec<[f64; 2]> = if norm.centers {
        let answers = cpu::reduce_axes(MEAN_VARIANCE, values, rows, axes)?.answers;
        answers.into_iter().map(|(mean, variance)| [mean, variance]).collect()
    } else {
        let answers = cpu::reduce_axes(SumOfSquares, values, rows, axes)?.answers;
        answers.into_iter().map(|sum| [sum; 2]).collect()
    };
    let (means, reciprocals) = folded
        .into_iter()
        .map(|folded| norm.statistics(folded, len).into())
        .unzip();
    Ok(Statistics { means, reciprocals })
}

/// What norms that center fold.
pub(crate) const MEAN_VARIANCE: MeanVariance = MeanVariance { correction: 0.0 };

/// Rows of f64 that are to be normalised.
pub(crate) struct Rows64 {
    pub(crate) problem: Problem,
    /// The array's shape, in C order.
    pub(crate) in_order: Layout,
    /// Sums with a residual, in C order: they are normalised in place of the elements.
    pub(crate) sums: Option<Vec<f64>>,
    /// Where what is normalised lies.
    pub(crate) layout: Layout,
    /// A weight of each column, and a bias of each, or as they are shared.
    pub(crate) columns: [Option<Vec<f64>>; 2],
}

/// Elements that are mapped and put where they are to lie at a time.
const AT_ONCE: usize = 1 << 20;

impl<'a, Op: DoubleNorm> Row<'a, Op> {
    /// Maps an array of f64 in host memory on the CPU, all arithmetic in f64: see `docs/row-operations.md`. `epsilon` is the f32 that it is.
    ///
    /// Weights and biases are of f64, f32, f16 or bf16, a residual is of f64. Cost: each element is read twice, and its answer written.
    ///
    /// # Errors
    ///
    /// As [`on_cpu`](Row::on_cpu).
    ///
    /// ```
    /// use warpfold::row;
    ///
    /// let mapped = row::layer_norm(1e-5).on_cpu_f64(&[1.0_f64, 2.0, 3.0])?;
    /// assert_eq!(mapped.known.mean, [2.0]);
    /// assert!((mapped.values[2] - 1.224_735_685_908_622_3).abs() < 1e-15);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn on_cpu_f64<'v, V>(self, values: V) -> Result<Mapped<f64, <Op as DoubleNorm>::Known, Vec<f64>>, Error>
    where
        V: AsView<'v, Element = f64>,
    {
        let view = values.view();
        let Rows64 {
            problem,
            in_order,
            sums,
            layout,
            columns: [weights, biases],
        } = self.rows_f64(view.values, &view.its_layout()?)?;
        let values = sums.as_deref().unwrap_or(view.values);
        let (rows, axes) = self.rows_and_axes(&layout)?;
        let from = Extents::new(&rows, &axes)?;
        let norm = self.op.double();
        let statistics = statistics(norm, values, &rows, &axes, from.len)?;
        let mut answers: Vec<f64> = room(in_order.len())?;
        answers.resize(in_order.len() as usize, 0.0);
        let (len, shares) = (from.len as usize, problem.shares);
        let mut steps = vec![0; len];
        from.steps(0, &mut steps);
        let map = |row: usize, to: &mut [f64]| {
            let start = from.start(row as u64) as i64;
            let statistics = [statistics.means[row], statistics.reciprocals[row]];
            let first = row as u64 % shares.groups * from.len;
            let column = |column: &Option<Vec<f64>>, i: usize, without: f64| {
                column
                    .as_ref()
                    .map_or(without, |column| column[((first + i as u64) / shares.span) as usize])
            };
            for (i, (to, step)) in zip(to, &steps).enumerate() {
                let x = values[(start + step) as usize];
                *to = norm.map(x, statistics, [column(&weights, i, 1.0), column(&biases, i, -0.0)]);
            }
        };
        // Rows are mapped in their own order, some at a time, and then put where they are to lie.
        let some = (AT_ONCE / len.max(1)).max(1);
        for first in (0..from.count as usize).step_by(some).take_while(|_| len > 0) {
            let mut here = vec![0.0; some.min(from.count as usize - first) * len];
            pool::runs(&mut here, len, 1, &|row, run| {
                for (i, to) in run.chunks_mut(len).enumerate() {
                    map(first + row + i, to);
                }
            });
            place(&here, &mut answers, &problem.to, first, len);
        }
        Ok(Mapped {
            shape: in_order.shape().to_vec(),
            values: answers,
            sums,
            known: statistics.into(),
        })
    }

    /// What is to be done, once it is found to have a meaning: before anything is folded, a residual is added.
    pub(crate) fn rows_f64(&self, values: &[f64], layout: &Layout) -> Result<Rows64, Error> {
        if self.op.needs_weights() && self.weights.is_none() {
            return Err(Error::Row(RowFault::NoWeights { op: Op::NAME }));
        }
        let problem = self.layout_problem(layout)?;
        let in_order = Layout::c_order(layout.shape())?;
        let sums = self.sums(values, layout)?;
        let mut columns = [None, None];
        for (i, (name, floats)) in self.columns().into_iter().enumerate() {
            columns[i] = floats
                .map(|floats| doubles(name, floats, problem.columns[i].as_deref()))
                .transpose()?;
        }
        Ok(Rows64 {
            problem,
            layout: if sums.is_some() {
                in_order.clone()
            } else {
                layout.clone()
            },
            in_order,
            sums,
            columns,
        })
    }

    /// The array as rows lie along some of its axes, and which.
    pub(crate) fn rows_and_axes(&self, layout: &Layout) -> Result<(Layout, Axes), Error> {
        match self.op.groups() {
            None => Ok((layout.clone(), Axes::of(&[self.axis]))),
            Some(groups) => {
                let channels = Channels::of(Op::NAME, groups, self.axis, layout)?;
                Ok((channels.split(layout)?, channels.axes()))
            }
        }
    }

    /// The sums of elements and those of a residual, in C order.
    fn sums(&self, values: &[f64], layout: &Layout) -> Result<Option<Vec<f64>>, Error> {
        let Some((_, operand)) = &self.other else {
            return Ok(None);
        };
        let what = "the other array";
        let other = match operand.values {
            Values::Floats(Floats::F64(other)) => other,
            Values::Floats(floats) => {
                return Err(Error::Row(RowFault::Types {
                    what,
                    of: floats.element().name(),
                    array: "f64",
                }));
            }
            _ => return Err(Error::Row(RowFault::Missing { what })),
        };
        let each = Extents::of_pair(layout, &operand.beside(layout)?, &Axes::of(&[]))?;
        let mut sums: Vec<f64> = room(layout.len())?;
        let of = |i: u64| canonical(values[each[0].start(i) as usize] + other[each[1].start(i) as usize]);
        sums.resize(layout.len() as usize, 0.0);
        pool::runs(&mut sums, 1, AT_ONCE / 64, &|first, run| {
            for (i, sum) in (first as u64..).zip(run) {
                *sum = of(i);
            }
        });
        Ok(Some(sums))
    }
}

/// Weights or biases as f64, exactly.
fn doubles(name: &'static str, floats: &Shaped<Floats<'_>>, positions: Option<&[usize]>) -> Result<Vec<f64>, Error> {
    let values = match floats.values {
        Floats::F64(values) => values.to_vec(),
        narrow => {
            narrow.check_narrow(name)?;
            let wide = narrow.wide().unwrap_or_default();
            wide.iter().copied().map(f64::from).collect()
        }
    };
    Ok(at(values.into(), positions).into_owned())
}
