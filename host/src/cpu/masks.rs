//! Folds of what a mask selects.

use pulp::Arch;
use warpfold_kernels::element::{Element, Masked};

use super::{
    axes, fold_tree, segments,
    strided::{MaskedArray, OneArray},
    values::MaskedValues,
};
use crate::{
    Error,
    layout::{Axes, Extents, Folded, Layout, Segments},
    ops::{AnswerWhere, EmptyInput as _, MaskElement, Reduction, TakesMask, Where},
    pieces,
};

/// Folds the elements of an array that a mask selects, as NumPy's `where=` does: those where the mask is true, or not 0.
///
/// One that is not selected never shows, be it a NaN. All others keep their places in the canonical tree, so where all are
/// selected the bits are [`reduce`](super::reduce)'s, and where some are not, those of the tree with holes, as of
/// [`IgnoreNan`](crate::ops::IgnoreNan). Indices are those in the whole array; the mean and the variance divide by the number of
/// elements that are selected.
///
/// Where nothing is selected a sum is −0.0 (which equals 0) or 0, a product 1, an index [`NO_INDEX`](crate::ops::NO_INDEX); a mean, a
/// variance and the largest and the smallest of floats are NaN, and the largest and the smallest of integers the lowest and the
/// highest number of their type. A count is 0, and other operators answer as over nothing. An array without elements has what the
/// operator has over nothing.
///
/// Cost: every byte of both is read once; all threads of the pool.
///
/// # Errors
///
/// [`Error::MaskMismatch`] where the mask is longer or shorter than the array; otherwise as [`reduce`](super::reduce).
///
/// ```
/// use warpfold::{cpu, ops::{ArgMax, Mean, Sum}};
///
/// let values = [1.0_f32, f32::NAN, 5.0, 9.0];
/// let mask = [true, false, true, false];
/// assert_eq!(cpu::reduce_where(Sum, &values, &mask)?, 6.0);
/// assert_eq!(cpu::reduce_where(Mean, &values, &mask)?, 3.0);
/// assert_eq!(cpu::reduce_where(ArgMax, &values, &[1_u8, 0, 1, 0])?, 2);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn reduce_where<T: Element, Op: TakesMask, B: MaskElement>(
    op: Op,
    values: &[T],
    mask: &[B],
) -> Result<AnswerWhere<Op, T>, Error>
where
    Where<Op>: Reduction<Masked<T>>,
{
    Where(op).check()?;
    let state = fold_where(op, values, mask)?;
    pieces::finish::<Where<Op>, Masked<T>>(Where(op), values.len() as u64, state)
}

/// The same to a state, to go on with: see [`Pieces`](crate::pieces::Pieces).
///
/// # Errors
///
/// [`Error::MaskMismatch`].
pub fn fold_where<T: Element, Op: TakesMask, B: MaskElement>(
    op: Op,
    values: &[T],
    mask: &[B],
) -> Result<<Where<Op> as Reduction<Masked<T>>>::State, Error>
where
    Where<Op>: Reduction<Masked<T>>,
{
    let values = MaskedValues::new(values, mask)?;
    Ok(fold_tree(Arch::new(), Where(op).monoid(), values, 0))
}

/// Folds what a mask selects of an array along axes: one answer for each index of the axes that are kept, with the bits that
/// [`reduce_where`] gives for its extent alone.
///
/// The mask is broadcast to the array's shape, as NumPy does: a row of it may hold for every row. Each has strides of its own.
/// Cost: as [`reduce_axes`](super::reduce_axes), all extents gathered a leaf at a time.
///
/// # Errors
///
/// [`Error::MaskMismatch`] where the mask's shape does not broadcast to the array's; otherwise as
/// [`reduce_axes`](super::reduce_axes), for each.
///
/// ```
/// use warpfold::{cpu, layout::{Axes, Layout}, ops::Sum};
///
/// let (values, mask) = ([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [true, false, true]);
/// let (matrix, row) = (Layout::c_order(&[2, 3])?, Layout::c_order(&[3])?);
/// let sums = cpu::reduce_where_axes(Sum, (&values, &matrix), (&mask, &row), &Axes::of(&[-1]))?;
/// assert_eq!(sums.answers, [4.0, 10.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn reduce_where_axes<T: Element, Op: TakesMask, B: MaskElement>(
    op: Op,
    array: (&[T], &Layout),
    mask: (&[B], &Layout),
    axes: &Axes,
) -> Result<Folded<AnswerWhere<Op, T>>, Error>
where
    Where<Op>: Reduction<Masked<T>>,
{
    let [extents, mask_extents] = &Extents::of_masked(array.1, mask.1, axes)?;
    array.1.check(array.0.len() as u64)?;
    mask.1.check(mask.0.len() as u64)?;
    let array = OneArray {
        values: array.0,
        extents,
    };
    let mask = OneArray {
        values: mask.0,
        extents: mask_extents,
    };
    axes::reduce(Where(op), MaskedArray(array, mask))
}

/// Folds what a mask selects in segments: what [`reduce_where`] gives for each segment alone. A segment of which nothing is selected
/// is not taken for one without elements.
///
/// # Errors
///
/// [`Error::MaskMismatch`] where the mask is longer or shorter than the array; otherwise as
/// [`reduce_segments`](super::reduce_segments).
///
/// ```
/// use warpfold::{cpu, layout::Segments, ops::Max};
///
/// let values = [1_i32, 7, 3, 4];
/// let segments = Segments::by_lens([2, 2])?;
/// assert_eq!(cpu::reduce_where_segments(Max, &values, &[true, false, true, true], &segments)?, [1, 4]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn reduce_where_segments<T: Element, Op: TakesMask, B: MaskElement>(
    op: Op,
    values: &[T],
    mask: &[B],
    segments: &Segments,
) -> Result<Vec<AnswerWhere<Op, T>>, Error>
where
    Where<Op>: Reduction<Masked<T>>,
{
    segments::reduce(Where(op), MaskedValues::new(values, mask)?, segments)
}
