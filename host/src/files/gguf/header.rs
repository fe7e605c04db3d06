//! The header of a `.gguf` file.

use std::{
    io::{self, BufReader, Read},
    path::Path,
};

use super::super::{MOST_AXES, Metadata, cursor::Cursor};
use crate::{Error, GgufFault as Fault};

/// Data begins at a multiple of so many bytes, where the metadata does not say.
const ALIGNMENT: u64 = 32;
/// Levels of arrays in arrays that are read.
const MOST_NESTED: usize = 4;
/// Elements of an array that its summary shows.
const SHOWN: u64 = 3;
/// Characters of a string in an array that its summary shows.
const SHOWN_CHARACTERS: usize = 24;

/// What a header says.
pub struct Header {
    /// In the order of the file, values as text.
    pub metadata: Metadata,
    pub tensors: Vec<Entry>,
    /// Numbers are big-endian.
    pub big_endian: bool,
    pub alignment: u64,
    /// Where the tensors' data begins in the file.
    pub data: u64,
}

/// What a header says of a tensor.
pub struct Entry {
    pub name: String,
    /// Slowest index first.
    pub shape: Vec<u64>,
    /// The number of its type.
    pub kind: u32,
    /// From the start of the data.
    pub offset: u64,
}

pub fn bad(path: &Path, fault: Fault) -> Error {
    Error::NotGguf {
        path: path.to_path_buf(),
        fault,
    }
}

/// Reads a header.
pub fn read(path: &Path, file: &Cursor) -> Result<Header, Error> {
    let mut reader = Reader {
        path,
        file: BufReader::with_capacity(1 << 16, file.at(super::MAGIC.len() as u64)),
        at: super::MAGIC.len() as u64,
        end: file.len().unwrap_or(0),
        big_endian: false,
    };
    reader.header()
}

/// Where a header is read. Nothing is allocated before the file was found to be long enough for it.
struct Reader<'a> {
    path: &'a Path,
    file: BufReader<Cursor>,
    at: u64,
    end: u64,
    big_endian: bool,
}

