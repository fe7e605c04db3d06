//! A fold put together step by step: what, along which axes or in which segments, with which options, where.
//!
//! A fold is an operator, over an [extent](Over), of an [operand](crate::operand), on a target: every kind of each goes with every kind of
//! the others. What is prepared for later launches has no operand yet: it names its items, and under a mask the operator is
//! [`Where`](crate::ops::Where) of it.

pub(crate) mod extent;
#[cfg(feature = "cuda")]
mod gpu;
mod options;
#[cfg(feature = "cuda")]
mod short;

use std::{marker::PhantomData, sync::Arc};

pub use extent::{Along, Extent, In, InParts, Over, Whole};
pub use options::{Cast, HasCorrection, HasTies, Output, Own, To};

use crate::{
    Error,
    cpu::{self, erased::Fold as CpuFold},
    layout::{Axes, Extents, Folded, Layout, Segments},
    operand::{HostOperand, NoMask, Under},
    ops::{
        AnyOp, IgnoreNan, Mapped, Operator, Reduction, SkipsNan, Step,
        element::Item,
        untyped::{Typed, of_words},
    },
    partial::{self, Partial},
    plan::Plan,
};

/// Begins a fold with `op`, of the whole array unless a step says otherwise.
///
/// | step | says | of |
/// |---|---|---|
/// | [`axis`](Fold::axis), [`axes`](Fold::axes), [`keepdim`](Fold::keepdim) | what is folded | arrays, not segments |
/// | [`segments`](Fold::segments) | what is folded | whole arrays |
/// | [`ignore_nan`](Fold::ignore_nan) | that NaN is left out | operators of [`SkipsNan`] |
/// | [`accuracy`](Fold::accuracy) | [`Compensated`](crate::ops::Compensated), [`Wide`](crate::ops::Wide), [`InF64`](crate::ops::InF64) or [`Exact`](crate::ops::Exact) | `Sum` and `Mean` |
/// | [`correction`](Fold::correction) | what is taken off the number of elements | variances and the standard deviation |
/// | [`last_of_equals`](Fold::last_of_equals) | which of equals is answered | `ArgMin`, `ArgMax` |
/// | [`output`](Fold::output) | the type of the answer | answers that are one number |
/// | [`mapped`](Fold::mapped) | what becomes of each element first | all operators of f32 or f64 |
/// | [`masked`](Fold::masked) | what is left out by a mask | operators of [`TakesMask`](crate::ops::TakesMask) |
///
/// and the last one is where it is folded: `on_cpu`, `partial_on_cpu` (a part of an array), `on` (a GPU, an operand in host memory or in its own), `prepare` (a launch for a
/// stream and a workspace of yours) or `plan`. The [operand](crate::operand) is an array, or for operators of two arrays both of them.
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
        mask: NoMask,
        out: PhantomData,
    }
}

/// A fold that is being put together: see [`fold`].
#[derive(Clone, Debug)]
#[must_use = "nothing is folded before its last step"]
pub struct Fold<Op, Extent = Whole, Out = Own, Mask = NoMask> {
    op: Op,
    over: Extent,
    mask: Mask,
    out: PhantomData<fn() -> Out>,
}

impl<Op: Operator, Extent, Out, Mask> Fold<Op, Extent, Out, Mask> {
    /// The same fold by another operator.
    fn by<Other: Operator>(self, op: Other) -> Fold<Other, Extent, Out, Mask> {
        Fold {
            op,
            over: self.over,
            mask: self.mask,
            out: PhantomData,
        }
    }

    fn over<Other>(self, over: Other) -> Fold<Op, Other, Out, Mask> {
        Fold {
            op: self.op,
            over,
            mask: self.mask,
            out: PhantomData,
        }
    }

    /// Leaves NaN out: [`IgnoreNan`].
    pub fn ignore_nan(self) -> Fold<IgnoreNan<Op>, Extent, Out, Mask>
    where
        Op: SkipsNan,
    {
        let op = IgnoreNan(self.op);
        self.by(op)
    }

