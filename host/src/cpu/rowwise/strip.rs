//! A strip: some leaves of a long row, or of several short ones, on the CPU: folded side by side, and mapped.
//!
//! Each step is a loop over neighbours in a function of its own that has the machine's vector instructions switched on. What knows an operation
//! knows no types of elements, so it is compiled once for each. Leaves lie side by side so that columns, of which each pair waits for two before, are many at once.

use std::{iter::zip, ops::Range};

use pulp::{Simd, WithSimd};
use warpfold_kernels::{
    monoids::{Monoid, Words as _},
    rowwise::{Column, Given, LeafFound, ROWS, ReferencePass, RowOp, TermsPass, TotalPass, Value as _},
};

use crate::cpu::states::{Block, States, combine_columns};

/// Elements of a strip, of all arrays together: 16 KiB as f32, which stay in the nearest cache. The more leaves, the less of the time goes into the last
/// steps of their trees, which wait for each other: with half as many, of one row each, layer norm of 32 rows of 1024 f32 took 23 µs for 16 (Intel Xeon with AVX-512, one
/// thread, 2026-11-28).
pub(super) const STRIP: usize = 4096;

/// Columns of all leaves of a strip.
const WIDTH: usize = STRIP / ROWS;

/// Columns that are one loop, which every row is a number of: so many that the compiler still makes a loop of them, and so vector code.
const BLOCK: usize = 32;

/// Leaves of a strip, at most.
pub(super) const LEAVES: usize = WIDTH / BLOCK;

/// The weights and the biases of columns that have none.
pub(super) static PLAIN: [[f32; STRIP]; 2] = [[Column::PLAIN.weight; STRIP], [Column::PLAIN.bias; STRIP]];

/// How the leaves of a row lie.
#[derive(Clone, Copy)]
pub(super) struct LeafShape {
    /// Elements of a leaf.
    pub(super) leaf: usize,
    /// The rows that a leaf has room for; one that is alone may have fewer, and fewer columns.
    rows: usize,
    /// The columns.
    columns: usize,
    /// Leaves of a row.
    pub(super) leaves: usize,
    /// Leaves of a strip.
    pub(super) in_strip: usize,
}

impl LeafShape {
    /// That of rows of `len` elements, whose leaves have rows of `width` and arrays of `most` rows.
    pub(super) fn of(len: usize, width: usize, most: usize) -> Self {
        let leaf = width * most;
        let leaves = len.div_ceil(leaf);
        let columns = len.next_power_of_two().clamp(BLOCK, width);
        let in_strip = WIDTH / columns;
        Self {
            leaf,
            rows: len.div_ceil(width).next_power_of_two().min(most),
            columns,
            leaves,
            // Rows that are folded together are so whole.
            in_strip: if leaves == 0 || leaves >= in_strip {
                in_strip
            } else {
                in_strip / leaves * leaves
            },
        }
    }

    /// The elements that a leaf has room for.
    pub(super) fn size(&self) -> usize {
        self.rows * self.columns
    }

    /// Rows whose leaves are one strip.
    pub(super) fn rows_together(&self) -> usize {
        (self.in_strip / self.leaves.max(1)).max(1)
    }
}

/// What a strip needs room for, once it needs it: clearing all of it takes a tenth of a short task.
pub(super) struct Buffers {
    /// The elements of each array, as f32.
    pub(super) elements: [Vec<f32>; 2],
    /// The weights and the biases, where neighbours share them.
    pub(super) spread: [Vec<f32>; 2],
}

impl Buffers {
    pub(super) const fn new() -> Self {
        Self {
            elements: [vec![], vec![]],
            spread: [vec![], vec![]],
        }
    }
}

/// A buffer that has room for a strip.
pub(super) fn roomy(buffer: &mut Vec<f32>) -> &mut [f32] {
    if buffer.is_empty() {
        buffer.resize(STRIP, 0.0);
    }
    buffer
}

/// The elements of a leaf, of each array: in a buffer, or f32 where they lie.
#[derive(Clone, Copy)]
pub(super) enum Elements<'a> {
    Loaded,
    InPlace([&'a [f32]; 2]),
}

impl<'a> Elements<'a> {
    /// Those in the buffer are at `loaded`.
    #[inline(always)]
    pub(super) fn each<'b>(self, buffer: &'b [Vec<f32>; 2], loaded: Range<usize>) -> [&'b [f32]; 2]
    where
        'a: 'b,
    {
        match self {
            Self::Loaded => buffer.each_ref().map(|array| &array[loaded.clone()]),
            Self::InPlace(each) => each,
        }
    }
}

/// Sets some elements to what an operation takes.
#[inline(always)]
fn fill<O: RowOp>(elements: &mut [Vec<f32>; 2], range: Range<usize>, value: O::Value) {
    if range.is_empty() {
        return;
    }
    for (array, value) in zip(elements, value.each()).take(O::Value::ARRAYS) {
        array[range.clone()].fill(value);
    }
}

/// What is known of a leaf before it is read.
#[derive(Clone, Copy)]
pub(super) struct StripPlace<'a, O> {
    pub(super) op: O,
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

impl<'a, O: RowOp> StripPlace<'a, O> {
    /// The weights and the biases of the elements, once those that are shared are [spread](Self::spread).
    #[inline(always)]
    pub(super) fn weights_and_biases<'b>(&self, spread: &'b [Vec<f32>; 2]) -> [&'b [f32]; 2]
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
    pub(super) fn spread(&self, spread: &mut [Vec<f32>; 2]) {
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
}

/// Makes of loaded elements what they are before they are looked at.
pub(super) struct Take<'a, O> {
    pub(super) place: StripPlace<'a, O>,
    pub(super) elements: [&'a mut [f32]; 2],
    pub(super) spread: &'a [Vec<f32>; 2],
}

impl<O: RowOp> WithSimd for Take<'_, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self {
            place,
            elements,
            spread,
        } = self;
        let [weights, biases] = place.weights_and_biases(spread);
        let [firsts, seconds] = elements.map(|array| &mut array[..place.seen]);
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
    pub(super) reference: f32,
    pub(super) state: O::State,
}

