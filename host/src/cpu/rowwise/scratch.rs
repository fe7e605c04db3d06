//! What a task has for its rows, and how it folds and maps them.

use std::array;

use bytemuck::Pod;
use pulp::Arch;
use warpfold_kernels::{
    monoids::Words,
    rowwise::{RowElement, RowOp},
};

use super::{
    LONG, OneRow, Split,
    convert::Add,
    map::{Known, Map, Neighbours},
    strip::{Buffers, Elements, Fold, LEAVES, Leaf, LeafPosition, LeafShape, STRIP, Strip},
};
use crate::cpu::pool;

/// What a task has for its rows.
pub(super) struct Scratch<O: RowOp> {
    buffers: Buffers,
    strips: Vec<Strip<O>>,
    states: Vec<O::State>,
}

impl<O: RowOp> Scratch<O> {
    pub(super) fn new() -> Self {
        Self {
            buffers: Buffers::new(),
            strips: vec![],
            states: vec![],
        }
    }

    /// A residual.
    pub(super) fn add<T: RowElement>(&mut self, values: [&[T]; 2], negates: bool, sums: &mut [T]) {
        let arch = Arch::new();
        each_chunk(sums, STRIP, &mut self.buffers, &|number, to, _| {
            let values = values.map(|values| &values[number * STRIP..][..to.len()]);
            arch.dispatch(Add { values, negates, to });
        });
    }

    /// Folds rows: several if they are short.
    pub(super) fn fold<T: RowElement + Pod>(&mut self, shape: LeafShape, rows: &[OneRow<'_, T, O>]) {
        let Some(OneRow { op, .. }) = rows.first() else { return };
        let arch = Arch::new();
        let strips = (rows.len() * shape.leaves).div_ceil(shape.in_strip);
        self.strips.resize_with(strips, || Strip::nothing(*op, strips > LONG));
        each_chunk(&mut self.strips, 1, &mut self.buffers, &|strip, to, buffers| {
            let (mut positions, mut count) = ([LeafPosition::NONE; LEAVES], 0);
            let first = strip * shape.in_strip;
            for leaf in first..(first + shape.in_strip).min(rows.len() * shape.leaves) {
                let (row, number) = (&rows[leaf / shape.leaves], leaf - first);
                let place = row.place(shape, leaf % shape.leaves);
                if place.seen > 0 {
                    let to = number * shape.size()..(number + 1) * shape.size();
                    positions[count] = LeafPosition {
                        number,
                        elements: row.read(&place, buffers, to, false),
                        seen: place.seen,
                    };
                    count += 1;
                }
            }
            if count > 0 {
                arch.dispatch(Fold {
                    op: *op,
                    shape,
                    positions: &mut positions[..count],
                    buffers,
                    to: &mut to[0],
                });
            }
        });
    }

    /// The answers of one of the rows that were folded, if there are to be any, and what else is known of it.
    pub(super) fn map<T: RowElement + Pod, U: RowElement>(
        &mut self,
        shape: LeafShape,
        (number, row): (usize, &OneRow<'_, T, O>),
        answers: &mut [U],
    ) -> [f32; 4] {
        let (op, arch) = (row.op, Arch::new());
        let (first, seen) = (number * shape.leaves, row.values.len());
        let Self { strips, states, .. } = self;
        states.clear();
        for leaf in first..first + seen.div_ceil(shape.leaf) {
            states.push(strips[leaf / shape.in_strip].leaves[leaf % shape.in_strip].state);
        }
        let folded = arch.dispatch(Neighbours { op, states });
        let (state, len) = match row.split {
            None => (folded, seen as u64),
            Some((Split { whole, states, .. }, number)) => match states {
                Some(states) => (O::State::from_words(|i| states[number][i].to_bits()), whole),
                None => return array::from_fn(|i| word_of(folded, i)),
            },
        };
        self.write(shape, (first, row), (state, len), answers);
        arch.dispatch(Known {
            op,
            row: (state, len),
            given: row.given,
        })
    }

    /// Maps what was folded, from leaf `first` on, by the state of the whole row and how many elements that has.
    fn write<T: RowElement + Pod, U: RowElement>(
        &mut self,
        shape: LeafShape,
        (first, row): (usize, &OneRow<'_, T, O>),
        of_row: (O::State, u64),
        answers: &mut [U],
    ) {
        let arch = Arch::new();
        let Self { buffers, strips, .. } = self;
        // One strip is in the buffer still.
        let is_loaded = strips.len() == 1;
        let each = |number: usize, to: &mut [U], buffers: &mut Buffers| {
            let place = row.place(shape, number);
            let (strip, leaf) = ((first + number) / shape.in_strip, (first + number) % shape.in_strip);
            let here = leaf * shape.size()..leaf * shape.size() + place.seen;
            let kept = strips[strip].kept(here.clone());
            let elements = if kept.is_some() {
                Elements::InPlace([&[]; 2])
            } else {
                row.read(&place, buffers, here.clone(), is_loaded)
            };
            let Buffers {
                elements: loaded,
                spread,
            } = buffers;
            if O::HAS_COLUMNS {
                place.spread(spread);
            }
            arch.dispatch(Map {
                place,
                leaf: if place.seen > 0 {
                    strips[strip].leaves[leaf]
                } else {
                    Leaf::nothing(row.op)
                },
                row: of_row,
                is_alone: row.len <= shape.leaf && row.split.is_none(),
                target: row.target.and_then(|target| target.checked_sub(place.at)),
                elements: elements.each(loaded, here),
                kept,
                spread,
                to,
            });
        };
        each_chunk(answers, shape.leaf * shape.in_strip, buffers, &|strip, to, buffers| {
            for (leaf, to) in to.chunks_mut(shape.leaf).enumerate() {
                each(strip * shape.in_strip + leaf, to, buffers);
            }
        });
    }
}

/// A word of a state; 0 where it has fewer.
fn word_of<W: Words>(state: W, i: usize) -> f32 {
    f32::from_bits(if i < W::COUNT { state.word(i) } else { 0 })
}

/// Chunks with their numbers, on several threads if they are many.
fn each_chunk<X: Send>(
    items: &mut [X],
    size: usize,
    buffers: &mut Buffers,
    of: &(dyn Fn(usize, &mut [X], &mut Buffers) + Sync),
) {
    if items.len() > LONG * size {
        pool::runs(items, size, LONG / 4, &|first, run| {
            let mut buffers = Buffers::new();
            (first..)
                .zip(run.chunks_mut(size))
                .for_each(|(number, chunk)| of(number, chunk, &mut buffers));
        });
    } else {
        for (number, chunk) in items.chunks_mut(size).enumerate() {
            of(number, chunk, buffers);
        }
    }
}
