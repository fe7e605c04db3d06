//! What a check finds in arrays: NaN, infinities, elements that are all 0 or all equal.

use serde::Serialize;

use super::{
    DType, Tensor, bf16, complex64, complex128, f8e4m3, f8e5m2, f16,
    reading::{self, Read, stored_bytes},
};
use crate::Error;

/// What can be found in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingKind {
    /// NaN.
    Nan,
    /// Infinities.
    Inf,
    /// All elements are 0.
    Zeros,
    /// All elements have the same value.
    Constant,
    /// The file itself is short, spoiled or missing.
    File,
}

impl FindingKind {
    /// Its name: `nan`, `inf`, `zeros`, `constant`, `file`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nan => "nan",
            Self::Inf => "inf",
            Self::Zeros => "zeros",
            Self::Constant => "constant",
            Self::File => "file",
        }
    }

    /// Whether an array may well be so.
    #[must_use]
    pub fn is_warning(self) -> bool {
        matches!(self, Self::Zeros | Self::Constant)
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The array, as [`Tensor::label`] has it, or the file.
    pub tensor: String,
    /// What it is.
    pub kind: FindingKind,
    /// How many elements.
    pub count: u64,
    /// The index of the first, in C order.
    pub first: Option<Vec<u64>>,
    /// It in words.
    pub message: String,
}

impl Finding {
    /// What is wrong with a file, or with an array of one that cannot be read.
    #[must_use]
    pub fn of_file(tensor: String, message: String) -> Self {
        Self {
            tensor,
            kind: FindingKind::File,
            count: 0,
            first: None,
            message,
        }
    }
}

/// Whether an error says that there is no such file or array, or that it is a pickle: nothing that could be checked.
#[must_use]
pub fn is_foreign(error: &Error) -> bool {
    matches!(error, Error::File { .. } | Error::Pickle { .. } | Error::NoArray { .. })
}

/// What is found in an array, which is read once; `advance` is passed how many more bytes were. None of elements of a type that is not read.
///
/// # Errors
///
/// That of the array's [`fault`](Tensor::fault), and those of [`Tensor::read_at`] and [`Tensor::stream`].
pub fn check(tensor: &Tensor, advance: &mut dyn FnMut(u64)) -> Result<Option<Vec<Finding>>, Error> {
    tensor.fault().map_or(Ok(()), Err)?;
    let Some(found) = found(tensor, advance) else {
        return Ok(None);
    };
    let label = tensor.label().display().to_string();
    let findings = found?.findings(tensor.len()).into_iter();
    let all = findings.map(|(kind, count, first, what)| {
        let first = first.map(|first| index_of(first, tensor.shape()));
        let at = first
            .as_ref()
            .map_or(String::new(), |first| format!(", first at {first:?}"));
        Finding {
            message: format!("{label}: {what}{at}"),
            tensor: label.clone(),
            kind,
            count,
            first,
        }
    });
    Ok(Some(all.collect()))
}

/// The index of an element along each axis, in C order.
pub(super) fn index_of(element: u64, shape: &[u64]) -> Vec<u64> {
    let mut left = element;
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|extent| {
            let at = left % extent.max(&1);
            left /= extent.max(&1);
            at
        })
        .collect();
    index.reverse();
    index
}

/// What is in an array, or a run of one.
#[derive(Clone, Copy, Default)]
struct CheckFound {
    nan: u64,
    infinite: u64,
    /// The first of either.
    first_nan: Option<u64>,
    first_infinite: Option<u64>,
    /// Whether all elements have the bits of the first one of the array; and that one is 0, of either sign.
    is_constant: bool,
    is_zero: bool,
}

impl CheckFound {
    /// With what is in the run that follows.
    fn and(self, next: Self) -> Self {
        Self {
            nan: self.nan + next.nan,
            infinite: self.infinite + next.infinite,
            first_nan: self.first_nan.or(next.first_nan),
            first_infinite: self.first_infinite.or(next.first_infinite),
            is_constant: self.is_constant && next.is_constant,
            is_zero: self.is_zero && next.is_zero,
        }
    }

    /// What is to be reported of an array of so many elements.
    fn findings(self, len: u64) -> Vec<(FindingKind, u64, Option<u64>, String)> {
        let mut findings = vec![];
        if self.nan > 0 {
            let what = format!("{} of {len} elements are NaN", self.nan);
            findings.push((FindingKind::Nan, self.nan, self.first_nan, what));
        }
        if self.infinite > 0 {
            let what = format!("{} of {len} elements are infinite", self.infinite);
            findings.push((FindingKind::Inf, self.infinite, self.first_infinite, what));
        }
        // Of one element that says nothing.
        if findings.is_empty() && len > 1 {
            if self.is_zero {
                findings.push((FindingKind::Zeros, len, None, format!("all {len} elements are 0")));
            } else if self.is_constant {
                findings.push((
                    FindingKind::Constant,
                    len,
                    None,
                    format!("all {len} elements are equal"),
                ));
            }
        }
        findings
    }
}

/// Elements that are checked.
trait Checked: Read + PartialEq {
    /// Whether it is neither NaN nor infinite.
    fn is_finite(self) -> bool;
    fn is_nan(self) -> bool;
}

macro_rules! floats {
    ($($float:ty)*) => {
        $(impl Checked for $float {
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            fn is_nan(self) -> bool {
                self.is_nan()
            }
        })*
    };
}

