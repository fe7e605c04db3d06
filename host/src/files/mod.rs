//! Arrays in files: `.npy`, `.npz`, `.safetensors` and `.gguf`, of any element type.
//!
//! A file is opened by its path, and its first bytes say what it is; [`TensorFile`] lists its arrays. A [`Tensor`] is
//! read as a whole, or streamed in pieces so that it may be larger than memory: as numbers of a type ([`Element`]) or as
//! bytes, in C order and the machine's order of bytes.
//!
//! | | streams | needs memory for the array |
//! |---|---|---|
//! | `.npy` versions 1 to 3, little- and big-endian | C order, also from a pipe | Fortran order of several dimensions |
//! | `.npz`, members stored or deflated | the same | the same |
//! | `.safetensors` | all | |
//! | `.gguf` versions 2 and 3 | all; quantised blocks as the f32 that they stand for | |
//!
//! Blocks are dequantised for each of these types:
//!
//! | | |
//! |---|---|
//! | legacy | Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1 |
//! | K-quants | Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q8_K |
//! | IQ | IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ4_NL, IQ4_XS |
//! | others | Q1_0, Q2_0, TQ1_0, TQ2_0, MXFP4, NVFP4 (without the tensor's own scale, which is another tensor) |
//!
//! The values have the bits that PyPI's package `gguf` gives. Q1_0, Q2_0, Q8_1 and Q8_K, which that package does not
//! dequantise, are not compared with it.
//!
//! Opening reads headers only. What they say is checked against the file's length, so that an array which is not all
//! there is told before any of it is read. Data after the array of a `.npy` file is ignored, as NumPy does. Of a file with
//! several arrays, those that can be read are, whatever is wrong with another ([`Tensor::fault`]).
//!
//! A model in several files, with an index or without, is opened as a [`Checkpoint`]: a list of all tensors, and what is
//! wrong with it as a whole. Pickles of PyTorch are not read, for reading one may run any code.
//!
//! What a [`check`] finds in arrays, and in what those of two files [differ](diff), is had of open ones. [`reading`] has folds read elements as
//! wider types, on all threads.
//!
//! Any number of files may be open at once: beyond the first 64, each is open only while it is read.
//!
//! ```
//! use warpfold::{cpu, files::TensorFile, ops::Sum, pieces::Pieces};
//!
//! let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/michelson_1879.npy");
//! let array = TensorFile::open(path)?.one()?;
//! assert_eq!((array.dtype().name(), array.shape()), ("float32", &[5, 20][..]));
//!
//! let mut pieces = Pieces::<_, f32>::new(Sum, 4096)?;
//! for piece in array.stream::<f32>(4096)? {
//!     let piece = piece?;
//!     pieces.push(cpu::fold(Sum, &piece), piece.len() as u64)?;
//! }
//! assert_eq!(pieces.finish()?.0, cpu::reduce(Sum, &array.read::<f32>()?)?);
//! # Ok::<(), warpfold::Error>(())
//! ```

pub mod check;
mod checkpoint;
mod cursor;
mod damage;
mod descr;
pub mod diff;
mod dtype;
mod elements;
mod fault;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod gguf;
mod header;
mod lfs;
mod member;
mod npy;
mod npz;
mod order;
mod ordered;
mod pairs;
mod pickle;
mod python;
pub mod reading;
mod safetensors;
mod stream;
mod tensor;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    fmt,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

pub use crate::ops::element::{complex64, complex128, f8e4m3, f8e5m2};
pub use checkpoint::Checkpoint;
pub use dtype::{DType, Element};
pub use half::{bf16, f16};
pub use header::safetensors_header;
pub use npy::npy_header;
pub use ordered::in_order;
pub use stream::{AlignedBytes, Piece, Stream};
pub use tensor::Tensor;

use crate::Error;
use cursor::Cursor;
use tensor::Place;

/// The most axes that an array of a file may have: as many as NumPy's arrays.
pub const MOST_AXES: usize = 64;

/// What a file is, as its first bytes tell; not its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// One array, as `numpy.save` writes it.
    Npy,
    /// Named arrays in a zip archive, as `numpy.savez` and `numpy.savez_compressed` write them.
    Npz,
    /// Named tensors, as checkpoints of models are kept.
    Safetensors,
    /// Named tensors, plain or in quantised blocks, as llama.cpp keeps models.
    Gguf,
}

