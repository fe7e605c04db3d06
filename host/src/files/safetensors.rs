//! `.safetensors` files: the length of a header, a header in JSON, the tensors' bytes.
//!
//! The header is parsed here and not by the crate `safetensors`: that wants all of a file in memory or mapped (mapping is
//! `unsafe`), takes the last of two tensors of one name for the only one, and its errors have no numbers. The checks are
//! those of the format's specification, and the tests hold them against that crate.

use std::{borrow::Cow, fmt, path::Path, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};

use super::{
    DType, MOST_AXES, Metadata,
    cursor::Cursor,
    fault,
    pairs::Pairs,
    tensor::{Layout, Place, Tensor},
};
use crate::{Error, SafetensorsFault as Fault};

/// Bytes of the header's length.
pub(super) const PREFIX: u64 = 8;
/// The longest header that the format's own reader takes.
const MOST_HEADER: u64 = 100_000_000;

/// The tensors of a file in the order of their bytes, and its metadata.
pub(super) fn tensors(path: &Arc<Path>, file: &Cursor) -> Result<(Vec<Tensor>, Metadata), Error> {
    let bad = |fault| Error::NotSafetensors {
        path: path.to_path_buf(),
        fault,
    };
    let found = file.len().unwrap_or(0);
    if found < PREFIX {
        return Err(bad(Fault::TooShort { found }));
    }
    let mut reader = file.at(0);
    // The file may shrink while it is read.
    let mut read = |len: u64| {
        let mut bytes = Vec::new();
        let needed = reader.before() + len;
        super::read_upto(&mut reader, &mut bytes, len as usize).map_err(|source| super::at(path, source))?;
        match reader.before() {
            found if found < needed => Err(Error::Truncated {
                path: path.to_path_buf(),
                needed,
                found,
            }),
            _ => Ok(bytes),
        }
    };
    let header = read(PREFIX)?
        .iter()
        .rev()
        .fold(0, |length, byte| length << 8 | u64::from(*byte));
    if header > MOST_HEADER {
        let most = MOST_HEADER;
        return Err(bad(Fault::HeaderTooLong { header, most }));
    }
    if header > found - PREFIX {
        let found = found - PREFIX;
        return Err(bad(Fault::HeaderCut { header, found }));
    }
    let text = read(header)?;
    let data = PREFIX + header;
    let (entries, metadata) = entries(&text, found - data).map_err(bad)?;
    let tensors = entries
        .into_iter()
        .map(|entry| {
            let place = match entry.layout.shape.len() {
                axes if axes > MOST_AXES => Err(fault::Fault::Safetensors(Fault::TooManyAxes {
                    tensor: entry.name.clone(),
                    axes,
                    most: MOST_AXES,
                })),
                _ => Ok(Place::Plain(file.at(data + entry.begin))),
            };
            Tensor::new(path, Some(entry.name), entry.layout, place)
        })
        .collect();
    Ok((tensors, metadata))
}

/// A tensor that was found to be right.
struct Entry {
    name: String,
    layout: Layout,
    begin: u64,
    end: u64,
}

/// The tensors of a header in the order of their bytes, of which there are `data`, and the metadata.
fn entries(header: &[u8], data: u64) -> Result<(Vec<Entry>, Metadata), Fault> {
    let Header { tensors, metadata } = serde_json::from_slice(header).map_err(|error| Fault::Header {
        reason: error.to_string(),
    })?;
    let mut entries: Vec<Entry> = tensors.into_iter().map(entry).collect::<Result<_, _>>()?;
    let mut names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let tensor = twice[0].to_owned();
        return Err(Fault::Duplicate { tensor });
    }
    // Tensors of no bytes keep the header's order.
    entries.sort_by_key(|entry| (entry.begin, entry.end));
    let mut end = 0;
    for (at, entry) in entries.iter().enumerate() {
        let begin = entry.begin;
        if entry.end > data {
            let tensor = entry.name.clone();
            let end = entry.end;
            return Err(Fault::PastEnd { tensor, end, data });
        }
        if begin < end {
            return Err(Fault::Overlap {
                tensor: entry.name.clone(),
                begin,
                other: entries[at - 1].name.clone(),
                end,
            });
        }
        if begin > end {
            return Err(Fault::Hole { begin: end, end: begin });
        }
        end = entry.end;
    }
    if end < data {
        return Err(Fault::Hole { begin: end, end: data });
    }
    Ok((entries, metadata))
}

