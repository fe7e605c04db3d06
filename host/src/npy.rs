//! NumPy's `.npy` files, as streams of f32.
//!
//! Versions 1, 2 and 3; any shape, none and zeros included; little- and big-endian; C and Fortran order. Data after the
//! array is ignored, as NumPy does.

use std::{
    fs::File,
    io::{self, Read},
    ops::Deref,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, SendError, Sender, SyncSender, channel, sync_channel},
    thread,
};

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar};

use crate::Error;

/// An open `.npy` file of f32.
#[derive(Debug)]
pub struct Npy {
    path: PathBuf,
    /// At the first element.
    file: File,
    shape: Vec<u64>,
    len: u64,
    swap: bool,
    /// The first index is the fastest, and the order differs from C's.
    transposed: bool,
}

/// Bytes before the header's text: magic, version, and a length of two bytes (version 1) or four.
const PREFIX: [usize; 4] = [0, 10, 12, 12];
const MAGIC: &[u8] = b"\x93NUMPY";
/// The longest header that is believed. That of an f32 array is a few hundred bytes.
const MAX_HEADER: usize = 1 << 20;

impl Npy {
    /// Opens a file and reads its header. Whether the array is all there is checked before any of it is read.
    ///
    /// # Errors
    ///
    /// [`Error::File`] where the system says no; [`Error::NotNpy`] for a foreign or damaged file;
    /// [`Error::Truncated`]; [`Error::Dtype`] for elements other than f32.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref().to_path_buf();
        let mut file = File::open(&path).map_err(|source| at(&path, source))?;
        let (header, before) = header(&path, &mut file)?;
        let swap = endianness(&path, &header.dtype())? != Endianness::of_machine();

        let shape = header.shape().to_vec();
        let order = header.order();
        let len: u64 = shape.iter().product();
        let needed = before as u64 + len * size_of::<f32>() as u64; // no overflow: see `check_numbers`
        let metadata = file.metadata().map_err(|source| at(&path, source))?;
        if metadata.is_file() && metadata.len() < needed {
            let found = metadata.len();
            return Err(Error::Truncated { path, needed, found });
        }
        let transposed = order == Order::Fortran && shape.iter().filter(|extent| **extent != 1).count() > 1;
        Ok(Self {
            path,
            file,
            shape,
            len,
            swap,
            transposed,
        })
    }

    /// The extents, slowest index first. None for a scalar.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// How many elements.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of all elements.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.len * size_of::<f32>() as u64
    }

    /// All elements in C order: the last index is the fastest, as NumPy numbers them for argmax.
    ///
    /// Memory: the array; twice that for a Fortran-order array of more than one dimension.
    ///
    /// # Errors
    ///
    /// [`Error::File`], also where memory runs out or the file has shrunk.
    pub fn read(mut self) -> Result<Vec<f32>, Error> {
        let len = usize::try_from(self.len).map_err(|_| Error::LengthOverflow {
            elements: self.len,
            element_bytes: size_of::<f32>(),
        })?;
        let mut values = Vec::new();
        self.fill(&mut values, len)?;
        if !self.transposed {
            return Ok(values);
        }
        let mut ordered = Vec::new();
        self.resize(&mut ordered, len)?;
        to_c_order(&values, &self.shape, &mut ordered);
        Ok(ordered)
    }

    /// All elements in C order, in pieces of `piece` elements, the last one shorter. A thread of its own reads ahead by
    /// two pieces.
    ///
    /// Memory: three pieces and those that the caller keeps; for a Fortran-order array of more than one dimension,
    /// twice the array besides, for it can only be put in order as a whole.
    ///
    /// The pieces end after the first error: those of [`read`](Self::read).
    ///
    /// # Panics
    ///
    /// If `piece` is 0.
    #[must_use]
    pub fn stream(self, piece: usize) -> Stream {
        assert!(piece > 0, "a piece of no elements");
        let (full, pieces) = sync_channel(1);
        let (spare, spares) = channel();
        thread::spawn(move || {
            // A failed send: nobody wants more pieces.
            let _ = if self.transposed {
                self.send_ordered(piece, &full, &spares)
            } else {
                self.send(piece, &full, &spares)
            };
        });
        Stream { pieces, spare }
    }

    fn send(mut self, piece: usize, full: &Full, spares: &Receiver<Vec<f32>>) -> Sent {
        let mut left = self.len;
        while left > 0 {
            let len = usize::try_from(left).unwrap_or(piece).min(piece);
            let mut values = spares.try_recv().unwrap_or_default();
            full.send(self.fill(&mut values, len).map(|()| values))?;
            left -= len as u64;
        }
        Ok(())
    }

    fn send_ordered(self, piece: usize, full: &Full, spares: &Receiver<Vec<f32>>) -> Sent {
        match self.read() {
            Err(error) => full.send(Err(error)),
            Ok(ordered) => ordered.chunks(piece).try_for_each(|piece| {
                let mut values = spares.try_recv().unwrap_or_default();
                values.clear();
                values.extend_from_slice(piece);
                full.send(Ok(values))
            }),
        }
    }

    /// The next `len` elements of the file.
    fn fill(&mut self, values: &mut Vec<f32>, len: usize) -> Result<(), Error> {
        self.resize(values, len)?;
        self.file
            .read_exact(bytemuck::cast_slice_mut(values))
            .map_err(|source| at(&self.path, source))?;
        if self.swap {
            for word in bytemuck::cast_slice_mut::<f32, u32>(values) {
                *word = word.swap_bytes();
            }
        }
        Ok(())
    }

    fn resize(&self, values: &mut Vec<f32>, len: usize) -> Result<(), Error> {
        values
            .try_reserve_exact(len.saturating_sub(values.len()))
            .map_err(|_| at(&self.path, io::ErrorKind::OutOfMemory.into()))?;
        values.resize(len, 0.0);
        Ok(())
    }
}

