//! An array that an option names: what is read with the one that is reduced or mapped.

use std::path::{Path, PathBuf};

use warpfold::{
    files::{DType, Tensor},
    layout::{Axes, Extents, Layout},
};

use crate::{Failure, out::Input, reading, report::tuple, room::room};

/// An array of an option's.
pub struct Named {
    /// The option.
    option: &'static str,
    /// Its file, without the name of an array.
    pub path: PathBuf,
    pub tensor: Tensor,
}

impl Named {
    pub fn open(option: &'static str, file: &Path) -> Result<Self, Failure> {
        let (path, tensor) = reading::open(file)?;
        Ok(Self { option, path, tensor })
    }

    /// What errors call it.
    pub fn label(&self) -> String {
        format!("{} ({})", self.tensor.label().display(), self.option)
    }

    /// As an input, that no output replaces.
    pub fn input(&self) -> Input<'_> {
        (format!("the array of {}", self.option), &self.path)
    }

    /// That its elements are of one of some types.
    pub fn check_type(&self, types: &[DType], what: &str) -> Result<(), Failure> {
        if types.contains(&self.tensor.dtype()) {
            return Ok(());
        }
        let names: Vec<&str> = types.iter().map(|dtype| dtype.name()).collect();
        Err(format!(
            "{} is of {}, and {what} of {}",
            self.label(),
            self.tensor.dtype_name(),
            names.join(", ")
        )
        .into())
    }

    /// That its elements are of the type of another array's.
    pub fn check_same_type(&self, array: &Tensor) -> Result<(), Failure> {
        if self.tensor.dtype() == array.dtype() {
            return Ok(());
        }
        Err(format!(
            "{} is of {}, and {} of {}: cast one of them",
            self.label(),
            self.tensor.dtype_name(),
            array.label().display(),
            array.dtype_name()
        )
        .into())
    }

    /// That it broadcasts to a shape, by NumPy's rules: its layout there.
    pub fn broadcast(&self, shape: &[u64], of: &str) -> Result<Layout, Failure> {
        let layout = self.tensor.layout()?;
        layout.broadcast(shape).map_err(|_| {
            format!(
                "{} has the shape {}, which does not broadcast to {}, {of}",
                self.label(),
                tuple(self.tensor.shape()),
                tuple(shape),
            )
            .into()
        })
    }

    /// All its elements, broadcast to a shape, in C order.
    pub fn elements<T: reading::Read>(&self, shape: &[u64], of: &str) -> Result<Vec<T>, Failure> {
        let layout = self.broadcast(shape, of)?;
        if self.tensor.shape() == shape {
            return Ok(reading::in_order(&self.tensor)?);
        }
        let read = reading::in_place::<T>(&self.tensor)?.0;
        let each = Extents::new(&layout, &Axes::of(&[]))?;
        let mut elements = room(each.count).map_err(|error| format!("{}: {error}", self.label()))?;
        elements.extend((0..each.count).map(|i| read[each.start(i) as usize]));
        Ok(elements)
    }
}
