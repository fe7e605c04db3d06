//! The header of a `.npy` file, or of a member of a `.npz` file.
//!
//! Versions 1, 2 and 3; any shape, none and zeros included; little- and big-endian; C and Fortran order.

use std::{borrow::Cow, io::Read, path::Path};

use super::{
    DType, MOST_AXES, damage, descr,
    python::{self, Literal, beginning},
    tensor::Layout,
};
use crate::Error;

/// Bytes before the header's text: magic, version, and a length of two bytes (version 1) or four.
const PREFIX: [usize; 4] = [0, 10, 12, 12];
/// What every file starts with.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes enough to tell what a file is.
pub(super) const START: usize = PREFIX[1];
/// The longest header that is believed. That of an array of numbers is a few hundred bytes.
const MAX_HEADER: usize = 1 << 20;
/// Where the elements of a file that is written begin: at a multiple of these bytes.
const ALIGNMENT: usize = 64;

/// Reads the header of a file that begins with the bytes `start`, the rest of it to come from `file`: what array there
/// is, and at which byte. The file is called `path` in errors and has `found` bytes, if that is known.
pub(super) fn layout(
    path: &Path,
    start: Vec<u8>,
    file: &mut dyn Read,
    found: Option<u64>,
) -> Result<(Layout, u64), Error> {
    let bad = |reason| Error::NotNpy {
        path: path.to_path_buf(),
        reason,
    };
    let (text, before) = text(path, start, file)?;
    let before = before as u64;
    let NpyHeader {
        element,
        fortran_order,
        shape,
    } = header(&text).map_err(bad)?;
    // Of Python's objects there are as many bytes as there are: NumPy lets pickle write them.
    let bytes = match element.bytes {
        Some(element) => Some(bytes(element, &shape).map_err(bad)?),
        None => None,
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
        dtype: element.dtype,
        dtype_name: match element.dtype {
            DType::Other => Cow::Owned(element.name),
            known => Cow::Borrowed(known.name()),
        },
        transposed: fortran_order && shape.iter().filter(|extent| **extent != 1).count() > 1,
        len: shape.iter().product(),
        shape,
        bytes: bytes.unwrap_or(found.unwrap_or(0).saturating_sub(before)),
        swap: element.swap,
    };
    Ok((layout, before))
}

