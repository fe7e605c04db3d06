//! What a launch of a row operation passes.

use crate::{
    element::Type,
    kernels::Array,
    rowwise::Scale,
    stages::{
        columns::{Columns, Floats, Rows, Weights},
        load::{
            extents::Extents,
            source::{At, Source},
        },
    },
    tree::VECTOR_BYTES,
};

/// What a launch does with rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It folds and maps them; what was read stays in registers.
    #[default]
    Whole,
    /// It folds leaves, and writes their states.
    Fold,
    /// It maps rows whose states were folded before.
    Map,
}

/// All of it, in one parameter: the host writes what the kernel reads. Each field is of 64 bits, as [`Launch`](crate::kernels::Launch)'s.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RowLaunch {
    /// The arrays; the second is zeros if there is but one.
    pub arrays: [Array; 2],
    /// Elements of a row.
    pub len: u64,
    /// How many rows there are.
    pub count: u64,
    /// [`Extents::layout`].
    pub layout: *const u64,
    /// [`Rows::start`].
    pub out: *mut u8,
    /// [`Rows::stride`].
    pub out_stride: i64,
    /// From an element of a row of the answers to the next.
    pub out_step: i64,
    /// As `layout`, of the answers, where their elements lie apart.
    pub out_layout: *const u64,
    /// What rows, weights and biases are of, by the numbers of [`Floats`]: two bits each, that of rows lowest; then the [`Mode`]; then what the operation is passed.
    pub flags: u64,
    /// The weights, the biases.
    pub columns: [*const u8; 2],
    /// [`Arguments::statistics`].
    pub statistics: [*mut u32; 2],
    /// [`Arguments::states`].
    pub states: *mut u32,
    /// [`Arguments::row_states`].
    pub row_states: *mut u32,
    /// [`Arguments::states_of_row`].
    pub states_of_row: u64,
    /// [`Arguments::leaves`].
    pub leaves: u64,
    /// [`Arguments::blocks`].
    pub blocks: u64,
    /// [`Arguments::period`].
    pub period: u64,
    /// [`Arguments::shown`].
    pub shown: i64,
    /// Two numbers that the operation is passed: the bits of an f32 each, the first lower.
    pub numbers: u64,
}

/// What an operation is passed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowParams {
    /// The magnitude of a scale and its exponent; an ε, and what is added to weights.
    pub numbers: [f32; 2],
    /// Whether a row of nothing visible has zeros.
    pub flag: bool,
    /// Whether a scale is negative.
    pub negates: bool,
}

impl RowParams {
    /// Of an operation that scales.
    #[must_use]
    pub fn of_scale(scale: Scale, flag: bool) -> Self {
        Self {
            numbers: [scale.magnitude, scale.exponent],
            flag,
            negates: scale.negates,
        }
    }

    /// The scale.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn scale(self) -> Scale {
        let [magnitude, exponent] = self.numbers;
        Scale {
            magnitude,
            exponent,
            negates: self.negates,
        }
    }

    /// The numbers, as a launch has them.
    #[must_use]
    pub fn bits(self) -> u64 {
        let [low, high] = self.numbers.map(|number| u64::from(number.to_bits()));
        low | high << 32
    }
}

/// Where in the flags things are.
const OUT: u32 = 0;
const WEIGHT: u32 = 2;
const BIAS: u32 = 4;
const MODE: u32 = 6;
const FLAG: u32 = 8;
const NEGATES: u32 = 9;
const WIDE: u32 = 10;

impl RowLaunch {
    /// The same flags, but [wide](Arguments::is_wide) if all of this is of whole vectors of an element's type: addresses, strides, and lengths.
    #[must_use]
    pub fn widened(self, element: Type, arrays: usize) -> Self {
        let vector = VECTOR_BYTES / element.bytes();
        let of_out = |at: u32| (vector * Floats::of_params(self.flags as u32 >> at).bytes()).min(VECTOR_BYTES);
        let is_whole = |address: usize, bytes: usize| address.is_multiple_of(bytes);
        let rows = self.arrays[..arrays].iter().all(|array| {
            is_whole(array.start.addr(), VECTOR_BYTES) && is_whole(array.stride.unsigned_abs() as usize, vector)
        });
        let columns = self.columns.iter().all(|start| is_whole(start.addr(), VECTOR_BYTES));
        let out = is_whole(self.out.addr(), of_out(OUT)) && is_whole(self.out_stride.unsigned_abs() as usize, vector);
        let is_wide = rows
            && columns
            && out
            && self.layout.is_null()
            && self.arrays[..arrays].iter().all(|array| array.step == 1)
            && self.period == 0
            && is_whole(self.len as usize, vector);
        Self {
            flags: self.flags | u64::from(is_wide) << WIDE,
            ..self
        }
    }

