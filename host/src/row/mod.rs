//! Row operations: softmax and its logarithm, layer norm, root-mean-square norm, group norm, cross-entropy, and the gradients of all of them; and those of [your own](own()).
//!
//! Each row is folded, and its elements are mapped by what the fold found; a row is what lies along one axis, of [`group_norm`] a group of channels. All arithmetic of elements is in f32, whatever they
//! are and the answers. **The bits of a row are a function of that row, the weights and the parameters alone**: not of the rows beside it, of padding, of strides, of the
//! launch, of the GPU model, nor of whether a GPU or a CPU answers. [`docs/row-operations.md`](https://docs.rs/warpfold) has their specification.
//!
//! ```
//! use warpfold::row;
//!
//! let mapped = row::softmax().on_cpu::<_, f32>(&[1.0_f32, 2.0, 3.0])?;
//! assert_eq!(mapped.values, [0.090_030_566, 0.244_728_48, 0.665_240_9]);
//! assert_eq!(mapped.known.log_sum_exp, [3.407_606_1]);
//! # Ok::<(), warpfold::Error>(())
//! ```

pub(crate) mod channels;
pub(crate) mod columns;
mod cross_entropy;
mod double;
mod gradient;
mod group_norm;
mod operands;
mod ops;
mod options;
mod own;
mod part;
mod problem;
mod shaped;

pub use columns::{ColumnGradients, NormColumns, NormKnown, norm_column_gradients};
pub use cross_entropy::{CrossEntropy, Losses, cross_entropy};
pub use double::DoubleNorm;
#[cfg(feature = "cuda")]
pub(crate) use double::{MEAN_VARIANCE, Rows64, Statistics};
pub use gradient::{
    LayerNormGradient, LogSoftmaxGradient, Nothing, RmsNormGradient, SoftmaxGradient, layer_norm_gradient,
    log_softmax_gradient, rms_norm_gradient, softmax_gradient,
};
pub use group_norm::{
    GroupNorm, GroupNormChannels, GroupNormGradient, group_norm, group_norm_channel_gradients, group_norm_gradient,
};
pub use operands::{FloatVec, Floats, Later, Mask, Operand, RowElement, Targets};
pub use ops::{
    AllMasked, Exponentials, HasBiases, HasWeights, Knowledge, LayerNorm, LogSoftmax, LogSumExp, MeanAndDeviation,
    Operation, ReciprocalRoot, RmsNorm, Scales, Softmax,
};
pub use own::{Known, Own, own};
pub use part::{Part, Partials};
pub use shaped::Shaped;
pub(crate) use shaped::at;
pub use warpfold_kernels::rowwise::VERSION;

use bytemuck::zeroed_vec;
use channels::Channels;
pub(crate) use operands::Values;
use ops::Scaled;
use part::Span;
use problem::{Piece, causal};
pub(crate) use problem::{Problem, check_known};
use warpfold_kernels::{kernels::rowwise::Second as Kind, stages::columns::Shares};

use crate::{
    Error, RowFault,
    cpu::rowwise::{InputRows, MappedRows, SecondRows, Split, map_rows},
    layout::{Axes, Extents, Layout},
    operand::{AsView, View},
    room::room,
};

