//! Integers and bool.

use super::{Accumulator, Element, Integer, Rank, Real, Sum128, Type, Unscaled, Wide};

/// An integer: its name, the unsigned one of its bits, what it compares as, what its sums are carried in. `flip` are the bits to
/// turn over for the rank. The ranks of a signed integer and the unsigned one of the same bits differ in their sign bit alone, so
/// that [`Real::rank_as_signed`] is one instruction: that is `sign`, of the unsigned ones.
macro_rules! integer {
    (
        $int:ident, $type:ident, bits: $bits:ident, rank: $rank:ident, flip: $flip:expr, $(sign: $sign:expr,)?
        wide: $wide:ident, sums: $sums:ident $(($leaf_in_wide:literal))?, small: $small:expr $(, packed: $packed:ident)?
    ) => {
        impl Element for $int {
            const TYPE: Type = Type::$type;
            #[inline]
            fn from_bits(bits: u64) -> Self {
                bits as $int
            }
            type Wide = $wide;
            #[inline]
            fn wide(self) -> $wide {
                $wide::from(self)
            }
            type Total = $wide;
            #[inline]
            fn total(wide: $wide) -> $wide {
                wide
            }
            type Scale = Unscaled;
            type Accumulator = $sums;
            #[inline]
            fn accumulator(wide: $wide) -> $sums {
                $sums::from(wide)
            }
            $(const LEAF_IN_WIDE: bool = $leaf_in_wide;)?
            #[inline]
            fn sum(sum: $sums) -> $wide {
                Whole::wrapped(sum) as $wide
            }
            type Mean = f64;
            #[inline]
            fn mean(sum: $sums, count: u64) -> f64 {
                sum.rounded() / count as f64
            }
            const SMALL: Option<fn(Self) -> i32> = $small;
        }

        impl Real for $int {
            type Rank = $rank;
            #[inline]
            fn rank(self) -> $rank {
                self as $bits as $rank ^ $flip
            }
            #[inline]
            fn from_rank(rank: $rank) -> Self {
                (Self::nearest(rank) ^ $flip) as $int
            }
            #[inline]
            fn nearest(rank: $rank) -> $rank {
                let (lowest, highest) = (Real::rank($int::MIN), Real::rank($int::MAX));
                let rank = if rank < lowest { lowest } else { rank };
                if rank > highest { highest } else { rank }
            }
            $(#[inline]
            fn rank_as_signed(rank: $rank, yes: bool) -> $rank {
                rank ^ ($sign & -$rank::from(yes))
            })?
            $(
                const PACKED: bool = true;
                #[inline(always)]
                fn beyond(word: u32, zero: i32, bar: Option<i32>) -> u32 {
                    $packed(word, $bits::BITS, zero, bar)
                }
            )?
            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline]
            fn measure(value: f64) -> f64 {
                <f64 as Real>::measure(value)
            }
            type Computed = f64;
            #[inline]
            fn computed(self) -> f64 {
                self.to_f64()
            }
        }

        impl Integer for $int {}
    };
}

integer!(i8, I8, bits: u8, rank: i32, flip: 0x80, wide: i64, sums: i64, small: Some(i32::from), packed: beyond);
integer!(i16, I16, bits: u16, rank: i32, flip: 0x8000, wide: i64, sums: i64, small: Some(i32::from), packed: beyond);
integer!(i32, I32, bits: u32, rank: i32, flip: 0, wide: i64, sums: Sum128(true), small: None);
integer!(i64, I64, bits: u64, rank: i64, flip: 0, wide: i64, sums: Sum128, small: None);
integer!(u8, U8, bits: u8, rank: i32, flip: 0, sign: 0x80, wide: u64, sums: u64, small: Some(i32::from), packed: beyond);
integer!(u16, U16, bits: u16, rank: i32, flip: 0, sign: 0x8000, wide: u64, sums: u64, small: Some(i32::from), packed: beyond);
integer!(u32, U32, bits: u32, rank: i32, flip: i32::MIN, sign: i32::MIN, wide: u64, sums: Sum128(true), small: None);
integer!(u64, U64, bits: u64, rank: i64, flip: i64::MIN, sign: i64::MIN, wide: u64, sums: Sum128, small: None);

