//! What products are carried in.

use super::{Product, Wide};
use crate::{monoids::Words, tree::ROWS};

/// A float with an exponent of its own: the value is `mantissa · 2^exponent`, the mantissa at least 1 and less than 2, or a zero, an
/// infinity or a NaN. So a product is rounded as if floats had no largest and no smallest number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extended<F> {
    /// With the sign.
    pub mantissa: F,
    /// Without a meaning of a zero, an infinity and a NaN.
    pub exponent: i64,
}

impl<F: Words> Words for Extended<F> {
    const COUNT: usize = F::COUNT + 2;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        (self.mantissa, self.exponent).word(i)
    }
    #[inline(always)]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        let (mantissa, exponent) = Words::from_words(word);
        Self { mantissa, exponent }
    }
}

macro_rules! extended {
    ($float:ident, $bits:ident, mantissa: $mantissa:literal, exponents: $exponents:literal, bias: $bias:literal, up: $up:expr, |$this:ident| $value:expr) => {
        impl Extended<$float> {
            /// A float that is not subnormal, and its exponent less that.
            #[inline(always)]
            fn split(value: $float, exponent: i32) -> ($float, i32) {
                const FIELD: $bits = $exponents << $mantissa;
                let bits = value.to_bits();
                let field = bits & FIELD;
                if (field == 0) | (field == FIELD) {
                    (value, exponent)
                } else {
                    let mantissa = $float::from_bits(bits & !FIELD | $bias << $mantissa);
                    (mantissa, exponent + (field >> $mantissa) as i32 - $bias)
                }
            }

            /// Any float.
            #[inline(always)]
            fn parts(value: $float) -> ($float, i32) {
                // Subnormal ones are brought up; a zero stays one.
                const LEAST: $float = $float::MIN_POSITIVE;
                if (value < LEAST) & (value > -LEAST) {
                    Self::split(value * $up, -($mantissa + 1))
                } else {
                    Self::split(value, 0)
                }
            }

            /// Of mantissas' product, which is far from the ends of the type, and the sum of their exponents.
            #[inline(always)]
            fn normal(product: $float, exponent: i64) -> Self {
                let (mantissa, shift) = Self::split(product, 0);
                Self {
                    mantissa,
                    exponent: exponent + i64::from(shift),
                }
            }
        }

        impl Product<$float> for Extended<$float> {
            const ONE: Self = Self {
                mantissa: 1.0,
                exponent: 0,
            };
            #[inline(always)]
            fn of(factor: $float) -> Self {
                let (mantissa, exponent) = Self::parts(factor);
                Self {
                    mantissa,
                    exponent: exponent.into(),
                }
            }
            #[inline(always)]
            fn of_column([a, b, c, d, e, f, g, h]: [$float; ROWS]) -> Self {
                let two = |(a, p): ($float, i32), (b, q): ($float, i32)| (a * b, p + q);
                let of = Self::parts;
                let low = two(two(of(a), of(b)), two(of(c), of(d)));
                let high = two(two(of(e), of(f)), two(of(g), of(h)));
                // Below 2⁸: so it is brought back once.
                let (product, exponent) = two(low, high);
                Self::normal(product, exponent.into())
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                Self::normal(self.mantissa * other.mantissa, self.exponent + other.exponent)
            }
            #[inline]
            fn value(self) -> $float {
                let $this = self;
                $value
            }
        }
    };
}

extended!(f32, u32, mantissa: 23, exponents: 0xff, bias: 127, up: 16_777_216.0, |this| {
    // Exactly in f64, from which it is rounded once.
    (f64::from(this.mantissa) * power(clamped(this.exponent, 300))) as f32
});
extended!(f64, u64, mantissa: 52, exponents: 0x7ff, bias: 1023, up: 9_007_199_254_740_992.0, |this| {
    let exponent = clamped(this.exponent, 1150);
    // Of two factors, of which the first loses nothing.
    let rest = if exponent < 0 { -128 } else { 128 };
    this.mantissa * power(exponent - rest) * power(rest)
});

