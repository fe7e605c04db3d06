//! Whole numbers of hundreds of bits or thousands, in units of the smallest float.

use crate::monoids::Words;

/// Something but −0.0 was added.
pub(super) const NUMBER: u32 = 1;
/// A +∞ was.
const POSITIVE: u32 = 2;
/// A −∞ was.
const NEGATIVE: u32 = 4;
/// A NaN was.
const NAN: u32 = 8;

/// A float as an integer times a power of two.
pub trait Digits: Copy {
    /// The binary order of the smallest: all are multiples of that.
    const UNIT: i32;
    /// Bits of a significand.
    const COUNT: u32;
    /// What is [seen](Fixed) of it: nothing of −0.0, which adds nothing to a sum, not even a sign.
    fn seen(self) -> u32;
    /// Of a finite one, `(value, order)` such that it is `value · 2^order` units.
    fn units(self) -> (i64, u32);
}

macro_rules! digits {
    ($float:ty, $bits:ty, $count:literal) => {
        impl Digits for $float {
            const UNIT: i32 = Self::MIN_EXP - Self::MANTISSA_DIGITS as i32;
            const COUNT: u32 = Self::MANTISSA_DIGITS;
            #[inline(always)]
            fn seen(self) -> u32 {
                let bits = self.to_bits();
                let magnitude = bits << 1 >> 1;
                if magnitude > Self::INFINITY.to_bits() {
                    NAN | NUMBER
                } else if bits == Self::INFINITY.to_bits() {
                    POSITIVE | NUMBER
                } else if bits == Self::NEG_INFINITY.to_bits() {
                    NEGATIVE | NUMBER
                } else {
                    u32::from(bits != (-0.0 as Self).to_bits())
                }
            }
            #[inline(always)]
            fn units(self) -> (i64, u32) {
                const NORMAL: $bits = <$float>::MIN_POSITIVE.to_bits();
                let bits = self.to_bits();
                let magnitude = bits << 1 >> 1;
                let exponent = (magnitude >> $count) as u32;
                let hidden = if exponent == 0 { 0 } else { NORMAL };
                let significand = (magnitude & (NORMAL - 1) | hidden) as i64;
                let negative = bits != magnitude;
                (
                    if negative { -significand } else { significand },
                    exponent.max(1) - 1,
                )
            }
        }
    };
}

digits!(f32, u32, 23);
digits!(f64, u64, 52);

/// Runs one piece of code for each word, the lowest first: computed indices would put the words in memory.
macro_rules! each_word {
    (|$i:ident| $body:expr) => {
        each_word!(
            |$i| $body;
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43
            44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67
        )
    };
    (|$i:ident| $body:expr; $($number:literal)*) => {
        $(if $number < WORDS {
            const $i: usize = $number;
            $body;
        })*
    };
}

/// The most words that there can be.
const MOST: usize = 68;

/// The words, `BY` places further up where `yes`.
#[inline(always)]
fn up<const BY: usize, const WORDS: usize>(words: [u32; WORDS], yes: bool) -> [u32; WORDS] {
    let mut moved = words;
    if BY < WORDS {
        each_word!(|I| {
            let from = if I < BY { 0 } else { words[(I + WORDS - BY) % WORDS] };
            moved[I] = if yes { from } else { words[I] };
        });
    }
    moved
}

/// The words of a number that is not zero, `BY` places further up where the upper `BY` are zero; and whether they were.
#[inline(always)]
fn raised<const BY: usize, const WORDS: usize>(words: [u32; WORDS]) -> ([u32; WORDS], bool) {
    let mut upper = 0;
    each_word!(|I| if I + BY >= WORDS {
        upper |= words[I];
    });
    let yes = BY < WORDS && upper == 0;
    (up::<BY, WORDS>(words, yes), yes)
}

/// A sum of floats without error: a whole number of the smallest of them in two's complement, and which values were seen that the
/// number does not tell of. Sums of fewer than 2⁶⁴ elements fit: of f32 11 words, of f64 68.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed<const WORDS: usize> {
    words: [u32; WORDS],
    seen: u32,
}

impl<const WORDS: usize> Fixed<WORDS> {
    /// Of no elements.
    pub const NOTHING: Self = Self {
        words: [0; WORDS],
        seen: 0,
    };

    /// Of one element.
    #[inline(always)]
    #[must_use]
    pub fn of(value: impl Digits) -> Self {
        Self::NOTHING.and(value)
    }

    /// And one element more.
    #[inline(always)]
    #[must_use]
    pub fn and(self, value: impl Digits) -> Self {
        let seen = value.seen();
        let (units, order) = if seen > NUMBER { (0, 0) } else { value.units() };
        self.plus_units(units, order).seeing(seen)
    }

