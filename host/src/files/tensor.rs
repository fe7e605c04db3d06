//! One array of a file.

use std::{
    borrow::Cow,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use zip::{ZipArchive, result::ZipError};

use super::{
    AlignedBytes, DType, Element, Stream,
    cursor::Cursor,
    elements::Elements,
    fault::{Fault, label},
    gguf::blocks::Blocks,
    member::Member,
    order,
};
use crate::{Error, cpu::pool, layout};

/// Bytes of a file that a thread reads at once.
const TASK: usize = 1 << 20;

/// An array of an open file: what is known of it, and ways to read its elements. They come in C order (the last index is
/// the fastest, as NumPy numbers them for argmax) and in the machine's order of bytes, whatever the file's.
///
/// Cloning it opens nothing and reads nothing. Each reading starts anew, but for what comes from a pipe: that can be read
/// once.
#[derive(Clone, Debug)]
pub struct Tensor {
    path: Arc<Path>,
    name: Option<Arc<str>>,
    layout: Layout,
    place: Result<Place, Fault>,
}

/// What a header says of an array.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub dtype: DType,
    pub dtype_name: Cow<'static, str>,
    pub shape: Vec<u64>,
    pub len: u64,
    pub bytes: u64,
    /// The words are of the other order of bytes than the machine's.
    pub swap: bool,
    /// The first index is the fastest, and the order differs from C's.
    pub transposed: bool,
}

/// Where the elements are.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// As they are, from here on.
    Plain(Cursor),
    /// In quantised blocks, from here on.
    Blocks(Cursor, Blocks),
    /// In a member of an archive, which is in `file`, behind so many bytes.
    Member {
        archive: ZipArchive<Cursor>,
        file: Cursor,
        index: usize,
        before: u64,
    },
}

impl Tensor {
    pub(super) fn new(path: &Arc<Path>, name: Option<String>, layout: Layout, place: Result<Place, Fault>) -> Self {
        Self {
            path: Arc::clone(path),
            name: name.map(Arc::from),
            layout,
            place,
        }
    }

    /// One of `bytes` that nothing else is known of.
    pub(super) fn unknown(path: &Arc<Path>, name: String, bytes: u64, fault: Fault) -> Self {
        let layout = Layout {
            dtype: DType::Other,
            dtype_name: Cow::Borrowed("unreadable"),
            shape: Vec::new(),
            len: 0,
            bytes,
            swap: false,
            transposed: false,
        };
        Self::new(path, Some(name), layout, Err(fault))
    }

    /// Why it cannot be read, if that was found when the file was opened: the file's other arrays can be. What it is may
    /// be unknown then: it is of [`DType::Other`], its shape is empty, and it has no elements. Whatever reads it answers
    /// this error.
    #[must_use]
    pub fn fault(&self) -> Option<Error> {
        self.place().err()
    }

    fn place(&self) -> Result<&Place, Error> {
        self.place
            .as_ref()
            .map_err(|fault| fault.error(&self.path, self.name()))
    }