    /// In another accuracy: `accuracy(Exact)`, or [`Compensated`](crate::ops::Compensated), [`Wide`](crate::ops::Wide), [`InF64`](crate::ops::InF64).
    pub fn accuracy<Accurate: Operator>(
        self,
        accuracy: impl FnOnce(Op) -> Accurate,
    ) -> Fold<Accurate, Extent, Out, Mask> {
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
    pub fn last_of_equals(self) -> Fold<Op::Last, Extent, Out, Mask>
    where
        Op: HasTies,
    {
        let op = self.op.last();
        self.by(op)
    }

    /// Of what a step makes of each element: [`Mapped`].
    pub fn mapped(self, step: Step) -> Fold<Mapped<Op>, Extent, Out, Mask> {
        let op = Mapped(self.op, step);
        self.by(op)
    }

    /// Answers as `Number`, by a cast as Rust's `as` does it: what does not fit is rounded, cut off, or the nearest number there is.
    /// The fold itself is as it was, and rounded to the type of its elements: 70,000 ones of f16 have an infinite sum, as f32 too. A sum or a mean that is not
    /// rounded so is of another [`accuracy`](Self::accuracy), [`InF64`](crate::ops::InF64); the command's `--dtype-out` widens elements first.
    pub fn output<Number>(self) -> Fold<Op, Extent, To<Number>, Mask> {
        Fold {
            op: self.op,
            over: self.over,
            mask: self.mask,
            out: PhantomData,
        }
    }
}

impl<Op: Operator, Extent, Out> Fold<Op, Extent, Out> {
    /// Folds what a mask selects, as NumPy's `where=` does: a slice or a [`View`](crate::View) of truths, or of bytes that select where they
    /// are not 0; on a GPU in device memory, too. A mask has as many elements as an array without a layout. It is broadcast to the
    /// shape of an array that has one: without a layout of its own it is then of one axis.
    ///
    /// What is not selected never shows, be it a NaN. All else keeps its place in the canonical tree, so where all is selected the bits are those
    /// without a mask, and where some is not, those of the tree with holes, as of [`IgnoreNan`]. Indices are those in the whole array; the mean
    /// and the variance divide by the number of elements that are selected.
    ///
    /// Where nothing is selected a sum is −0.0 (which equals 0) or 0, a product 1, an index [`NO_INDEX`](crate::ops::NO_INDEX); a mean, a
    /// variance and the largest and the smallest of floats are NaN, and the largest and the smallest of integers the lowest and the
    /// highest number of their type. A count is 0, and other operators answer as over nothing. An array without elements has what the
    /// operator has over nothing; a segment of which nothing is selected is not taken for one without elements.
    ///
    /// Cost: every byte of both is read once.
    ///
    /// ```
    /// use warpfold::{View, fold, layout::{Layout, Segments}, ops::{ArgMax, Max, Mean, Sum}};
    ///
    /// let (values, mask) = ([1.0_f32, f32::NAN, 5.0, 9.0], [true, false, true, false]);
    /// assert_eq!(fold(Sum).masked(&mask).on_cpu(&values)?, 6.0);
    /// assert_eq!(fold(Mean).masked(&mask).on_cpu(&values)?, 3.0);
    /// assert_eq!(fold(ArgMax).masked(&[1_u8, 0, 1, 0]).on_cpu(&values)?, 2);
    ///
    /// let values = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 60.0];
    /// let matrix = View::new(&values, &Layout::c_order(&[2, 3])?)?;
    /// assert_eq!(fold(Mean).axis(1).masked(&[true, true, false]).on_cpu(matrix)?.answers, [1.5, 4.5]);
    ///
    /// let (values, halves) = ([1_i32, 7, 3, 4], Segments::by_lens([2, 2])?);
    /// assert_eq!(fold(Max).segments(halves).masked(&[true, false, true, true]).on_cpu(&values)?, [1, 4]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn masked<M>(self, mask: M) -> Fold<Op, Extent, Out, Under<M>> {
        Fold {
            op: self.op,
            over: self.over,
            mask: Under(mask),
            out: PhantomData,
        }
    }
}

impl<Op: Operator, Out, Mask> Fold<Op, Whole, Out, Mask> {
    /// Along one axis, negative ones counted from the last; [again](Fold::axis) for more of them.
    pub fn axis(self, axis: i64) -> Fold<Op, Along, Out, Mask> {
        self.axes(&[axis])
    }

