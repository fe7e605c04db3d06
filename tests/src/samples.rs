//! Arrays of every type of elements. As [`cases`](crate::cases), each is a function of the type, the index and the length
//! alone, made by integer arithmetic, so that its bits are the same on every machine.
//!
//! An element is given as the low bits of a number.

use warpfold_kernels::element::{Element, Type, complex128};

use crate::cases::mix;

/// A kind of array.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Its name in messages and in the golden file.
    pub name: &'static str,
    /// The element of a format at an index of an array of a length.
    element: fn(Format, usize, usize) -> u64,
}

impl Sample {
    /// The array of `len` elements of a type.
    ///
    /// # Panics
    ///
    /// Of complex128, whose elements have more bits: [`complex128s`] has some.
    #[must_use]
    pub fn array(self, ty: Type, len: usize) -> Vec<u64> {
        if let Some(part) = part(ty) {
            let parts = self.array(part, 2 * len);
            return parts.as_chunks().0.iter().map(|of| of_parts(part, *of)).collect();
        }
        let format = Format::of(ty);
        (0..len).map(|at| (self.element)(format, at, len)).collect()
    }

    /// The kind of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|sample| sample.name == name)
    }
}

/// What a complex number has two of.
#[must_use]
pub fn part(ty: Type) -> Option<Type> {
    match ty {
        Type::Complex32 => Some(Type::F16),
        Type::Complex64 => Some(Type::F32),
        Type::Complex128 => Some(Type::F64),
        _ => None,
    }
}

/// The real part is the lower.
fn of_parts(part: Type, [re, im]: [u64; 2]) -> u64 {
    assert!(part.bytes() < 8, "more bits than are given");
    re | im << (8 * part.bytes())
}

/// The elements that bits stand for.
#[must_use]
pub fn elements<T: Element>(bits: &[u64]) -> Vec<T> {
    bits.iter().map(|&bits| T::from_bits(bits)).collect()
}

/// Any bits at all: of floats every NaN, both infinities, subnormals.
pub const ANY: Sample = sample("any", |format, at, _| format.of_bits(mix(21, at)));

/// The same without NaN and infinities, half of the numbers subnormal; of integers the small ones.
pub const FINITE: Sample = sample("finite", |format, at, _| match format {
    Format::Float { mantissa, bias } if mix(22, at).is_multiple_of(2) => {
        float(mantissa, mix(23, at), mix(24, at) % (2 * bias + 1))
    }
    Format::Float { mantissa, .. } => float(mantissa, mix(23, at), 0),
    _ => format.of_bits(mix(23, at) % 7),
});

/// Ordinary numbers with long mantissas, either sign, a few exponents: another order of adding shows.
pub const PLAIN: Sample = sample("plain", |format, at, _| match format {
    Format::Float { mantissa, bias } => float(mantissa, mix(25, at), bias - 4 + mix(26, at) % 9),
    _ => format.of_bits(mix(25, at)),
});

/// What multiplies without coming to nothing: floats near one, odd integers.
pub const FACTORS: Sample = sample("factors", |format, at, _| match format {
    // On both sides of one, and about as far: the steps below it are half as wide.
    Format::Float { mantissa, bias } => {
        let (one, random) = (bias << mantissa, mix(27, at));
        if random.is_multiple_of(2) {
            one + (random >> 8) % (1 << mantissa.saturating_sub(3))
        } else {
            one - (random >> 8) % (1 << (mantissa - 2))
        }
    }
    _ => format.of_bits(mix(27, at) | 1),
});

/// Four values, both zeros among them: nearly everything ties.
pub const FEW: Sample = sample("few", |format, at, _| match (format, mix(28, at) % 4) {
    (_, 0) => 0,
    (Format::Float { .. }, 1) => format.sign(),
    (Format::Float { mantissa, bias }, 2) => bias << mantissa,
    (Format::Float { mantissa, bias }, _) => bias << mantissa | format.sign(),
    (_, one) => format.of_bits(u64::wrapping_sub(one, 2)),
});

