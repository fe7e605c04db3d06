//! Row operations on elements that lie apart: columns, middle axes, any strides.

use super::{Mode, RowArguments, Second, position::RowStart};
use crate::{
    arithmetic::single,
    element::{Element, Item as _, Two},
    rowwise::{Column, Given, LeafFound, Pass, ROWS, ReferencePass, RowOp, TermsPass, TotalPass, Value as _},
    simt::Simt,
    stages::narrow,
    tree::{LANES, pending::Pending, row_elements, vector_elements},
};

/// Folds and maps rows whose elements lie anywhere: a lane has a leaf of a row, its neighbours those of neighbouring rows, so that what they read lies together. It reads
/// an element for each pass and for the map, from a cache where all goes well.
///
/// ```text
/// lane: columns of N elements, one after the other ─ first pass ─ second pass ─ state ─ map
/// ```
///
/// Of rows of more than a leaf one launch folds, and another maps: [`Mode`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn map_strided<S: Simt, T: Element, O: RowOp>(simt: S, op: O, arguments: RowArguments<T>) {
    let warp = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
    let leaves = u64::from(arguments.leaves.max(1));
    let (leaf, row) = (warp % leaves, warp / leaves * u64::from(LANES) + u64::from(simt.lane()));
    if row >= arguments.rows.count() {
        return;
    }
    let read = LeafRead::new(simt, op, arguments, row, leaf);
    let mut found = op.nothing();
    if O::HAS_FIRST_PASS {
        found = read.fold(ReferencePass(op));
    }
    let reference = op.reference(found, read.seen);
    let mut state = op.identity();
    if arguments.mode != Mode::Map && read.seen > 0 {
        let mut total = -0.0;
        if O::TOTALS && op.totals() {
            total = read.fold(TotalPass(op));
        }
        let found = LeafFound {
            first: found,
            reference,
            total,
        };
        state = op.leaf(found, read.fold(TermsPass { op, reference }), read.seen);
    }
    read.finish(reference, state, leaf);
}

/// What a lane reads: a leaf of a row.
#[derive(Clone, Copy)]
struct LeafRead<S, T: Element, O> {
    simt: S,
    op: O,
    arguments: RowArguments<T>,
    /// Where the row begins.
    start: RowStart<T>,
    given: Given,
    /// The number of the leaf's first.
    first: u64,
    /// How many elements of the leaf are seen, how many of the row, and how many the leaf has.
    seen: u32,
    all_seen: u64,
    len: u32,
}

