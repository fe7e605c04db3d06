//! A fold along axes: what is kept and what is folded, in fewest dimensions.

use super::{Axes, Layout};
use crate::Error;

/// A fold along axes, in fewest dimensions.
///
/// There are `count` answers, numbered in C order of the axes that are kept. Each folds an extent of `len` elements,
/// numbered in C order of the axes that are folded, in the order those have in the array. Axes of one index are left out,
/// and neighbours that are one run of memory are one dimension, which changes no number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extents {
    /// From one answer's extent to the next, outermost first. Empty for one answer, or none.
    pub kept: Vec<Dim>,
    /// From one element of an extent to the next, outermost first. Empty for one element, or none.
    pub folded: Vec<Dim>,
    /// Where the first element of the first extent is, in elements.
    pub offset: u64,
    /// How many answers.
    pub count: u64,
    /// How many elements each folds.
    pub len: u64,
    /// The extents of the output: C order, one answer an element.
    pub shape: Vec<u64>,
}

/// An index of at least two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// How many values.
    pub size: u64,
    /// How many elements further the next one is.
    pub stride: i64,
}

/// The answers of a fold along axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded<A> {
    /// The extents of the output.
    pub shape: Vec<u64>,
    /// The answers, in C order.
    pub answers: Vec<A>,
}

impl Extents {
    /// The extents of an array that is folded along `axes`.
    ///
    /// # Errors
    ///
    /// [`Error::NoAxis`] for an axis that the array does not have, [`Error::AxisTwice`] for one that is named twice.
    pub fn new(layout: &Layout, axes: &Axes) -> Result<Self, Error> {
        let [extents] = Self::of_each([layout], axes)?;
        Ok(extents)
    }

    /// The extents of two arrays of one shape that are folded together: of as many dimensions, and the same sizes.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); [`Error::PairMismatch`] where the shapes differ.
    pub fn of_pair(first: &Layout, second: &Layout, axes: &Axes) -> Result<[Self; 2], Error> {
        Error::check_pair(first.shape(), second.shape())?;
        Self::of_each([first, second], axes)
    }

