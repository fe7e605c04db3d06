//! Row operations: rows side by side on all cores, each with the vector instructions of the machine.
//!
//! A row is read from memory to be folded and from a near cache to be mapped, leaf by leaf; answers are written once, to where they are to lie.
//! Rows that lie apart are gathered first, some at a time.

mod convert;
mod map;
mod scratch;
mod strip;

use std::ops::Range;

use bytemuck::{Pod, cast_slice, zeroed_vec};
use pulp::Arch;
use warpfold_kernels::{
    element::{Item, Type},
    rowwise::{Given, ROWS, RowElement, RowOp, Target, Value as _},
    stages::columns::Shares,
};

use super::{TASK, pool};
use crate::{layout::Extents, operand::source::gather};
use convert::Load;
use scratch::Scratch;
use strip::{Buffers, Elements, LeafShape, StripPlace, Take, roomy};

/// Strips from which on several threads have a row.
const LONG: usize = 8;

/// The second array.
#[derive(Clone, Copy)]
pub(crate) enum SecondRows<'a, T> {
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
pub(crate) struct InputRows<'a, T> {
    /// The array.
    pub(crate) values: &'a [T],
    /// The other.
    pub(crate) second: SecondRows<'a, T>,
    /// Where the rows of both lie.
    pub(crate) from: &'a [Extents; 2],
    /// Where the answers' do.
    pub(crate) to: &'a Extents,
    /// A weight of each column, a bias of each, or as they are shared.
    pub(crate) columns: [Option<&'a [f32]>; 2],
    /// Which of them are whose.
    pub(crate) shares: Shares,
    /// Of row `r` the first `r mod period + shown` elements are seen; all without.
    pub(crate) causal: Option<(u64, i64)>,
    /// The target of each row, and which is none.
    pub(crate) targets: Option<(&'a [i64], i64)>,
    /// What is given of each.
    pub(crate) given: Option<[&'a [f32]; 2]>,
    /// Whether there are answers, or only what else is known.
    pub(crate) maps: bool,
    /// Whether elements are multiplied by 0 first.
    pub(crate) zeroes: bool,
    /// Where others have parts of the rows, too.
    pub(crate) split: Option<Split<'a>>,
}

/// What rows are parts of: targets count from the whole row's first element.
#[derive(Clone, Copy)]
pub(crate) struct Split<'a> {
    /// Elements of each row before these.
    pub(crate) before: u64,
    /// Elements of the whole row.
    pub(crate) whole: u64,
    /// The words of each whole row's state. Without them rows are only folded, and the words of their states stand in place of what else is known.
    pub(crate) states: Option<&'a [[f32; 4]]>,
}

/// What row operations make of rows.
pub(crate) struct MappedRows<T, U> {
    /// The answers, as they are to lie.
    pub(crate) answers: Vec<U>,
    /// Sums with a residual, likewise; nothing without.
    pub(crate) sums: Vec<T>,
    /// What else is known of each row.
    pub(crate) known: Vec<[f32; 4]>,
}

impl<'a, T> SecondRows<'a, T> {
    /// That of some elements.
    fn part(self, range: Range<usize>) -> Self {
        match self {
            Self::Nothing => self,
            Self::Pair(array) => Self::Pair(&array[range]),
            Self::Mask(array) => Self::Mask(&array[range]),
            Self::Added(array, factor) => Self::Added(&array[range], factor),
            Self::Residual(array) => Self::Residual(&array[range]),
        }
    }
}

impl<T: RowElement> InputRows<'_, T> {
    fn seen(&self, row: usize) -> usize {
        let len = self.from[0].len;
        match self.causal {
            None => len as usize,
            Some((period, shown)) => ((row as u64 % period.max(1)) as i64)
                .saturating_add(shown)
                .clamp(0, len as i64) as usize,
        }
    }

    /// The weights and the biases of a row.
    fn columns(&self, row: usize) -> [Option<&[f32]>; 2] {
        let Shares { groups, span, .. } = self.shares;
        let each = (self.from[0].len / span) as usize;
        let first = (row as u64 % groups) as usize * each;
        self.columns.map(|column| column.map(|column| &column[first..][..each]))
    }

    /// What is given of a row, and its target if it has one.
    fn given(&self, number: usize, values: &[T]) -> (Given, Option<usize>) {
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
        let here = target.checked_sub_unsigned(self.split.map_or(0, |split| split.before));
        let here = here.and_then(|here| usize::try_from(here).ok());
        match here.filter(|here| *here < values.len()) {
            Some(here) => (Target::There.given(values[here].wide()), Some(here)),
            // Another part has it: what a sum over all parts does not notice.
            None if self.split.is_some() => (Target::There.given(-0.0), None),
            None => (Target::Beyond.given(0.0), None),
        }
    }
}

/// Whether rows follow one another.
fn are_in_order(extents: &Extents) -> bool {
    extents.is_contiguous() && !extents.has_several() && (extents.stride() == extents.len as i64 || extents.count == 1)
}