    /// The file that it is in.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.path
    }

    /// Its name in the file. None for the array of a `.npy` file.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Its name; without one, that of its file.
    #[must_use]
    pub fn called(&self) -> Option<&str> {
        self.name().or_else(|| self.path.file_name()?.to_str())
    }

    pub(super) fn is_called(&self, name: &str) -> bool {
        self.called() == Some(name)
    }

    pub(super) fn shared_name(&self) -> Option<Arc<str>> {
        self.name.clone()
    }

    /// What to call it, and what [`TensorFile::open`](super::TensorFile::open) takes: `FILE`, or `FILE:NAME`.
    #[must_use]
    pub fn label(&self) -> PathBuf {
        label(&self.path, self.name())
    }

    /// The type of its elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.layout.dtype
    }

    /// NumPy's name of that type; for [`DType::Quantised`], the name of the blocks; for [`DType::Other`], what the file says.
    #[must_use]
    pub fn dtype_name(&self) -> &str {
        &self.layout.dtype_name
    }

    /// The same bytes as elements of another type: of raw ones, such as the `|V2` that NumPy writes for bfloat16. None where they are of
    /// another size, or no raw bytes.
    #[must_use]
    pub fn raw_as(&self, dtype: DType) -> Option<Self> {
        let is_raw =
            self.dtype() == DType::Other && self.dtype_name().trim_start_matches(['|', '<', '>']).starts_with('V');
        let size = dtype.bytes().filter(|_| is_raw)? as u64;
        (self.len().checked_mul(size) == Some(self.bytes())).then(|| {
            let mut tensor = self.clone();
            tensor.layout.dtype = dtype;
            tensor.layout.dtype_name = Cow::Borrowed(dtype.name());
            tensor
        })
    }

    /// The extents, slowest index first. None for a scalar.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.layout.shape
    }

    /// How many elements.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.layout.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.layout.len == 0
    }

    /// Bytes of all elements, uncompressed; of quantised blocks, as they are stored.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.layout.bytes
    }

    /// All elements.
    ///
    /// Memory: the array; twice that for a Fortran-order array of more than one dimension. Cost: the array read once.
    ///
    /// # Errors
    ///
    /// [`Error::WrongDtype`] if the elements cannot be read as `T`; that of its [`fault`](Self::fault), if it has one;
    /// [`Error::Truncated`] where the file, or what comes from a pipe, ends too early; [`Error::File`], also where memory
    /// runs out or compressed data is damaged; [`Error::LengthOverflow`] where the address space is too small.
    pub fn read<T: Element>(&self) -> Result<Vec<T>, Error> {
        let mut values = self.room()?;
        self.fill(bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    /// Where each element lies among those of the file: in Fortran order, if the file has that.
    ///
    /// # Errors
    ///
    /// That of its [`fault`](Self::fault), if it has one.
    pub fn layout(&self) -> Result<layout::Layout, Error> {
        self.place()?;
        match self.transposed() {
            true => layout::Layout::fortran_order(self.shape()),
            false => layout::Layout::c_order(self.shape()),
        }
    }

    /// All elements in the order in which the file has them, and where each lies: in Fortran order, if the file does.
    ///
    /// Memory: the array, whatever its order. Cost: the array read once.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read).
    pub fn read_in_place<T: Element>(&self) -> Result<(Vec<T>, layout::Layout), Error> {
        let layout = self.layout()?;
        let mut values = self.room::<T>()?;
        self.fill_in_place(bytemuck::cast_slice_mut(&mut values))?;
        Ok((values, layout))
    }

    /// The bytes of all elements, whatever their type, at an address that is a multiple of 16.
    ///
    /// Memory and cost: those of [`read`](Self::read).
    ///
    /// # Errors
    ///
    /// [`Error::Dtype`] if an element is no whole number of bytes, [`DType::Quantised`] or [`DType::Other`]; otherwise those of
    /// [`read`](Self::read).
    pub fn read_bytes(&self) -> Result<AlignedBytes, Error> {
        self.element_bytes()?;
        let mut bytes = AlignedBytes::default();
        self.resize(&mut bytes, self.fitting(self.bytes())?)?;
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// All elements in pieces of `piece`, the last one shorter. A thread of its own reads ahead by two pieces. The calling
    /// thread reads an array of one piece of at most 256 KiB, and all arrays where the system starts no thread: each piece when it is asked for.
    ///
    /// Memory: three pieces and those that the caller keeps; for a Fortran-order array of more than one dimension, twice
    /// the array besides, for it can only be put in order as a whole. A deflated member is inflated as it is read.
    ///
    /// The pieces end after the first error: those of [`read`](Self::read). The checksum of a `.npz` file's member is
    /// known when all of it was read: one that differs is an error behind the last piece.
    ///
    /// # Errors
    ///
    /// [`Error::WrongDtype`] if the elements cannot be read as `T`.
    ///
    /// # Panics
    ///
    /// If `piece` is 0.
    pub fn stream<T: Element>(&self, piece: usize) -> Result<Stream<T>, Error> {
        self.check::<T>()?;
        Stream::start(self, piece, size_of::<T>())
    }

    /// The bytes of all elements in pieces of `piece` elements: as [`stream`](Self::stream), whatever the type. Each
    /// piece is at an address that is a multiple of 16.
    ///
    /// # Errors
    ///
    /// [`Error::Dtype`] if an element is no whole number of bytes, [`DType::Quantised`] or [`DType::Other`].
    ///
    /// # Panics
    ///
    /// If `piece` is 0.
    pub fn stream_bytes(&self, piece: usize) -> Result<Stream<u8>, Error> {
        Stream::start(self, piece, self.element_bytes()?)
    }

    /// Whether [`read_at`](Self::read_at) reads any of its elements: they are stored in a regular file in C order, plainly or
    /// in quantised blocks. Those of a `.npz` file, of a pipe and of Fortran order can only be read from the first on.
    #[must_use]
    pub fn is_seekable(&self) -> bool {
        self.seekable(0).is_ok()
    }

    /// Fills `values` with the elements from number `first` on, in C order. Several threads may read one tensor at once.
    ///
    /// Memory: none; of quantised blocks, 64 KiB. Cost: one positioned read of those elements; beyond the first 64 open files,
    /// opening the file too.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if the tensor has fewer elements; [`Error::WrongDtype`] if they cannot be read as `T`; that
    /// of its [`fault`](Self::fault), if it has one; [`Error::Truncated`] where the file has shrunk since it was opened;
    /// [`Error::File`] where the system says no, the file was found to be replaced, or the tensor is not
    /// [seekable](Self::is_seekable). `values` hold anything then.
    pub fn read_at<T: Element>(&self, first: u64, values: &mut [T]) -> Result<(), Error> {
        self.check::<T>()?;
        if first
            .checked_add(values.len() as u64)
            .is_none_or(|end| end > self.len())
        {
            let lowest = i128::from(first);
            return Err(Error::OutOfBounds {
                lowest,
                highest: lowest + values.len() as i128 - 1,
                len: self.len(),
            });
        }
        self.seekable(first)?.fill(bytemuck::cast_slice_mut(values))
    }

    /// The elements from number `first` on, if they can be read without those before them.
    fn seekable(&self, first: u64) -> Result<Elements, Error> {
        match self.place()? {
            Place::Plain(cursor) if cursor.len().is_some() && !self.transposed() => {
                let from = first * self.element_bytes()? as u64;
                Ok(Elements::plain(self, cursor, from))
            }
            Place::Blocks(cursor, blocks) => Elements::blocks(self, cursor, *blocks, first),
            _ => {
                let reason = "its elements can only be read from the first on";
                Err(self.at(io::Error::new(io::ErrorKind::NotSeekable, reason)))
            }
        }
    }

    /// Zeros, as many as there are elements.
    fn room<T: Element>(&self) -> Result<Vec<T>, Error> {
        self.check::<T>()?;
        let len = self.fitting(self.len())?;
        // Memory that the system hands out as zeros is touched by the threads that read into it.
        bytemuck::allocation::try_zeroed_vec(len).map_err(|()| self.out_of_memory())
    }

    fn check<T: Element>(&self) -> Result<(), Error> {
        self.place()?;
        if T::reads(self.dtype()) {
            return Ok(());
        }
        Err(Error::WrongDtype {
            path: self.label(),
            dtype: self.dtype_name().to_owned(),
            wanted: T::DTYPE.name(),
        })
    }

    fn element_bytes(&self) -> Result<usize, Error> {
        self.place()?;
        self.dtype().bytes().ok_or_else(|| Error::Dtype {
            path: self.label(),
            dtype: self.dtype_name().to_owned(),
        })
    }

    /// A number of elements or bytes as one of the address space.
    pub(super) fn fitting(&self, number: u64) -> Result<usize, Error> {
        usize::try_from(number).map_err(|_| Error::LengthOverflow {
            elements: self.len(),
            element_bytes: self.dtype().bytes().unwrap_or(1),
        })
    }

    pub(super) fn resize(&self, bytes: &mut AlignedBytes, len: usize) -> Result<(), Error> {
        bytes.resize(len).map_err(|_| self.out_of_memory())
    }

    fn out_of_memory(&self) -> Error {
        self.at(io::ErrorKind::OutOfMemory.into())
    }

    pub(super) fn at(&self, source: io::Error) -> Error {
        super::at(&self.label(), source)
    }

    /// Bytes of all elements as they are read: 4 for each f32 of quantised blocks, otherwise [`bytes`](Self::bytes).
    #[must_use]
    pub fn decoded_bytes(&self) -> u64 {
        match self.dtype() {
            DType::Quantised => self.len() * size_of::<f32>() as u64,
            _ => self.bytes(),
        }
    }

    pub(super) fn transposed(&self) -> bool {
        self.layout.transposed
    }

    /// What the order of bytes is about, where that is not the machine's: so many bytes.
    pub(super) fn swapped(&self) -> Option<usize> {
        self.layout.swap.then(|| self.dtype().word())
    }

    /// Fills `bytes` with all elements in C order.
    pub(super) fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        if !self.transposed() {
            return self.fill_in_place(bytes);
        }
        let mut in_place = AlignedBytes::default();
        self.resize(&mut in_place, bytes.len())?;
        self.fill_in_place(&mut in_place)?;
        order::to_c(&in_place, self.shape(), self.element_bytes()?, bytes);
        Ok(())
    }

    /// Fills `bytes` with all elements in the order of the file: a regular file is read by all threads of the CPU backend.
    fn fill_in_place(&self, bytes: &mut [u8]) -> Result<(), Error> {
        let Place::Plain(cursor) = self.place()? else {
            return self.fill_on_one_thread(bytes);
        };
        if cursor.len().is_none() || bytes.len() <= TASK {
            return self.fill_on_one_thread(bytes);
        }
        let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        pool::runs(bytes, TASK, 1, &|task, run| {
            let read = Elements::plain(self, cursor, (task * TASK) as u64).fill(run);
            if let Err(error) = read {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.as_ref().is_none_or(|(first, _)| task < *first) {
                    *failed = Some((task, error));
                }
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    fn fill_on_one_thread(&self, bytes: &mut [u8]) -> Result<(), Error> {
        let mut elements = self.elements()?;
        elements.fill(bytes)?;
        elements.finish()
    }

    /// The elements, from the first on.
    pub(super) fn elements(&self) -> Result<Elements, Error> {
        match self.place()? {
            Place::Plain(cursor) => Ok(Elements::plain(self, cursor, 0)),
            Place::Blocks(cursor, blocks) => Elements::blocks(self, cursor, *blocks, 0),
            Place::Member {
                archive,
                file,
                index,
                before,
            } => {
                let failed = |error: ZipError| Elements::failed(self, &mut file.clone(), error.into(), *before, 0);
                let member = Member::open(&mut archive.clone(), file, *index).map_err(failed)?;
                Elements::member(self, member, file.clone(), *before)
            }
        }
    }
}
