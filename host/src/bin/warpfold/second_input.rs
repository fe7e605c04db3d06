//! An array that is read beside the one that is folded: the mask of `--where`, and the second array of `--with`.

use std::path::{Path, PathBuf};

use warpfold::{
    Error,
    files::{DType, Tensor},
    layout::{Axes, Extents, Layout},
};

use crate::{Failure, Reduce, reading, room::room};

/// An array that is broadcast to the shape of another.
pub struct SecondInput {
    pub tensor: Tensor,
    /// As it was named.
    pub file: PathBuf,
    /// Its file, without the name of an array.
    pub path: PathBuf,
    /// Its layout in the file, broadcast.
    pub layout: Layout,
}

impl SecondInput {
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
        let (path, tensor) = reading::open(file)?;
        is_of_type(&tensor).map_err(|problem| format!("{}: {problem}", tensor.label().display()))?;
        let layout = broadcast(&tensor.layout()?, &Layout::c_order(array.shape())?)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let file = file.to_owned();
        Ok(Self {
            tensor,
            file,
            path,
            layout,
        })
    }

    /// An element for each of the array, in C order.
    pub fn elements<T: reading::Read>(&self) -> Result<Vec<T>, Failure> {
        if self.tensor.shape() == self.layout.shape() {
            return reading::in_order::<T>(&self.tensor);
        }
        let read = reading::in_place::<T>(&self.tensor)?.0;
        let each = Extents::new(&self.layout, &Axes::of(&[]))?;
        let mut elements = room(each.count).map_err(|error| format!("{}: {error}", self.file.display()))?;
        elements.extend((0..each.count).map(|i| read[each.start(i) as usize]));
        Ok(elements)
    }
}
