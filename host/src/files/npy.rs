//! The header of a `.npy` file, or of a member of a `.npz` file.
//!
//! Versions 1, 2 and 3; any shape, none and zeros included; little- and big-endian; C and Fortran order.

use std::{borrow::Cow, io::Read, path::Path};

use npyz::{Endianness, NpyHeader, Order, TypeChar};

use super::{DType, tensor::Layout};
use crate::Error;

/// Bytes before the header's text: magic, version, and a length of two bytes (version 1) or four.
const PREFIX: [usize; 4] = [0, 10, 12, 12];
/// What every file starts with.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes enough to tell what a file is.
pub(super) const START: usize = PREFIX[1];
/// The longest header that is believed. That of an array of numbers is a few hundred bytes.
const MAX_HEADER: usize = 1 << 20;

/// Reads the header of a file that begins with the bytes `start`, the rest of it to come from `file`: what array there
/// is, and at which byte. The file is called `path` in errors and has `found` bytes, if that is known.
pub(super) fn layout(
    path: &Path,
    start: Vec<u8>,
    file: &mut dyn Read,
    found: Option<u64>,
) -> Result<(Layout, u64), Error> {
    let (header, before) = header(path, start, file)?;
    let before = before as u64;
    let bad = |reason| Error::NotNpy {
        path: path.to_path_buf(),
        reason,
    };
    let name = name(&header.dtype());
    let dtype = DType::of_numpy(&name).unwrap_or(DType::Other);
    let shape = header.shape().to_vec();
    let len = shape.iter().product();
    // Of Python's objects there are as many bytes as there are: NumPy lets pickle write them.
    let (bytes, swap) = match (&header.dtype(), dtype.bytes()) {
        (npyz::DType::Plain(plain), Some(element)) => {
            let bytes = bytes(element as u64, shape.iter().map(|extent| Ok((*extent, *extent)))).map_err(bad)?;
            (Some(bytes), plain.endianness() != Endianness::of_machine())
        }
        (other, _) if !other.uses_pickled_array() => {
            let element = other.num_bytes().unwrap_or(usize::MAX) as u64;
            let bytes = bytes(element, shape.iter().map(|extent| Ok((*extent, *extent)))).map_err(bad)?;
            (Some(bytes), false)
        }
        _ => (None, false),
    };
    if let (Some(bytes), Some(found)) = (bytes, found)
        && found < before + bytes
    {
        return Err(Error::Truncated {
            path: path.to_path_buf(),
            needed: before + bytes,
            found,
        });
    }
    let layout = Layout {
        dtype,
        dtype_name: match dtype {
            DType::Other => Cow::Owned(name),
            known => Cow::Borrowed(known.name()),
        },
        transposed: header.order() == Order::Fortran && shape.iter().filter(|extent| **extent != 1).count() > 1,
        shape,
        len,
        bytes: bytes.unwrap_or(found.unwrap_or(0).saturating_sub(before)),
        swap,
    };
    Ok((layout, before))
}

/// The header, and how many bytes it takes from the start of the file.
fn header(path: &Path, mut bytes: Vec<u8>, file: &mut dyn Read) -> Result<(NpyHeader, usize), Error> {
    let bad = |reason: String| Error::NotNpy {
        path: path.to_path_buf(),
        reason,
    };
    let mut upto = |bytes: &mut Vec<u8>, end: usize| {
        super::read_upto(&mut *file, bytes, end).map_err(|source| super::at(path, source))?;
        Ok(bytes.len() >= end)
    };
    let whole = upto(&mut bytes, PREFIX[1])?;
    if !bytes.starts_with(MAGIC) {
        return Err(bad(match bytes.as_slice() {
            [] => "it is empty".into(),
            _ => format!(
                "it starts with {:02x?}, not with the magic {MAGIC:02x?}",
                &bytes[..bytes.len().min(6)]
            ),
        }));
    }
    if !whole {
        return Err(bad(format!("it ends within the header, after {} bytes", bytes.len())));
    }
    let version = usize::from(bytes[6]);
    let prefix = match PREFIX.get(version) {
        Some(prefix) if version > 0 => *prefix,
        _ => return Err(bad(format!("version {version}.{} is none of 1, 2 and 3", bytes[7]))),
    };
    upto(&mut bytes, prefix)?;
    let text = bytes[8..prefix.min(bytes.len())]
        .iter()
        .rev()
        .fold(0, |length, byte| length << 8 | usize::from(*byte));
    if text > MAX_HEADER {
        return Err(bad(format!("a header of {text} bytes is too long to be true")));
    }
    let end = prefix + text;
    if !upto(&mut bytes, end)? {
        return Err(bad(format!("its header has {end} bytes, the file {}", bytes.len())));
    }
    check_numbers(&bytes[prefix..end]).map_err(bad)?;
    let header = NpyHeader::from_reader(&bytes[..end]).map_err(|error| {
        bad(format!(
            "its header is damaged: {}",
            error.to_string().lines().next().unwrap_or_default()
        ))
    })?;
    Ok((header, end))
}

