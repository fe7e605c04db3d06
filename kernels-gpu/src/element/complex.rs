//! Complex numbers: two floats side by side, folded each by itself but where their size is asked for.
//!
//! They have no order, so there is no largest of them, and no place of one; nor is a product built: `1 + 0i` is not neutral to the bit
//! beside an infinity. There is no complex128 yet: nothing of the stages reads elements of 16 bytes.
//!
//! The host has the type of the crate `num-complex`, as NumPy, PyTorch and CUDA lay it out; the kernels, which have no dependencies,
//! have their own.

use super::{
    Element, Float, Normed, Rank, Type, Wide,
    half::{f16, widen_f16},
};
use crate::monoids::Words;

#[cfg(feature = "num-complex")]
pub use ::num_complex::Complex;
#[cfg(not(feature = "num-complex"))]
pub use own::Complex;

#[cfg(not(feature = "num-complex"))]
mod own {
    /// A complex number in Cartesian form.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    pub struct Complex<X> {
        /// Its real part.
        pub re: X,
        /// Its imaginary part.
        pub im: X,
    }

    impl<X> Complex<X> {
        /// The number of those parts.
        #[inline]
        #[must_use]
        pub const fn new(re: X, im: X) -> Self {
            Self { re, im }
        }
    }
}

/// Two f16, folded as f32.
#[allow(non_camel_case_types)]
pub type complex32 = Complex<f16>;

/// Two f32.
#[allow(non_camel_case_types)]
pub type complex64 = Complex<f32>;

impl Words for complex64 {
    const COUNT: usize = 2;
    #[inline]
    fn word(self, i: usize) -> u32 {
        if i == 0 { self.re.to_bits() } else { self.im.to_bits() }
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let re = f32::from_bits(word(0));
        Self::new(re, f32::from_bits(word(1)))
    }
}

/// Both parts in one word, as in memory.
impl Words for complex32 {
    const COUNT: usize = 1;
    #[inline]
    fn word(self, _: usize) -> u32 {
        u32::from(self.re.to_bits()) | u32::from(self.im.to_bits()) << 16
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let bits = word(0);
        Self::new(f16::from_bits(bits as u16), f16::from_bits((bits >> 16) as u16))
    }
}

/// Sums of either part.
impl Wide for complex64 {
    const NOTHING: Self = Self::new(-0.0, -0.0);
    const ZERO: Self = Self::new(0.0, 0.0);
    const ONE: Self = Self::new(1.0, 0.0);
    #[inline]
    fn plus(self, other: Self) -> Self {
        Self::new(self.re + other.re, self.im + other.im)
    }
    #[inline]
    fn times(self, other: Self) -> Self {
        Self::new(
            self.re * other.re - self.im * other.im,
            self.re * other.im + self.im * other.re,
        )
    }
    #[inline]
    fn of_small(small: i32) -> Self {
        Self::new(small as f32, 0.0)
    }
}

macro_rules! complex {
    ($complex:ident, $part:ident, $type:ident, |$element:ident| $wide:expr) => {
        impl Element for $complex {
            const TYPE: Type = Type::$type;
            #[inline]
            fn from_bits(bits: u64) -> Self {
                Self::from_words(|i| (bits >> (32 * i)) as u32)
            }
            type Wide = complex64;
            #[inline]
            fn wide(self) -> complex64 {
                let $element = self;
                $wide
            }
            type Total = Self;
            #[inline]
            fn total(wide: complex64) -> Self {
                Self::new(
                    <$part as Float>::from_f64(f64::from(wide.re)),
                    <$part as Float>::from_f64(f64::from(wide.im)),
                )
            }
            type Mean = Self;
            #[inline]
            fn mean(sum: complex64, count: u64) -> Self {
                Self::new(
                    <$part as Float>::from_f64(f64::from(sum.re) / count as f64),
                    <$part as Float>::from_f64(f64::from(sum.im) / count as f64),
                )
            }
        }

        /// A size compares as its square, in f64: the squares of the parts are exact there, and neither over- nor underflow, so it is
        /// rounded once.
        impl Normed for $complex {
            type Size = f64;
            #[inline]
            fn size(self) -> f64 {
                self.square()
            }
            type Largest = $part;
            #[inline]
            fn largest(size: f64) -> $part {
                Self::norm_of_square(size)
            }
            #[inline]
            fn is_nan(self) -> bool {
                let wide = self.wide();
                wide.re.unordered() | wide.im.unordered()
            }
            #[inline]
            fn square(self) -> f64 {
                let wide = self.wide();
                let (re, im) = (f64::from(wide.re), f64::from(wide.im));
                re * re + im * im
            }
            type Norm = $part;
            #[inline]
            fn norm(value: f64) -> $part {
                <$part as Float>::from_f64(value)
            }
            #[inline]
            fn norm_of_square(square: f64) -> $part {
                <$part as Float>::root(square)
            }
        }
    };
}

complex!(complex64, f32, Complex64, |element| element);
complex!(complex32, f16, Complex32, |element| complex64::new(
    widen_f16(element.re.to_bits()),
    widen_f16(element.im.to_bits())
));

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes<T: Normed<Size = f64>>(element: T) -> (f64, bool) {
        (element.size(), element.is_nan())
    }

    #[test]
    fn sizes_neither_over_nor_underflow() {
        let largest = |re, im| complex64::largest(complex64::new(re, im).size());
        assert_eq!(largest(3.0, -4.0), 5.0);
        assert_eq!(largest(3e38, 4e37), (9.16_f64.sqrt() * 1e38) as f32);
        let least = f32::from_bits(1);
        assert_eq!((largest(least, 0.0), largest(0.0, -least)), (least, least));
        // Past the largest number, though neither part is.
        assert_eq!(largest(f32::MAX, f32::MAX), f32::INFINITY);
        assert_eq!(largest(f32::NEG_INFINITY, 1.0), f32::INFINITY);
        for (re, im) in [
            (f32::NAN, 1.0),
            (1.0, f32::NAN),
            (f32::INFINITY, f32::NAN),
            (f32::NAN, 0.0),
        ] {
            let (size, is_nan) = sizes(complex64::new(re, im));
            assert!(size.is_nan() && is_nan, "{re} {im}");
        }
        let halves = complex32::new(f16::from_bits(0x4200), f16::from_bits(0xc400)); // 3 − 4i
        assert_eq!(sizes(halves), (25.0, false));
        assert_eq!(complex32::largest(25.0).to_bits(), 0x4500);
    }

    #[test]
    fn words_are_as_memory_has_them() {
        let number = complex64::new(1.5, -2.0);
        assert_eq!((number.word(0), number.word(1)), (0x3fc0_0000, 0xc000_0000));
        assert!(complex64::from_bits(0xc000_0000_3fc0_0000) == number);
        let halves = complex32::from_bits(0xc000_3e00);
        assert_eq!((halves.word(0), halves.wide()), (0xc000_3e00, number));
        assert_eq!((size_of::<complex32>(), size_of::<complex64>()), (4, 8));
        assert!(!complex64::from_bits(0x8000_0000_0000_0000).is_nonzero() && number.is_nonzero());
    }
}
