//! A fold put together step by step: what, along which axes or in which segments, with which options, where.
//!
//! It computes nothing itself: each chain of steps ends in one of the library's calls, named at that step.

#[cfg(feature = "cuda")]
mod gpu;
mod masked;
mod options;
mod view;

use std::marker::PhantomData;

pub use masked::MaskedFold;
pub use options::{Cast, HasCorrection, HasTies, Output, Own, To};
pub use view::View;

use crate::{
    Error, cpu,
    layout::{Axes, Extents, Folded, Layout, Segments},
    ops::{EmptyInput as _, IgnoreNan, Mapped, Operator, Reduction, SkipsNan, Step, element::Element},
    plan::Plan,
};

/// Begins a fold with `op`, of the whole array unless a step says otherwise.
///
/// | step | says | of |
/// |---|---|---|
/// | [`axis`](Fold::axis), [`axes`](Fold::axes), [`keepdim`](Fold::keepdim) | what is folded | arrays, not segments |
/// | [`segments`](Fold::segments) | what is folded | whole arrays |
/// | [`ignore_nan`](Fold::ignore_nan) | that NaN is left out | operators of [`SkipsNan`] |
/// | [`accuracy`](Fold::accuracy) | [`Compensated`](crate::ops::Compensated), [`Wide`](crate::ops::Wide) or [`Exact`](crate::ops::Exact) | `Sum` and `Mean` |
/// | [`correction`](Fold::correction) | what is taken off the number of elements | variances and the standard deviation |
/// | [`last_of_equals`](Fold::last_of_equals) | which of equals is answered | `ArgMin`, `ArgMax` |
/// | [`output`](Fold::output) | the type of the answer | answers that are one number |
/// | [`mapped`](Fold::mapped) | what becomes of each element first | all operators of f32 or f64 |
/// | [`masked`](Fold::masked) | what is left out by a mask | operators of [`TakesMask`](crate::ops::TakesMask) |
///
/// and the last one is `on_cpu`, `on` (a GPU, an array in host memory), `on_device` (one in device memory), `prepare` (a launch for a
/// stream and a workspace of yours) or `plan`.
///
/// ```
/// use warpfold::{fold, ops::{ArgMax, Exact, Mean, StdDev, Step, Sum}};
///
/// let values = [1.0_f32, 2.0, f32::NAN, 4.0];
/// assert_eq!(fold(Sum).ignore_nan().on_cpu(&values)?, 7.0);
/// assert_eq!(fold(Mean).accuracy(Exact).output::<f64>().on_cpu(&[0.5_f32, 1.0])?, 0.75_f64);
/// assert_eq!(fold(ArgMax).last_of_equals().on_cpu(&[3_i32, 1, 3])?, 2);
/// assert_eq!(fold(StdDev::default()).correction(0.0).on_cpu(&[1.0_f64, 3.0])?, 1.0);
/// assert_eq!(fold(Mean).mapped(Step::minus(2.0).abs()).on_cpu(&[1_i32, 5])?, 2.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Along axes, of a matrix of two rows:
///
/// ```
/// use warpfold::{View, fold, layout::Layout, ops::Max};
///
/// let values = [1_i32, 5, 3, 4, 2, 6];
/// let matrix = View::new(&values, &Layout::c_order(&[2, 3])?)?;
/// let rows = fold(Max).axis(-1).keepdim().on_cpu(matrix)?;
/// assert_eq!((rows.shape, rows.answers), (vec![2, 1], vec![5, 6]));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// What has no meaning does not compile: an accuracy of a maximum, a correction of a sum, ties of a mean, axes of segments.
///
/// ```compile_fail,E0277
/// warpfold::fold(warpfold::ops::Max).accuracy(warpfold::ops::Exact);
/// ```
///
/// ```compile_fail,E0277
/// warpfold::fold(warpfold::ops::Sum).correction(1.0);
/// ```
///
/// ```compile_fail,E0599
/// # use warpfold::{fold, layout::Segments, ops::Sum};
/// fold(Sum).segments(Segments::by_size(4, 2)?).axis(0);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// # use warpfold::{fold, ops::{Sum, Wide}};
/// fold(Sum).accuracy(Wide).on_cpu(&[1.0_f64])?; // nothing is wider than f64
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn fold<Op: Operator>(op: Op) -> Fold<Op> {
    Fold {
        op,
        over: Whole,
        out: PhantomData,
    }
}