/// The header's text, and how many bytes there are before the elements.
fn text(path: &Path, mut bytes: Vec<u8>, file: &mut dyn Read) -> Result<(String, usize), Error> {
    let bad = |reason: String| Error::NotNpy {
        path: path.to_path_buf(),
        reason,
    };
    let mut upto = |bytes: &mut Vec<u8>, end: usize| {
        super::read_upto(&mut *file, bytes, end).map_err(|source| super::at(path, damage::of_data(source)))?;
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
    if !upto(&mut bytes, prefix)? {
        return Err(bad(format!("it ends within the header, after {} bytes", bytes.len())));
    }
    let length = bytes[8..prefix]
        .iter()
        .rev()
        .fold(0, |length, byte| length << 8 | usize::from(*byte));
    if length > MAX_HEADER {
        return Err(bad(format!("a header of {length} bytes is too long to be true")));
    }
    let end = prefix + length;
    if !upto(&mut bytes, end)? {
        return Err(bad(format!("its header has {end} bytes, the file {}", bytes.len())));
    }
    let text = &bytes[prefix..end];
    let text = match version {
        // Latin-1, whose characters are the first of Unicode.
        1 | 2 => text.iter().map(|byte| char::from(*byte)).collect(),
        _ => str::from_utf8(text)
            .map_err(|error| bad(format!("its header is damaged: {error}")))?
            .to_owned(),
    };
    Ok((text, end))
}

/// What a header says of an array.
struct NpyHeader {
    element: descr::Type,
    fortran_order: bool,
    shape: Vec<u64>,
}

/// The header that is written as a dictionary of Python's, or why it is none.
fn header(text: &str) -> Result<NpyHeader, String> {
    let damaged = |reason: String| format!("its header is damaged: {reason}");
    let Literal::Dictionary(entries) = python::literal(text).map_err(damaged)? else {
        return Err(damaged("it is no dictionary".into()));
    };
    // Of two entries of one key, Python takes the last.
    let (mut element, mut fortran_order, mut shape) = (None, None, None);
    for entry in entries {
        match &entry.key {
            Literal::Text(key) if key == "descr" => element = Some((entry.value, entry.written)),
            Literal::Text(key) if key == "fortran_order" => fortran_order = Some((entry.value, entry.written)),
            Literal::Text(key) if key == "shape" => shape = Some((entry.value, entry.written)),
            Literal::Text(key) => return Err(damaged(format!("it has a key {:?}", beginning(key)))),
            _ => return Err(damaged("it has a key that is no string".into())),
        }
    }
    let there = |key, value: Option<_>| value.ok_or_else(|| damaged(format!("it has no key {key:?}")));
    let (element, written) = there("descr", element)?;
    let element = descr::of(&element, written).map_err(damaged)?;
    let fortran_order = match there("fortran_order", fortran_order)? {
        (Literal::Truth(truth), _) => truth,
        (_, written) => {
            return Err(damaged(format!(
                "fortran_order is {}, and neither True nor False",
                beginning(written)
            )));
        }
    };
    let (shape, written) = there("shape", shape)?;
    let Literal::Tuple(extents) = shape else {
        return Err(damaged(format!("its shape is {}, and no tuple", beginning(written))));
    };
    Ok(NpyHeader {
        element,
        fortran_order,
        shape: extents_of(&extents)?,
    })
}

/// The extents of a shape, which come to less than 2⁶³ elements even if each 0 were 1.
fn extents_of(extents: &[Literal<'_>]) -> Result<Vec<u64>, String> {
    if extents.len() > MOST_AXES {
        let axes = extents.len();
        return Err(format!(
            "its shape has {axes} axes, and an array has at most {MOST_AXES}"
        ));
    }
    let mut shape = Vec::with_capacity(extents.len());
    let mut elements = 1;
    for extent in extents {
        let Literal::Number(written, value) = extent else {
            return Err("its header is damaged: an extent of its shape is no whole number".into());
        };
        let written = beginning(written);
        if written.starts_with('-') && *value != Some(0) {
            return Err(format!(
                "its header is damaged: extent {written} of its shape is negative"
            ));
        }
        elements = value
            .and_then(|extent| below_2_63(elements, extent))
            .ok_or_else(|| overflows(&written))?;
        shape.extend(value);
    }
    Ok(shape)
}

/// Bytes of an array whose elements have `element`, and 0 where an extent is; fewer than 2⁶³ even if those were 1.
fn bytes(element: u64, shape: &[u64]) -> Result<u64, String> {
    let mut bytes = element;
    for extent in shape {
        bytes = below_2_63(bytes, *extent).ok_or_else(|| overflows(extent))?;
    }
    Ok(if shape.contains(&0) { 0 } else { bytes })
}

/// A product in which 0 counts as 1.
fn below_2_63(product: u64, extent: u64) -> Option<u64> {
    product.checked_mul(extent.max(1)).filter(|product| *product < 1 << 63)
}

fn overflows(extent: impl std::fmt::Display) -> String {
    format!("its shape overflows at {extent}: an array of 2^63 bytes or more")
}

/// The start of a `.npy` file of version 1, up to its elements: an array in C order, of numbers in little-endian order.
///
/// # Errors
///
/// [`Error::NotWritable`] for elements of a type that NumPy does not have, as bfloat16; [`Error::TooManyAxes`].
pub fn npy_header(dtype: DType, shape: &[u64]) -> Result<Vec<u8>, Error> {
    let code = descr::code(dtype).ok_or(Error::NotWritable {
        format: "NumPy",
        dtype: dtype.name(),
    })?;
    if shape.len() > MOST_AXES {
        return Err(Error::TooManyAxes {
            axes: shape.len(),
            most: MOST_AXES,
        });
    }
    let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    // As NumPy writes tuples.
    let extents = match shape {
        [_] => extents.trim_end(),
        _ => extents.trim_end_matches(", "),
    };
    let text = format!("{{'descr': '{code}', 'fortran_order': False, 'shape': ({extents}), }}");
    let prefix = PREFIX[1];
    // A newline ends it. Of so few axes it has far fewer bytes than version 1 can count.
    let length = (prefix + text.len() + 1).next_multiple_of(ALIGNMENT) - prefix;
    let mut bytes = [MAGIC, &[1, 0], &(length as u16).to_le_bytes()].concat();
    bytes.extend(format!("{text:<width$}\n", width = length - 1).bytes());
    Ok(bytes)
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
        let shape = |shape: &str| {
            let header = header(&format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}"));
            header.map(|header| header.shape)
        };
        assert_eq!(shape("(3, 0, 4)"), Ok(vec![3, 0, 4]));
        assert_eq!(shape("()"), Ok(vec![]));
        assert_eq!(shape(&format!("({},)", (1_u64 << 63) - 1)), Ok(vec![(1 << 63) - 1]));
        for overflowing in [
            "(4294967296, 4294967296)",
            "(18446744073709551616,)",
            "(9223372036854775808,)",
            "(0xffffffff, 0xffffffff)",
            "(0, 18446744073709551616)",
            "(99999999999999999999999999999999999999999, 0)",
        ] {
            let error = shape(overflowing).unwrap_err();
            assert!(error.starts_with("its shape overflows at "), "{error}");
        }
    }

    /// Whatever NumPy reads: keys in any order, Python 2's longs and strings, comments, spaces, either sort of quotes.
    #[test]
    fn headers_are_read_as_numpy_reads_them() {
        let data: Vec<u8> = [1.5_f32, -2.0, 8.0]
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        for (version, text) in [
            (1, "{'shape': (3,), 'descr': '<f4', 'fortran_order': False}"),
            (
                1,
                "{'descr': 'float32', 'fortran_order': True, 'shape': (3,), }  # and so on",
            ),
            (1, "{u'descr': u'<f4', u'fortran_order': False, u'shape': (3L,)}"),
            (2, "{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 1 L)}"),
            (1, "\n{\"descr\":'<f4','fortran_order':False,'shape':(3,),}\n\n"),
            (
                3,
                "{'descr' : ('<f4') , 'fortran_order' : (False) , 'shape' : ( 3 , 1 , ) , }",
            ),
            (1, "({'shape':(0x3,),'descr':'<' 'f4','fortran_order':False})"),
            (1, "{'shape':(7,),'descr':'<f4','fortran_order':False,'shape':(3,)}"),
            (3, "{'descr': '=f4', # ü\n 'fortran_order': False, 'shape': (+3,)}"),
        ] {
            if text.contains('=') && cfg!(target_endian = "big") {
                continue;
            }
            let file = Temporary::new(".npy", &of_version(version, text.as_bytes(), &data));
            let array = file
                .open()
                .unwrap_or_else(|error| panic!("{text}: {error}"))
                .one()
                .unwrap();
            assert_eq!((array.shape()[0], array.len()), (3, 3), "{text}");
            assert_eq!(array.read::<f32>().unwrap(), [1.5, -2.0, 8.0], "{text}");
        }
    }

    fn of_version(version: u8, text: &[u8], data: &[u8]) -> Vec<u8> {
        let length = (text.len() as u32).to_le_bytes();
        let length = if version == 1 { &length[..2] } else { &length };
        [MAGIC, &[version, 0], length, text, data].concat()
    }

    #[test]
    fn headers_that_say_something_else_are_refused() {
        for (text, says) in [
            ("(1, 2)", "it is no dictionary"),
            ("{'descr': '<f4', 'shape': ()}", "it has no key \"fortran_order\""),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}",
                "it has a key \"x\"",
            ),
            ("{b'descr': '<f4'}", "a string of kind b at byte 1"),
            ("{1: 2}", "it has a key that is no string"),
            (
                "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
                "fortran_order is 0, and neither True nor False",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': [3]}",
                "its shape is [3], and no tuple",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
                "extent -3 of its shape is negative",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': ('3',)}",
                "an extent of its shape is no whole number",
            ),
            (
                "{'descr': '<f5', 'fortran_order': False, 'shape': ()}",
                "'<f5' is no type that NumPy has",
            ),
            ("\u{e9}", "'é' at byte 0, and not a value"),
        ] {
            let words = format!("FILE is no .npy file that can be read: its header is damaged: {says}");
            let latin1: Vec<u8> = text.chars().map(|c| c as u8).collect();
            refused(".npy", &of_version(1, &latin1, &[0; 16]), &words);
            refused(".npy", &of_version(3, text.as_bytes(), &[0; 16]), &words);
        }
        refused(
            ".npy",
            &of_version(3, b"{'\xe9': 1}", &[]),
            "FILE is no .npy file that can be read: its header is damaged: invalid utf-8 …",
        );
        refused(
            ".npy",
            &of_version(2, b"{}", &[])[..11],
            "FILE is no .npy file that can be read: it ends within the header, after 11 bytes",
        );
    }

    #[test]
    fn an_array_has_at_most_64_axes() {
        let of = |axes: usize| npy("'|u1'", &format!("({})", "1,".repeat(axes)), &[7]);
        let file = Temporary::new(".npy", &of(64));
        assert_eq!(file.open().unwrap().one().unwrap().shape(), [1; 64]);
        for axes in [65, 21_900] {
            refused(
                ".npy",
                &of(axes),
                &format!(
                    "FILE is no .npy file that can be read: its shape has {axes} axes, and an array has at most 64"
                ),
            );
        }
    }

    #[test]
    fn headers_that_are_written_are_read() {
        for (dtype, shape, says) in [
            (
                DType::F32,
                vec![],
                "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
            ),
            (
                DType::I8,
                vec![0],
                "{'descr': '|i1', 'fortran_order': False, 'shape': (0,), }",
            ),
            (
                DType::Complex128,
                vec![2, 0, 3],
                "{'descr': '<c16', 'fortran_order': False, 'shape': (2, 0, 3), }",
            ),
            (DType::Bool, vec![0; 64], ""),
        ] {
            let bytes = npy_header(dtype, &shape).unwrap();
            assert_eq!((bytes.len() % 64, bytes.last()), (0, Some(&b'\n')));
            let text = String::from_utf8_lossy(&bytes[10..]);
            assert!(text.starts_with(says), "{text}");
            let data = vec![0; dtype.bytes().unwrap()];
            let file = Temporary::new(".npy", &[bytes, data].concat());
            let array = file.open().unwrap().one().unwrap();
            assert_eq!((array.dtype(), array.shape()), (dtype, &shape[..]));
        }
        // The longest: extents of 20 digits each.
        assert_eq!(npy_header(DType::Complex128, &[u64::MAX; 64]).unwrap().len(), 1536);
        assert_eq!(
            npy_header(DType::F32, &[1; 21_900]).unwrap_err().to_string(),
            "an array of 21900 axes: a .npy file has at most 64"
        );
        assert_eq!(
            npy_header(DType::Bf16, &[1]).unwrap_err().to_string(),
            "NumPy has no type for elements of bfloat16"
        );
    }
}
