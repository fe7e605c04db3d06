//! A strip of some leaves of a row on the CPU: as f32 in a near cache, folded, mapped.
//!
//! Each step is a loop over neighbours in a function of its own that has the machine's vector instructions switched on. What knows an operation
//! knows no types of elements, so it is compiled once for each. Leaves lie side by side so that columns, of which each pair waits for two before, are many at once.

use std::{iter::zip, ops::Range};

use pulp::{Simd, WithSimd};
use warpfold_kernels::{
    monoids::{Monoid, Words as _},
    rowwise::{
        Column, First, Given, LeafFound, ROWS, RowElement as _, RowOp, Second as SecondLook, Total, Value as _,
    },
};

use crate::cpu::states::{States, meet};

/// Elements of a strip, of all arrays together: 8 KiB as f32, which stay in the nearest cache.
pub(super) const STRIP: usize = 2048;

/// Columns of all leaves of a strip.
const WIDTH: usize = STRIP / ROWS;

/// Columns that are one loop, which every row is a number of: so many that the compiler still makes a loop of them, and so vector code.
const BLOCK: usize = 32;

/// Leaves of a strip, at most.
const LEAVES: usize = 4;

/// The weights and the biases of columns that have none.
static PLAIN: [[f32; STRIP]; 2] = [[Column::PLAIN.weight; STRIP], [Column::PLAIN.bias; STRIP]];

/// What a strip needs room for.
pub(super) struct Buffers {
    /// The elements of each array, as f32.
    pub(super) elements: [[f32; STRIP]; 2],
    /// The answers, where those are of another type.
    pub(super) answers: [f32; STRIP],
    /// The weights and the biases, where neighbours share them.
    pub(super) spread: [Vec<f32>; 2],
}

impl Buffers {
    pub(super) fn new() -> Self {
        Self {
            elements: [[0.0; STRIP]; 2],
            answers: [0.0; STRIP],
            spread: [vec![], vec![]],
        }
    }
}

/// The elements of a strip of each array: in a buffer, or f32 where they lie.
#[derive(Clone, Copy)]
pub(super) enum Elements<'a> {
    Loaded,
    InPlace([&'a [f32]; 2]),
}

impl<'a> Elements<'a> {
    #[inline(always)]
    pub(super) fn each<'b>(self, loaded: &'b [[f32; STRIP]; 2]) -> [&'b [f32]; 2]
    where
        'a: 'b,
    {
        match self {
            Self::Loaded => loaded.each_ref().map(|array| &array[..]),
            Self::InPlace(each) => each,
        }
    }
}

/// Sets some elements to what an operation takes.
#[inline(always)]
fn fill<O: RowOp>(elements: &mut [[f32; STRIP]; 2], range: Range<usize>, value: O::Value) {
    for (array, value) in zip(elements, value.each()).take(O::Value::ARRAYS) {
        array[range.clone()].fill(value);
    }
}

/// What is known of a strip before it is read.
#[derive(Clone, Copy)]
pub(super) struct Place<'a, O> {
    pub(super) op: O,
    /// Elements of a row of a leaf.
    pub(super) width: usize,
    /// Elements of a leaf.
    pub(super) leaf: usize,
    /// The row's weights and biases.
    pub(super) columns: [Option<&'a [f32]>; 2],
    /// How many neighbouring elements share one.
    pub(super) span: usize,
    pub(super) given: Given,
    /// The place of its first element in the row.
    pub(super) at: usize,
    /// How many elements it has, without those that are not seen.
    pub(super) seen: usize,
}

impl<'a, O: RowOp> Place<'a, O> {
    /// The weights and the biases of the elements, once those that are shared are [spread](Self::spread).
    #[inline(always)]
    fn weights_and_biases<'b>(&self, spread: &'b [Vec<f32>; 2]) -> [&'b [f32]; 2]
    where
        'a: 'b,
    {
        let of = |i: usize| match self.columns[i] {
            Some(column) if self.span == 1 => &column[self.at..][..self.seen],
            Some(_) => &spread[i][..self.seen],
            None => &PLAIN[i][..self.seen],
        };
        [of(0), of(1)]
    }

    /// Weights and biases that neighbours share, one of each element.
    pub(super) fn spread(&self, Buffers { spread, .. }: &mut Buffers) {
        if self.span == 1 {
            return;
        }
        for (to, column) in zip(spread, self.columns) {
            to.clear();
            let mut place = self.at % self.span;
            for value in column.iter().flat_map(|column| &column[self.at / self.span..]) {
                let run = (self.span - place).min(self.seen - to.len());
                to.resize(to.len() + run, *value);
                if to.len() == self.seen {
                    break;
                }
                place = 0;
            }
        }
    }

    /// How the leaves of its elements lie side by side.
    #[inline(always)]
    fn leaves(&self) -> Leaves {
        // A leaf that is alone may have fewer rows, and fewer columns.
        let most = self.leaf / self.width;
        Leaves {
            count: self.seen.div_ceil(self.leaf),
            rows: self.seen.div_ceil(self.width).next_power_of_two().min(most),
            columns: self.seen.next_power_of_two().clamp(BLOCK, self.width),
            references: [0.0; LEAVES],
        }
    }

    /// Whether every place of its leaves has an element.
    pub(super) fn is_whole(&self) -> bool {
        let Leaves {
            count, rows, columns, ..
        } = self.leaves();
        self.seen == count * rows * columns
    }
}

/// Makes of loaded elements what they are before they are looked at.
pub(super) struct Take<'a, O> {
    pub(super) place: Place<'a, O>,
    pub(super) buffers: &'a mut Buffers,
}