impl<O: RowOp> Leaf<O> {
    /// Of no element.
    pub(super) fn nothing(op: O) -> Self {
        Self {
            reference: op.reference(op.nothing(), 0),
            state: op.identity(),
        }
    }
}

/// What is found of the leaves of a strip, and what is kept of its elements.
pub(super) struct Strip<O: RowOp> {
    pub(super) leaves: [Leaf<O>; LEAVES],
    kept: Vec<O::Relative>,
}

impl<O: RowOp> Strip<O> {
    /// Of no element, with room for what is kept of a row that is not long.
    pub(super) fn nothing(op: O, is_long: bool) -> Self {
        let leaf = Leaf::nothing(op);
        let room = if O::KEEPS && !is_long { STRIP } else { 0 };
        Self {
            leaves: [leaf; LEAVES],
            kept: vec![op.relative(op.absent(), leaf.reference); room],
        }
    }

    #[inline(always)]
    fn keeps(&self) -> bool {
        O::KEEPS && !self.kept.is_empty()
    }

    /// What is kept of the elements of a leaf, so that the map needs no elements.
    pub(super) fn kept(&self, leaf: Range<usize>) -> Option<&[O::Relative]> {
        self.keeps().then(|| &self.kept[leaf])
    }
}

/// A leaf of a strip that has elements.
#[derive(Clone, Copy)]
pub(super) struct LeafPosition<'a> {
    /// Its number in the strip.
    pub(super) number: usize,
    pub(super) elements: Elements<'a>,
    /// How many they are.
    pub(super) seen: usize,
}

impl LeafPosition<'_> {
    pub(super) const NONE: Self = Self {
        number: 0,
        elements: Elements::Loaded,
        seen: 0,
    };
}

/// Folds the leaves of a strip.
pub(super) struct Fold<'a, 'b, O: RowOp> {
    pub(super) op: O,
    pub(super) shape: LeafShape,
    pub(super) positions: &'b mut [LeafPosition<'a>],
    pub(super) buffers: &'b mut Buffers,
    pub(super) to: &'b mut Strip<O>,
}

