//! What is reduced with an array, element by element: the mask of `--where`, and the second array of `--with`.

use warpfold::{
    files::{DType, Tensor},
    layout::Layout,
};

use crate::{Failure, cli::Reduce, named::Named, reading};

/// An array that is broadcast to the shape of another.
pub struct SecondInput {
    pub named: Named,
    /// Its layout in the file, broadcast.
    pub layout: Layout,
}

impl SecondInput {
    /// The mask that a command line names, if it names one: of truths or bytes.
    pub fn mask(args: &Reduce, array: &Tensor) -> Result<Option<Self>, Failure> {
        let Some(file) = &args.mask else {
            return Ok(None);
        };
        let named = Named::open("--where", file)?;
        named.check_type(&[DType::Bool, DType::U8], "a mask is")?;
        Self::broadcast(named, array).map(Some)
    }

    /// The second array that a command line names, if it names one: of the first one's type.
    pub fn second(args: &Reduce, array: &Tensor) -> Result<Option<Self>, Failure> {
        let Some(file) = &args.with else {
            return Ok(None);
        };
        let named = Named::open("--with", file)?;
        named.check_same_type(array)?;
        Self::broadcast(named, array).map(Some)
    }

    fn broadcast(named: Named, array: &Tensor) -> Result<Self, Failure> {
        let layout = named.broadcast(array.shape(), "the shape of the array")?;
        Ok(Self { named, layout })
    }

    /// An element for each of the array, in C order.
    pub fn elements<T: reading::Read>(&self) -> Result<Vec<T>, Failure> {
        self.named.elements(self.layout.shape(), "the shape of the array")
    }
}