impl<S: Simt, T: Element, O: RowOp> LeafRead<S, T, O> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn new(simt: S, op: O, arguments: RowArguments<T>, row: u64, leaf: u64) -> Self {
        let arguments = arguments.of_row::<O>(row);
        let first = leaf * RowArguments::<T>::leaf::<O>();
        let all_seen = arguments.seen(row);
        let seen = narrow(
            simt,
            u64::saturating_sub(all_seen, first).min(RowArguments::<T>::leaf::<O>()),
        );
        let len = narrow(
            simt,
            u64::saturating_sub(arguments.rows.len(), first).min(RowArguments::<T>::leaf::<O>()),
        );
        let start = arguments.start(simt, row);
        Self {
            simt,
            op,
            arguments,
            start,
            given: arguments.given::<S, O>(simt, start),
            first,
            seen,
            all_seen,
            len,
        }
    }

    /// Column after column, then as the tree has it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold<L: Pass<O>>(self, pass: L) -> L::State {
        let simt = self.simt;
        let mut lanes = Pending::<L::State, 5>::nothing(pass);
        let mut lane = simt.opaque(0);
        while lane < LANES {
            let mut columns = Pending::<L::State, 3>::nothing(pass);
            let mut column = simt.opaque(0);
            while column < vector_elements::<T>() as u32 {
                let state = self.column(pass, lane * vector_elements::<T>() as u32 + column);
                columns.push(simt, pass, column, state);
                column = simt.opaque(column + 1);
            }
            let total = columns.total(simt, pass, vector_elements::<T>() as u32);
            lanes.push(simt, pass, lane, total);
            lane = simt.opaque(lane + 1);
        }
        lanes.total(simt, pass, LANES)
    }

    /// A column, its elements all in flight together.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn column<L: Pass<O>>(self, pass: L, column: u32) -> L::State {
        const { assert!(ROWS == 4, "four rows are written out") };
        let place = |row: usize| row as u32 * row_elements::<T>() as u32 + column;
        let is_there = |row: usize| row < ROWS / O::Value::ARRAYS && place(row) < self.seen;
        // All are asked for before any is looked at.
        let value = |row: usize| {
            if is_there(row) {
                self.value(place(row), self.by_step(place(row)))
            } else {
                self.op.absent()
            }
        };
        let [a, b, c, d] = if self.is_folded() {
            self.in_turn(column)
        } else {
            [value(0), value(1), value(2), value(3)]
        };
        let state = |row: usize, value: O::Value| if is_there(row) { pass.of(value) } else { pass.identity() };
        let low = pass.combine(state(0, a), state(1, b));
        pass.combine(low, pass.combine(state(2, c), state(3, d)))
    }

    /// With the state of the leaf: hands it on, or maps, as the launch has it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn finish(self, reference: f32, state: O::State, leaf: u64) {
        let Self {
            simt,
            op,
            arguments,
            start,
            given,
            ..
        } = self;
        let row = start.row();
        let at = row * u64::from(arguments.leaves.max(1)) + leaf;
        let (leaf_state, row_state) = match arguments.mode {
            Mode::Whole => (state, state),
            Mode::Fold => {
                arguments.keep_target::<S, O>(simt, row, leaf as u32, given[0]);
                return arguments.states.store(simt, at, state);
            }
            // Earlier launches wrote that of each leaf, and that of each row.
            Mode::Map => (arguments.states.load(simt, at), arguments.row_states.load(simt, row)),
        };
        let len = arguments.whole::<O>(self.all_seen);
        let factors = if arguments.leaves <= 1 && !arguments.is_part::<O>() {
            op.factors(reference, None, row_state, len, given)
        } else {
            op.factors(reference, Some(leaf_state), row_state, len, given)
        };
        if !arguments.out.start().is_null() || !arguments.sums.start().is_null() {
            self.map(reference, factors);
        }
        if leaf == 0 {
            arguments.store_known(simt, op, row, row_state, len, given);
        }
    }

    /// Whether a row lies along several dimensions.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn is_folded(self) -> bool {
        O::GROUPS && self.arguments.is_folded
    }

    /// How far the element at a place of the leaf lies from the row's first, in each array.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn within(self, place: u32) -> Two<i64> {
        if self.is_folded() {
            self.arguments.offset(self.simt, self.first + u64::from(place))
        } else {
            self.by_step(place)
        }
    }

    /// The same of a row of one dimension.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn by_step(self, place: u32) -> Two<i64> {
        self.arguments.by_step(self.first + u64::from(place))
    }

    /// The values of a column of a row of several dimensions: in a loop, for to say where one is takes another.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn in_turn(self, column: u32) -> [O::Value; ROWS] {
        let Self { simt, op, .. } = self;
        let mut values = [op.absent(); ROWS];
        let mut row = simt.opaque(0);
        while row < (ROWS / O::Value::ARRAYS) as u32 {
            let place = row * row_elements::<T>() as u32 + column;
            let mut value = op.absent();
            if place < self.seen {
                value = self.value(place, self.within(place));
            }
            let [_, b, c, d] = values;
            values = if O::Value::ARRAYS == 1 {
                [b, c, d, value]
            } else {
                [b, value, c, d]
            };
            row = simt.opaque(row + 1);
        }
        values
    }

    /// The value at a place of the leaf, so far from the row's first.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn value(self, place: u32, Two(further, other): Two<i64>) -> O::Value {
        let Self {
            simt, op, arguments, ..
        } = self;
        debug_assert!(place < self.seen, "a visible element");
        let number = self.first + u64::from(place);
        let element = |from: *const T| {
            // SAFETY: the row has that element, in each array.
            unsafe { arguments.element(simt, from) }
        };
        let mut first = element(arguments.first_at(self.start, further));
        if op.negates() {
            first = -first;
        }
        let second_at = || arguments.second_at(self.start, other);
        let mut second = 0.0;
        if O::Value::ARRAYS == 2 {
            second = element(second_at());
        }
        if O::MASKS && arguments.second == Second::Mask {
            // SAFETY: the mask has a byte for each element.
            if unsafe { simt.load_input_byte(arguments.other_at(self.start, other, 1)) } == 0 {
                first = op.absent().each()[0];
            }
        } else if O::MASKS && arguments.second == Second::Added {
            first = single::fma(first, arguments.factor, element(second_at()));
        } else if O::ADDS && arguments.second == Second::Residual {
            let sum = first + element(second_at());
            first = arguments.floats.widen(arguments.floats.narrow(sum, sum) & self.mask());
        }
        let column = if O::TAKES_COLUMNS {
            arguments.columns.load_one(simt, number)
        } else {
            Column::PLAIN
        };
        op.take(O::Value::of([first, second]), column, self.given)
    }

    /// The bits of an element.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn mask(self) -> u32 {
        if T::BYTES == 2 { 0xffff } else { u32::MAX }
    }

    /// Maps the elements of the leaf, seen or not.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn map(self, reference: f32, factors: O::Factors) {
        let Self {
            simt, op, arguments, ..
        } = self;
        let (to, row) = (arguments.to, self.start.row());
        let start = to.first(simt, row).addr() as u64;
        let target = if O::TARGETS && self.given[1] == 0.0 {
            arguments.here(arguments.target(simt, row)) as u64
        } else {
            u64::MAX
        };
        let mut place = simt.opaque(0);
        while place < self.len {
            let number = self.first + u64::from(place);
            let value = if place < self.seen {
                self.value(place, self.within(place))
            } else {
                op.absent()
            };
            let relative = op.relative(value, reference);
            let mut column = Column::PLAIN;
            if O::HAS_COLUMNS {
                column = arguments.columns.load_one(simt, number);
            }
            let answer = if O::TARGETS && number == target {
                op.at_target(relative, factors)
            } else {
                op.map(relative, factors, column)
            };
            let at = start.wrapping_add((number as i64 * to.step()) as u64);
            if !arguments.out.start().is_null() {
                arguments.out.store_one(simt, arguments.out.first(), at, answer);
            }
            if O::ADDS && place < self.seen {
                arguments.store_sum(simt, at, value.each()[0]);
            }
            place += 1;
        }
    }
}

impl<T: Element> RowArguments<T> {
    /// Writes the sum of an element and a residual's, if sums are asked for.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn store_sum<S: Simt>(self, simt: S, at: u64, sum: f32) {
        if !self.sums.start().is_null() {
            self.sums.store_one(simt, self.sums.first(), at, sum);
        }
    }
}
