//! Row operations: rows side by side on all cores, each with the vector instructions of the machine.
//!
//! A row becomes f32 once, and what is kept of each element stays in a near cache for the map. A leaf's columns are folded side by side, as loops over
//! neighbours that the compiler makes vector code of, then neighbours meet. What knows an operation knows no types of elements, so it is compiled once for each.

mod scratch;

use std::ops::Range;

use rayon::prelude::*;
use warpfold_kernels::{
    element::Item,
    rowwise::{Given, RowElement, RowOp, Target},
};

use super::{TASK, source::gather};
use crate::layout::Extents;
use scratch::{Context, Scratch, widen};

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
fn rows_of<'a, X: Item>(
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
        let seen = i * len..i * len + rows.seen(number as u64);
        widen(&values[seen.clone()], &mut scratch.firsts);
        widen(seconds.get(seen.clone()).unwrap_or_default(), &mut scratch.seconds);
        let mask = mask.get(seen).unwrap_or_default();
        scratch.prepare(context.op, rows.second, mask, &mut done.sums);
        let (given, target) = rows.given(number, &scratch.firsts);
        let row = scratch.fold(context, given);
        if rows.maps {
            scratch.map(context, len, row, given, target);
            done.answers
                .extend(scratch.firsts.iter().map(|value| U::narrowed(*value)));
        }
        done.known.push(context.op.known(row, scratch.seen as u64, given));
    }
    done
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