/// Folds and maps the rows of an array, to answers as they are to lie, if there are to be any: with sums with a residual, and what else is known.
pub(crate) fn map_rows<T: RowElement + Pod, U: RowElement + Pod, O: RowOp>(
    op: O,
    rows: &InputRows<'_, T>,
    answers: &mut [U],
) -> (Vec<T>, Vec<[f32; 4]>) {
    let (len, count) = (rows.from[0].len as usize, rows.from[0].count as usize);
    let is_residual = matches!(rows.second, SecondRows::Residual(_));
    let sums = |count: usize| zeroed_vec(if is_residual { count * len } else { 0 });
    let (mut all_sums, mut known) = (sums(count), vec![[0.0; 4]; count]);
    let together = (TASK / (len * T::TYPE.bytes()).max(1)).max(1);
    let each = |part: RowsOfPart<'_, T, U>| map_part(op, rows, part);
    if are_in_order(rows.to) {
        let all = RowsOfPart {
            first: 0,
            answers,
            sums: &mut all_sums,
            known: &mut known,
        };
        all.each(together, &each);
        return (all_sums, known);
    }
    // Answers that lie apart are made in order, some at a time.
    let some = together * 4 * pool::threads();
    for (number, known) in known.chunks_mut(some).enumerate() {
        let (first, count) = (number * some, known.len());
        let mut here: Vec<U> = zeroed_vec(if rows.maps { count * len } else { 0 });
        let mut sums = sums(count);
        let part = RowsOfPart {
            first,
            answers: &mut here,
            sums: &mut sums,
            known,
        };
        part.each(together, &each);
        place(&here, answers, rows.to, first, len);
        place(&sums, &mut all_sums, rows.to, first, len);
    }
    (all_sums, known)
}

/// Where some rows' answers are to lie, one after the other.
struct RowsOfPart<'a, T, U> {
    first: usize,
    answers: &'a mut [U],
    sums: &'a mut [T],
    known: &'a mut [[f32; 4]],
}

impl<T: Send, U: Send> RowsOfPart<'_, T, U> {
    /// Takes away the first rows, at most so many; none if none are left.
    fn split(&mut self, rows: usize) -> Option<Self> {
        let left = self.known.len();
        let rows = rows.min(left);
        let first = self.first;
        self.first += rows;
        // Of arrays that there are not, nothing.
        Some(RowsOfPart {
            first,
            answers: self.answers.split_off_mut(..self.answers.len() / left.max(1) * rows)?,
            sums: self.sums.split_off_mut(..self.sums.len() / left.max(1) * rows)?,
            known: self.known.split_off_mut(..rows)?,
        })
        .filter(|_| rows > 0)
    }

    /// All of it, so many rows a task.
    fn each(mut self, together: usize, of: &(dyn Fn(Self) + Sync)) {
        let mut tasks = vec![];
        while let Some(task) = self.split(together) {
            tasks.push(Some(task));
        }
        pool::runs(&mut tasks, 1, 1, &|_, run| {
            run.iter_mut().filter_map(Option::take).for_each(of)
        });
    }
}

/// Puts rows where they are to lie.
pub(crate) fn place<X: Copy>(rows: &[X], to: &mut [X], extents: &Extents, first: usize, len: usize) {
    let mut starts = vec![0; rows.len() / len.max(1)];
    extents.starts(first as u64, &mut starts);
    let mut steps = vec![0; len];
    extents.steps(0, &mut steps);
    if extents.answers_are_closer() {
        for (i, step) in steps.iter().enumerate() {
            for (row, start) in starts.iter().enumerate() {
                to[(start + step) as usize] = rows[row * len + i];
            }
        }
    } else {
        for (row, start) in rows.chunks(len.max(1)).zip(&starts) {
            for (value, step) in row.iter().zip(&steps) {
                to[(start + step) as usize] = *value;
            }
        }
    }
}

/// Rows of one array, in order: where they lie, or gathered.
fn rows_of<'a, X: Item>(values: &'a [X], extents: &Extents, rows: &Range<usize>, gathered: &'a mut Vec<X>) -> &'a [X] {
    let (len, count) = (extents.len as usize, rows.len());
    if len == 0 {
        return &[];
    }
    if are_in_order(extents) {
        return &values[extents.offset as usize + rows.start * len..][..count * len];
    }
    *gathered = gather(values, extents, (rows.start as u64, count), (0, len), len);
    gathered
}

