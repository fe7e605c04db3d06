//! Short rows, which neighbouring lanes have together.

use super::{Lane, Plain, Reach, RowArguments, write};
use crate::{
    element::{Element, Item as _},
    kernels::rows::Width,
    rowwise::{Given, ROWS, RowOp, Value as _},
    simt::Simt,
    stages::{
        each::each,
        reduce::leaf::{self, FoldedLeaf, PackedLeaf as _, Slots},
    },
    tree::{LANES, vector_elements},
};

/// Folds rows of at most 32 vectors, of [plain](crate::kernels::Launch::is_plain) launches, and maps them unless they have [targets](RowOp::TARGETS).
///
/// ```text
/// lane: a vector of each of N rows ─ first pass ─ a row's lanes: a transposing butterfly ─ second pass: the same ─ map, by factors that one lane of a row made
/// ```
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn map_short<S: Simt, T: Element, O: RowOp>(simt: S, op: O, arguments: RowArguments<T>) {
    const { assert!(ROWS == 4, "rows of a leaf, of one array and of two") };
    if O::Value::ARRAYS == 1 {
        short::<S, T, O, 4>(simt, op, arguments);
    } else {
        short::<S, T, O, 2>(simt, op, arguments);
    }
}

/// [`map_short`], as many rows at once as a leaf has.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn short<S: Simt, T: Element, O: RowOp, const K: usize>(simt: S, op: O, arguments: RowArguments<T>) {
    let op = op.plain();
    let Width::Lanes(lanes) = Width::of(T::ELEMENT, arguments.rows.len()) else {
        return;
    };
    let warp = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
    let each_lanes = LANES / lanes;
    let first = u64::from(simt.lane() % lanes) * vector_elements::<T>() as u64;
    let before = warp * u64::from(K as u32 * each_lanes) + u64::from(simt.lane() / lanes);
    let (position, row_step) = (arguments.wide_position(before, first), Some(each_lanes.into()));
    let lane = Lane::<S, T, O, Plain, K>::read(simt, op, arguments, position, row_step, Reach::Vectors);
    let lane = asked(lane);
    let slots = Slots::<S, K>::of(simt, lanes);
    let row = |number: u32| before + u64::from(slots.slot(number) * each_lanes);
    let len = |number: usize| arguments.there(row(number as u32)) as u32;
    // A target's element is a load that waits for another: both are under way while rows are folded.
    let given = |row: u64| arguments.given::<S, O>(simt, arguments.regular_start(row));
    let mut target = if O::TARGETS { given(row(0)) } else { [0.0; 2] };
    let (lane, references, leaves) = leaf::fold_short::<S, T, O, _, K>(op, lane, slots, len);
    // A target's answer is another's: rows of those that map are a leaf's.
    if !O::TARGETS && !arguments.out.start().is_null() {
        map_slots(lane, slots, references, leaves);
    }
    if !arguments.stores_known::<O>() || !slots.finishes() {
        return;
    }
    // In a loop, for it is much code.
    let (mut leaves, mut number) = (leaves, simt.opaque(0));
    while number < slots.count() {
        let row = row(number);
        if O::TARGETS && number > 0 {
            target = given(row);
        }
        if row < arguments.rows.count() {
            arguments.store_known(simt, op, row, leaves[0].state, arguments.rows.len(), target);
        }
        leaves = leaf::rotated(leaves);
        number = simt.opaque(number + 1);
    }
}

/// A lane with its vectors on their way, and what is given of each row of its slots, of an operation that takes it before the first pass.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn asked<S: Simt, T: Element, O: RowOp, const K: usize>(mut lane: Lane<S, T, O, Plain, K>) -> Lane<S, T, O, Plain, K> {
    lane.ask();
    if O::TAKES_COLUMNS {
        each!(slot < K, 4 => {
            lane.given[slot] = lane.arguments.given::<S, O>(lane.simt, lane.position_of(slot).start());
        });
    }
    lane
}

/// Maps the rows of slots, each a leaf, and writes what becomes of them.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn map_slots<S: Simt, T: Element, O: RowOp, const K: usize>(
    lane: Lane<S, T, O, Plain, K>,
    slots: Slots<S, K>,
    references: [f32; K],
    leaves: [FoldedLeaf<O::State>; K],
) {
    let lane = if O::KEEPS { lane } else { lane.again() };
    let len = lane.arguments.rows.len();
    let factors = slots.each(|number| {
        let (FoldedLeaf { reference, state }, given) = (leaves[number], nth(slots.slot(number as u32), lane.given));
        lane.op.factors(reference, None, state, len, given)
    });
    write::write_short(lane, references, slots.handed(factors));
}

/// What is given of a slot's row: without indexing, which would put it in memory.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn nth<const K: usize>(number: u32, given: [Given; K]) -> Given {
    let mut of = given[0];
    each!(slot < K, 4 => if slot as u32 == number {
        of = given[slot];
    });
    of
}