impl Format {
    /// Of a file that begins with `start`. What nothing tells of is taken for what it is called; for `.npy` at last, which
    /// will say what it starts with.
    fn of(start: &[u8], path: &Path) -> Self {
        let called = |extension: &str| path.extension().is_some_and(|is| is.eq_ignore_ascii_case(extension));
        // The length of a safetensors header may begin with anything, even with a zip file's magic; `{` follows. It is less
        // than what `GGUF` would be.
        if start.starts_with(gguf::MAGIC) {
            Self::Gguf
        } else if start.get(safetensors::PREFIX as usize) == Some(&b'{') && !start.starts_with(npy::MAGIC) {
            Self::Safetensors
        } else if start.starts_with(npy::MAGIC) {
            Self::Npy
        } else if npz::MAGICS.iter().any(|magic| start.starts_with(magic)) {
            Self::Npz
        } else if called("safetensors") {
            Self::Safetensors
        } else if called("npz") {
            Self::Npz
        } else {
            Self::Npy
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Npy => "npy",
            Self::Npz => "npz",
            Self::Safetensors => "safetensors",
            Self::Gguf => "gguf",
        })
    }
}

/// What a file says of itself: keys and values in its order.
type Metadata = Vec<(String, String)>;

/// An open file and its arrays.
#[derive(Clone, Debug)]
pub struct TensorFile {
    path: Arc<Path>,
    format: Format,
    tensors: Vec<Tensor>,
    metadata: Arc<[(String, String)]>,
    /// Where each name is among them.
    places: Arc<HashMap<Arc<str>, usize>>,
}

impl TensorFile {
    /// Opens `FILE`, or of that the array `NAME` as `FILE:NAME`, and reads the headers of all its arrays.
    ///
    /// The file is the longest beginning of the path that is one: the path itself, or what is before a colon. So files and
    /// arrays may have colons in their names. Where no array is called `NAME`, it is a pattern, and all arrays whose names
    /// match are opened: `*` stands for any characters, `?` for one, `[abc]`, `[a-z]` and `[!abc]` for one of them or of
    /// the others.
    ///
    /// The first 64 files stay open until the last of their tensors is dropped, whatever happens to their names; others are
    /// opened for each reading, and refused if they are no longer the same.
    ///
    /// Memory and cost: those of the headers (at most 100 MB of one of a `.safetensors` file); a member of a `.npz` file is
    /// inflated up to the end of its own.
    ///
    /// # Errors
    ///
    /// [`Error::File`] where the system says no, as for a file of several arrays that comes from a pipe;
    /// [`Error::NotNpy`], [`Error::NotNpz`], [`Error::NotSafetensors`], [`Error::NotGguf`] for a foreign or damaged file;
    /// [`Error::Pickle`]; [`Error::GitLfsPointer`]; [`Error::Truncated`]; [`Error::NoArray`] if no array has the name or
    /// matches the pattern, and the [`fault`](Tensor::fault) of an array that was named and cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let (path, name) = split(path.as_ref(), is_file);
        Self::open_named(&path, name)
    }

    /// The file itself, or of that the array `NAME`.
    fn open_named(path: &Path, name: Option<String>) -> Result<Self, Error> {
        let path: Arc<Path> = path.into();
        let mut file = Cursor::open(&path).map_err(|source| at(&path, source))?;
        let mut start = Vec::new();
        read_upto(&mut file, &mut start, npy::START).map_err(|source| at(&path, source))?;
        if let Some(pointer) = lfs::pointer(&path, &mut start, &mut file)? {
            return Err(pointer);
        }
        let format = Format::of(&start, &path);
        if format == Format::Npy && pickle::is_pickle(&start) {
            return Err(pickle::refused(&path));
        }
        if format != Format::Npy && file.len().is_none() {
            let reason = format!("a .{format} file is read from several places, and this is no regular file");
            return Err(at(&path, io::Error::new(io::ErrorKind::NotSeekable, reason)));
        }
        let (tensors, metadata) = match format {
            Format::Npy => {
                let found = file.len();
                let (layout, before) = npy::layout(&path, start, &mut file, found)?;
                let tensor = Tensor::new(&path, None, layout, Ok(Place::Plain(file.at(before))));
                (vec![tensor], Metadata::new())
            }
            Format::Npz => (npz::tensors(&path, &file)?, Metadata::new()),
            Format::Safetensors => safetensors::tensors(&path, &file)?,
            Format::Gguf => gguf::tensors(&path, &file)?,
        };
        file.rest();
        let mut opened = Self {
            places: Arc::default(),
            path,
            format,
            tensors,
            metadata: metadata.into(),
        };
        opened.retain(|_| true);
        if let Some(name) = name {
            let exact = opened.find(&name).is_some();
            if exact {
                opened.tensor(&name)?;
            }
            let selection = Selection::new(&name, exact);
            if !opened.tensors.iter().any(|tensor| selection.has(tensor)) {
                return Err(no_array(&opened.path, name, names(&opened.tensors)));
            }
            opened.retain(|tensor| selection.has(tensor));
        }
        Ok(opened)
    }

    /// Keeps some of its arrays.
    fn retain(&mut self, keep: impl FnMut(&Tensor) -> bool) {
        self.tensors.retain(keep);
        let names = self.tensors.iter().enumerate();
        self.places = Arc::new(
            names
                .filter_map(|(at, tensor)| Some((tensor.shared_name()?, at)))
                .collect(),
        );
    }

    /// The array called `name`, or the one of a file called so.
    fn find(&self, name: &str) -> Option<&Tensor> {
        match self.places.get(name) {
            Some(at) => Some(&self.tensors[*at]),
            None => self.tensors.iter().take(1).find(|tensor| tensor.is_called(name)),
        }
    }

    /// The file, without the name of an array.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Its arrays in the order of the file, or those that were asked for. No two have the same name.
    #[must_use]
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// What the file says of itself, in its order: the strings of a `.safetensors` file's `__metadata__`, or the keys and
    /// values of a `.gguf` file. Of those, numbers are written as text, and arrays as a summary. Empty for other formats.
    #[must_use]
    pub fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// The array called `name`.
    ///
    /// # Errors
    ///
    /// [`Error::NoArray`], with the names there are; its [`fault`](Tensor::fault), if it has one.
    pub fn tensor(&self, name: &str) -> Result<&Tensor, Error> {
        let found = self.places.get(name).map(|at| &self.tensors[*at]);
        let tensor = found.ok_or_else(|| no_array(&self.path, name.to_owned(), names(&self.tensors)))?;
        tensor.fault().map_or(Ok(tensor), Err)
    }

    /// The array, if it is the only one.
    ///
    /// # Errors
    ///
    /// [`Error::NotOneArray`], with the names there are; its [`fault`](Tensor::fault), if it has one.
    pub fn one(mut self) -> Result<Tensor, Error> {
        match (self.tensors.pop(), self.tensors.is_empty()) {
            (Some(tensor), true) => tensor.fault().map_or(Ok(tensor), Err),
            (last, _) => {
                self.tensors.extend(last);
                Err(Error::NotOneArray {
                    path: self.path.to_path_buf(),
                    names: names(&self.tensors),
                })
            }
        }
    }
}

