//! A run of leaves on one thread, with the vector instructions of the machine.
//!
//! ```text
//! strip of 8 leaves: rows of each leaf, column by column ─ 8 × 128 columns, neighbours first
//! run: strips, neighbours first
//! ```
//!
//! The operator is whatever it is; the compiler makes its vector code. What lets it: states lie word by word (a
//! structure of arrays), each step is one plain loop over neighbouring columns, and all of it is inlined into a
//! function that has the instruction set switched on. Leaves lie side by side in a strip, so that the steps from a
//! leaf's columns to its total, each waiting for the one before, are long enough to keep the machine busy.

use std::{array, hint::black_box};

use pulp::{Arch, Simd, WithSimd};
use warpfold_kernels::{
    element::Item,
    monoids::{Monoid, Words},
    stages::warp::is_large,
    tree::{Place, ROWS, leaf_elements, row_elements},
};

use super::{any_order, in_order, short};

/// Leaves in the largest run: 256 KiB, long beside handing it to another thread and short beside a cache.
pub(super) const RUN: usize = 64;

/// Columns of the leaves in a strip, together: with two buffers, 6 KiB for each word of a state.
pub(super) const WIDTH: usize = 1024;

/// Leaves in a strip.
const fn strip<T: Item>() -> usize {
    WIDTH / row_elements::<T>()
}

/// Strips in the largest run: of elements of one byte, which have the longest rows.
const STRIPS: usize = RUN / strip::<u8>();

/// Folds at most [`RUN`] leaves; element 0 has index `first`.
pub(super) fn fold<T: Item, M: Monoid<T>>(arch: Arch, op: M, values: &[T], first: u64) -> M::State {
    let mut state = [op.identity()];
    fold_each(arch, op, values, &[0], Lens::All(values.len()), &mut state);
    op.shift(state[0], first)
}

/// How many elements extents have.
#[derive(Clone, Copy)]
pub(super) enum Lens<'a> {
    /// So many, all of them.
    All(usize),
    /// Each its own number.
    Each(&'a [usize]),
}

/// Folds extents of at most [`RUN`] leaves each: the one that starts at `starts[i]` to `states[i]`,
/// positions counted from its start. All in one call, for short ones take less time than its buffers.
pub(super) fn fold_each<T: Item, M: Monoid<T>>(
    arch: Arch,
    op: M,
    values: &[T],
    starts: &[i64],
    lens: Lens<'_>,
    states: &mut [M::State],
) {
    if !M::COMMUTES {
        return in_order::fold_each(op, values, starts, lens, states);
    }
    if const { M::ASSOCIATES && is_large(M::State::COUNT) } {
        return any_order::fold_each(op, values, starts, lens, states);
    }
    arch.dispatch(Run {
        op,
        values,
        starts,
        lens,
        states,
    });
}

impl Lens<'_> {
    /// Of extent `i`.
    pub(super) fn of(self, i: usize) -> usize {
        match self {
            Self::All(len) => len,
            Self::Each(lens) => lens[i],
        }
    }
}

struct Run<'a, T, M: Monoid<T>> {
    op: M,
    values: &'a [T],
    starts: &'a [i64],
    lens: Lens<'a>,
    states: &'a mut [M::State],
}

impl<T: Item, M: Monoid<T>> WithSimd for Run<'_, T, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        const { assert!(M::ASSOCIATES || M::State::COUNT <= 32, "a state has at most 32 words") };
        match M::State::COUNT {
            1 => self.fold::<1>(),
            2 => self.fold::<2>(),
            3 => self.fold::<3>(),
            4..=8 => self.fold::<8>(),
            9..=16 => self.fold::<16>(),
            _ => self.fold::<32>(),
        }
    }
}

impl<T: Item, M: Monoid<T>> Run<'_, T, M> {
    /// `WORDS` is at least the words of a state.
    #[inline(always)]
    fn fold<const WORDS: usize>(self) {
        let Self {
            op,
            values,
            starts,
            lens,
            states,
        } = self;
        let mut columns = States::<WIDTH, WORDS>([[0; WIDTH]; WORDS]);
        let mut pairs = States::<{ WIDTH / 2 }, WORDS>([[0; WIDTH / 2]; WORDS]);
        let mut padded = None;
        let mut first = 0;
        while first < starts.len() {
            // Side by side, as many as are of one length and short.
            let (len, next) = match lens {
                Lens::All(len) => (len, starts.len()),
                Lens::Each(lens) => (lens[first], first + 1),
            };
            let (starts, states) = (&starts[first..next], &mut states[first..next]);
            first = next;
            if len <= const { row_elements::<T>() } {
                short::fold(op, values, starts, len, states, &mut columns, &mut pairs);
                continue;
            }
            for (start, state) in starts.iter().zip(states) {
                let extent = &values[*start as usize..][..len];
                *state = fold_extent(op, extent, &mut columns, &mut pairs, &mut padded);
            }
        }
    }
}

