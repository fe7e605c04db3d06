//! An array that is read beside the one that is folded: the mask of `--where`, and the second array of `--with`.

use std::path::{Path, PathBuf};

use warpfold::{
    Error,
    files::{self, DType, Tensor, TensorFile},
    layout::{Axes, Extents, Layout},
};

use crate::{Failure, Reduce};

/// An array that is broadcast to the shape of another.
pub struct Beside {
    pub tensor: Tensor,
    pub file: PathBuf,
    /// Its layout in the file, broadcast.
    pub layout: Layout,
}

impl Beside {
    /// The mask that a command line names, if it names one: of truths or bytes.
    pub fn mask(args: &Reduce, array: &Tensor) -> Result<Option<Self>, Failure> {
        let open = |file: &PathBuf| {
            let is_mask = |tensor: &Tensor| match tensor.dtype() {
                DType::Bool | DType::U8 => Ok(()),
                _ => Err(format!(
                    "a mask is of bool or uint8, and it is of {}",
                    tensor.dtype_name()
                )),
            };
            Self::open(file, array, is_mask, Layout::of_mask)
        };
        args.mask.as_ref().map(open).transpose()
    }

    /// The second array that a command line names, if it names one: of the first one's type.
    pub fn second(args: &Reduce, array: &Tensor) -> Result<Option<Self>, Failure> {
        let open = |file: &PathBuf| {
            let is_alike = |tensor: &Tensor| {
                let (first, second) = (array.dtype_name(), tensor.dtype_name());
                if tensor.dtype() == array.dtype() {
                    Ok(())
                } else {
                    Err(format!(
                        "it is of {second}, and {} of {first}: cast one of them",
                        array.label().display()
                    ))
                }
            };
            Self::open(file, array, is_alike, |layout, array| layout.broadcast(array.shape()))
        };
        args.with.as_ref().map(open).transpose()
    }

    fn open(
        file: &Path,
        array: &Tensor,
        is_of_type: impl Fn(&Tensor) -> Result<(), String>,
        broadcast: impl Fn(&Layout, &Layout) -> Result<Layout, Error>,
    ) -> Result<Self, Failure> {
        let tensor = TensorFile::open(file)?.one()?;
        is_of_type(&tensor).map_err(|problem| format!("{}: {problem}", tensor.label().display()))?;
        let layout = broadcast(&tensor.layout()?, &Layout::c_order(array.shape())?)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let file = file.to_owned();
        Ok(Self { tensor, file, layout })
    }

    /// An element for each of the array, in C order.
    pub fn elements<T: files::Element>(&self) -> Result<Vec<T>, Failure> {
        if self.tensor.shape() == self.layout.shape() {
            return Ok(self.tensor.read::<T>()?);
        }
        let read = self.tensor.read_in_place::<T>()?.0;
        let each = Extents::new(&self.layout, &Axes::of(&[]))?;
        Ok((0..each.count).map(|i| read[each.start(i) as usize]).collect())
    }
}
