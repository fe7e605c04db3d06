//! Leaves that are folded, and not mapped.

use super::{
    Arguments, Plain,
    read::{Lane, Reach},
    spot::Spot,
};
use crate::{
    element::Element,
    rowwise::{RowOp, Value as _},
    simt::Simt,
    stages::{reduce::leaf, store_state},
    tree::{LANES, vector_elements},
};

/// Folds the leaves of [plain](super::RowLaunch::is_plain) launches, and writes their states. Of no such operation anything is [given](crate::rowwise::Given) of rows.
///
/// A warp has a run of neighbours, be they of one row or of several. It folds them one after the other: a multiprocessor has other warps to run while one waits.
///
/// # Safety
///
/// As [`map_leaves`](super::map_leaves); there are fewer than 2³² leaves.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn fold_leaves<S: Simt, T: Element, O: RowOp>(simt: S, op: O, arguments: Arguments<T>) {
    // SAFETY: passed on to the caller.
    unsafe {
        if O::Value::ARRAYS == 1 {
            run::<S, T, O, 4>(simt, op.plain(), arguments);
        } else {
            run::<S, T, O, 2>(simt, op.plain(), arguments);
        }
    }
}

/// [`fold_leaves`], of as many rows as a leaf has.
///
/// # Safety
///
/// As [`fold_leaves`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn run<S: Simt, T: Element, O: RowOp, const N: usize>(simt: S, op: O, arguments: Arguments<T>) {
    let leaves = u32::max(arguments.leaves, 1);
    let all = arguments.rows.count as u32 * leaves;
    let mut number = (simt.block() * simt.warps() + simt.warp()) * arguments.run;
    let end = u32::min(u32::saturating_add(number, arguments.run), all);
    let (mut row, mut of_row) = (number / leaves, number % leaves);
    while number < end {
        // SAFETY: passed on to the caller; each leaf has one lane that is the first.
        unsafe {
            let (lane, len) = read::<S, T, O, N>(simt, op, arguments, row.into(), of_row);
            let (_, [of]) = leaf::fold::<S, T, O, _, N, 1>(simt, op, lane, [len], LANES);
            if simt.lane() == 0 {
                store_state(simt, arguments.states, number.into(), of.state);
            }
        }
        of_row += 1;
        if of_row == leaves {
            (row, of_row) = (row + 1, 0);
        }
        number = simt.opaque(number + 1);
    }
}

/// A leaf of a row, and how many elements are there.
///
/// # Safety
///
/// As [`fold_leaves`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn read<S: Simt, T: Element, O: RowOp, const N: usize>(
    simt: S,
    op: O,
    arguments: Arguments<T>,
    row: u64,
    of_row: u32,
) -> (Lane<S, T, O, Plain, N>, u32) {
    let leaf = Arguments::<T>::leaf::<O>();
    let (before, place) = (u64::from(of_row) * leaf, simt.lane() * vector_elements::<T>() as u32);
    let seen = if O::MASKS {
        arguments.seen(row)
    } else {
        arguments.rows.len
    };
    let len = u64::saturating_sub(seen, before).min(leaf) as u32;
    let spot = Spot {
        present: u32::saturating_sub(len, place),
        ..arguments.wide_spot(row, before + u64::from(place))
    };
    let reach = if u64::from(len) == leaf {
        Reach::Leaf
    } else {
        Reach::Vectors
    };
    // SAFETY: passed on to the caller.
    (unsafe { Lane::read(simt, op, arguments, spot, None, reach) }, len)
}
