//! The operators over every type of elements: on raw bits and the type's name, decoded and rounded here.
//!
//! What rounds follows the tree; what does not is a plain scan, for there no order changes a bit.

use std::cmp::Ordering;

use super::{compensated, fold_columns};
use crate::Bits;

/// What an answer over `elements` is: operators over `ty`, one of `f16`, `bf16`, `f32`, `f64`, `f8e4m3`, `f8e5m2`, `i8` to
/// `i64`, `u8` to `u64`, `bool`, `complex32` and `complex64`, an element being the low bits of a number. `None` where there is no answer over nothing. Answers of fewer
/// than 32 bits are one word, sign-extended where they are signed.
///
/// # Panics
///
/// If there is no such type, or no such operator for it.
#[must_use]
pub fn answer(op: &str, ty: &str, elements: &[u64]) -> Option<Bits> {
    match Float::named(ty) {
        _ if ty.starts_with("complex") => complex(op, ty, elements),
        Some(float) => float.answer(op, elements),
        None => Integer::named(ty).answer(op, elements),
    }
}

/// One word, or two with the lower first.
fn words(count: usize, bits: u64) -> Bits {
    Bits([bits as u32, (bits >> 32) as u32][..count].to_vec())
}

fn both(one: Option<Bits>, other: Option<Bits>) -> Option<Bits> {
    Some(Bits([one?.0, other?.0].concat()))
}

/// Where the best element is, the first or the last of those that are as good; `beats` is never true of equals.
fn place(len: usize, last: bool, beats: impl Fn(usize, usize) -> bool) -> Option<Bits> {
    let better = |best: usize, at: usize| {
        if beats(at, best) || (last && !beats(best, at)) {
            at
        } else {
            best
        }
    };
    (0..len).reduce(better).map(|at| words(2, at as u64))
}

fn count(of: impl Iterator<Item = bool>) -> Option<Bits> {
    Some(words(2, of.filter(|is| *is).count() as u64))
}

fn truth(truth: bool) -> Option<Bits> {
    Some(words(1, u64::from(truth)))
}

/// Complex numbers, the real part the lower half of an element.
fn complex(op: &str, ty: &str, elements: &[u64]) -> Option<Bits> {
    let (part, bits) = if ty == "complex32" { ("f16", 16) } else { ("f32", 32) };
    let part = Float::named(part).expect("a float");
    let columns = 512 / (2 * part.bytes);
    let of = |shift: u32| -> Vec<f64> {
        let low = |element: &u64| element >> shift & ((1 << bits) - 1);
        elements.iter().map(|element| (part.decode)(low(element))).collect()
    };
    let (re, im) = (of(0), of(bits));
    let squares: Vec<f64> = re.iter().zip(&im).map(|(re, im)| re * re + im * im).collect();
    let sum = |values: &[f64]| -> f64 {
        let singles: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        let identity = if values.is_empty() { 0.0 } else { -0.0 };
        fold_columns(columns, &singles, identity, |a, b| a + b).into()
    };
    let both = |re: f64, im: f64| {
        let (re, im) = (part.round(re).0[0], part.round(im).0[0]);
        Some(if bits == 16 {
            Bits(vec![re | im << 16])
        } else {
            Bits(vec![re, im])
        })
    };
    let count = elements.len() as f64;
    match op {
        "sum" => both(sum(&re), sum(&im)),
        "prod" => {
            let pairs: Vec<[f32; 2]> = re.iter().zip(&im).map(|(re, im)| [*re as f32, *im as f32]).collect();
            let [re, im] = fold_columns(columns, &pairs, [1.0, 0.0], complex_product);
            both(re.into(), im.into())
        }
        "mean" => both(sum(&re) / count, sum(&im) / count),
        "l2" => Some(part.root(fold_columns(columns, &squares, 0.0, |a, b| a + b))),
        "linf" => Some(part.root(squares.into_iter().reduce(larger).unwrap_or(0.0))),
        _ => panic!("no operator {op} of complex numbers"),
    }
}