type Full = SyncSender<Result<Vec<f32>, Error>>;
type Sent = Result<(), SendError<Result<Vec<f32>, Error>>>;

/// An array piece by piece: see [`Npy::stream`].
#[derive(Debug)]
pub struct Stream {
    pieces: Receiver<Result<Vec<f32>, Error>>,
    spare: Sender<Vec<f32>>,
}

impl Iterator for Stream {
    type Item = Result<Piece, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let piece = self.pieces.recv().ok()?;
        Some(piece.map(|values| Piece {
            values,
            spare: self.spare.clone(),
        }))
    }
}

/// Consecutive elements of an array. Dropped, its memory goes to a later piece.
#[derive(Debug)]
pub struct Piece {
    values: Vec<f32>,
    spare: Sender<Vec<f32>>,
}

impl Deref for Piece {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // Nobody there to take it: the file is read to its end.
        let _ = self.spare.send(std::mem::take(&mut self.values));
    }
}

fn at(path: &Path, source: io::Error) -> Error {
    Error::File {
        path: path.to_path_buf(),
        source,
    }
}

/// The header, and how many bytes it takes from the start of the file.
fn header(path: &Path, file: &mut File) -> Result<(NpyHeader, usize), Error> {
    let bad = |reason: String| Error::NotNpy {
        path: path.to_path_buf(),
        reason,
    };
    let mut bytes = Vec::new();
    let mut upto = |bytes: &mut Vec<u8>, end: usize| {
        let missing = end.saturating_sub(bytes.len());
        file.take(missing as u64)
            .read_to_end(bytes)
            .map_err(|source| at(path, source))?;
        Ok(bytes.len() >= end)
    };
    let whole = upto(&mut bytes, PREFIX[1])?;
    if !bytes.starts_with(MAGIC) {
        return Err(bad(match bytes.as_slice() {
            [] => "it is empty".into(),
            [b'P', b'K', ..] => "it is a zip archive (.npz files are not supported yet)".into(),
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
    let text = bytes[8..]
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
    check_numbers(&bytes[prefix..]).map_err(bad)?;
    let header = NpyHeader::from_reader(bytes.as_slice()).map_err(|error| {
        bad(format!(
            "its header is damaged: {}",
            error.to_string().lines().next().unwrap_or_default()
        ))
    })?;
    Ok((header, end))
}

/// Refuses a header whose extents come to 2⁶³ bytes or more: the parser multiplies them unchecked.
fn check_numbers(header: &[u8]) -> Result<(), String> {
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut bytes = size_of::<f32>() as u64;
    let shape = header.windows(5).position(|at| at == b"shape").unwrap_or(0);
    for number in header[shape..]
        .split(|byte| !word(byte))
        .filter(|word| word.first().is_some_and(u8::is_ascii_digit))
    {
        let number = String::from_utf8_lossy(number);
        bytes = match number.parse::<u64>() {
            Ok(extent) => bytes.checked_mul(extent.max(1)).filter(|bytes| *bytes < 1 << 63),
            Err(_) => None,
        }
        .ok_or_else(|| format!("its shape overflows at {number}: an array of 2^63 bytes or more"))?;
    }
    Ok(())
}

/// The byte order of a dtype, which must be f32's.
fn endianness(path: &Path, dtype: &DType) -> Result<Endianness, Error> {
    match dtype {
        DType::Plain(plain) if plain.type_char() == TypeChar::Float && plain.size_field() == 4 => {
            Ok(plain.endianness())
        }
        _ => Err(Error::Dtype {
            path: path.to_path_buf(),
            dtype: name(dtype),
        }),
    }
}

/// NumPy's name of a dtype.
fn name(dtype: &DType) -> String {
    let DType::Plain(plain) = dtype else {
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

/// Copies an array whose first index is the fastest to one whose last is.
fn to_c_order(from: &[f32], shape: &[u64], to: &mut [f32]) {
    let extents: Vec<usize> = shape.iter().map(|extent| *extent as usize).collect();
    let strides: Vec<usize> = extents
        .iter()
        .scan(1, |stride, extent| Some(std::mem::replace(stride, *stride * extent)))
        .collect();
    let (&row, &step) = match (extents.last(), strides.last()) {
        (Some(0), _) | (None, _) | (_, None) => return,
        (Some(row), Some(step)) => (row, step),
    };
    // The index of the row that is being written, and where it starts in `from`.
    let mut index = vec![0; extents.len() - 1];
    let mut start = 0;
    for row in to.chunks_exact_mut(row) {
        for (at, value) in row.iter_mut().enumerate() {
            *value = from[start + at * step];
        }
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            start += strides[axis];
            if index[axis] < extents[axis] {
                break;
            }
            start -= strides[axis] * extents[axis];
            index[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_order_is_put_in_c_order() {
        // x[i][j][k] = 100 i + 10 j + k
        let shape = [2, 3, 4];
        let value = |i: usize, j: usize, k: usize| (100 * i + 10 * j + k) as f32;
        let fortran: Vec<f32> = (0..24).map(|at| value(at % 2, at / 2 % 3, at / 6)).collect();
        let expected: Vec<f32> = (0..24).map(|at| value(at / 12, at / 4 % 3, at % 4)).collect();
        let mut c = vec![0.0; 24];
        to_c_order(&fortran, &shape, &mut c);
        assert_eq!(c, expected);
    }

    #[test]
    fn numbers_that_overflow_are_refused() {
        let header = |shape: &str| check_numbers(format!("{{'descr': '<f4', 'shape': {shape}, }}").as_bytes());
        assert_eq!(header("(3, 0, 4)"), Ok(()));
        assert_eq!(header("()"), Ok(()));
        assert_eq!(header(&format!("({},)", (1_u64 << 61) - 1)), Ok(()));
        for shape in [
            "(4294967296, 4294967296)",
            "(18446744073709551616,)",
            "(0xffffffff, 3)",
            "(1 << 3, 9_0)",
        ] {
            assert!(header(shape).is_err(), "{shape}");
        }
    }
}
