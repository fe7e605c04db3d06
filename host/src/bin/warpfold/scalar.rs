//! One number of a report. It prints as the shortest decimal that reads back as it is.

use std::fmt;

use serde::{Serialize, Serializer};
use warpfold::files::{DType, bf16, complex64, complex128, f8e4m3, f8e5m2, f16};

/// A number, a truth.
#[derive(Clone, Copy)]
pub enum Scalar {
    Single(f32),
    Double(f64),
    Signed(i64),
    /// A count or an index, too.
    Unsigned(u64),
    Truth(bool),
    Complex(complex64),
    WideComplex(complex128),
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
    f16 => Single, bf16 => Single, f8e4m3 => Single, f8e5m2 => Single, f32 => Single, f64 => Double, i8 => Signed, i16 => Signed, i32 => Signed, i64 => Signed,
    u8 => Unsigned, u16 => Unsigned, u32 => Unsigned, u64 => Unsigned, bool => Truth,
    complex64 => Complex, complex128 => WideComplex,
);

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single(number) => write!(f, "{number:?}"),
            Self::Double(number) => write!(f, "{number:?}"),
            Self::Signed(number) => number.fmt(f),
            Self::Unsigned(number) => number.fmt(f),
            Self::Truth(truth) => truth.fmt(f),
            Self::Complex(number) => {
                let is_negative = number.im.is_sign_negative() && !number.im.is_nan();
                write_complex(f, &number.re, is_negative, &number.im.abs())
            }
            Self::WideComplex(number) => {
                let is_negative = number.im.is_sign_negative() && !number.im.is_nan();
                write_complex(f, &number.re, is_negative, &number.im.abs())
            }
        }
    }
}

/// As Python prints it, and reads it: (1.5-2.0j). A NaN has no sign.
fn write_complex(
    f: &mut fmt::Formatter<'_>,
    re: &dyn fmt::Debug,
    is_negative: bool,
    im: &dyn fmt::Debug,
) -> fmt::Result {
    let sign = if is_negative { '-' } else { '+' };
    write!(f, "({re:?}{sign}{im:?}j)")
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Signed(number) => serializer.serialize_i64(*number),
            Self::Unsigned(number) => serializer.serialize_u64(*number),
            Self::Truth(truth) => serializer.serialize_bool(*truth),
            Self::Complex(number) => {
                serializer.collect_map([("re", Self::Single(number.re)), ("im", Self::Single(number.im))])
            }
            Self::WideComplex(number) => {
                serializer.collect_map([("re", Self::Double(number.re)), ("im", Self::Double(number.im))])
            }
            // As f32: through f64 it would print digits that the number does not have.
            Self::Single(number) if number.is_finite() => serializer.serialize_f32(*number),
            Self::Double(number) if number.is_finite() => serializer.serialize_f64(*number),
            // JSON has no such numbers: "NaN", "inf", "-inf".
            Self::Single(number) => serializer.collect_str(number),
            Self::Double(number) => serializer.collect_str(number),
        }
    }
}

impl Scalar {
    /// The number of a type whose little-endian bytes these are.
    pub fn of_bytes(dtype: DType, bytes: &[u8]) -> Self {
        match dtype {
            DType::F16 => f16::from_le_bytes(all(bytes)).into(),
            DType::Bf16 => bf16::from_le_bytes(all(bytes)).into(),
            DType::F8E4M3 => f8e4m3::from_bits(all::<1>(bytes)[0]).into(),
            DType::F8E5M2 => f8e5m2::from_bits(all::<1>(bytes)[0]).into(),
            DType::F32 => f32::from_le_bytes(all(bytes)).into(),
            DType::F64 => f64::from_le_bytes(all(bytes)).into(),
            DType::Complex64 => {
                let bits = u64::from_le_bytes(all(bytes));
                complex64::new(f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32)).into()
            }
            DType::Complex128 => {
                let (re, im) = bytes.split_at(8);
                complex128::new(f64::from_le_bytes(all(re)), f64::from_le_bytes(all(im))).into()
            }
            DType::I8 => i8::from_le_bytes(all(bytes)).into(),
            DType::I16 => i16::from_le_bytes(all(bytes)).into(),
            DType::I32 => i32::from_le_bytes(all(bytes)).into(),
            DType::I64 => i64::from_le_bytes(all(bytes)).into(),
            DType::U8 => u8::from_le_bytes(all(bytes)).into(),
            DType::U16 => u16::from_le_bytes(all(bytes)).into(),
            DType::U32 => u32::from_le_bytes(all(bytes)).into(),
            DType::U64 => u64::from_le_bytes(all(bytes)).into(),
            DType::Bool => (bytes != [0]).into(),
            other => unreachable!("no operator answers in {other}"),
        }
    }
}

