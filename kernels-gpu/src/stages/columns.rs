//! What a lane holds of the rows of a [row operation](crate::rowwise), in f32; what is read beside them, the weights of columns; and what becomes of elements.

use crate::{
    arithmetic::{
        narrow::{f32_bits, maximum_bf16_pair, maximum_f16_pair, to_bf16, to_f16},
        single,
    },
    element::{Element, Item as _, Type, bf16, f16},
    rowwise::Column,
    simt::Simt,
    stages::{
        each::each,
        load::words::{WORDS, load_element},
    },
};

/// The most elements of a vector of floats.
pub const MOST: usize = 8;

/// What is made of each element of a vector: the first 4 or 8.
pub type Held<X> = [X; MOST];

/// The elements that a row operation writes, or the weights that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Floats {
    /// f32.
    F32,
    /// f16.
    F16,
    /// bf16.
    Bf16,
}

impl Floats {
    /// By what a launch passes: the number.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub const fn of_params(number: u32) -> Self {
        match number & 3 {
            0 => Self::F32,
            1 => Self::F16,
            _ => Self::Bf16,
        }
    }

    /// Those of a type of elements; none of other types.
    #[must_use]
    pub const fn of(element: Type) -> Option<Self> {
        match element {
            Type::F32 => Some(Self::F32),
            Type::F16 => Some(Self::F16),
            Type::Bf16 => Some(Self::Bf16),
            _ => None,
        }
    }

    /// Bytes of one.
    #[must_use]
    pub const fn bytes(self) -> usize {
        1 << self.shift()
    }

    /// The bits of a zero or an infinity.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn simple_bits(self, value: f32) -> u32 {
        let bits = value.to_bits();
        let is_infinite = bits << 1 != 0;
        match self {
            Self::F32 => bits,
            Self::F16 => bits >> 16 & 0x8000 | if is_infinite { 0x7c00 } else { 0 },
            Self::Bf16 => bits >> 16,
        }
    }

    /// Two numbers, rounded; of f32 the first.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn narrow(self, low: f32, high: f32) -> u32 {
        match self {
            Self::F32 => f32_bits(low),
            Self::F16 => to_f16(low, high),
            Self::Bf16 => to_bf16(low, high),
        }
    }

    /// Of each two elements in a word the larger one.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn larger(self, a: u32, b: u32) -> u32 {
        match self {
            Self::F32 => single::maximum_bits(a, b),
            Self::F16 => maximum_f16_pair(a, b),
            Self::Bf16 => maximum_bf16_pair(a, b),
        }
    }

    /// One element, by its bits: exact.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn widen(self, bits: u32) -> f32 {
        match self {
            Self::F32 => f32::from_bits(bits),
            Self::F16 => f16::from_bits(bits as u16).wide(),
            Self::Bf16 => bf16::from_bits(bits as u16).wide(),
        }
    }

    /// The elements of words, those of a vector: exact. One branch for all of them.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn unpack<T: Element>(self, words: [u32; WORDS]) -> Held<f32> {
        let mut values = [0.0; MOST];
        if T::BYTES == 4 {
            each!(column < WORDS, 4 => values[column] = f32::from_bits(words[column]));
        } else if let Self::F16 = self {
            each!(column < MOST => {
                values[column] = f16::from_bits((words[column / 2] >> (16 * (column % 2))) as u16).wide();
            });
        } else {
            each!(column < MOST => {
                values[column] = bf16::from_bits((words[column / 2] >> (16 * (column % 2))) as u16).wide();
            });
        }
        values
    }

    /// The logarithm of that.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) const fn shift(self) -> u32 {
        match self {
            Self::F32 => 2,
            Self::F16 | Self::Bf16 => 1,
        }
    }
}

/// An array of floats with one for each column.
#[derive(Clone, Copy)]
pub struct Weights {
    start: *const u8,
    floats: Floats,
}

