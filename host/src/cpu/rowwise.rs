//! Row operations: rows side by side on all cores, each with the vector instructions of the machine.
//!
//! A leaf is looked at twice, in a near cache; its columns are folded side by side, as loops over neighbours that the compiler makes vector code
//! of, then neighbours meet.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use warpfold_kernels::{
    element::Item,
    rowwise::{Column, RowElement, RowOp, Sums as _, Valued},
    tree::{ROWS, leaf_elements, row_elements},
};

use super::TASK;
use crate::layout::Extents;

/// Columns of a leaf of the smallest elements that row operations take.
const WIDTH: usize = 256;

/// Leaves from which on several threads have a row.
const LONG: usize = 64;

/// What is read and written beside rows.
#[derive(Clone, Copy)]
pub(crate) struct Beside<'a> {
    /// A weight of each column, a bias of each.
    pub(crate) weights: Option<&'a [f32]>,
    pub(crate) biases: Option<&'a [f32]>,
    /// Of row `r` the first `r mod period + shown` elements are seen; all without.
    pub(crate) causal: Option<(u64, i64)>,
}

impl Beside<'_> {
    fn seen(&self, row: u64, len: usize) -> usize {
        match self.causal {
            None => len,
            Some((period, shown)) => ((row % period.max(1)) as i64)
                .saturating_add(shown)
                .clamp(0, len as i64) as usize,
        }
    }

    #[inline(always)]
    fn column(&self, i: usize) -> Column {
        Column {
            weight: self.weights.map_or(Column::PLAIN.weight, |weights| weights[i]),
            bias: self.biases.map_or(Column::PLAIN.bias, |biases| biases[i]),
        }
    }
}

/// Folds and maps the rows of an array, `from`, each to a row of another, `to`; and gives what else is known of each.
pub(crate) fn map_rows<I, U, O>(
    op: O,
    values: &[I],
    from: &Extents,
    output: &mut [U],
    to: &Extents,
    beside: &Beside<'_>,
) -> Vec<[f32; 2]>
where
    I: Item + Valued<O::Value>,
    U: RowElement,
    O: RowOp,
{
    let (len, count) = (from.len as usize, from.count as usize);
    if len == 0 || count == 0 {
        return vec![op.statistics(op.identity(), 0); count];
    }
    let rows = (TASK / (len * I::BYTES)).clamp(1, count);
    let is_in_order = |extents: &Extents| extents.is_contiguous() && (extents.stride() == len as i64 || count == 1);
    if is_in_order(from) && is_in_order(to) && !from.has_several() && !to.has_several() {
        let values = &values[from.offset as usize..][..len * count];
        let output = &mut output[to.offset as usize..][..len * count];
        let tasks = output.par_chunks_mut(rows * len).zip(values.par_chunks(rows * len));
        return tasks
            .enumerate()
            .flat_map_iter(|(task, (output, values))| map(op, values, output, len, (task * rows) as u64, beside))
            .collect();
    }
    let mut statistics = Vec::with_capacity(count);
    let together = rows.max(8);
    let mut first = 0;
    while first < count {
        let here = (count - first).min(together * rayon::current_num_threads());
        let tasks: Vec<(Vec<U>, Vec<[f32; 2]>)> = (first..first + here)
            .into_par_iter()
            .step_by(together)
            .map(|begin| {
                let rows = (first + here - begin).min(together);
                let gathered = super::source::gather(values, from, (begin as u64, rows), (0, len), len);
                let mut mapped = vec![U::narrowed(0.0); gathered.len()];
                let statistics = map(op, &gathered, &mut mapped, len, begin as u64, beside);
                (mapped, statistics)
            })
            .collect();
        let mut steps = vec![0; len];
        to.steps(0, &mut steps);
        let mut row = first as u64;
        for (mapped, known) in tasks {
            statistics.extend(known);
            for mapped in mapped.chunks(len) {
                let start = to.start(row) as i64;
                for (value, step) in mapped.iter().zip(&steps) {
                    output[(start + step) as usize] = *value;
                }
                row += 1;
            }
        }
        first += here;
    }
    statistics
}

