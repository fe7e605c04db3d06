//! What a lane folds of a leaf of a tensor, of whichever type.

use core::marker::PhantomData;

use super::TensorEntry;
use crate::{
    element::{Element, bf16, f16},
    monoids::{Counted, Monoid, NormL1, TensorNorm},
    simt::Simt,
    stages::{
        columns::Floats,
        load::{
            contiguous,
            extents::Input,
            source::Source,
            words::{self, Vectors, WORDS, each_row},
        },
        reduce::warp::RowStates,
    },
    tree::{Part, PartFold as _, ROWS, VECTOR_BYTES, pending::Pending, row_elements, vector_elements},
};

/// Leaves of a tensor that are neighbours: at most `count`, from number `first` on. Those that are not there hold the identity.
#[derive(Clone, Copy)]
pub(super) struct Leaves<S, N> {
    pub(super) simt: S,
    pub(super) norm: N,
    pub(super) tensor: TensorEntry,
    pub(super) first: u64,
    pub(super) count: u32,
}

impl<S: Simt, N: TensorNorm> RowStates<(N::State, u64)> for &mut Leaves<S, N> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn row(&mut self, number: u32) -> (N::State, u64) {
        let Leaves { simt, norm, .. } = **self;
        let floats = self.tensor.floats();
        let leaf = self.first + u64::from(number);
        let is_there = number < self.count && leaf * super::leaf_elements(floats) < self.tensor.len;
        if !is_there {
            return Counted(norm).identity();
        }
        let words = self.load(leaf);
        let state = if N::ALGEBRA.fuses {
            fold_in_turn(simt, norm, words, floats)
        } else {
            match floats {
                Floats::F32 => norm.part_fold().fold_part(Widened::<f32>::of(words)),
                Floats::F16 => norm.part_fold().fold_part(Widened::<f16>::of(words)),
                Floats::Bf16 => norm.part_fold().fold_part(Widened::<bf16>::of(words)),
            }
        };
        let count = if norm.is_finite(state) {
            0
        } else {
            count_not_finite(simt, words, floats)
        };
        (state, count.into())
    }
}

impl<S: Simt, N: TensorNorm> Leaves<S, N> {
    /// This lane's part of a leaf, zeros where there is no element: no norm notices those.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn load(&self, leaf: u64) -> Vectors<ROWS> {
        let Self { simt, tensor, .. } = *self;
        let bytes = tensor.len * tensor.floats().bytes() as u64;
        // A vector's words are the same, whatever they are of.
        // SAFETY: a table's tensors are valid.
        let input = unsafe { Input::<f32>::new(tensor.address::<f32>(), bytes / 4) };
        if let Some(read) = contiguous::load_whole(simt, NormL1, input, leaf) {
            read.words
        } else if input.is_aligned() && bytes.is_multiple_of(VECTOR_BYTES as u64) {
            contiguous::load_first_rows::<_, _, _, ROWS>(simt, NormL1, input, leaf, true).words
        } else {
            load_in_turns(simt, tensor, leaf)
        }
    }
}

/// The same of any alignment and length, a row in a turn: little code, for most tensors have whole vectors. All of it is taken as halves, which f32 are two of.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn load_in_turns<S: Simt>(simt: S, tensor: TensorEntry, leaf: u64) -> Vectors<ROWS> {
    let halves = tensor.len * (tensor.floats().bytes() / 2) as u64;
    // SAFETY: a table's tensors are valid.
    let all = unsafe { Input::<f16>::new(tensor.address::<f16>(), halves) };
    words::rows_in_turns::<S, 1>(simt, |row| {
        let rest = all.from((row * row_elements::<f16>()) as u64);
        contiguous::load_first_rows::<S, f16, NormL1, 1>(simt, NormL1, rest, leaf, false).words[0]
    })
}

/// What was read, of elements of `T`, as the f32 that each is.
#[derive(Clone, Copy)]
struct Widened<T> {
    words: Vectors<ROWS>,
    of: PhantomData<T>,
}

impl<T: Element> Widened<T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of(words: Vectors<ROWS>) -> Self {
        let of = PhantomData;
        Self { words, of }
    }
}

impl<T: Element<Wide = f32>> Part<f32> for Widened<T> {
    const COLUMNS: usize = vector_elements::<T>();
    const AT_HAND: bool = true;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lift<M: Monoid<f32>>(self, op: M, row: usize, column: usize) -> M::State {
        op.lift(<T as Source>::item(&self.words, row, column).wide(), 0)
    }
}

