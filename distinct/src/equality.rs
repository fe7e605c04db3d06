//! When two elements are the same: the keys by which distinct ones are counted.
//!
//! All NaN are one value, as in NumPy's `unique`, and so are −0.0 and +0.0; of a complex number each part's zeros are one, and any
//! number with a NaN in it is the one NaN. All else is told apart by its bits. The rule is data, not code of each type: a kernel that
//! knows no more of elements than how wide they are is passed it.

use warpfold_kernels::element::{Element, Type};

/// What makes two elements of a type the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equality {
    kind: Kind,
    /// The largest magnitude, as bits, that is no NaN: of a float, or of a part of a complex number.
    highest: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The same bits.
    Bits,
    /// Zero or not.
    Truth,
    Float,
    Complex,
}

impl Equality {
    /// Of elements of a type.
    #[must_use]
    pub const fn of(ty: Type) -> Self {
        let (kind, highest) = match ty {
            Type::Bool => (Kind::Truth, 0),
            Type::F16 => (Kind::Float, 0x7c00),
            Type::Bf16 => (Kind::Float, 0x7f80),
            Type::F32 => (Kind::Float, 0x7f80_0000),
            Type::F64 => (Kind::Float, 0x7ff0_0000_0000_0000),
            // It has no infinity, and one NaN of either sign.
            Type::F8E4M3 => (Kind::Float, 0x7e),
            Type::F8E5M2 => (Kind::Float, 0x7c),
            Type::Complex32 => (Kind::Complex, 0x7c00),
            Type::Complex64 => (Kind::Complex, 0x7f80_0000),
            _ => (Kind::Bits, 0),
        };
        Self { kind, highest }
    }

    /// As a launch passes it.
    #[must_use]
    pub const fn params(self) -> (u32, u64) {
        (self.kind as u32, self.highest)
    }

    /// By what a launch passes.
    #[inline(always)]
    #[must_use]
    pub const fn of_params(kind: u32, highest: u64) -> Self {
        let kind = match kind {
            0 => Kind::Bits,
            1 => Kind::Truth,
            2 => Kind::Float,
            _ => Kind::Complex,
        };
        Self { kind, highest }
    }

    /// The key of an element, given as the low `width` bits of `bits`: two are the same where their keys are. That of NaN has all bits set, which
    /// no number's has; that of zero is 0.
    #[inline(always)]
    #[must_use]
    pub const fn key(self, bits: u64, width: u32) -> u64 {
        let all = ones(width);
        match self.kind {
            Kind::Bits => bits & all,
            Kind::Truth => (bits & all != 0) as u64,
            Kind::Float => {
                if self.is_nan(bits, width) {
                    all
                } else {
                    zeros_alike(bits, width)
                }
            }
            Kind::Complex => {
                let half = width / 2;
                let (re, im) = (bits & ones(half), bits >> half);
                if self.is_nan(re, half) | self.is_nan(im, half) {
                    all
                } else {
                    zeros_alike(re, half) | zeros_alike(im, half) << half
                }
            }
        }
    }

    const fn is_nan(self, bits: u64, width: u32) -> bool {
        bits & ones(width - 1) > self.highest
    }
}

/// As many low bits.
const fn ones(width: u32) -> u64 {
    u64::MAX >> (u64::BITS - width)
}

/// The bits of a float, of either zero those of +0.0.
const fn zeros_alike(bits: u64, width: u32) -> u64 {
    if bits & ones(width - 1) == 0 { 0 } else { bits }
}

/// Whether elements are of so few bytes that they have keys.
#[must_use]
pub const fn has_key<T: Element>() -> bool {
    T::TYPE.bytes() <= 8
}

/// The [key](Equality::key) of an element that [has one](has_key).
#[inline(always)]
#[must_use]
pub fn key<T: Element>(element: T) -> u64 {
    Equality::of(T::TYPE).key(bits(element), 8 * T::TYPE.bytes() as u32)
}

/// An element's bits, and above those of small ones anything.
#[inline(always)]
pub(crate) fn bits<T: Element>(element: T) -> u64 {
    let high = if T::COUNT > 1 { element.word(1) } else { 0 };
    u64::from(element.word(0)) | u64::from(high) << 32
}