/// Room for a ragged leaf and what it takes to be whole: of any type, the elements of a leaf at most.
type Padded<T> = Option<[T; leaf_elements::<u8>()]>;

/// Strips, neighbours first.
#[inline(always)]
fn fold_extent<T: Item, M: Monoid<T>, const WORDS: usize>(
    op: M,
    values: &[T],
    columns: &mut States<WIDTH, WORDS>,
    pairs: &mut States<{ WIDTH / 2 }, WORDS>,
    padded: &mut Padded<T>,
) -> M::State {
    let length = const { strip::<T>() * leaf_elements::<T>() };
    let mut totals = [op.identity(); STRIPS];
    let mut best = None;
    for (i, strip) in values.chunks(length).enumerate() {
        let total = fold_strip(op, strip, best, columns, pairs, padded);
        totals[i] = op.shift(total, (i * length) as u64);
        if M::SELECTS {
            best = Some(best.map_or(totals[i], |best| op.combine(best, totals[i])));
        }
    }
    let mut left = values.len().div_ceil(length).next_power_of_two();
    while left > 1 {
        left /= 2;
        for i in 0..left {
            totals[i] = op.combine(totals[2 * i], totals[2 * i + 1]);
        }
    }
    totals[0]
}

/// Some states side by side, word by word.
pub(super) struct States<const WIDTH: usize, const WORDS: usize>([[u32; WIDTH]; WORDS]);

impl<const WIDTH: usize, const WORDS: usize> States<WIDTH, WORDS> {
    #[inline(always)]
    pub(super) fn at<W: Words>(&self, at: usize) -> W {
        W::from_words(|word| self.0[word][at])
    }

    /// `count` columns from `first` on.
    #[inline(always)]
    pub(super) fn columns(&mut self, first: usize, count: usize) -> [&mut [u32]; WORDS] {
        self.0.each_mut().map(|word| &mut word[first..][..count])
    }

    /// The columns of leaf `j` of elements of `T`.
    #[inline(always)]
    fn leaf<T: Item>(&mut self, j: usize) -> [&mut [u32]; WORDS] {
        let columns = const { row_elements::<T>() };
        self.columns(j * columns, columns)
    }

    /// Writes the first `count` states: each a pair of neighbours in `from`.
    #[inline(always)]
    pub(super) fn pair_up<T, M: Monoid<T>, const FROM: usize>(
        &mut self,
        op: M,
        from: &States<FROM, WORDS>,
        count: usize,
    ) {
        // Slices of one known length: no bounds are checked in the loop, which would keep it from being vector code.
        let from = from.0.each_ref().map(|word| &word.as_chunks::<2>().0[..count]);
        let mut to = self.0.each_mut().map(|word| &mut word[..count]);
        let state = |at: usize, side: usize| M::State::from_words(|word| from[word][at][side]);
        for at in 0..count {
            set(&mut to, at, op.combine(state(at, 0), state(at, 1)));
        }
    }
}

#[inline(always)]
pub(super) fn set<W: Words>(states: &mut [impl AsMut<[u32]>], at: usize, state: W) {
    for (word, states) in states.iter_mut().enumerate().take(W::COUNT) {
        states.as_mut()[at] = state.word(word);
    }
}

