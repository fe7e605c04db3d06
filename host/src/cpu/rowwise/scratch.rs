//! One row on the CPU: as f32, folded, mapped.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use warpfold_kernels::{
    arithmetic::single,
    rowwise::{Column, Given, LeafFound, ROWS, RowElement, RowOp, Sums as _, Value as _},
};

use super::Second;

/// Columns of a leaf of the smallest elements that row operations take.
const WIDTH: usize = 256;

/// Leaves from which on several threads have a row.
const LONG: usize = 64;

/// What one row's fold and map need.
#[derive(Clone, Copy)]
pub(super) struct Context<'a, O> {
    pub(super) op: O,
    /// Elements of a row of a leaf.
    pub(super) width: usize,
    pub(super) columns: [Option<&'a [f32]>; 2],
}

pub(super) fn widen<T: RowElement>(from: &[T], to: &mut Vec<f32>) {
    to.clear();
    to.extend(from.iter().map(|value| value.wide()));
}

/// A row, as f32: its elements, and then its answers.
pub(super) struct Scratch<O: RowOp> {
    pub(super) firsts: Vec<f32>,
    pub(super) seconds: Vec<f32>,
    /// How many are seen.
    pub(super) seen: usize,
    kept: Vec<O::Beside>,
    leaves: Vec<Leaf<O>>,
}

/// A leaf's reference and state.
#[derive(Clone, Copy)]
struct Leaf<O: RowOp> {
    reference: f32,
    state: O::State,
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

impl<O: RowOp> Default for Scratch<O> {
    fn default() -> Self {
        Self {
            firsts: vec![],
            seconds: vec![],
            seen: 0,
            kept: vec![],
            leaves: vec![],
        }
    }
}

impl<O> Context<'_, O>
where
    O: RowOp,
{
    /// Elements of a leaf.
    fn leaf(self) -> usize {
        self.width * ROWS / O::Value::ARRAYS
    }
}

impl<O: RowOp> Scratch<O> {
    /// What elements become before they are looked at; sums with a residual are put with others.
    pub(super) fn prepare<T: RowElement>(&mut self, op: O, second: Second<'_, T>, mask: &[u8], sums: &mut Vec<T>) {
        let Self { firsts, seconds, .. } = self;
        if op.negates() {
            firsts.iter_mut().for_each(|value| *value = -*value);
        }
        match second {
            Second::Mask(_) => {
                let [absent, _] = op.absent().each();
                for (value, byte) in firsts.iter_mut().zip(mask) {
                    *value = if *byte == 0 { absent } else { *value };
                }
            }
            Second::Added(_, factor) => {
                for (value, added) in firsts.iter_mut().zip(seconds) {
                    *value = single::fma(*value, factor, *added);
                }
            }
            Second::Residual(_) => {
                for (value, added) in firsts.iter_mut().zip(seconds) {
                    let sum = T::narrowed(*value + *added);
                    sums.push(sum);
                    *value = sum.wide();
                }
            }
            Second::Nothing | Second::Pair(_) => {}
        }
        self.seen = self.firsts.len();
    }

    /// The state of the row; what its elements come to is kept.
    pub(super) fn fold(&mut self, context: Context<'_, O>, given: Given) -> O::State {
        let (op, leaf, arch) = (context.op, context.leaf(), Arch::new());
        self.kept.resize(self.seen, op.beside(op.absent(), 0.0));
        self.leaves.resize(self.seen.div_ceil(leaf), Leaf::nothing(op));
        let (firsts, seconds) = (&self.firsts, &self.seconds);
        let fold = |number: usize, kept: &mut [O::Beside], to: &mut Leaf<O>| {
            let at = number * leaf;
            *to = arch.dispatch(Fold {
                context,
                firsts: &firsts[at..][..kept.len()],
                seconds: seconds.get(at..at + kept.len()).unwrap_or_default(),
                at,
                given,
                kept,
            });
        };
        if self.seen > LONG * leaf {
            let leaves = self.kept.par_chunks_mut(leaf).zip(&mut self.leaves);
            leaves.enumerate().for_each(|(i, (kept, to))| fold(i, kept, to));
        } else {
            let leaves = self.kept.chunks_mut(leaf).zip(&mut self.leaves);
            leaves.enumerate().for_each(|(i, (kept, to))| fold(i, kept, to));
        }
        let mut states: Vec<O::State> = self.leaves.iter().map(|leaf| leaf.state).collect();
        neighbours(op, &mut states)
    }