    /// The flags.
    #[must_use]
    pub fn flags(out: Floats, [weight, bias]: [Floats; 2], mode: Mode, params: RowParams) -> u64 {
        let bits = (out as u32) << OUT
            | (weight as u32) << WEIGHT
            | (bias as u32) << BIAS
            | (mode as u32) << MODE
            | u32::from(params.flag) << FLAG
            | u32::from(params.negates) << NEGATES;
        bits.into()
    }

    /// What is passed of the operation.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn params(&self) -> RowParams {
        RowParams {
            numbers: [
                f32::from_bits(self.numbers as u32),
                f32::from_bits((self.numbers >> 32) as u32),
            ],
            flag: self.flags as u32 >> FLAG & 1 != 0,
            negates: self.flags as u32 >> NEGATES & 1 != 0,
        }
    }

    /// The rest, of a kernel that reads items of `T`.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn arguments<T: Source>(&self) -> Arguments<T> {
        let [first, second] = self.arrays;
        let each = |array: usize| if array == 0 { first } else { second };
        let start: At<T> = T::each(|array| each(array).start.cast());
        let flags = self.flags as u32;
        let weights = |number: usize, at: u32| Weights {
            start: self.columns[number],
            floats: Floats::of_params(flags >> at),
        };
        Arguments {
            rows: Extents {
                start,
                len: self.len,
                count: self.count,
                stride: T::each(|array| each(array).stride),
                step: T::each(|array| each(array).step),
                layout: self.layout,
                around: T::each(|array| each(array).around),
            },
            columns: Columns {
                weight: weights(0, WEIGHT),
                bias: weights(1, BIAS),
            },
            out: Rows {
                start: self.out,
                stride: self.out_stride,
                floats: Floats::of_params(flags >> OUT),
            },
            to: Extents {
                stride: self.out_stride,
                step: self.out_step,
                layout: self.out_layout,
                ..Extents::one(core::ptr::null(), 0)
            },
            statistics: self.statistics,
            mode: match flags >> MODE & 3 {
                0 => Mode::Whole,
                1 => Mode::Fold,
                _ => Mode::Map,
            },
            states: self.states,
            row_states: self.row_states,
            states_of_row: self.states_of_row as u32,
            leaves: self.leaves as u32,
            blocks: self.blocks as u32,
            period: self.period,
            shown: self.shown,
            is_wide: flags >> WIDE & 1 != 0,
        }
    }
}

/// A launch, as a kernel that reads items of `T` takes it.
#[derive(Clone, Copy)]
pub struct Arguments<T: Source> {
    /// The rows, each in one run.
    pub rows: Extents<T>,
    /// Weights and biases.
    pub columns: Columns,
    /// Where the answers go.
    pub out: Rows,
    /// Where answers lie, counted from the first, where their elements lie apart.
    pub to: Extents<u8>,
    /// Where to write what else is known of each row; nowhere if null.
    pub statistics: [*mut u32; 2],
    /// What this launch does.
    pub mode: Mode,
    /// States of leaves: where this launch folds, it writes them.
    pub states: *mut u32,
    /// What they were combined to, where this launch maps: the states of rows, or of as many of their leaves.
    pub row_states: *mut u32,
    /// How many of those a row has.
    pub states_of_row: u32,
    /// Leaves of a row.
    pub leaves: u32,
    /// Blocks that have a row together: a cluster's, if this launch folds and maps.
    pub blocks: u32,
    /// Of row `r` only the first `r mod period + shown` elements are seen; all, if it is 0.
    pub period: u64,
    /// Whether all rows, weights and answers are aligned vectors, each whole or absent, rows a stride apart and seen as a whole.
    pub is_wide: bool,
    /// The same as `period`; where it comes to less than nothing, none is.
    pub shown: i64,
}
