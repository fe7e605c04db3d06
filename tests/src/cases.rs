//! Arrays to fold. Each is a function of the length alone, made by integer arithmetic and at most one rounding, never by
//! a function of a maths library, so that its bits are the same on every machine and golden answers can be recorded.

/// A kind of array.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name in messages and in the golden file.
    pub name: &'static str,
    /// The element at an index of an array of a length.
    element: fn(usize, usize) -> f32,
}

impl Case {
    /// The array of `len` elements.
    #[must_use]
    pub fn array(self, len: usize) -> Vec<f32> {
        (0..len).map(|at| (self.element)(at, len)).collect()
    }

    /// The case of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|case| case.name == name)
    }
}

/// 251 values over and over. The cycle is prime, so swapped rows, leaves or tiles cannot cancel; the values have long
/// mantissas and several exponents, so another order of adding shows.
pub const CYCLE: Case = case("cycle", |at, _| scaled(mix(1, at % 251), 4));

/// Evenly spread over [-1, 1).
pub const UNIFORM: Case = case("uniform", |at, _| unit(mix(2, at)));

/// Close to one, on both sides: products stay finite at any length that is tested.
pub const NEAR_ONE: Case = case("near_one", |at, _| {
    f32::from_bits(0x3f80_0000 - 4096 + (mix(3, at) % 8192) as u32)
});

/// Magnitudes from 2⁻⁴⁰ to 2⁴⁰, either sign.
pub const WIDE: Case = case("wide", |at, _| scaled(mix(4, at), 40));

/// Huge numbers and their negatives a few places on, with small ones between: what is left is what rounding left.
pub const CANCELLING: Case = case("cancelling", |at, _| {
    let huge = scaled(mix(5, at / 4), 4).abs() * 1e30;
    match at % 4 {
        0 => huge,
        2 => -huge,
        _ => unit(mix(6, at)),
    }
});

/// Rising by one: the largest is always the latest.
pub const ASCENDING: Case = case("ascending", |at, _| at as f32 - 1_000_000.0);

/// Falling by one: the smallest is always the latest.
pub const DESCENDING: Case = case("descending", |at, _| 1_000_000.0 - at as f32);

/// Three values: nearly everything ties.
pub const TIES: Case = case("ties", |at, _| (mix(7, at) % 3) as f32 - 1.0);

/// −0.0 and +0.0.
pub const ZEROS: Case = case("zeros", |at, _| if mix(8, at).is_multiple_of(5) { 0.0 } else { -0.0 });

/// −0.0 everywhere: the one array whose sum is −0.0.
pub const ALL_MINUS_ZERO: Case = case("all_minus_zero", |_, _| -0.0);

/// Subnormals of either sign, and zeros.
pub const SUBNORMALS: Case = case("subnormals", |at, _| {
    let random = mix(9, at);
    f32::from_bits((random >> 41) as u32 | sign(random))
});

/// Finite, with one +∞.
pub const ONE_INFINITY: Case = case("one_infinity", |at, len| {
    if at == len / 3 {
        f32::INFINITY
    } else {
        unit(mix(10, at))
    }
});

/// −∞ everywhere: the largest is −∞, not the lowest finite number.
pub const ALL_MINUS_INFINITY: Case = case("all_minus_infinity", |_, _| f32::NEG_INFINITY);

/// −∞ and +∞: their sum is NaN, made by the hardware.
pub const INFINITIES: Case = case("infinities", |at, _| {
    if mix(11, at).is_multiple_of(2) {
        f32::INFINITY
    } else {
        f32::NEG_INFINITY
    }
});

/// The largest finite number everywhere: sums and products overflow.
pub const ALL_HUGE: Case = case("all_huge", |_, _| f32::MAX);

/// Finite, with one signalling negative NaN of an odd payload.
pub const ONE_NAN: Case = case("one_nan", |at, len| {
    if at == 2 * len / 3 {
        f32::from_bits(0xff81_2345)
    } else {
        unit(mix(12, at))
    }
});

