//! How many elements are of a kind, and whether any or all are not zero. Each kind is a range of bits, so that elements of one size have
//! one kernel.
//!
//! NaN is not zero, so it counts as nonzero and as true, as NumPy has it.

use super::{Algebra, Monoid, sum::total};
use crate::{
    element::{Element, Type},
    kernels::OpParams,
    tree::{Part, PartFold},
};

/// How many elements have bits in a range: those of their magnitude, where elements have a sign bit. 0 over nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// The lowest of the range.
    first: u64,
    /// Whether it is the only one; otherwise there is no highest.
    is_only: bool,
    /// Whether bits are compared without the sign.
    of_magnitude: bool,
}

impl Count {
    /// The elements of a type that are not zero; neither zero counts, a NaN does.
    ///
    /// # Panics
    ///
    /// If they are complex.
    #[must_use]
    pub const fn nonzero(element: Type) -> Self {
        assert!(!element.is_complex(), "numbers of one sign");
        Self {
            first: 1,
            is_only: false,
            of_magnitude: element.is_float(),
        }
    }

    /// The floats of a type that are NaN.
    ///
    /// # Panics
    ///
    /// If the type has none.
    #[must_use]
    pub const fn nan(element: Type) -> Self {
        Self {
            first: element.lowest_nan().expect("a type that has NaN"),
            is_only: false,
            of_magnitude: true,
        }
    }

    /// The floats of a type that are +∞ or −∞.
    ///
    /// # Panics
    ///
    /// If the type has none, or is of one byte.
    #[must_use]
    pub const fn infinite(element: Type) -> Self {
        Self {
            first: match (element.infinity(), element.bytes()) {
                (Some(infinity), 2..) => infinity,
                _ => panic!("elements of 2 bytes or more that have infinities"),
            },
            is_only: true,
            of_magnitude: true,
        }
    }

    /// By what a launch passes.
    #[inline(always)]
    #[must_use]
    pub fn of_params(params: OpParams) -> Self {
        Self {
            first: params.number,
            is_only: params.mode & 2 != 0,
            of_magnitude: params.mode & 1 != 0,
        }
    }

    /// What a launch passes.
    #[must_use]
    pub fn params(self) -> OpParams {
        OpParams {
            number: self.first,
            mode: u8::from(self.of_magnitude) | u8::from(self.is_only) << 1,
            ..OpParams::default()
        }
    }

    /// Whether an element is of the kind.
    #[inline(always)]
    fn has<T: Element>(self, value: T) -> bool {
        if T::TYPE.bytes() == 1 {
            // Of many elements in a word each instruction counts, and none of such a type has a kind of one magnitude.
            return value.word(0) & magnitude::<T>(self.of_magnitude) as u32 >= self.first as u32;
        }
        // A bit pattern below the first wraps around, past the highest.
        if T::COUNT == 1 {
            let first = self.first as u32;
            let above = if self.is_only { 0 } else { u32::MAX - first };
            let bits = value.word(0) & magnitude::<T>(self.of_magnitude) as u32;
            u32::wrapping_sub(bits, first) <= above
        } else {
            let above = if self.is_only { 0 } else { u64::MAX - self.first };
            u64::wrapping_sub(bits(value) & magnitude::<T>(self.of_magnitude), self.first) <= above
        }
    }
}

/// The bits of an element of one or two words.
#[inline(always)]
fn bits<T: Element>(value: T) -> u64 {
    u64::from(value.word(0)) | u64::from(value.word(T::COUNT - 1)) << 32
}

/// All bits of an element, or all but the sign.
#[inline(always)]
fn magnitude<T: Element>(of_magnitude: bool) -> u64 {
    if of_magnitude {
        u64::MAX >> (65 - 8 * T::TYPE.bytes())
    } else {
        u64::MAX
    }
}

impl<T: Element> Monoid<T> for Count {
    type State = u64;
    type Answer = u64;

    #[inline]
    fn identity(self) -> u64 {
        0
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> u64 {
        u64::from(self.has(value))
    }
    #[inline]
    fn filler(self) -> Option<T> {
        // No range has it.
        Some(T::from_bits(0))
    }
    #[inline]
    fn combine(self, a: u64, b: u64) -> u64 {
        a + b
    }
    crate::opt_in!(T: PartFold);
    const ALGEBRA: Algebra = Algebra {
        associates: true,
        ..Algebra::PLAIN
    };
    #[inline]
    fn finish(self, count: u64, _: u64) -> u64 {
        count
    }
    #[inline]
    fn empty(self) -> Option<u64> {
        Some(0)
    }
}

impl<T: Element> PartFold<T, u64> for Count {
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> u64 {
        total(part, |value: T| i32::from(self.has(value))) as u64
    }
}

/// Whether elements are not zero, as a NaN is not: any of them, or all.
///
/// All are where none is zero, so either asks for one of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    /// Whether no element is zero, true over nothing; otherwise whether any is not, false over nothing.
    all: bool,
    /// Whether bits are compared with zero without the sign.
    of_magnitude: bool,
}

impl Truth {
    /// Whether any element of a type is not zero. False over nothing.
    ///
    /// # Panics
    ///
    /// If they are complex.
    #[must_use]
    pub const fn any(element: Type) -> Self {
        assert!(!element.is_complex(), "numbers of one sign");
        let of_magnitude = element.is_float();
        Self {
            all: false,
            of_magnitude,
        }
    }

