//! What a lane has read: all that loads yield, and what [`thread`](crate::stages::reduce::thread) folds.

use crate::{
    monoids::Monoid,
    simt::Simt,
    stages::load::{
        source::Source,
        words::{ALL, Vectors, WORDS, each_row},
    },
    tree::{Part, place, vector_elements},
};

/// What a lane has read of an extent: `N` vectors, a row of a leaf apart, of which the first `present` places hold elements; the first
/// is the extent's of number `base`.
#[derive(Clone, Copy)]
pub struct Fragment<T: Source, const N: usize> {
    pub(crate) words: T::Each<Vectors<N>>,
    pub(crate) present: u32,
    pub(crate) base: u64,
}

impl<T: Source, const N: usize> Part<T> for Fragment<T, N> {
    const ROWS: usize = N;
    const COLUMNS: usize = vector_elements::<T>();
    const AT_HAND: bool = true;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        let place = place::<T>(row, column);
        if (place as u32) < self.present {
            op.lift(T::item(&self.words, row, column), place)
        } else {
            op.identity()
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn full(self) -> Option<Self> {
        (self.present >= Self::PLACES).then_some(Self { present: ALL, ..self })
    }
}

impl<T: Source, const N: usize> Fragment<T, N> {
    /// Where the last row ends.
    const PLACES: u32 = place::<T>(N - 1, vector_elements::<T>()) as u32;

    /// What was read for an operator: with its filler, if it has one, where there is no element, so that all of it counts as present.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn new<M: Monoid<T>>(op: M, words: T::Each<Vectors<N>>, present: u32, base: u64) -> Self {
        let present = if op.filler().is_some() { ALL } else { present };
        Self { words, present, base }
    }

    /// What stands where one is read later: nothing is known of its fold.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn unread<M: Monoid<T>>(op: M) -> Self {
        Self::new(op, T::each(|_| each_row(|_| [0; WORDS])), 0, 0)
    }

    /// The same, for a second pass that shares nothing with the first: registers are dearer than instructions.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn opaque<S: Simt>(self, simt: S) -> Self {
        let words = T::map(self.words, |words| {
            each_row(|row| words[row].map(|word| simt.opaque(word)))
        });
        Self { words, ..self }
    }
}