/// NaN everywhere, of every payload, quiet and signalling, of either sign.
pub const ALL_NAN: Case = case("all_nan", |at, _| nan(mix(13, at)));

/// A bit of everything.
pub const MIXED: Case = case("mixed", |at, _| {
    let random = mix(14, at);
    match random % 64 {
        0..4 => f32::from_bits(sign(random)),
        4..8 => f32::from_bits((random >> 41) as u32 | sign(random)),
        8..10 => f32::from_bits(0x7f7f_ffff | sign(random)),
        10 => f32::from_bits(0x7f80_0000 | sign(random)),
        11 if (random >> 20).is_multiple_of(16) => nan(random),
        12..16 => f32::from_bits(0x0080_0000 | sign(random)),
        _ => scaled(random, 20),
    }
});

/// Every case.
pub const ALL: [Case; 18] = [
    CYCLE,
    UNIFORM,
    NEAR_ONE,
    WIDE,
    CANCELLING,
    ASCENDING,
    DESCENDING,
    TIES,
    ZEROS,
    ALL_MINUS_ZERO,
    SUBNORMALS,
    ONE_INFINITY,
    ALL_MINUS_INFINITY,
    INFINITIES,
    ALL_HUGE,
    ONE_NAN,
    ALL_NAN,
    MIXED,
];

/// The cases whose elements and sums are finite.
pub const FINITE: [Case; 11] = [
    CYCLE,
    UNIFORM,
    NEAR_ONE,
    WIDE,
    CANCELLING,
    ASCENDING,
    DESCENDING,
    TIES,
    ZEROS,
    ALL_MINUS_ZERO,
    SUBNORMALS,
];

/// Values that fold badly, to draw from.
pub const SPECIAL: [u32; 24] = [
    0x0000_0000, // +0.0
    0x8000_0000, // −0.0
    0x0000_0001, // the smallest subnormal
    0x8000_0001,
    0x007f_ffff, // the largest subnormal
    0x807f_ffff,
    0x0080_0000, // the smallest normal
    0x8080_0000,
    0x3f80_0000, // 1
    0xbf80_0000,
    0x3f7f_ffff, // just below 1
    0x3f80_0001, // just above 1
    0x4b80_0000, // 2²⁴: the next integer is none
    0x7f7f_ffff, // the largest finite number
    0xff7f_ffff,
    0x7f80_0000, // +∞
    0xff80_0000, // −∞
    0x7fc0_0000, // the canonical NaN
    0xffc0_0000,
    0x7f80_0001, // signalling NaNs
    0xff80_0001,
    0xffbf_ffff,
    0x7fff_ffff, // NaNs of all bits
    0xffff_ffff,
];

const fn case(name: &'static str, element: fn(usize, usize) -> f32) -> Case {
    Case { name, element }
}

/// 64 random bits for each index of each stream (SplitMix64).
#[must_use]
pub const fn mix(stream: u64, at: usize) -> u64 {
    let mut bits = (stream << 48 ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A multiple of 2⁻²³ in [-1, 1).
fn unit(random: u64) -> f32 {
    ((random >> 40) as i32 - (1 << 23)) as f32 / (1 << 23) as f32
}

/// A random mantissa and sign, and an exponent from `-reach` to `reach`.
const fn scaled(random: u64, reach: u32) -> f32 {
    let exponent = 127 - reach + (random as u32 >> 8) % (2 * reach + 1);
    f32::from_bits((random >> 41) as u32 | exponent << 23 | sign(random))
}

/// A NaN with a payload that is not zero.
const fn nan(random: u64) -> f32 {
    f32::from_bits(0x7f80_0001 | (random >> 41) as u32 | sign(random))
}

/// A random sign bit. Other bits of `random` than the mantissas use.
const fn sign(random: u64) -> u32 {
    (random as u32 >> 7 & 1) << 31
}