/// A fold that is being put together: see [`fold`].
#[derive(Clone, Debug)]
#[must_use = "nothing is folded before its last step"]
pub struct Fold<Op, Over = Whole, Out = Own> {
    op: Op,
    over: Over,
    out: PhantomData<fn() -> Out>,
}

/// All of an array, to one answer.
#[derive(Clone, Copy, Debug)]
pub struct Whole;

/// Along axes, to an answer for each index of those that are kept.
#[derive(Clone, Debug)]
pub struct Along {
    /// None for all.
    axes: Option<Vec<i64>>,
    keepdim: bool,
}

/// In segments, to an answer for each.
#[derive(Clone, Debug)]
pub struct In(Segments);

impl Along {
    fn axes(&self) -> Axes {
        let axes = self.axes.as_ref().map_or_else(Axes::all, |axes| Axes::of(axes));
        if self.keepdim { axes.keepdim() } else { axes }
    }
}

impl<Op: Operator, Over, Out> Fold<Op, Over, Out> {
    /// The same fold by another operator.
    fn by<Other: Operator>(self, op: Other) -> Fold<Other, Over, Out> {
        Fold {
            op,
            over: self.over,
            out: PhantomData,
        }
    }

    fn over<Other>(self, over: Other) -> Fold<Op, Other, Out> {
        Fold {
            op: self.op,
            over,
            out: PhantomData,
        }
    }

    /// Leaves NaN out: [`IgnoreNan`].
    pub fn ignore_nan(self) -> Fold<IgnoreNan<Op>, Over, Out>
    where
        Op: SkipsNan,
    {
        let op = IgnoreNan(self.op);
        self.by(op)
    }

    /// In another accuracy: `accuracy(Exact)`, or [`Compensated`](crate::ops::Compensated), or [`Wide`](crate::ops::Wide).
    pub fn accuracy<Accurate: Operator>(self, accuracy: impl FnOnce(Op) -> Accurate) -> Fold<Accurate, Over, Out> {
        let op = accuracy(self.op);
        self.by(op)
    }

    /// What is taken off the number of elements to divide by.
    pub fn correction(mut self, correction: f64) -> Self
    where
        Op: HasCorrection,
    {
        self.op = self.op.with_correction(correction);
        self
    }

    /// Of equals the last is answered, and not the first.
    pub fn last_of_equals(self) -> Fold<Op::Last, Over, Out>
    where
        Op: HasTies,
    {
        let op = self.op.last();
        self.by(op)
    }

    /// Of what a step makes of each element: [`Mapped`].
    pub fn mapped(self, step: Step) -> Fold<Mapped<Op>, Over, Out> {
        let op = Mapped(self.op, step);
        self.by(op)
    }

    /// Answers as `Number`, by a cast as Rust's `as` does it: what does not fit is rounded, cut off, or the nearest number there is.
    /// The fold itself is as it was, and rounded to the type of its elements: 70,000 ones of f16 have an infinite sum, as f32 too. A
    /// wider sum needs wider elements; the command's `--dtype-out` widens them. [`accuracy`](Self::accuracy) changes what is rounded before.
    pub fn output<Number>(self) -> Fold<Op, Over, To<Number>> {
        Fold {
            op: self.op,
            over: self.over,
            out: PhantomData,
        }
    }
}

impl<Op: Operator, Out> Fold<Op, Whole, Out> {
    /// Along one axis, negative ones counted from the last; [again](Fold::axis) for more of them.
    pub fn axis(self, axis: i64) -> Fold<Op, Along, Out> {
        self.axes(&[axis])
    }

