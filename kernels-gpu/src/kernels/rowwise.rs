//! Row operations: each row is folded and mapped while what was read of it stays in registers.
//!
//! A warp has a leaf. Of rows of at most 32 vectors it has several, some lanes for each; of longer ones than a leaf several warps have a row together, of a block
//! or of a cluster of blocks. Rows that are longer still are folded by one launch and mapped by another: [`Mode`]. None of that changes a bit.

mod apart;
mod launch;
mod points;

pub use apart::map_apart;
pub use launch::{Arguments, Mode, RowLaunch, RowParams};
pub use points::{ENTRIES, find, find_states};

use crate::{
    kernels::rows::{SLOTS, Width},
    rowwise::{Column, First, RowOp, Valued},
    simt::Simt,
    stages::{
        columns::{Columns, MOST},
        load::{contiguous, extents::Input, fragment::Fragment, source::Source},
        load_state, narrow,
        reduce::leaf::{self, Warps},
        store_state,
    },
    tree::{LANES, ROWS, leaf_elements, place, vector_elements},
};

/// The kernels of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// [`map_short`].
    Short,
    /// [`map_leaves`] of half a leaf at most.
    Half,
    /// The same of leaves, by a warp each.
    Leaf,
    /// [`map_apart`].
    Apart,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Short, Self::Half, Self::Leaf, Self::Apart];
}

/// Folds and maps rows of at most 32 vectors, which are [wide](Arguments::is_wide).
///
/// ```text
/// lane: a vector of each of 4 rows ─ first look: as many shuffles as a row's lanes need ─ second look: the same ─ map
/// ```
///
/// # Safety
///
/// As [`map_leaves`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn map_short<S: Simt, T: Source + Valued<O::Value>, O: RowOp>(simt: S, op: O, arguments: Arguments<T>) {
    let rows = arguments.rows;
    let Width::Lanes(lanes) = Width::of(T::ELEMENT, rows.len) else {
        return;
    };
    let warp = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
    let number = |slot: u32| {
        let of_warp = slot * (LANES / lanes) + simt.lane() / lanes;
        warp * u64::from(SLOTS * (LANES / lanes)) + u64::from(of_warp)
    };
    let run = |slot: u32| arguments.wide_row(number(slot));
    let inputs = [run(0), run(1), run(2), run(3)];
    let vector = simt.lane() % lanes;
    // SAFETY: passed on to the caller.
    let mut parts = unsafe { contiguous::load_wide_vector_of_each(simt, First(op), inputs, vector) };
    if op.negates() {
        let [a, b, c, d] = parts;
        parts = [a.negated(), b.negated(), c.negated(), d.negated()];
    }
    let lens = inputs.map(|input| input.len as u32);
    let leaves = leaf::fold_each(simt, op, parts, lens, lanes);
    let first = u64::from(vector) * vector_elements::<T>() as u64;
    macro_rules! write_out {
        ($($slot:literal)*) => {
            $(
                let (row, seen, leaf) = (number($slot), inputs[$slot].len, leaves[$slot]);
                if row < rows.count {
                    let factors = op.factors_alone(leaf.reference, leaf.state, seen);
                    // SAFETY: passed on to the caller; each row has these lanes alone.
                    unsafe {
                        arguments.writer(simt, op, row, leaf.reference, factors, first).write_vectors(parts[$slot]);
                        if first == 0 {
                            arguments.note(simt, op, row, leaf.state, seen);
                        }
                    }
                }
            )*
        };
    }
    write_out!(0 1 2 3);
}