    /// Along these axes, in any order; along none of them every element is an extent of its own.
    pub fn axes(self, axes: &[i64]) -> Fold<Op, Along, Out, Mask> {
        self.along(Axes::of(axes))
    }

    /// Along these axes, and keeping them or not, as they say.
    pub fn along(self, axes: Axes) -> Fold<Op, Along, Out, Mask> {
        self.over(Along(axes))
    }

    /// Along all axes, which the output keeps, each with one index.
    pub fn keepdim(self) -> Fold<Op, Along, Out, Mask> {
        self.along(Axes::all().keepdim())
    }

    /// In segments.
    pub fn segments(self, segments: Segments) -> Fold<Op, In, Out, Mask> {
        self.over(In(segments))
    }
}

impl<Op: Operator, Out, Mask> Fold<Op, Along, Out, Mask> {
    /// Along this axis, too.
    pub fn axis(mut self, axis: i64) -> Self {
        self.over.0 = self.over.0.and(axis);
        self
    }

    /// The output keeps the folded axes, each with one index.
    pub fn keepdim(mut self) -> Self {
        self.over.0 = self.over.0.keepdim();
        self
    }
}

impl<Op: Operator, Extent: Over, Out, Mask> Fold<Op, Extent, Out, Mask> {
    /// Folds on the CPU: to one answer, or to [`Folded`] answers along axes, or to a `Vec` of them in segments. Each has the bits that its elements
    /// alone would give.
    ///
    /// Cost: as [`cpu::reduce`], [`cpu::reduce_axes`], [`cpu::reduce_segments`]. Of two arrays and of an array and its mask all extents
    /// along axes are gathered a leaf at a time.
    ///
    /// # Errors
    ///
    /// As those calls; [`Error::PairMismatch`] of two arrays of different shapes; [`Error::MaskMismatch`] of a mask that is not of the array's
    /// shape, nor broadcasts to it; [`Error::NotInOrder`] of segments of a [`View`](crate::View) that is not all of its memory in order.
    ///
    /// ```
    /// use warpfold::{View, fold, layout::{Layout, Segments}, ops::{Cosine, Dot}};
    ///
    /// let (a, b) = ([1.0_f32, 2.0, 2.0], [2.0_f32, 4.0, 4.0]);
    /// assert_eq!(fold(Dot).on_cpu((&a, &b))?, 18.0);
    /// assert_eq!(fold(Cosine).on_cpu((&a, &b))?, 1.0);
    /// assert_eq!(fold(Dot).segments(Segments::by_lens([2, 0, 1])?).on_cpu((&a, &b))?, [10.0, 0.0, 8.0]);
    ///
    /// // A query against many rows: each array has strides of its own.
    /// let (rows, query) = ([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0_f32, 0.0, -1.0]);
    /// let matrix = Layout::c_order(&[2, 3])?;
    /// let repeated = Layout::c_order(&[3])?.broadcast(&[2, 3])?;
    /// let dots = fold(Dot).axis(-1).on_cpu((View::new(&rows, &matrix)?, View::new(&query, &repeated)?))?;
    /// assert_eq!(dots.answers, [-2.0, -2.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn on_cpu<'a, O>(self, operand: O) -> Result<Extent::Answers<Out::Number>, Error>
    where
        O: HostOperand<'a, Op, Mask>,
        Out: Output<<O::Op as Reduction<O::Item>>::Answer>,
    {
        let (source, shapes) = operand.place(self.mask);
        let answers = cpu::answers(&CpuFold::new(O::op(self.op), source), &shapes, self.over.extent())?;
        Ok(each::<Extent, Out, _>(answers.unpacked()?))
    }
}

impl<Op: Operator, Out, Mask> Fold<Op, Whole, Out, Mask> {
    /// Folds on the CPU to the state of a run, to go on with: see [`Pieces`](crate::pieces::Pieces). Positions count from its start.
    ///
    /// # Errors
    ///
    /// [`Error::PairMismatch`], [`Error::MaskMismatch`], [`Error::NotInOrder`].
    pub fn state_on_cpu<'a, O>(self, operand: O) -> Result<<O::Op as Reduction<O::Item>>::State, Error>
    where
        O: HostOperand<'a, Op, Mask>,
    {
        let (source, shapes) = operand.place(self.mask);
        Ok(of_words(&cpu::state(&CpuFold::new(O::op(self.op), source), &shapes)?))
    }
}

