//! What a fold came to, in text and in JSON. Numbers print as the shortest decimals that read back as they are.

use std::fmt;

use serde::{Serialize, Serializer};
use warpfold::files::{bf16, f16};

use crate::Failure;

/// The outcome of one fold.
pub struct Report {
    pub op: &'static str,
    pub file: String,
    pub device: String,
    pub device_in_words: String,
    /// The elements' type, as NumPy calls it.
    pub dtype: String,
    pub shape: Vec<u64>,
    pub value: Value,
    pub seconds: f64,
    pub bytes: u64,
}

/// The answer, or several.
pub struct Value {
    result: Vec<Scalar>,
    /// For indices, the elements there.
    elements: Vec<Scalar>,
}

impl Value {
    /// Answers that speak for themselves.
    pub fn of<const N: usize>(result: [impl Into<Scalar>; N]) -> Self {
        Self {
            result: result.map(Into::into).into(),
            elements: vec![],
        }
    }

    /// Indices, and the elements there.
    pub fn at<const N: usize>(indices: [u64; N], elements: [impl Into<Scalar>; N]) -> Self {
        Self {
            result: indices.map(Scalar::Unsigned).into(),
            elements: elements.map(Into::into).into(),
        }
    }
}

/// A number, a truth.
#[derive(Clone, Copy)]
pub enum Scalar {
    Single(f32),
    Double(f64),
    Signed(i64),
    /// A count or an index, too.
    Unsigned(u64),
    Truth(bool),
}

macro_rules! scalar {
    ($($number:ty => $scalar:ident),* $(,)?) => {
        $(impl From<$number> for Scalar {
            fn from(number: $number) -> Self {
                Self::$scalar(number.into())
            }
        })*
    };
}

scalar!(
    f16 => Single, bf16 => Single, f32 => Single, f64 => Double, i8 => Signed, i16 => Signed, i32 => Signed, i64 => Signed,
    u8 => Unsigned, u16 => Unsigned, u32 => Unsigned, u64 => Unsigned, bool => Truth,
);

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single(number) => write!(f, "{number:?}"),
            Self::Double(number) => write!(f, "{number:?}"),
            Self::Signed(number) => number.fmt(f),
            Self::Unsigned(number) => number.fmt(f),
            Self::Truth(truth) => truth.fmt(f),
        }
    }
}

impl Report {
    /// One line, the answer first.
    pub fn text(&self) -> String {
        let Value { result, elements } = &self.value;
        let one = |(at, scalar): (usize, &Scalar)| match elements.get(at) {
            Some(element) => format!("{scalar} (value {element})"),
            None => scalar.to_string(),
        };
        let answer = result.iter().enumerate().map(one).collect::<Vec<_>>().join(" ");
        format!(
            "{answer}  {} of {}: {} {}, {} bytes in {:.6} s, {:.3} GB/s, on {}",
            self.op,
            self.file,
            self.dtype,
            tuple(&self.shape),
            self.bytes,
            self.seconds,
            self.gb_per_s(),
            self.device_in_words,
        )
    }

    /// One object.
    pub fn json(&self) -> Result<String, Failure> {
        let object = Object {
            op: self.op,
            device: &self.device,
            dtype: &self.dtype,
            shape: &self.shape,
            result: OneOrMore(&self.value.result),
            value: (!self.value.elements.is_empty()).then_some(OneOrMore(&self.value.elements)),
            seconds: self.seconds,
            bytes: self.bytes,
            gb_per_s: self.gb_per_s(),
        };
        Ok(serde_json::to_string(&object)?)
    }

    fn gb_per_s(&self) -> f64 {
        // A clock that stood still is no infinite speed.
        self.bytes as f64 / self.seconds.max(1e-9) / 1e9
    }
}

#[derive(Serialize)]
struct Object<'a> {
    op: &'a str,
    device: &'a str,
    dtype: &'a str,
    shape: &'a [u64],
    result: OneOrMore<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<OneOrMore<'a>>,
    seconds: f64,
    bytes: u64,
    gb_per_s: f64,
}

/// One answer as it is, several as a list.
struct OneOrMore<'a>(&'a [Scalar]);

impl Serialize for OneOrMore<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            [one] => one.serialize(serializer),
            several => serializer.collect_seq(several),
        }
    }
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Signed(number) => serializer.serialize_i64(*number),
            Self::Unsigned(number) => serializer.serialize_u64(*number),
            Self::Truth(truth) => serializer.serialize_bool(*truth),
            // As f32: through f64 it would print digits that the number does not have.
            Self::Single(number) if number.is_finite() => serializer.serialize_f32(*number),
            Self::Double(number) if number.is_finite() => serializer.serialize_f64(*number),
            // JSON has no such numbers: "NaN", "inf", "-inf".
            Self::Single(number) => serializer.collect_str(number),
            Self::Double(number) => serializer.collect_str(number),
        }
    }
}

/// A shape as NumPy prints it.
pub fn tuple(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => {
            let extents: Vec<_> = shape.iter().map(u64::to_string).collect();
            format!("({})", extents.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_as_they_are() {
        for bits in [
            0x0000_0001,
            0x3dcc_cccd,
            0x7f7f_ffff,
            0x8000_0000,
            0x4b80_0001,
            0x3f80_0001,
        ] {
            let number = f32::from_bits(bits);
            let json = serde_json::to_string(&Scalar::Single(number)).unwrap();
            assert_eq!(json.parse::<f32>().unwrap().to_bits(), bits, "{json}");
            assert_eq!(
                (serde_json::from_str::<f64>(&json).unwrap() as f32).to_bits(),
                bits,
                "{json}"
            );
        }
        assert_eq!(serde_json::to_string(&Scalar::Single(0.1)).unwrap(), "0.1");
        assert_eq!(
            serde_json::to_string(&Scalar::Unsigned(u64::MAX)).unwrap(),
            u64::MAX.to_string()
        );
        for (number, text) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
            assert_eq!(
                serde_json::to_string(&Scalar::Single(number)).unwrap(),
                format!("\"{text}\"")
            );
            assert_eq!(format!("{number:?}"), text);
        }
    }

    #[test]
    fn shapes_look_like_tuples() {
        assert_eq!(tuple(&[]), "()");
        assert_eq!(tuple(&[5]), "(5,)");
        assert_eq!(tuple(&[5, 20]), "(5, 20)");
    }
}