/// By 1, the number itself; else each product is rounded, and the sum of two.
fn complex_product([a, b]: [f32; 2], [c, d]: [f32; 2]) -> [f32; 2] {
    let is_one = |re: f32, im: f32| re.to_bits() == 1_f32.to_bits() && im.to_bits() == 0;
    if is_one(c, d) {
        [a, b]
    } else if is_one(a, b) {
        [c, d]
    } else {
        [a * c - b * d, a * d + b * c]
    }
}

/// A type with fractions.
#[derive(Clone, Copy)]
struct Float {
    bytes: usize,
    /// The bits of +∞; those of finite numbers are below.
    infinity: u64,
    /// The one NaN that answers have.
    nan: u64,
    decode: fn(u64) -> f64,
    /// What sums, means and 2-norms are answered as, if it is another type.
    computed: Option<&'static str>,
}

/// The number that 8 bits stand for: a sign, an exponent that is counted from `bias`, and `mantissa` bits.
fn decode_8(bits: u64, mantissa: u32, bias: i32) -> f64 {
    let parts = 1 << mantissa;
    let (exponent, part) = ((bits & 0x7f) >> mantissa, bits & (parts - 1));
    // Of the lowest exponent there is no whole in front of the parts, and it is as large as the next.
    let whole = if exponent == 0 { 0 } else { parts };
    let magnitude = (whole + part) as f64 / parts as f64 * 2_f64.powi(exponent.max(1) as i32 - bias);
    if bits & 0x80 == 0 { magnitude } else { -magnitude }
}

fn decode_e4m3(bits: u64) -> f64 {
    if bits & 0x7f == 0x7f {
        f64::NAN
    } else {
        decode_8(bits, 3, 7)
    }
}

fn decode_e5m2(bits: u64) -> f64 {
    match bits & 0x7f {
        0x7d.. => f64::NAN,
        0x7c if bits & 0x80 == 0 => f64::INFINITY,
        0x7c => f64::NEG_INFINITY,
        _ => decode_8(bits, 2, 15),
    }
}

impl Float {
    fn named(ty: &str) -> Option<Self> {
        let (bytes, infinity, nan, decode): (_, _, _, fn(u64) -> f64) = match ty {
            "f16" => (2, 0x7c00, 0x7e00, |bits| half::f16::from_bits(bits as u16).to_f64()),
            "bf16" => (2, 0x7f80, 0x7fc0, |bits| half::bf16::from_bits(bits as u16).to_f64()),
            "f32" => (4, 0x7f80_0000, 0x7fc0_0000, |bits| f32::from_bits(bits as u32).into()),
            "f64" => (8, 0x7ff0_0000_0000_0000, 0x7ff8_0000_0000_0000, f64::from_bits),
            // It has no infinity; what overflows is its NaN.
            "f8e4m3" => (1, 0x7f, 0x7f, decode_e4m3),
            "f8e5m2" => (1, 0x7c, 0x7e, decode_e5m2),
            _ => return None,
        };
        Some(Self {
            bytes,
            infinity,
            nan,
            decode,
            computed: (bytes == 1).then_some("f32"),
        })
    }