/// [`Real::beyond`] of elements of `bits` bits.
///
/// An element is no less than another number where its highest bit is set and its low bits are no less, if the other has that bit; where
/// either is so, if it has not. Low bits are compared by adding what the other's lack of the highest bit: the sum has it where they are no
/// less, and never runs into the next element.
#[inline(always)]
fn beyond(word: u32, bits: u32, zero: i32, bar: Option<i32>) -> u32 {
    let all = (1 << bits) - 1;
    let each = u32::MAX / all as u32;
    let highest = each << (bits - 1);
    let half = 1 << (bits - 1);
    // The least number that is beyond, of those that elements are once some bits are turned over; there may be none.
    let least = match bar {
        None => 0,
        Some(bar) => i32::clamp(bar - (zero & !all) + 1, 0, all + 1),
    };
    let (lacks, either) = if least <= half {
        (half - least, u32::MAX)
    } else {
        (2 * half - least, 0)
    };
    let numbers = word ^ ((zero & all) as u32 * each);
    let sums = (numbers & !highest) + lacks as u32 * each;
    (sums & numbers | (sums | numbers) & either) & highest
}

impl Element for bool {
    const TYPE: Type = Type::Bool;
    /// Any byte but zero is true.
    #[inline]
    fn from_bits(bits: u64) -> Self {
        bits & 0xff != 0
    }
    type Wide = i64;
    #[inline]
    fn wide(self) -> i64 {
        i64::from(self)
    }
    type Total = i64;
    #[inline]
    fn total(wide: i64) -> i64 {
        wide
    }
    sums_in_wide!();
    type Scale = Unscaled;
    type Mean = f64;
    #[inline]
    fn mean(sum: i64, count: u64) -> f64 {
        i8::mean(sum, count)
    }
    const SMALL: Option<fn(Self) -> i32> = Some(i32::from);
}

/// Sums of integers.
trait Whole {
    /// Modulo 2⁶⁴.
    fn wrapped(self) -> u64;
    /// The nearest f64.
    fn rounded(self) -> f64;
}

impl Whole for Sum128 {
    #[inline]
    fn wrapped(self) -> u64 {
        self.low
    }
    #[inline]
    fn rounded(self) -> f64 {
        self.to_f64()
    }
}

impl Real for bool {
    type Rank = i32;
    #[inline]
    fn rank(self) -> i32 {
        i32::from(self)
    }
    #[inline]
    fn from_rank(rank: i32) -> Self {
        rank > 0
    }
    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
    #[inline]
    fn measure(value: f64) -> f64 {
        <f64 as Real>::measure(value)
    }
    type Computed = f64;
    #[inline]
    fn computed(self) -> f64 {
        self.to_f64()
    }
}

/// Ranks and wide integers: two's complement, sums wrap around.
macro_rules! rank {
    ($int:ident) => {
        impl Rank for $int {
            const LOWEST: Self = $int::MIN;
            const HIGHEST: Self = $int::MAX;
            #[inline]
            fn reversed(self, yes: bool) -> Self {
                self ^ -$int::from(yes)
            }
            #[inline]
            fn zeros_alike(self) -> Self {
                self
            }
            #[inline]
            fn higher(self, other: Self) -> Self {
                Ord::max(self, other)
            }
            type Key = Self;
            const NOTHING: Self = $int::MIN;
            const UNORDERED: Option<Self> = None;
            #[inline]
            fn key(self) -> Self {
                self
            }
            #[inline]
            fn of_key(key: Self) -> Self {
                key
            }
            #[inline]
            fn bar(key: Self) -> Self {
                key
            }
            #[inline]
            fn below(self) -> Option<Self> {
                (self != $int::MIN).then_some($int::wrapping_sub(self, 1))
            }
        }
    };
}

rank!(i32);
rank!(i64);

macro_rules! wide {
    ($int:ident) => {
        impl Whole for $int {
            #[inline]
            fn wrapped(self) -> u64 {
                self as u64
            }
            #[inline]
            fn rounded(self) -> f64 {
                self as f64
            }
        }

        impl Accumulator for $int {
            const EXACT: bool = true;
            const NOTHING: Self = 0;
            const ZERO: Self = 0;
            #[inline]
            fn plus(self, other: Self) -> Self {
                $int::wrapping_add(self, other)
            }
        }

        impl Wide for $int {
            const ONE: Self = 1;
            #[inline]
            fn times(self, other: Self) -> Self {
                $int::wrapping_mul(self, other)
            }
            #[inline]
            fn of_small(small: i32) -> Self {
                small as $int
            }
        }
    };
}

wide!(i64);
wide!(u64);