/// A number as `as` casts it to one type after the other: `$number` of any type.
macro_rules! write_as {
    ($number:expr, $dtype:expr, $bytes:expr, $($to:ident => $dtype_of:ident),*) => {
        match $dtype {
            $(DType::$dtype_of => $bytes.extend(($number as $to).to_le_bytes()),)*
            DType::F16 => $bytes.extend(f16::from_f64($number as f64).to_le_bytes()),
            DType::Bf16 => $bytes.extend(bf16::from_f64($number as f64).to_le_bytes()),
            DType::Bool => $bytes.push(u8::from($number as f64 != 0.0)),
            other => unreachable!("no answer is cast to {other}"),
        }
    };
}

impl Scalar {
    /// Appends the bytes, little-endian, of the number of that type that this is cast to. Integers become f16 and bf16 by way of f64.
    pub fn write_as(self, dtype: DType, bytes: &mut Vec<u8>) {
        macro_rules! write {
            ($number:expr) => {
                write_as!(
                    $number, dtype, bytes,
                    i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64
                )
            };
        }
        match self {
            Self::Single(number) => write!(number),
            Self::Double(number) => write!(number),
            Self::Signed(number) => write!(number),
            Self::Unsigned(number) => write!(number),
            Self::Truth(truth) => write!(u8::from(truth)),
            Self::Complex(_) | Self::WideComplex(_) => unreachable!("no complex answer is cast"),
        }
    }
}

fn all<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the bytes of one number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_are_those_of_as() {
        let cast = |number: Scalar, dtype| {
            let mut bytes = vec![];
            number.write_as(dtype, &mut bytes);
            Scalar::of_bytes(dtype, &bytes).to_string()
        };
        for (number, dtype, is) in [
            (Scalar::Double(-1.9), DType::I8, "-1"),
            (Scalar::Double(1e9), DType::U8, "255"),
            (Scalar::Single(f32::NAN), DType::I64, "0"),
            (Scalar::Single(f32::NAN), DType::Bool, "true"),
            (Scalar::Signed(-1), DType::U16, "65535"),
            (Scalar::Unsigned(u64::MAX), DType::F64, "1.8446744073709552e19"),
            (Scalar::Double(0.1), DType::F32, "0.1"),
            (Scalar::Double(70_000.0), DType::F16, "inf"),
            (Scalar::Double(257.0), DType::Bf16, "256.0"),
            (Scalar::Truth(true), DType::F32, "1.0"),
            (Scalar::Double(-0.0), DType::Bool, "false"),
        ] {
            assert_eq!(cast(number, dtype), is, "{number} to {dtype}");
        }
    }

    #[test]
    fn complex_numbers_are_as_python_has_them() {
        for (re, im, text, json) in [
            (1.5, -2.0, "(1.5-2.0j)", r#"{"re":1.5,"im":-2.0}"#),
            (-0.0, 0.1, "(-0.0+0.1j)", r#"{"re":-0.0,"im":0.1}"#),
            (
                f32::NEG_INFINITY,
                -f32::NAN,
                "(-inf+NaNj)",
                r#"{"re":"-inf","im":"NaN"}"#,
            ),
        ] {
            let number = Scalar::from(complex64::new(re, im));
            assert_eq!(
                (
                    number.to_string().as_str(),
                    serde_json::to_string(&number).unwrap().as_str()
                ),
                (text, json)
            );
        }
        let number = Scalar::from(complex128::new(1e300, -0.0));
        let json = serde_json::to_string(&number).unwrap();
        assert_eq!(
            (number.to_string().as_str(), json.as_str()),
            ("(1e300-0.0j)", r#"{"re":1e+300,"im":-0.0}"#)
        );
    }

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
}