impl Weights {
    /// From an address on; null where there are none.
    ///
    /// # Safety
    ///
    /// It is null, or valid for a float of each column that the launch has, or of each that share one. Nobody writes one, but the one thread that reads it, once it has.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub const unsafe fn new(start: *const u8, floats: Floats) -> Self {
        Self { start, floats }
    }

    /// The first; null where there are none.
    pub(crate) fn start(self) -> *const u8 {
        self.start
    }

    /// What they are.
    pub(crate) fn floats(self) -> Floats {
        self.floats
    }

    /// Those of four columns that there are, the first being that of column `first`, aligned to as many bytes as they are: `otherwise` where there are no weights.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn load<S: Simt>(self, simt: S, first: u64, otherwise: f32) -> [f32; WORDS] {
        let mut values = [otherwise; WORDS];
        if self.start.is_null() {
            return values;
        }
        let from = self
            .start
            .wrapping_add((first as usize) << self.floats.shift())
            .cast::<u32>();
        // SAFETY: they are among those that the maker of this has.
        unsafe {
            if let Floats::F32 = self.floats {
                let words = simt.load_shared_input_vector(from);
                each!(i < WORDS, 4 => values[i] = f32::from_bits(words[i]));
            } else {
                let [a, b] = simt.load_shared_input_pair(from);
                let all = self.floats.unpack::<u16>([a, b, 0, 0]);
                each!(i < WORDS, 4 => values[i] = all[i]);
            }
        }
        values
    }

    /// Eight of them that there are, aligned to 16 bytes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn load_eight<S: Simt>(self, simt: S, first: u64) -> Held<f32> {
        debug_assert!(!self.start.is_null(), "there are some");
        let at = self
            .start
            .wrapping_add((first as usize) << self.floats.shift())
            .cast::<u32>();
        // SAFETY: as of `load`.
        unsafe {
            if let Floats::F32 = self.floats {
                let [a, b, c, d] = simt.load_shared_input_vector(at).map(f32::from_bits);
                let [e, f, g, h] = simt
                    .load_shared_input_vector(at.wrapping_add(WORDS))
                    .map(f32::from_bits);
                [a, b, c, d, e, f, g, h]
            } else {
                self.floats.unpack::<u16>(simt.load_shared_input_vector(at))
            }
        }
    }

    /// Whether vectors of them can be [asked for](Self::ask): those that there are are of the rows' type.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn can_be_asked_for(self, floats: Floats) -> bool {
        self.start.is_null() || self.floats == floats
    }

    /// A vector of them as they lie, aligned and of the rows' type, if it is wanted: what is made of it can wait until it is there. `otherwise` where there are none.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn ask<S: Simt>(
        self,
        simt: S,
        floats: Floats,
        first: u64,
        is_wanted: bool,
        otherwise: f32,
    ) -> [u32; WORDS] {
        if is_wanted && !self.start.is_null() {
            let from = self.start.wrapping_add((first as usize) << floats.shift());
            // SAFETY: as of `load`.
            unsafe { simt.load_shared_input_vector(from.cast()) }
        } else {
            [floats.narrow(otherwise, otherwise); WORDS]
        }
    }

    /// That of one column that there is.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn load_one<S: Simt>(self, simt: S, column: u64, otherwise: f32) -> f32 {
        if self.start.is_null() {
            return otherwise;
        }
        let from = self.start.wrapping_add((column as usize) << self.floats.shift());
        // SAFETY: as of `load`.
        unsafe {
            match self.floats {
                Floats::F32 => f32::from_bits(load_element::<S, f32>(simt, from.cast()) as u32),
                Floats::F16 => f16::from_bits(load_element::<S, u16>(simt, from.cast()) as u16).wide(),
                Floats::Bf16 => bf16::from_bits(load_element::<S, u16>(simt, from.cast()) as u16).wide(),
            }
        }
    }
}

/// Whose weights are whose. Most operations have one of each column. Otherwise row `r` has those of group `r mod groups`, and neighbouring columns share one: that of a column is
/// number `(r mod groups · len + column) / span`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Shares {
    /// Rows with weights of their own, before those of the first come again.
    pub groups: u64,
    /// Columns that share a weight.
    pub span: u64,
    /// `1 / span`: to multiply by it takes far fewer registers than to divide.
    inverse: f64,
}

impl Shares {
    /// A weight of each column, for all rows.
    pub const NONE: Self = Self::of(1, 1);

    /// Of so many groups, and so many columns; of none as of one.
    #[must_use]
    pub const fn of(groups: u64, span: u64) -> Self {
        let span = if span == 0 { 1 } else { span };
        Self {
            groups: if groups == 0 { 1 } else { groups },
            span,
            inverse: 1.0 / span as f64,
        }
    }

