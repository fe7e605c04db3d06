//! Folds of two arrays, element by element.

use pulp::Arch;
use warpfold_kernels::element::{Element, Two};

use super::{
    axes, fold_tree, segments,
    strided::{OneArray, TwoArrays},
    values::Pairs,
};
use crate::{
    Error,
    layout::{Axes, Extents, Folded, Layout, Segments},
    ops::Reduction,
    pieces,
};

/// Folds two arrays, element by element, to one answer, in the canonical tree of one of them: a [`Dot`](crate::ops::Dot) product, a
/// [`Cosine`](crate::ops::Cosine).
///
/// Cost: every byte of both is read once; all threads of the pool.
///
/// # Errors
///
/// [`Error::PairMismatch`] where one is longer.
///
/// ```
/// use warpfold::{cpu, ops::{Cosine, Dot}};
///
/// let (a, b) = ([1.0_f32, 2.0, 2.0], [2.0_f32, 4.0, 4.0]);
/// assert_eq!(cpu::reduce_pair(Dot, &a, &b)?, 18.0);
/// assert_eq!(cpu::reduce_pair(Cosine, &a, &b)?, 1.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn reduce_pair<T: Element, R: Reduction<Two<T>>>(op: R, first: &[T], second: &[T]) -> Result<R::Answer, Error> {
    let state = fold_pair(op, first, second)?;
    pieces::finish::<R, Two<T>>(op, first.len() as u64, state)
}

/// The same to a state, to go on with: see [`Pieces`](crate::pieces::Pieces).
///
/// # Errors
///
/// As [`reduce_pair`].
pub fn fold_pair<T: Element, R: Reduction<Two<T>>>(op: R, first: &[T], second: &[T]) -> Result<R::State, Error> {
    Ok(fold_tree(Arch::new(), op.monoid(), Pairs::new(first, second)?, 0))
}

/// Folds two arrays of one shape along axes, element by element: one answer for each index of the axes that are kept, with the bits
/// that [`reduce_pair`] gives for its extents alone.
///
/// Each array has strides of its own, so one of them may be repeated along any axis: a query against many rows. Cost: as
/// [`reduce_axes`](super::reduce_axes), all extents gathered a leaf at a time.
///
/// # Errors
///
/// [`Error::PairMismatch`] where the shapes differ; otherwise as [`reduce_axes`](super::reduce_axes), for each array.
///
/// ```
/// use warpfold::{cpu, layout::{Axes, Layout}, ops::Dot};
///
/// let (rows, query) = ([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0_f32, 0.0, -1.0]);
/// let matrix = Layout::c_order(&[2, 3])?;
/// let repeated = Layout::c_order(&[3])?.broadcast(&[2, 3])?;
/// let dots = cpu::reduce_pair_axes(Dot, (&rows, &matrix), (&query, &repeated), &Axes::of(&[-1]))?;
/// assert_eq!(dots.answers, [-2.0, -2.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn reduce_pair_axes<T: Element, R: Reduction<Two<T>>>(
    op: R,
    first: (&[T], &Layout),
    second: (&[T], &Layout),
    axes: &Axes,
) -> Result<Folded<R::Answer>, Error> {
    let extents = Extents::of_pair(first.1, second.1, axes)?;
    for (values, layout) in [first, second] {
        layout.check(values.len() as u64)?;
    }
    let array = |at: usize, values| OneArray {
        values,
        extents: &extents[at],
    };
    axes::reduce(op, TwoArrays(array(0, first.0), array(1, second.0)))
}

/// Folds two arrays in the same segments, element by element: what [`reduce_pair`] gives for each segment's elements alone.
///
/// # Errors
///
/// [`Error::PairMismatch`] where one array is longer; otherwise as [`reduce_segments`](super::reduce_segments).
///
/// ```
/// use warpfold::{cpu, layout::Segments, ops::Dot};
///
/// let (a, b) = ([1.0_f32, 2.0, 3.0], [4.0_f32, 5.0, 6.0]);
/// let segments = Segments::by_lens([2, 0, 1])?;
/// assert_eq!(cpu::reduce_pair_segments(Dot, &a, &b, &segments)?, [14.0, 0.0, 18.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn reduce_pair_segments<T: Element, R: Reduction<Two<T>>>(
    op: R,
    first: &[T],
    second: &[T],
    segments: &Segments,
) -> Result<Vec<R::Answer>, Error> {
    segments::reduce(op, Pairs::new(first, second)?, segments)
}
