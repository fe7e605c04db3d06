//! The mask of a fold of what it selects: `--where`.

use std::path::PathBuf;

use warpfold::{
    files::{DType, Tensor, TensorFile},
    layout::{Axes, Extents, Layout},
};

use crate::{Failure, Reduce};

/// The mask that a command line names.
pub struct Mask {
    pub tensor: Tensor,
    pub file: PathBuf,
    /// The array's, which the mask is broadcast to.
    array: Layout,
}

impl Mask {
    /// It, if one is named: of truths or bytes, and of a shape that broadcasts to the array's.
    pub fn of(args: &Reduce, array: &Tensor) -> Result<Option<Self>, Failure> {
        let Some(file) = &args.mask else {
            return Ok(None);
        };
        let tensor = TensorFile::open(file)?.one()?;
        if !matches!(tensor.dtype(), DType::Bool | DType::U8) {
            let (label, dtype) = (tensor.label(), tensor.dtype_name());
            return Err(format!("{}: a mask is of bool or uint8, and it is of {dtype}", label.display()).into());
        }
        let (file, array) = (file.clone(), Layout::c_order(array.shape())?);
        let mask = Self { tensor, file, array };
        Layout::c_order(mask.tensor.shape())?
            .of_mask(&mask.array)
            .map_err(|error| mask.in_file(error))?;
        Ok(Some(mask))
    }

    fn in_file(&self, error: impl std::fmt::Display) -> Failure {
        format!("{}: {error}", self.file.display()).into()
    }

    /// A byte for each element of the array, in C order.
    pub fn bytes(&self) -> Result<Vec<u8>, Failure> {
        let bytes = self.tensor.read::<u8>()?;
        if self.tensor.shape() == self.array.shape() {
            return Ok(bytes);
        }
        let layout = Layout::c_order(self.tensor.shape())?.of_mask(&self.array)?;
        let each = Extents::new(&layout, &Axes::of(&[]))?;
        Ok((0..each.count).map(|i| bytes[each.start(i) as usize]).collect())
    }
}
