//! f16 and bf16: carried as their bits, computed with as f32.
//!
//! The host has the types of the crate `half` for them, so that a caller's arrays are folded as they are; the kernels,
//! which have no dependencies, have their own.

use super::{Element, Float, Real, Type, Unscaled, root::root};
use crate::{
    arithmetic::narrow::{
        IS_ONE_INSTRUCTION, equal_bf16_pair, equal_f16_pair, maximum_bf16_pair, maximum_f16_pair, to_bf16, to_f16,
    },
    words::Words,
};

#[cfg(feature = "half")]
pub use ::half::{bf16, f16};
#[cfg(not(feature = "half"))]
pub use own::{bf16, f16};

#[cfg(not(feature = "half"))]
mod own {
    macro_rules! half {
        ($(#[$doc:meta])* $name:ident) => {
            $(#[$doc])*
            #[allow(non_camel_case_types)]
            #[derive(Clone, Copy, Debug)]
            #[repr(transparent)]
            pub struct $name(u16);

            impl $name {
                /// The number of those bits.
                #[inline]
                #[must_use]
                pub const fn from_bits(bits: u16) -> Self {
                    Self(bits)
                }
                /// Its bits.
                #[inline]
                #[must_use]
                pub const fn to_bits(self) -> u16 {
                    self.0
                }
            }

            impl PartialEq for $name {
                #[inline]
                fn eq(&self, other: &Self) -> bool {
                    super::Real::rank(*self) == super::Real::rank(*other)
                }
            }
        };
    }
    half!(
        /// IEEE 754 half precision: 5 bits of exponent, 10 of mantissa.
        f16
    );
    half!(
        /// The upper half of an f32: 8 bits of exponent, 7 of mantissa.
        bf16
    );
}

/// A format: how its bits become an f32, exactly, and the numbers that rounding to it needs.
macro_rules! half {
    ($half:ident, $type:ident, widen: $widen:path, maximum: $maximum:path, equal: $equal:path, narrow: $narrow:path, format: $format:expr) => {
        impl Element for $half {
            const TYPE: Type = Type::$type;
            #[inline]
            fn from_bits(bits: u64) -> Self {
                $half::from_bits(bits as u16)
            }
            type Wide = f32;
            #[inline]
            fn wide(self) -> f32 {
                self.rank()
            }
            type Total = Self;
            #[inline]
            fn total(wide: f32) -> Self {
                <Self as Float>::from_f64(f64::from(wide))
            }
            sums_in_wide!();
            type Scale = Unscaled;
            type Mean = Self;
            #[inline]
            fn mean(sum: f32, count: u64) -> Self {
                <Self as Float>::from_f64(f64::from(sum) / count as f64)
            }
            #[inline]
            fn is_nonzero(self) -> bool {
                self.to_bits() & 0x7fff != 0
            }
        }

        impl Real for $half {
            type Rank = f32;
            #[inline]
            fn rank(self) -> f32 {
                $widen(self.to_bits())
            }
            #[inline]
            fn from_rank(rank: f32) -> Self {
                // One instruction, where there is one. It is exact, for a rank is an element's.
                if IS_ONE_INSTRUCTION && !rank.is_nan() {
                    return $half::from_bits($narrow(rank, rank) as u16);
                }
                <Self as Float>::from_f64(f64::from(rank))
            }
            const WORD_MAXIMUM: Option<fn(u32, u32) -> u32> = Some($maximum);
            const WORD_EQUAL: Option<fn(u32, u32) -> u32> = Some($equal);
            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self.rank())
            }
            #[inline]
            fn measure(value: f64) -> Self {
                <Self as Float>::from_f64(value)
            }
            type Computed = f32;
            #[inline]
            fn computed(self) -> f32 {
                self.wide()
            }
        }

        impl Words for $half {
            const COUNT: usize = 1;
            const UNIT: usize = 2;
            #[inline]
            fn word(self, _: usize) -> u32 {
                u32::from(self.to_bits())
            }
            #[inline]
            fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
                $half::from_bits(word(0) as u16)
            }
        }

        impl Float for $half {
            #[inline]
            fn from_f64(value: f64) -> Self {
                const FORMAT: HalfFormat = $format;
                $half::from_bits(FORMAT.round(value))
            }
            #[inline]
            fn root(square: f64) -> Self {
                <Self as Float>::from_f64(root(square))
            }
            #[inline]
            fn magnitude(self) -> f32 {
                self.rank().magnitude()
            }
            #[inline]
            fn wide_magnitude(self) -> f32 {
                self.magnitude()
            }
        }
    };
}

half!(f16, F16, widen: widen_f16, maximum: maximum_f16_pair, equal: equal_f16_pair, narrow: to_f16, format: HalfFormat { mantissa: 10, least: -14, bias: 15, infinite: true });
half!(bf16, Bf16, widen: widen_bf16, maximum: maximum_bf16_pair, equal: equal_bf16_pair, narrow: to_bf16, format: HalfFormat { mantissa: 7, least: -126, bias: 127, infinite: true });

#[inline]
fn widen_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[cfg(target_arch = "nvptx64")]
pub(super) use crate::simt::nvptx::convert::widen_f16;