/// One value everywhere but at one place, which is the last of its kind to be found: by turns, with the length, larger or
/// smaller than the others, or a NaN.
pub const ODD_ONE: Sample = sample("odd_one", |format, at, len| {
    let odd = at == 2 * len / 3;
    match (format, len % 3) {
        (Format::Float { mantissa, bias }, 0) if odd => (2 * bias + 1) << mantissa | format.sign() | 1,
        (Format::Float { mantissa, bias }, turn) if odd => {
            bias << mantissa | 3 | if turn == 1 { format.sign() } else { 0 }
        }
        (Format::Float { mantissa, bias }, _) => bias << mantissa | 1,
        (Format::Truth, _) => u64::from(odd == (len % 3 == 0)),
        (_, turn) if odd => format.of_bits([100, 98, 101][turn]),
        _ => 99,
    }
});

/// Numbers near both ends of the type: sums overflow.
pub const LARGE: Sample = sample("large", |format, at, _| match format {
    Format::Float { mantissa, bias } => float(mantissa, mix(29, at), 2 * bias - mix(30, at) % 3),
    _ => {
        let end = mix(29, at) % 5;
        // Just past the lowest, and just below the highest, signed or not.
        let base = if mix(30, at).is_multiple_of(2) {
            format.sign()
        } else {
            u64::MAX
        };
        format.of_bits(if mix(30, at).is_multiple_of(3) {
            base.wrapping_add(end)
        } else {
            base.wrapping_sub(end)
        })
    }
});

/// Finite with one +∞; of integers, zeros and one that is none.
pub const ONE_INFINITY: Sample = sample("one_infinity", |format, at, len| match format {
    Format::Float { mantissa, bias } if at == len / 3 => (2 * bias + 1) << mantissa,
    Format::Float { mantissa, bias } => float(mantissa, mix(31, at), bias - mix(32, at) % 3),
    _ => u64::from(at == len / 3),
});

/// Every kind.
pub const ALL: [Sample; 8] = [ANY, FINITE, PLAIN, FACTORS, FEW, ODD_ONE, LARGE, ONE_INFINITY];

/// An element of a type, drawn by a number: often a special one.
#[must_use]
pub fn drawn(ty: Type, draw: u64) -> u64 {
    if let Some(part) = part(ty) {
        return of_parts(part, [drawn(part, draw), drawn(part, mix(33, draw as usize))]);
    }
    let format = Format::of(ty);
    let (kind, rest) = (draw % 8, draw / 8);
    let sign = if rest % 2 == 1 { format.sign() } else { 0 };
    match format {
        Format::Float { mantissa, bias } => {
            let one = bias << mantissa;
            let infinity = (2 * bias + 1) << mantissa;
            let special = [
                0,
                1,                   // the smallest subnormal
                (1 << mantissa) - 1, // the largest
                1 << mantissa,       // the smallest normal number
                one - 1,
                one,
                one + 1,
                infinity - 1, // the largest finite number
                infinity,
                infinity | 1, // a signalling NaN
                infinity | 1 << (mantissa - 1),
                2 * (1 << (format.bits() - 2)) - 1, // a NaN of all bits
            ];
            match kind {
                0..3 => special[rest as usize / 2 % special.len()] | sign,
                3 => (bias + rest / 2 % 2) << mantissa | sign, // 1 and 2
                _ => format.of_bits(rest),
            }
        }
        _ => match kind {
            0..3 => format.of_bits([0, 1, u64::MAX, format.sign(), format.sign().wrapping_sub(1)][rest as usize % 5]),
            3 => format.of_bits((rest % 7).wrapping_sub(3)),
            _ => format.of_bits(rest),
        },
    }
}

/// What samples need to know of a type.
#[derive(Clone, Copy, Debug)]
enum Format {
    Float {
        /// Bits of the mantissa that are stored.
        mantissa: u32,
        /// The exponent of one, as it is stored.
        bias: u64,
    },
    Integer {
        bits: u32,
    },
    Truth,
}