    /// Whether there is one of each column.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub const fn are_none(self) -> bool {
        self.groups == 1 && self.span == 1
    }

    /// A place divided by the span, and what is left: below 2⁵⁰, as all are that there is memory for.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn divided(self, place: u64) -> (u64, u64) {
        const WHOLE: f64 = (1_u64 << 52) as f64;
        // An addition rounds to the nearest whole number, which is the quotient or one more.
        let nearest = (place as f64 * self.inverse + WHOLE).to_bits() - WHOLE.to_bits();
        let number = nearest - u64::from(nearest * self.span > place);
        (number, place - number * self.span)
    }
}

/// The weights and the biases of a row operation.
#[derive(Clone, Copy)]
pub struct ColumnParams {
    /// What elements are multiplied by.
    pub weight: Weights,
    /// What is added.
    pub bias: Weights,
    /// Whose they are.
    pub shares: Shares,
    /// Columns of the groups before the row's.
    pub before: u64,
}

/// Those of four columns.
#[derive(Clone, Copy)]
pub(crate) struct Loaded {
    weights: [f32; WORDS],
    biases: [f32; WORDS],
}

impl Loaded {
    /// Where there are none.
    pub(crate) const PLAIN: Self = Self {
        weights: [Column::PLAIN.weight; WORDS],
        biases: [Column::PLAIN.bias; WORDS],
    };

    /// Half of the weights of a vector, or all of 4 bytes, by its words; and of the biases, if there are any.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn of_words<T: Element>(
        floats: Floats,
        weights: [u32; WORDS],
        biases: Option<[u32; WORDS]>,
        half: usize,
    ) -> Self {
        let (all, mut columns) = (floats.unpack::<T>(weights), Self::PLAIN);
        each!(i < WORDS, 4 => columns.weights[i] = all[(half * WORDS + i) % MOST]);
        if let Some(biases) = biases {
            let all = floats.unpack::<T>(biases);
            each!(i < WORDS, 4 => columns.biases[i] = all[(half * WORDS + i) % MOST]);
        }
        columns
    }

    /// That of one of them.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn column(&self, column: usize) -> Column {
        Column {
            weight: self.weights[column],
            bias: self.biases[column],
        }
    }
}

impl ColumnParams {
    /// Those of a row of `len` elements.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn of_row(self, row: u64, len: u64) -> Self {
        // It is not 0. That it is said so is for the compiler, which would have a panic for it.
        let before = row % self.shares.groups.max(1) * len;
        Self { before, ..self }
    }

    /// One of each column, as it is known to be.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn each(self) -> Self {
        let shares = Shares::NONE;
        Self { shares, ..self }
    }

    /// The number of a column's weight, and which of those columns it is that share it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn number(self, column: u64) -> (u64, u64) {
        if self.shares.are_none() {
            (column, 0)
        } else {
            self.shares.divided(self.before + column)
        }
    }

    /// Those of four columns, the first `left` of which are there: all or none, and aligned, if they are `wide`.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn load<S: Simt>(self, simt: S, first: u64, left: u32, is_wide: bool) -> Loaded {
        let mut columns = Loaded::PLAIN;
        let Loaded { weights, biases } = &mut columns;
        if is_wide && self.shares.are_none() {
            if left > 0 {
                *weights = self.weight.load(simt, first, Column::PLAIN.weight);
                *biases = self.bias.load(simt, first, Column::PLAIN.bias);
            }
            return columns;
        }
        // In a loop, for it is seldom run: each in turn is put behind the others. One that is shared is read once.
        let (mut number, mut within) = self.number(first);
        let mut next = Column::PLAIN;
        let mut column = simt.opaque(0);
        while column < WORDS as u32 {
            if column >= left {
                next = Column::PLAIN;
            } else if column == 0 || within == 0 {
                next = self.load_number(simt, number);
            }
            within += 1;
            if within >= self.shares.span {
                (number, within) = (number + 1, 0);
            }
            *weights = [weights[1], weights[2], weights[3], next.weight];
            *biases = [biases[1], biases[2], biases[3], next.bias];
            column = simt.opaque(column + 1);
        }
        columns
    }

    /// That of one column that there is.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn load_one<S: Simt>(self, simt: S, column: u64) -> Column {
        self.load_number(simt, self.number(column).0)
    }

    /// The weight and the bias of that number.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn load_number<S: Simt>(self, simt: S, number: u64) -> Column {
        Column {
            weight: self.weight.load_one(simt, number, Column::PLAIN.weight),
            bias: self.bias.load_one(simt, number, Column::PLAIN.bias),
        }
    }
}

#[cfg(test)]
mod tests;