/// Folds and maps rows of which a warp has a leaf, or the first `N` rows of one where a leaf has no more; fewer than all of [wide](Arguments::is_wide) ones alone.
///
/// ```text
/// lane: N vectors ─ first look ─ warp: 5 shuffles ─ second look ─ warp: 5 shuffles ─ block or cluster: a state of each warp ─ map
/// ```
///
/// # Safety
///
/// The rows are valid and unwritten for the whole launch, but by this kernel where it maps them in place; so are weights and states; what is written is valid for
/// writes, and nobody else's. All threads of the grid call this alike.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn map_leaves<S: Simt, T: Source + Valued<O::Value>, O: RowOp, const N: usize>(
    simt: S,
    op: O,
    arguments: Arguments<T>,
) {
    let (row, warps) = arguments.place(simt);
    if row >= arguments.rows.count {
        return;
    }
    let is_wide = N < ROWS || arguments.is_wide;
    let input = if is_wide {
        arguments.wide_row(row)
    } else {
        // SAFETY: passed on to the caller.
        unsafe { arguments.row(simt, row) }
    };
    // SAFETY: passed on to the caller.
    let part = unsafe { contiguous::load_first_rows::<S, T, _, N>(simt, First(op), input, warps.leaf.into(), is_wide) };
    if arguments.mode == Mode::Whole && warps.leaves > 1 {
        warps.begin(simt);
    }
    let part = if op.negates() { part.negated() } else { part };
    let before = u64::from(warps.leaf) * leaf_elements::<T>() as u64;
    let len = u64::saturating_sub(input.len, before).min(leaf_elements::<T>() as u64) as u32;
    let leaf = leaf::fold(simt, op, part, len);
    // SAFETY: passed on to the caller.
    let Some(state) = (unsafe { arguments.meet(simt, op, row, warps, leaf.state) }) else {
        return;
    };
    if warps.leaf >= warps.leaves {
        return;
    }
    let first = before + u64::from(simt.lane()) * vector_elements::<T>() as u64;
    let factors = if warps.leaves == 1 {
        op.factors_alone(leaf.reference, state, input.len)
    } else {
        op.factors(leaf.reference, leaf.state, state, input.len)
    };
    let writer = arguments.writer(simt, op, row, leaf.reference, factors, first);
    let part = if O::KEEPS_TERMS { part } else { part.opaque(simt) };
    // SAFETY: passed on to the caller; each element has one lane.
    unsafe {
        if is_wide {
            writer.write_vectors(part);
        } else {
            writer.write_elements(part);
        }
        if first == 0 {
            arguments.note(simt, op, row, state, input.len);
        }
    }
}

/// Combines each `MOST_STATES` neighbouring states of a row's to one: of rows of more leaves than a warp folds at once.
///
/// # Safety
///
/// As [`map_leaves`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn fold_states<S: Simt, O: RowOp>(simt: S, op: O, from: *const u32, count: u64, to: *mut u32, rows: u64) {
    let groups = count.div_ceil(leaf::MOST_STATES.into()).max(1);
    let warp = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
    if warp >= groups * rows {
        return;
    }
    let (row, group) = (warp / groups, warp % groups);
    let before = group * u64::from(leaf::MOST_STATES);
    let here = u64::min(count - before, leaf::MOST_STATES.into()) as u32;
    let first = row * count + before;
    // SAFETY: passed on to the caller.
    let state = leaf::fold_states(simt, op, here, |number| unsafe {
        load_state(simt, from, first + u64::from(number))
    });
    if simt.lane() == 0 {
        // SAFETY: passed on to the caller; each group has one such lane.
        unsafe { store_state(simt, to, warp, state) };
    }
}