    fn answer(self, op: &str, elements: &[u64]) -> Option<Bits> {
        let values: Vec<f64> = elements.iter().map(|&bits| (self.decode)(bits)).collect();
        let magnitudes = || values.iter().map(|value| value.abs()).collect::<Vec<f64>>();
        let number = |value: f64| Some(self.round(value));
        let computed = self.computed.and_then(Self::named).unwrap_or(self);
        // −0.0 is the float that changes no other; the sum of nothing is +0.0 all the same.
        let sum = |values: &[f64]| {
            if values.is_empty() {
                0.0
            } else {
                self.fold(values, -0.0, |a, b| a + b, |a, b| a + b)
            }
        };
        let in_f64 = || {
            let identity = if values.is_empty() { 0.0 } else { -0.0 };
            fold_columns(self.columns(), &values, identity, |a, b| a + b)
        };
        // As if no square were too large or too small: all are scaled by a power of two where one is near the ends of f64.
        let scale = {
            let largest = magnitudes().into_iter().filter(|x| x.is_finite()).fold(0.0, f64::max);
            match largest {
                0.0 => 0,
                _ if (1e-60..1e70).contains(&largest) => 0,
                // Not above 1000, so that the power is a number.
                _ => (largest.log2() as i32).clamp(-1000, 1000),
            }
        };
        let squares = || {
            let squares: Vec<f64> = values
                .iter()
                .map(|value| (value * 2_f64.powi(-scale)).powi(2))
                .collect();
            fold_columns(self.columns(), &squares, 0.0, |a, b| a + b)
        };
        let largest = |order: fn(f64) -> f64| {
            let best = values.iter().map(|&value| order(value)).reduce(larger);
            best.map(|best| self.round(order(best)))
        };
        let arg = |order: fn(f64) -> f64, last: bool| {
            place(values.len(), last, |a, b| {
                let (a, b) = (order(values[a]), order(values[b]));
                a > b || (a.is_nan() && !b.is_nan())
            })
        };
        match op {
            "sum" => Some(computed.round(sum(&values))),
            "prod" => number(self.fold(&values, 1.0, |a, b| a * b, |a, b| a * b)),
            "mean" => Some(computed.round(sum(&values) / values.len() as f64)),
            "sum-compensated" => number(self.compensated(&values)),
            "mean-compensated" => number(self.compensated(&values) / values.len() as f64),
            "sum-wide" => number(in_f64()),
            "mean-wide" => number(in_f64() / values.len() as f64),
            "l1" => number(sum(&magnitudes())),
            "l2" if scale != 0 => number(squares().sqrt() * 2_f64.powi(scale)),
            "l2" => Some(computed.root(squares())),
            "sumsq" => number(squares() * 2_f64.powi(scale) * 2_f64.powi(scale)),
            "linf" => number(magnitudes().into_iter().reduce(larger).unwrap_or(0.0)),
            "max" => largest(|value| value),
            "min" => largest(|value| -value),
            "minmax" => both(self.answer("min", elements), self.answer("max", elements)),
            "argmax" => arg(|value| value, false),
            "argmin" => arg(|value| -value, false),
            "argmax-last" => arg(|value| value, true),
            "argmin-last" => arg(|value| -value, true),
            "argminmax" => both(self.answer("argmin", elements), self.answer("argmax", elements)),
            "count-nonzero" => count(values.iter().map(|&value| value != 0.0)),
            "count-nan" => count(values.iter().map(|value| value.is_nan())),
            "count-inf" => count(values.iter().map(|value| value.is_infinite())),
            "any" => truth(values.iter().any(|&value| value != 0.0)),
            "all" => truth(values.iter().all(|&value| value != 0.0)),
            _ => match op.strip_prefix("nan") {
                Some(op) => self.answer_of_numbers(op, &values, elements),
                None => panic!("no operator {op} of floats"),
            },
        }
    }

    /// What an operator answers that leaves NaN out. Where it rounds, the others keep their places in the tree, and the identity
    /// is in that of a NaN.
    fn answer_of_numbers(self, op: &str, values: &[f64], elements: &[u64]) -> Option<Bits> {
        let numbers: Vec<usize> = (0..values.len()).filter(|&at| !values[at].is_nan()).collect();
        let with = |identity: f64| -> Vec<f64> {
            values
                .iter()
                .map(|&value| if value.is_nan() { identity } else { value })
                .collect()
        };
        let sum = || self.fold(&with(-0.0), -0.0, |a, b| a + b, |a, b| a + b);
        match op {
            _ if values.is_empty() => self.answer(op, elements),
            "sum" => Some(self.round(sum())),
            "prod" => Some(self.round(self.fold(&with(1.0), 1.0, |a, b| a * b, |a, b| a * b))),
            "mean" if numbers.is_empty() => Some(self.round(f64::NAN)),
            "mean" => Some(self.round(sum() / numbers.len() as f64)),
            // No order changes a bit of the others, so they may as well be asked of the numbers alone.
            "min" | "max" if numbers.is_empty() => Some(self.round(f64::NAN)),
            _ if op.starts_with("arg") && numbers.is_empty() => Some(words(2, u64::MAX)),
            _ => {
                let left: Vec<u64> = numbers.iter().map(|&at| elements[at]).collect();
                let answer = self.answer(op, &left)?;
                Some(match &answer.0[..] {
                    [low, high] if op.starts_with("arg") => {
                        let at = u64::from(*high) << 32 | u64::from(*low);
                        words(2, numbers[at as usize] as u64)
                    }
                    _ => answer,
                })
            }
        }
    }