/// Checks a tensor by itself.
fn entry((name, said): (String, Said<'_>)) -> Result<Entry, Fault> {
    let Said {
        dtype,
        shape,
        data_offsets: (begin, end),
    } = said;
    // Of a type that is unknown, the offsets tell how many bytes there are; the file's other tensors can be read.
    let (dtype, dtype_name) = match DType::of_safetensors(&dtype) {
        Some(known) => (known, Cow::Borrowed(known.name())),
        None => (DType::Other, Cow::Owned(dtype.into_owned())),
    };
    let bits = dtype.bits();
    // As if no extent were 0, so that no partial product overflows.
    let bound = |bits: u64, extent: &u64| bits.checked_mul((*extent).max(1)).filter(|bits| *bits < 1 << 63);
    if shape
        .iter()
        .try_fold(u64::from(bits.div_ceil(8)).max(1), bound)
        .is_none()
    {
        return Err(Fault::Shape { tensor: name, shape });
    }
    let len: u64 = shape.iter().product();
    let whole = u128::from(len) * u128::from(bits);
    if !whole.is_multiple_of(8) {
        return Err(Fault::Bits {
            tensor: name,
            elements: len,
            bits,
        });
    }
    let needed = match dtype {
        DType::Other => end.saturating_sub(begin),
        _ => (whole / 8) as u64,
    };
    if end.checked_sub(begin) != Some(needed) {
        return Err(Fault::Bytes {
            tensor: name,
            dtype: dtype.name(),
            shape,
            needed,
            begin,
            end,
        });
    }
    let layout = Layout {
        dtype,
        dtype_name,
        shape,
        len,
        bytes: needed,
        swap: cfg!(target_endian = "big"),
        transposed: false,
    };
    Ok(Entry {
        name,
        layout,
        begin,
        end,
    })
}

/// What a header says of a tensor.
#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow)]
    dtype: Cow<'a, str>,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// All that a header says: as lists, for a map would lose the order, and the second of two equal names.
struct Header<'a> {
    tensors: Vec<(String, Said<'a>)>,
    metadata: Metadata,
}

impl<'de> Deserialize<'de> for Header<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Header<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with an entry for each tensor")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let (mut tensors, mut metadata) = (Vec::new(), Vec::new());
                while let Some(name) = map.next_key::<String>()? {
                    let of = |error: M::Error| M::Error::custom(format!("{name:?}: {error}"));
                    if name == "__metadata__" {
                        let Pairs(texts) = map.next_value::<Option<_>>().map_err(of)?.unwrap_or_default();
                        metadata.extend(texts);
                    } else {
                        let said = map.next_value().map_err(of)?;
                        tensors.push((name, said));
                    }
                }
                Ok(Header { tensors, metadata })
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Element, Format, TensorFile, bf16,
            tests::{Temporary, in_words, refused},
        },
        *,
    };

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
    }

    #[track_caller]
    fn bad(header: &str, data: usize, says: &str) {
        let says = format!("FILE is no .safetensors file that can be read: {says}");
        refused(".safetensors", &file(header, &vec![0; data]), &says);
        // The format's own reader takes none of them either, but the last of two tensors of one name.
        let reference = ::safetensors::SafeTensors::deserialize(&file(header, &vec![0; data])).is_ok();
        assert_eq!(reference, says.contains("two tensors"), "{says}");
    }

    #[test]
    fn tensors_come_in_the_order_of_their_bytes() {
        let header = r#"{"__metadata__":{"format":"pt"},
            "last":{"dtype":"BF16","shape":[2,1],"data_offsets":[8,12],"more":null},
            "none":{"dtype":"F64","shape":[0,3],"data_offsets":[8,8]},
            "first":{"shape":[],"data_offsets":[0,8],"dtype":"I64"}}   "#;
        let mut data = (-5_i64).to_le_bytes().to_vec();
        data.extend([1.5, -2.0].map(|value| bf16::from_f32(value).to_le_bytes()).concat());
        let written = Temporary::new(".safetensors", &file(header, &data));
        let opened = written.open().unwrap();
        assert_eq!(opened.format(), Format::Safetensors);
        let said: Vec<_> = opened
            .tensors()
            .iter()
            .map(|tensor| (tensor.name().unwrap(), tensor.dtype(), tensor.shape(), tensor.bytes()))
            .collect();
        assert_eq!(
            said,
            [
                ("first", DType::I64, &[][..], 8),
                ("none", DType::F64, &[0, 3], 0),
                ("last", DType::Bf16, &[2, 1], 4)
            ]
        );
        assert_eq!(opened.tensors()[0].read::<i64>().unwrap(), [-5]);
        assert!(opened.tensors()[1].read::<f64>().unwrap().is_empty());
        let last = &opened.tensors()[2];
        assert_eq!(last.read::<bf16>().unwrap(), [1.5, -2.0].map(bf16::from_f32));
        assert_eq!(
            in_words(&last.read::<half::f16>().unwrap_err(), &written.0),
            "FILE:last is of bfloat16, and was to be read as float16"
        );
        assert!(bf16::reads(last.dtype()));
    }

    #[test]
    fn every_type_is_listed() {
        for (name, dtype, elements, bytes) in [
            ("F4", "float4_e2m1fn", 4, 2),
            ("F6_E2M3", "float6_e2m3fn", 4, 3),
            ("F6_E3M2", "float6_e3m2fn", 4, 3),
            ("F8_E4M3", "float8_e4m3fn", 3, 3),
            ("F8_E5M2", "float8_e5m2", 3, 3),
            ("F8_E8M0", "float8_e8m0fnu", 3, 3),
            ("C64", "complex64", 1, 8),
            ("BOOL", "bool", 3, 3),
            ("U16", "uint16", 3, 6),
        ] {
            let header = format!(r#"{{"w":{{"dtype":"{name}","shape":[{elements}],"data_offsets":[0,{bytes}]}}}}"#);
            let written = Temporary::new("", &file(&header, &vec![7; bytes]));
            let tensor = written.open().unwrap().one().unwrap();
            assert_eq!((tensor.dtype_name(), tensor.bytes()), (dtype, bytes as u64));
            match tensor.dtype().bytes() {
                Some(_) => assert_eq!(*tensor.read_bytes().unwrap(), *vec![7; bytes]),
                None => assert!(matches!(tensor.read_bytes(), Err(Error::Dtype { .. }))),
            }
        }
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        let says = |bytes: &[u8], words: &str| {
            refused(
                ".safetensors",
                bytes,
                &format!("FILE is no .safetensors file that can be read: {words}"),
            );
        };
        says(&[1; 7], "it has 7 bytes, fewer than the 8 of the header's length");
        says(
            &[0xff; 9],
            "a header of 18446744073709551615 bytes is longer than the 100000000 that a header may have",
        );
        says(
            &file("{}", &[])[..9],
            "its header has 2 bytes, the file 1 behind the header's length",
        );
    }

    #[test]
    fn headers_that_are_none_are_refused() {
        bad(
            "",
            0,
            "its header is damaged: EOF while parsing a value at line 1 column 0",
        );
        bad(
            "{",
            0,
            "its header is damaged: EOF while parsing an object at line 1 column 1",
        );
        bad(
            "{} x",
            0,
            "its header is damaged: trailing characters at line 1 column 4",
        );
        bad(
            "[]",
            0,
            "its header is damaged: invalid type: sequence, expected an object with an entry for each tensor at line 1 \
             column 0",
        );
        bad(
            r#"{"w":{"shape":[1],"data_offsets":[0,1]}}"#,
            1,
            "its header is damaged: \"w\": missing field `dtype` at line 1 column 39",
        );
        bad(
            r#"{"w":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}"#,
            1,
            "its header is damaged: \"w\": invalid value: integer `-1`, expected u64 at line 1 column 30",
        );
        bad(
            r#"{"w":{"dtype":"U8","shape":[1],"data_offsets":[0]}}"#,
            1,
            "its header is damaged: \"w\": invalid length 1, expected a tuple of size 2 at line 1 column 49",
        );
        bad(
            r#"{"__metadata__":{"a":1}}"#,
            0,
            "its header is damaged: \"__metadata__\": invalid type: integer `1`, expected a string at line 1 column 22",
        );
    }

    /// What this program does not know yet, a later one may write.
    #[test]
    fn unknown_types_and_too_many_axes_leave_others_readable() {
        let ones = ["1"; 65].join(",");
        let header = format!(
            r#"{{"new":{{"dtype":"Q7","shape":[2,1],"data_offsets":[0,3]}},
                "deep":{{"dtype":"U8","shape":[{ones}],"data_offsets":[3,4]}},
                "good":{{"dtype":"U8","shape":[2],"data_offsets":[4,6]}}}}"#
        );
        let written = Temporary::new(".safetensors", &file(&header, &[1, 2, 3, 4, 5, 6]));
        let opened = written.open().unwrap();
        assert_eq!(opened.tensor("good").unwrap().read::<u8>().unwrap(), [5, 6]);
        let new = opened.tensor("new").unwrap();
        assert_eq!((new.dtype(), new.dtype_name()), (DType::Other, "Q7"));
        assert_eq!((new.shape(), new.len(), new.bytes()), (&[2, 1][..], 2, 3));
        assert_eq!(
            in_words(&new.read::<u8>().unwrap_err(), &written.0),
            "FILE:new is of Q7, and was to be read as uint8"
        );
        assert!(matches!(new.read_bytes(), Err(Error::Dtype { .. })));
        let deep = &opened.tensors()[1];
        assert_eq!((deep.dtype(), deep.shape().len()), (DType::U8, 65));
        for error in [
            deep.fault().unwrap(),
            deep.read::<u8>().unwrap_err(),
            deep.stream_bytes(1).map(drop).unwrap_err(),
            deep.layout().unwrap_err(),
            opened.tensor("deep").unwrap_err(),
            TensorFile::open(written.named("deep")).unwrap_err(),
        ] {
            assert_eq!(
                in_words(&error, &written.0),
                "FILE is no .safetensors file that can be read: tensor \"deep\" has 65 axes, and an array has at most 64"
            );
        }
    }

    /// Deep brackets where a header may have anything.
    #[test]
    fn brackets_take_no_time() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let header = format!(r#"{{"w":{{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":{deep}}}}}"#);
        let start = std::time::Instant::now();
        for header in [header, deep] {
            let opened = Temporary::new(".safetensors", &file(&header, &[7])).open();
            assert!(opened.is_ok_and(|file| file.tensors().len() == 1) || header.starts_with('['));
        }
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    #[test]
    fn tensors_that_cannot_be_are_refused() {
        let one = |dtype: &str, shape: &str, offsets: &str| {
            format!(r#"{{"w":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
        };
        bad(
            &one("F32", "[3,2]", "[0,20]"),
            20,
            "tensor \"w\", float32 of shape [3, 2], needs 24 bytes, and its offsets 0 to 20 do not give them",
        );
        bad(
            &one("U8", "[1]", "[1,0]"),
            1,
            "tensor \"w\", uint8 of shape [1], needs 1 bytes, and its offsets 1 to 0 do not give them",
        );
        bad(
            &one("F32", "[4294967296,4294967296]", "[0,0]"),
            0,
            "tensor \"w\" of shape [4294967296, 4294967296] has 2^63 bytes or more",
        );
        bad(
            &one("Q7", "[4294967296,4294967296]", "[0,0]"),
            0,
            "tensor \"w\" of shape [4294967296, 4294967296] has 2^63 bytes or more",
        );
        bad(
            &one("Q7", "[1]", "[1,0]"),
            1,
            "tensor \"w\", other of shape [1], needs 0 bytes, and its offsets 1 to 0 do not give them",
        );
        bad(
            &one("F4", "[3]", "[0,2]"),
            2,
            "tensor \"w\" has 3 elements of 4 bits, which are no whole bytes",
        );
        bad(
            &one("U8", "[4]", "[0,4]"),
            3,
            "tensor \"w\" ends at byte 4, and the file holds 3: it is cut short",
        );
        bad(&one("U8", "[4]", "[0,4]"), 6, "bytes 4 to 6 belong to no tensor");
        bad(&one("U8", "[4]", "[1,5]"), 5, "bytes 0 to 1 belong to no tensor");

        let two = |a: &str, x: u32, y: u32, b: &str, z: u32, w: u32| {
            let entry = |name, x, y| {
                let len = y - x;
                format!(r#""{name}":{{"dtype":"U8","shape":[{len}],"data_offsets":[{x},{y}]}}"#)
            };
            format!("{{{},{}}}", entry(a, x, y), entry(b, z, w))
        };
        bad(
            &two("a", 2, 6, "b", 0, 3),
            6,
            "tensor \"a\" starts at byte 2, within tensor \"b\", which ends at 3",
        );
        bad(&two("a", 0, 2, "b", 4, 6), 6, "bytes 2 to 4 belong to no tensor");
        bad(&two("a", 0, 0, "a", 0, 4), 4, "two tensors are named \"a\"");
    }
}
