//! Other ways to see the same memory: no element moves.

use super::{Layout, axes};
use crate::Error;

impl Layout {
    /// The axes in another order: axis `i` of the view is axis `order[i]` of this, negative ones counted from the last.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`], [`Error::NoAxis`], [`Error::AxisTwice`] if `order` does not name every axis once.
    ///
    /// ```
    /// use warpfold::layout::Layout;
    ///
    /// let matrix = Layout::c_order(&[3, 4])?;
    /// assert_eq!(matrix.transposed(&[1, 0])?, Layout::fortran_order(&[4, 3])?);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn transposed(&self, order: &[i64]) -> Result<Self, Error> {
        let rank = self.shape.len();
        let order = axes::each(order, rank)?;
        if order.len() != rank {
            return Err(Error::Rank {
                what: "axes to order by",
                got: order.len(),
                axes: rank,
            });
        }
        Ok(Self {
            shape: order.iter().map(|axis| self.shape[*axis]).collect(),
            strides: order.iter().map(|axis| self.strides[*axis]).collect(),
            offset: self.offset,
        })
    }

    /// Along one axis only the `count` indices from `start` on, each `step` further than the one before; `step` may be
    /// negative.
    ///
    /// # Errors
    ///
    /// [`Error::NoAxis`]; [`Error::Slice`] if an index is none of the axis, or the new stride does not fit.
    pub fn sliced(&self, axis: i64, start: u64, count: u64, step: i64) -> Result<Self, Error> {
        let axis = axes::one(axis, self.shape.len())?;
        let (extent, stride) = (self.shape[axis], self.strides[axis]);
        let last = i128::from(start) + i128::from(step) * i128::from(count.saturating_sub(1));
        let inside = count == 0 || start < extent && (0..i128::from(extent)).contains(&last);
        let moved = i128::from(self.offset) + i128::from(stride) * i128::from(start);
        // Of fewer than two indices the stride is never used, of none not even the start.
        let stride = if count < 2 {
            Some(stride)
        } else {
            stride.checked_mul(step)
        };
        let offset = if count == 0 {
            Some(self.offset)
        } else {
            u64::try_from(moved).ok()
        };
        let (true, Some(stride), Some(offset)) = (inside, stride, offset) else {
            return Err(Error::Slice {
                start,
                count,
                step,
                extent,
            });
        };
        let mut view = self.clone();
        view.shape[axis] = count;
        view.strides[axis] = stride;
        view.offset = offset;
        super::count(&view.shape)?;
        Ok(view)
    }

    /// An axis as two, the first of `outer` indices, which its extent is a multiple of.
    pub(crate) fn split(&self, axis: usize, outer: u64) -> Result<Self, Error> {
        let (inner, stride) = (self.shape[axis] / outer, self.strides[axis]);
        let mut view = self.clone();
        view.shape.splice(axis..=axis, [outer, inner]);
        // Where it wraps around, the axis has one index, or the array lies in no memory.
        view.strides.insert(axis, stride.wrapping_mul(inner as i64));
        super::count(&view.shape)?;
        Ok(view)
    }

    /// As an array of a larger shape, as NumPy broadcasts: further axes come in front, and an extent of 1 becomes any other
    /// by repeating its index.
    ///
    /// # Errors
    ///
    /// [`Error::Broadcast`] if an extent other than 1 would change, or axes would go; [`Error::ShapeOverflow`] if there
    /// are 2⁶³ elements or more, an extent of 0 counted as 1.
    pub fn broadcast(&self, shape: &[u64]) -> Result<Self, Error> {
        let cannot = || Error::Broadcast {
            from: self.shape.clone(),
            to: shape.to_vec(),
        };
        let front = shape.len().checked_sub(self.shape.len()).ok_or_else(cannot)?;
        let mut strides = vec![0; front];
        for (axis, extent) in shape[front..].iter().enumerate() {
            strides.push(match self.shape[axis] {
                same if same == *extent => self.strides[axis],
                1 => 0,
                _ => return Err(cannot()),
            });
        }
        Self::strided(shape, &strides, self.offset)
    }

    /// [Broadcast](Self::broadcast) as the mask of an array of that layout.
    ///
    /// # Errors
    ///
    /// [`Error::MaskMismatch`] if it does not broadcast.
    pub fn of_mask(&self, array: &Self) -> Result<Self, Error> {
        self.broadcast(array.shape()).map_err(|error| match error {
            Error::Broadcast { from, to } => Error::MaskMismatch { mask: from, array: to },
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_name_every_axis_once() {
        let cube = Layout::c_order(&[2, 3, 4]).unwrap();
        let turned = cube.transposed(&[-1, 0, 1]).unwrap();
        assert_eq!((turned.shape(), turned.strides()), (&[4, 2, 3][..], &[1, 12, 4][..]));
        assert!(matches!(
            cube.transposed(&[0, 1]),
            Err(Error::Rank { got: 2, axes: 3, .. })
        ));
        assert!(matches!(
            cube.transposed(&[0, 1, 3]),
            Err(Error::NoAxis { axis: 3, .. })
        ));
        assert!(matches!(
            cube.transposed(&[0, 1, -2]),
            Err(Error::AxisTwice { axis: 1, .. })
        ));
    }

    #[test]
    fn slices_stay_inside() {
        let matrix = Layout::c_order(&[3, 10]).unwrap();
        let odd = matrix.sliced(-1, 1, 5, 2).unwrap();
        assert_eq!(
            (odd.shape(), odd.strides(), odd.offset()),
            (&[3, 5][..], &[10, 2][..], 1)
        );
        let back = matrix.sliced(1, 9, 10, -1).unwrap();
        assert_eq!((back.strides(), back.offset()), (&[10, -1][..], 9));
        assert_eq!(matrix.sliced(0, 2, 1, i64::MAX).unwrap().offset(), 20);
        assert!(matrix.sliced(0, 99, 0, 1).unwrap().is_empty());
        for (start, count, step) in [
            (0, 11, 1),
            (10, 1, 1),
            (1, 6, 2),
            (8, 10, -1),
            (0, u64::MAX, i64::MIN),
            (1, 2, i64::MAX),
        ] {
            assert!(
                matches!(
                    matrix.sliced(1, start, count, step),
                    Err(Error::Slice { extent: 10, .. })
                ),
                "{start} {count} {step}"
            );
        }
    }

    #[test]
    fn broadcasts_repeat() {
        let column = Layout::c_order(&[3, 1]).unwrap();
        let wide = column.broadcast(&[2, 3, 4]).unwrap();
        assert_eq!((wide.shape(), wide.strides()), (&[2, 3, 4][..], &[0, 1, 0][..]));
        assert!(wide.check(3).is_ok());
        for shape in [&[3][..], &[4, 1], &[3, 1, 1, 2], &[]] {
            assert!(
                matches!(column.broadcast(shape), Err(Error::Broadcast { .. })),
                "{shape:?}"
            );
        }
    }
}