impl Reader<'_> {
    fn header(&mut self) -> Result<Header, Error> {
        let mut version = self.u32("the version")?;
        // Versions are small numbers: their other half is 0 unless the order of bytes is another.
        if version & 0xffff == 0 {
            self.big_endian = true;
            version = version.swap_bytes();
        }
        if !matches!(version, 2 | 3) {
            return Err(self.bad(Fault::Version { version }));
        }
        let tensors = self.u64("the number of tensors")?;
        let keys = self.u64("the number of metadata")?;
        let mut alignment = ALIGNMENT;
        let mut metadata = Vec::new();
        self.needs("the list of metadata", keys.saturating_mul(8 + 4 + 1))?;
        for _ in 0..keys {
            let key = self.string("a key of the metadata")?;
            let kind = self.u32("the type of a metadata value")?;
            let value = self.value(&key, kind, 0)?;
            if key == "general.alignment" {
                let said = value.parse().unwrap_or(0_u64);
                if !said.is_power_of_two() {
                    return Err(self.bad(Fault::Alignment { alignment: said }));
                }
                alignment = said;
            }
            metadata.push((key, value));
        }
        self.needs("the list of tensors", tensors.saturating_mul(8 + 4 + 4 + 8))?;
        let tensors = (0..tensors).map(|_| self.tensor()).collect::<Result<_, _>>()?;
        Ok(Header {
            metadata,
            tensors,
            big_endian: self.big_endian,
            alignment,
            data: self.at.checked_next_multiple_of(alignment).unwrap_or(u64::MAX),
        })
    }

    fn tensor(&mut self) -> Result<Entry, Error> {
        let name = self.string("the name of a tensor")?;
        let axes = self.u32("the number of a tensor's axes")?;
        if axes as usize > MOST_AXES {
            return Err(self.bad(Fault::TooManyAxes {
                tensor: name,
                axes: axes.into(),
                most: MOST_AXES,
            }));
        }
        let mut shape = Vec::new();
        for _ in 0..axes {
            shape.push(self.u64("the shape of a tensor")?);
        }
        // The file has the fastest index first.
        shape.reverse();
        Ok(Entry {
            name,
            shape,
            kind: self.u32("the type of a tensor")?,
            offset: self.u64("the offset of a tensor")?,
        })
    }

    /// A value of the metadata as text.
    fn value(&mut self, key: &str, kind: u32, nested: usize) -> Result<String, Error> {
        const WHAT: &str = "a value of the metadata";
        Ok(match kind {
            0 => self.number(WHAT, u8::from_le_bytes)?.to_string(),
            1 => self.number(WHAT, i8::from_le_bytes)?.to_string(),
            2 => self.number(WHAT, u16::from_le_bytes)?.to_string(),
            3 => self.number(WHAT, i16::from_le_bytes)?.to_string(),
            4 => self.number(WHAT, u32::from_le_bytes)?.to_string(),
            5 => self.number(WHAT, i32::from_le_bytes)?.to_string(),
            6 => self.number(WHAT, f32::from_le_bytes)?.to_string(),
            7 => (self.number(WHAT, u8::from_le_bytes)? != 0).to_string(),
            8 => self.string(WHAT)?,
            9 => self.array(key, nested)?,
            10 => self.number(WHAT, u64::from_le_bytes)?.to_string(),
            11 => self.number(WHAT, i64::from_le_bytes)?.to_string(),
            12 => self.number(WHAT, f64::from_le_bytes)?.to_string(),
            kind => {
                let key = key.to_owned();
                return Err(self.bad(Fault::Value { key, kind }));
            }
        })
    }

    /// A summary of an array: its first elements, how many there are, and their type.
    fn array(&mut self, key: &str, nested: usize) -> Result<String, Error> {
        const WHAT: &str = "an array of the metadata";
        if nested == MOST_NESTED {
            return Err(self.bad(Fault::Nested {
                key: key.to_owned(),
                most: MOST_NESTED,
            }));
        }
        let kind = self.u32(WHAT)?;
        let len = self.u64(WHAT)?;
        let Some((name, least)) = value_type(kind) else {
            let key = key.to_owned();
            return Err(self.bad(Fault::Value { key, kind }));
        };
        self.needs(WHAT, len.saturating_mul(least))?;
        let mut shown = Vec::new();
        for _ in 0..len.min(SHOWN) {
            let value = self.value(key, kind, nested + 1)?;
            shown.push(match value.char_indices().nth(SHOWN_CHARACTERS) {
                Some((end, _)) => format!("{}…", &value[..end]),
                None => value,
            });
        }
        let left = len - len.min(SHOWN);
        match kind {
            8 => (0..left).try_for_each(|_| {
                let len = self.u64(WHAT)?;
                self.skip(WHAT, len)
            })?,
            9 => (0..left).try_for_each(|_| self.array(key, nested + 1).map(drop))?,
            _ => self.skip(WHAT, left * least)?,
        }
        let more = if left > 0 { ", …" } else { "" };
        Ok(format!("[{}{more}], {len} of type {name}", shown.join(", ")))
    }

    fn string(&mut self, what: &'static str) -> Result<String, Error> {
        let len = self.u64(what)?;
        self.needs(what, len)?;
        let mut bytes = vec![0; len as usize];
        self.fill(what, &mut bytes)?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, Error> {
        self.number(what, u32::from_le_bytes)
    }

    fn u64(&mut self, what: &'static str) -> Result<u64, Error> {
        self.number(what, u64::from_le_bytes)
    }

    fn number<const N: usize, T>(&mut self, what: &'static str, of: fn([u8; N]) -> T) -> Result<T, Error> {
        let mut bytes = [0; N];
        self.fill(what, &mut bytes)?;
        if self.big_endian {
            bytes.reverse();
        }
        Ok(of(bytes))
    }

    fn fill(&mut self, what: &'static str, bytes: &mut [u8]) -> Result<(), Error> {
        self.needs(what, bytes.len() as u64)?;
        self.file.read_exact(bytes).map_err(|source| self.failed(source))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn skip(&mut self, what: &'static str, bytes: u64) -> Result<(), Error> {
        self.needs(what, bytes)?;
        // No file has 2^63 bytes.
        self.file
            .seek_relative(bytes as i64)
            .map_err(|source| self.failed(source))?;
        self.at += bytes;
        Ok(())
    }

    /// Checks that the file has so many more bytes.
    fn needs(&self, what: &'static str, needed: u64) -> Result<(), Error> {
        let (at, left) = (self.at, self.end - self.at);
        if needed > left {
            return Err(self.bad(Fault::Cut { what, at, needed, left }));
        }
        Ok(())
    }

    /// That the header could not be read. The file may have shrunk since its length was asked for.
    fn failed(&self, source: io::Error) -> Error {
        match source.kind() {
            io::ErrorKind::UnexpectedEof => Error::Truncated {
                path: self.path.to_path_buf(),
                needed: self.end,
                found: self.at,
            },
            _ => super::super::at(self.path, source),
        }
    }

    fn bad(&self, fault: Fault) -> Error {
        bad(self.path, fault)
    }
}

/// The name of a type of metadata, and the fewest bytes that a value of it has.
fn value_type(kind: u32) -> Option<(&'static str, u64)> {
    const TYPES: [(&str, u64); 13] = [
        ("uint8", 1),
        ("int8", 1),
        ("uint16", 2),
        ("int16", 2),
        ("uint32", 4),
        ("int32", 4),
        ("float32", 4),
        ("bool", 1),
        ("string", 8),
        ("array", 12),
        ("uint64", 8),
        ("int64", 8),
        ("float64", 8),
    ];
    TYPES.get(kind as usize).copied()
}
