//! The types of elements: how memory holds one, how two compare, and what their sums are carried in.
//!
//! | elements | compare as ([`Rank`]) | sums ([`Accumulator`]) and products in ([`Wide`]) | their answer | mean | computed one by one in ([`Arithmetic`]) |
//! |---|---|---|---|---|---|
//! | f16, bf16, f32 | f32 | f32 | as the elements | as the elements | f32 |
//! | f64 | f64 | f64 | f64 | f64 | f64 |
//! | f8e4m3, f8e5m2 | f32 | f32 | f32 | f32 | f32 |
//! | complex32, complex64 | not | two f32 | as the elements | as the elements | not |
//! | complex128 | not | two f64 | as the elements | as the elements | not |
//! | bool, i8, i16, i32, i64 | i32, i64 | i64; sums of i32 and i64 in 128 bits | i64 | f64 | f64 |
//! | u8, u16, u32, u64 | i32, i64 | u64; sums of u32 and u64 in 128 bits | u64 | f64 | f64 |

/// Sums of an [`Element`] that are carried in its [`Wide`].
macro_rules! sums_in_wide {
    () => {
        type Accumulator = Self::Wide;
        #[inline]
        fn accumulator(wide: Self::Wide) -> Self::Wide {
            wide
        }
        #[inline]
        fn sum(sum: Self::Wide) -> Self::Total {
            Self::total(sum)
        }
    };
}

mod complex;
mod float;
mod fp8;
mod half;
mod integer;
mod item;
mod normed;
mod root;
mod scale;
mod sum128;

pub use complex::{Complex, complex32, complex64, complex128};
pub use fp8::{f8e4m3, f8e5m2};
pub use half::{bf16, f16};
pub use item::{Item, Masked, Operands, Two};
pub use normed::Normed;
pub use scale::{Factor, Scale, Squares, Unscaled};
pub use sum128::Sum128;

pub(crate) use scale::in_pairs;

use core::ops::{BitAnd, BitOr, BitXor, Not};

use crate::words::Words;

/// A type of elements, as a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Type {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
    F8E4M3,
    F8E5M2,
    Complex32,
    Complex64,
    Complex128,
}

impl Type {
    /// Every type.
    pub const ALL: [Self; 18] = [
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
        Self::F8E4M3,
        Self::F8E5M2,
        Self::Complex32,
        Self::Complex64,
        Self::Complex128,
    ];

    /// The type of that [name](Self::name).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|element| element.name() == name)
    }

    /// Its name in Rust and in the kernels' symbols.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F8E4M3 => "f8e4m3",
            Self::F8E5M2 => "f8e5m2",
            Self::Complex32 => "complex32",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
        }
    }

    /// The unsigned integer of the same bits, of an integer or bool; itself of a float.
    #[must_use]
    pub const fn unsigned(self) -> Self {
        match self {
            Self::Bool | Self::I8 => Self::U8,
            Self::I16 => Self::U16,
            Self::I32 => Self::U32,
            Self::I64 => Self::U64,
            same => same,
        }
    }

    /// Whether it is an integer with a sign.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// The unsigned integer of the same size.
    ///
    /// # Panics
    ///
    /// If there is none: of complex128.
    #[must_use]
    pub const fn bits(self) -> Self {
        match self.bytes() {
            1 => Self::U8,
            2 => Self::U16,
            4 => Self::U32,
            8 => Self::U64,
            _ => panic!("no integer is as large"),
        }
    }

    /// Whether it is a real number with a fraction, whose highest bit is its sign.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16 | Self::Bf16 | Self::F32 | Self::F64 | Self::F8E4M3 | Self::F8E5M2
        )
    }

    /// Whether it has two parts.
    #[must_use]
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::Complex32 | Self::Complex64 | Self::Complex128)
    }

    /// The bits of +∞, of a float that has it.
    #[must_use]
    pub const fn infinity(self) -> Option<u64> {
        Some(match self {
            Self::F16 => 0x7c00,
            Self::Bf16 => 0x7f80,
            Self::F32 => 0x7f80_0000,
            Self::F64 => 0x7ff0_0000_0000_0000,
            Self::F8E5M2 => 0x7c,
            _ => return None,
        })
    }

    /// The lowest bits of a NaN without a sign, of a float; all that are higher are NaN, too.
    #[must_use]
    pub const fn lowest_nan(self) -> Option<u64> {
        match (self, self.infinity()) {
            (Self::F8E4M3, _) => Some(0x7f),
            (_, Some(infinity)) => Some(infinity + 1),
            _ => None,
        }
    }

    /// Bytes of one element, which is also its alignment.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 | Self::F8E4M3 | Self::F8E5M2 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 | Self::Complex32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::Complex64 => 8,
            Self::Complex128 => 16,
        }
    }
}