/// Folds at most [`STRIP`] leaves, positions counted from the strip's start. Leaves that cannot change `best`, the fold
/// of all that comes before, count as identities.
#[inline(always)]
fn fold_strip<T: Item, M: Monoid<T>, const WORDS: usize>(
    op: M,
    values: &[T],
    best: Option<M::State>,
    columns: &mut States<WIDTH, WORDS>,
    pairs: &mut States<{ WIDTH / 2 }, WORDS>,
    padded: &mut Padded<T>,
) -> M::State {
    let length = const { leaf_elements::<T>() };
    let whole = values.chunks_exact(length);
    let ragged = whole.remainder();
    let mut leaves = whole.len();
    let mut changed = !ragged.is_empty();
    for (j, leaf) in whole.enumerate() {
        if may_change(op, best, leaf) {
            let leaf = &leaf[..length];
            fold_columns(op, columns.leaf::<T>(j), (j * length) as u64, |at| Place::of(leaf[at]));
            changed = true;
        } else {
            fill(op, columns.leaf::<T>(j));
        }
    }
    if !changed {
        return op.identity();
    }
    if M::FOLDS_COLUMNS && !ragged.is_empty() {
        let first = (leaves * length) as u64;
        fold_columns(op, columns.leaf::<T>(leaves), first, |at| {
            ragged.get(at).map_or(Place::empty(), |value| Place::of(*value))
        });
        leaves += 1;
    } else if let Some(last) = ragged.last() {
        // Past the end anything but a hole: the state there is the identity, whatever is read.
        let padded = padded.get_or_insert_with(|| [*last; leaf_elements::<u8>()]);
        padded[..ragged.len()].copy_from_slice(ragged);
        let padded = &padded[..length];
        let first = (leaves * length) as u64;
        fold_rows(op, columns.leaf::<T>(leaves), |at| {
            let state = op.lift(padded[at], first + at as u64);
            if at < ragged.len() { state } else { op.identity() }
        });
        leaves += 1;
    }
    while !leaves.is_power_of_two() {
        fill(op, columns.leaf::<T>(leaves));
        leaves += 1;
    }
    // The columns of a leaf, then the leaves: neighbours both times, so one loop.
    let mut width = leaves * row_elements::<T>();
    loop {
        pairs.pair_up(op, columns, width / 2);
        if width == 2 {
            return pairs.at(0);
        }
        columns.pair_up(op, pairs, width / 4);
        if width == 4 {
            return columns.at(0);
        }
        width /= 4;
    }
}

/// Whether a leaf could change `best`, for an operator that selects; true for any other.
///
/// Reads the leaf line after line either way. That is an order the machine's prefetcher follows, and the rows, eight
/// side by side, then come from the first cache. (AMD EPYC with AVX-512, one thread, 2²⁶ elements: sum 20 GB/s with
/// this, 8 without; adding up in one long row reads 21.)
#[inline(always)]
fn may_change<T: Item, M: Monoid<T>>(op: M, best: Option<M::State>, leaf: &[T]) -> bool {
    match best {
        Some(best) if M::SELECTS => leaf.iter().fold(false, |any, value| any | op.may_change(best, *value)),
        _ => {
            black_box(leaf.iter().fold(0_u32, |sum, value| sum.wrapping_add(value.word(0))));
            true
        }
    }
}

/// The columns of a leaf, which begins at `first` of its run, `place(at)` being what is at its place `at`.
#[inline(always)]
fn fold_columns<T: Item, M: Monoid<T>, const WORDS: usize>(
    op: M,
    mut columns: [&mut [u32]; WORDS],
    first: u64,
    place: impl Fn(usize) -> Place<T>,
) {
    let width = const { row_elements::<T>() };
    for column in 0..width {
        let values = array::from_fn(|row| place(row * width + column));
        set(
            &mut columns,
            column,
            op.fold_column(values, first + column as u64, row_elements::<T>() as u64),
        );
    }
}

/// The columns of a leaf that counts as identities, which fold to one.
#[inline(always)]
fn fill<T, M: Monoid<T>, const WORDS: usize>(op: M, mut columns: [&mut [u32]; WORDS]) {
    let count = columns[0].len();
    for column in 0..count {
        set(&mut columns, column, op.identity());
    }
}

/// The rows of a leaf, `state(at)` being that of its element `at`: one state per column.
#[inline(always)]
fn fold_rows<T: Item, M: Monoid<T>, const WORDS: usize>(
    op: M,
    mut columns: [&mut [u32]; WORDS],
    state: impl Fn(usize) -> M::State,
) {
    const { assert!(ROWS == 8, "eight rows are written out") };
    let width = const { row_elements::<T>() };
    for column in 0..width {
        let row = |row: usize| state(row * width + column);
        let two = |first| op.combine(row(first), row(first + 1));
        let four = |first| op.combine(two(first), two(first + 2));
        set(&mut columns, column, op.combine(four(0), four(4)));
    }
}

#[cfg(test)]
mod tests {
    use warpfold_kernels::monoids::{Arg, Extremum, Sum};

    use super::*;

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let values: Vec<f32> = (0..RUN * leaf_elements::<f32>() - 3)
            .map(|i| (i * 37 % 251) as f32 / 977.0 - 0.1)
            .collect();
        let all = |arch| {
            let sum = fold(arch, Sum, &values, 0).to_bits();
            (
                sum,
                fold(arch, Extremum::LARGEST, &values, 0),
                fold(arch, Arg::SMALLEST, &values, 5),
            )
        };
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        if let Some(avx2) = pulp::x86::V3::try_new() {
            assert_eq!(all(Arch::V3(avx2)), all(Arch::Scalar));
        }
        assert_eq!(all(Arch::new()), all(Arch::Scalar));
    }
}