    /// And `value · 2^order` units.
    #[inline(always)]
    pub(super) fn plus_units(self, value: i64, order: u32) -> Self {
        const { assert!(3 < WORDS && WORDS <= MOST) };
        let (first, shift) = (order / 32, order % 32);
        let low = (value as u64) << shift;
        let [low, middle, high] = [low as u32, (low >> 32) as u32, (value >> 32 >> (32 - shift)) as u32];
        let sign = (value >> 63) as u32;
        // What of it lies at a word, picked by masks: a number that is shifted first would take as many registers again, and a choice
        // by comparisons becomes branches.
        let mut words = self.words;
        let (mut is_low, mut is_middle, mut is_high, mut is_above) = (0, 0, 0, 0);
        let mut sum = 0;
        let first = first as i32;
        each_word!(|I| {
            is_above |= is_high;
            (is_high, is_middle) = (is_middle, is_low);
            is_low = if first == I as i32 { u32::MAX } else { 0 };
            let word = is_low & low | is_middle & middle | is_high & high | is_above & sign;
            sum = u64::from(self.words[I]) + u64::from(word) + (sum >> 32);
            words[I] = sum as u32;
        });
        Self { words, ..self }
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
        let mut words = self.words;
        each_word!(|I| {
            sum = u64::from(self.words[I]) + u64::from(other.words[I]) + (sum >> 32);
            words[I] = sum as u32;
        });
        Self { words, seen: self.seen }.seeing(other.seen)
    }

    /// The sum of elements of `T`, divided by `divisor`, which is not 0: the number nearest to the quotient that `T` has, or that it
    /// would have if its exponents did not end.
    #[inline(always)]
    #[must_use]
    pub fn divided_by<T: Digits>(self, divisor: u64) -> f64 {
        const BOTH: u32 = POSITIVE | NEGATIVE;
        match self.seen {
            seen if seen & NAN != 0 || seen & BOTH == BOTH => return f64::NAN,
            seen if seen & POSITIVE != 0 => return f64::INFINITY,
            seen if seen & NEGATIVE != 0 => return f64::NEG_INFINITY,
            0 => return -0.0,
            _ if self.is_zero() => return 0.0,
            _ => {}
        }
        let magnitude = self.leading(T::UNIT).divided_by(divisor).nearest(T::COUNT, T::UNIT);
        let sign = u64::from(self.words[WORDS - 1] >> 31) << 63;
        f64::from_bits(sign | magnitude.to_bits())
    }

    /// Word by word: a comparison of arrays may be a call.
    #[inline(always)]
    fn is_zero(self) -> bool {
        let mut any = 0;
        each_word!(|I| any |= self.words[I]);
        any == 0
    }

    /// The leading bits of the magnitude of a number that is not zero.
    #[inline(always)]
    fn leading(self, unit: i32) -> Leading {
        // Two's complement of a negative one.
        let flip = (self.words[WORDS - 1] as i32 >> 31) as u32;
        let mut sum = u64::from(flip & 1) << 32;
        let mut words = self.words;
        each_word!(|I| {
            sum = u64::from(self.words[I] ^ flip) + (sum >> 32);
            words[I] = sum as u32;
        });
        let mut order = unit + 32 * (WORDS as i32 - 2);
        macro_rules! raise {
            ($($by:literal)*) => {
                $(
                    let (moved, yes) = raised::<$by, WORDS>(words);
                    words = moved;
                    order -= if yes { 32 * $by } else { 0 };
                )*
            };
        }
        raise!(64 32 16 8 4 2 1);
        let shift = u32::leading_zeros(words[WORDS - 1]);
        let word = |upper: u32, lower: u32| u64::from(upper << shift | lower >> 1 >> (31 - shift));
        let from_top = |number: usize| words[WORDS - number];
        let (f, g, h, i, j) = (from_top(5), from_top(4), from_top(3), from_top(2), from_top(1));
        let mut rest = f << shift;
        each_word!(|I| if I + 5 < WORDS {
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

    /// The nearest number of at most `digits` bits that is a multiple of `2^unit`; of two the even one.
    #[inline(always)]
    fn nearest(&self, digits: u32, unit: i32) -> f64 {
        let dropped = (64 - digits as i32).max(unit - self.order);
        let (kept, below) = match dropped {
            ..64 => (self.high >> dropped, self.high << (64 - dropped)),
            64 => (0, self.high),
            // Less than half of the smallest.
            _ => (0, 1),
        };
        let more = below << 1 | self.low | u64::from(self.rest) | kept & 1;
        let up = below >> 63 == 1 && more != 0;
        // Powers that are normal numbers each, and a product that is not rounded: what it is of, it holds.
        let order = self.order + dropped;
        let power = |order: i32| f64::from_bits(((1023 + order) as u64) << 52);
        (kept + u64::from(up)) as i64 as f64 * power(order / 2) * power(order - order / 2)
    }
}

impl<const WORDS: usize> Words for Fixed<WORDS> {
    const COUNT: usize = WORDS + 1;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        let mut word = self.seen;
        each_word!(|I| if i == I {
            word = self.words[I];
        });
        word
    }
    #[inline(always)]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let mut words = [0; WORDS];
        each_word!(|I| words[I] = word(I));
        Self {
            words,
            seen: word(WORDS),
        }
    }
}
