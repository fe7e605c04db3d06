//! Arrays of the crate `ndarray`, folded and mapped on the CPU, with any strides: methods of its arrays and views.
//!
//! ```
//! use ndarray::{Axis, array, s};
//! use warpfold::{ndarray::ReduceExt, ops::{ArgMax, Exact, Mean, Sum}};
//!
//! let matrix = array![[1_i64, 5, 3], [4, 2, 6]];
//! assert_eq!(matrix.reduce(Sum)?, 21);
//! assert_eq!(matrix.reduce_axis(Axis(0), ArgMax)?, array![1, 0, 1]);
//! // Each row backwards, and of it every other element.
//! assert_eq!(matrix.slice(s![.., ..;-2]).reduce_axis(Axis(1), Sum)?, array![4, 10]);
//!
//! let values = array![[1.0_f32, 2.0, f32::NAN], [4.0, 5.0, 6.0]];
//! let mask = array![true, true, false];
//! assert_eq!(values.reduce_axis_where(Axis(1), &mask, Mean)?, array![1.5, 4.5]);
//! assert_eq!(values.column(1).reduce(Exact(Sum))?, 7.0);
//! assert_eq!(array![[0.0_f32, 0.0], [1.0, f32::NEG_INFINITY]].softmax(Axis(1))?, array![[0.5, 0.5], [1.0, 0.0]]);
//! # Ok::<(), warpfold::Error>(())
//! ```

use ::ndarray::{Array, ArrayD, ArrayRef, ArrayView, ArrayViewD, Axis, Dimension, RemoveAxis, Slice};
use warpfold_kernels::{
    element::{Element, Item, Masked},
    tree::leaf_elements,
};

use crate::{
    Error, View, cpu,
    fold::fold,
    layout::{Axes, Extents, Folded, Layout},
    ops::{AnswerWhere, MaskElement, OpFacts, Operator, Reduction, TakesMask, Where},
    pieces::Pieces,
    row::{self, FloatVec, Operation, Row, RowElement},
};

/// Bytes of what is copied at a time of an array that does not fill its memory.
const BLOCK: usize = 1 << 20;

/// The memory that an array fills and where its elements lie there: what the library's other calls take, those on a GPU, too.
///
/// Axes may be in any order, backwards and broadcast; of an array that is a part of another one (every other column, or the first
/// three) there is none, for the elements between may be somebody else's to write.
#[must_use]
pub fn dense<T: Element, D: Dimension>(array: ArrayView<'_, T, D>) -> Option<(&[T], Layout)> {
    let mut array = array.into_dyn();
    let shape: Vec<u64> = array.shape().iter().map(|extent| *extent as u64).collect();
    let strides: Vec<i64> = array.strides().iter().map(|stride| *stride as i64).collect();
    if array.is_empty() {
        return Some((&[], Layout::c_order(&shape).ok()?));
    }
    let mut offset = 0;
    for axis in 0..shape.len() {
        let (last, stride) = (shape[axis] - 1, strides[axis]);
        if stride < 0 {
            offset += last * stride.unsigned_abs();
            array.invert_axis(Axis(axis));
        } else if stride == 0 {
            array.slice_axis_inplace(Axis(axis), Slice::from(..1));
        }
    }
    let values = array.to_slice_memory_order()?;
    Some((values, Layout::strided(&shape, &strides, offset).ok()?))
}

/// What a row operation made of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedRows<T, D: Dimension, Known> {
    /// The answers, of the array's shape. Of an operation that only knows something of rows, there are none along its axis.
    pub values: Array<T, D>,
    /// The sums of elements and those of a [residual](Row::residual), in C order, if there is one.
    pub sums: Option<FloatVec>,
    /// What else is known of each row, in C order of the other axes.
    pub known: Known,
}

