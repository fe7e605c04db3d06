//! Complex numbers: two floats side by side, folded each by itself but where their size is asked for.
//!
//! They have no order, so there is no largest of them, and no place of one; nor is a product built: `1 + 0i` is not neutral to the bit
//! beside an infinity.
//!
//! The host has the type of the crate `num-complex`, as NumPy, PyTorch and CUDA lay it out; the kernels, which have no dependencies,
//! have their own.

use super::{
    Accumulator, Element, Factor, Float, Normed, Rank, Squares, Type, Unscaled, Wide,
    half::{f16, widen_f16},
};
use crate::words::Words;

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

/// Two f64: an element is a vector of its own.
#[allow(non_camel_case_types)]
pub type complex128 = Complex<f64>;

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

impl Words for complex128 {
    const COUNT: usize = 4;
    #[inline]
    fn word(self, i: usize) -> u32 {
        if i < 2 { self.re.word(i) } else { self.im.word(i - 2) }
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let re = f64::from_words(&mut word);
        Self::new(re, f64::from_words(|i| word(i + 2)))
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

/// Sums of either part, and products.
macro_rules! wide {
    ($($complex:ident of $part:ident),*) => {
        $(impl Accumulator for $complex {
            const NOTHING: Self = Self::new(-0.0, -0.0);
            const ZERO: Self = Self::new(0.0, 0.0);
            #[inline]
            fn plus(self, other: Self) -> Self {
                Self::new(self.re + other.re, self.im + other.im)
            }
        }

        impl Wide for $complex {
            const ONE: Self = Self::new(1.0, 0.0);
            /// By 1, the number itself: the sum of products would lose the sign of a zero, and make NaN of an infinity.
            #[inline]
            fn times(self, other: Self) -> Self {
                let is_one = |number: Self| number.re == 1.0 && number.im.to_bits() == 0;
                if is_one(other) {
                    return self;
                }
                if is_one(self) {
                    return other;
                }
                Self::new(
                    self.re * other.re - self.im * other.im,
                    self.re * other.im + self.im * other.re,
                )
            }
            #[inline]
            fn of_small(small: i32) -> Self {
                Self::new(small as $part, 0.0)
            }
        })*
    };
}

wide!(complex64 of f32, complex128 of f64);

macro_rules! complex {
    ($complex:ident, $part:ident, $type:ident, $in:ident, $scale:ident, |$element:ident| $wide:expr) => {
        impl Element for $complex {
            const TYPE: Type = Type::$type;
            #[inline]
            fn from_bits(bits: u64) -> Self {
                Self::from_words(|i| if i < 2 { (bits >> (32 * i)) as u32 } else { 0 })
            }
            type Wide = $in;
            #[inline]
            fn wide(self) -> $in {
                let $element = self;
                $wide
            }
            type Total = Self;
            #[inline]
            fn total(wide: $in) -> Self {
                Self::new(
                    <$part as Float>::from_f64(f64::from(wide.re)),
                    <$part as Float>::from_f64(f64::from(wide.im)),
                )
            }
            sums_in_wide!();
            type Scale = $scale;
            type Mean = Self;
            #[inline]
            fn mean(sum: $in, count: u64) -> Self {
                Self::new(
                    <$part as Float>::from_f64(f64::from(sum.re) / count as f64),
                    <$part as Float>::from_f64(f64::from(sum.im) / count as f64),
                )
            }
        }
    };
}

complex!(complex128, f64, Complex128, complex128, Factor, |element| element);
complex!(complex64, f32, Complex64, complex64, Unscaled, |element| element);
complex!(
    complex32,
    f16,
    Complex32,
    complex64,
    Unscaled,
    |element| complex64::new(widen_f16(element.re.to_bits()), widen_f16(element.im.to_bits()))
);

/// A size compares as its square, in f64: the squares of the parts are exact there, and neither over- nor underflow, so it is rounded
/// once.
macro_rules! normed {
    ($($complex:ident of $part:ident),*) => {
        $(impl Normed for $complex {
            type Size = f64;
            #[inline]
            fn size(self) -> f64 {
                self.square(1.0)
            }
            type Largest = $part;
            #[inline]
            fn largest(size: f64) -> $part {
                <$part as Float>::root(size)
            }
            #[inline]
            fn is_nan(self) -> bool {
                let wide = self.wide();
                wide.re.unordered() | wide.im.unordered()
            }
            #[inline]
            fn reach(self) -> f64 {
                0.0
            }
            #[inline]
            fn square(self, _: f64) -> f64 {
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
            fn norm_of_squares(squares: Squares<Unscaled>) -> $part {
                <$part as Float>::root(squares.sum)
            }
        })*
    };
}

normed!(complex64 of f32, complex32 of f16);

/// A size compares as the modulus itself, whose square may be none that f64 has.
impl Normed for complex128 {
    type Size = f64;
    #[inline]
    fn size(self) -> f64 {
        modulus(self.re, self.im)
    }
    type Largest = f64;
    #[inline]
    fn largest(size: f64) -> f64 {
        Float::from_f64(size)
    }
    #[inline]
    fn is_nan(self) -> bool {
        self.re.unordered() | self.im.unordered()
    }
    #[inline]
    fn reach(self) -> f64 {
        let (re, im) = (self.re.magnitude(), self.im.magnitude());
        if im > re { im } else { re }
    }
    #[inline]
    fn square(self, factor: f64) -> f64 {
        let (re, im) = (self.re * factor, self.im * factor);
        re * re + im * im
    }
    type Norm = f64;
    #[inline]
    fn norm(value: f64) -> f64 {
        Float::from_f64(value)
    }
    #[inline]
    fn norm_of_squares(squares: Squares<Factor>) -> f64 {
        <f64 as Normed>::norm_of_squares(squares)
    }
}

/// `√(re² + im²)`, less than 2 ulp from the exact value: the parts are brought to where their squares are numbers, by a power of two.
/// NaN if a part is, and else +∞ if a part is infinite.
#[inline]
fn modulus(re: f64, im: f64) -> f64 {
    const LARGE: f64 = f64::from_bits((1023 + 500) << 52);
    const SMALL: f64 = f64::from_bits((1023 - 500) << 52);
    const UP: f64 = f64::from_bits((1023 + 600) << 52);
    const DOWN: f64 = f64::from_bits((1023 - 600) << 52);
    let (re, im) = (re.magnitude(), im.magnitude());
    let larger = if re > im { re } else { im };
    let (there, back) = if larger > LARGE {
        (DOWN, UP)
    } else if larger < SMALL {
        (UP, DOWN)
    } else {
        (1.0, 1.0)
    };
    let (re, im) = (re * there, im * there);
    <f64 as Float>::root(re * re + im * im) * back
}

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
    fn moduli_of_doubles_neither_over_nor_underflow() {
        let largest = |re, im| complex128::largest(complex128::new(re, im).size());
        assert_eq!(largest(3.0, -4.0), 5.0);
        assert_eq!(largest(3e300, 4e300), 5e300);
        assert_eq!(largest(-3e-310, 4e-310), 5e-310);
        assert_eq!((largest(5e-324, 0.0), largest(0.0, 0.0)), (5e-324, 0.0));
        assert_eq!(largest(f64::MAX, f64::MAX), f64::INFINITY);
        assert_eq!(largest(f64::MAX, 1.0), f64::MAX);
        assert_eq!(largest(1.0, f64::NEG_INFINITY), f64::INFINITY);
        for (re, im) in [
            (f64::NAN, 1.0),
            (1.0, f64::NAN),
            (f64::INFINITY, f64::NAN),
            (f64::NAN, 0.0),
        ] {
            let (size, is_nan) = sizes(complex128::new(re, im));
            assert!(size.is_nan() && is_nan, "{re} {im}");
        }
    }

    #[test]
    fn words_are_as_memory_has_them() {
        let wide = complex128::new(1.5, -2.0);
        assert_eq!([0, 1, 2, 3].map(|i| wide.word(i)), [0, 0x3ff8_0000, 0, 0xc000_0000]);
        assert!(complex128::from_words(|i| wide.word(i)) == wide && size_of::<complex128>() == 16);
        assert!(complex128::from_bits(1.5_f64.to_bits()) == complex128::new(1.5, 0.0));
        let number = complex64::new(1.5, -2.0);
        assert_eq!((number.word(0), number.word(1)), (0x3fc0_0000, 0xc000_0000));
        assert!(complex64::from_bits(0xc000_0000_3fc0_0000) == number);
        let halves = complex32::from_bits(0xc000_3e00);
        assert_eq!((halves.word(0), halves.wide()), (0xc000_3e00, number));
        assert_eq!((size_of::<complex32>(), size_of::<complex64>()), (4, 8));
        assert!(!complex64::from_bits(0x8000_0000_0000_0000).is_nonzero() && number.is_nonzero());
    }
}
