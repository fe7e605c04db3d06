//! Runs of any lengths that follow one another.

use std::{ops::Range, sync::Arc};

use crate::{Error, OffsetFault, room::room};

/// How an array is divided into segments, each folded to an answer of its own. Nothing of the array is left out; segments may be
/// empty.
///
/// ```
/// use warpfold::layout::Segments;
///
/// let by_offsets = Segments::by_offsets(&[0, 2, 2, 5])?;
/// assert_eq!(by_offsets, Segments::by_lens([2, 0, 3])?);
/// assert_eq!((by_offsets.count(), by_offsets.len(), by_offsets.get(2)), (3, 5, 2..5));
///
/// // Seven elements by threes: the last segment is shorter.
/// assert_eq!(Segments::by_size(7, 3)?.offsets(), [0, 3, 6, 7]);
/// // One segment for each run of equal keys.
/// assert_eq!(Segments::by_keys(&["a", "a", "b", "a"]).offsets(), [0, 2, 3, 4]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segments {
    /// At least one; the first is 0, and none is less than the one before. Shared by clones.
    offsets: Arc<Vec<u64>>,
}

impl Segments {
    /// Segment `s` from element `offsets[s]` on up to `offsets[s + 1]`: one offset more than segments.
    ///
    /// # Errors
    ///
    /// [`Error::Offset`] if there is none, the first is not 0, or one is less than the one before; [`Error::LengthOverflow`] if
    /// there is no memory for them.
    pub fn by_offsets(offsets: &[u64]) -> Result<Self, Error> {
        let fault = |at, fault| Err(Error::Offset { at, fault });
        match offsets.first() {
            None => return fault(0, OffsetFault::Missing),
            Some(0) => {}
            Some(&offset) => return fault(0, OffsetFault::NotZero { offset }),
        }
        if let Some(at) = (1..offsets.len()).find(|&at| offsets[at] < offsets[at - 1]) {
            let (offset, before) = (offsets[at], offsets[at - 1]);
            return fault(at, OffsetFault::Falls { offset, before });
        }
        let mut copied = room(offsets.len() as u64)?;
        copied.extend_from_slice(offsets);
        Self::checked(copied)
    }

    /// By the number of elements of each.
    ///
    /// # Errors
    ///
    /// [`Error::SegmentOverflow`] if there are 2⁶³ elements or more.
    pub fn by_lens(lens: impl IntoIterator<Item = u64>) -> Result<Self, Error> {
        let mut offsets = vec![0];
        let mut end = 0_u64;
        for (segment, len) in lens.into_iter().enumerate() {
            end = end.checked_add(len).ok_or(Error::SegmentOverflow { segment })?;
            offsets.push(end);
        }
        Self::checked(offsets)
    }

    /// `len` elements by `size` each, the last segment shorter where `size` does not divide them. Where it does, a
    /// fold along the last axis of a matrix gives the same bits, without offsets.
    ///
    /// # Errors
    ///
    /// [`Error::SegmentSize`] if `size` is 0 and `len` is not; [`Error::SegmentOverflow`] if there are 2⁶³ elements or more;
    /// [`Error::LengthOverflow`] if there is no memory for the offsets.
    pub fn by_size(len: u64, size: u64) -> Result<Self, Error> {
        if size == 0 && len > 0 {
            return Err(Error::SegmentSize { len });
        }
        if len > i64::MAX as u64 {
            return Err(Error::SegmentOverflow { segment: 0 });
        }
        let size = size.max(1);
        let count = len.div_ceil(size);
        let mut offsets = room(count + 1)?;
        offsets.extend((0..count).map(|segment| segment * size));
        offsets.push(len);
        Ok(Self {
            offsets: Arc::new(offsets),
        })
    }

