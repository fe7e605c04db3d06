//! How arrays of files are read as elements to fold: as what they are, or as wider ones, and in pieces that all threads read.
//!
//! ```
//! use warpfold::{Error, cpu, files::{TensorFile, reading}, ops::{AnyOp, Sum}, pieces::Pieces};
//!
//! let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/michelson_1879.npy");
//! let array = TensorFile::open(path)?.one()?;
//! // float32, read and summed as float64.
//! let len = reading::cpu_piece(&AnyOp::of::<f64, Sum>(Sum));
//! let mut pieces = Pieces::<_, f64>::new(Sum, len as u64)?;
//! let state = |_, piece: &[f64]| Ok::<_, Error>(cpu::fold(Sum, piece));
//! reading::map_pieces(&array, len, &state, &mut |state, len| pieces.push(state, len))?;
//! assert_eq!(pieces.finish()?.0, cpu::reduce(Sum, &reading::in_order::<f64>(&array)?)?);
//! # Ok::<(), Error>(())
//! ```

use std::{borrow::Cow, io};

use bytemuck::NoUninit;

use super::{DType, Tensor, bf16, complex64, complex128, f8e4m3, f8e5m2, f16};
use crate::{
    Error,
    layout::Layout,
    ops::{
        AnyOp,
        element::{self, Real},
    },
    room::room,
};

/// What the elements of a file are read as: as what they are, or floats as wider ones, exactly.
pub trait Read: super::Element {
    /// The number, of a type that others are read as: narrower floats, and of float64 integers.
    const OF_NARROWER: Option<fn(f64) -> Self> = None;
}

impl Read for f32 {
    const OF_NARROWER: Option<fn(f64) -> Self> = Some(|number| number as Self);
}

impl Read for f64 {
    const OF_NARROWER: Option<fn(f64) -> Self> = Some(|number| number);
}

macro_rules! read_as_they_are {
    ($($element:ty)*) => {
        $(impl Read for $element {})*
    };
}

read_as_they_are!(u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f8e4m3 f8e5m2 complex64 complex128);

/// Elements that are folded.
pub trait FoldElement: element::Element + NoUninit {
    /// What a file's elements are read as.
    type Read: Read;

    /// The elements that were read.
    ///
    /// # Errors
    ///
    /// [`Error::LengthOverflow`] where there is no memory for what they are turned into.
    fn of(read: &[Self::Read]) -> Result<Cow<'_, [Self]>, Error>;
}

macro_rules! folded_as_they_are {
    ($($element:ty)*) => {
        $(impl FoldElement for $element {
            type Read = Self;
            fn of(read: &[Self]) -> Result<Cow<'_, [Self]>, Error> {
                Ok(read.into())
            }
        })*
    };
}

folded_as_they_are!(u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64 f8e4m3 f8e5m2 complex64 complex128);

impl FoldElement for bool {
    type Read = u8;
    fn of(read: &[u8]) -> Result<Cow<'_, [Self]>, Error> {
        let mut truths = room(read.len() as u64)?;
        truths.extend(read.iter().map(|byte| *byte != 0));
        Ok(truths.into())
    }
}

/// Calls a function of what the elements of `array` are, where they are others than `T`'s, with how one is widened.
macro_rules! widened {
    ($array:expr, $wide:ty, $call:ident($($argument:expr),*)) => {
        match (<$wide>::OF_NARROWER, $array.dtype().decoded()) {
            _ if <$wide>::reads($array.dtype()) => None,
            (Some(of), DType::F16) => Some($call::<f16, $wide, _>($array, of, $($argument),*)),
            (Some(of), DType::Bf16) => Some($call::<bf16, $wide, _>($array, of, $($argument),*)),
            (Some(of), DType::F32) => Some($call::<f32, $wide, _>($array, of, $($argument),*)),
            (Some(of), DType::F8E4M3) => Some($call::<f8e4m3, $wide, _>($array, of, $($argument),*)),
            (Some(of), DType::F8E5M2) => Some($call::<f8e5m2, $wide, _>($array, of, $($argument),*)),
            (Some(of), DType::U8) if const { is_double::<$wide>() } => Some($call::<u8, $wide, _>($array, of, $($argument),*)),
            (Some(of), DType::U16) if const { is_double::<$wide>() } => Some($call::<u16, $wide, _>($array, of, $($argument),*)),
            (Some(of), DType::U32) if const { is_double::<$wide>() } => Some($call::<u32, $wide, _>($array, of, $($argument),*)),
            (Some(of), DType::U64) if const { is_double::<$wide>() } => Some($call::<u64, $wide, _>($array, of, $($argument),*)),
            (Some(of), DType::I8) if const { is_double::<$wide>() } => Some($call::<i8, $wide, _>($array, of, $($argument),*)),
            (Some(of), DType::I16) if const { is_double::<$wide>() } => Some($call::<i16, $wide, _>($array, of, $($argument),*)),
            (Some(of), DType::I32) if const { is_double::<$wide>() } => Some($call::<i32, $wide, _>($array, of, $($argument),*)),
            (Some(of), DType::I64) if const { is_double::<$wide>() } => Some($call::<i64, $wide, _>($array, of, $($argument),*)),
            _ => None,
        }
    };
}