    /// The extents of an array and of a mask that is broadcast to its shape, as [`of_pair`](Self::of_pair).
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); [`Error::MaskMismatch`] where the mask's shape does not broadcast to the array's.
    pub fn of_masked(array: &Layout, mask: &Layout, axes: &Axes) -> Result<[Self; 2], Error> {
        Self::of_each([array, &mask.of_mask(array)?], axes)
    }

    /// The same of arrays of one shape.
    fn of_each<const N: usize>(layouts: [&Layout; N], axes: &Axes) -> Result<[Self; N], Error> {
        let layout = layouts[0];
        let folded = axes.folded(layout.shape().len())?;
        let of = |side: bool| {
            let mine = folded.iter().enumerate().filter(move |(_, folded)| **folded == side);
            mine.map(|(axis, _)| (layout.shape()[axis], layouts.map(|layout| layout.strides()[axis])))
        };
        let size = |side| of(side).map(|(size, _)| size).product::<u64>();
        let shape = layout.shape().iter().zip(&folded);
        let shape = shape.filter_map(|(extent, folded)| match folded {
            false => Some(*extent),
            true => axes.keeps_dims().then_some(1),
        });
        let shape: Vec<u64> = shape.collect();
        let (kept, within) = (merged(of(false)), merged(of(true)));
        let dims = |of: &[(u64, [i64; N])], array: usize| {
            let dim = |&(size, strides): &(u64, [i64; N])| Dim {
                size,
                stride: strides[array],
            };
            of.iter().map(dim).collect()
        };
        Ok(std::array::from_fn(|array| Self {
            kept: dims(&kept, array),
            folded: dims(&within, array),
            offset: layouts[array].offset(),
            count: size(false),
            len: size(true),
            shape: shape.clone(),
        }))
    }

    /// Where the first element of an answer's extent is. In a layout that was [checked](Layout::check), for an answer that
    /// there is, within the memory.
    #[must_use]
    pub fn start(&self, answer: u64) -> u64 {
        self.offset.wrapping_add_signed(distance(&self.kept, answer))
    }

    /// How far an element of an extent lies from the first one.
    #[must_use]
    pub fn step(&self, element: u64) -> i64 {
        distance(&self.folded, element)
    }

    /// Some elements of each extent, if they are whole indices of the outermost dimension that is folded.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn part(&self, part: &std::ops::Range<u64>) -> Option<Self> {
        let len = part.end - part.start;
        let inner: u64 = self.folded.iter().skip(1).map(|dim| dim.size).product();
        if !part.start.is_multiple_of(inner) || !len.is_multiple_of(inner) {
            return None;
        }
        let mut folded = self.folded.clone();
        match len / inner {
            1 if !folded.is_empty() => drop(folded.remove(0)),
            size => folded.iter_mut().take(1).for_each(|outer| outer.size = size),
        }
        Some(Self {
            folded,
            offset: self.offset.wrapping_add_signed(self.step(part.start)),
            len,
            ..self.clone()
        })
    }

    /// [`start`](Self::start) of the answers from one on.
    pub(crate) fn starts(&self, from: u64, starts: &mut [i64]) {
        fill(&self.kept, from, starts);
        for start in starts {
            *start = start.wrapping_add_unsigned(self.offset);
        }
    }

    /// [`step`](Self::step) of the elements from one on.
    pub(crate) fn steps(&self, from: u64, steps: &mut [i64]) {
        fill(&self.folded, from, steps);
    }

    /// From one answer's extent to the next, where one dimension is kept at most.
    #[must_use]
    pub fn stride(&self) -> i64 {
        self.kept.last().map_or(0, |dim| dim.stride)
    }

    /// From one element of an extent to the next, where one dimension is folded at most.
    #[must_use]
    pub fn stride_within(&self) -> i64 {
        self.folded.last().map_or(0, |dim| dim.stride)
    }

    /// Whether there are several dimensions that are kept, or that are folded.
    #[must_use]
    pub fn has_several(&self) -> bool {
        self.kept.len() > 1 || self.folded.len() > 1
    }

    /// The dimensions as kernels read them: how many are kept and folded, then the size and the stride of each, innermost first.
    #[must_use]
    pub fn dimensions(&self) -> Vec<u64> {
        Self::dimensions_of(std::slice::from_ref(self))
    }

    /// The same of arrays that are folded together, each size followed by its stride in each of them.
    #[must_use]
    pub fn dimensions_of(arrays: &[Self]) -> Vec<u64> {
        let mut numbers = vec![arrays[0].kept.len() as u64, arrays[0].folded.len() as u64];
        let mut push = |dims: &dyn Fn(&Self) -> &[Dim]| {
            for at in (0..dims(&arrays[0]).len()).rev() {
                numbers.push(dims(&arrays[0])[at].size);
                numbers.extend(arrays.iter().map(|array| dims(array)[at].stride as u64));
            }
        };
        push(&|extents| &extents.kept);
        push(&|extents| &extents.folded);
        numbers
    }

    /// Whether each extent is one run of memory, in order.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        matches!(self.folded[..], [] | [Dim { stride: 1, .. }])
    }

    /// Whether neighbouring answers' elements lie closer together than neighbours of one extent.
    pub(crate) fn answers_are_closer(&self) -> bool {
        reach(&self.kept) < reach(&self.folded)
    }
}

/// The stride of the innermost dimension; of none, endlessly far.
fn reach(dims: &[Dim]) -> u64 {
    dims.last().map_or(u64::MAX, |dim| dim.stride.unsigned_abs())
}

/// How far index `at` lies from index 0. Wrapping: what lies in memory is right in the end.
fn distance(dims: &[Dim], mut at: u64) -> i64 {
    let mut distance = 0_i64;
    for dim in dims.iter().rev() {
        let index = at % dim.size;
        at /= dim.size;
        distance = distance.wrapping_add((index as i64).wrapping_mul(dim.stride));
    }
    distance
}

