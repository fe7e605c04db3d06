//! Extents of at most a leaf that lie in runs: rows, several to a warp where they are short.

use super::Arguments;
use crate::{
    element::Type,
    monoids::{Bounded, Monoid, Words as _},
    simt::Simt,
    stages::{
        emit::{Output, finish},
        load::{
            contiguous,
            extents::{Extents, Input},
            fragment::Fragment,
            rows::{RowVectors, Tiled},
            source::Source,
        },
        reduce::{
            in_order,
            packed::{Packed, is_maximum},
            rows::{self, OfSlots, Transposed},
            two_passes::{TwoPasses, takes_two_passes},
            warp,
        },
        strategy::Strategy,
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

/// Folds each extent, of at most a leaf, to its answer; a warp has as many as [answers](Arguments::answers).
///
/// ```text
/// whole vectors:  thread: 8 vectors, 4 KiB of neighbouring rows a warp ─ warp: a transposing butterfly ─ finish, all lanes at once
/// any others:     thread: a vector of each of 4 extents, or 8 of one ─ warp: as many shuffles as the lanes of an extent need ─ finish
/// ```
///
/// All threads of the grid call this alike, in as many warps as the extents need.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce_rows<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, arguments: Arguments<T>) {
    let Arguments {
        extents,
        answers: rows,
        output,
        ..
    } = arguments;
    let warp = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
    let first = warp * u64::from(rows);
    if first >= extents.count() {
        return;
    }
    if const { Strategy::of::<T, M>().folds_rows_at_once() }
        && let Some(tiled) = Tiled::of(extents)
        && tiled.tiling().rows() == rows
        // Relative to the largest, four vectors are summed at once.
        && (const { !M::ALGEBRA.sums_relative } || tiled.tiling().depth < 3)
        && reduce_at_once(simt, op, extents, tiled, first, output)
    {
        return;
    }
    let (mut number, mut left) = (first, simt.opaque(rows));
    while left > 0 && number < extents.count() {
        let extents = extents.in_turn(simt, left);
        if M::ALGEBRA.commutes {
            reduce_some(simt, op, extents, number, output);
        } else {
            reduce_in_order(simt, op, extents, number, output);
        }
        let done = Width::of(T::ELEMENT, extents.len()).extents();
        number += u64::from(done);
        left = simt.opaque(u32::saturating_sub(left, done));
    }
}

/// Folds a warp's rows, from number `first` on, that are [whole vectors](Tiled); unless elements of one are out of [bounds](crate::tree::RelativeSum::is_bounded), or
/// an index is sought and one is a NaN.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn reduce_at_once<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    extents: Extents<T>,
    tiled: Tiled<T>,
    first: u64,
    output: Output,
) -> bool {
    let tiling = tiled.tiling();
    let held = Transposed::of(tiling.slots(), tiling.lanes);
    let Some(mut states) = fold_at_once(simt, op, tiled.load(simt, first, op.filler()), held) else {
        return false;
    };
    let mut turn = simt.opaque(0);
    while turn < held.count() {
        let before = held.slot(simt, turn) * tiling.in_slot() + (simt.lane() >> tiling.lanes);
        let number = first + u64::from(before);
        if held.finishes(tiling.lane(simt)) && number < extents.count() {
            let total = if const { is_maximum::<S, T, M>() } {
                Packed(op).state(states[0].word(0))
            } else if const { takes_two_passes::<S, T, M>() } {
                TwoPasses(op).found(u64::from_words(|i| states[0].word(i)))
            } else {
                states[0]
            };
            finish(simt, op, extents.len(), total, output, number);
        }
        let [done, b, c, d, e, f, g, h] = states;
        states = [b, c, d, e, f, g, h, done];
        turn = simt.opaque(turn + 1);
    }
    true
}

