//! Row operations: rows side by side on all cores, each with the vector instructions of the machine.
//!
//! A row becomes f32 once, and what is kept of each element stays in a near cache for the map. A leaf's columns are folded side by side, as loops over
//! neighbours that the compiler makes vector code of, then neighbours meet. What knows an operation knows no types of elements, so it is compiled once for each.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use warpfold_kernels::{
    arithmetic::single,
    rowwise::{Column, Found, Given, ROWS, RowElement, RowOp, Sums as _, Target, Value as _},
};

use super::{TASK, source::gather};
use crate::layout::Extents;

/// Columns of a leaf of the smallest elements that row operations take.
const WIDTH: usize = 256;

/// Leaves from which on several threads have a row.
const LONG: usize = 64;

/// The second array.
#[derive(Clone, Copy)]
pub(crate) enum Second<'a, T> {
    /// There is none.
    Nothing,
    /// The operation takes an element of each.
    Pair(&'a [T]),
    /// Where a byte is 0, an element is absent.
    Mask(&'a [u8]),
    /// It is added, once elements are multiplied by a number.
    Added(&'a [T], f32),
    /// It is added, and the sum rounded.
    Residual(&'a [T]),
}

/// Rows, and all that is read beside them.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, T> {
    /// The array.
    pub(crate) values: &'a [T],
    /// The other.
    pub(crate) second: Second<'a, T>,
    /// Where the rows of both lie.
    pub(crate) from: &'a [Extents; 2],
    /// Where the answers' do.
    pub(crate) to: &'a Extents,
    /// A weight of each column, a bias of each.
    pub(crate) columns: [Option<&'a [f32]>; 2],
    /// Of row `r` the first `r mod period + shown` elements are seen; all without.
    pub(crate) causal: Option<(u64, i64)>,
    /// The target of each row, and which is none.
    pub(crate) targets: Option<(&'a [i64], i64)>,
    /// What is given of each.
    pub(crate) given: Option<[&'a [f32]; 2]>,
    /// Whether there are answers, or only what else is known.
    pub(crate) maps: bool,
}

/// What row operations make of rows.
pub(crate) struct Done<T, U> {
    /// The answers, as they are to lie.
    pub(crate) answers: Vec<U>,
    /// Sums with a residual, likewise; nothing without.
    pub(crate) sums: Vec<T>,
    /// What else is known of each row.
    pub(crate) known: Vec<[f32; 4]>,
}

/// What one row's fold and map need.
#[derive(Clone, Copy)]
struct Context<'a, O> {
    op: O,
    /// Elements of a row of a leaf.
    width: usize,
    columns: [Option<&'a [f32]>; 2],
    maps: bool,
}

impl<T> Rows<'_, T> {
    fn seen(&self, row: u64) -> usize {
        let len = self.from[0].len;
        match self.causal {
            None => len as usize,
            Some((period, shown)) => ((row % period.max(1)) as i64)
                .saturating_add(shown)
                .clamp(0, len as i64) as usize,
        }
    }

    /// Whether rows follow one another in every array that is read and written.
    fn are_in_order(&self) -> bool {
        let is = |extents: &Extents| {
            extents.is_contiguous()
                && !extents.has_several()
                && (extents.stride() == extents.len as i64 || extents.count == 1)
        };
        let [first, second] = self.from;
        is(first) && is(self.to) && (matches!(self.second, Second::Nothing) || is(second))
    }
}

/// Folds and maps the rows of an array.
pub(crate) fn map_rows<T: RowElement, U: RowElement, O: RowOp>(op: O, rows: &Rows<'_, T>) -> Done<T, U> {
    let [from, _] = rows.from;
    let (len, count) = (from.len as usize, from.count as usize);
    let is_residual = matches!(rows.second, Second::Residual(_));
    let of = |wanted: bool| if wanted { len * count } else { 0 };
    let mut answers = vec![U::narrowed(0.0); of(rows.maps)];
    let mut sums = vec![T::narrowed(0.0); of(is_residual)];
    let mut known = Vec::with_capacity(count);
    let context = Context {
        op,
        width: 512 / T::TYPE.bytes(),
        columns: rows.columns,
        maps: rows.maps,
    };
    let together = (TASK / (len * T::TYPE.bytes()).max(1)).clamp(1, count.max(1));
    // Rows that lie apart are gathered together; all threads' tasks at once.
    let at_once = (together * 4 * rayon::current_num_threads()).max(8);
    let in_order = rows.are_in_order();
    let mut first = 0;
    while first < count {
        let here = first..(first + at_once).min(count);
        let each: Vec<Task<T, U>> = here
            .clone()
            .into_par_iter()
            .step_by(together)
            .map(|begin| task(context, rows, begin..(begin + together).min(here.end), in_order))
            .collect();
        for task in each {
            known.extend(task.known);
            place(&task.answers, &mut answers, rows.to, task.first, len, in_order);
            place(&task.sums, &mut sums, rows.to, task.first, len, in_order);
        }
        first = here.end;
    }
    Done { answers, sums, known }
}

/// What a task made of its rows, one after the other.
struct Task<T, U> {
    first: u64,
    answers: Vec<U>,
    sums: Vec<T>,
    known: Vec<[f32; 4]>,
}

/// Puts rows where they are to lie.
fn place<X: Copy>(rows: &[X], to: &mut [X], extents: &Extents, first: u64, len: usize, in_order: bool) {
    if rows.is_empty() || to.is_empty() {
        return;
    }
    if in_order {
        let start = extents.offset as usize + first as usize * len;
        to[start..][..rows.len()].copy_from_slice(rows);
        return;
    }
    let mut steps = vec![0; len];
    extents.steps(0, &mut steps);
    for (row, values) in (first..).zip(rows.chunks(len)) {
        let start = extents.start(row) as i64;
        for (value, step) in values.iter().zip(&steps) {
            to[(start + step) as usize] = *value;
        }
    }
}

/// Rows of one array, in order: where they lie, or gathered.
fn rows_of<'a, X: warpfold_kernels::element::Item>(
    values: &'a [X],
    extents: &Extents,
    rows: &Range<usize>,
    in_order: bool,
    gathered: &'a mut Vec<X>,
) -> &'a [X] {
    let (len, count) = (extents.len as usize, rows.len());
    if len == 0 {
        return &[];
    }
    if in_order {
        return &values[extents.offset as usize + rows.start * len..][..count * len];
    }
    *gathered = gather(values, extents, (rows.start as u64, count), (0, len), len);
    gathered
}

/// Folds and maps some rows, on one thread unless they are long.
fn task<T: RowElement, U: RowElement, O: RowOp>(
    context: Context<'_, O>,
    rows: &Rows<'_, T>,
    numbers: Range<usize>,
    in_order: bool,
) -> Task<T, U> {
    let [from, other] = rows.from;
    let len = from.len as usize;
    let (mut own, mut own_second, mut own_mask) = (vec![], vec![], vec![]);
    let values = rows_of(rows.values, from, &numbers, in_order, &mut own);
    let (mut seconds, mut mask): (&[T], &[u8]) = (&[], &[]);
    match rows.second {
        Second::Nothing => {}
        Second::Pair(array) | Second::Added(array, _) | Second::Residual(array) => {
            seconds = rows_of(array, other, &numbers, in_order, &mut own_second);
        }
        Second::Mask(array) => mask = rows_of(array, other, &numbers, in_order, &mut own_mask),
    }
    let mut done = Task {
        first: numbers.start as u64,
        answers: Vec::with_capacity(if rows.maps { len * numbers.len() } else { 0 }),
        sums: vec![],
        known: Vec::with_capacity(numbers.len()),
    };
    let mut scratch = Scratch::default();
    for (i, number) in numbers.enumerate() {
        let at = i * len..(i + 1) * len;
        let seen = rows.seen(number as u64);
        let Scratch {
            firsts, seconds: wide, ..
        } = &mut scratch;
        widen(&values[at.start..][..seen], firsts);
        widen(seconds.get(at.start..at.start + seen).unwrap_or_default(), wide);
        if context.op.negates() {
            firsts.iter_mut().for_each(|value| *value = -*value);
        }
        match rows.second {
            Second::Mask(_) => {
                let [absent, _] = context.op.absent().each();
                for (value, byte) in firsts.iter_mut().zip(&mask[at.clone()]) {
                    *value = if *byte == 0 { absent } else { *value };
                }
            }
            Second::Added(_, factor) => {
                for (value, added) in firsts.iter_mut().zip(&*wide) {
                    *value = single::fma(*value, factor, *added);
                }
            }
            Second::Residual(_) => {
                for (value, added) in firsts.iter_mut().zip(&*wide) {
                    let sum = T::narrowed(*value + added);
                    done.sums.push(sum);
                    *value = sum.wide();
                }
            }
            Second::Nothing | Second::Pair(_) => {}
        }
        let (given, target) = rows.given(number, firsts);
        done.known.push(scratch.row(context, len, given, target));
        if rows.maps {
            done.answers
                .extend(scratch.firsts.iter().map(|value| U::narrowed(*value)));
        }
    }
    done
}

fn widen<T: RowElement>(from: &[T], to: &mut Vec<f32>) {
    to.clear();
    to.extend(from.iter().map(|value| value.wide()));
}

impl<T> Rows<'_, T> {
    /// What is given of a row, and its target if it has one.
    fn given(&self, number: usize, values: &[f32]) -> (Given, Option<usize>) {
        if let Some([first, second]) = self.given {
            let at = |given: &[f32]| given.get(number).copied().unwrap_or(0.0);
            return ([at(first), at(second)], None);
        }
        let Some((targets, ignored)) = self.targets else {
            return ([0.0; 2], None);
        };
        let target = targets[number];
        if target == ignored {
            return (Target::Ignored.given(0.0), None);
        }
        match usize::try_from(target).ok().filter(|target| *target < values.len()) {
            Some(target) => (Target::There.given(values[target]), Some(target)),
            None => (Target::Beyond.given(0.0), None),
        }
    }
}

/// A row, as f32: its elements, and then its answers.
struct Scratch<O: RowOp> {
    firsts: Vec<f32>,
    seconds: Vec<f32>,
    kept: Vec<O::Kept>,
    leaves: Vec<(f32, O::State)>,
}

impl<O: RowOp> Default for Scratch<O> {
    fn default() -> Self {
        Self {
            firsts: vec![],
            seconds: vec![],
            kept: vec![],
            leaves: vec![],
        }
    }
}

impl<O: RowOp> Scratch<O> {
    /// Folds the elements, and maps them to as many answers as the row has elements, seen or not.
    fn row(&mut self, context: Context<'_, O>, len: usize, given: Given, target: Option<usize>) -> [f32; 4] {
        let Context { op, width, .. } = context;
        let leaf = width * ROWS / O::Value::ARRAYS;
        let seen = self.firsts.len();
        let seen_u64 = seen as u64;
        let arch = Arch::new();
        let unseen = |reference: f32| op.kept(op.beside(op.absent(), reference));
        self.kept.resize(seen, unseen(0.0));
        self.leaves.resize(seen.div_ceil(leaf), (0.0, op.identity()));
        let (firsts, seconds) = (&self.firsts, &self.seconds);
        let fold = |(number, (kept, to)): (usize, (&mut [O::Kept], &mut (f32, O::State)))| {
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
        let is_long = seen > LONG * leaf;
        if is_long {
            let leaves = self.kept.par_chunks_mut(leaf).zip(&mut self.leaves);
            leaves.enumerate().for_each(fold);
        } else {
            let leaves = self.kept.chunks_mut(leaf).zip(&mut self.leaves);
            leaves.enumerate().for_each(fold);
        }
        let mut states: Vec<O::State> = self.leaves.iter().map(|(_, state)| *state).collect();
        let row = neighbours(op, &mut states);
        if context.maps {
            let factors = |number: usize| {
                let (reference, state) = match self.leaves.get(number) {
                    Some(leaf) => *leaf,
                    None => (op.reference(op.nothing(), 0), op.identity()),
                };
                if len <= leaf {
                    op.factors_alone(reference, row, seen_u64, given)
                } else {
                    op.factors(reference, state, row, seen_u64, given)
                }
            };
            let kept = &self.kept;
            let map = |(number, answers): (usize, &mut [f32])| {
                let at = number * leaf;
                arch.dispatch(Map {
                    context,
                    kept: kept.get(at..(at + answers.len()).min(seen)).unwrap_or_default(),
                    at,
                    factors: factors(number),
                    unseen: unseen(
                        self.leaves
                            .get(number)
                            .map_or_else(|| op.reference(op.nothing(), 0), |leaf| leaf.0),
                    ),
                    answers,
                });
            };
            self.firsts.resize(len, 0.0);
            if is_long {
                self.firsts.par_chunks_mut(leaf).enumerate().for_each(map);
            } else {
                self.firsts.chunks_mut(leaf).enumerate().for_each(map);
            }
            if let Some(target) = target {
                let kept = self.kept[target];
                self.firsts[target] = op.at_target(kept, factors(target / leaf));
            }
        }
        op.known(row, seen_u64, given)
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
    kept: &'a mut [O::Kept],
}

impl<O: RowOp> WithSimd for Fold<'_, O> {
    type Output = (f32, O::State);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> (f32, O::State) {
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
                kept[i] = op.kept(beside);
                op.term(beside)
            },
            |a, b| a.plus(b),
        );
        let total = if O::TOTALS && op.totals() {
            fold_columns(len, width, rows, -0.0, |i| firsts[i], |a, b| a + b)
        } else {
            -0.0
        };
        let found = Found {
            first: found,
            reference,
            total,
        };
        (reference, op.leaf(found, sums, len as u32))
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
    kept: &'a [O::Kept],
    /// The place of its first element.
    at: usize,
    factors: O::Factors,
    /// What is kept of the others.
    unseen: O::Kept,
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
