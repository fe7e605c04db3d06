//! Which axes are folded.

use crate::Error;

/// Which axes of an array are folded.
///
/// ```
/// use warpfold::layout::Axes;
///
/// let rows = Axes::of(&[-1]); // the last axis
/// let all = Axes::all().keepdim(); // every axis; the answer keeps them, each with one index
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes {
    /// None for all.
    axes: Option<Vec<i64>>,
    keepdim: bool,
}

impl Axes {
    /// Every axis: one answer.
    #[must_use]
    pub fn all() -> Self {
        Self {
            axes: None,
            keepdim: false,
        }
    }

    /// These axes, in any order; negative ones count from the last, which is −1. None of them: every element is an extent
    /// of its own.
    #[must_use]
    pub fn of(axes: &[i64]) -> Self {
        Self {
            axes: Some(axes.to_vec()),
            keepdim: false,
        }
    }

    /// The output keeps the folded axes, each with one index.
    #[must_use]
    pub fn keepdim(self) -> Self {
        Self { keepdim: true, ..self }
    }

    /// Another one, too; of all of them no more.
    pub(crate) fn and(mut self, axis: i64) -> Self {
        self.axes.get_or_insert_default().push(axis);
        self
    }

    pub(super) fn keeps_dims(&self) -> bool {
        self.keepdim
    }

    /// For each of `rank` axes, whether it is folded.
    pub(crate) fn folded(&self, rank: usize) -> Result<Vec<bool>, Error> {
        let Some(axes) = &self.axes else {
            return Ok(vec![true; rank]);
        };
        let mut folded = vec![false; rank];
        for axis in each(axes, rank)? {
            folded[axis] = true;
        }
        Ok(folded)
    }
}

/// Axes of an array of `rank`, counted from the first; no two the same.
pub(super) fn each(axes: &[i64], rank: usize) -> Result<Vec<usize>, Error> {
    let mut seen = Vec::with_capacity(axes.len().min(rank));
    for axis in axes {
        let place = one(*axis, rank)?;
        if seen.contains(&place) {
            return Err(Error::AxisTwice {
                axis: place,
                axes: rank,
            });
        }
        seen.push(place);
    }
    Ok(seen)
}

/// An axis of an array of `rank`, counted from the first.
pub(super) fn one(axis: i64, rank: usize) -> Result<usize, Error> {
    let from_first = if axis < 0 {
        i128::from(axis) + rank as i128
    } else {
        axis.into()
    };
    match usize::try_from(from_first) {
        Ok(place) if place < rank => Ok(place),
        _ => Err(Error::NoAxis { axis, axes: rank }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_count_from_either_end() {
        assert_eq!(Axes::all().folded(2).unwrap(), [true, true]);
        assert_eq!(Axes::of(&[]).folded(2).unwrap(), [false, false]);
        assert_eq!(Axes::of(&[-1, 0]).folded(3).unwrap(), [true, false, true]);
        assert_eq!(Axes::of(&[-3]).folded(3).unwrap(), [true, false, false]);
    }

    #[test]
    fn axes_that_are_not_there_are_named() {
        for (axis, rank) in [(3, 3), (-4, 3), (0, 0), (-1, 0), (i64::MIN, 3), (i64::MAX, 3)] {
            assert!(matches!(
                Axes::of(&[axis]).folded(rank),
                Err(Error::NoAxis { axis: named, axes }) if (named, axes) == (axis, rank)
            ));
        }
        for twice in [[1, 1], [1, -2], [-2, 1]] {
            assert!(matches!(
                Axes::of(&twice).folded(3),
                Err(Error::AxisTwice { axis: 1, axes: 3 })
            ));
        }
    }
}