/// Folds and row operations as methods of `ndarray`'s arrays and views.
///
/// Operators in other accuracies ([`Exact`](crate::ops::Exact)), without NaN ([`IgnoreNan`](crate::ops::IgnoreNan)) and of mapped elements
/// ([`Mapped`](crate::ops::Mapped)) are operators like others. Answers have the bits that the elements have in C order, whatever the strides.
///
/// Cost: an array that fills its memory ([`dense`]) is read where it is, by all threads. Of any other a fold copies a megabyte at a time, a row
/// operation all.
pub trait ReduceExt<T: Element, D: Dimension> {
    /// Folds all elements to one answer, numbered in C order: as [`cpu::reduce`].
    ///
    /// # Errors
    ///
    /// As [`cpu::reduce`].
    fn reduce<R: Reduction<T>>(&self, op: R) -> Result<R::Answer, Error>;

    /// Folds along one axis, to an answer for each index of the others: as [`cpu::reduce_axes`].
    ///
    /// # Errors
    ///
    /// As [`reduce_axes`](Self::reduce_axes).
    fn reduce_axis<R: Reduction<T>>(&self, axis: Axis, op: R) -> Result<Array<R::Answer, D::Smaller>, Error>
    where
        D: RemoveAxis;

    /// Folds along several axes, which the output has or not, as they say: as [`cpu::reduce_axes`].
    ///
    /// # Errors
    ///
    /// [`Error::NoAxis`], [`Error::AxisTwice`]; [`Error::EmptyExtent`] where a folded axis is 0, there are answers, and the operator has
    /// none over nothing; [`Error::Parameter`]; [`Error::LengthOverflow`] if there is no memory for the answers.
    fn reduce_axes<R: Reduction<T>>(&self, axes: &Axes, op: R) -> Result<ArrayD<R::Answer>, Error>;

    /// Folds the elements that a mask selects, to one answer: as [`Fold::masked`](crate::fold::Fold::masked). The mask, of truths or bytes, is
    /// broadcast to the array's shape.
    ///
    /// # Errors
    ///
    /// [`Error::MaskMismatch`] of a mask that does not broadcast; otherwise as [`reduce_axes`](Self::reduce_axes).
    fn reduce_where<R, M, E>(&self, mask: &ArrayRef<M, E>, op: R) -> Result<AnswerWhere<R, T>, Error>
    where
        R: TakesMask,
        Where<R>: Reduction<Masked<T>>,
        M: MaskElement,
        E: Dimension;

    /// The same along one axis.
    ///
    /// # Errors
    ///
    /// As [`reduce_where`](Self::reduce_where).
    fn reduce_axis_where<R, M, E>(
        &self,
        axis: Axis,
        mask: &ArrayRef<M, E>,
        op: R,
    ) -> Result<Array<AnswerWhere<R, T>, D::Smaller>, Error>
    where
        D: RemoveAxis,
        R: TakesMask,
        Where<R>: Reduction<Masked<T>>,
        M: MaskElement,
        E: Dimension;

    /// The same along several axes.
    ///
    /// # Errors
    ///
    /// As [`reduce_where`](Self::reduce_where).
    fn reduce_axes_where<R, M, E>(
        &self,
        axes: &Axes,
        mask: &ArrayRef<M, E>,
        op: R,
    ) -> Result<ArrayD<AnswerWhere<R, T>>, Error>
    where
        R: TakesMask,
        Where<R>: Reduction<Masked<T>>,
        M: MaskElement,
        E: Dimension;

    /// A row operation along an axis, with all that it takes: weights, masks, residuals. Its own axis is not asked.
    ///
    /// # Errors
    ///
    /// As [`Row::on_cpu`].
    ///
    /// ```
    /// use ndarray::{Axis, array};
    /// use warpfold::{ndarray::ReduceExt, row};
    ///
    /// let rows = array![[1.0_f32, 3.0], [5.0, 5.0]];
    /// let normed = rows.map_rows(Axis(1), row::layer_norm(1e-6).weight(&[2.0_f32, 2.0]))?;
    /// assert_eq!(normed.known.mean, [2.0, 5.0]);
    /// assert_eq!(normed.values.row(1), array![0.0, 0.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    fn map_rows<Op: Operation>(&self, axis: Axis, row: Row<'_, Op>) -> Result<MappedRows<T, D, Op::Known>, Error>
    where
        T: RowElement;

    /// [`row::softmax`] along an axis.
    ///
    /// # Errors
    ///
    /// As [`Row::on_cpu`].
    fn softmax(&self, axis: Axis) -> Result<Array<T, D>, Error>
    where
        T: RowElement,
    {
        Ok(self.map_rows(axis, row::softmax())?.values)
    }

