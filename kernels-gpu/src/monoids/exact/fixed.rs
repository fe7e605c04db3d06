//! Whole numbers of 352 bits, in units of the smallest f32.

use super::{Monoid, Words};

/// Words of a number.
const WORDS: usize = 11;

/// The binary order of a unit: 2⁻¹⁴⁹ is the smallest f32.
pub(super) const UNIT: i32 = -149;

/// The magnitude of +∞; those of NaN are above.
pub(super) const INFINITY: u32 = f32::INFINITY.to_bits();
/// That of the smallest normal number.
const NORMAL: u32 = f32::MIN_POSITIVE.to_bits();
/// −0.0, which adds nothing to a sum, not even a sign.
pub(super) const NEUTRAL: u32 = 1 << 31;

/// Something but −0.0 was added.
pub(super) const NUMBER: u32 = 1;
/// A +∞ was.
const POSITIVE: u32 = 2;
/// A −∞ was.
const NEGATIVE: u32 = 4;
/// A NaN was.
const NAN: u32 = 8;

/// A float's bits but for its sign.
#[inline(always)]
pub(super) fn magnitude(bits: u32) -> u32 {
    bits & !NEUTRAL
}

/// The significand of a normal number, with its sign.
#[inline(always)]
fn significand(bits: u32) -> i32 {
    let significand = (bits & (NORMAL - 1) | NORMAL) as i32;
    let sign = bits as i32 >> 31;
    (significand ^ sign) - sign
}

/// What is seen of an infinity or a NaN; of a number nothing.
#[inline(always)]
pub(super) fn special(bits: u32) -> u32 {
    if magnitude(bits) > INFINITY {
        NAN
    } else if bits == INFINITY {
        POSITIVE
    } else if magnitude(bits) == INFINITY {
        NEGATIVE
    } else {
        0
    }
}

/// One piece of code for each word, the lowest first: computed indices would put the words in memory.
macro_rules! each_word {
    (|$i:ident| $word:expr) => {
        each_word!(|$i| $word; 0 1 2 3 4 5 6 7 8 9 10)
    };
    (|$i:ident| $word:expr; $($number:literal)*) => {
        [$({
            const $i: usize = $number;
            $word
        }),*]
    };
}

/// The words, `BY` places further up where `yes`.
#[inline(always)]
fn up<const BY: usize>(words: [u32; WORDS], yes: bool) -> [u32; WORDS] {
    each_word!(|I| {
        let from = if I < BY { 0 } else { words[(I + WORDS - BY) % WORDS] };
        if yes { from } else { words[I] }
    })
}

/// A sum of f32 without error: a whole number of 2⁻¹⁴⁹ in two's complement, and which values were seen that the number does not
/// tell of. Sums of fewer than 2⁶⁴ elements fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    words: [u32; WORDS],
    seen: u32,
}

impl Fixed {
    /// Of no elements.
    pub const NOTHING: Self = Self {
        words: [0; WORDS],
        seen: 0,
    };

    /// Of one element.
    #[inline]
    #[must_use]
    pub fn of(value: f32) -> Self {
        let bits = value.to_bits();
        if magnitude(bits) >= INFINITY {
            return Self::NOTHING.seeing(special(bits) | NUMBER);
        }
        let units = if magnitude(bits) >= NORMAL {
            significand(bits)
        } else {
            let magnitude = magnitude(bits) as i32;
            if bits >> 31 == 0 { magnitude } else { -magnitude }
        };
        let order = (magnitude(bits) >> 23).max(1) - 1;
        let number = Self::of_units(units.into(), order);
        number.seeing(if bits == NEUTRAL { 0 } else { NUMBER })
    }

    /// `value · 2^order` units, for an order below 256.
    #[inline(always)]
    pub(super) fn of_units(value: i64, order: u32) -> Self {
        let (first, shift) = (order / 32, order % 32);
        let low = (value as u64) << shift;
        let [low, middle, high] = [low as u32, (low >> 32) as u32, (value >> 32 >> (32 - shift)) as u32];
        let sign = (value >> 63) as u32;
        let words = [low, middle, high, sign, sign, sign, sign, sign, sign, sign, sign];
        // By as many words as `first` says, bit by bit: a choice for each word, where a `match` would be branches.
        let words = up::<4>(words, first & 4 != 0);
        let words = up::<2>(words, first & 2 != 0);
        let words = up::<1>(words, first & 1 != 0);
        Self { words, seen: 0 }
    }

    /// The same, having seen more.
    #[inline(always)]
    pub(super) fn seeing(self, seen: u32) -> Self {
        let seen = self.seen | seen;
        Self { seen, ..self }
    }

