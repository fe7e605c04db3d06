//! Folds along axes.

use warpfold_kernels::element::Element;

use super::{
    TASK,
    erased::{AnyFold, Fold},
    filled, fold_tree, pool, strided,
};
use crate::{
    Error,
    layout::{Axes, Extents, Folded, Layout},
    operand::source::One,
    ops::{
        Reduction,
        untyped::{Answers, Lens},
    },
};

/// Folds an array along axes: one answer for each index of the axes that are kept.
///
/// The elements lie in `values` as `layout` says. The answers come in C order of the axes that are kept, and each is
/// what [`reduce`](super::reduce) gives, to the bit, for the elements of its extent alone: neither the shape around it nor
/// the strides change it. Elements of an extent are numbered in C order of the folded axes, in the order those have in the
/// array; so argmax over several axes answers an index of the array that these make. A folded axis of 0 indices gives every
/// answer the operator's own over nothing; a kept one gives an output without answers.
///
/// Cost: one reading of every element, no copy of the array; all threads of the pool. Extents that are runs of memory are
/// folded in place; others are gathered a leaf at a time.
///
/// # Errors
///
/// [`Error::Parameter`]; [`Error::OutOfBounds`] if the layout leaves `values`; [`Error::NoAxis`], [`Error::AxisTwice`]; [`Error::EmptyExtent`]
/// where a folded axis is 0, there are answers, and the operator has none over nothing; [`Error::LengthOverflow`] if there
/// is no memory for the answers.
///
/// ```
/// use warpfold::{cpu, layout::{Axes, Layout}, ops::{ArgMax, Sum}};
///
/// let values = [1.0_f32, 5.0, 3.0, 4.0, 2.0, 6.0];
/// let matrix = Layout::c_order(&[2, 3])?;
/// let columns = cpu::reduce_axes(Sum, &values, &matrix, &Axes::of(&[0]))?;
/// assert_eq!((columns.shape, columns.answers), (vec![3], vec![5.0, 7.0, 9.0]));
/// let rows = cpu::reduce_axes(ArgMax, &values, &matrix, &Axes::of(&[-1]).keepdim())?;
/// assert_eq!((rows.shape, rows.answers), (vec![2, 1], vec![1, 2]));
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn reduce_axes<T: Element, R: Reduction<T>>(
    op: R,
    values: &[T],
    layout: &Layout,
    axes: &Axes,
) -> Result<Folded<R::Answer>, Error> {
    layout.check(values.len() as u64)?;
    let folded = fold_along(&Fold::new(op, One(values)), &[Extents::new(layout, axes)?])?;
    folded.unpacked()
}

/// The same of one array or of two, each with its extents.
pub(super) fn fold_along(fold: &dyn AnyFold, each: &[Extents]) -> Result<Answers, Error> {
    let (untyped, extents) = (fold.untyped(), &each[0]);
    let op = untyped.facts();
    op.check()?;
    if extents.count > 0 {
        op.check_extent(extents.len)?;
    }
    let mut bytes = filled(&untyped.over_nothing(), extents.count)?;
    if extents.len > 0 && extents.count > 0 {
        fold_extents(fold, each, 0, &mut bytes);
    }
    Ok(Answers {
        shape: extents.shape.clone(),
        bytes,
    })
}

/// The answers of extents from number `first` on, packed.
fn fold_extents(fold: &dyn AnyFold, each: &[Extents], first: u64, answers: &mut [u8]) {
    let (untyped, extents) = (fold.untyped(), &each[0]);
    let answer_bytes = untyped.over_nothing().len();
    let count = answers.len() / answer_bytes;
    let (len, leaf) = (extents.len as usize, untyped.facts().leaf_elements());
    let in_place = fold.in_place(each);
    let group = if in_place {
        (TASK / (len * fold.item_bytes())).max(1)
    } else {
        strided::group(leaf, extents.len)
    };
    let groups = count.div_ceil(group);
    if groups > 1 {
        let half = groups / 2 * group;
        let (low, high) = answers.split_at_mut(half * answer_bytes);
        pool::join(true, &mut || fold_extents(fold, each, first, low), &mut || {
            fold_extents(fold, each, first + half as u64, high)
        });
        return;
    }
    let states = if in_place {
        let mut starts = vec![0; count];
        extents.starts(first, &mut starts);
        let mut states = vec![0; count * untyped.words()];
        if extents.len <= leaf {
            fold.each(0..fold.len(), &starts, Lens::All(len), &mut states);
        } else {
            for (start, state) in starts.iter().zip(states.chunks_exact_mut(untyped.words())) {
                let start = *start as usize;
                fold_tree(fold, start..start + len, 0, state);
            }
        }
        states
    } else {
        strided::fold_tree(fold, each, (first, count), (0, extents.len))
    };
    untyped.finish_each(&states, Lens::All(len), answers);
}
