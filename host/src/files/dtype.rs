//! The types that elements have in files.

use std::fmt;

use half::{bf16, f16};

use crate::ops::element::{complex64, complex128, f8e4m3, f8e5m2};

/// The type of an array's elements.
///
/// Those that [`Element`] is implemented for, and `Bool`, can be read as numbers. Those of `Complex128` and of the other
/// small floating-point types can be read as bytes. `Quantised` blocks can be read as f32. The rest can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// A truth, one byte.
    Bool,
    /// 8 bits, unsigned.
    U8,
    /// 8 bits.
    I8,
    /// 16 bits, unsigned.
    U16,
    /// 16 bits.
    I16,
    /// 32 bits, unsigned.
    U32,
    /// 32 bits.
    I32,
    /// 64 bits, unsigned.
    U64,
    /// 64 bits.
    I64,
    /// IEEE half precision.
    F16,
    /// The upper half of an f32.
    Bf16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// 4 bits, two in a byte.
    F4,
    /// 6 bits: 2 of exponent, 3 of mantissa.
    F6E2M3,
    /// 6 bits: 3 of exponent, 2 of mantissa.
    F6E3M2,
    /// 8 bits: 4 of exponent, 3 of mantissa, no infinities.
    F8E4M3,
    /// 8 bits: 5 of exponent, 2 of mantissa.
    F8E5M2,
    /// 8 bits: an exponent.
    F8E8M0,
    /// As `F8E4M3`, without negative zero.
    F8E4M3Fnuz,
    /// As `F8E5M2`, without negative zero and infinities.
    F8E5M2Fnuz,
    /// Two f32.
    Complex64,
    /// Two f64.
    Complex128,
    /// Blocks of a `.gguf` file, each of numbers with scales of their own. [`Tensor::dtype_name`](super::Tensor::dtype_name) is
    /// the format's name of them, as `Q4_K`.
    Quantised,
    /// Something else: strings, dates, records, Python's objects. [`Tensor::dtype_name`](super::Tensor::dtype_name) says
    /// what.
    Other,
}

/// What is known of a type.
struct Facts {
    dtype: DType,
    /// NumPy's name; that of ml_dtypes where NumPy has none.
    name: &'static str,
    bits: u32,
    /// The name in the header of a `.safetensors` file, if it can be there.
    safetensors: Option<&'static str>,
}

const fn facts(dtype: DType, name: &'static str, bits: u32, safetensors: Option<&'static str>) -> Facts {
    Facts {
        dtype,
        name,
        bits,
        safetensors,
    }
}

/// A line for each type, in the order of the enum.
const TABLE: [Facts; 25] = [
    facts(DType::Bool, "bool", 8, Some("BOOL")),
    facts(DType::U8, "uint8", 8, Some("U8")),
    facts(DType::I8, "int8", 8, Some("I8")),
    facts(DType::U16, "uint16", 16, Some("U16")),
    facts(DType::I16, "int16", 16, Some("I16")),
    facts(DType::U32, "uint32", 32, Some("U32")),
    facts(DType::I32, "int32", 32, Some("I32")),
    facts(DType::U64, "uint64", 64, Some("U64")),
    facts(DType::I64, "int64", 64, Some("I64")),
    facts(DType::F16, "float16", 16, Some("F16")),
    facts(DType::Bf16, "bfloat16", 16, Some("BF16")),
    facts(DType::F32, "float32", 32, Some("F32")),
    facts(DType::F64, "float64", 64, Some("F64")),
    facts(DType::F4, "float4_e2m1fn", 4, Some("F4")),
    facts(DType::F6E2M3, "float6_e2m3fn", 6, Some("F6_E2M3")),
    facts(DType::F6E3M2, "float6_e3m2fn", 6, Some("F6_E3M2")),
    facts(DType::F8E4M3, "float8_e4m3fn", 8, Some("F8_E4M3")),
    facts(DType::F8E5M2, "float8_e5m2", 8, Some("F8_E5M2")),
    facts(DType::F8E8M0, "float8_e8m0fnu", 8, Some("F8_E8M0")),
    facts(DType::F8E4M3Fnuz, "float8_e4m3fnuz", 8, Some("F8_E4M3FNUZ")),
    facts(DType::F8E5M2Fnuz, "float8_e5m2fnuz", 8, Some("F8_E5M2FNUZ")),
    facts(DType::Complex64, "complex64", 64, Some("C64")),
    facts(DType::Complex128, "complex128", 128, None),
    facts(DType::Quantised, "quantised", 0, None),
    facts(DType::Other, "other", 0, None),
];