    /// [`row::log_softmax`] along an axis.
    ///
    /// # Errors
    ///
    /// As [`Row::on_cpu`].
    fn log_softmax(&self, axis: Axis) -> Result<Array<T, D>, Error>
    where
        T: RowElement,
    {
        Ok(self.map_rows(axis, row::log_softmax())?.values)
    }

    /// [`row::layer_norm`] along an axis, without weights and biases; [`map_rows`](Self::map_rows) takes them.
    ///
    /// # Errors
    ///
    /// As [`Row::on_cpu`].
    fn layer_norm(&self, axis: Axis, epsilon: f32) -> Result<Array<T, D>, Error>
    where
        T: RowElement,
    {
        Ok(self.map_rows(axis, row::layer_norm(epsilon))?.values)
    }

    /// [`row::rms_norm`] along an axis, without weights; [`map_rows`](Self::map_rows) takes them.
    ///
    /// # Errors
    ///
    /// As [`Row::on_cpu`].
    fn rms_norm(&self, axis: Axis, epsilon: f32) -> Result<Array<T, D>, Error>
    where
        T: RowElement,
    {
        Ok(self.map_rows(axis, row::rms_norm(epsilon))?.values)
    }
}

impl<T: Element, D: Dimension> ReduceExt<T, D> for ArrayRef<T, D> {
    fn reduce<R: Reduction<T>>(&self, op: R) -> Result<R::Answer, Error> {
        self.reduce_axes(&Axes::all(), op).map(only)
    }

    fn reduce_axis<R: Reduction<T>>(&self, axis: Axis, op: R) -> Result<Array<R::Answer, D::Smaller>, Error>
    where
        D: RemoveAxis,
    {
        self.reduce_axes(&along(axis), op).map(smaller::<_, D>)
    }

    fn reduce_axes<R: Reduction<T>>(&self, axes: &Axes, op: R) -> Result<ArrayD<R::Answer>, Error> {
        answers(op, &All(self.view().into_dyn()), axes)
    }

    fn reduce_where<R, M, E>(&self, mask: &ArrayRef<M, E>, op: R) -> Result<AnswerWhere<R, T>, Error>
    where
        R: TakesMask,
        Where<R>: Reduction<Masked<T>>,
        M: MaskElement,
        E: Dimension,
    {
        self.reduce_axes_where(&Axes::all(), mask, op).map(only)
    }

    fn reduce_axis_where<R, M, E>(
        &self,
        axis: Axis,
        mask: &ArrayRef<M, E>,
        op: R,
    ) -> Result<Array<AnswerWhere<R, T>, D::Smaller>, Error>
    where
        D: RemoveAxis,
        R: TakesMask,
        Where<R>: Reduction<Masked<T>>,
        M: MaskElement,
        E: Dimension,
    {
        self.reduce_axes_where(&along(axis), mask, op).map(smaller::<_, D>)
    }

    fn reduce_axes_where<R, M, E>(
        &self,
        axes: &Axes,
        mask: &ArrayRef<M, E>,
        op: R,
    ) -> Result<ArrayD<AnswerWhere<R, T>>, Error>
    where
        R: TakesMask,
        Where<R>: Reduction<Masked<T>>,
        M: MaskElement,
        E: Dimension,
    {
        let shape = |shape: &[usize]| shape.iter().map(|extent| *extent as u64).collect();
        let broadcast = mask.broadcast(self.raw_dim().into_dyn());
        let mask = broadcast.ok_or_else(|| Error::MaskMismatch {
            mask: shape(mask.shape()),
            array: shape(self.shape()),
        })?;
        answers(op, &Selected(self.view().into_dyn(), mask), axes)
    }