/// Folds and maps some rows, on one thread unless they are long.
fn map_part<T: RowElement + Pod, U: RowElement + Pod, O: RowOp>(
    op: O,
    rows: &InputRows<'_, T>,
    mut part: RowsOfPart<'_, T, U>,
) {
    let [from, other] = rows.from;
    let len = from.len as usize;
    let numbers = part.first..part.first + part.known.len();
    let (mut own, mut own_second, mut own_mask) = (vec![], vec![], vec![]);
    let values = rows_of(rows.values, from, &numbers, &mut own);
    let others = |array, gathered| rows_of(array, other, &numbers, gathered);
    let second = match rows.second {
        SecondRows::Nothing => SecondRows::Nothing,
        SecondRows::Pair(array) => SecondRows::Pair(others(array, &mut own_second)),
        SecondRows::Added(array, factor) => SecondRows::Added(others(array, &mut own_second), factor),
        SecondRows::Residual(array) => SecondRows::Residual(others(array, &mut own_second)),
        SecondRows::Mask(array) => SecondRows::Mask(rows_of(array, other, &numbers, &mut own_mask)),
    };
    let mut scratch = Scratch::new();
    let shape = OneRow::<T, O>::shape(len);
    let mut some = vec![];
    while let Some(mut together) = part.split(shape.rows_together()) {
        some.clear();
        let answers = together.answers.len() / together.known.len();
        let sums = together.sums.len() / together.known.len();
        for number in together.first..together.first + together.known.len() {
            let at = (number - numbers.start) * len;
            let seen = at..at + rows.seen(number);
            let mut values = &values[seen.clone()];
            let (mut second, mut negates) = (second.part(seen), op.negates());
            if let (SecondRows::Residual(array), Some(sums)) = (second, together.sums.split_off_mut(..sums)) {
                scratch.add([values, array], negates, sums);
                (values, second, negates) = (&*sums, SecondRows::Nothing, false);
            }
            let (given, target) = rows.given(number, values);
            some.push(OneRow {
                op,
                columns: rows.columns(number),
                span: rows.shares.span as usize,
                values,
                second,
                negates,
                zeroes: rows.zeroes,
                len,
                given,
                target,
                split: rows.split.map(|split| (split, number)),
            });
        }
        scratch.fold(shape, &some);
        for (number, (row, known)) in some.iter().zip(together.known).enumerate() {
            let answers = together.answers.split_off_mut(..answers).unwrap_or_default();
            *known = scratch.map(shape, (number, row), answers);
        }
    }
}

/// A row.
#[derive(Clone, Copy)]
struct OneRow<'a, T, O> {
    op: O,
    columns: [Option<&'a [f32]>; 2],
    /// Columns that share a weight.
    span: usize,
    /// Of those elements that are seen.
    values: &'a [T],
    second: SecondRows<'a, T>,
    /// Whether they are to be negated: sums with a residual are of such that were.
    negates: bool,
    /// Whether they are multiplied by 0.
    zeroes: bool,
    /// How many there are, seen or not.
    len: usize,
    given: Given,
    target: Option<usize>,
    /// What it is a part of, and its number there.
    split: Option<(Split<'a>, usize)>,
}

impl<'a, T: RowElement + Pod, O: RowOp> OneRow<'a, T, O> {
    /// How its leaves lie.
    fn shape(len: usize) -> LeafShape {
        LeafShape::of(len, 512 / T::TYPE.bytes(), ROWS / O::Value::ARRAYS)
    }

    /// Which elements are a leaf's, if it has any.
    fn place(&self, shape: LeafShape, leaf: usize) -> StripPlace<'a, O> {
        let at = (leaf * shape.leaf).min(self.values.len());
        StripPlace {
            op: self.op,
            columns: self.columns,
            span: self.span,
            given: self.given,
            at,
            seen: (self.values.len() - at).min(shape.leaf),
        }
    }

    /// The elements of a leaf: as f32 in a part of the buffer, where they may be already, or where they lie if they are that.
    fn read(
        &self,
        place: &StripPlace<'a, O>,
        buffers: &mut Buffers,
        to: Range<usize>,
        is_loaded: bool,
    ) -> Elements<'a> {
        if place.seen == 0 {
            // Nor may there be a buffer: of rows of which nothing is seen none is filled.
            return Elements::InPlace([&[]; 2]);
        }
        let range = place.at..place.at + place.seen;
        let (values, second) = (&self.values[range.clone()], self.second.part(range));
        if let (Some(values), false) = (floats(values), self.negates || self.zeroes || O::TAKES_COLUMNS) {
            match second {
                SecondRows::Nothing => return Elements::InPlace([values; 2]),
                SecondRows::Pair(array) => {
                    if let Some(array) = floats(array) {
                        return Elements::InPlace([values, array]);
                    }
                }
                _ => {}
            }
        }
        if is_loaded {
            return Elements::Loaded;
        }
        let arch = Arch::new();
        let Buffers { elements, spread, .. } = buffers;
        let mut elements = elements.each_mut().map(|array| &mut roomy(array)[to.clone()]);
        arch.dispatch(Load {
            values,
            second,
            negates: self.negates,
            zeroes: self.zeroes,
            absent: self.op.absent().each()[0],
            to: elements.each_mut().map(|array| &mut **array),
        });
        if O::TAKES_COLUMNS {
            place.spread(spread);
            arch.dispatch(Take {
                place: *place,
                elements,
                spread,
            });
        }
        Elements::Loaded
    }
}

/// A slice as f32, if its elements are that.
fn floats<T: RowElement + Pod>(values: &[T]) -> Option<&[f32]> {
    matches!(T::TYPE, Type::F32).then(|| cast_slice(values))
}