/// Refuses a header whose extents come to 2⁶³ or more: the parser multiplies them unchecked.
fn check_numbers(header: &[u8]) -> Result<(), String> {
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let shape = header.windows(5).position(|at| at == b"shape").unwrap_or(0);
    let numbers = header[shape..]
        .split(|byte| !word(byte))
        .filter(|word| word.first().is_some_and(u8::is_ascii_digit))
        .map(|number| {
            let number = String::from_utf8_lossy(number);
            number
                .parse()
                .map(|extent| (extent, number.clone()))
                .map_err(|_| number)
        });
    bytes(1, numbers).map(|_| ())
}

/// Bytes of an array whose elements have `element`, and 0 where an extent is; fewer than 2⁶³ even if those were 1. An
/// extent comes with its text, or is a text that is none.
fn bytes<T: std::fmt::Display>(
    element: u64,
    extents: impl Iterator<Item = Result<(u64, T), T>>,
) -> Result<u64, String> {
    let mut bytes = element;
    let mut none = false;
    for extent in extents {
        let (product, text) = match extent {
            Ok((extent, text)) => {
                none |= extent == 0;
                (bytes.checked_mul(extent.max(1)).filter(|bytes| *bytes < 1 << 63), text)
            }
            Err(text) => (None, text),
        };
        bytes = product.ok_or_else(|| format!("its shape overflows at {text}: an array of 2^63 bytes or more"))?;
    }
    Ok(if none { 0 } else { bytes })
}

/// NumPy's name of a dtype.
fn name(dtype: &npyz::DType) -> String {
    let npyz::DType::Plain(plain) = dtype else {
        return dtype.descr();
    };
    let bits = 8 * plain.size_field();
    match plain.type_char() {
        TypeChar::Bool => "bool".into(),
        TypeChar::Int => format!("int{bits}"),
        TypeChar::Uint => format!("uint{bits}"),
        TypeChar::Float => format!("float{bits}"),
        TypeChar::Complex => format!("complex{bits}"),
        TypeChar::Object => "object".into(),
        _ => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            DType,
            tests::{Temporary, npy, refused},
        },
        *,
    };

    #[test]
    fn every_number_is_known() {
        for (descr, dtype, bytes) in [
            ("'|b1'", DType::Bool, 1),
            ("'|u1'", DType::U8, 1),
            ("'|i1'", DType::I8, 1),
            ("'<u2'", DType::U16, 2),
            ("'>i2'", DType::I16, 2),
            ("'<u4'", DType::U32, 4),
            ("'<i4'", DType::I32, 4),
            ("'<u8'", DType::U64, 8),
            ("'>i8'", DType::I64, 8),
            ("'<f2'", DType::F16, 2),
            ("'<f4'", DType::F32, 4),
            ("'<f8'", DType::F64, 8),
            ("'<c8'", DType::Complex64, 8),
            ("'<c16'", DType::Complex128, 16),
        ] {
            let file = Temporary::new(".npy", &npy(descr, "(3, 2)", &[0; 96]));
            let array = file.open().unwrap().one().unwrap();
            assert_eq!((array.dtype(), array.bytes()), (dtype, 6 * bytes), "{descr}");
            assert_eq!((array.dtype_name(), array.name()), (dtype.name(), None));
            let cut = Temporary::new(".npy", &npy(descr, "(3, 2)", &vec![0; 6 * bytes as usize - 1]));
            assert!(matches!(cut.open(), Err(Error::Truncated { .. })), "{descr}");
        }
    }

    #[test]
    fn other_elements_are_named_and_measured() {
        for (descr, name, bytes) in [
            ("'|O'", "object", 5),
            ("'<U3'", "<U3", 24),
            ("'|S3'", "|S3", 6),
            ("'<M8[s]'", "<M8[s]", 16),
            ("'<f16'", "float128", 32),
            ("[('shape', '<f4', (2,)), ('b', '|u1')]", "", 18),
        ] {
            let file = Temporary::new(".npy", &npy(descr, "(2,)", &[0; 32][..if bytes == 5 { 5 } else { 32 }]));
            let array = file.open().unwrap().one().unwrap();
            assert_eq!((array.dtype(), array.bytes()), (DType::Other, bytes), "{descr}");
            assert!(array.dtype_name() == name || name.is_empty(), "{descr}");
        }
        refused(
            ".npy",
            &npy("'<U3'", "(2,)", &[0; 23]),
            "FILE is cut short: 152 bytes by its header, 151 bytes there",
        );
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        for descr in ["'<f8'", "'<c16'", "'|S2000000000'"] {
            refused(
                ".npy",
                &npy(descr, "(3, 4611686018427387904)", &[]),
                "FILE is no .npy file that can be read: its shape overflows at 4611686018427387904: an array of 2^63 \
                 bytes or more",
            );
        }
    }

    #[test]
    fn numbers_that_overflow_are_refused() {
        let header = |shape: &str| check_numbers(format!("{{'descr': '<f4', 'shape': {shape}, }}").as_bytes());
        assert_eq!(header("(3, 0, 4)"), Ok(()));
        assert_eq!(header("()"), Ok(()));
        assert_eq!(header(&format!("({},)", (1_u64 << 63) - 1)), Ok(()));
        for shape in [
            "(4294967296, 4294967296)",
            "(18446744073709551616,)",
            "(9223372036854775808,)",
            "(0xffffffff, 3)",
            "(1 << 3, 9_0)",
        ] {
            assert!(header(shape).is_err(), "{shape}");
        }
    }
}