    fn map_rows<Op: Operation>(&self, axis: Axis, row: Row<'_, Op>) -> Result<MappedRows<T, D, Op::Known>, Error>
    where
        T: RowElement,
    {
        let mut shape = self.raw_dim();
        let maps = row.operation().maps();
        let row = row.axis(axis.index() as i64);
        let mapped = match dense(self.view()) {
            Some((values, layout)) => row.on_cpu(View::new(values, &layout)?)?,
            None => {
                let copy = self.as_standard_layout();
                let values = copy.as_slice().expect("standard layout is C order");
                row.on_cpu(View::new(values, &shape_of(shape.slice())?)?)?
            }
        };
        if !maps {
            shape[axis.index()] = 0;
        }
        Ok(MappedRows {
            values: Array::from_shape_vec(shape, mapped.values).expect("an answer for each element"),
            sums: mapped.sums,
            known: mapped.known,
        })
    }
}

/// That axis, whatever the number of dimensions.
fn along(axis: Axis) -> Axes {
    Axes::of(&[axis.index() as i64])
}

/// The answer of an array without axes.
fn only<A>(answers: ArrayD<A>) -> A {
    let mut answers = answers.into_iter();
    answers.next().expect("nothing is kept, so there is one answer")
}

/// An array of one dimension fewer.
fn smaller<A, D: RemoveAxis>(answers: ArrayD<A>) -> Array<A, D::Smaller> {
    answers.into_dimensionality().expect("one axis is folded")
}

/// What is folded by an operator: an array, or one and its mask, of the same shape.
trait Foldable<R>: Sized {
    type Item: Item;
    type Op: Reduction<Self::Item>;

    fn op(op: R) -> Self::Op;
    fn shape(&self) -> &[usize];
    /// The halves before and from `at` on.
    fn split_at(&self, axis: Axis, at: usize) -> (Self, Self);
    /// The answers along axes, if all of it fills its memory.
    fn folded(&self, op: R, axes: &Axes) -> Option<Answers<Self, R>>;
    /// The answers along axes of a copy.
    fn copied(&self, op: R, axes: &Axes) -> Answers<Self, R>;
    /// Pushes the states of all elements, so many a piece.
    fn push(&self, op: R, piece: usize, pieces: &mut Pieces<Self::Op, Self::Item>) -> Result<(), Error>;
}

type Answer<O, R> = <<O as Foldable<R>>::Op as Reduction<<O as Foldable<R>>::Item>>::Answer;
type Answers<O, R> = Result<Folded<Answer<O, R>>, Error>;

/// All elements.
struct All<'a, T>(ArrayViewD<'a, T>);

impl<T: Element, R: Reduction<T>> Foldable<R> for All<'_, T> {
    type Item = T;
    type Op = R;

    fn op(op: R) -> R {
        op
    }
    fn shape(&self) -> &[usize] {
        self.0.shape()
    }
    fn split_at(&self, axis: Axis, at: usize) -> (Self, Self) {
        let (low, high) = self.0.clone().split_at(axis, at);
        (Self(low), Self(high))
    }
    fn folded(&self, op: R, axes: &Axes) -> Option<Answers<Self, R>> {
        let (values, layout) = dense(self.0.view())?;
        Some(cpu::reduce_axes(op, values, &layout, axes))
    }
    fn copied(&self, op: R, axes: &Axes) -> Answers<Self, R> {
        cpu::reduce_axes(op, &in_order(&self.0), &shape_of(self.0.shape())?, axes)
    }
    fn push(&self, op: R, piece: usize, pieces: &mut Pieces<R, T>) -> Result<(), Error> {
        let mut elements = self.0.iter().copied();
        loop {
            let some: Vec<T> = elements.by_ref().take(piece).collect();
            if some.is_empty() {
                return Ok(());
            }
            pieces.push(cpu::fold(op, &some), some.len() as u64)?;
        }
    }
}

/// Those that a mask selects.
struct Selected<'a, T, M>(ArrayViewD<'a, T>, ArrayViewD<'a, M>);