    fn columns(self) -> usize {
        512 / self.bytes
    }

    /// In f64 for f64, in f32 for the others, whose values are all values of f32.
    fn fold(self, values: &[f64], identity: f64, wide: fn(f64, f64) -> f64, narrow: fn(f32, f32) -> f32) -> f64 {
        if self.bytes == 8 {
            return fold_columns(self.columns(), values, identity, wide);
        }
        let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        fold_columns(self.columns(), &values, identity as f32, narrow).into()
    }

    /// As [`fold`](Self::fold), of pairs.
    fn compensated(self, values: &[f64]) -> f64 {
        if values.is_empty() {
            return 0.0;
        }
        if self.bytes == 8 {
            return compensated(self.columns(), values);
        }
        let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        compensated(self.columns(), &values)
    }

    /// The number of this type that is nearest to `value`, of two the one with even bits.
    fn round(self, value: f64) -> Bits {
        let sign = u64::from(value.is_sign_negative()) << (8 * self.bytes - 1);
        let bits = if value.is_nan() {
            self.nan
        } else if self.bytes == 8 {
            value.to_bits()
        } else {
            let magnitude = value.abs();
            sign | self.nearest(|other| magnitude.total_cmp(&other))
        };
        words(self.bytes.div_ceil(4), bits)
    }

    /// The same for the square root of `square`. The middle of two numbers has 25 bits at most, so its square is exact.
    fn root(self, square: f64) -> Bits {
        let bits = if square.is_nan() {
            self.nan
        } else if self.bytes == 8 {
            square.sqrt().to_bits()
        } else {
            self.nearest(|other| square.total_cmp(&(other * other)))
        };
        words(self.bytes.div_ceil(4), bits)
    }

    /// The bits of the nearest number to one that is compared with others: by halves, until only two are left.
    fn nearest(self, compared_with: impl Fn(f64) -> Ordering) -> u64 {
        if compared_with(f64::INFINITY) == Ordering::Equal {
            return self.infinity;
        }
        // Past the largest finite number there would be one a step further on; infinity takes its place.
        let (last, largest) = ((self.decode)(self.infinity - 2), (self.decode)(self.infinity - 1));
        let past = largest + (largest - last);
        let number = |bits| {
            if bits == self.infinity {
                past
            } else {
                (self.decode)(bits)
            }
        };
        let (mut low, mut high) = (0, self.infinity);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if compared_with(number(middle)).is_ge() {
                low = middle;
            } else {
                high = middle;
            }
        }
        match compared_with(f64::midpoint(number(low), number(high))) {
            Ordering::Less => low,
            Ordering::Greater => high,
            Ordering::Equal => low + low % 2,
        }
    }
}

/// A NaN wins, −0.0 is below +0.0.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a.total_cmp(&b).is_ge() {
        a
    } else {
        b
    }
}

/// A type without.
#[derive(Clone, Copy)]
struct Integer {
    bits: u32,
    signed: bool,
    truth: bool,
}

impl Integer {
    fn named(ty: &str) -> Self {
        let (signed, bits) = match ty.split_at(1) {
            _ if ty == "bool" => (true, 8),
            ("i", bits) => (true, bits.parse().expect("bits")),
            ("u", bits) => (false, bits.parse().expect("bits")),
            _ => panic!("no type {ty}"),
        };
        let truth = ty == "bool";
        Self { bits, signed, truth }
    }