    /// The sum of both: exact, and so commutative and associative to the bit.
    #[inline(always)]
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        // Its high half is what is carried.
        let mut sum = 0;
        let words = each_word!(|I| {
            sum = u64::from(self.words[I]) + u64::from(other.words[I]) + (sum >> 32);
            sum as u32
        });
        Self { words, seen: self.seen }.seeing(other.seen)
    }

    /// The sum divided by `divisor`, which is not 0, so rounded to f64 that it rounds on to a type of at most 51 bits as the exact
    /// quotient does: to odd, the last bit set where bits were left off. (S. Boldo and G. Melquiond, *Emulation of a FMA and
    /// Correctly Rounded Sums: Proved Algorithms Using Rounding to Odd*, 2008.) Every such quotient is a normal f64, or zero.
    #[inline]
    #[must_use]
    pub fn divided_by(self, divisor: u64) -> f64 {
        const BOTH: u32 = POSITIVE | NEGATIVE;
        match self.seen {
            seen if seen & NAN != 0 || seen & BOTH == BOTH => return f64::NAN,
            seen if seen & POSITIVE != 0 => return f64::INFINITY,
            seen if seen & NEGATIVE != 0 => return f64::NEG_INFINITY,
            0 => return -0.0,
            _ if self.is_zero() => return 0.0,
            _ => {}
        }
        let quotient = self.leading().divided_by(divisor);
        let sign = u64::from(self.words[WORDS - 1] >> 31) << 63;
        f64::from_bits(sign | quotient.to_odd())
    }

    /// Word by word: a comparison of arrays may be a call.
    #[inline(always)]
    fn is_zero(self) -> bool {
        let mut any = 0;
        let _ = each_word!(|I| any |= self.words[I]);
        any == 0
    }

    /// The leading bits of the magnitude of a number that is not zero.
    #[inline(always)]
    fn leading(self) -> Leading {
        // Two's complement of a negative one.
        let flip = (self.words[WORDS - 1] as i32 >> 31) as u32;
        let mut sum = u64::from(flip & 1) << 32;
        let mut words = each_word!(|I| {
            sum = u64::from(self.words[I] ^ flip) + (sum >> 32);
            sum as u32
        });
        let mut order = UNIT + 32 * (WORDS as i32 - 2);
        while words[WORDS - 1] == 0 {
            words = each_word!(|I| words[(I + WORDS - 1) % WORDS]);
            order -= 32;
        }
        let shift = u32::leading_zeros(words[WORDS - 1]);
        let word = |upper: u32, lower: u32| u64::from(upper << shift | lower >> 1 >> (31 - shift));
        let [.., f, g, h, i, j] = words;
        let mut rest = f << shift;
        let _ = each_word!(|I| if I + 5 < WORDS {
            rest |= words[I]
        });
        Leading {
            high: word(j, i) << 32 | word(i, h),
            low: word(h, g) << 32 | word(g, f),
            rest: rest != 0,
            order: order - shift as i32,
        }
    }
}

/// The 128 leading bits of a number, the first of them set: `high · 2^order` and more.
struct Leading {
    high: u64,
    low: u64,
    /// Whether any bit further down is set.
    rest: bool,
    order: i32,
}

impl Leading {
    /// The quotient, to 63 bits at least, with `low` 0: a division by hand, bit by bit.
    #[inline(always)]
    fn divided_by(self, divisor: u64) -> Self {
        if divisor == 1 {
            return self;
        }
        let upper = (divisor >> 32) as u32;
        let zeros = if upper == 0 {
            32 + u32::leading_zeros(divisor as u32)
        } else {
            u32::leading_zeros(upper)
        };
        let divisor = divisor << zeros;
        // The remainder has 65 bits, and is below twice the divisor.
        let (mut carry, mut remainder, mut low, mut quotient) = (0, self.high, self.low, 0);
        let mut left = 64;
        while left > 0 {
            let fits = carry == 1 || remainder >= divisor;
            remainder = remainder.wrapping_sub(if fits { divisor } else { 0 });
            quotient = quotient << 1 | u64::from(fits);
            carry = remainder >> 63;
            remainder = remainder << 1 | low >> 63;
            low <<= 1;
            left -= 1;
        }
        // The first bit is 0 where the divisor is larger; then the second is set.
        let short = 1 - (quotient >> 63) as u32;
        Self {
            high: quotient << short,
            low: 0,
            rest: self.rest | (carry | remainder != 0),
            order: self.order + zeros as i32 - 63 - short as i32,
        }
    }

    /// The bits of an f64, rounded to odd.
    #[inline(always)]
    fn to_odd(&self) -> u64 {
        const FRACTION: u64 = (1 << 52) - 1;
        let dropped = self.high << 53 | self.low;
        let odd = u64::from(dropped != 0 || self.rest);
        let exponent = (self.order + 63 + 1023) as u64;
        exponent << 52 | self.high >> 11 & FRACTION | odd
    }
}

impl Words for Fixed {
    const COUNT: usize = WORDS + 1;
    #[inline]
    fn word(self, i: usize) -> u32 {
        match i {
            0 => self.words[0],
            1 => self.words[1],
            2 => self.words[2],
            3 => self.words[3],
            4 => self.words[4],
            5 => self.words[5],
            6 => self.words[6],
            7 => self.words[7],
            8 => self.words[8],
            9 => self.words[9],
            10 => self.words[10],
            _ => self.seen,
        }
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        Self {
            words: each_word!(|I| word(I)),
            seen: word(WORDS),
        }
    }
}

/// An element's bits; [`NEUTRAL`] where there is none.
#[derive(Clone, Copy)]
pub(super) struct Bits;

impl Monoid<f32> for Bits {
    type State = u32;
    type Answer = u32;

    #[inline(always)]
    fn identity(self) -> u32 {
        NEUTRAL
    }
    #[inline(always)]
    fn lift(self, value: f32, _: u64) -> u32 {
        value.to_bits()
    }
    #[inline(always)]
    fn combine(self, a: u32, _: u32) -> u32 {
        a
    }
    #[inline(always)]
    fn finish(self, bits: u32, _: u64) -> u32 {
        bits
    }
    #[inline(always)]
    fn empty(self) -> Option<u32> {
        None
    }
}