/// The exponent moves by 112 places, which a multiplication does for subnormals, too; infinities and NaN stay what they are.
#[cfg(not(target_arch = "nvptx64"))]
#[inline]
pub(super) fn widen_f16(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let scaled = f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23);
    let special = magnitude | 0x7f80_0000;
    let finite = magnitude < 0x0f80_0000;
    let magnitude = if finite { scaled.to_bits() } else { special };
    f32::from_bits(magnitude | u32::from(bits & 0x8000) << 16)
}

/// A format of at most 16 bits.
pub(super) struct HalfFormat {
    /// Bits of the mantissa that are stored.
    pub mantissa: u32,
    /// The exponent of the smallest normal number.
    pub least: i32,
    pub bias: i32,
    /// Whether the highest exponent is that of infinities and NaN alone. If not, it has numbers, and a NaN where all bits are set.
    pub infinite: bool,
}

impl HalfFormat {
    /// The bits of `value`, rounded to nearest even, with the sign in bit 15. What is too large is infinite, or NaN where a format has
    /// no infinities.
    #[inline]
    pub fn round(self, value: f64) -> u16 {
        let sign = ((value.to_bits() >> 63) as u16) << 15;
        let (highest, infinity) = if self.infinite {
            (self.bias, ((2 * self.bias + 1) as u16) << self.mantissa)
        } else {
            (self.bias + 1, (((2 * self.bias + 2) as u16) << self.mantissa) - 1)
        };
        if value.is_nan() {
            return infinity | 1 << (self.mantissa - 1);
        }
        let magnitude = f64::from_bits(value.to_bits() & i64::MAX as u64);
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(self.least);
        if exponent > highest {
            return sign | infinity;
        }
        // Adding a number whose last place is the last place of the format rounds there; taking it away again is exact.
        let place = exponent - self.mantissa as i32;
        let large = f64::from_bits(((place + 52 + 1023) as u64) << 52);
        let rounded = (magnitude + large) - large;
        // In places, below 2^(mantissa + 1), or equal to it where rounding went up: the carry then moves the exponent on.
        let per_place = f64::from_bits(((1023 - place) as u64) << 52);
        let places = (rounded * per_place) as u32;
        let normal = ((exponent + self.bias - 1) as u32) << self.mantissa;
        let bits = (normal + places) as u16;
        // The carry of a format without infinities would go past its NaN.
        sign | if self.infinite { bits } else { bits.min(infinity) }
    }
}

#[cfg(all(test, feature = "half"))]
mod tests {
    use super::*;
    use crate::element::Rank;

    /// Every number there is, against the crate that defines the types on the host.
    #[test]
    fn every_number_widens_and_comes_back() {
        for bits in 0..=u16::MAX {
            let (a, b) = (f16::from_bits(bits), bf16::from_bits(bits));
            for (ours, theirs) in [(a.rank(), a.to_f32()), (b.rank(), b.to_f32())] {
                assert!(
                    ours.to_bits() == theirs.to_bits() || (ours.unordered() && theirs.is_nan()),
                    "{bits:#x}"
                );
            }
            let (again_a, again_b) = (<f16 as Real>::from_rank(a.rank()), <bf16 as Real>::from_rank(b.rank()));
            assert_eq!(again_a.to_bits(), if a.is_nan() { 0x7e00 } else { bits });
            assert_eq!(again_b.to_bits(), if b.is_nan() { 0x7fc0 } else { bits });
            assert_eq!((a.is_nonzero(), b.is_nonzero()), (a.to_f32() != 0.0, b.to_f32() != 0.0));
        }
    }

    /// Numbers in the middle between two neighbours of a format, and just beside it.
    fn round_about<T: Float>(from_bits: fn(u16) -> T, largest: u16) {
        let bits = |value: f64| T::from_f64(value).word(0);
        for low in 0..largest {
            let (a, b) = (from_bits(low).to_f64(), from_bits(low + 1).to_f64());
            let middle = f64::midpoint(a, b);
            let even = u32::from(low + low % 2);
            let sign = 1 << 15;
            for (value, rounded) in [
                (a, u32::from(low)),
                (middle.next_down(), u32::from(low)),
                (middle, even),
                (middle.next_up(), u32::from(low + 1)),
            ] {
                assert_eq!((bits(value), bits(-value)), (rounded, rounded | sign), "{value:e}");
            }
        }
    }

    #[test]
    fn numbers_round_once_to_nearest_even() {
        round_about(f16::from_bits, 0x7bff);
        round_about(bf16::from_bits, 0x7f7f);
        let bits = |value: f64| {
            let (a, b) = (<f16 as Float>::from_f64(value), <bf16 as Float>::from_f64(value));
            (a.to_bits(), b.to_bits())
        };
        assert_eq!(bits(65_519.999), (0x7bff, 0x4780));
        assert_eq!(bits(65_520.0), (0x7c00, 0x4780));
        // Past the middle between the largest bf16 and what would come next.
        assert_eq!(bits(-3.397e38), (0xfc00, 0xff80));
        assert_eq!(bits(f64::MAX), (0x7c00, 0x7f80));
        assert_eq!(bits(-1e-300), (0x8000, 0x8000));
        assert_eq!(bits(-f64::NAN), (0x7e00, 0x7fc0));
    }
}