impl Format {
    fn of(ty: Type) -> Self {
        let float = |mantissa, bias| Self::Float { mantissa, bias };
        match ty {
            Type::F16 => float(10, 15),
            Type::Bf16 => float(7, 127),
            Type::F32 => float(23, 127),
            Type::F64 => float(52, 1023),
            // Its highest exponent has numbers, too: what is an infinity of others is one of those.
            Type::F8E4M3 => float(3, 7),
            Type::F8E5M2 => float(2, 15),
            Type::Complex32 | Type::Complex64 | Type::Complex128 => unreachable!("it has two parts"),
            Type::Bool => Self::Truth,
            Type::I8 | Type::U8 => Self::Integer { bits: 8 },
            Type::I16 | Type::U16 => Self::Integer { bits: 16 },
            Type::I32 | Type::U32 => Self::Integer { bits: 32 },
            Type::I64 | Type::U64 => Self::Integer { bits: 64 },
        }
    }

    fn bits(self) -> u32 {
        match self {
            Self::Float { mantissa, bias } => mantissa + bias.count_ones() + 2,
            Self::Integer { bits } => bits,
            Self::Truth => 1,
        }
    }

    /// The highest bit.
    fn sign(self) -> u64 {
        1 << (self.bits() - 1)
    }

    /// The low bits of a number.
    fn of_bits(self, bits: u64) -> u64 {
        bits & (u64::MAX >> (64 - self.bits()))
    }
}

/// A float of a random sign and mantissa, and an exponent as it is stored.
fn float(mantissa: u32, random: u64, exponent: u64) -> u64 {
    let sign_at = match mantissa {
        23 => 31,
        52 => 63,
        2 | 3 => 7,
        _ => 15,
    };
    // The high bits of a number for the mantissa, its lowest for the sign.
    random >> (64 - mantissa) | exponent << mantissa | (random & 1) << sign_at
}

const fn sample(name: &'static str, element: fn(Format, usize, usize) -> u64) -> Sample {
    Sample { name, element }
}

/// As many complex128, of all digits and many sizes; with specials now and then, or without.
#[must_use]
pub fn complex128s(len: usize, special: bool) -> Vec<complex128> {
    let mut state = 1_u64;
    let mut part = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let plain = f64::from_bits((0x3f0 + (state >> 56 & 0x1f)) << 52 | state >> 8 & ((1 << 52) - 1)) - 1.0;
        match state >> 33 & 0xfff {
            0 if special => f64::INFINITY,
            1 if special => f64::from_bits(1),
            2..5 if special => -0.0,
            _ => plain,
        }
    };
    (0..len).map(|_| complex128::new(part(), part())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_the_bits_of_their_types() {
        for (ty, bits) in [
            (Type::F16, 16),
            (Type::Bf16, 16),
            (Type::F32, 32),
            (Type::F64, 64),
            (Type::F8E4M3, 8),
            (Type::F8E5M2, 8),
            (Type::U8, 8),
        ] {
            assert_eq!(Format::of(ty).bits(), bits, "{ty:?}");
        }
        assert_eq!(
            f32::from_bits(PLAIN.array(Type::F32, 1)[0] as u32).to_bits(),
            PLAIN.array(Type::F32, 1)[0] as u32
        );
    }

    #[test]
    fn kinds_are_what_they_say() {
        let numbers = |sample: Sample| elements::<f64>(&sample.array(Type::F64, 1000));
        assert!(numbers(FINITE).iter().all(|value| value.is_finite()));
        assert!(numbers(FINITE).iter().any(|value| value.is_subnormal()));
        assert!(numbers(FACTORS).iter().all(|value| (0.8..1.2).contains(value)));
        assert!(numbers(PLAIN).iter().all(|value| (0.01..100.0).contains(&value.abs())));
        assert_eq!(
            numbers(ODD_ONE)
                .iter()
                .filter(|value| **value != numbers(ODD_ONE)[0])
                .count(),
            1
        );
        assert_eq!(numbers(ONE_INFINITY).iter().sum::<f64>(), f64::INFINITY);
        let halves = elements::<half::f16>(&ANY.array(Type::F16, 1000));
        assert!(halves.iter().any(|value| value.is_nan()));
    }
}