/// An exponent, or one that is as far past all of a type's.
#[inline]
fn clamped(exponent: i64, most: i32) -> i32 {
    if exponent > i64::from(most) {
        most
    } else if exponent < -i64::from(most) {
        -most
    } else {
        exponent as i32
    }
}

/// A power of two that is a normal f64.
#[inline]
fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// What wraps around, or is not multiplied, is its own product.
macro_rules! own {
    ($($wide:ty),*) => {
        $(impl Product<$wide> for $wide {
            const ONE: Self = <Self as Wide>::ONE;
            #[inline(always)]
            fn of(factor: Self) -> Self {
                factor
            }
            #[inline(always)]
            fn of_column([a, b, c, d, e, f, g, h]: [Self; ROWS]) -> Self {
                let times = <Self as Wide>::times;
                times(times(times(a, b), times(c, d)), times(times(e, f), times(g, h)))
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                Wide::times(self, other)
            }
            #[inline(always)]
            fn value(self) -> Self {
                self
            }
        })*
    };
}

own!(i64, u64, super::complex64, super::complex128);

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::monoids::testing::same;

    fn product<F: Copy>(values: &[F]) -> Extended<F>
    where
        Extended<F>: Product<F>,
    {
        values.iter().fold(Extended::ONE, |all, x| all.times(Extended::of(*x)))
    }

    proptest! {
        #[test]
        fn one_factor_comes_back(bits in any::<u64>()) {
            let (single, double) = (f32::from_bits(bits as u32), f64::from_bits(bits));
            prop_assume!(!single.is_nan() && !double.is_nan());
            prop_assert_eq!(Extended::of(single).value().to_bits(), single.to_bits());
            prop_assert_eq!(Extended::of(double).value().to_bits(), double.to_bits());
        }

        #[test]
        fn two_factors_give_their_product(a in any::<u64>(), b in any::<u64>()) {
            macro_rules! check {
                ($float:ident, $bits:ident) => {{
                    let (a, b) = ($float::from_bits(a as $bits), $float::from_bits(b as $bits));
                    let (ours, plain) = (product(&[a, b]).value(), a * b);
                    // What is subnormal is rounded a second time.
                    let slack = $bits::from(plain.abs() <= $float::MIN_POSITIVE);
                    let is_near = ours.to_bits().abs_diff(plain.to_bits()) <= slack;
                    prop_assert!(is_near || (ours.is_nan() && plain.is_nan()), "{a:e} · {b:e}: {ours:e}, {plain:e}");
                }};
            }
            check!(f32, u32);
            check!(f64, u64);
        }

        #[test]
        fn a_column_is_the_product_of_its_pairs(values in prop::array::uniform8(any::<f32>()), wide in prop::array::uniform8(any::<f64>())) {
            fn pairs<F: Copy>(values: [F; 8]) -> Extended<F> where Extended<F>: Product<F> {
                let mut level: Vec<_> = values.into_iter().map(Extended::of).collect();
                while level.len() > 1 {
                    level = level.chunks(2).map(|pair| pair[0].times(pair[1])).collect();
                }
                level[0]
            }
            prop_assert!(same(Extended::of_column(values), pairs(values)));
            prop_assert!(same(Extended::of_column(wide), pairs(wide)));
        }
    }

    #[test]
    fn nothing_is_lost_on_the_way() {
        let two = |exponent| 2.0_f32.powi(exponent);
        assert_eq!(product(&[two(100), two(100), two(-100), two(-100)]).value(), 1.0);
        assert_eq!(product(&[two(-149), two(-149), two(127), two(127)]).value(), two(-44));
        assert_eq!(product(&[f32::MAX, f32::MAX, 0.0]).value(), 0.0);
        assert!(product(&[0.0, f32::INFINITY]).value().is_nan());
        assert_eq!(product(&[f32::MAX, 2.0]).value(), f32::INFINITY);
        assert_eq!(product(&[-f64::MAX, f64::MAX]).value(), f64::NEG_INFINITY);
        let two = |exponent| 2.0_f64.powi(exponent);
        assert_eq!(product(&[two(1000), two(1000), two(-1000), two(-999)]).value(), 2.0);
    }
}