    /// A segment for each run of equal neighbours among `keys`: of an array with a key for each element.
    #[must_use]
    pub fn by_keys<K: PartialEq>(keys: &[K]) -> Self {
        let mut offsets = vec![0];
        offsets.extend(
            (1..keys.len())
                .filter(|&at| keys[at] != keys[at - 1])
                .map(|at| at as u64),
        );
        if !keys.is_empty() {
            offsets.push(keys.len() as u64);
        }
        Self {
            offsets: Arc::new(offsets),
        }
    }

    fn checked(offsets: Vec<u64>) -> Result<Self, Error> {
        match offsets.iter().position(|&offset| offset > i64::MAX as u64) {
            None => Ok(Self {
                offsets: Arc::new(offsets),
            }),
            Some(at) => Err(Error::SegmentOverflow { segment: at - 1 }),
        }
    }

    /// How many segments there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Elements of all of them.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.offsets[self.count()]
    }

    /// Whether they have no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of a segment.
    ///
    /// # Panics
    ///
    /// If there is no such segment.
    #[must_use]
    pub fn get(&self, segment: usize) -> Range<u64> {
        self.offsets[segment]..self.offsets[segment + 1]
    }

    /// Where each begins, and where the last ends.
    #[must_use]
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Whether they are of an array of `len` elements.
    ///
    /// # Errors
    ///
    /// [`Error::Offset`] if they have more elements or fewer.
    pub fn check(&self, len: u64) -> Result<(), Error> {
        let offset = self.len();
        if offset == len {
            Ok(())
        } else {
            Err(Error::Offset {
                at: self.count(),
                fault: OffsetFault::NotLen { offset, len },
            })
        }
    }

    /// The first segment that is empty.
    #[must_use]
    pub fn first_empty(&self) -> Option<usize> {
        (0..self.count()).find(|&segment| self.get(segment).is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_that_divide_nothing_are_named() {
        let fault = |offsets: &[u64]| match Segments::by_offsets(offsets) {
            Err(Error::Offset { at, fault }) => (at, fault),
            other => panic!("{other:?}"),
        };
        assert_eq!(fault(&[]), (0, OffsetFault::Missing));
        assert_eq!(fault(&[1, 2]), (0, OffsetFault::NotZero { offset: 1 }));
        assert_eq!(fault(&[0, 3, 2]), (2, OffsetFault::Falls { offset: 2, before: 3 }));
        let wrong = Segments::by_offsets(&[0, 2, 3]).expect("segments").check(4);
        assert!(matches!(
            wrong,
            Err(Error::Offset {
                at: 2,
                fault: OffsetFault::NotLen { offset: 3, len: 4 }
            })
        ));
        assert!(matches!(
            Segments::by_lens([1, u64::MAX]),
            Err(Error::SegmentOverflow { segment: 1 })
        ));
        let most = i64::MAX as u64;
        assert!(matches!(
            Segments::by_size(most, 1),
            Err(Error::LengthOverflow { elements, element_bytes: 8 }) if elements == most + 1
        ));
        assert_eq!(Segments::by_size(most, most).expect("one").offsets(), [0, most]);
        assert!(matches!(Segments::by_size(7, 0), Err(Error::SegmentSize { len: 7 })));
        assert!(matches!(
            Segments::by_size(1 << 63, 1 << 62),
            Err(Error::SegmentOverflow { .. })
        ));
        assert!(matches!(
            Segments::by_lens([1 << 62, 1 << 62]),
            Err(Error::SegmentOverflow { segment: 1 })
        ));
    }

    #[test]
    fn nothing_has_no_segments_or_empty_ones() {
        assert_eq!(Segments::by_keys::<u8>(&[]).count(), 0);
        for size in [0, 5] {
            assert_eq!(Segments::by_size(0, size).expect("none").count(), 0);
        }
        let empty = Segments::by_lens([0, 0]).expect("segments");
        assert_eq!((empty.count(), empty.len(), empty.first_empty()), (2, 0, Some(0)));
        assert_eq!(Segments::by_keys(&[f32::NAN, f32::NAN]).count(), 2);
    }
}
