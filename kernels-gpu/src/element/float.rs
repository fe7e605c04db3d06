//! f32 and f64.

use super::{Accumulator, Arithmetic, Element, Factor, Float, Rank, Real, Type, Unscaled, Wide, root};
use crate::arithmetic::{double, narrow, single};

/// What f32 and f64 have alike, which is everything but their widths.
macro_rules! float {
    ($float:ident, $bits:ident, $int:ident, $type:ident, nan: $nan:literal, flip: $flip:ident, canonical: $canonical:ident, scale: $scale:ident, root: $root:path, exp: $exp:path, maximum: $maximum:expr, equal: $equal:expr) => {
        /// A float's bits as an integer of the same order, and back: those of negative numbers order the other way round.
        const fn $flip(bits: $int) -> $int {
            bits ^ ((bits >> ($int::BITS - 1)) & $int::MAX)
        }

        /// A NaN answer has one bit pattern everywhere: hardware differs in the payloads and signs it makes. It is told by its bits,
        /// and chosen as bits: to LLVM one NaN is as good as another, and it drops a choice between two (after a square root
        /// it did).
        #[inline]
        fn $canonical(value: $float) -> $float {
            let bits = value.to_bits();
            let magnitude = bits & $int::MAX as $bits;
            $float::from_bits(if magnitude > $float::INFINITY.to_bits() {
                $nan
            } else {
                bits
            })
        }

        impl Element for $float {
            const TYPE: Type = Type::$type;
            #[inline]
            fn from_bits(bits: u64) -> Self {
                $float::from_bits(bits as $bits)
            }
            type Wide = Self;
            #[inline]
            fn wide(self) -> Self {
                self
            }
            type Total = Self;
            #[inline]
            fn total(wide: Self) -> Self {
                $canonical(wide)
            }
            sums_in_wide!();
            type Scale = $scale;
            type Mean = Self;
            #[inline]
            fn mean(sum: Self, count: u64) -> Self {
                $canonical((f64::from(sum) / count as f64) as $float)
            }
        }

        impl Real for $float {
            type Rank = Self;
            #[inline]
            fn rank(self) -> Self {
                self
            }
            #[inline]
            fn from_rank(rank: Self) -> Self {
                $canonical(rank)
            }
            const WORD_MAXIMUM: Option<fn(u32, u32) -> u32> = $maximum;
            const WORD_EQUAL: Option<fn(u32, u32) -> u32> = $equal;
            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline]
            fn measure(value: f64) -> Self {
                Self::from_f64(value)
            }
            type Computed = Self;
            #[inline]
            fn computed(self) -> Self {
                self
            }
        }

        impl Arithmetic for $float {
            #[inline]
            fn exp(self) -> Self {
                $exp(self)
            }
        }

        impl Float for $float {
            #[inline]
            fn from_f64(value: f64) -> Self {
                $canonical(value as $float)
            }
            #[inline]
            fn root(square: f64) -> Self {
                Self::from_f64($root(square))
            }
            #[inline]
            fn magnitude(self) -> Self {
                $float::from_bits(self.to_bits() & $int::MAX as $bits)
            }
            #[inline]
            fn wide_magnitude(self) -> Self {
                self.magnitude()
            }
        }

        impl Rank for $float {
            const LOWEST: Self = $float::NEG_INFINITY;
            const HIGHEST: Self = $float::INFINITY;
            #[inline]
            fn reversed(self, yes: bool) -> Self {
                $float::from_bits(self.to_bits() ^ $bits::from(yes) << ($bits::BITS - 1))
            }
            #[inline]
            fn zeros_alike(self) -> Self {
                self + 0.0
            }
            #[inline]
            fn higher(self, other: Self) -> Self {
                $float::max(self, other)
            }
            type Key = $int;
            const NOTHING: $int = $int::MIN;
            const UNORDERED: Option<$int> = Some($int::MAX);
            #[inline]
            fn key(self) -> $int {
                if self.is_nan() {
                    $int::MAX
                } else {
                    $flip(self.to_bits() as $int)
                }
            }
            #[inline]
            fn of_key(key: $int) -> Self {
                $float::from_bits($flip(key) as $bits)
            }
            #[inline]
            fn bar(key: $int) -> Self {
                // The two zeros compare equal: where +0.0 would win, the bar is just past them.
                if key == $flip($int::MIN) {
                    -$float::from_bits(1)
                } else {
                    Self::of_key(key)
                }
            }
            #[inline]
            fn below(self) -> Option<Self> {
                let nothing = self.is_nan() || self == Self::LOWEST;
                let below_zero = -$float::from_bits(1);
                let lower = Self::of_key(self.key() - 1);
                // Without a branch: it is asked for with each element, and then a compiler computes it once for all.
                (!nothing).then_some(if self == 0.0 { below_zero } else { lower })
            }
        }

        impl Accumulator for $float {
            const NOTHING: Self = -0.0;
            const ZERO: Self = 0.0;
            #[inline]
            fn plus(self, other: Self) -> Self {
                self + other
            }
        }

        impl Wide for $float {
            const ONE: Self = 1.0;
            #[inline]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline]
            fn of_small(small: i32) -> Self {
                small as $float
            }
        }
    };
}

float!(f32, u32, i32, F32, nan: 0x7fc0_0000, flip: flip_32, canonical: canonical_f32, scale: Unscaled, root: root::root, exp: single::exp, maximum: Some(single::maximum_bits), equal: Some(narrow::equal_f32));
float!(f64, u64, i64, F64, nan: 0x7ff8_0000_0000_0000, flip: flip_64, canonical: canonical_f64, scale: Factor, root: double::sqrt, exp: double::exp, maximum: None, equal: None);