/// The distances of the indices from `at` on, a run of the innermost dimension at a time.
fn fill(dims: &[Dim], mut at: u64, mut distances: &mut [i64]) {
    let inner = dims.last().copied().unwrap_or(Dim { size: 1, stride: 0 });
    while !distances.is_empty() {
        let left = inner.size - at % inner.size;
        let run = distances.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let (now, later) = distances.split_at_mut(run);
        let mut next = distance(dims, at);
        for distance in now {
            *distance = next;
            next = next.wrapping_add(inner.stride);
        }
        at += run as u64;
        distances = later;
    }
}

/// Without sizes of 1, and with neighbours that are one run in each array made one. Nothing, if there is a size of 0.
fn merged<const N: usize>(dims: impl Iterator<Item = (u64, [i64; N])>) -> Vec<(u64, [i64; N])> {
    let mut merged: Vec<(u64, [i64; N])> = Vec::new();
    for (size, strides) in dims {
        let is_run = |outer: &[i64; N]| {
            let mut both = outer.iter().zip(&strides);
            both.all(|(outer, stride)| i128::from(*outer) == i128::from(size) * i128::from(*stride))
        };
        match merged.last_mut() {
            _ if size == 0 => return Vec::new(),
            _ if size == 1 => {}
            Some(outer) if is_run(&outer.1) => *outer = (outer.0 * size, strides),
            _ => merged.push((size, strides)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims(dims: &[(u64, i64)]) -> Vec<Dim> {
        dims.iter().map(|&(size, stride)| Dim { size, stride }).collect()
    }

    fn extents(layout: &Layout, axes: &[i64]) -> Extents {
        Extents::new(layout, &Axes::of(axes)).unwrap()
    }

    #[test]
    fn runs_of_memory_are_one_dimension() {
        let cube = Layout::c_order(&[2, 3, 4]).unwrap();
        for (axes, kept, folded) in [
            (&[0, 1, 2][..], dims(&[]), dims(&[(24, 1)])),
            (&[], dims(&[(24, 1)]), dims(&[])),
            (&[2], dims(&[(6, 4)]), dims(&[(4, 1)])),
            (&[-1, 1], dims(&[(2, 12)]), dims(&[(12, 1)])),
            (&[0], dims(&[(12, 1)]), dims(&[(2, 12)])),
            (&[1], dims(&[(2, 12), (4, 1)]), dims(&[(3, 4)])),
            (&[2, 0], dims(&[(3, 4)]), dims(&[(2, 12), (4, 1)])),
            (&[0, 1], dims(&[(4, 1)]), dims(&[(6, 4)])),
        ] {
            let found = extents(&cube, axes);
            assert_eq!((&found.kept, &found.folded), (&kept, &folded), "{axes:?}");
            let run = folded.is_empty() || folded.len() == 1 && folded[0].stride == 1;
            assert_eq!(found.is_contiguous(), run, "{axes:?}");
        }
    }

    #[test]
    fn merging_keeps_the_numbers() {
        // In Fortran order no two axes are one run in C order; reversed as a whole, or repeated, they are.
        let fortran = extents(&Layout::fortran_order(&[2, 3]).unwrap(), &[0, 1]);
        assert_eq!(fortran.folded, dims(&[(2, 1), (3, 2)]));
        let reversed = extents(&Layout::strided(&[2, 3], &[-3, -1], 5).unwrap(), &[0, 1]);
        assert_eq!((reversed.folded, reversed.offset), (dims(&[(6, -1)]), 5));
        let repeated = extents(&Layout::strided(&[2, 3], &[0, 0], 5).unwrap(), &[0, 1]);
        assert_eq!(repeated.folded, dims(&[(6, 0)]));
        let inner = extents(&Layout::strided(&[2, 3], &[1, 0], 0).unwrap(), &[0, 1]);
        assert_eq!(inner.folded, dims(&[(2, 1), (3, 0)]));
        // An axis of one index stands between none.
        let one = extents(&Layout::strided(&[2, 1, 3], &[3, 77, 1], 0).unwrap(), &[0, 1, 2]);
        assert_eq!(one.folded, dims(&[(6, 1)]));
        let far = extents(&Layout::strided(&[2, 3], &[i64::MIN, i64::MAX], 0).unwrap(), &[0, 1]);
        assert_eq!(far.folded, dims(&[(2, i64::MIN), (3, i64::MAX)]));
    }

    #[test]
    fn every_element_has_its_place() {
        let cube = Layout::strided(&[2, 3, 4], &[-12, 4, 1], 12).unwrap();
        let middle = extents(&cube, &[1]);
        for (answer, (i, k)) in (0..2).flat_map(|i| (0..4).map(move |k| (i, k))).enumerate() {
            for j in 0..3 {
                let place = middle.start(answer as u64).wrapping_add_signed(middle.step(j));
                assert_eq!(place, 12 * (1 - i) + 4 * j + k);
            }
        }
    }

    #[test]
    fn places_come_one_by_one_or_together() {
        let cube = Layout::strided(&[5, 3, 4], &[-12, 4, 1], 48).unwrap();
        for axes in [&[0, 1, 2][..], &[1], &[0, 2], &[]] {
            let extents = extents(&cube, axes);
            for from in 0..extents.len {
                let mut steps = vec![0; (extents.len - from) as usize];
                extents.steps(from, &mut steps);
                assert!((from..).zip(steps).all(|(element, step)| step == extents.step(element)));
            }
            for from in 0..extents.count {
                let mut starts = vec![0; (extents.count - from) as usize];
                extents.starts(from, &mut starts);
                assert!(
                    (from..)
                        .zip(starts)
                        .all(|(answer, start)| start as u64 == extents.start(answer))
                );
            }
        }
    }

    #[test]
    fn a_part_has_whole_indices_of_the_outermost_dimension() {
        let cube = Layout::strided(&[5, 3, 4], &[-12, 4, 1], 48).unwrap();
        for (axes, inner) in [(&[0, 1, 2][..], 12), (&[1], 1), (&[0, 2], 4), (&[2], 1)] {
            let extents = extents(&cube, axes);
            for start in 0..extents.len {
                for end in start + 1..=extents.len {
                    let Some(part) = extents.part(&(start..end)) else {
                        assert!(start % inner > 0 || end % inner > 0, "{axes:?}, {start}..{end}");
                        continue;
                    };
                    assert_eq!((part.len, part.count), (end - start, extents.count));
                    for element in 0..part.len {
                        let place = |extents: &Extents, element| {
                            extents
                                .start(extents.count - 1)
                                .wrapping_add_signed(extents.step(element))
                        };
                        assert_eq!(place(&part, element), place(&extents, start + element), "{axes:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_output_has_what_is_kept() {
        let cube = Layout::c_order(&[2, 3, 4]).unwrap();
        let shape = |axes: Axes| Extents::new(&cube, &axes).unwrap().shape;
        assert_eq!(shape(Axes::of(&[1])), [2, 4]);
        assert_eq!(shape(Axes::of(&[1]).keepdim()), [2, 1, 4]);
        assert!(shape(Axes::all()).is_empty());
        assert_eq!(shape(Axes::all().keepdim()), [1, 1, 1]);
        let scalar = Extents::new(&Layout::c_order(&[]).unwrap(), &Axes::all()).unwrap();
        assert_eq!((scalar.count, scalar.len, scalar.shape), (1, 1, vec![]));
    }

    #[test]
    fn extents_of_nothing_and_no_extents_differ() {
        let nothing = Layout::c_order(&[3, 0]).unwrap();
        let found = |axes| {
            let extents = extents(&nothing, axes);
            assert!(extents.folded.is_empty() || extents.count == 0);
            (extents.count, extents.len, extents.shape)
        };
        assert_eq!(found(&[1]), (3, 0, vec![3]));
        assert_eq!(found(&[0]), (0, 3, vec![0]));
        assert_eq!(found(&[0, 1]), (1, 0, vec![]));
        assert_eq!(found(&[]), (0, 1, vec![3, 0]));
    }
}
