//! Row operations: each row is folded and mapped while what was read of it stays in registers.
//!
//! A warp has a leaf, or a run of them where nothing is mapped. Of rows of at most 32 vectors it has several, some lanes for each; of longer ones than a leaf several warps have a row together, of a block
//! or of a cluster of blocks. Rows that are longer still are folded by one launch and mapped by another: [`Mode`]. None of that changes a bit.
//!
//! [Plain](crate::kernels::Launch::is_plain) launches have kernels of their own for each type. In all others elements of 16 bits share their kernels, whichever of the two types they are.

mod arguments;
mod ask;
mod columns;
mod double;
mod fold;
mod launch;
mod long;
mod points;
mod position;
mod read;
mod row_variant;
mod short;
mod strided;
mod variant;
mod write;

pub use crate::rowwise::RowParams;
pub use arguments::{RowArguments, Targets};
pub use columns::{CHUNK, sum_columns};
pub use double::{NormF64, RUN, map_doubles};
pub use fold::{MOST_LEAVES, MOST_ROWS, WARPS, fold_leaves};
pub use launch::{Mode, RowFlags, Second};
pub use long::{LEAVES_OF_A_WARP, THREADS as LONG_THREADS, dynamic_bytes, map_long};
pub use points::{ENTRIES, find_columns, find_doubles};
pub use row_variant::RowVariant;
pub use short::map_short;
pub use strided::map_strided;
pub use variant::{Added, Any, Plain, Variant};

use read::{Lane, Reach};
use write::Writer;

use crate::{
    element::{Element, Item as _},
    rowwise::{Given, RowOp, Value as _, leaf_elements},
    simt::Simt,
    stages::{
        StateArray,
        reduce::leaf::{self, FoldedLeaf, Warps},
    },
    tree::vector_elements,
};

/// Folds and maps rows of which a warp has a leaf.
///
/// ```text
/// lane: N vectors ─ first pass ─ warp: 5 shuffles ─ second pass ─ warp: 5 shuffles ─ block or cluster: a state of each warp ─ map
/// ```
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn map_leaves<S: Simt, T: Element, O: RowOp, V: Variant>(simt: S, op: O, arguments: RowArguments<T>, _: V) {
    let op = if V::PLAIN { op.plain() } else { op };
    if O::Value::ARRAYS == 1 {
        leaves::<S, T, O, V, 4>(simt, op, arguments);
    } else {
        leaves::<S, T, O, V, 2>(simt, op, arguments);
    }
}

/// [`map_leaves`], of as many rows as a leaf has.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn leaves<S: Simt, T: Element, O: RowOp, V: Variant, const N: usize>(simt: S, op: O, arguments: RowArguments<T>) {
    let (row, warps) = arguments.place(simt);
    if row >= arguments.rows.count() {
        return;
    }
    let before = u64::from(warps.leaf) * RowArguments::<T>::leaf::<O>();
    let (seen, arguments) = arguments.at_row::<O, V>(row);
    let len = u64::saturating_sub(seen, before).min(RowArguments::<T>::leaf::<O>()) as u32;
    let lane = arguments.read_leaf::<S, O, V, N>(simt, op, [row, before, seen]);
    if V::PLAIN && S::HAS_CLUSTERS && arguments.prefetch > 0 && simt.lane() == 0 {
        arguments.prefetch_row::<S, O>(simt, row, before);
    }
    if arguments.mode == Mode::Whole && warps.leaves > 1 {
        warps.begin::<S, O>(simt);
    }
    let (lane, of_leaf) = leaf::fold::<S, T, O, _, N>(simt, op, lane, len);
    let given = lane.given[0];
    let Some(of_row) = arguments.row_state(simt, op, row, warps, of_leaf.state, given[0]) else {
        return;
    };
    if warps.leaf >= warps.leaves {
        return;
    }
    let whole = arguments.whole::<O>(seen);
    let is_row = warps.leaves == 1 && !arguments.is_part::<O>();
    let factors = factors_of(op, of_leaf, is_row, of_row, whole, given);
    if O::TARGETS {
        // All lanes have read a target's element before one writes over it.
        simt.warp_barrier();
    }
    Writer::new(lane, of_leaf.reference, factors).write();
    if lane.position.first() == 0 {
        arguments.store_known(simt, op, row, of_row, whole, given);
    }
}

/// The factors of a leaf that is all of its row, or is one of several.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn factors_of<O: RowOp>(
    op: O,
    FoldedLeaf { reference, state }: FoldedLeaf<O::State>,
    is_row: bool,
    of_row: O::State,
    len: u64,
    given: Given,
) -> O::Factors {
    if is_row {
        op.factors(reference, None, of_row, len, given)
    } else {
        op.factors(reference, Some(state), of_row, len, given)
    }
}

