//! Weights and biases of what a lane holds: asked for as vectors, where they can be, so that all are under way together.

use super::{Mode, Variant, read::Lane};
use crate::{
    element::{Element, Item as _},
    rowwise::{Column, RowOp},
    simt::Simt,
    stages::{
        columns::{ColumnParams, Loaded},
        each::each,
        load::words::WORDS,
    },
};

impl<S: Simt, T: Element, O: RowOp, V: Variant, const N: usize> Lane<S, T, O, V, N> {
    /// Asks for the weights of what is there, where they are [alone](RowOp::HAS_BIASES): they are under way with the row, or while it is folded.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn ask(&mut self) {
        let are_mapped = O::HAS_COLUMNS && !O::HAS_BIASES && self.arguments.mode != Mode::Fold;
        if !(are_mapped || O::TAKES_COLUMNS) || !self.can_ask() {
            return;
        }
        let mut asked = [[[0; WORDS]; N]; 2];
        each!(row < N, 4 => if row == 0 || self.row_step.is_none() {
            [asked[0][row], asked[1][row]] = self.asked_of(row);
        });
        self.asked = Some(asked);
    }

    /// Asks for the weights and biases of a row's vector, of operations with [biases](RowOp::HAS_BIASES) on f32. Not of 16 bits: on H200s on
    /// 2026-11-28 layer norm of 8,192 × 8,192 bf16 took 88.9 µs so, and 80.7 in an earlier run without.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn ask_late(&mut self, row: usize) {
        if O::HAS_COLUMNS && O::HAS_BIASES && T::BYTES == 4 && row < N && self.can_ask() {
            let mut asked = self.asked.unwrap_or([[[0; WORDS]; N]; 2]);
            [asked[0][row], asked[1][row]] = self.asked_of(row);
            self.asked = Some(asked);
        }
    }

    /// Whether vectors of weights and biases can be asked for.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn can_ask(&self) -> bool {
        let (ColumnParams { weight, bias, .. }, floats) = (self.arguments.columns, self.arguments.floats);
        let has_biases = O::HAS_COLUMNS && O::HAS_BIASES;
        V::PLAIN && weight.can_be_asked_for(floats) && (!has_biases || bias.can_be_asked_for(floats))
    }

    /// The weights and biases of a row's vector.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn asked_of(&self, row: usize) -> [[u32; WORDS]; 2] {
        let Self { simt, arguments, .. } = *self;
        let (ColumnParams { weight, bias, .. }, floats) = (arguments.columns, arguments.floats);
        let position = self.position_of(row);
        let is_there = position.present() > 0;
        let weights = weight.ask(simt, floats, position.first(), is_there, Column::PLAIN.weight);
        let biases = if O::HAS_COLUMNS && O::HAS_BIASES {
            bias.ask(simt, floats, position.first(), is_there, Column::PLAIN.bias)
        } else {
            [0; WORDS]
        };
        [weights, biases]
    }

    /// Weights and biases of half a vector's columns, or all of 4 bytes; those of the elements that are there.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn columns(&self, row: usize, half: usize) -> Loaded {
        let left = self.position_of(row).present();
        self.first_columns(row, half, left)
    }

    /// The same of a vector's first columns, so many of which are there, visible or not.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn first_columns(&self, row: usize, half: usize, left: u32) -> Loaded {
        let Self { simt, arguments, .. } = *self;
        let before = half * WORDS;
        let left = u32::saturating_sub(left, before as u32);
        let first = self.position_of(row).first() + before as u64;
        debug_assert!(left == 0 || first < arguments.rows.len(), "columns of the row");
        match self.asked {
            _ if !O::HAS_COLUMNS && !O::TAKES_COLUMNS => Loaded::PLAIN,
            // Neighbouring short rows have the same.
            Some([weights, biases]) => {
                let row = if self.row_step.is_some() { 0 } else { row };
                let biases = (O::HAS_COLUMNS && O::HAS_BIASES).then_some(biases[row]);
                Loaded::of_words::<T>(arguments.floats, weights[row], biases, half)
            }
            None => arguments.columns.load(simt, first, left, self.is_wide),
        }
    }
}