impl<O: RowOp> WithSimd for Take<'_, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { place, buffers } = self;
        let Buffers { elements, spread, .. } = buffers;
        let [weights, biases] = place.weights_and_biases(spread);
        let [firsts, seconds] = elements.each_mut().map(|array| &mut array[..place.seen]);
        for i in 0..place.seen {
            let column = Column {
                weight: weights[i],
                bias: biases[i],
            };
            let value = place
                .op
                .take(O::Value::of([firsts[i], seconds[i]]), column, place.given);
            [firsts[i], seconds[i]] = value.each();
        }
    }
}

/// A leaf's reference and state.
#[derive(Clone, Copy)]
pub(super) struct Leaf<O: RowOp> {
    reference: f32,
    pub(super) state: O::State,
}

impl<O: RowOp> Leaf<O> {
    /// Of no element.
    fn nothing(op: O) -> Self {
        Self {
            reference: op.reference(op.nothing(), 0),
            state: op.identity(),
        }
    }
}

/// What is found of the leaves of a strip, and what is kept of its elements.
pub(super) struct Strip<O: RowOp> {
    pub(super) leaves: [Leaf<O>; LEAVES],
    kept: Vec<O::Beside>,
}

impl<O: RowOp> Strip<O> {
    /// Of no element, with room for what is kept of a row that is not long.
    pub(super) fn nothing(op: O, is_long: bool) -> Self {
        let leaf = Leaf::nothing(op);
        let room = if O::KEEPS && !is_long { STRIP } else { 0 };
        Self {
            leaves: [leaf; LEAVES],
            kept: vec![op.beside(op.absent(), leaf.reference); room],
        }
    }

    /// Whether the map needs no elements.
    #[inline(always)]
    pub(super) fn keeps(&self) -> bool {
        O::KEEPS && !self.kept.is_empty()
    }
}

/// Folds the leaves of a strip.
pub(super) struct Fold<'a, O: RowOp> {
    pub(super) place: Place<'a, O>,
    /// In place only where the strip [is whole](Place::is_whole).
    pub(super) elements: Elements<'a>,
    pub(super) buffers: &'a mut Buffers,
    pub(super) to: &'a mut Strip<O>,
}

impl<O: RowOp> WithSimd for Fold<'_, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        const { assert!(O::Sums::COUNT <= 2, "there are two fields at most") };
        match const { O::Sums::COUNT } {
            1 => self.fold::<S, 1>(simd),
            _ => self.fold::<S, 2>(simd),
        }
    }
}