    fn answer(self, op: &str, elements: &[u64]) -> Option<Bits> {
        let values: Vec<i128> = elements.iter().map(|&bits| self.decode(bits)).collect();
        // Modulo 2⁶⁴, signed or not.
        let sum = || values.iter().fold(0_u64, |sum, &value| sum.wrapping_add(value as u64));
        let arg = |sign: i128, last: bool| place(values.len(), last, |a, b| sign * values[a] > sign * values[b]);
        match op {
            "sum" => Some(words(2, sum())),
            "prod" => Some(words(
                2,
                values
                    .iter()
                    .fold(1, |product: u64, &value| product.wrapping_mul(value as u64)),
            )),
            "mean" if values.is_empty() => Some(words(2, 0x7ff8_0000_0000_0000)),
            // Of the true sum, which wraps around nowhere.
            "mean" => {
                let sum = values.iter().sum::<i128>() as f64;
                Some(words(2, (sum / values.len() as f64).to_bits()))
            }
            "max" => values.iter().max().map(|&value| self.encode(value)),
            "min" => values.iter().min().map(|&value| self.encode(value)),
            "argmax" => arg(1, false),
            "argmin" => arg(-1, false),
            "argmax-last" => arg(1, true),
            "argmin-last" => arg(-1, true),
            "minmax" if !self.truth => both(self.answer("min", elements), self.answer("max", elements)),
            "argminmax" if !self.truth => both(self.answer("argmin", elements), self.answer("argmax", elements)),
            // All bits at once: those above the type's are dropped with the answer.
            "bit-and" => self.bitwise(elements, u64::MAX, |a, b| a & b),
            "bit-or" => self.bitwise(elements, 0, |a, b| a | b),
            "bit-xor" => self.bitwise(elements, 0, |a, b| a ^ b),
            "count-nonzero" => count(values.iter().map(|&value| value != 0)),
            "any" => truth(values.iter().any(|&value| value != 0)),
            "all" => truth(!values.contains(&0)),
            _ => panic!("no operator {op} of integers"),
        }
    }

    fn bitwise(self, elements: &[u64], of_nothing: u64, combine: fn(u64, u64) -> u64) -> Option<Bits> {
        let bits = elements.iter().copied().fold(of_nothing, combine);
        Some(self.encode(self.decode(bits)))
    }

    /// The low bits as a number.
    fn decode(self, bits: u64) -> i128 {
        let above = 128 - self.bits;
        let high = u128::from(bits) << above;
        if self.signed {
            high.cast_signed() >> above
        } else {
            (high >> above).cast_signed()
        }
    }

    fn encode(self, value: i128) -> Bits {
        words(self.bits.div_ceil(32) as usize, value as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(ty: &str, value: f64) -> u32 {
        Float::named(ty).expect("a float").round(value).0[0]
    }

    #[test]
    fn numbers_round_to_the_nearest() {
        for (value, f16, bf16) in [
            (0.0, 0, 0),
            (-0.0, 0x8000, 0x8000),
            (1.0, 0x3c00, 0x3f80),
            (-2.5, 0xc100, 0xc020),
            (65_519.99, 0x7bff, 0x4780),
            (65_520.0, 0x7c00, 0x4780),
            (1e39, 0x7c00, 0x7f80),
            (-1e300, 0xfc00, 0xff80),
            (f64::NEG_INFINITY, 0xfc00, 0xff80),
            (f64::NAN, 0x7e00, 0x7fc0),
            (f64::MIN_POSITIVE, 0, 0),
            (2.0_f64.powi(-25), 0, 0x3300),
            (2.0_f64.powi(-25).next_up(), 1, 0x3300),
            // In the middle: the even one.
            (1.0 + 2.0_f64.powi(-11), 0x3c00, 0x3f80),
            (1.0 + 3.0 * 2.0_f64.powi(-11), 0x3c02, 0x3f80),
            (1.0 + 3.0 * 2.0_f64.powi(-8), 0x3c0c, 0x3f82),
        ] {
            assert_eq!((number("f16", value), number("bf16", value)), (f16, bf16), "{value:e}");
            assert_eq!(
                number("f32", value),
                if value.is_nan() {
                    0x7fc0_0000
                } else {
                    (value as f32).to_bits()
                }
            );
        }
    }
}