impl<Op: Operator, Extent: InParts, Mask> Fold<Op, Extent, Own, Mask> {
    /// Folds a part of an array on the CPU, to be [merged](Partial::merge) with the other parts: the elements from `first` on.
    ///
    /// Along axes an array has all indices of the axes that are kept, and of those that are folded but the first: it is a part along the
    /// first of these. `first` counts elements of an answer's extent: where the part begins at index `i`, that is `i` times the lengths of
    /// the other folded axes.
    ///
    /// Cost: as [`on_cpu`](Self::on_cpu). What it holds: see the module [`partial`].
    ///
    /// # Errors
    ///
    /// As [`on_cpu`](Self::on_cpu), but for empty extents, which are no error; [`Error::LengthOverflow`] if a position is 2⁶⁴ or more.
    ///
    /// ```
    /// use warpfold::{View, fold, layout::Layout, ops::Mean};
    ///
    /// // Three rows here and two there, of four columns.
    /// let values: Vec<f32> = (0..20).map(|i| i as f32).collect();
    /// let part = |rows: usize, values| View::new(values, &Layout::c_order(&[rows as u64, 4])?);
    /// let mut columns = fold(Mean).axis(0).partial_on_cpu(part(3, &values[..12])?, 0)?;
    /// columns.merge(fold(Mean).axis(0).partial_on_cpu(part(2, &values[12..])?, 3)?)?;
    /// assert_eq!(columns.finish(5)?, fold(Mean).axis(0).on_cpu(part(5, &values)?)?);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn partial_on_cpu<'a, O>(self, operand: O, first: u64) -> Result<Partial<O::Op, O::Item, Extent>, Error>
    where
        O: HostOperand<'a, Op, Mask>,
    {
        let (source, shapes) = operand.place(self.mask);
        let op = O::op(self.op);
        let typed = Arc::new(Typed::<O::Op, O::Item>::new(op));
        let fold = CpuFold::new(op, source);
        let any = partial::cpu::partial(typed, &fold, &shapes, self.over.extent(), first)?;
        Ok(Partial::of(any))
    }
}

/// Plans, for items of a type: an element's, [`Two`](crate::ops::element::Two) of them, or with [`Where`](crate::ops::Where) of an operator
/// [`Masked`](crate::ops::element::Masked).
impl<Op: Operator, Out> Fold<Op, Whole, Out> {
    /// The launch for an array of `len` elements: [`Plan::new`].
    ///
    /// # Errors
    ///
    /// [`Error::NoKernel`].
    pub fn plan<I: Item>(self, len: u64) -> Result<Plan, Error>
    where
        Op: Reduction<I>,
    {
        Ok(Plan::new(AnyOp::of(self.op).kernel()?, len))
    }
}

impl<Op: Operator, Out> Fold<Op, Along, Out> {
    /// The launch for an array of that layout: [`Plan::along`]. A GPU that has clusters takes it [in clusters](Plan::in_clusters).
    ///
    /// # Errors
    ///
    /// As that call, and as [`Extents::new`].
    pub fn plan<I: Item>(self, layout: &Layout) -> Result<Plan, Error>
    where
        Op: Reduction<I>,
    {
        Plan::along(AnyOp::of(self.op).kernel()?, &Extents::new(layout, &self.over.0)?)
    }
}

impl<Op: Operator, Out> Fold<Op, In, Out> {
    /// The launch: [`Plan::segments`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn plan<I: Item>(self) -> Result<Plan, Error>
    where
        Op: Reduction<I>,
    {
        let In(segments) = &self.over;
        Plan::segments(AnyOp::of(self.op).kernel()?, segments.len(), segments.count() as u64)
    }
}

/// What becomes of answers.
fn each<E: Over, Out: Output<A>, A>(folded: Folded<A>) -> E::Answers<Out::Number> {
    E::answers(Folded {
        shape: folded.shape,
        answers: folded.answers.into_iter().map(Out::of).collect(),
    })
}
