//! Folds along axes.

use std::ops::Range;

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
    room::room,
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
    let (untyped, len) = (fold.untyped(), each[0].len);
    let answer_bytes = untyped.over_nothing().len();
    in_groups(
        fold,
        each,
        &(0..len),
        first,
        (answers, answer_bytes),
        &|states, answers| {
            untyped.finish_each(states, Lens::All(len as usize), answers);
        },
    );
}

/// The states of some elements of each extent, with their positions in it.
pub(crate) fn states(fold: &dyn AnyFold, each: &[Extents], part: &Range<u64>) -> Result<Vec<u32>, Error> {
    let words = fold.untyped().words();
    let all = each[0].count.saturating_mul(words as u64);
    let mut states = room(all)?;
    states.resize(all as usize, 0);
    if !part.is_empty() && all > 0 {
        in_groups(fold, each, part, 0, (&mut states, words), &|found, states| {
            states.copy_from_slice(found);
        });
    }
    Ok(states)
}

/// The packed items of some elements of each extent: those of all extents side by side, element after element.
pub(crate) fn packed(fold: &dyn AnyFold, each: &[Extents], part: &Range<u64>, item: usize) -> Result<Vec<u8>, Error> {
    let (count, len) = (each[0].count, (part.end - part.start) as usize);
    let all = count.saturating_mul(item as u64).saturating_mul(len as u64);
    let mut packed = room(all)?;
    packed.resize(all as usize, 0);
    if all > 0 {
        let group = (TASK / (len * item)).max(1);
        for extent in (0..count).step_by(group) {
            let some = group.min((count - extent) as usize);
            fold.pack_gathered(each, (extent, some), (part.start, len), &mut packed);
        }
    }
    Ok(packed)
}

/// Folds some elements of the extents from number `first` on, of which there are as many as `to` has so many of. What becomes of the states of
/// a group of neighbours is `then`'s.
fn in_groups<X: Send>(
    fold: &dyn AnyFold,
    each: &[Extents],
    part: &Range<u64>,
    first: u64,
    (to, of_each): (&mut [X], usize),
    then: &(dyn Fn(&[u32], &mut [X]) + Sync),
) {
    let (untyped, count) = (fold.untyped(), to.len() / of_each);
    let (len, leaf) = ((part.end - part.start) as usize, untyped.facts().leaf_elements());
    let in_place = fold.in_place(each);
    let group = if in_place {
        (TASK / (len * fold.item_bytes())).max(1)
    } else {
        strided::group(leaf, len as u64)
    };
    let groups = count.div_ceil(group);
    if groups > 1 {
        let half = groups / 2 * group;
        let (low, high) = to.split_at_mut(half * of_each);
        pool::join(
            true,
            &mut || in_groups(fold, each, part, first, (low, of_each), then),
            &mut || in_groups(fold, each, part, first + half as u64, (high, of_each), then),
        );
        return;
    }
    let states = if in_place {
        fold_in_place(fold, &each[0], part, (first, count))
    } else {
        strided::fold_tree(fold, each, (first, count), (part.start, part.end))
    };
    then(&states, to);
}

/// The states of extents that are runs of the array.
fn fold_in_place(fold: &dyn AnyFold, extents: &Extents, part: &Range<u64>, (first, count): (u64, usize)) -> Vec<u32> {
    let (untyped, len) = (fold.untyped(), (part.end - part.start) as usize);
    let mut starts = vec![0; count];
    extents.starts(first, &mut starts);
    starts.iter_mut().for_each(|start| *start += part.start as i64);
    let mut states = vec![0; count * untyped.words()];
    if len as u64 <= untyped.facts().leaf_elements() {
        fold.each(0..fold.len(), &starts, Lens::All(len), &mut states);
    } else {
        for (start, state) in starts.iter().zip(states.chunks_exact_mut(untyped.words())) {
            let start = *start as usize;
            fold_tree(fold, start..start + len, 0, state);
        }
    }
    if part.start > 0 {
        untyped.shift(&mut states, part.start);
    }
    states
}