impl<T: Source> Arguments<T> {
    /// The row that this warp is of, and its place there.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn place<S: Simt>(self, simt: S) -> (u64, Warps) {
        let (leaves, blocks) = (self.leaves, self.blocks.max(1));
        let (block, warp) = (simt.block(), simt.warp());
        if leaves == 1 {
            let row = u64::from(block) * u64::from(simt.warps()) + u64::from(warp);
            return (
                row,
                Warps {
                    leaves,
                    leaf: 0,
                    blocks,
                },
            );
        }
        let leaf = block % blocks * simt.warps() + warp;
        let row = u64::from(block / blocks);
        (row, Warps { leaves, leaf, blocks })
    }

    /// What is seen of a row; nothing of one that is not there.
    ///
    /// # Safety
    ///
    /// The layout is valid and unwritten.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn row<S: Simt>(self, simt: S, number: u64) -> Input<T> {
        let rows = self.rows;
        let is_there = number < rows.count;
        // SAFETY: passed on to the caller.
        let all = unsafe { rows.run(simt, if is_there { number } else { 0 }) };
        let len = if is_there { self.seen(number) } else { 0 };
        Input { len, ..all }
    }

    /// The same of a row that is wide.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn wide_row(self, number: u64) -> Input<T> {
        let len = if number < self.rows.count { self.rows.len } else { 0 };
        Input {
            len,
            ..self.rows.regular(number)
        }
    }

    /// How many elements of a row are seen.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn seen(self, number: u64) -> u64 {
        match self.period {
            0 => self.rows.len,
            period => i64::max((number % period) as i64 + self.shown, 0).min(self.rows.len as i64) as u64,
        }
    }

    /// The state of the row that this warp's leaf is of, to go on with; none where this launch only folds.
    ///
    /// # Safety
    ///
    /// As [`map_leaves`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn meet<S: Simt, O: RowOp>(
        self,
        simt: S,
        op: O,
        row: u64,
        warps: Warps,
        mine: O::State,
    ) -> Option<O::State> {
        match self.mode {
            Mode::Whole if warps.leaves == 1 => Some(mine),
            Mode::Whole => Some(warps.meet(simt, op, mine)),
            Mode::Fold => {
                if simt.lane() == 0 && warps.leaf < warps.leaves {
                    let at = row * u64::from(warps.leaves) + u64::from(warps.leaf);
                    // SAFETY: passed on to the caller; each leaf has one such lane.
                    unsafe { store_state(simt, self.states, at, mine) };
                }
                None
            }
            Mode::Map => {
                let first = row * u64::from(self.states_of_row);
                // SAFETY: passed on to the caller: an earlier launch wrote them.
                let state = |number: u32| unsafe { load_state(simt, self.row_states, first + u64::from(number)) };
                Some(leaf::fold_states(simt, op, self.states_of_row, state))
            }
        }
    }

    /// The weight and the bias of a column.
    ///
    /// # Safety
    ///
    /// As [`map_leaves`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn column<S: Simt, O: RowOp>(self, simt: S, at: u64) -> Column {
        if !O::HAS_COLUMNS {
            return Column::PLAIN;
        }
        // SAFETY: passed on to the caller.
        unsafe { self.columns.load_one(simt, at) }
    }

    /// What maps what a lane has read, which begins at place `first` of its row, and writes it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn writer<S: Simt, O: RowOp>(
        self,
        simt: S,
        op: O,
        row: u64,
        reference: f32,
        factors: O::Factors,
        first: u64,
    ) -> Writer<S, T, O> {
        Writer {
            simt,
            op,
            arguments: self,
            reference,
            factors,
            to: self.out.row(row),
            first,
        }
    }

    /// Writes what else is known of a row.
    ///
    /// # Safety
    ///
    /// As [`map_leaves`]; one lane of the row calls this.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn note<S: Simt, O: RowOp>(self, simt: S, op: O, row: u64, state: O::State, seen: u64) {
        let [first, second] = self.statistics;
        if first.is_null() && second.is_null() {
            return;
        }
        let [a, b] = op.statistics(state, seen);
        let canonical = |value: f32| if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() };
        // SAFETY: passed on to the caller.
        unsafe {
            if !first.is_null() {
                simt.store(first.wrapping_add(row as usize), canonical(a));
            }
            if !second.is_null() {
                simt.store(second.wrapping_add(row as usize), canonical(b));
            }
        }
    }
}

/// What maps what a lane has read.
#[derive(Clone, Copy)]
struct Writer<S, T: Source, O: RowOp> {
    simt: S,
    op: O,
    arguments: Arguments<T>,
    reference: f32,
    factors: O::Factors,
    /// Where its row goes.
    to: *mut u8,
    /// The place of the lane's first element.
    first: u64,
}

