//! An array in host memory, with its layout.

use crate::{Error, layout::Layout, ops::element::Element};

/// An array in host memory: its elements one after the other, or as a [`Layout`] says.
///
/// A slice, an array and a `Vec`, by reference, are views without a layout: one axis.
#[derive(Clone, Debug)]
pub struct View<'a, T> {
    pub(super) values: &'a [T],
    /// None for one axis.
    pub(super) layout: Option<Layout>,
}

impl<'a, T: Element> View<'a, T> {
    /// The elements of `values` that the layout names.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if it leaves `values`.
    pub fn new(values: &'a [T], layout: &Layout) -> Result<Self, Error> {
        layout.check(values.len() as u64)?;
        Ok(Self {
            values,
            layout: Some(layout.clone()),
        })
    }

    pub(super) fn with_layout(self) -> Result<(&'a [T], Layout), Error> {
        let layout = match self.layout {
            Some(layout) => layout,
            None => Layout::c_order(&[self.values.len() as u64])?,
        };
        Ok((self.values, layout))
    }
}

impl<'a, T: Element> From<&'a [T]> for View<'a, T> {
    fn from(values: &'a [T]) -> Self {
        Self { values, layout: None }
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for View<'a, T> {
    fn from(values: &'a [T; N]) -> Self {
        values.as_slice().into()
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for View<'a, T> {
    fn from(values: &'a Vec<T>) -> Self {
        values.as_slice().into()
    }
}
