//! Extents of at most a leaf that lie in runs: rows, several to a warp where they are short.

use super::{
    Instructions,
    output::{Output, finish},
};
use crate::{
    element::Type,
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{
        extents::{Extents, Input},
        in_order, load,
        source::Source,
        thread, warp,
    },
    tree::{LANES, VECTOR_BYTES, row_elements},
};

/// Rows of a leaf's width that a warp has in flight, where the extents have no more than one.
pub const SLOTS: u32 = 4;

/// How a launch of [`reduce_rows`] divides the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// So many lanes fold an extent, a power of two: a vector each.
    Lanes(u32),
    /// A warp folds an extent of more than a row.
    Warp,
}

impl Width {
    /// For extents of `len` elements of a type.
    #[must_use]
    pub const fn of(element: Type, len: u64) -> Self {
        let vectors = len.div_ceil((VECTOR_BYTES / element.bytes()) as u64);
        if vectors > LANES as u64 {
            Self::Warp
        } else if vectors <= 1 {
            Self::Lanes(1)
        } else {
            Self::Lanes(u32::next_power_of_two(vectors as u32))
        }
    }

    /// Extents that a warp folds.
    #[must_use]
    pub const fn extents(self) -> u32 {
        match self {
            Self::Lanes(lanes) => SLOTS * (LANES / lanes),
            Self::Warp => 1,
        }
    }
}

/// How often the instructions that matter stand in the code of [`reduce_rows`].
#[must_use]
pub const fn instructions<T: Source, M: Monoid<T>>() -> Instructions {
    let words = <M::State as Words>::COUNT;
    if !M::COMMUTES {
        return Instructions {
            vector_loads: in_order::loads::<T>().vectors,
            scalar_loads: in_order::loads::<T>().words,
            shuffles: words, // a loop
            barriers: 0,
            tickets: 0,
        };
    }
    // Four extents of a row, or one of two, four or eight.
    let (wide, turns) = (4 + 2 + 4 + 8, 4 + 3);
    let wide = load::wide_loads::<T>(wide);
    let ragged = load::ragged_loads::<T>(4 + 2 + 4, 1);
    Instructions {
        vector_loads: wide.vectors + ragged.vectors,
        scalar_loads: wide.words + ragged.words + turns * ragged.bytes,
        shuffles: words, // a loop
        barriers: 0,
        tickets: 0,
    }
}

/// Folds each extent, of at most a leaf, to its answer.
///
/// ```text
/// thread: 1, 2, 4 or 8 vectors ─ warp: as many shuffles as the lanes of an extent need ─ finish
/// ```
///
/// # Safety
///
/// `extents` are valid and unwritten for the whole launch; `output`'s pointers are null or valid. All threads of the grid call
/// this alike, in as many warps as the extents need.
#[inline(always)]
pub unsafe fn reduce_rows<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, extents: Extents<T>, output: Output) {
    let warp = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
    let width = Width::of(T::ELEMENT, extents.len);
    let first = warp * u64::from(width.extents());
    if !M::COMMUTES {
        // SAFETY: passed on to the caller.
        return unsafe { reduce_in_order(simt, op, extents, first, output) };
    }
    let none = op.identity();
    let (lanes, slots, states) = match width {
        Width::Lanes(lanes) => {
            let number = |slot: u32| first + u64::from(slot * (LANES / lanes) + simt.lane() / lanes);
            let vector = simt.lane() % lanes;
            // All are read before any is folded.
            // SAFETY: passed on to the caller.
            let load = |slot| unsafe {
                let number = number(slot);
                let len = if number < extents.count { extents.len } else { 0 };
                thread::load_row(
                    simt,
                    Input {
                        len,
                        ..extents.run(simt, number)
                    },
                    vector,
                )
            };
            let (a, b, c, d) = (load(0), load(1), load(2), load(3));
            let states = if thread::has_whole_vectors::<T, M>(extents.len) {
                (
                    a.fold_whole(simt, op),
                    b.fold_whole(simt, op),
                    c.fold_whole(simt, op),
                    d.fold_whole(simt, op),
                )
            } else {
                (a.fold(simt, op), b.fold(simt, op), c.fold(simt, op), d.fold(simt, op))
            };
            (lanes, SLOTS, states)
        }
        Width::Warp => {
            if first >= extents.count {
                return;
            }
            // SAFETY: passed on to the caller.
            let input = unsafe { extents.run(simt, first) };
            let rows = extents.len.div_ceil(row_elements::<T>() as u64);
            // SAFETY: passed on to the caller; the rows hold the extent.
            let state = unsafe {
                match rows {
                    0..=2 => thread::fold_rows::<S, T, M, 2>(simt, op, input),
                    3..=4 => thread::fold_rows::<S, T, M, 4>(simt, op, input),
                    _ => thread::fold_rows::<S, T, M, 8>(simt, op, input),
                }
            };
            (LANES, 1, (state, none, none, none))
        }
    };
    // A loop, so that what is the same for each slot stands here once.
    let mut slot = 0;
    let (mut state, mut next, mut third, mut last) = states;
    while slot < slots {
        let total = warp::reduce_first(simt, op, state, lanes);
        let number = first + u64::from(slot * (LANES / lanes) + simt.lane() / lanes);
        if simt.lane().is_multiple_of(lanes) && number < extents.count {
            // SAFETY: passed on to the caller; each extent has one such lane.
            unsafe { finish(simt, op, extents.len, total, output, number) };
        }
        (state, next, third, last) = (next, third, last, none);
        slot += 1;
    }
}

/// Folds the extents of this warp, from number `first` on, one after the other.
///
/// # Safety
///
/// As [`reduce_rows`].
#[inline(always)]
unsafe fn reduce_in_order<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    extents: Extents<T>,
    first: u64,
    output: Output,
) {
    let count = Width::of(T::ELEMENT, extents.len).extents();
    let mut number = first;
    while number < extents.count.min(first + u64::from(count)) {
        // SAFETY: passed on to the caller.
        let part = unsafe { in_order::fold_leaf(simt, op, extents.run(simt, number), 0) };
        let total = warp::reduce_first(simt, op, part, simt.anew(LANES));
        if simt.lane() == 0 {
            // SAFETY: passed on to the caller; each extent has one such lane.
            unsafe { finish(simt, op, extents.len, total, output, number) };
        }
        number += 1;
    }
}