/// The same of rows that follow one another, on one thread unless they are long.
fn map<I, U, O>(op: O, values: &[I], output: &mut [U], len: usize, first: u64, beside: &Beside<'_>) -> Vec<[f32; 2]>
where
    I: Item + Valued<O::Value>,
    U: RowElement,
    O: RowOp,
{
    let arch = Arch::new();
    let mut statistics = vec![[0.0; 2]; values.len() / len];
    if len <= LONG * leaf_elements::<I>() {
        arch.dispatch(Rows {
            op,
            values,
            output,
            len,
            first,
            beside,
            statistics: &mut statistics,
        });
        return statistics;
    }
    let leaf = leaf_elements::<I>();
    for (i, (values, output)) in values.chunks(len).zip(output.chunks_mut(len)).enumerate() {
        let seen = beside.seen(first + i as u64, len);
        let folded: Vec<(f32, O::State)> = values[..seen]
            .par_chunks(leaf)
            .map(|leaf| arch.dispatch(Leaf { op, leaf }))
            .collect();
        let mut states: Vec<_> = folded.iter().map(|(_, state)| *state).collect();
        let row = neighbours(op, &mut states);
        let nothing = (op.reference(op.nothing(), 0), op.identity());
        output.par_chunks_mut(leaf).enumerate().for_each(|(number, output)| {
            let (reference, state) = folded.get(number).copied().unwrap_or(nothing);
            let factors = op.factors(reference, state, row, seen as u64);
            arch.dispatch(Map {
                op,
                leaf: &values[number * leaf..][..output.len()],
                output,
                first: number * leaf,
                seen,
                reference,
                factors,
                beside,
            });
        });
        statistics[i] = op.statistics(row, seen as u64);
    }
    statistics
}

/// Neighbours meet until one state is left.
fn neighbours<O: RowOp>(op: O, states: &mut [O::State]) -> O::State {
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

struct Rows<'a, I, U, O> {
    op: O,
    values: &'a [I],
    output: &'a mut [U],
    len: usize,
    first: u64,
    beside: &'a Beside<'a>,
    statistics: &'a mut [[f32; 2]],
}

impl<I: Item + Valued<O::Value>, U: RowElement, O: RowOp> WithSimd for Rows<'_, I, U, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { op, len, beside, .. } = self;
        let leaf = const { leaf_elements::<I>() };
        let mut states = Vec::with_capacity(len.div_ceil(leaf));
        let mut references = Vec::with_capacity(len.div_ceil(leaf));
        let rows = self.values.chunks_exact(len).zip(self.output.chunks_exact_mut(len));
        for (i, ((values, output), statistics)) in rows.zip(self.statistics).enumerate() {
            let seen = beside.seen(self.first + i as u64, len);
            states.clear();
            references.clear();
            for leaf in values.chunks(leaf) {
                let here = seen.saturating_sub(references.len() * const { leaf_elements::<I>() });
                let (reference, state) = fold_leaf(op, &leaf[..here.min(leaf.len())]);
                references.push((reference, state));
                states.push(state);
            }
            let row = neighbours(op, &mut states);
            *statistics = op.statistics(row, seen as u64);
            for (number, (leaf, output)) in values.chunks(leaf).zip(output.chunks_mut(leaf)).enumerate() {
                let (reference, state) = references[number];
                let factors = if references.len() == 1 {
                    op.factors_alone(reference, row, seen as u64)
                } else {
                    op.factors(reference, state, row, seen as u64)
                };
                let first = number * const { leaf_elements::<I>() };
                map_leaf(op, leaf, output, first, seen, reference, factors, beside);
            }
        }
    }
}

struct Leaf<'a, I, O> {
    op: O,
    leaf: &'a [I],
}

impl<I: Item + Valued<O::Value>, O: RowOp> WithSimd for Leaf<'_, I, O> {
    type Output = (f32, O::State);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> (f32, O::State) {
        fold_leaf(self.op, self.leaf)
    }
}

struct Map<'a, I, U, O: RowOp> {
    op: O,
    leaf: &'a [I],
    output: &'a mut [U],
    first: usize,
    seen: usize,
    reference: f32,
    factors: O::Factors,
    beside: &'a Beside<'a>,
}