macro_rules! by_f32 {
    ($($float:ty)*) => {
        $(impl Checked for $float {
            fn is_finite(self) -> bool {
                self.to_f32().is_finite()
            }
            fn is_nan(self) -> bool {
                self.to_f32().is_nan()
            }
        })*
    };
}

macro_rules! halves {
    ($($half:ty, $exponent:literal)*) => {
        $(impl Checked for $half {
            fn is_finite(self) -> bool {
                self.to_bits() & $exponent != $exponent
            }
            fn is_nan(self) -> bool {
                self.is_nan()
            }
        })*
    };
}

macro_rules! complex {
    ($($complex:ty)*) => {
        $(impl Checked for $complex {
            fn is_finite(self) -> bool {
                self.re.is_finite() && self.im.is_finite()
            }
            fn is_nan(self) -> bool {
                self.re.is_nan() || self.im.is_nan()
            }
        })*
    };
}

macro_rules! integers {
    ($($integer:ty)*) => {
        $(impl Checked for $integer {
            fn is_finite(self) -> bool {
                true
            }
            fn is_nan(self) -> bool {
                false
            }
        })*
    };
}

floats!(f32 f64);
halves!(f16, 0x7c00 bf16, 0x7f80);
by_f32!(f8e4m3 f8e5m2);
complex!(complex64 complex128);
integers!(u8 u16 u32 u64 i8 i16 i32 i64);

/// What is in an array, if its elements are of a type that is read.
fn found(tensor: &Tensor, advance: &mut dyn FnMut(u64)) -> Option<Result<CheckFound, Error>> {
    Some(match tensor.dtype().decoded() {
        DType::Bool | DType::U8 => found_of::<u8>(tensor, advance),
        DType::U16 => found_of::<u16>(tensor, advance),
        DType::U32 => found_of::<u32>(tensor, advance),
        DType::U64 => found_of::<u64>(tensor, advance),
        DType::I8 => found_of::<i8>(tensor, advance),
        DType::I16 => found_of::<i16>(tensor, advance),
        DType::I32 => found_of::<i32>(tensor, advance),
        DType::I64 => found_of::<i64>(tensor, advance),
        DType::F16 => found_of::<f16>(tensor, advance),
        DType::Bf16 => found_of::<bf16>(tensor, advance),
        DType::F32 => found_of::<f32>(tensor, advance),
        DType::F64 => found_of::<f64>(tensor, advance),
        DType::F8E4M3 => found_of::<f8e4m3>(tensor, advance),
        DType::F8E5M2 => found_of::<f8e5m2>(tensor, advance),
        DType::Complex64 => found_of::<complex64>(tensor, advance),
        DType::Complex128 => found_of::<complex128>(tensor, advance),
        _ => return None,
    })
}

/// Elements that are looked at together: where all of them are finite, none of them is looked at again.
const BLOCK: usize = 1 << 10;

fn found_of<T: Checked>(tensor: &Tensor, advance: &mut dyn FnMut(u64)) -> Result<CheckFound, Error> {
    let piece = (1 << 18) / size_of::<T>();
    let mut all = CheckFound {
        is_constant: true,
        is_zero: true,
        ..CheckFound::default()
    };
    if tensor.is_empty() {
        return Ok(all);
    }
    // Constant is what has the first element's value in every piece, so that is read first.
    let mut head = None;
    let in_piece = |first: u64, values: &[T], head: T| -> CheckFound {
        let mut found = CheckFound {
            is_constant: values.iter().all(|value| *value == head),
            ..CheckFound::default()
        };
        found.is_zero = found.is_constant && head == T::zeroed();
        for (block, values) in values.chunks(BLOCK).enumerate() {
            if values.iter().fold(true, |all, value| all & value.is_finite()) {
                continue;
            }
            for (at, value) in values.iter().enumerate().filter(|(_, value)| !value.is_finite()) {
                let index = first + (block * BLOCK + at) as u64;
                if value.is_nan() {
                    found.nan += 1;
                    found.first_nan.get_or_insert(index);
                } else {
                    found.infinite += 1;
                    found.first_infinite.get_or_insert(index);
                }
            }
        }
        found
    };
    if tensor.is_seekable() {
        let mut one = [T::zeroed()];
        reading::part(tensor, 0, &mut one)?;
        let map = |first: u64, values: &[T]| Ok(in_piece(first, values, one[0]));
        reading::map_pieces(tensor, piece, &map, &mut |found, len| -> Result<(), Error> {
            all = all.and(found);
            advance(stored_bytes(tensor, len));
            Ok(())
        })?;
    } else {
        let mut first = 0;
        reading::each_piece(tensor, piece, &mut |values: &[T]| -> Result<(), Error> {
            let head = *head.get_or_insert(values[0]);
            all = all.and(in_piece(first, values, head));
            first += values.len() as u64;
            advance(stored_bytes(tensor, values.len() as u64));
            Ok(())
        })?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_an_index_along_each_axis() {
        for (element, shape, index) in [
            (0, &[][..], &[][..]),
            (7, &[9], &[7]),
            (7, &[3, 4], &[1, 3]),
            (23, &[2, 3, 4], &[1, 2, 3]),
        ] {
            assert_eq!(index_of(element, shape), index);
        }
    }
}