    /// The answers, as many as the row has elements, seen or not, in place of the elements.
    pub(super) fn map(
        &mut self,
        context: Context<'_, O>,
        len: usize,
        row: O::State,
        given: Given,
        target: Option<usize>,
    ) {
        let (op, leaf, arch) = (context.op, context.leaf(), Arch::new());
        let (seen, kept, leaves) = (self.seen, &self.kept, &self.leaves);
        let of_leaf = |number: usize| leaves.get(number).copied().unwrap_or(Leaf::nothing(op));
        let factors = |number: usize| {
            let Leaf { reference, state } = of_leaf(number);
            if len <= leaf {
                op.factors_alone(reference, row, seen as u64, given)
            } else {
                op.factors(reference, state, row, seen as u64, given)
            }
        };
        let map = |number: usize, answers: &mut [f32]| {
            let at = number * leaf;
            arch.dispatch(Map {
                context,
                kept: kept.get(at..(at + answers.len()).min(seen)).unwrap_or_default(),
                at,
                factors: factors(number),
                unseen: op.beside(op.absent(), of_leaf(number).reference),
                answers,
            });
        };
        self.firsts.resize(len, 0.0);
        if seen > LONG * leaf {
            let leaves = self.firsts.par_chunks_mut(leaf);
            leaves.enumerate().for_each(|(i, answers)| map(i, answers));
        } else {
            let leaves = self.firsts.chunks_mut(leaf);
            leaves.enumerate().for_each(|(i, answers)| map(i, answers));
        }
        if let Some(target) = target {
            self.firsts[target] = op.at_target(kept[target], factors(target / leaf));
        }
    }
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

/// The reference and the state of a leaf, and what is kept of its elements.
struct Fold<'a, O: RowOp> {
    context: Context<'a, O>,
    firsts: &'a [f32],
    seconds: &'a [f32],
    /// The place of its first element.
    at: usize,
    given: Given,
    kept: &'a mut [O::Beside],
}

impl<O: RowOp> WithSimd for Fold<'_, O> {
    type Output = Leaf<O>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Leaf<O> {
        let Self {
            context, firsts, kept, ..
        } = self;
        let Context { op, width, columns, .. } = context;
        let value = |i: usize| {
            let second = if O::Value::ARRAYS == 2 { self.seconds[i] } else { 0.0 };
            let value = O::Value::of([firsts[i], second]);
            if O::TAKES_COLUMNS {
                op.take(value, column(columns, self.at + i), self.given)
            } else {
                value
            }
        };
        let len = firsts.len();
        let rows = ROWS / O::Value::ARRAYS;
        let found = if O::LOOKS_FIRST {
            fold_columns(
                len,
                width,
                rows,
                op.nothing(),
                |i| op.first(value(i)),
                |a, b| op.both(a, b),
            )
        } else {
            op.nothing()
        };
        let reference = op.reference(found, len as u32);
        let sums = fold_columns(
            len,
            width,
            rows,
            O::Sums::nothing(),
            |i| {
                let beside = op.beside(value(i), reference);
                kept[i] = beside;
                op.term(beside)
            },
            |a, b| a.plus(b),
        );
        let total = if O::TOTALS && op.totals() {
            fold_columns(len, width, rows, -0.0, |i| firsts[i], |a, b| a + b)
        } else {
            -0.0
        };
        let found = LeafFound {
            first: found,
            reference,
            total,
        };
        let state = op.leaf(found, sums, len as u32);
        Leaf { reference, state }
    }
}

/// The rows of each column in pairs, then columns.
#[inline(always)]
fn fold_columns<X: Copy>(
    len: usize,
    width: usize,
    rows: usize,
    nothing: X,
    mut lift: impl FnMut(usize) -> X,
    both: impl Fn(X, X) -> X + Copy,
) -> X {
    let columns = len.min(width);
    let mut states = [[nothing; WIDTH]; ROWS];
    for (number, row) in states.iter_mut().enumerate().take(rows) {
        let first = number * width;
        let here = len.saturating_sub(first).min(width);
        for (i, at) in row[..here].iter_mut().enumerate() {
            *at = lift(first + i);
        }
    }
    let there = len.div_ceil(width);
    let mut step = 1;
    while step < there {
        let mut row = 0;
        while row + step < there {
            let (low, high) = states.split_at_mut(row + step);
            for (a, b) in low[row][..columns].iter_mut().zip(&high[0][..columns]) {
                *a = both(*a, *b);
            }
            row += 2 * step;
        }
        step *= 2;
    }
    let mut states = states[0];
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

#[inline(always)]
fn column([weights, biases]: [Option<&[f32]>; 2], i: usize) -> Column {
    Column {
        weight: weights.map_or(Column::PLAIN.weight, |weights| weights[i]),
        bias: biases.map_or(Column::PLAIN.bias, |biases| biases[i]),
    }
}

/// Maps a leaf.
struct Map<'a, O: RowOp> {
    context: Context<'a, O>,
    /// Of those elements that are seen.
    kept: &'a [O::Beside],
    /// The place of its first element.
    at: usize,
    factors: O::Factors,
    /// What is kept of the others.
    unseen: O::Beside,
    answers: &'a mut [f32],
}

impl<O: RowOp> WithSimd for Map<'_, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Context { op, columns, .. } = self.context;
        let (seen, unseen) = self.answers.split_at_mut(self.kept.len());
        if O::HAS_COLUMNS && columns != [None; 2] {
            for (i, (to, kept)) in seen.iter_mut().zip(self.kept).enumerate() {
                *to = op.map(*kept, self.factors, column(columns, self.at + i));
            }
        } else {
            for (to, kept) in seen.iter_mut().zip(self.kept) {
                *to = op.map(*kept, self.factors, Column::PLAIN);
            }
        }
        unseen.fill(op.map(self.unseen, self.factors, Column::PLAIN));
    }
}