impl<I: Item + Valued<O::Value>, U: RowElement, O: RowOp> WithSimd for Map<'_, I, U, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { op, leaf, output, .. } = self;
        map_leaf(
            op,
            leaf,
            output,
            self.first,
            self.seen,
            self.reference,
            self.factors,
            self.beside,
        );
    }
}

/// What an item is to the operation.
#[inline(always)]
fn value<I: Valued<O::Value>, O: RowOp>(op: O, item: I) -> O::Value {
    if op.negates() {
        item.negated().value()
    } else {
        item.value()
    }
}

/// The reference and the state of a leaf.
#[inline(always)]
fn fold_leaf<I: Item + Valued<O::Value>, O: RowOp>(op: O, leaf: &[I]) -> (f32, O::State) {
    let len = leaf.len() as u32;
    if len == 0 {
        return (op.reference(op.nothing(), 0), op.identity());
    }
    let found = if O::LOOKS_FIRST {
        let first = |item: I| op.first(value(op, item));
        fold_columns(leaf, op.nothing(), first, |a, b| op.both(a, b))
    } else {
        op.nothing()
    };
    let reference = op.reference(found, len);
    let term = |item: I| op.term(value(op, item), reference);
    let sums = fold_columns(leaf, O::Sums::nothing(), term, |a: O::Sums, b| a.plus(b));
    (reference, op.leaf(found, reference, sums, len))
}

/// The rows of each column in pairs, then columns.
#[inline(always)]
fn fold_columns<I: Item, X: Copy>(
    leaf: &[I],
    nothing: X,
    lift: impl Fn(I) -> X + Copy,
    both: impl Fn(X, X) -> X + Copy,
) -> X {
    let width = const { row_elements::<I>() };
    const { assert!(row_elements::<I>() <= WIDTH) };
    let columns = leaf.len().min(width);
    let mut rows = [[nothing; WIDTH]; ROWS];
    let mut there = 0;
    for (row, values) in rows.iter_mut().zip(leaf.chunks(width)) {
        for (at, value) in row.iter_mut().zip(values) {
            *at = lift(*value);
        }
        there += 1;
    }
    let mut step = 1;
    while step < there {
        let mut row = 0;
        while row + step < there {
            let (low, high) = rows.split_at_mut(row + step);
            for (a, b) in low[row][..columns].iter_mut().zip(&high[0][..columns]) {
                *a = both(*a, *b);
            }
            row += 2 * step;
        }
        step *= 2;
    }
    let mut states = rows[0];
    let mut left = columns.next_power_of_two();
    while left > 1 {
        left /= 2;
        let mut met = [nothing; WIDTH / 2];
        for (at, pair) in met[..left].iter_mut().zip(states[..2 * left].chunks_exact(2)) {
            *at = both(pair[0], pair[1]);
        }
        states[..left].copy_from_slice(&met[..left]);
    }
    states[0]
}

/// Maps a leaf whose first element is number `first` of its row.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn map_leaf<I: Item + Valued<O::Value>, U: RowElement, O: RowOp>(
    op: O,
    leaf: &[I],
    output: &mut [U],
    first: usize,
    seen: usize,
    reference: f32,
    factors: O::Factors,
    beside: &Beside<'_>,
) {
    // What is not seen is as the filler.
    let here = seen.saturating_sub(first).min(leaf.len());
    let (seen, unseen) = output.split_at_mut(here);
    if O::HAS_COLUMNS && (beside.weights.is_some() || beside.biases.is_some()) {
        for (i, (to, item)) in seen.iter_mut().zip(leaf).enumerate() {
            *to = U::narrowed(op.map(value(op, *item), reference, factors, beside.column(first + i)));
        }
    } else {
        for (to, item) in seen.iter_mut().zip(leaf) {
            *to = U::narrowed(op.map(value(op, *item), reference, factors, Column::PLAIN));
        }
    }
    if !unseen.is_empty() {
        let filler = I::filled(op.filler().unwrap_or(0.0));
        let value = U::narrowed(op.map(value(op, filler), reference, factors, Column::PLAIN));
        unseen.fill(value);
    }
}
