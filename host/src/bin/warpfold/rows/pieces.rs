//! An array cut into pieces of whole rows, and how each piece is read.

use std::ops::Range;

use warpfold::{View, files::Tensor, layout::Layout, ops::element::Element};

use crate::{Failure, reading, room::room};

/// A part of an array: all of it, but for some indices of the axes before the rows'.
#[derive(Clone, Copy)]
pub struct ArrayPiece {
    /// The indices of the axis that is cut.
    start: u64,
    count: u64,
    /// The index of all axes before that one together.
    outer: u64,
}

/// The rows of a piece.
#[derive(Clone)]
pub struct RowRange {
    /// Their numbers, in C order of the axes before the last.
    pub rows: Range<usize>,
    /// How many rows of the same matrix of the last two axes come after them.
    pub after: u64,
}

/// Where an array is cut.
pub struct Cuts {
    shape: Vec<u64>,
    /// The axis that is cut, if one is.
    axis: Option<usize>,
    /// Indices of that axis in a piece.
    each: u64,
}

impl Cuts {
    /// An array of `shape`, whose rows are along axis `rows`, in pieces of about so many elements.
    pub fn new(shape: &[u64], rows: usize, elements: u64) -> Self {
        let inner = |axis: usize| shape[axis + 1..].iter().product::<u64>().max(1);
        let axis = (0..rows).find(|axis| inner(*axis) <= elements).or(rows.checked_sub(1));
        Self {
            shape: shape.to_vec(),
            axis,
            each: axis.map_or(1, |axis| (elements / inner(axis)).max(1)),
        }
    }

    /// How many pieces; none of an array of nothing but one, so that what is wrong with it is found.
    pub fn count(&self) -> u64 {
        match self.axis {
            Some(axis) if !self.shape.contains(&0) => {
                self.shape[..axis].iter().product::<u64>() * self.shape[axis].div_ceil(self.each)
            }
            _ => 1,
        }
    }

    /// One of them.
    pub fn piece(&self, number: u64) -> ArrayPiece {
        let extent = self.axis.map_or(1, |axis| self.shape[axis]);
        if self.shape.contains(&0) {
            let (start, count, outer) = (0, extent, 0);
            return ArrayPiece { start, count, outer };
        }
        let of_axis = extent.div_ceil(self.each);
        let start = number % of_axis * self.each;
        ArrayPiece {
            start,
            count: self.each.min(extent - start),
            outer: number / of_axis,
        }
    }

    /// The piece of another array of that shape, however it is laid out.
    pub fn of(&self, piece: ArrayPiece, layout: &Layout) -> Result<Layout, Failure> {
        let Some(axis) = self.axis.filter(|_| !self.shape.contains(&0)) else {
            return Ok(layout.clone());
        };
        let mut part = layout.sliced(axis as i64, piece.start, piece.count, 1)?;
        let mut outer = piece.outer;
        for before in (0..axis).rev() {
            part = part.sliced(before as i64, outer % self.shape[before], 1, 1)?;
            outer /= self.shape[before];
        }
        Ok(part)
    }

    /// Which rows are in a piece, where they are along the last axis.
    pub fn part(&self, piece: ArrayPiece) -> RowRange {
        let (first, end) = self.elements(piece);
        let len = self.shape.last().map_or(1, |len| *len).max(1);
        RowRange {
            rows: (first / len) as usize..(end / len) as usize,
            after: match self.axis {
                Some(axis) if axis + 2 == self.shape.len() => self.shape[axis] - piece.start - piece.count,
                _ => 0,
            },
        }
    }

    /// The numbers of the first element of a piece and of the one after its last, in C order.
    fn elements(&self, piece: ArrayPiece) -> (u64, u64) {
        match self.axis {
            None => (0, self.shape.iter().product()),
            Some(axis) => {
                let inner: u64 = self.shape[axis + 1..].iter().product();
                let first = (piece.outer * self.shape[axis] + piece.start) * inner;
                (first, first + piece.count * inner)
            }
        }
    }
}

/// Where the elements of a piece come from.
pub enum Source<'a, T> {
    /// The file, in C order, where each piece is read when it is needed.
    File(&'a Tensor),
    /// Memory, where all of them are.
    Memory(Vec<T>, Layout),
}

impl<'a, T: reading::Read + Element> Source<'a, T> {
    /// The elements of an array of that shape, or of one that broadcasts to it.
    pub fn new(tensor: &'a Tensor, shape: &[u64]) -> Result<Self, Failure> {
        if tensor.shape() == shape && tensor.is_seekable() {
            return Ok(Self::File(tensor));
        }
        let (values, layout) = reading::in_place::<T>(tensor)?;
        Ok(Self::Memory(values, layout.broadcast(shape)?))
    }

    /// Gives a piece to a function.
    pub fn with<R>(
        &self,
        cuts: &Cuts,
        piece: ArrayPiece,
        map: impl FnOnce(View<'_, T>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        match self {
            Self::Memory(values, layout) => map(View::new(values, &cuts.of(piece, layout)?)?),
            Self::File(tensor) => {
                let (first, end) = cuts.elements(piece);
                let mut values = room(end - first).map_err(|_| reading::no_memory(tensor))?;
                values.resize((end - first) as usize, T::zeroed());
                reading::part(tensor, first, &mut values)?;
                let shape = cuts.of(piece, &Layout::c_order(&cuts.shape)?)?.shape().to_vec();
                map(View::new(&values, &Layout::c_order(&shape)?)?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element is in one piece, and all of a row in the same.
    #[test]
    fn pieces_are_all_of_an_array() {
        for (shape, rows) in [
            (&[7, 3, 5][..], 2),
            (&[7, 3, 5], 1),
            (&[7, 3, 5], 0),
            (&[1, 1, 4], 2),
            (&[2, 0, 3], 2),
            (&[0, 4], 1),
            (&[9], 0),
        ] {
            for elements in [1, 4, 5, 15, 16, 31, 1000] {
                let cuts = Cuts::new(shape, rows, elements);
                let all = Layout::c_order(shape).unwrap();
                let mut next = 0;
                for number in 0..cuts.count() {
                    let piece = cuts.piece(number);
                    let (first, end) = cuts.elements(piece);
                    assert_eq!(first, next, "{shape:?} {rows} {elements}");
                    let part = cuts.of(piece, &all).unwrap();
                    assert_eq!((part.len(), part.shape().len()), (end - first, shape.len()));
                    assert_eq!(part.shape()[rows..], shape[rows..]);
                    assert!(part.is_empty() || part.offset() == first);
                    next = end;
                }
                assert_eq!(next, shape.iter().product::<u64>());
            }
        }
    }

    /// A causal row of a piece sees what it sees in the whole.
    #[test]
    fn rows_after_a_piece_are_counted() {
        let cuts = Cuts::new(&[2, 5, 3], 2, 6);
        let parts: Vec<RowRange> = (0..cuts.count()).map(|i| cuts.part(cuts.piece(i))).collect();
        assert!(parts.iter().map(|part| part.after).eq([3, 1, 0, 3, 1, 0]));
        assert!(
            parts
                .iter()
                .map(|part| part.rows.clone())
                .eq([0..2, 2..4, 4..5, 5..7, 7..9, 9..10])
        );
        let cuts = Cuts::new(&[8, 5, 3], 2, 30);
        assert_eq!(cuts.part(cuts.piece(0)).after, 0);
    }
}
