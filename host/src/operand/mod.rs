//! What is folded: one array, two of them element by element, or what a mask selects of one; in host memory or in a device's.
//!
//! | operand of a [fold](crate::fold::fold) | is |
//! |---|---|
//! | `&values`: a slice, an array, a `Vec` | one array in host memory, of one axis |
//! | [`View`] | one in host memory, as its layout says |
//! | `&buffer`: cust's `DeviceSlice`, `DeviceBuffer` | one in device memory, of one axis |
//! | `DeviceView` | one in device memory, as its layout says, or at an address from elsewhere |
//! | `(first, second)` of these | two arrays, element by element |
//! | any single one, after [`masked`](crate::Fold::masked) | what the mask selects of it |

#[cfg(feature = "cuda")]
mod device;
mod host;
pub(crate) mod packed;
pub(crate) mod source;

#[cfg(feature = "cuda")]
pub use device::{Array, DeviceArrays, DeviceView, Layouts, Operand};
#[cfg(feature = "cuda")]
pub(crate) use device::{Memory, Placed};
pub use host::{AsView, HostOperand, NoMask, Under, View};

use warpfold_kernels::element::Operands;

use crate::{
    Error,
    layout::{Axes, Extents, Layout},
};

/// How long arrays are that are folded together, and how they lie, whatever their elements.
#[derive(Clone, Debug)]
pub struct Shapes {
    together: Operands,
    first: Shape,
    /// Of two arrays, the other; the mask.
    second: Option<Shape>,
}

/// How an array lies in memory of so many elements.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) len: u64,
    /// None for one axis, all of the memory.
    pub(crate) layout: Option<Layout>,
}

/// Extents along axes, of each array, and the layouts that they are of.
pub(crate) struct Along {
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "a launch is told how far they reach")
    )]
    pub(crate) layouts: Vec<Layout>,
    pub(crate) extents: Vec<Extents>,
}

impl Shape {
    /// One axis.
    pub(crate) fn of(len: usize) -> Self {
        Self {
            len: len as u64,
            layout: None,
        }
    }

    /// A layout in memory that is as large as it needs.
    #[cfg(feature = "cuda")]
    pub(crate) fn laid_out(layout: &Layout) -> Self {
        Self {
            len: i64::MAX as u64,
            layout: Some(layout.clone()),
        }
    }

    /// The same, and no larger where its elements are in order.
    #[cfg(feature = "cuda")]
    pub(crate) fn prepared(layout: &Layout) -> Self {
        let dense = Self {
            len: layout.len(),
            layout: Some(layout.clone()),
        };
        if dense.is_run() { dense } else { Self::laid_out(layout) }
    }

    /// Whether its elements are all of the memory, in order.
    fn is_run(&self) -> bool {
        let is_dense =
            |layout: &Layout| layout.len() == self.len && Layout::c_order(layout.shape()).ok().as_ref() == Some(layout);
        self.layout.as_ref().is_none_or(is_dense)
    }

    fn layout(&self) -> Result<Layout, Error> {
        match &self.layout {
            Some(layout) => Ok(layout.clone()),
            None => Layout::c_order(&[self.len]),
        }
    }

    fn shape(&self) -> Vec<u64> {
        self.layout
            .as_ref()
            .map_or_else(|| vec![self.len], |layout| layout.shape().to_vec())
    }
}

impl Shapes {
    pub(crate) fn one(array: Shape) -> Self {
        Self {
            together: Operands::One,
            first: array,
            second: None,
        }
    }

    pub(crate) fn pair(first: Shape, second: Shape) -> Self {
        Self {
            together: Operands::Two,
            first,
            second: Some(second),
        }
    }

    pub(crate) fn masked(array: Shape, mask: Shape) -> Self {
        Self {
            together: Operands::Masked,
            first: array,
            second: Some(mask),
        }
    }

    fn each(&self) -> impl Iterator<Item = &Shape> {
        [&self.first].into_iter().chain(&self.second)
    }

    /// How many elements each array has, if all are in order, one after the other, to be folded whole.
    ///
    /// # Errors
    ///
    /// [`Error::PairMismatch`], [`Error::MaskMismatch`].
    pub(crate) fn run(&self) -> Result<Option<u64>, Error> {
        if !self.each().all(Shape::is_run) {
            return Ok(None);
        }
        match (self.together, &self.second) {
            (Operands::Two, Some(second)) => Error::check_pair(&self.first.shape(), &second.shape())?,
            // A row of a mask may hold for every row.
            (Operands::Masked, Some(Shape { layout: None, .. })) if self.first.layout.is_none() => {}
            (Operands::Masked, Some(mask)) if mask.shape() != self.first.shape() => return Ok(None),
            _ => {}
        }
        if let (Operands::Masked, Some(mask)) = (self.together, &self.second) {
            Error::check_mask(self.first.len, mask.len)?;
        }
        Ok(Some(self.first.len))
    }

    /// The same of arrays that are to be divided into segments.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and [`Error::NotInOrder`].
    pub(crate) fn in_order(&self) -> Result<u64, Error> {
        for shape in self.each() {
            if let (Some(layout), false) = (&shape.layout, shape.is_run()) {
                return Err(Error::NotInOrder {
                    shape: layout.shape().to_vec(),
                    strides: layout.strides().to_vec(),
                });
            }
        }
        match (self.run()?, &self.second) {
            (Some(len), _) => Ok(len),
            (None, Some(mask)) => Err(Error::MaskMismatch {
                mask: mask.shape(),
                array: self.first.shape(),
            }),
            (None, None) => unreachable!("one array in order is a run"),
        }
    }

    /// The extents along axes.
    ///
    /// # Errors
    ///
    /// [`Error::PairMismatch`], [`Error::MaskMismatch`], [`Error::OutOfBounds`]; as [`Extents::new`].
    pub(crate) fn along(&self, axes: &Axes) -> Result<Along, Error> {
        let first = self.first.layout()?;
        let second = self.second.as_ref().map(Shape::layout).transpose()?;
        let (layouts, extents) = match (self.together, second) {
            (Operands::Two, Some(second)) => {
                let extents = Extents::of_pair(&first, &second, axes)?.to_vec();
                (vec![first, second], extents)
            }
            (Operands::Masked, Some(mask)) => {
                let extents = Extents::of_masked(&first, &mask, axes)?.to_vec();
                let mask = mask.of_mask(&first)?;
                (vec![first, mask], extents)
            }
            _ => {
                let extents = vec![Extents::new(&first, axes)?];
                (vec![first], extents)
            }
        };
        for (layout, shape) in layouts.iter().zip(self.each()) {
            layout.check(shape.len)?;
        }
        Ok(Along { layouts, extents })
    }
}