/// The hash of a key: no other key has it, and each of its bits depends on all of the key's. It is the finaliser of Austin Appleby's
/// MurmurHash3, which has an inverse.
#[inline(always)]
#[must_use]
pub const fn hash(key: u64) -> u64 {
    let key = (key ^ key >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let key = (key ^ key >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    key ^ key >> 33
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{collections::BTreeSet, vec::Vec};

    use warpfold_kernels::element::{Complex, bf16, complex32, complex64, f8e4m3, f8e5m2, f16};

    use super::*;

    #[test]
    fn all_nan_are_one_and_both_zeros() {
        let nan = [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff].map(|bits| key(f32::from_bits(bits)));
        assert_eq!(nan, [0xffff_ffff; 4]);
        assert_eq!((key(0.0_f32), key(-0.0_f32)), (0, 0));
        assert_eq!((key(f64::NAN), key(-f64::NAN), key(-0.0_f64)), (u64::MAX, u64::MAX, 0));
        assert!(key(f32::INFINITY) != key(f32::NEG_INFINITY) && key(f32::MAX) != key(f32::INFINITY));
        // The least number of either sign is not zero.
        assert!(key(f32::from_bits(1)) != key(f32::from_bits(0x8000_0001)));
        assert_eq!(
            (key(true), key(false), key(-1_i8), key(i64::MIN)),
            (1, 0, 0xff, 1 << 63)
        );
    }

    /// Of the types with few numbers: as many keys as numbers that differ, NaN counted once.
    #[test]
    fn keys_are_the_same_where_elements_are() {
        fn count<T: Element>(nan: usize, of: impl Fn(u64) -> T) {
            let bits = 1_u64 << (8 * T::TYPE.bytes());
            let keys: BTreeSet<u64> = (0..bits).map(|bits| key(of(bits))).collect();
            // Two zeros are one, and all NaN.
            assert_eq!(keys.len() as u64, bits - 1 - (nan as u64 - 1), "{}", T::TYPE.name());
        }
        count::<f8e4m3>(2, |bits| f8e4m3::from_bits(bits as u8));
        count::<f8e5m2>(6, |bits| f8e5m2::from_bits(bits as u8));
        count::<f16>(2 * 1023, |bits| f16::from_bits(bits as u16));
        count::<bf16>(2 * 127, |bits| bf16::from_bits(bits as u16));
    }

    #[test]
    fn complex_numbers_have_zeros_in_each_part_and_one_nan() {
        let of = |re: f32, im: f32| key(Complex::new(re, im));
        assert!(of(0.0, -0.0) == of(-0.0, 0.0) && of(-0.0, 1.0) == of(0.0, 1.0));
        assert!(of(1.0, 0.0) != of(0.0, 1.0));
        let nan = [of(f32::NAN, 1.0), of(-0.0, -f32::NAN), of(f32::NAN, f32::NAN)];
        assert_eq!(nan, [u64::MAX; 3]);
        let half = |bits: u64| key(<complex32 as Element>::from_bits(bits));
        assert_eq!((half(0x8000_0000), half(0x8000_3c00)), (0, 0x3c00));
        assert_eq!([0x7c01_0000, 0x0000_fe00].map(half), [0xffff_ffff; 2]);
        assert_eq!(
            key(<complex64 as Element>::from_bits(0x8000_0000_3f80_0000)),
            0x3f80_0000
        );
    }

    #[test]
    fn launches_tell_all_of_it() {
        for ty in [Type::Bool, Type::U64, Type::F16, Type::F8E4M3, Type::Complex64] {
            let (kind, highest) = Equality::of(ty).params();
            assert_eq!(Equality::of_params(kind, highest), Equality::of(ty));
        }
    }

    #[test]
    fn no_two_keys_have_one_hash() {
        let hashes: BTreeSet<u64> = (0..1 << 16).map(|key| hash(key << 40)).collect();
        assert_eq!(hashes.len(), 1 << 16);
        // Their high bits, which choose a slot, are spread over all slots.
        let high: BTreeSet<u64> = (0..1 << 12).map(|key| hash(key) >> 56).collect();
        assert_eq!(high.iter().copied().collect::<Vec<_>>(), (0..256).collect::<Vec<_>>());
    }
}