/// Whether it is float64, which every integer is cast to.
const fn is_double<T: super::Element>() -> bool {
    matches!(T::DTYPE, DType::F64)
}

/// All elements in C order.
///
/// # Errors
///
/// Those of [`Tensor::read`].
pub fn in_order<T: Read>(array: &Tensor) -> Result<Vec<T>, Error> {
    fn widen<N: super::Element + Real, T: Read, E: From<Error>>(array: &Tensor, of: fn(f64) -> T) -> Result<Vec<T>, E> {
        let narrow = array.read::<N>().map_err(|error| with_bytes(array, error))?;
        Ok(widened(&narrow, of)?)
    }
    match widened!(array, T, widen()) {
        Some(read) => read,
        None => array.read::<T>().map_err(|error| with_bytes(array, error)),
    }
}

/// All elements as they lie in the file, and where each lies.
///
/// # Errors
///
/// Those of [`Tensor::read_in_place`].
pub fn in_place<T: Read>(array: &Tensor) -> Result<(Vec<T>, Layout), Error> {
    fn widen<N: super::Element + Real, T: Read, E: From<Error>>(
        array: &Tensor,
        of: fn(f64) -> T,
    ) -> Result<(Vec<T>, Layout), E> {
        let (narrow, layout) = array.read_in_place::<N>().map_err(|error| with_bytes(array, error))?;
        Ok((widened(&narrow, of)?, layout))
    }
    match widened!(array, T, widen()) {
        Some(read) => read,
        None => array.read_in_place::<T>().map_err(|error| with_bytes(array, error)),
    }
}

/// Gives `fold` the whole array in C order, a piece of `len` elements at a time.
///
/// # Errors
///
/// Those of [`Tensor::stream`]; that of `fold`.
///
/// # Panics
///
/// If `len` is 0.
pub fn each_piece<T: Read, E: From<Error>>(
    array: &Tensor,
    len: usize,
    fold: &mut dyn FnMut(&[T]) -> Result<(), E>,
) -> Result<(), E> {
    fn widen<N: super::Element + Real, T: Read, E: From<Error>>(
        array: &Tensor,
        of: fn(f64) -> T,
        len: usize,
        fold: &mut dyn FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        each_own_piece::<N, E>(array, len, &mut |narrow| fold(&widened(narrow, of)?))
    }
    match widened!(array, T, widen(len, fold)) {
        Some(folded) => folded,
        None => each_own_piece(array, len, fold),
    }
}

/// Floats as wider ones.
fn widened<N: Real, T>(narrow: &[N], of: fn(f64) -> T) -> Result<Vec<T>, Error> {
    let mut wide = room(narrow.len() as u64)?;
    wide.extend(narrow.iter().map(|number| of(number.to_f64())));
    Ok(wide)
}

/// The same of elements as they are.
fn each_own_piece<T: super::Element, E: From<Error>>(
    array: &Tensor,
    len: usize,
    fold: &mut dyn FnMut(&[T]) -> Result<(), E>,
) -> Result<(), E> {
    let mut done = 0;
    for piece in array.stream::<T>(len)? {
        let piece = piece.map_err(|error| with_bytes(array, error))?;
        fold(&piece)?;
        done += piece.len() as u64;
    }
    assert_eq!(done, array.len(), "the reader ended early without saying why");
    Ok(())
}