/// The file and the name in `FILE:NAME`, a file being what `is` says. Where none is found, the path as it is, for the error
/// to name.
fn split(path: &Path, is: fn(&Path) -> bool) -> (PathBuf, Option<String>) {
    if let Some(text) = path.to_str()
        && !is(path)
    {
        for (colon, _) in text.rmatch_indices(':') {
            let file = Path::new(&text[..colon]);
            if is(file) {
                return (file.to_path_buf(), Some(text[colon + 1..].to_owned()));
            }
        }
    }
    (path.to_path_buf(), None)
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_dir())
}

/// The arrays that a name picks: the one of that name, or those that match it as a pattern.
struct Selection<'a> {
    name: &'a str,
    /// None where the name is that of an array, or no pattern.
    pattern: Option<glob::Pattern>,
}

impl<'a> Selection<'a> {
    fn new(name: &'a str, exact: bool) -> Self {
        let pattern = if exact { None } else { glob::Pattern::new(name).ok() };
        Self { name, pattern }
    }

    fn has(&self, tensor: &Tensor) -> bool {
        match &self.pattern {
            Some(pattern) => tensor.called().is_some_and(|name| pattern.matches(name)),
            None => tensor.is_called(self.name),
        }
    }
}

fn no_array(path: &Path, name: String, names: Vec<String>) -> Error {
    Error::NoArray {
        path: path.to_path_buf(),
        name,
        names,
    }
}

fn names(tensors: &[Tensor]) -> Vec<String> {
    let names = tensors.iter().filter_map(Tensor::name);
    names.map(str::to_owned).collect()
}

/// Reads on until there are `end` bytes, or the file ends.
fn read_upto(file: &mut dyn Read, bytes: &mut Vec<u8>, end: usize) -> io::Result<()> {
    let missing = end.saturating_sub(bytes.len());
    file.take(missing as u64).read_to_end(bytes).map(|_| ())
}

fn at(path: &Path, source: io::Error) -> Error {
    Error::File {
        path: path.to_path_buf(),
        source,
    }
}