/// Where a lane's first vector is.
#[derive(Clone, Copy)]
struct Vector {
    /// Elements of the row from there on.
    left: u32,
    /// Where its answers go.
    to: *mut u8,
    /// Its weights and biases.
    columns: Columns,
}

impl<S: Simt, T: Source + Valued<O::Value>, O: RowOp> Writer<S, T, O> {
    /// Vector by vector, each of which is there as a whole or not at all.
    ///
    /// # Safety
    ///
    /// As [`map_leaves`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn write_vectors<const N: usize>(self, part: Fragment<T, N>) {
        let Self { simt, arguments, .. } = self;
        let at = Vector {
            left: narrow(simt, u64::saturating_sub(arguments.rows.len, self.first)),
            to: arguments.out.element(self.to, self.first),
            columns: Columns {
                weight: arguments.columns.weight.from(self.first),
                bias: arguments.columns.bias.from(self.first),
            },
        };
        macro_rules! write_out {
            ($($row:literal)*) => {
                $(if $row < N {
                    // SAFETY: passed on to the caller.
                    unsafe { self.write_vector(&part, at, $row) };
                })*
            };
        }
        write_out!(0 1 2 3 4 5 6 7);
    }

    /// # Safety
    ///
    /// As [`map_leaves`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn write_vector<const N: usize>(self, part: &Fragment<T, N>, at: Vector, row: usize) {
        let Self { simt, arguments, .. } = self;
        let first = place::<T>(row, 0) as u32;
        if first >= at.left {
            return;
        }
        let count = vector_elements::<T>();
        let (mut weights, mut biases) = ([Column::PLAIN.weight; MOST], [Column::PLAIN.bias; MOST]);
        if O::HAS_COLUMNS {
            // SAFETY: passed on to the caller.
            unsafe {
                weights = at.columns.weight.load(simt, first, count, Column::PLAIN.weight);
                biases = at.columns.bias.load(simt, first, count, Column::PLAIN.bias);
            }
        }
        let mut values = [0.0; MOST];
        macro_rules! write_out {
            ($($column:literal)*) => {
                $(if $column < count {
                    let (weight, bias) = (weights[$column], biases[$column]);
                    values[$column] = self.map(part, row, $column, Column { weight, bias });
                })*
            };
        }
        write_out!(0 1 2 3 4 5 6 7);
        // SAFETY: passed on to the caller.
        unsafe { arguments.out.store(simt, at.to, first, values, count) };
    }

    /// Element by element, whatever the alignment: in a loop, for it is seldom run.
    ///
    /// # Safety
    ///
    /// As [`map_leaves`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn write_elements<const N: usize>(self, mut part: Fragment<T, N>) {
        let Self { simt, arguments, .. } = self;
        let mut row = simt.opaque(0);
        while row < N as u32 {
            let first = self.first + u64::from(row) * place::<T>(1, 0);
            macro_rules! write_out {
                ($($column:literal)*) => {
                    $(if $column < vector_elements::<T>() && first + $column < arguments.rows.len {
                        // SAFETY: passed on to the caller.
                        unsafe { self.write_one(&part, $column, first + $column) };
                    })*
                };
            }
            write_out!(0 1 2 3 4 5 6 7);
            part = part.next_row();
            row = simt.opaque(row + 1);
        }
    }

    /// # Safety
    ///
    /// As [`map_leaves`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn write_one<const N: usize>(self, part: &Fragment<T, N>, column: usize, at: u64) {
        let Self { simt, arguments, .. } = self;
        // SAFETY: passed on to the caller.
        unsafe {
            let params = arguments.column::<S, O>(simt, at);
            arguments
                .out
                .store_one(simt, self.to, at, self.map(part, 0, column, params));
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn map<const N: usize>(self, part: &Fragment<T, N>, row: usize, column: usize, params: Column) -> f32 {
        let value = T::item(&part.words, row, column).value();
        self.op.map(value, self.reference, self.factors, params)
    }
}