impl DType {
    /// NumPy's name (`float32`, `uint8`), or that of its extension ml_dtypes (`bfloat16`, `float8_e4m3fn`).
    #[must_use]
    pub fn name(self) -> &'static str {
        TABLE[self as usize].name
    }

    /// The type that elements are read as: f32 of [`Quantised`](Self::Quantised) blocks, otherwise the type itself.
    #[must_use]
    pub fn decoded(self) -> Self {
        match self {
            Self::Quantised => Self::F32,
            plain => plain,
        }
    }

    /// Bytes of one element. None for elements that are no whole bytes, for [`Quantised`](Self::Quantised) blocks and for
    /// [`Other`](Self::Other).
    #[must_use]
    pub fn bytes(self) -> Option<usize> {
        let bits = self.bits() as usize;
        (bits > 0 && bits.is_multiple_of(8)).then_some(bits / 8)
    }

    /// Whether it is an integer, signed or not.
    #[must_use]
    pub fn is_integer(self) -> bool {
        (Self::U8 as usize..=Self::I64 as usize).contains(&(self as usize))
    }

    /// Bits of one element; 0 for [`Quantised`](Self::Quantised) blocks and [`Other`](Self::Other).
    pub(super) fn bits(self) -> u32 {
        TABLE[self as usize].bits
    }

    /// Bytes of what the order of bytes is about: of an element, or of either half of a complex number.
    pub(super) fn word(self) -> usize {
        let halves = if matches!(self, Self::Complex64 | Self::Complex128) {
            2
        } else {
            1
        };
        self.decoded().bytes().unwrap_or(1) / halves
    }

    /// The name in the header of a `.safetensors` file.
    pub(super) fn safetensors(self) -> Option<&'static str> {
        TABLE[self as usize].safetensors
    }

    /// The type of a name that NumPy has.
    pub(super) fn of_numpy(name: &str) -> Option<Self> {
        TABLE
            .iter()
            .find(|facts| facts.name == name && facts.bits > 0)
            .map(|facts| facts.dtype)
    }

    /// The type of a name in a `.safetensors` file.
    pub(super) fn of_safetensors(name: &str) -> Option<Self> {
        TABLE
            .iter()
            .find(|facts| facts.safetensors == Some(name))
            .map(|facts| facts.dtype)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A type that the elements of a file can be read as: u8 to u64, i8 to i64, f16, bf16, f32, f64, f8e4m3, f8e5m2
/// complex64 and complex128.
///
/// `f32` reads quantised blocks as well, as the values that they stand for. `u8` reads truths as well. They are the file's bytes as they are: 0 is false and whatever else true, as to NumPy.
pub trait Element: bytemuck::Pod + Send + Sync + sealed::Sealed {
    /// Its name in files.
    const DTYPE: DType;

    /// Whether elements of `dtype` can be read as this type.
    #[must_use]
    fn reads(dtype: DType) -> bool {
        dtype.decoded() == Self::DTYPE
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! element {
    ($($type:ty: $dtype:ident),*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}

element!(i8: I8, u16: U16, i16: I16, u32: U32, i32: I32, u64: U64, i64: I64, f16: F16, bf16: Bf16, f32: F32, f64: F64, f8e4m3: F8E4M3, f8e5m2: F8E5M2, complex64: Complex64, complex128: Complex128);

impl sealed::Sealed for u8 {}

impl Element for u8 {
    const DTYPE: DType = DType::U8;

    fn reads(dtype: DType) -> bool {
        matches!(dtype, DType::U8 | DType::Bool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_order_of_the_enum() {
        for (at, facts) in TABLE.iter().enumerate() {
            assert_eq!(facts.dtype as usize, at, "{}", facts.name);
        }
    }

    #[test]
    fn names_lead_back() {
        for facts in &TABLE {
            let numpy = DType::of_numpy(facts.name);
            assert_eq!(numpy, (facts.bits > 0).then_some(facts.dtype));
            if let Some(name) = facts.safetensors {
                assert_eq!(DType::of_safetensors(name), Some(facts.dtype));
            }
        }
        assert_eq!((DType::of_numpy("other"), DType::of_safetensors("F3")), (None, None));
    }

    #[test]
    fn sizes_are_those_of_the_types() {
        fn same<T: Element>() {
            assert_eq!(T::DTYPE.bytes(), Some(size_of::<T>()));
            assert_eq!(T::DTYPE.word(), align_of::<T>());
            assert!(T::reads(T::DTYPE));
        }
        same::<u8>();
        same::<i8>();
        same::<u16>();
        same::<i16>();
        same::<u32>();
        same::<i32>();
        same::<u64>();
        same::<i64>();
        same::<f16>();
        same::<bf16>();
        same::<f32>();
        same::<f64>();
        same::<f8e4m3>();
        same::<f8e5m2>();
        same::<complex64>();
        same::<complex128>();
        assert_eq!((DType::Complex64.bytes(), DType::Complex64.word()), (Some(8), 4));
        assert_eq!((DType::Complex128.bytes(), DType::Complex128.word()), (Some(16), 8));
        assert_eq!((DType::F4.bytes(), DType::Other.bytes()), (None, None));
        assert_eq!((DType::Quantised.bytes(), DType::Quantised.word()), (None, 4));
        assert!(f32::reads(DType::Quantised) && !f64::reads(DType::Quantised));
        assert!(u8::reads(DType::Bool) && !i8::reads(DType::Bool) && !f16::reads(DType::Bf16));
    }
}
