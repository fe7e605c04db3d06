//! How arrays are opened, and read with a progress bar.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use warpfold::files::{
    DType, Tensor, TensorFile,
    reading::{self, MapPiece, stored_bytes},
};

use crate::{Failure, progress::Progress};

pub use warpfold::files::reading::{FoldElement, Read, cpu_piece, in_order, in_place, no_memory, part};

/// What raw elements are read as, by `--as`.
static RAW: OnceLock<DType> = OnceLock::new();

/// Reads raw elements of its size as that type from now on.
pub fn read_raw_as(dtype: DType) {
    RAW.get_or_init(|| dtype);
}

/// The array, of the type of `--as` if its elements are raw and of that size.
pub fn typed(array: Tensor) -> Tensor {
    RAW.get().and_then(|dtype| array.raw_as(*dtype)).unwrap_or(array)
}

/// The one array of a file, FILE or FILE:NAME, and the file without the name.
pub fn open(file: &Path) -> Result<(PathBuf, Tensor), Failure> {
    let file = TensorFile::open(file)?;
    let path = file.path().to_path_buf();
    Ok((path, typed(file.one()?)))
}

/// Gives `fold` the whole array in C order, a piece of `len` elements at a time.
pub fn each_piece<T: Read>(
    array: &Tensor,
    len: usize,
    fold: &mut dyn FnMut(&[T]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut progress = Progress::of_bytes(array.bytes());
    reading::each_piece(array, len, &mut |values: &[T]| {
        fold(values)?;
        progress.advance(stored_bytes(array, values.len() as u64));
        Ok(())
    })
}

/// Answers `map` of each piece of `len` elements of a tensor that reads at any of them, on all threads, and gives them to `take` in order.
pub fn map_pieces<T: Read, R: Send>(
    array: &Tensor,
    len: usize,
    progress: &mut Progress,
    map: MapPiece<'_, T, R, Failure>,
    take: &mut dyn FnMut(R, u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    reading::map_pieces(array, len, map, &mut |answer, len| {
        take(answer, len)?;
        progress.advance(stored_bytes(array, len));
        Ok(())
    })
}
