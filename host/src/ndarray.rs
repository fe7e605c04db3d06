//! Arrays of the crate `ndarray`, folded on the CPU where they are.
//!
//! ```
//! use ndarray::{array, s};
//! use warpfold::{layout::Axes, ndarray::{reduce, reduce_axes}, ops::{ArgMax, Sum}};
//!
//! let matrix = array![[1_i64, 5, 3], [4, 2, 6]];
//! assert_eq!(reduce(Sum, matrix.view())?, 21);
//! // Each row backwards, and of it every other element.
//! let odd = matrix.slice(s![.., ..;-2]);
//! assert_eq!(reduce_axes(ArgMax, odd, &Axes::of(&[1]))?, array![0_u64, 0].into_dyn());
//! # Ok::<(), warpfold::Error>(())
//! ```

use ::ndarray::{ArrayD, ArrayView, ArrayViewD, Axis, Dimension, Slice};
use warpfold_kernels::{element::Element, tree::leaf_elements};

use crate::{
    Error, cpu,
    layout::{Axes, Extents, Layout},
    ops::{OpFacts, Reduction},
    pieces::Pieces,
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

/// Folds an array to one answer, its elements numbered in C order: to the bit what [`cpu::reduce`] gives for them in that order.
///
/// Cost: as [`reduce_axes`].
///
/// # Errors
///
/// As [`cpu::reduce`].
pub fn reduce<T, R, D>(op: R, array: ArrayView<'_, T, D>) -> Result<R::Answer, Error>
where
    T: Element,
    R: Reduction<T>,
    D: Dimension,
{
    let answers = reduce_axes(op, array, &Axes::all())?;
    Ok(answers
        .into_iter()
        .next()
        .expect("nothing is kept, so there is one answer"))
}

/// Folds an array along axes, to an array of answers: what [`cpu::reduce_axes`] says of extents, indices and axes holds here.
///
/// Cost: an array that fills its memory ([`dense`]) is folded where it is, by all threads; of any other a megabyte at a time is
/// copied and folded.
///
/// # Errors
///
/// [`Error::NoAxis`], [`Error::AxisTwice`]; [`Error::EmptyExtent`] where a folded axis is 0, there are answers, and the operator has
/// none over nothing; [`Error::LengthOverflow`] if there is no memory for the answers.
pub fn reduce_axes<T, R, D>(op: R, array: ArrayView<'_, T, D>, axes: &Axes) -> Result<ArrayD<R::Answer>, Error>
where
    T: Element,
    R: Reduction<T>,
    D: Dimension,
{
    let array = array.into_dyn();
    let (shape, answers) = match dense(array.view()) {
        Some((values, layout)) => {
            let folded = cpu::reduce_axes(op, values, &layout, axes)?;
            (folded.shape, folded.answers)
        }
        None => {
            let extents = Extents::new(&shape_of(&array)?, axes)?;
            OpFacts::of::<T, R>(op).check_extent(extents.len)?;
            let folded = axes.folded(array.ndim())?;
            let kept: Vec<Axis> = (0..array.ndim()).filter(|axis| !folded[*axis]).map(Axis).collect();
            let mut answers = Vec::new();
            scattered(op, &array, (axes, &kept), &mut answers)?;
            (extents.shape, answers)
        }
    };
    let shape: Vec<usize> = shape.into_iter().map(|extent| extent as usize).collect();
    Ok(ArrayD::from_shape_vec(shape, answers).expect("an answer for each index of the axes that are kept"))
}

/// The answers of an array that has elements, in C order of the axes that are kept: block by block of the outermost of them.
fn scattered<T: Element, R: Reduction<T>>(
    op: R,
    array: &ArrayViewD<'_, T>,
    (axes, kept): (&Axes, &[Axis]),
    answers: &mut Vec<R::Answer>,
) -> Result<(), Error> {
    if array.len() <= BLOCK / size_of::<T>() {
        let copy = array.as_standard_layout();
        let values = copy.as_slice().expect("standard layout is C order");
        answers.extend(cpu::reduce_axes(op, values, &shape_of(array)?, axes)?.answers);
    } else if let Some(axis) = kept.iter().find(|axis| array.len_of(**axis) > 1) {
        let (low, high) = array.view().split_at(*axis, array.len_of(*axis) / 2);
        scattered(op, &low, (axes, kept), answers)?;
        scattered(op, &high, (axes, kept), answers)?;
    } else {
        // One extent.
        let piece = BLOCK / leaf_bytes::<T>() * leaf_elements::<T>();
        let mut pieces = Pieces::<R, T>::new(op, piece as u64)?;
        let mut elements = array.iter().copied();
        let mut buffer = Vec::with_capacity(piece);
        loop {
            buffer.extend(elements.by_ref().take(piece));
            if buffer.is_empty() {
                break;
            }
            pieces.push(cpu::fold(op, &buffer), buffer.len() as u64)?;
            buffer.clear();
        }
        answers.push(pieces.finish()?.0);
    }
    Ok(())
}

/// Bytes of a leaf.
const fn leaf_bytes<T: Element>() -> usize {
    leaf_elements::<T>() * size_of::<T>()
}

/// As if it were one after the other.
fn shape_of<T>(array: &ArrayViewD<'_, T>) -> Result<Layout, Error> {
    let shape: Vec<u64> = array.shape().iter().map(|extent| *extent as u64).collect();
    Layout::c_order(&shape)
}
