//! `.safetensors` files: the length of a header, a header in JSON, the tensors' bytes.
//!
//! The header is parsed here and not by the crate `safetensors`: that wants all of a file in memory or mapped (mapping is
//! `unsafe`), takes the second of two tensors of one name for the first, and its errors have no numbers. The checks are
//! those of the format's specification, and the tests hold them against that crate.

use std::{borrow::Cow, collections::HashMap, fmt, io::Read, path::Path, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};

use super::{
    DType,
    cursor::Cursor,
    tensor::{Layout, Place, Tensor},
};
use crate::{Error, SafetensorsFault as Fault};

/// Bytes of the header's length.
pub(super) const PREFIX: u64 = 8;
/// The longest header that the format's own reader takes.
const MOST_HEADER: u64 = 100_000_000;

/// The tensors of a file, in the order of their bytes.
pub(super) fn tensors(path: &Arc<Path>, file: &Cursor) -> Result<Vec<Tensor>, Error> {
    let bad = |fault| Error::NotSafetensors {
        path: path.to_path_buf(),
        fault,
    };
    let at = |source| super::at(path, source);
    let found = file.len().unwrap_or(0);
    if found < PREFIX {
        return Err(bad(Fault::TooShort { found }));
    }
    let mut reader = file.at(0);
    let mut prefix = [0; PREFIX as usize];
    reader.read_exact(&mut prefix).map_err(at)?;
    let header = u64::from_le_bytes(prefix);
    if header > MOST_HEADER {
        let most = MOST_HEADER;
        return Err(bad(Fault::HeaderTooLong { header, most }));
    }
    if header > found - PREFIX {
        let found = found - PREFIX;
        return Err(bad(Fault::HeaderCut { header, found }));
    }
    let mut text = vec![0; header as usize];
    reader.read_exact(&mut text).map_err(at)?;
    let data = PREFIX + header;
    let entries = entries(&text, found - data).map_err(bad)?;
    Ok(entries
        .into_iter()
        .map(|entry| {
            let place = Place::Plain(file.at(data + entry.begin));
            Tensor::new(path, Some(entry.name), entry.layout, place)
        })
        .collect())
}

/// A tensor that was found to be right.
struct Entry {
    name: String,
    layout: Layout,
    begin: u64,
    end: u64,
}

/// The tensors of a header, in the order of their bytes, of which there are `data`.
fn entries(header: &[u8], data: u64) -> Result<Vec<Entry>, Fault> {
    let Header(said) = serde_json::from_slice(header).map_err(|error| Fault::Header {
        reason: error.to_string(),
    })?;
    let mut entries: Vec<Entry> = said.into_iter().map(entry).collect::<Result<_, _>>()?;
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
    Ok(entries)
}

/// Checks a tensor by itself.
fn entry((name, said): (String, Said<'_>)) -> Result<Entry, Fault> {
    let Said {
        dtype,
        shape,
        data_offsets: (begin, end),
    } = said;
    let Some(dtype) = DType::of_safetensors(&dtype) else {
        return Err(Fault::Dtype {
            tensor: name,
            dtype: dtype.into_owned(),
        });
    };
    let bits = dtype.bits();
    // As if no extent were 0, so that no partial product overflows.
    let bound = |bits: u64, extent: &u64| bits.checked_mul((*extent).max(1)).filter(|bits| *bits < 1 << 63);
    if shape.iter().try_fold(u64::from(bits.div_ceil(8)), bound).is_none() {
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
    let needed = (whole / 8) as u64;
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
        dtype_name: Cow::Borrowed(dtype.name()),
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

/// All that a header says of tensors: as a list, for a map would lose the second of two equal names.
struct Header<'a>(Vec<(String, Said<'a>)>);

impl<'de> Deserialize<'de> for Header<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Header<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with an entry for each tensor")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut entries = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    let of = |error: M::Error| M::Error::custom(format!("{name:?}: {error}"));
                    if name == "__metadata__" {
                        map.next_value::<Option<HashMap<String, String>>>().map_err(of)?;
                    } else {
                        let said = map.next_value().map_err(of)?;
                        entries.push((name, said));
                    }
                }
                Ok(Header(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}