/// Writes what is known of rows whose states were folded by an earlier launch, at most [`MOST_STATES`](leaf::MOST_STATES) of each: some lanes for a row, where its own warp would have
/// 31 of them wait for one.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn store_known_of_rows<S: Simt, T: Element, O: RowOp>(simt: S, op: O, arguments: RowArguments<T>) {
    let count = arguments.leaves;
    let lanes = leaf::lanes_of(count);
    let thread = u64::from(simt.block()) * u64::from(simt.threads()) + u64::from(simt.thread());
    let row = thread / u64::from(lanes);
    let is_there = row < arguments.rows.count();
    let state = leaf::fold_in_lanes(simt, op, count, lanes, |number| {
        if is_there {
            // An earlier launch wrote so many states of each row.
            arguments
                .row_states
                .load(simt, row * u64::from(count) + u64::from(number))
        } else {
            op.identity()
        }
    });
    if !is_there || !thread.is_multiple_of(lanes.into()) {
        return;
    }
    let given = arguments.given::<S, O>(simt, arguments.start(simt, row));
    let whole = arguments.whole::<O>(arguments.seen(row));
    arguments.store_known(simt, op, row, state, whole, given);
}

/// Combines each `MOST_STATES` neighbouring states of a row's to one: of rows of more leaves than a warp folds at once, and of the parts of rows.
///
/// There are `count` states of each of `rows` rows. The first state of a row lies so many words after that of the row before, a state so many after its neighbour.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_states<S: Simt, O: RowOp>(
    simt: S,
    op: O,
    (from, [stride, step]): (StateArray, [i64; 2]),
    count: u64,
    to: StateArray,
    rows: u64,
) {
    let groups = count.div_ceil(leaf::MOST_STATES.into()).max(1);
    let warp = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
    if warp >= groups * rows {
        return;
    }
    let (row, group) = (warp / groups, warp % groups);
    let before = group * u64::from(leaf::MOST_STATES);
    let here = u64::min(count - before, leaf::MOST_STATES.into()) as u32;
    let first = from.words_further((row as i64 * stride + before as i64 * step) as isize);
    let state = leaf::fold_states(simt, op, here, |number| {
        first.words_further((i64::from(number) * step) as isize).load(simt, 0)
    });
    if simt.lane() == 0 {
        to.store(simt, warp, state);
    }
}

/// [`fold_states`], where a launch passes states in place of elements: strides and steps are of those, in words.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn combine_states<S: Simt, O: RowOp>(simt: S, op: O, arguments: RowArguments<u32>) {
    let RowArguments { states, rows, .. } = arguments;
    // SAFETY: such a launch has room there for the states of groups.
    let to = unsafe { StateArray::new(arguments.out.start().cast()) };
    let from = (states, [rows.stride().0, rows.step().0]);
    fold_states(simt, op, from, arguments.leaves.into(), to, rows.count());
}