impl<O: RowOp> Fold<'_, O> {
    #[inline(always)]
    fn fold<S: Simd, const FIELDS: usize>(self, simd: S) {
        let Self {
            place,
            elements,
            buffers: Buffers { elements: loaded, .. },
            to,
        } = self;
        let (op, len) = (place.op, place.seen);
        let mut leaves = place.leaves();
        let mut states = States::<u32, WIDTH, FIELDS>::new();
        let mut pairs = States::<u32, { WIDTH / 2 }, FIELDS>::new();
        let (count, size) = (leaves.count, leaves.rows * leaves.columns);
        // What is missing is what no look notices.
        let missing = len..count * size;
        let len_of = |leaf: usize| len.saturating_sub(leaf * size).min(size) as u32;
        fill::<O>(loaded, missing.clone(), op.absent());
        let firsts = if O::LOOKS_FIRST {
            fold_columns(
                simd,
                First(op),
                elements.each(loaded),
                &leaves,
                &mut states,
                &mut pairs,
                #[inline(always)]
                |value: [f32; 2], _| op.first(O::Value::of(value)),
            )
        } else {
            [op.nothing(); LEAVES]
        };
        for (leaf, reference) in leaves.references[..count].iter_mut().enumerate() {
            *reference = op.reference(firsts[leaf], len_of(leaf));
        }
        if O::MOVES {
            fill::<O>(loaded, missing.clone(), op.moved(leaves.references[count - 1]));
        }
        let look = SecondLook { op, reference: 0.0 };
        let sums = if to.keeps() {
            const { assert!(!O::KEEPS || O::Value::ARRAYS == 1, "of one array something may be kept") };
            for (leaf, kept) in to.kept[..count * size].chunks_mut(size).enumerate() {
                for (kept, value) in zip(kept, &elements.each(loaded)[0][leaf * size..]) {
                    *kept = op.beside(O::value_of(*value), leaves.references[leaf]);
                }
            }
            fold_columns(
                simd,
                look,
                [&to.kept, &to.kept],
                &leaves,
                &mut states,
                &mut pairs,
                #[inline(always)]
                |[kept, _]: [O::Beside; 2], _| op.term(kept),
            )
        } else {
            fold_columns(
                simd,
                look,
                elements.each(loaded),
                &leaves,
                &mut states,
                &mut pairs,
                #[inline(always)]
                |value: [f32; 2], reference| op.term(op.beside(O::Value::of(value), reference)),
            )
        };
        let totals = if O::TOTALS && op.totals() {
            fill::<O>(loaded, missing, O::value_of(-0.0));
            fold_columns(
                simd,
                Total(op),
                elements.each(loaded),
                &leaves,
                &mut states,
                &mut pairs,
                #[inline(always)]
                |[value, _]: [f32; 2], _| value,
            )
        } else {
            [-0.0; LEAVES]
        };
        for leaf in 0..count {
            let found = LeafFound {
                first: firsts[leaf],
                reference: leaves.references[leaf],
                total: totals[leaf],
            };
            to.leaves[leaf] = Leaf {
                reference: leaves.references[leaf],
                state: op.leaf(found, sums[leaf], len_of(leaf)),
            };
        }
    }
}

/// Leaves side by side, and the reference of each.
#[derive(Clone, Copy)]
struct Leaves {
    count: usize,
    rows: usize,
    columns: usize,
    references: [f32; LEAVES],
}

/// The rows of each column of each leaf in pairs, then columns. States are passed one by one, so that the compiler knows that nothing else is where they are.
#[inline(always)]
fn fold_columns<S: Simd, A: Copy, M: Monoid<f32>, const FIELDS: usize>(
    simd: S,
    monoid: M,
    values: [&[A]; 2],
    leaves: &Leaves,
    columns_of: &mut States<u32, WIDTH, FIELDS>,
    pairs: &mut States<u32, { WIDTH / 2 }, FIELDS>,
    lift: impl Fn([A; 2], f32) -> M::State,
) -> [M::State; LEAVES] {
    const { assert!(ROWS == 4, "four rows are written out") };
    let Leaves {
        count,
        rows,
        columns,
        references,
    } = *leaves;
    for (leaf, reference) in references.into_iter().enumerate().take(count) {
        for start in (0..columns).step_by(BLOCK) {
            let first = leaf * rows * columns + start;
            let mut to = columns_of.part(leaf * columns + start, BLOCK);
            let a = block(values, first);
            match rows {
                1 => {
                    for i in 0..BLOCK {
                        to.set(i, lift(pair(a, i), reference));
                    }
                }
                2 => {
                    let b = block(values, first + columns);
                    for i in 0..BLOCK {
                        let (a, b) = (lift(pair(a, i), reference), lift(pair(b, i), reference));
                        to.set(i, monoid.combine(a, b));
                    }
                }
                _ => {
                    let (b, c) = (block(values, first + columns), block(values, first + 2 * columns));
                    let d = block(values, first + 3 * columns);
                    for i in 0..BLOCK {
                        let (a, b) = (lift(pair(a, i), reference), lift(pair(b, i), reference));
                        let (c, d) = (lift(pair(c, i), reference), lift(pair(d, i), reference));
                        to.set(i, monoid.combine(monoid.combine(a, b), monoid.combine(c, d)));
                    }
                }
            }
        }
    }
    let mut states = [monoid.identity(); LEAVES];
    meet(simd, monoid, columns_of, pairs, columns, &mut states[..count]);
    states
}

