//! Where the elements of an array of several axes lie, and what a fold along some of them keeps.
//!
//! A [`Layout`] is a shape with strides, so that transposed, sliced, reversed and broadcast arrays are folded where they
//! are. [`Axes`] says what is folded. Both together are [`Extents`]: the geometry that CPU and GPU share. [`Segments`] divide an
//! array into runs of any lengths.
//!
//! ```
//! use warpfold::layout::{Axes, Extents, Layout};
//!
//! // A matrix of 3 rows and 4 columns, folded along the rows' index: 4 answers, one for each column.
//! let columns = Extents::new(&Layout::c_order(&[3, 4])?, &Axes::of(&[0]))?;
//! assert_eq!((columns.count, columns.len, &columns.shape[..]), (4, 3, &[4][..]));
//! assert_eq!(columns.start(1).wrapping_add_signed(columns.step(2)), 9); // row 2, column 1
//! # Ok::<(), warpfold::Error>(())
//! ```

mod axes;
pub(crate) mod extent;
mod extents;
mod segments;
mod views;

pub use axes::Axes;
pub use extents::{Dim, Extents, Folded};
pub use segments::Segments;

use crate::Error;

/// Where the elements of an array lie: element `(i, j, …)` at `offset + i · strides[0] + j · strides[1] + …`, counted in
/// elements from the start of the memory it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Vec<u64>,
    strides: Vec<i64>,
    offset: u64,
}

impl Layout {
    /// Element after element, the last index the fastest: C's order, and NumPy's.
    ///
    /// # Errors
    ///
    /// [`Error::ShapeOverflow`] if there are 2⁶³ elements or more, an extent of 0 counted as 1.
    pub fn c_order(shape: &[u64]) -> Result<Self, Error> {
        count(shape)?;
        let mut strides = steps(shape.iter().rev());
        strides.reverse();
        Self::strided(shape, &strides, 0)
    }

    /// Element after element, the first index the fastest: Fortran's order.
    ///
    /// # Errors
    ///
    /// [`Error::ShapeOverflow`] if there are 2⁶³ elements or more, an extent of 0 counted as 1.
    pub fn fortran_order(shape: &[u64]) -> Result<Self, Error> {
        count(shape)?;
        Self::strided(shape, &steps(shape.iter()), 0)
    }

    /// Any strides, in elements: 0 repeats what there is, a negative one goes backwards. `offset` is where element
    /// `(0, 0, …)` is.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`] if there is not one stride for each extent; [`Error::ShapeOverflow`] if there are 2⁶³ elements or
    /// more, an extent of 0 counted as 1.
    pub fn strided(shape: &[u64], strides: &[i64], offset: u64) -> Result<Self, Error> {
        if strides.len() != shape.len() {
            return Err(Error::Rank {
                what: "strides",
                got: strides.len(),
                axes: shape.len(),
            });
        }
        count(shape)?;
        Ok(Self {
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            offset,
        })
    }

    /// The extents, slowest index first. None for a scalar, which is one element.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// For each axis, how many elements further its next index is.
    #[must_use]
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// Where element `(0, 0, …)` is.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many elements.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Whether every element lies within memory of `len` elements. Of an array without elements, all of them do.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], with the places of the lowest and the highest element.
    pub fn check(&self, len: u64) -> Result<(), Error> {
        match self.ends() {
            Some((lowest, highest)) if lowest < 0 || highest >= i128::from(len) => {
                Err(Error::OutOfBounds { lowest, highest, len })
            }
            _ => Ok(()),
        }
    }

    /// Where the elements lie: all from the first place on, before the second. None where there are no elements, and where one
    /// lies before the start of the memory or past all addresses.
    #[must_use]
    pub fn reach(&self) -> Option<(u64, u64)> {
        let (lowest, highest) = self.ends()?;
        Some((lowest.try_into().ok()?, (highest + 1).try_into().ok()?))
    }