/// A row operation that is being put together. The last step is where it runs: [`on_cpu`](Self::on_cpu), `on` (a GPU), or `prepare`.
#[derive(Clone, Debug)]
#[must_use = "nothing is mapped before its last step"]
pub struct Row<'a, Op> {
    pub(crate) op: Op,
    pub(crate) axis: i64,
    pub(crate) causal: Option<i64>,
    pub(crate) weights: Option<Shaped<Floats<'a>>>,
    pub(crate) biases: Option<Shaped<Floats<'a>>>,
    /// Another array, and what it is: nothing is said of it where the operation takes an element of each.
    pub(crate) other: Option<(Kind, Operand<'a>)>,
    /// Whether one was put in place of another.
    pub(crate) has_others: bool,
    /// A target of each row, and which is none.
    pub(crate) targets: Option<(Shaped<Targets<'a>>, i64)>,
    /// Two numbers of each row, as a norm knew them: the mean, if it has one, and the reciprocal.
    pub(crate) given: Option<[Option<&'a [f32]>; 2]>,
    /// Which columns of its rows an array has, where others have the rest.
    pub(crate) part: Option<Span>,
    /// Which rows of a larger array it has.
    piece: Option<Piece>,
}

/// What a row operation made of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapped<U, Known, Sums = FloatVec> {
    /// The shape, that of the array.
    pub shape: Vec<u64>,
    /// The answers, in C order; none of an operation that only knows something of rows.
    pub values: Vec<U>,
    /// The sums of elements and those of a [residual](Row::residual), if there is one.
    pub sums: Option<Sums>,
    /// What else is known of each row, in C order of the other axes.
    pub known: Known,
}

/// `exp(x·scale − m) / Σ exp(xᵢ·scale − m)`, `m` being the largest `x·scale` of the row.
///
/// A row of all −∞ is NaN, or zeros by [`all_masked`](Row::all_masked); one with a NaN or a +∞ is NaN. Of a row of length 1 the answer is 1.
///
/// Cost: each element is read once and written once, where a row fits in the registers of a block or a cluster: 2¹⁸ f32 on compute capability 9.0 and newer, of f16 and bf16 2¹⁷, and
/// 2¹⁴ before. Else it is read twice; where a row's elements lie apart, three times or, if they are longer than a leaf, four.
pub fn softmax<'a>() -> Row<'a, Softmax> {
    Row::new(Softmax {
        scaled: Scaled::NOT,
        masked: AllMasked::Nan,
    })
}

/// `x·scale − m − ln Σ exp(xᵢ·scale − m)`: as [`softmax`].
pub fn log_softmax<'a>() -> Row<'a, LogSoftmax> {
    Row::new(LogSoftmax { scaled: Scaled::NOT })
}

/// `(x − mean) / √(variance + ε) · weight + bias`, the variance divided by the row's length.
///
/// A row with a NaN or an infinity is NaN. Distances from the mean and their squares are of f32: where they over- or underflow, so does the answer. `epsilon` is
/// finite and above 0. Cost as [`softmax`].
pub fn layer_norm<'a>(epsilon: f32) -> Row<'a, LayerNorm> {
    Row::new(LayerNorm { epsilon })
}

/// `x / √(mean of x² + ε) · weight`.
///
/// A row with a NaN is NaN. Squares are of f32: an element from 2⁶⁴ on in magnitude has an infinite one, and the row's finite elements become 0. `epsilon` is finite and above 0.
/// Cost as [`softmax`].
pub fn rms_norm<'a>(epsilon: f32) -> Row<'a, RmsNorm> {
    Row::new(RmsNorm {
        epsilon,
        one_plus: false,
    })
}

/// `ln Σ exp(xᵢ·scale)` of each row, and no answers of elements: what [`softmax`] knows, and nothing is written but that. Cost: each element is
/// read once, unless a row's elements lie apart.
pub fn log_sum_exp<'a>() -> Row<'a, LogSumExp> {
    Row::new(LogSumExp { scaled: Scaled::NOT })
}

impl<'a, Op: Operation> Row<'a, Op> {
    pub(crate) fn new(op: Op) -> Self {
        Self {
            op,
            axis: -1,
            causal: None,
            weights: None,
            biases: None,
            other: None,
            has_others: false,
            targets: None,
            given: None,
            part: None,
            piece: None,
        }
    }

    /// The operation, without what it is beside.
    #[must_use]
    pub fn operation(&self) -> Op {
        self.op
    }

    /// How many columns more each row sees than a [causal](Row::causal) one; none where all is seen.
    #[must_use]
    pub fn causal_offset(&self) -> Option<i64> {
        self.causal
    }

    fn with(self, kind: Kind, operand: Operand<'a>) -> Self {
        Self {
            has_others: self.other.is_some(),
            other: Some((kind, operand)),
            ..self
        }
    }

    /// Along another axis than the last; negative ones count from the last, which is −1. Of [`group_norm`] it is that of channels, always 1.
    pub fn axis(self, axis: i64) -> Self {
        Self { axis, ..self }
    }

    /// The array has some rows of a larger one, those from row `first` on in C order, and the larger one's last two axes are `of` rows and their columns.
    ///
    /// So an array larger than memory is mapped in pieces, to the bits of the whole: **a row's bits depend on no other row**. A piece needs the masks, targets and what is added
    /// of its own rows, and all of the weights. Only [causal](Self::causal) rows have to know their number, which this says; without it, it changes nothing. Of
    /// [`group_norm`] a piece is of whole samples.
    ///
    /// The last step answers [`RowFault::Piece`] where causal rows begin inside of a matrix and go on past its end: no piece may, unless it begins at a multiple of `of`.
    ///
    /// ```
    /// use warpfold::{View, layout::Layout, row};
    ///
    /// let scores: Vec<f32> = (0..12).map(|i| (i % 5) as f32).collect();
    /// let layout = |rows| Layout::c_order(&[rows, 3]);
    /// let whole = row::softmax().causal().on_cpu::<_, f32>(View::new(&scores, &layout(4)?)?)?;
    /// let last = row::softmax().causal().rows_from(2, 4);
    /// let last = last.on_cpu::<_, f32>(View::new(&scores[6..], &layout(2)?)?)?;
    /// assert_eq!(last.values, whole.values[6..]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn rows_from(self, first: u64, of: u64) -> Self {
        let piece = Some(Piece { first, of });
        Self { piece, ..self }
    }

    /// Whether it has a meaning for an array of that layout: asked before anything is read.
    ///
    /// # Errors
    ///
    /// As [`on_cpu`](Self::on_cpu), but for the types of elements.
    pub fn check(&self, layout: &Layout) -> Result<(), Error> {
        let problem = self.problem(layout)?;
        self.checked_targets(&problem).map(drop)
    }

    /// Maps an array in host memory on the CPU, to answers of type `U`.
    ///
    /// # Errors
    ///
    /// [`Error::NoAxis`]; [`Error::Parameter`] of a number without meaning; [`Error::Broadcast`] and [`Error::LengthMismatch`] of another array that does not fit;
    /// a [`RowFault`] of weights, biases, targets or another array that are not what the rows need; [`Error::LengthOverflow`] where there is no room.
    pub fn on_cpu<'v, V, U>(self, values: V) -> Result<Mapped<U, Op::Known>, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement,
        U: RowElement,
    {
        self.mapped_on_cpu(values, None)
    }

    /// The same, to answers that are there already: a slice as long as the array, in C order. What is answered has no [`values`](Mapped::values).
    ///
    /// Cost: memory for the answers is neither allocated nor cleared, which of a large array takes as long as a cheap operation.
    ///
    /// # Errors
    ///
    /// As [`on_cpu`](Self::on_cpu); [`Error::LengthMismatch`] of a slice of another length. Of an operation without answers it is empty.
    ///
    /// ```
    /// use warpfold::row;
    ///
    /// let mut answers = [0.0_f32; 3];
    /// let mapped = row::softmax().on_cpu_into(&[1.0_f32, 2.0, 3.0], &mut answers)?;
    /// assert_eq!(answers, [0.090_030_566, 0.244_728_48, 0.665_240_9]);
    /// assert_eq!(mapped.known.log_sum_exp, [3.407_606_1]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn on_cpu_into<'v, V, U>(self, values: V, answers: &mut [U]) -> Result<Mapped<U, Op::Known>, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement,
        U: RowElement,
    {
        self.mapped_on_cpu(values, Some(answers))
    }

    /// Either.
    fn mapped_on_cpu<'v, V, U>(self, values: V, into: Option<&mut [U]>) -> Result<Mapped<U, Op::Known>, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement,
        U: RowElement,
    {
        let view = values.view();
        let shape = view.its_layout()?.shape().to_vec();
        let (problem, MappedRows { answers, sums, known }) = self.done_on_cpu(&view, None, into)?;
        Ok(Mapped {
            shape,
            values: answers,
            sums: problem.has_sums.then(|| V::Element::into_floats(sums)),
            known: known.into(),
        })
    }

    /// What is done, and what is made of it on the CPU; of rows that are split with the words of each row's state, once that is known. Answers are new, unless there is
    /// room for them.
    pub(crate) fn done_on_cpu<T: RowElement, U: RowElement>(
        self,
        view: &View<'_, T>,
        states: Option<&[[f32; 4]]>,
        to: Option<&mut [U]>,
    ) -> Result<(Problem, MappedRows<T, U>), Error> {
        let layout = view.its_layout()?;
        let problem = self.problem(&layout)?;
        let [from, _] = &problem.from;
        // Of rows of nothing, too, something is known.
        drop(room::<[f32; 4]>(from.count)?);
        let (count, sums) = (if self.op.maps() { layout.len() } else { 0 }, problem.has_sums);
        let mut answers = vec![];
        let to = match to {
            Some(to) if to.len() as u64 == count => to,
            Some(to) => {
                return Err(Error::LengthMismatch {
                    prepared: count,
                    got: to.len() as u64,
                });
            }
            None => {
                drop(room::<U>(count)?);
                answers = zeroed_vec(count as usize);
                &mut answers
            }
        };
        drop(room::<T>(if sums { layout.len() } else { 0 })?);
        let second = self.second()?;
        let wide = |floats: &Option<Shaped<Floats<'a>>>, i: usize| {
            let wide = floats.as_ref().and_then(|floats| floats.values.wide());
            wide.map(|wide| at(wide, problem.columns[i].as_deref()))
        };
        let (weights, biases) = (wide(&self.weights, 0), wide(&self.biases, 1));
        let targets = self.checked_targets(&problem)?;
        let split = self.part.map(|Span { first, whole }| Split {
            before: first,
            whole,
            states,
        });
        let (sums, known) = map_rows::<T, U, _>(
            self.op.op(),
            &InputRows {
                values: view.values,
                second,
                from: &problem.from,
                to: &problem.to,
                columns: [weights.as_deref(), biases.as_deref()],
                shares: problem.shares,
                causal: problem.causal,
                targets: targets.as_ref().map(|(targets, ignored)| (&targets[..], *ignored)),
                given: self.given.map(|given| given.map(Option::unwrap_or_default)),
                maps: self.op.maps(),
                zeroes: self.op.zeroes(),
                split,
            },
            to,
        );
        Ok((problem, MappedRows { answers, sums, known }))
    }

    /// The other array, of that type, once weights and biases are found to be of types that its rows take.
    pub(crate) fn second<T: RowElement>(&self) -> Result<SecondRows<'a, T>, Error> {
        for (name, floats) in self.columns() {
            floats.map_or(Ok(()), |floats| floats.values.check_narrow(name))?;
        }
        let Some((kind, operand)) = &self.other else {
            return Ok(SecondRows::Nothing);
        };
        let what = "the other array";
        let floats = match operand.values {
            Values::Later => return Err(Error::Row(RowFault::Missing { what })),
            Values::Bytes(bytes) => return Ok(SecondRows::Mask(bytes)),
            Values::Floats(floats) => floats,
        };
        let values = T::of(floats).ok_or(Error::Row(RowFault::Types {
            what,
            of: floats.element().name(),
            array: T::TYPE.name(),
        }))?;
        Ok(match kind {
            Kind::Added => SecondRows::Added(values, self.op.factor()),
            Kind::Residual => SecondRows::Residual(values),
            Kind::Nothing | Kind::Mask => SecondRows::Pair(values),
        })
    }

    /// Weights and biases, if there are any, with their names.
    pub(crate) fn columns(&self) -> [(&'static str, Option<&Shaped<Floats<'a>>>); 2] {
        [("weights", self.weights.as_ref()), ("biases", self.biases.as_ref())]
    }

    /// The targets, once they are all found to be classes, and which is none.
    pub(crate) fn checked_targets(&self, problem: &Problem) -> Result<Option<(Vec<i64>, i64)>, Error> {
        let Some((targets, ignored)) = &self.targets else {
            return Ok(None);
        };
        let rows = &problem.from[0];
        let classes = self.part.map_or(rows.len, |part| part.whole);
        let positions = targets.positions(&problem.rows)?;
        let targets = targets
            .values
            .checked(rows.count, classes, *ignored, positions.as_deref())?;
        Ok(Some((targets, *ignored)))
    }

    /// What is to be done, once it is found to have a meaning.
    pub(crate) fn problem(&self, layout: &Layout) -> Result<Problem, Error> {
        if self.op.needs_weights() && self.weights.is_none() {
            return Err(Error::Row(RowFault::NoWeights { op: Op::NAME }));
        }
        let problem = self.layout_problem(layout)?;
        for given in self.given.into_iter().flatten().flatten() {
            check_known(given, problem.from[0].count)?;
        }
        Ok(problem)
    }

    /// The same, where weights come later.
    pub(crate) fn layout_problem(&self, layout: &Layout) -> Result<Problem, Error> {
        self.op.check()?;
        if self.has_others {
            return Err(Error::Row(RowFault::Together { op: Op::NAME }));
        }
        let groups = self.op.groups();
        let channels = groups.map(|groups| Channels::of(Op::NAME, groups, self.axis, layout));
        let channels = channels.transpose()?;
        let other = self.other.as_ref().map(|(_, other)| other.beside(layout)).transpose()?;
        let second = other.as_ref().unwrap_or(layout);
        let in_order = Layout::c_order(layout.shape())?;
        let (from, to) = if let Some(channels) = &channels {
            let (axes, split) = (channels.axes(), |layout: &Layout| channels.split(layout));
            (
                Extents::of_pair(&split(layout)?, &split(second)?, &axes)?,
                Extents::new(&split(&in_order)?, &axes)?,
            )
        } else {
            let axes = Axes::of(&[self.axis]);
            (
                Extents::of_pair(layout, second, &axes)?,
                Extents::new(&in_order, &axes)?,
            )
        };
        self.part.map(|part| part.others(from[0].len)).transpose()?;
        let axis = self.axis.rem_euclid(layout.shape().len().max(1) as i64) as usize;
        let mut columns = [None, None];
        for ((name, floats), positions) in self.columns().into_iter().zip(&mut columns) {
            let Some(floats) = floats else { continue };
            *positions = floats.positions(name, layout.shape(), axis)?;
            let got = positions.as_ref().map_or(floats.values.len(), Vec::len) as u64;
            match &channels {
                Some(channels) => channels.check(name, got)?,
                None if got == from[0].len => {}
                None => {
                    let columns = from[0].len;
                    return Err(Error::Row(RowFault::Columns { name, columns, got }));
                }
            }
        }
        let mut rows = layout.shape().to_vec();
        if channels.is_none() {
            rows.remove(axis);
        }
        let causal = self
            .causal
            .map(|offset| causal(layout, self.axis, offset, self.piece))
            .transpose()?;
        Ok(Problem {
            from,
            to,
            rows,
            columns,
            shares: channels.map_or(Shares::NONE, |channels| channels.shares()),
            causal,
            has_sums: matches!(self.other, Some((Kind::Residual, _))),
            reach: other.as_ref().unwrap_or(layout).reach(),
        })
    }
}