/// Elements from number `first` on, in C order, as many as fill `values`: of a tensor that [reads at](Tensor::is_seekable) any of them.
///
/// # Errors
///
/// Those of [`Tensor::read_at`].
pub fn part<T: Read>(array: &Tensor, first: u64, values: &mut [T]) -> Result<(), Error> {
    fn widen<N: super::Element + Real, T: Read, E: From<Error>>(
        array: &Tensor,
        of: fn(f64) -> T,
        first: u64,
        values: &mut [T],
    ) -> Result<(), E> {
        let mut narrow = room(values.len() as u64)?;
        narrow.resize(values.len(), N::zeroed());
        array.read_at::<N>(first, &mut narrow)?;
        for (value, number) in values.iter_mut().zip(narrow) {
            *value = of(number.to_f64());
        }
        Ok(())
    }
    match widened!(array, T, widen(first, values)) {
        Some(read) => read,
        None => array.read_at::<T>(first, values),
    }
}

/// Bytes of a piece that a thread of the CPU reads and folds: it stays in the cache.
const CPU_PIECE: usize = 1 << 18;

/// Elements of such a piece: a subtree of the operator's canonical tree.
#[must_use]
pub fn cpu_piece(op: &AnyOp) -> usize {
    (op.leaf_elements() as usize) << (CPU_PIECE / op.leaf_bytes()).max(1).ilog2()
}

/// What becomes of a piece, whose first element has that number.
pub type MapPiece<'a, T, R, E> = &'a (dyn Fn(u64, &[T]) -> Result<R, E> + Sync);

/// Pieces that a thread reads one after the other, into one buffer.
const PIECES_AT_ONCE: u64 = 8;

/// Answers `map` of each piece of `len` elements of a tensor that reads at any of them, on all threads, and gives them to `take` in
/// order, with the number of the piece's elements.
///
/// # Errors
///
/// Those of [`part`]; those of `map` and `take`.
///
/// # Panics
///
/// If `len` is 0.
pub fn map_pieces<T: Read, R: Send, E: From<Error> + Send>(
    array: &Tensor,
    len: usize,
    map: MapPiece<'_, T, R, E>,
    take: &mut dyn FnMut(R, u64) -> Result<(), E>,
) -> Result<(), E> {
    let (all, piece) = (array.len(), len as u64);
    let run = piece * PIECES_AT_ONCE;
    let of_run = |number: u64| -> Result<Vec<(R, u64)>, E> {
        let (first, end) = (number * run, (number * run + run).min(all));
        let most = piece.min(end - first) as usize;
        let mut buffer = room(most as u64)?;
        buffer.resize(most, T::zeroed());
        let mut answers = Vec::with_capacity(PIECES_AT_ONCE as usize);
        for first in (first..end).step_by(len) {
            let values = &mut buffer[..piece.min(end - first) as usize];
            part(array, first, values)?;
            answers.push((map(first, values)?, values.len() as u64));
        }
        Ok(answers)
    };
    super::in_order(all.div_ceil(run), u64::MAX, &of_run, &mut |answers| {
        answers.into_iter().try_for_each(|(answer, len)| take(answer, len))
    })
}

/// Bytes that the file has of so many elements of an array, about: what a progress bar counts.
#[must_use]
pub fn stored_bytes(array: &Tensor, elements: u64) -> u64 {
    (u128::from(elements) * u128::from(array.bytes()) / u128::from(array.len().max(1))) as u64
}

/// That there is no memory for an array.
#[must_use]
pub fn no_memory(array: &Tensor) -> Error {
    with_bytes(array, array.at(io::ErrorKind::OutOfMemory.into()))
}

/// Where memory ran out, how much an array takes.
fn with_bytes(array: &Tensor, error: Error) -> Error {
    match error {
        Error::File { path, source } if source.kind() == io::ErrorKind::OutOfMemory => {
            let text = format!("{source} for the {} bytes of the array", array.decoded_bytes());
            let source = io::Error::new(io::ErrorKind::OutOfMemory, text);
            Error::File { path, source }
        }
        error => error,
    }
}
