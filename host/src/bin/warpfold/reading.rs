//! How arrays are opened and read, whatever their elements.

use std::{
    io,
    path::{Path, PathBuf},
};

use warpfold::{
    Error,
    files::{self, DType, Tensor, TensorFile, bf16, complex64, complex128, f8e4m3, f8e5m2, f16},
    layout::Layout,
    ops::element::Real,
};

use crate::{Failure, progress::Progress, room::room};

/// What the elements of a file are read as: as what they are, or floats as wider ones, exactly.
pub trait Read: files::Element {
    /// The number, of a type that others are read as.
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

/// Calls a function of what the elements of `array` are, where they are narrower floats than `T`, with how one is widened.
macro_rules! widened {
    ($array:expr, $wide:ty, $call:ident($($argument:expr),*)) => {
        match (<$wide>::OF_NARROWER, $array.dtype().decoded()) {
            _ if <$wide>::reads($array.dtype()) => None,
            (Some(of), DType::F16) => Some($call::<f16, $wide>($array, of, $($argument),*)),
            (Some(of), DType::Bf16) => Some($call::<bf16, $wide>($array, of, $($argument),*)),
            (Some(of), DType::F32) => Some($call::<f32, $wide>($array, of, $($argument),*)),
            (Some(of), DType::F8E4M3) => Some($call::<f8e4m3, $wide>($array, of, $($argument),*)),
            (Some(of), DType::F8E5M2) => Some($call::<f8e5m2, $wide>($array, of, $($argument),*)),
            _ => None,
        }
    };
}

/// The one array of a file, FILE or FILE:NAME, and the file without the name.
pub fn open(file: &Path) -> Result<(PathBuf, Tensor), Failure> {
    let file = TensorFile::open(file)?;
    let path = file.path().to_path_buf();
    Ok((path, file.one()?))
}

/// All elements in C order.
pub fn in_order<T: Read>(array: &Tensor) -> Result<Vec<T>, Failure> {
    fn widen<N: files::Element + Real, T: Read>(array: &Tensor, of: fn(f64) -> T) -> Result<Vec<T>, Failure> {
        widened(&array.read::<N>().map_err(|error| with_bytes(array, error))?, of)
    }
    match widened!(array, T, widen()) {
        Some(read) => read,
        None => array.read::<T>().map_err(|error| with_bytes(array, error)),
    }
}

/// All elements as they lie in the file, and where each lies.
pub fn in_place<T: Read>(array: &Tensor) -> Result<(Vec<T>, Layout), Failure> {
    fn widen<N: files::Element + Real, T: Read>(array: &Tensor, of: fn(f64) -> T) -> Result<(Vec<T>, Layout), Failure> {
        let (narrow, layout) = array.read_in_place::<N>().map_err(|error| with_bytes(array, error))?;
        Ok((widened(&narrow, of)?, layout))
    }
    match widened!(array, T, widen()) {
        Some(read) => read,
        None => array.read_in_place::<T>().map_err(|error| with_bytes(array, error)),
    }
}

/// Gives `fold` the whole array in C order, a piece of `len` elements at a time.
pub fn each_piece<T: Read>(
    array: &Tensor,
    len: usize,
    fold: &mut dyn FnMut(&[T]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    fn widen<N: files::Element + Real, T: Read>(
        array: &Tensor,
        of: fn(f64) -> T,
        len: usize,
        fold: &mut dyn FnMut(&[T]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        each_own_piece::<N>(array, len, &mut |narrow| fold(&widened(narrow, of)?))
    }
    match widened!(array, T, widen(len, fold)) {
        Some(folded) => folded,
        None => each_own_piece(array, len, fold),
    }
}

/// Floats as wider ones.
fn widened<N: Real, T>(narrow: &[N], of: fn(f64) -> T) -> Result<Vec<T>, Failure> {
    let mut wide = room(narrow.len() as u64)?;
    wide.extend(narrow.iter().map(|number| of(number.to_f64())));
    Ok(wide)
}

/// The same of elements as they are.
fn each_own_piece<T: files::Element>(
    array: &Tensor,
    len: usize,
    fold: &mut dyn FnMut(&[T]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut progress = Progress::of_bytes(array.decoded_bytes());
    for piece in array.stream::<T>(len)? {
        let piece = piece.map_err(|error| with_bytes(array, error))?;
        fold(&piece)?;
        progress.advance(size_of_val(&*piece) as u64);
    }
    assert_eq!(
        progress.done(),
        array.decoded_bytes(),
        "the reader ended early without saying why"
    );
    Ok(())
}

/// Where memory ran out, how much an array takes.
fn with_bytes(array: &Tensor, error: Error) -> Failure {
    match error {
        Error::File { path, source } if source.kind() == io::ErrorKind::OutOfMemory => {
            let bytes = array.decoded_bytes();
            format!("{}: {source} for the {bytes} bytes of the array", path.display()).into()
        }
        error => error.into(),
    }
}