impl<O: RowOp> WithSimd for Fold<'_, '_, O> {
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

impl<O: RowOp> Fold<'_, '_, O> {
    #[inline(always)]
    fn fold<S: Simd, const FIELDS: usize>(self, simd: S) {
        let Self {
            op,
            shape,
            positions,
            buffers: Buffers { elements: loaded, .. },
            to,
        } = self;
        let (size, count) = (shape.size(), positions.len());
        let mut states = States::<u32, WIDTH, FIELDS>::new();
        let mut pairs = States::<u32, { WIDTH / 2 }, FIELDS>::new();
        let mut references = [0.0; LEAVES];
        let room = |position: &LeafPosition<'_>| position.number * size..(position.number + 1) * size;
        let missing =
            |position: &LeafPosition<'_>| position.number * size + position.seen..(position.number + 1) * size;
        // What is missing is what no look notices.
        for position in positions.iter_mut().filter(|position| position.seen < size) {
            if let Elements::InPlace(each) = position.elements {
                for (to, from) in zip(&mut *loaded, each) {
                    roomy(to)[room(position)][..position.seen].copy_from_slice(from);
                }
                position.elements = Elements::Loaded;
            }
            fill::<O>(loaded, missing(position), op.absent());
        }
        let positions = &*positions;
        let firsts = if O::HAS_FIRST_PASS {
            fold_columns(
                simd,
                ReferencePass(op),
                shape,
                &references[..count],
                #[inline(always)]
                |leaf| positions[leaf].elements.each(loaded, room(&positions[leaf])),
                &mut states,
                &mut pairs,
                #[inline(always)]
                |value: [f32; 2], _| op.first(O::Value::of(value)),
            )
        } else {
            [op.nothing(); LEAVES]
        };
        for (position, (reference, first)) in zip(positions, zip(&mut references, firsts)) {
            *reference = op.reference(first, position.seen as u32);
            if O::MOVES {
                fill::<O>(loaded, missing(position), op.moved(*reference));
            }
        }
        let look = TermsPass { op, reference: 0.0 };
        let sums = if to.keeps() {
            const { assert!(!O::KEEPS || O::Value::ARRAYS == 1, "of one array something may be kept") };
            for (position, reference) in zip(positions, references) {
                let [values, _] = position.elements.each(loaded, room(position));
                for (kept, value) in zip(&mut to.kept[room(position)], values) {
                    *kept = op.relative(O::value_of(*value), reference);
                }
            }
            let kept = &to.kept;
            fold_columns(
                simd,
                look,
                shape,
                &references[..count],
                #[inline(always)]
                |leaf| [&kept[room(&positions[leaf])]; 2],
                &mut states,
                &mut pairs,
                #[inline(always)]
                |[kept, _]: [O::Relative; 2], _| op.term(kept),
            )
        } else {
            fold_columns(
                simd,
                look,
                shape,
                &references[..count],
                #[inline(always)]
                |leaf| positions[leaf].elements.each(loaded, room(&positions[leaf])),
                &mut states,
                &mut pairs,
                #[inline(always)]
                |value: [f32; 2], reference| op.term(op.relative(O::Value::of(value), reference)),
            )
        };
        let totals = if O::TOTALS && op.totals() {
            for position in positions {
                fill::<O>(loaded, missing(position), O::value_of(-0.0));
            }
            fold_columns(
                simd,
                TotalPass(op),
                shape,
                &references[..count],
                #[inline(always)]
                |leaf| positions[leaf].elements.each(loaded, room(&positions[leaf])),
                &mut states,
                &mut pairs,
                #[inline(always)]
                |[value, _]: [f32; 2], _| value,
            )
        } else {
            [-0.0; LEAVES]
        };
        for (leaf, position) in positions.iter().enumerate() {
            let found = LeafFound {
                first: firsts[leaf],
                reference: references[leaf],
                total: totals[leaf],
            };
            to.leaves[position.number] = Leaf {
                reference: references[leaf],
                state: op.leaf(found, sums[leaf], position.seen as u32),
            };
        }
    }
}

/// The rows of each column of each leaf in pairs, then columns. States are passed one by one, so that the compiler knows that nothing else is where they are.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the buffers are the caller's")]
fn fold_columns<'a, S: Simd, A: Copy + 'a, M: Monoid<f32>, const FIELDS: usize>(
    simd: S,
    monoid: M,
    shape: LeafShape,
    references: &[f32],
    values_of: impl Fn(usize) -> [&'a [A]; 2],
    columns_of: &mut States<u32, WIDTH, FIELDS>,
    pairs: &mut States<u32, { WIDTH / 2 }, FIELDS>,
    lift: impl Fn([A; 2], f32) -> M::State,
) -> [M::State; LEAVES] {
    const { assert!(ROWS == 4, "four rows are written out") };
    let LeafShape { rows, columns, .. } = shape;
    for (leaf, reference) in references.iter().enumerate() {
        let reference = *reference;
        let values = values_of(leaf);
        let row = |number: usize| values.map(|array| array[number * columns..][..columns].as_chunks::<BLOCK>().0);
        let mut to = columns_of.part(leaf * columns, columns);
        let blocks = columns / BLOCK;
        match rows {
            1 => {
                let a = row(0);
                for number in 0..blocks {
                    let mut block = Block::<u32, BLOCK, FIELDS>::new();
                    for i in 0..BLOCK {
                        block.set(i, lift(pair(a, number, i), reference));
                    }
                    to.put(number * BLOCK, &block);
                }
            }
            2 => {
                let (a, b) = (row(0), row(1));
                for number in 0..blocks {
                    let mut block = Block::<u32, BLOCK, FIELDS>::new();
                    for i in 0..BLOCK {
                        let lift = |row| lift(pair(row, number, i), reference);
                        block.set(i, monoid.combine(lift(a), lift(b)));
                    }
                    to.put(number * BLOCK, &block);
                }
            }
            _ => {
                let (a, b, c, d) = (row(0), row(1), row(2), row(3));
                for number in 0..blocks {
                    let mut block = Block::<u32, BLOCK, FIELDS>::new();
                    for i in 0..BLOCK {
                        let lift = |row| lift(pair(row, number, i), reference);
                        let (ab, cd) = (monoid.combine(lift(a), lift(b)), monoid.combine(lift(c), lift(d)));
                        block.set(i, monoid.combine(ab, cd));
                    }
                    to.put(number * BLOCK, &block);
                }
            }
        }
    }
    let mut states = [monoid.identity(); LEAVES];
    combine_columns(
        simd,
        monoid,
        columns_of,
        pairs,
        columns,
        &mut states[..references.len()],
    );
    states
}

#[inline(always)]
fn pair<A: Copy>([firsts, seconds]: [&[[A; BLOCK]]; 2], number: usize, i: usize) -> [A; 2] {
    [firsts[number][i], seconds[number][i]]
}