/// Folds what was read column by column, in little code: for a norm that has much for each element.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_in_turn<S: Simt, N: TensorNorm>(simt: S, norm: N, words: Vectors<ROWS>, floats: Floats) -> N::State {
    let mut pending = Pending::<N::State, 3>::nothing::<f32, N>(norm);
    let columns = simt.opaque((VECTOR_BYTES / floats.bytes()) as u32);
    let mut words = words;
    let mut column = 0;
    while column < columns {
        let state;
        (state, words) = fold_column(simt, norm, words, floats);
        pending.push(simt, norm, column, state);
        words = next_column(words, floats, column);
        column += 1;
    }
    pending.total(simt, norm, columns)
}

/// Folds the first column, two rows in a turn, and gives back the words: their rows have gone round once.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_column<S: Simt, N: TensorNorm>(
    simt: S,
    norm: N,
    words: Vectors<ROWS>,
    floats: Floats,
) -> (N::State, Vectors<ROWS>) {
    const { assert!(ROWS == 8, "four turns are two levels") };
    let mut pending = Pending::<N::State, 2>::nothing::<f32, N>(norm);
    let mut words = words;
    let (mut turn, turns) = (simt.opaque(0), simt.opaque(ROWS as u32 / 2));
    while turn < turns {
        let (low, high) = (first(words[0][0], floats), first(words[1][0], floats));
        let both = norm.combine(norm.lift(low, 0), norm.lift(high, 0));
        pending.push(simt, norm, turn, both);
        words = each_row(|row| words[(row + 2) % ROWS]);
        turn = simt.opaque(turn + 1);
    }
    (pending.total(simt, norm, ROWS as u32 / 2), words)
}

/// The first element of a word.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn first(word: u32, floats: Floats) -> f32 {
    match floats {
        Floats::F32 => f32::from_bits(word),
        Floats::F16 => f16::from_bits(word as u16).wide(),
        Floats::Bf16 => f32::from_bits(word << 16),
    }
}

/// The same words with the column behind number `column` first. Behind the last they are as they were.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn next_column(words: Vectors<ROWS>, floats: Floats, column: u32) -> Vectors<ROWS> {
    let is_half = floats.bytes() < 4;
    let turn = if is_half { 16 } else { 0 };
    let stays = is_half && column & 1 == 0;
    each_row(|row| next_of_row(words[row], turn, stays))
}

#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn next_of_row([a, b, c, d]: [u32; WORDS], turn: u32, stays: bool) -> [u32; WORDS] {
    let a = u32::rotate_right(a, turn);
    if stays { [a, b, c, d] } else { [b, c, d, a] }
}

/// How many elements of what was read are infinite or NaN: in a loop, for few lanes ever ask.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn count_not_finite<S: Simt>(simt: S, words: Vectors<ROWS>, floats: Floats) -> u32 {
    let exponents = Exponents::of(floats);
    let (mut words, mut count) = (words, 0);
    let (mut turn, turns) = (0, simt.opaque(WORDS as u32));
    while turn < turns {
        macro_rules! write_out {
            ($($row:literal)*) => {
                $(count += exponents.count(words[$row][0]);)*
            };
        }
        write_out!(0 1 2 3 4 5 6 7);
        words = each_row(|row| next_of_row(words[row], 0, false));
        turn += 1;
    }
    count
}

/// Where in a word the exponents of its elements are. All of one's bits are ones where the element is infinite or NaN.
#[derive(Clone, Copy)]
struct Exponents {
    high: u32,
    low: u32,
    /// What the lower one's bits are then: of f32, which has none, never.
    low_if_so: u32,
}

impl Exponents {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of(floats: Floats) -> Self {
        let half = match floats {
            Floats::F16 => 0x7c00,
            Floats::F32 | Floats::Bf16 => 0x7f80,
        };
        let is_one = matches!(floats, Floats::F32);
        Self {
            high: half << 16,
            low: if is_one { 0 } else { half },
            low_if_so: half,
        }
    }

    /// How many elements of a word are infinite or NaN.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn count(self, word: u32) -> u32 {
        u32::from(word & self.high == self.high) + u32::from(word & self.low == self.low_if_so)
    }
}
