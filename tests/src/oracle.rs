//! What mathematics answers: sums and products without any rounding, and plain scans. No tree, no operator of the
//! library.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};

/// An exact number: `units` · 2^-`scale`.
#[derive(Clone, Debug)]
pub struct Exact {
    units: BigInt,
    scale: u32,
}

/// Every finite f32 is a whole number of the smallest subnormal, 2⁻¹⁴⁹.
const F32_SCALE: u32 = 149;

/// Every finite f64 of 2⁻¹⁰⁷⁴.
const F64_SCALE: u32 = 1074;

/// The relative error of one rounding is at most 2⁻²⁴.
const ROUNDING: u32 = 24;

impl Exact {
    /// The number that `value` is, which must be finite.
    #[must_use]
    pub fn of(value: f32) -> Self {
        sum([value])
    }

    /// Whether `self`, the computed number, differs from `exact` by at most `roundings` roundings of numbers as large
    /// as `size`: by (1 + 2⁻²⁴)^`roundings` − 1 times `size`.
    ///
    /// That factor is at most r · 2⁻²⁴ · (1 + r · 2⁻²⁴) for r roundings, as long as r is at most 2²³.
    #[must_use]
    pub fn within(&self, roundings: u64, size: &Self, exact: &Self) -> bool {
        assert!(
            roundings <= 1 << (ROUNDING - 1),
            "the bound is derived for fewer roundings"
        );
        let scale = self.scale.max(exact.scale).max(size.scale) + 2 * ROUNDING;
        let units = |of: &Self| &of.units << (scale - of.scale);
        let error = units(self) - units(exact);
        let factor = roundings * ((1 << ROUNDING) + roundings);
        let bound: BigInt = (units(size) >> (2 * ROUNDING)) * factor;
        error.magnitude() <= bound.magnitude()
    }

    /// Whether `self`, the computed number, differs from `exact` by at most `parts` parts in 2⁵³: the size of a rounding to f64.
    #[must_use]
    pub fn near(&self, parts: u64, exact: &Self) -> bool {
        let scale = self.scale.max(exact.scale);
        let units = |of: &Self| &of.units << (scale - of.scale);
        let error = units(self) - units(exact);
        (error << 53_u32).magnitude() <= (units(exact) * parts).magnitude()
    }

    /// The f32 nearest to the number over `divisor`, of two the one with even bits.
    ///
    /// # Panics
    ///
    /// If the number is none of whole units of the smallest f32.
    #[must_use]
    pub fn nearest(&self, divisor: u64) -> f32 {
        assert_eq!(self.scale, F32_SCALE, "a sum of f32");
        let nearest = self.nearest_bits(divisor, f32::INFINITY.to_bits().into(), 23);
        self.sign() as f32 * f32::from_bits(nearest as u32)
    }

    /// The same f64.
    ///
    /// # Panics
    ///
    /// If the number is none of whole units of the smallest f64.
    #[must_use]
    pub fn nearest_double(&self, divisor: u64) -> f64 {
        assert_eq!(self.scale, F64_SCALE, "a sum of f64");
        self.sign() * f64::from_bits(self.nearest_bits(divisor, f64::INFINITY.to_bits(), 52))
    }

    fn sign(&self) -> f64 {
        if self.units.sign() == Sign::Minus { -1.0 } else { 1.0 }
    }

    /// The bits of the nearest magnitude of floats with so many bits of a `fraction`: by halves, until only two are left.
    fn nearest_bits(&self, divisor: u64, infinity: u64, fraction: u32) -> u64 {
        // Past the largest finite number there would be one a step further on; infinity takes its place.
        let units = |bits: u64| {
            let exponent = (bits >> fraction).max(1) - 1;
            BigUint::from(bits - (exponent << fraction)) << exponent
        };
        let magnitude = self.units.magnitude();
        let (mut low, mut high) = (0, infinity);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if units(middle) * divisor <= *magnitude {
                low = middle;
            } else {
                high = middle;
            }
        }
        match (magnitude * 2_u32).cmp(&((units(low) + units(high)) * divisor)) {
            Ordering::Less => low,
            Ordering::Greater => high,
            Ordering::Equal => low + low % 2,
        }
    }

    /// The number times `factor`.
    #[must_use]
    pub fn times(&self, factor: u64) -> Self {
        let units = &self.units * factor;
        Self { units, ..*self }
    }

    /// The sum of two numbers.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let scale = self.scale.max(other.scale);
        let units = |of: &Self| &of.units << (scale - of.scale);
        Self {
            units: units(self) + units(other),
            scale,
        }
    }

    /// Its square.
    #[must_use]
    pub fn squared(&self) -> Self {
        Self {
            units: &self.units * &self.units,
            scale: 2 * self.scale,
        }
    }

    /// Its magnitude.
    #[must_use]
    pub fn abs(&self) -> Self {
        let units = self.units.magnitude().clone().into();
        Self { units, ..*self }
    }
}

