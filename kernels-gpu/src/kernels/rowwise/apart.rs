//! Row operations on elements that lie apart: columns, middle axes, any strides.

use super::{Arguments, Mode};
use crate::{
    monoids::Monoid,
    rowwise::{First, RowOp, Second, Valued},
    simt::Simt,
    stages::{
        load::source::{At, Source},
        load_state, narrow, store_state,
    },
    tree::{LANES, Place, ROWS, leaf_elements, pending::Pending, row_elements, vector_elements},
};

/// Folds and maps rows whose elements lie anywhere: a lane has a leaf of a row, its neighbours those of neighbouring rows, so that what they read lies together. It reads
/// an element for each look and for the map, from a cache where all goes well.
///
/// ```text
/// lane: columns of 8 elements, one after the other ─ first look ─ second look ─ state ─ map
/// ```
///
/// Of rows of more than a leaf one launch folds, and another maps: [`Mode`].
///
/// # Safety
///
/// As [`map_leaves`](super::map_leaves).
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn map_apart<S: Simt, T: Source + Valued<O::Value>, O: RowOp>(simt: S, op: O, arguments: Arguments<T>) {
    let warp = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
    let leaves = u64::from(arguments.leaves.max(1));
    let (leaf, row) = (warp % leaves, warp / leaves * u64::from(LANES) + u64::from(simt.lane()));
    if row >= arguments.rows.count {
        return;
    }
    let first = leaf * leaf_elements::<T>() as u64;
    let in_leaf = |end: u64| narrow(simt, u64::saturating_sub(end, first).min(leaf_elements::<T>() as u64));
    let seen = arguments.seen(row);
    // SAFETY: passed on to the caller.
    let start = unsafe { arguments.rows.first(simt, row) };
    let read = Read {
        simt,
        op,
        arguments,
        start,
        first,
        seen: in_leaf(seen),
    };
    let len = read.seen;
    // SAFETY: passed on to the caller.
    let (found, second, sums) = unsafe {
        let found = if O::LOOKS_FIRST {
            read.fold(First(op))
        } else {
            op.nothing()
        };
        let second = Second {
            op,
            reference: op.reference(found, len),
        };
        (
            found,
            second,
            if arguments.mode == Mode::Map {
                second.identity_of::<T>()
            } else {
                read.fold(second)
            },
        )
    };
    let state = if len == 0 {
        op.identity()
    } else {
        op.leaf(found, second.reference, sums, len)
    };
    let at = row * leaves + leaf;
    // SAFETY: passed on to the caller; each row has one such lane.
    unsafe {
        let (leaf_state, row_state) = match arguments.mode {
            Mode::Whole => (state, state),
            Mode::Fold => return store_state(simt, arguments.states, at, state),
            Mode::Map => (
                load_state(simt, arguments.states, at),
                load_state(simt, arguments.row_states, row),
            ),
        };
        let factors = if leaves == 1 {
            op.factors_alone(second.reference, row_state, seen)
        } else {
            op.factors(second.reference, leaf_state, row_state, seen)
        };
        read.map(row, in_leaf(arguments.rows.len), second.reference, factors);
        if leaf == 0 {
            arguments.note(simt, op, row, row_state, seen);
        }
    }
}

/// What a lane reads: a leaf of a row.
#[derive(Clone, Copy)]
struct Read<S, T: Source, O> {
    simt: S,
    op: O,
    arguments: Arguments<T>,
    /// The row's first element.
    start: At<T>,
    /// The number of the leaf's first.
    first: u64,
    /// How many elements of the leaf are seen.
    seen: u32,
}

impl<S: Simt, T: Source + Valued<O::Value>, O: RowOp> Read<S, T, O> {
    /// Column after column, then as the tree has it.
    ///
    /// # Safety
    ///
    /// As [`map_apart`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn fold<M: Monoid<T>>(self, op: M) -> M::State {
        let simt = self.simt;
        let mut lanes = Pending::<M::State, 5>::nothing(op);
        let mut lane = simt.opaque(0);
        while lane < LANES {
            let mut columns = Pending::<M::State, 3>::nothing(op);
            let mut column = simt.opaque(0);
            while column < vector_elements::<T>() as u32 {
                // SAFETY: passed on to the caller.
                let state = unsafe { self.column(op, lane * vector_elements::<T>() as u32 + column) };
                columns.push(simt, op, column, state);
                column = simt.opaque(column + 1);
            }
            let total = columns.total(simt, op, vector_elements::<T>() as u32);
            lanes.push(simt, op, lane, total);
            lane = simt.opaque(lane + 1);
        }
        lanes.total(simt, op, LANES)
    }

    /// A column, its elements all in flight together.
    ///
    /// # Safety
    ///
    /// As [`map_apart`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn column<M: Monoid<T>>(self, op: M, column: u32) -> M::State {
        let at = |row: usize| {
            let place = row as u32 * row_elements::<T>() as u32 + column;
            let is_there = place < self.seen;
            // SAFETY: passed on to the caller; where there is none, the first is read.
            let value = unsafe { self.item(if is_there { place } else { 0 }, self.seen > 0) };
            Place { value, is_there }
        };
        const { assert!(ROWS == 8, "eight rows are written out") };
        let places = [at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)];
        op.fold_column(places, 0, 0)
    }

    /// The element at a place of the leaf, negated if elements are.
    ///
    /// # Safety
    ///
    /// As [`map_apart`]; there is such an element, if there is any.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn item(self, place: u32, is_there: bool) -> T {
        let rows = self.arguments.rows;
        if !is_there {
            return T::filled(0.0);
        }
        let number = self.first + u64::from(place);
        // SAFETY: passed on to the caller.
        let item = unsafe {
            // A row lies along one axis.
            let further = T::map(rows.step, |step| (number as i64 * step) as isize);
            T::read_item(self.simt, T::further(self.start, further))
        };
        if self.op.negates() { item.negated() } else { item }
    }

    /// Maps the `len` elements of the leaf, seen or not.
    ///
    /// # Safety
    ///
    /// As [`map_apart`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn map(self, row: u64, len: u32, reference: f32, factors: O::Factors) {
        let Self {
            simt, op, arguments, ..
        } = self;
        let to = arguments.to;
        // SAFETY: passed on to the caller.
        let start = unsafe { to.first(simt, row) }.addr() as u64;
        let mut place = simt.opaque(0);
        while place < len {
            let number = self.first + u64::from(place);
            // SAFETY: passed on to the caller.
            unsafe {
                let item = if place < self.seen {
                    self.item(place, true)
                } else {
                    let filler = T::filled(op.filler().unwrap_or(0.0));
                    if op.negates() { filler.negated() } else { filler }
                };
                let column = arguments.column::<S, O>(simt, number);
                let value = op.map(item.value(), reference, factors, column);
                let at = start.wrapping_add((number as i64 * to.step) as u64);
                arguments.out.store_one(simt, arguments.out.start, at, value);
            }
            place += 1;
        }
    }
}

impl<O: RowOp> Second<O> {
    /// The sums of nothing.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn identity_of<T: Valued<O::Value>>(self) -> O::Sums {
        Monoid::<T>::identity(self)
    }
}
