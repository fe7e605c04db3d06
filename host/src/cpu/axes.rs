//! Folds along axes.

use std::marker::PhantomData;

use pulp::Arch;
use warpfold_kernels::{
    element::{Element, Item},
    monoids::{Monoid, Words},
    tree::leaf_elements,
};

use super::{
    TASK, filled, fold_tree, join,
    run::{self, Lens},
    strided::{self, Arrays, OneArray},
};
use crate::{
    Error,
    layout::{Axes, Extents, Folded, Layout},
    ops::{EmptyInput as _, Reduction},
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
    let extents = &Extents::new(layout, axes)?;
    reduce(op, OneArray { values, extents })
}

/// The same of the items of one array or of two.
pub(super) fn reduce<T: Item, R: Reduction<T>, A: Arrays<T>>(op: R, arrays: A) -> Result<Folded<R::Answer>, Error> {
    let extents = arrays.extents();
    op.check()?;
    if extents.count > 0 {
        op.check_extent(extents.len)?;
    }
    let over_nothing = op.monoid().empty().unwrap_or_else(|| R::Answer::from_words(|_| 0));
    let mut answers = filled(over_nothing, extents.count)?;
    if extents.len > 0 {
        fold_extents(Arch::new(), op.monoid(), arrays, 0, &mut answers);
    }
    Ok(Folded {
        shape: extents.shape.clone(),
        answers,
    })
}

/// The answers of extents from number `first` on. None of them is empty.
fn fold_extents<T, M, A>(arch: Arch, op: M, arrays: A, first: u64, answers: &mut [M::Answer])
where
    T: Item,
    M: Monoid<T, State: Send, Answer: Send> + Send + Sync,
    A: Arrays<T>,
{
    let extents = arrays.extents();
    let in_place = arrays.in_place();
    let len = extents.len as usize;
    let group = match in_place {
        Some(_) => (TASK / (len * size_of::<T>())).max(1),
        None => strided::group::<T>(extents.len),
    };
    let groups = answers.len().div_ceil(group);
    if groups > 1 {
        let half = groups / 2 * group;
        let (low, high) = answers.split_at_mut(half);
        join(true, &mut || fold_extents(arch, op, arrays, first, low), &mut || {
            fold_extents(arch, op, arrays, first + half as u64, high)
        });
        return;
    }
    let starts = || {
        let mut starts = vec![0; answers.len()];
        extents.starts(first, &mut starts);
        starts
    };
    let states = match in_place {
        Some(values) if len <= leaf_elements::<T>() => {
            let mut states = vec![op.identity(); answers.len()];
            run::fold_each(arch, op, values, &starts(), Lens::All(len), &mut states);
            states
        }
        Some(values) => {
            let extent = |start: &i64| &values[*start as usize..][..len];
            starts()
                .iter()
                .map(|start| fold_tree(arch, op, extent(start), 0))
                .collect()
        }
        None => {
            let group = strided::Group {
                arch,
                op,
                arrays,
                first,
                count: answers.len(),
                items: PhantomData,
            };
            group.fold()
        }
    };
    for (answer, state) in answers.iter_mut().zip(states) {
        *answer = op.finish(state, extents.len);
    }
}