/// The exact sum of finite values.
///
/// # Panics
///
/// If a value is not finite.
pub fn sum(values: impl IntoIterator<Item = f32>) -> Exact {
    // Mantissas of one exponent add up without loss: 24 bits each, and fewer than 2¹⁰⁰ of them.
    let mut mantissas = [0_i128; 255];
    for value in values {
        let (mantissa, exponent) = parts(value);
        mantissas[exponent as usize] += i128::from(mantissa);
    }
    let of_exponent = |(exponent, mantissa): (usize, i128)| BigInt::from(mantissa) << exponent;
    Exact {
        units: mantissas.into_iter().enumerate().map(of_exponent).sum(),
        scale: F32_SCALE,
    }
}

/// The exact sum of finite f64.
///
/// # Panics
///
/// If a value is not finite.
pub fn sum_of_doubles(values: impl IntoIterator<Item = f64>) -> Exact {
    let units = |value: f64| {
        assert!(value.is_finite(), "{value} is no number to be exact about");
        let magnitude = value.abs().to_bits();
        let exponent = (magnitude >> 52).max(1) - 1;
        let units = BigInt::from(magnitude - (exponent << 52)) << exponent;
        if value.is_sign_negative() { -units } else { units }
    };
    Exact {
        units: values.into_iter().map(units).sum(),
        scale: F64_SCALE,
    }
}

/// The exact sum of the magnitudes of finite values.
pub fn sum_of_magnitudes(values: &[f32]) -> Exact {
    sum(values.iter().map(|value| value.abs()))
}

/// The exact sum of the squares of finite values.
///
/// # Panics
///
/// If a value is not finite.
#[must_use]
pub fn sum_of_squares(values: &[f32]) -> Exact {
    // Squares of mantissas have 48 bits, so those of one exponent add up without loss.
    let mut squares = [0_i128; 255];
    for value in values {
        let (mantissa, exponent) = parts(*value);
        squares[exponent as usize] += i128::from(mantissa).pow(2);
    }
    let of_exponent = |(exponent, squares): (usize, i128)| BigInt::from(squares) << (2 * exponent);
    Exact {
        units: squares.into_iter().enumerate().map(of_exponent).sum(),
        scale: 2 * F32_SCALE,
    }
}

/// The exact product of finite values.
///
/// # Panics
///
/// If a value is not finite.
#[must_use]
pub fn product(values: &[f32]) -> Exact {
    /// Mantissas together, exponents together: halves first, so that numbers of one size are multiplied.
    fn fold(values: &[f32]) -> (BigUint, u32) {
        match values {
            [] => (BigUint::from(1_u32), 0),
            [value] => {
                let (mantissa, exponent) = parts(*value);
                (BigUint::from(mantissa.unsigned_abs()), exponent)
            }
            _ => {
                let (low, high) = values.split_at(values.len() / 2);
                let ((a, i), (b, j)) = (fold(low), fold(high));
                (a * b, i + j)
            }
        }
    }
    let (mantissa, exponent) = fold(values);
    let negative = values.iter().filter(|value| value.is_sign_negative()).count() % 2 == 1;
    let units = BigInt::from(mantissa << exponent);
    Exact {
        units: if negative { -units } else { units },
        scale: F32_SCALE * values.len() as u32,
    }
}

/// A finite value as mantissa · 2^(exponent − 149).
fn parts(value: f32) -> (i64, u32) {
    assert!(value.is_finite(), "{value} is no number to be exact about");
    let bits = value.to_bits();
    let (biased, fraction) = (bits >> 23 & 0xff, i64::from(bits & 0x7f_ffff));
    // Subnormals have the exponent of the smallest normal numbers, and no hidden bit.
    let (mantissa, exponent) = if biased == 0 {
        (fraction, 0)
    } else {
        (fraction | 1 << 23, biased - 1)
    };
    (if value.is_sign_negative() { -mantissa } else { mantissa }, exponent)
}

/// ⌈log₂ `len`⌉: how many additions an element goes through in a tree of pairs.
#[must_use]
pub fn depth(len: usize) -> u64 {
    u64::from(len.max(1).next_power_of_two().ilog2())
}

/// The largest value: a NaN if there is one, and +0.0 rather than −0.0. By sorting, where the tree compares.
#[must_use]
pub fn max(values: &[f32]) -> Option<f32> {
    if values.iter().any(|value| value.is_nan()) {
        return Some(f32::NAN);
    }
    values.iter().copied().max_by(f32::total_cmp)
}

/// The smallest value: a NaN if there is one, and −0.0 rather than +0.0.
#[must_use]
pub fn min(values: &[f32]) -> Option<f32> {
    if values.iter().any(|value| value.is_nan()) {
        return Some(f32::NAN);
    }
    values.iter().copied().min_by(f32::total_cmp)
}

/// Where the largest value first is; where the first NaN is, if there is one.
#[must_use]
pub fn argmax(values: &[f32]) -> Option<usize> {
    let largest = max(values)?;
    first(values, largest)
}

/// Where the smallest value first is; where the first NaN is, if there is one.
#[must_use]
pub fn argmin(values: &[f32]) -> Option<usize> {
    let smallest = min(values)?;
    first(values, smallest)
}

/// The zeros are equal, and so are all NaNs.
fn first(values: &[f32], wanted: f32) -> Option<usize> {
    values
        .iter()
        .position(|&value| value == wanted || (value.is_nan() && wanted.is_nan()))
}