#[inline(always)]
fn block<A>([firsts, seconds]: [&[A]; 2], first: usize) -> [&[A]; 2] {
    [&firsts[first..][..BLOCK], &seconds[first..][..BLOCK]]
}

#[inline(always)]
fn pair<A: Copy>([first, second]: [&[A]; 2], i: usize) -> [A; 2] {
    [first[i], second[i]]
}

/// Neighbours meet until one state is left.
pub(super) struct Neighbours<'a, O: RowOp> {
    pub(super) op: O,
    pub(super) states: &'a mut [O::State],
}

impl<O: RowOp> WithSimd for Neighbours<'_, O> {
    type Output = O::State;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> O::State {
        let Self { op, states } = self;
        let mut left = states.len();
        while left > 1 {
            for pair in 0..left / 2 {
                states[pair] = op.combine(states[2 * pair], states[2 * pair + 1]);
            }
            // One that has no neighbour is combined with nothing.
            if left % 2 == 1 {
                states[left / 2] = states[left - 1];
            }
            left = left.div_ceil(2);
        }
        states.first().copied().unwrap_or_else(|| op.identity())
    }
}

/// What else is known of a row: compiled for the machine's instructions, or each `fma` would be a call.
pub(super) struct Known<O: RowOp> {
    pub(super) op: O,
    /// Its state, and how many of its elements are seen.
    pub(super) row: (O::State, u64),
    pub(super) given: Given,
}

impl<O: RowOp> WithSimd for Known<O> {
    type Output = [f32; 4];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [f32; 4] {
        let (state, len) = self.row;
        self.op.known(state, len, self.given)
    }
}

/// Maps a strip's elements to the answers.
pub(super) struct Map<'a, O: RowOp> {
    pub(super) place: Place<'a, O>,
    pub(super) strip: &'a Strip<O>,
    /// The state of the row, and how many of its elements are seen.
    pub(super) row: (O::State, u64),
    /// Whether the row is at most a leaf.
    pub(super) is_alone: bool,
    /// The place of the row's target, if that is not before the strip.
    pub(super) target: Option<usize>,
    pub(super) elements: [&'a [f32]; 2],
    pub(super) spread: &'a [Vec<f32>; 2],
    /// The answers, those of elements that are not seen too.
    pub(super) to: &'a mut [f32],
}

impl<O: RowOp> WithSimd for Map<'_, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self {
            place,
            strip,
            elements: [firsts, seconds],
            ..
        } = self;
        let (op, (row, seen)) = (place.op, self.row);
        let columns = place.weights_and_biases(self.spread);
        for (number, to) in self.to.chunks_mut(place.leaf).enumerate() {
            let at = number * place.leaf;
            let is_seen = at < place.seen;
            let Leaf { reference, state } = if is_seen {
                strip.leaves[number]
            } else {
                Leaf::nothing(op)
            };
            let factors = if self.is_alone {
                op.factors_alone(reference, row, seen, place.given)
            } else {
                op.factors(reference, state, row, seen, place.given)
            };
            let (to, unseen) = to.split_at_mut(place.seen.saturating_sub(at).min(to.len()));
            unseen.fill(answer(op.map(op.beside(op.absent(), reference), factors, Column::PLAIN)));
            let here = at..at + to.len();
            if strip.keeps() {
                const { assert!(!(O::KEEPS && O::HAS_COLUMNS)) };
                for (to, kept) in zip(&mut *to, &strip.kept[here.clone()]) {
                    *to = answer(op.map(*kept, factors, Column::PLAIN));
                }
            } else {
                let others = columns.map(|column| &column[here.clone()]);
                for ((to, (first, second)), (weight, bias)) in zip(
                    zip(&mut *to, zip(&firsts[here.clone()], &seconds[here.clone()])),
                    zip(others[0], others[1]),
                ) {
                    let (weight, bias) = (*weight, *bias);
                    let column = if O::HAS_COLUMNS {
                        Column { weight, bias }
                    } else {
                        Column::PLAIN
                    };
                    let beside = op.beside(O::Value::of([*first, *second]), reference);
                    *to = answer(op.map(beside, factors, column));
                }
            }
            if let Some(target) = self.target.filter(|target| here.contains(target)) {
                let beside = op.beside(O::value_of(firsts[target]), reference);
                to[target - at] = answer(op.at_target(beside, factors));
            }
        }
    }
}

/// An answer in f32: of a NaN the one that all backends have.
#[inline(always)]
fn answer(value: f32) -> f32 {
    f32::narrowed(value)
}