    /// The places of the lowest and of the highest element, if there are elements.
    fn ends(&self) -> Option<(i128, i128)> {
        if self.is_empty() {
            return None;
        }
        // No overflow: extents less 1 come to less than 2⁶³ together, strides are 2⁶³ at most.
        let reach = |stride: i64, extent: u64| i128::from(stride) * i128::from(extent - 1);
        let offset = i128::from(self.offset);
        let (mut lowest, mut highest) = (offset, offset);
        for (stride, extent) in self.strides.iter().zip(&self.shape) {
            let reach = reach(*stride, *extent);
            lowest += reach.min(0);
            highest += reach.max(0);
        }
        Some((lowest, highest))
    }
}

/// How many elements a shape has, an extent of 0 counted as 1: then every stride of a dense array fits as well.
fn count(shape: &[u64]) -> Result<u64, Error> {
    shape
        .iter()
        .try_fold(1_u64, |count, extent| count.checked_mul((*extent).max(1)))
        .filter(|count| *count < 1 << 63)
        .ok_or_else(|| Error::ShapeOverflow { shape: shape.to_vec() })
}

/// The strides of a dense array whose extents come fastest first.
fn steps<'a>(extents: impl Iterator<Item = &'a u64>) -> Vec<i64> {
    extents
        .scan(1, |step, extent| {
            Some(std::mem::replace(step, *step * (*extent).max(1) as i64))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_orders_have_their_strides() {
        let c = Layout::c_order(&[2, 3, 4]).unwrap();
        assert_eq!((c.strides(), c.offset(), c.len()), (&[12, 4, 1][..], 0, 24));
        let fortran = Layout::fortran_order(&[2, 3, 4]).unwrap();
        assert_eq!(fortran.strides(), [1, 2, 6]);
        for dense in [c, fortran] {
            assert!(dense.check(24).is_ok() && dense.check(23).is_err());
        }
        let scalar = Layout::c_order(&[]).unwrap();
        assert_eq!((scalar.len(), scalar.is_empty()), (1, false));
        assert!(scalar.check(1).is_ok() && scalar.check(0).is_err());
    }

    #[test]
    fn shapes_that_overflow_are_refused() {
        let most = (1 << 63) - 1;
        assert_eq!(Layout::c_order(&[most]).unwrap().len(), most);
        for shape in [
            &[1 << 63][..],
            &[1 << 32, 1 << 31],
            &[u64::MAX, u64::MAX],
            &[0, 1 << 62, 2],
        ] {
            for layout in [
                Layout::c_order(shape),
                Layout::fortran_order(shape),
                Layout::strided(shape, &vec![0; shape.len()], 0),
            ] {
                assert!(matches!(layout, Err(Error::ShapeOverflow { shape: named }) if named == shape));
            }
        }
        assert!(matches!(
            Layout::strided(&[2, 3], &[1], 0),
            Err(Error::Rank { got: 1, axes: 2, .. })
        ));
    }

    #[test]
    fn bounds_are_exact() {
        let reversed = Layout::strided(&[3, 4], &[4, -1], 3).unwrap();
        assert!(reversed.check(12).is_ok());
        assert!(matches!(
            reversed.check(11),
            Err(Error::OutOfBounds {
                lowest: 0,
                highest: 11,
                len: 11
            })
        ));
        let below = Layout::strided(&[3, 4], &[4, -1], 2).unwrap();
        assert!(matches!(below.check(100), Err(Error::OutOfBounds { lowest: -1, .. })));
        let repeated = Layout::strided(&[1 << 40], &[0], 7).unwrap();
        assert!(repeated.check(8).is_ok() && repeated.check(7).is_err());
        // An axis of one index steps nowhere, whatever its stride.
        assert!(Layout::strided(&[1], &[i64::MIN], 0).unwrap().check(1).is_ok());
        assert!(Layout::strided(&[0], &[i64::MAX], u64::MAX).unwrap().check(0).is_ok());
    }

    #[test]
    fn bounds_do_not_overflow() {
        for stride in [i64::MIN, i64::MAX] {
            for shape in [vec![(1 << 63) - 1], vec![2; 62]] {
                let strides = vec![stride; shape.len()];
                for offset in [0, u64::MAX] {
                    let layout = Layout::strided(&shape, &strides, offset).unwrap();
                    assert!(matches!(layout.check(u64::MAX), Err(Error::OutOfBounds { .. })));
                }
            }
        }
    }
}