    /// Whether no element of a type is zero. True over nothing.
    ///
    /// # Panics
    ///
    /// If they are complex.
    #[must_use]
    pub const fn all(element: Type) -> Self {
        Self {
            all: true,
            ..Self::any(element)
        }
    }

    /// By what a launch passes.
    #[inline(always)]
    #[must_use]
    pub fn of_params(params: OpParams) -> Self {
        Self {
            all: params.number == 1,
            of_magnitude: params.mode == 1,
        }
    }

    /// What a launch passes.
    #[must_use]
    pub fn params(self) -> OpParams {
        OpParams {
            number: self.all.into(),
            mode: self.of_magnitude.into(),
            ..OpParams::default()
        }
    }
}

impl<T: Element> Monoid<T> for Truth {
    /// Whether there is one of the kind.
    type State = bool;
    type Answer = bool;

    #[inline]
    fn identity(self) -> bool {
        false
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> bool {
        let magnitude = magnitude::<T>(self.of_magnitude);
        let is_nonzero = if T::COUNT == 1 {
            value.word(0) & magnitude as u32 != 0
        } else {
            bits(value) & magnitude != 0
        };
        is_nonzero != self.all
    }
    #[inline]
    fn filler(self) -> Option<T> {
        Some(T::from_words(|_| if self.all { u32::MAX } else { 0 }))
    }
    #[inline]
    fn combine(self, a: bool, b: bool) -> bool {
        a | b
    }
    const ALGEBRA: Algebra = Algebra {
        associates: true,
        ..Algebra::PLAIN
    };
    #[inline]
    fn finish(self, found: bool, _: u64) -> bool {
        found != self.all
    }
    #[inline]
    fn empty(self) -> Option<bool> {
        Some(self.all)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        element::{Normed, bf16, f8e4m3, f8e5m2, f16},
        monoids::testing::answer,
    };

    /// Of any bits, and of such as have all that is rare among them.
    fn any_bits() -> impl Strategy<Value = Vec<u64>> {
        let rare = prop::sample::select(std::vec![
            0,
            0x80,
            0x7c,
            0xfc,
            0x7f,
            0x7c00,
            0x7f80,
            0xff80,
            0x8000,
            1 << 31,
            0x7f80 << 16,
            0x7ff << 52,
            1 << 63
        ]);
        prop::collection::vec(prop_oneof![any::<u64>(), rare], 1..40)
    }

    fn counts<T: Normed>(bits: &[u64], has_infinities: bool) {
        let values: Vec<T> = bits.iter().map(|bits| T::from_bits(*bits)).collect();
        let of = |is: fn(T) -> bool| values.iter().filter(|value| is(**value)).count() as u64;
        let nonzero = of(|value| value.is_nonzero());
        assert_eq!(answer(Count::nonzero(T::TYPE), &values), nonzero);
        assert_eq!(answer(Count::nan(T::TYPE), &values), of(|value| value.is_nan()));
        if has_infinities {
            let infinite = of(|value| !value.is_nan() && value.square(1.0).is_infinite());
            assert_eq!(answer(Count::infinite(T::TYPE), &values), infinite);
        }
        assert_eq!(answer(Truth::any(T::TYPE), &values), nonzero > 0);
        assert_eq!(answer(Truth::all(T::TYPE), &values), nonzero == values.len() as u64);
    }

    fn of_integers<T: Element>(bits: &[u64]) {
        let values: Vec<T> = bits.iter().map(|bits| T::from_bits(*bits)).collect();
        let nonzero = values.iter().filter(|value| value.is_nonzero()).count() as u64;
        assert_eq!(answer(Count::nonzero(T::TYPE), &values), nonzero);
        assert_eq!(answer(Truth::any(T::TYPE), &values), nonzero > 0);
        assert_eq!(answer(Truth::all(T::TYPE), &values), nonzero == values.len() as u64);
    }

    proptest! {
        #[test]
        fn kinds_are_ranges_of_bits(bits in any_bits()) {
            counts::<f16>(&bits, true);
            counts::<bf16>(&bits, true);
            counts::<f32>(&bits, true);
            counts::<f64>(&bits, false);
            counts::<f8e4m3>(&bits, false);
            counts::<f8e5m2>(&bits, false);
            of_integers::<i8>(&bits);
            of_integers::<u16>(&bits);
            of_integers::<i32>(&bits);
            of_integers::<i64>(&bits);
            of_integers::<bool>(&bits.iter().map(|bits| bits & 1).collect::<Vec<_>>());
        }

        /// As the kernels of unsigned integers of the same bits fold them.
        #[test]
        fn a_launch_passes_all_there_is(bits in any_bits()) {
            let singles: Vec<f32> = bits.iter().map(|bits| f32::from_bits(*bits as u32)).collect();
            let words: Vec<u32> = bits.iter().map(|bits| *bits as u32).collect();
            for count in [Count::nonzero(Type::F32), Count::nan(Type::F32), Count::infinite(Type::F32)] {
                prop_assert_eq!(answer(Count::of_params(count.params()), &words), answer(count, &singles));
            }
            for truth in [Truth::any(Type::F32), Truth::all(Type::F32)] {
                prop_assert_eq!(answer(Truth::of_params(truth.params()), &words), answer(truth, &singles));
            }
        }
    }
}