impl Type {
    /// The bits of the largest float: of +∞, where there is one.
    pub(crate) const fn largest_float(self) -> Option<u64> {
        match self {
            Self::F8E4M3 => Some(0x7e),
            _ => self.infinity(),
        }
    }

    /// The sign bit of a float.
    pub(crate) const fn sign(self) -> u64 {
        1 << (8 * self.bytes() - 1)
    }

    /// The bits of the number 1.
    pub(crate) const fn one(self) -> u64 {
        match self {
            Self::F8E4M3 => 0x38,
            Self::F8E5M2 => 0x3c,
            Self::F16 | Self::Complex32 => 0x3c00,
            Self::Bf16 => 0x3f80,
            Self::F32 | Self::Complex64 => 1_f32.to_bits() as u64,
            Self::F64 | Self::Complex128 => 1_f64.to_bits(),
            _ => 1,
        }
    }

    /// Word `i` of 0, and of floats of −0.0.
    const fn word_of_nothing(self, i: usize) -> u32 {
        match self {
            Self::F8E4M3 | Self::F8E5M2 => 0x80,
            Self::F16 | Self::Bf16 => 0x8000,
            Self::Complex32 => 0x8000_8000,
            Self::F32 | Self::Complex64 => 0x8000_0000,
            Self::F64 | Self::Complex128 if i % 2 == 1 => 0x8000_0000,
            _ => 0,
        }
    }
}

/// A type of elements.
pub trait Element: Words + PartialEq + Send + Sync + 'static {
    /// Its name.
    const TYPE: Type;

    /// The element that memory holds as the low bytes of `bits`; of more than 8 bytes the others are zeros.
    fn from_bits(bits: u64) -> Self;

    /// What products are carried in, and an element is widened to.
    type Wide: Wide;
    /// The element, exactly.
    fn wide(self) -> Self::Wide;
    /// What a sum or a product is answered as.
    type Total: Words;
    /// The answer, rounded once; every NaN gives the same one.
    fn total(wide: Self::Wide) -> Self::Total;

    /// What sums are carried in: [`Wide`](Self::Wide), but of integers of 32 and 64 bits 128 bits, so that the sum behind a mean never
    /// wraps around.
    type Accumulator: Accumulator;
    /// A number, or a sum that did not wrap around, exactly.
    fn accumulator(wide: Self::Wide) -> Self::Accumulator;
    /// Whether sums of a leaf's elements are added up in [`Wide`](Self::Wide) first, which holds them though it is not the accumulator.
    const LEAF_IN_WIDE: bool = false;
    /// The sum, rounded once; of integers modulo 2⁶⁴.
    fn sum(accumulator: Self::Accumulator) -> Self::Total;
    /// What a mean is answered as.
    type Mean: Words;
    /// The sum divided by the count: in f64, so that a count past 2²⁴ is not rounded first.
    fn mean(sum: Self::Accumulator, count: u64) -> Self::Mean;

    /// By what their squares, and higher powers, are scaled.
    type Scale: Scale;

    /// The element as an i32, where 128 of them cannot overflow one: a lane then adds up its part of a leaf in 32 bits.
    const SMALL: Option<fn(Self) -> i32> = None;

    /// What no sum notices, to the bit: 0, and of floats −0.0.
    #[inline]
    fn nothing() -> Self {
        Self::from_words(|i| Self::TYPE.word_of_nothing(i))
    }

    /// Whether it is neither zero. A NaN is not zero.
    #[inline]
    fn is_nonzero(self) -> bool {
        self != Self::from_bits(0)
    }
}

/// Elements on the number line: they have an order, and all of them a value in f64.
pub trait Real: Element {
    /// What elements compare as: a number of the same order, the element itself but for its width, or of FP8 its scale.
    type Rank: Rank;
    /// The element's rank.
    fn rank(self) -> Self::Rank;
    /// The element of a rank; every NaN gives the same one.
    fn from_rank(rank: Self::Rank) -> Self;
    /// The nearest rank that an element has, to one that none may have: that of no element.
    #[inline]
    fn nearest(rank: Self::Rank) -> Self::Rank {
        rank
    }
    /// The rank of the signed integer of the same bits, where `yes`, of the rank of an unsigned one; and the way back.
    #[inline]
    fn rank_as_signed(rank: Self::Rank, yes: bool) -> Self::Rank {
        let _ = yes;
        rank
    }