impl<T: Element> RowArguments<T> {
    /// Elements of a leaf of an operation.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    const fn leaf<O: RowOp>() -> u64 {
        leaf_elements(T::BYTES, O::Value::ARRAYS) as u64
    }

    /// Leaves of a row; one of a row of nothing.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn leaves_of_row(self) -> u32 {
        u32::max(self.leaves, 1)
    }

    /// The row that this warp is of, and its place there.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn place<S: Simt>(self, simt: S) -> (u64, Warps) {
        let (leaves, blocks) = (self.leaves, self.blocks.max(1));
        let (block, warp) = (simt.block(), simt.warp());
        let (row, block, leaf) = if leaves == 1 {
            (u64::from(block) * u64::from(simt.warps()) + u64::from(warp), 0, 0)
        } else if blocks == 1 {
            (block.into(), 0, warp)
        } else {
            let (row, block) = (u64::from(block / blocks), block % blocks);
            (row, block, block * simt.warps() + warp)
        };
        let warps = Warps {
            leaves,
            leaf,
            each: 1,
            blocks,
            block,
            round: 0,
        };
        (row, warps)
    }

    /// The same, with the weights and biases of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of_row<O: RowOp>(self, row: u64) -> Self {
        let columns = if O::GROUPS {
            self.columns.of_row(row, self.rows.len())
        } else {
            self.columns.each()
        };
        Self { columns, ..self }
    }

    /// How many elements of a row are seen, and the launch with its weights and biases.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn at_row<O: RowOp, V: Variant>(self, row: u64) -> (u64, Self) {
        let seen = if V::PLAIN && !O::MASKS {
            self.rows.len()
        } else {
            self.seen(row)
        };
        (seen, if V::PLAIN { self } else { self.of_row::<O>(row) })
    }

    /// The same of rows that may be groups of channels, whatever the operation.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of_channels(self, row: u64) -> Self {
        let columns = self.columns.of_row(row, self.rows.len());
        Self { columns, ..self }
    }

    /// Elements of a row that is there; none of another.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn there(self, row: u64) -> u64 {
        if row < self.rows.count() { self.rows.len() } else { 0 }
    }

    /// What a lane has of a leaf: of which row, which element is its first, and how many of the row are seen.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn read_leaf<S: Simt, O: RowOp, V: Variant, const N: usize>(
        self,
        simt: S,
        op: O,
        [row, before, seen]: [u64; 3],
    ) -> Lane<S, T, O, V, N> {
        let first = before + u64::from(simt.lane()) * vector_elements::<T>() as u64;
        let start = self.start(simt, row);
        let position = self.position(simt, start, first, seen);
        let reach = if V::PLAIN || self.is_wide {
            Reach::Vectors
        } else {
            Reach::Elements
        };
        let mut lane = Lane::read(simt, op, self, position, None, reach);
        lane.ask();
        // That of a target is a load that waits for another: after those of the row are under way.
        lane.given = [self.given::<S, O>(simt, start); N];
        lane
    }

    /// Asks for the same leaf of a later row, of a plain launch.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn prefetch_row<S: Simt, O: RowOp>(self, simt: S, row: u64, before: u64) {
        let position = self.wide_position(row + self.prefetch, before);
        let bytes = T::BYTES as u32 * u32::min(position.present(), Self::leaf::<O>() as u32);
        if bytes > 0 {
            // SAFETY: so many elements of that row are there; rows of plain launches are whole vectors.
            unsafe {
                simt.prefetch(self.first(position).cast(), bytes);
                if O::Value::ARRAYS == 2 {
                    simt.prefetch(self.second(position).cast(), bytes);
                }
            }
        }
    }

    /// How many elements of a row are seen.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn seen(self, number: u64) -> u64 {
        match self.period {
            0 => self.rows.len(),
            period => i64::max((number % period) as i64 + self.shown, 0).min(self.rows.len() as i64) as u64,
        }
    }

    /// The same of plain launches, in which only operations that [mask](RowOp::MASKS) see less.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn seen_of<O: RowOp>(self, number: u32) -> u32 {
        if O::MASKS {
            self.seen(number.into()) as u32
        } else {
            self.rows.len() as u32
        }
    }

    /// A word of what stands where there is no element.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn absent_word<O: RowOp>(self, op: O) -> u32 {
        let absent = self.floats.simple_bits(op.absent().each()[0]);
        if T::BYTES == 2 { absent | absent << 16 } else { absent }
    }

    /// The state of the row that this warp's leaf is of, to go on with; none where this launch only folds.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn row_state<S: Simt, O: RowOp>(
        self,
        simt: S,
        op: O,
        row: u64,
        warps: Warps,
        mine: O::State,
        target: f32,
    ) -> Option<O::State> {
        match self.mode {
            Mode::Whole if warps.leaves == 1 => Some(mine),
            Mode::Whole => {
                warps.keep(simt, op, 0, mine);
                Some(warps.combine(simt, op))
            }
            // An earlier launch wrote that of each row.
            Mode::Map => Some(self.row_states.load(simt, row)),
            Mode::Fold => {
                if simt.lane() == 0 && warps.leaf < warps.leaves {
                    let at = row * u64::from(warps.leaves) + u64::from(warps.leaf);
                    self.states.store(simt, at, mine);
                    self.keep_target::<S, O>(simt, row, warps.leaf, target);
                }
                None
            }
        }
    }

    /// Where targets' elements lie from one launch to the next: in place of what will be made of them; null where neither is asked for.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn target_kept(self) -> *mut u32 {
        let [loss, _, log_probability, _] = self.known;
        if loss.is_null() { log_probability } else { loss }
    }

    /// The target's element, for the launch that maps: that may write over it before all have read it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn keep_target<S: Simt, O: RowOp>(self, simt: S, row: u64, leaf: u32, target: f32) {
        let to = self.target_kept();
        if O::TARGETS && leaf == 0 && !to.is_null() {
            // SAFETY: there is room for a number of each row, whose first leaf has one such lane.
            unsafe { simt.store(to.wrapping_add(row as usize), target.to_bits()) };
        }
    }
}
