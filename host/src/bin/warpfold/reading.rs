//! How arrays are opened and read, whatever their elements.

use std::{
    io,
    path::{Path, PathBuf},
};

use warpfold::{
    Error,
    files::{self, Tensor, TensorFile},
    layout::Layout,
};

use crate::{Failure, progress::Progress};

/// The one array of a file, FILE or FILE:NAME, and the file without the name.
pub fn open(file: &Path) -> Result<(PathBuf, Tensor), Failure> {
    let file = TensorFile::open(file)?;
    let path = file.path().to_path_buf();
    Ok((path, file.one()?))
}

/// All elements in C order.
pub fn in_order<T: files::Element>(array: &Tensor) -> Result<Vec<T>, Failure> {
    array.read::<T>().map_err(|error| with_bytes(array, error))
}

/// All elements as they lie in the file, and where each lies.
pub fn in_place<T: files::Element>(array: &Tensor) -> Result<(Vec<T>, Layout), Failure> {
    array.read_in_place::<T>().map_err(|error| with_bytes(array, error))
}

/// Gives `fold` the whole array in C order, a piece of `len` elements at a time.
pub fn each_piece<T: files::Element>(
    array: &Tensor,
    len: usize,
    fold: &mut dyn FnMut(&[T]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut progress = Progress::of_bytes(array.bytes());
    for piece in array.stream::<T>(len)? {
        let piece = piece.map_err(|error| with_bytes(array, error))?;
        fold(&piece)?;
        progress.advance(size_of_val(&*piece) as u64);
    }
    assert_eq!(
        progress.done(),
        array.bytes(),
        "the reader ended early without saying why"
    );
    Ok(())
}

/// Where memory ran out, how much an array takes.
fn with_bytes(array: &Tensor, error: Error) -> Failure {
    match error {
        Error::File { path, source } if source.kind() == io::ErrorKind::OutOfMemory => {
            let bytes = array.bytes();
            format!("{}: {source} for the {bytes} bytes of the array", path.display()).into()
        }
        error => error.into(),
    }
}