/// A state of each row that this lane finishes, in whichever way the operator folds rows at once.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_at_once<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    read: RowVectors,
    held: Transposed,
) -> Option<OfSlots<M::State>> {
    let lanes = read.tiling.lanes;
    if const { is_maximum::<S, T, M>() } {
        return Some(rows::reduce_words(simt, op, read, held));
    }
    if const { takes_two_passes::<S, T, M>() } {
        let (states, has_nan) = rows::two_passes(simt, op, read, held);
        return (!simt.any(has_nan)).then_some(states);
    }
    if const { M::ALGEBRA.sums_relative } {
        let (states, is_bounded) = rows::fold_relative(simt, op, read);
        if simt.any(!is_bounded) {
            return None;
        }
        return Some(rows::transpose(simt, Bounded(op), states, held, lanes));
    }
    Some(rows::transpose(simt, op, rows::fold(simt, op, read), held, lanes))
}

/// Folds as many extents as a [width](Width::extents) has, from number `first` on, which lie anyhow.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn reduce_some<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, extents: Extents<T>, first: u64, output: Output) {
    let (lanes, slots) = match Width::of(T::ELEMENT, extents.len()) {
        Width::Lanes(lanes) => (lanes, SLOTS),
        Width::Warp => (LANES, 1),
    };
    let share = WarpShare { extents, first, lanes };
    let runs = share.runs(simt, slots);
    let mut vectors = [Fragment::<T, 1>::unread(op); SLOTS as usize];
    let mut long = op.identity();
    if slots == 1 {
        let rows = (extents.len() as u32).div_ceil(row_elements::<T>() as u32);
        long = contiguous::load_extent(simt, op, runs[SLOTS as usize - 1]).fold_rows(simt, op, rows);
    } else {
        vectors = contiguous::load_vector_of_each(simt, op, runs, simt.lane() % lanes);
    }
    let mut slot = simt.opaque(0);
    while slot < slots {
        let [vector, b, c, d] = vectors;
        vectors = [b, c, d, vector];
        let state = if slots == 1 { long } else { vector.fold(simt, op) };
        let total = warp::reduce_first(simt, op, state, lanes);
        let number = share.number(simt, slot);
        if simt.lane().is_multiple_of(lanes) && number < extents.count() {
            finish(simt, op, extents.len(), total, output, number);
        }
        slot = simt.opaque(slot + 1);
    }
}

/// A warp's extents, from number `first` on: of each `slot` as many as lanes that share one leave room for.
#[derive(Clone, Copy)]
struct WarpShare<T: Source> {
    extents: Extents<T>,
    first: u64,
    lanes: u32,
}

impl<T: Source> WarpShare<T> {
    /// The number of this lane's extent in a slot.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn number<S: Simt>(self, simt: S, slot: u32) -> u64 {
        self.first + u64::from(slot * (LANES / self.lanes) + simt.lane() / self.lanes)
    }

    /// The extents of this lane, one for each slot; of a single slot, the last has it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn runs<S: Simt>(self, simt: S, slots: u32) -> [Input<T>; SLOTS as usize] {
        let extents = self.extents;
        let mut runs = [extents.nothing(); SLOTS as usize];
        if !extents.layout().is_null() {
            // A loop, so that the code that looks dimensions up stands here once.
            let mut slot = simt.opaque(0);
            while slot < slots {
                let [_, b, c, d] = runs;
                runs = [b, c, d, extents.run_or_nothing(simt, self.number(simt, slot), false)];
                slot = simt.opaque(slot + 1);
            }
            return runs;
        }
        if slots == 1 {
            runs[SLOTS as usize - 1] = extents.run_or_nothing(simt, self.first, true);
            return runs;
        }
        let of = |slot| extents.run_or_nothing(simt, self.number(simt, slot), true);
        [of(0), of(1), of(2), of(3)]
    }
}

/// Folds the extents of this warp, from number `first` on, one after the other.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn reduce_in_order<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, extents: Extents<T>, first: u64, output: Output) {
    let count = Width::of(T::ELEMENT, extents.len()).extents();
    let mut number = first;
    while number < extents.count().min(first + u64::from(count)) {
        let part = in_order::fold_leaf(simt, op, extents.run(simt, number), 0);
        let total = warp::reduce_first(simt, op, part, simt.opaque(LANES));
        if simt.lane() == 0 {
            finish(simt, op, extents.len(), total, output, number);
        }
        number += 1;
    }
}