    /// Along these axes, in any order; along none of them every element is an extent of its own.
    pub fn axes(self, axes: &[i64]) -> Fold<Op, Along, Out> {
        self.over(Along {
            axes: Some(axes.to_vec()),
            keepdim: false,
        })
    }

    /// Along all axes, which the output keeps, each with one index.
    pub fn keepdim(self) -> Fold<Op, Along, Out> {
        self.over(Along {
            axes: None,
            keepdim: true,
        })
    }

    /// In segments.
    pub fn segments(self, segments: Segments) -> Fold<Op, In, Out> {
        self.over(In(segments))
    }

    /// Folds on the CPU: [`cpu::reduce`], of a [`View`] with a layout [`cpu::reduce_axes`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn on_cpu<'a, T: Element>(self, array: impl Into<View<'a, T>>) -> Result<Out::Number, Error>
    where
        Op: Reduction<T>,
        Out: Output<Op::Answer>,
    {
        let View { values, layout } = array.into();
        let answer = match layout {
            None => cpu::reduce(self.op, values)?,
            Some(layout) => the_one(cpu::reduce_axes(self.op, values, &layout, &Axes::all())?),
        };
        Ok(Out::of(answer))
    }

    /// The launch for an array of `len` elements: [`Plan::new`].
    ///
    /// # Errors
    ///
    /// [`Error::NoKernel`].
    pub fn plan<T: Element>(self, len: u64) -> Result<Plan, Error>
    where
        Op: Reduction<T>,
    {
        Ok(Plan::new(self.op.kernel()?, len))
    }
}

impl<Op: Operator, Out> Fold<Op, Along, Out> {
    /// Along this axis, too.
    pub fn axis(mut self, axis: i64) -> Self {
        self.over.axes.get_or_insert_default().push(axis);
        self
    }

    /// The output keeps the folded axes, each with one index.
    pub fn keepdim(mut self) -> Self {
        self.over.keepdim = true;
        self
    }

    /// Folds on the CPU: [`cpu::reduce_axes`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn on_cpu<'a, T: Element>(self, array: impl Into<View<'a, T>>) -> Result<Folded<Out::Number>, Error>
    where
        Op: Reduction<T>,
        Out: Output<Op::Answer>,
    {
        let (values, layout) = array.into().with_layout()?;
        let folded = cpu::reduce_axes(self.op, values, &layout, &self.over.axes())?;
        Ok(each::<Out, _>(folded))
    }

    /// The launch for an array of that layout: [`Plan::along`].
    ///
    /// # Errors
    ///
    /// As that call, and as [`Extents::new`].
    pub fn plan<T: Element>(self, layout: &Layout) -> Result<Plan, Error>
    where
        Op: Reduction<T>,
    {
        Plan::along(self.op.kernel()?, &Extents::new(layout, &self.over.axes())?)
    }
}

impl<Op: Operator, Out> Fold<Op, In, Out> {
    /// Folds on the CPU: [`cpu::reduce_segments`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn on_cpu<T: Element>(self, values: &[T]) -> Result<Vec<Out::Number>, Error>
    where
        Op: Reduction<T>,
        Out: Output<Op::Answer>,
    {
        let answers = cpu::reduce_segments(self.op, values, &self.over.0)?;
        Ok(answers.into_iter().map(Out::of).collect())
    }

    /// The launch: [`Plan::segments`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn plan<T: Element>(self) -> Result<Plan, Error>
    where
        Op: Reduction<T>,
    {
        let In(segments) = &self.over;
        Plan::segments(self.op.kernel()?, segments.len(), segments.count() as u64)
    }
}

/// The answer of a fold along all axes.
fn the_one<A>(folded: Folded<A>) -> A {
    let mut answers = folded.answers.into_iter();
    answers.next().expect("nothing is kept, so there is one answer")
}

fn each<Out: Output<A>, A>(folded: Folded<A>) -> Folded<Out::Number> {
    Folded {
        shape: folded.shape,
        answers: folded.answers.into_iter().map(Out::of).collect(),
    }
}