impl<T, M, R> Foldable<R> for Selected<'_, T, M>
where
    T: Element,
    M: MaskElement,
    R: TakesMask,
    Where<R>: Reduction<Masked<T>>,
{
    type Item = Masked<T>;
    type Op = Where<R>;

    fn op(op: R) -> Where<R> {
        Where(op)
    }
    fn shape(&self) -> &[usize] {
        self.0.shape()
    }
    fn split_at(&self, axis: Axis, at: usize) -> (Self, Self) {
        let (low, high) = self.0.clone().split_at(axis, at);
        let (low_mask, high_mask) = self.1.clone().split_at(axis, at);
        (Self(low, low_mask), Self(high, high_mask))
    }
    fn folded(&self, op: R, axes: &Axes) -> Option<Answers<Self, R>> {
        let ((values, layout), (mask, mask_layout)) = (dense(self.0.view())?, dense(self.1.view())?);
        let views = View::new(values, &layout).and_then(|values| Ok((values, View::new(mask, &mask_layout)?)));
        Some(views.and_then(|(values, mask)| fold(op).along(axes.clone()).masked(mask).on_cpu(values)))
    }
    fn copied(&self, op: R, axes: &Axes) -> Answers<Self, R> {
        let (values, mask, layout) = (in_order(&self.0), in_order(&self.1), shape_of(self.0.shape())?);
        let mask = View::new(&mask, &layout)?;
        fold(op)
            .along(axes.clone())
            .masked(mask)
            .on_cpu(View::new(&values, &layout)?)
    }
    fn push(&self, op: R, piece: usize, pieces: &mut Pieces<Where<R>, Masked<T>>) -> Result<(), Error> {
        let (mut elements, mut truths) = (self.0.iter().copied(), self.1.iter().copied());
        loop {
            let some: Vec<T> = elements.by_ref().take(piece).collect();
            let mask: Vec<M> = truths.by_ref().take(piece).collect();
            if some.is_empty() {
                return Ok(());
            }
            pieces.push(fold(op).masked(&mask).state_on_cpu(&some)?, some.len() as u64)?;
        }
    }
}

/// The elements of an array, in C order.
fn in_order<T: Element>(array: &ArrayViewD<'_, T>) -> Vec<T> {
    array.iter().copied().collect()
}

/// The answers along axes.
fn answers<R: Operator, O: Foldable<R>>(op: R, operand: &O, axes: &Axes) -> Result<ArrayD<Answer<O, R>>, Error> {
    let (shape, answers) = match operand.folded(op, axes) {
        Some(folded) => {
            let folded = folded?;
            (folded.shape, folded.answers)
        }
        None => {
            let extents = Extents::new(&shape_of(operand.shape())?, axes)?;
            OpFacts::of::<O::Item, O::Op>(O::op(op)).check_extent(extents.len)?;
            let rank = operand.shape().len();
            let folded = axes.folded(rank)?;
            let kept: Vec<Axis> = (0..rank).filter(|axis| !folded[*axis]).map(Axis).collect();
            let mut answers = Vec::new();
            scattered(op, operand, (axes, &kept), &mut answers)?;
            (extents.shape, answers)
        }
    };
    let shape: Vec<usize> = shape.into_iter().map(|extent| extent as usize).collect();
    Ok(ArrayD::from_shape_vec(shape, answers).expect("an answer for each index of the axes that are kept"))
}

/// The answers of what has elements, in C order of the axes that are kept: block by block of the outermost of them.
fn scattered<R: Operator, O: Foldable<R>>(
    op: R,
    operand: &O,
    (axes, kept): (&Axes, &[Axis]),
    answers: &mut Vec<Answer<O, R>>,
) -> Result<(), Error> {
    let shape = operand.shape();
    if shape.iter().product::<usize>() <= BLOCK / O::Item::BYTES {
        answers.extend(operand.copied(op, axes)?.answers);
    } else if let Some(axis) = kept.iter().find(|axis| shape[axis.index()] > 1) {
        let (low, high) = operand.split_at(*axis, shape[axis.index()] / 2);
        scattered(op, &low, (axes, kept), answers)?;
        scattered(op, &high, (axes, kept), answers)?;
    } else {
        // One extent.
        let leaf = leaf_elements::<O::Item>();
        let piece = BLOCK / (leaf * O::Item::BYTES) * leaf;
        let mut pieces = Pieces::new(O::op(op), piece as u64)?;
        operand.push(op, piece, &mut pieces)?;
        answers.push(pieces.finish()?.0);
    }
    Ok(())
}

/// As if elements were one after the other.
fn shape_of(shape: &[usize]) -> Result<Layout, Error> {
    let shape: Vec<u64> = shape.iter().map(|extent| *extent as u64).collect();
    Layout::c_order(&shape)
}