    /// Whether several stand in a word, and [`beyond`](Self::beyond) compares them all at once.
    const PACKED: bool = false;
    /// Bits that are not all zero if a word holds an element whose rank is higher than `bar`, or a NaN, or any where there is no bar.
    /// `zero` is the rank of an element without a bit, in the order that is asked for, which it tells.
    #[inline]
    fn beyond(word: u32, zero: Self::Rank, bar: Option<Self::Rank>) -> u32 {
        let _ = (word, zero, bar);
        u32::MAX
    }

    /// The larger of two at each place of two words, in the order of [keys](Rank::key); all NaNs are one. Of floats for which newer GPUs
    /// have an instruction.
    const WORD_MAXIMUM: Option<fn(u32, u32) -> u32> = None;
    /// All bits of each of a word's that equals the other word's: zeros do, and a NaN equals nothing. Of the same floats.
    const WORD_EQUAL: Option<fn(u32, u32) -> u32> = None;

    /// In f64: exactly, but for integers of 64 bits, which are rounded.
    fn to_f64(self) -> f64;
    /// What is computed of one element in, before elements are combined: f32 of floats of up to 32 bits, f64 of others.
    type Computed: Arithmetic;
    /// The element there: exactly, but for integers of 64 bits, which are rounded.
    fn computed(self) -> Self::Computed;
    /// An answer that was computed in f64, rounded once to what a mean is answered as; every NaN gives the same one.
    fn measure(value: f64) -> Self::Mean;
}

/// Elements that have fractions, infinities and NaN.
pub trait Float: Real + Element<Mean = Self, Accumulator = <Self as Element>::Wide> {
    /// Rounded once, to nearest even; every NaN gives the same one.
    fn from_f64(value: f64) -> Self;
    /// The square root of `square`, rounded once: of a sum of squares of such elements.
    fn root(square: f64) -> Self;
    /// Its magnitude's rank.
    fn magnitude(self) -> Self::Rank;
    /// Its magnitude, wide.
    fn wide_magnitude(self) -> Self::Wide;
}

/// Floats that arithmetic is done in: f32 and f64.
pub trait Arithmetic: Float + Wide + Element<Wide = Self, Total = Self> {
    /// Its exponential, as [`arithmetic`](crate::arithmetic) has it.
    #[must_use]
    fn exp(self) -> Self;
}

/// Elements that are integers, whose bits are two's complement.
pub trait Integer:
    Element + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

/// What elements compare as.
pub trait Rank: Words + PartialOrd {
    /// Nothing is below.
    const LOWEST: Self;
    /// Nothing is above but NaN.
    const HIGHEST: Self;

    /// The same elements in the opposite order, where `yes`: a sign flipped, or all bits of an integer.
    fn reversed(self, yes: bool) -> Self;

    /// +0.0 for either zero, anything else as it is.
    fn zeros_alike(self) -> Self;

    /// The higher of two, in one instruction: of a number and a NaN the number, of two zeros either.
    #[must_use]
    fn higher(self, other: Self) -> Self;

    /// An integer of the same order, so that `max` is one instruction, and associative to the bit: −0.0 just below +0.0,
    /// NaN above everything.
    type Key: Words + Ord;
    /// The key.
    fn key(self) -> Self::Key;
    /// The key of no element, the lowest number there is: below the key of every float, and as a rank a NaN; of integers, which
    /// need all numbers, that of the lowest.
    const NOTHING: Self::Key;
    /// The key of a NaN, if there are any.
    const UNORDERED: Option<Self::Key>;
    /// The rank of a key.
    fn of_key(key: Self::Key) -> Self;

    /// The largest rank `bar` such that no `value <= bar` has a higher key than `key`.
    fn bar(key: Self::Key) -> Self;

    /// The largest rank that is less; none below the lowest, and none below a NaN.
    fn below(self) -> Option<Self>;

    /// Whether it is a NaN: then it beats every number.
    #[allow(clippy::eq_op)] // a NaN does not equal itself
    #[inline]
    fn unordered(self) -> bool {
        self != self
    }
}

/// What sums are carried in.
pub trait Accumulator: Words {
    /// Neutral to the bit in a sum: −0.0, for -0.0 + 0.0 is 0.0.
    const NOTHING: Self;
    /// Zero, the sum of an empty extent.
    const ZERO: Self;
    /// Whether sums are exact, modulo a power of two at least: then they associate.
    const EXACT: bool = false;
    /// The sum.
    #[must_use]
    fn plus(self, other: Self) -> Self;
}

/// What elements become and products are carried in: floats, or integers that wrap around.
pub trait Wide: Accumulator {
    /// Neutral in a product.
    const ONE: Self;
    /// The product.
    #[must_use]
    fn times(self, other: Self) -> Self;
    /// A small sum, exactly.
    fn of_small(small: i32) -> Self;
}
