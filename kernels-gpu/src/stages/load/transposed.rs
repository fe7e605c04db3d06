//! Small elements of neighbouring answers that lie side by side: they share words.
//!
//! As many lanes as a word has elements read that many words together, each the elements of all their answers at another place, and
//! exchange them:
//!
//! ```text
//! lane            0        1        2        3                   0        1        2        3
//! reads at place  0        1        2        3          has of   a        b        c        d
//!                 a₀b₀c₀d₀ a₁b₁c₁d₁ a₂b₂c₂d₂ a₃b₃c₃d₃            a₀a₁a₂a₃ b₀b₁b₂b₃ c₀c₁c₂c₃ d₀d₁d₂d₃
//! ```

use crate::{
    element::Item,
    simt::Simt,
    stages::load::{
        gather::{Places, can_share},
        source::{Read, Source},
        words::{Vectors, WORDS, each_row, word_elements},
    },
    tree::{place, row_elements},
};

/// Whether the first half of a part's rows is read and exchanged by itself, where the others are absent: of elements of 2 bytes, of which a
/// leaf has so many that there are extents of less.
pub(crate) const fn folds_half<T: Source>() -> bool {
    can_share::<T>() && T::BYTES == 2
}

/// The words of a part's first rows, whose elements share theirs with the neighbours'.
///
/// Read by: all 32 lanes together, with the same first element · Valid in: every lane
#[derive(Clone, Copy)]
pub(crate) struct TransposedLoads<T: Source>(pub(crate) Places<T>);

impl<T: Source, const N: usize> Read<N> for TransposedLoads<T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn read<S: Simt>(self, simt: S) -> Vectors<N> {
        let read = load_shared::<S, T, N>(simt, self.0);
        each_row(|row| read[row].map(|word| exchanged::<S, T>(simt, word)))
    }
    /// Never: elements that have a mask share no words.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn read_mask<S: Simt>(self, _: S) -> Vectors<N> {
        each_row(|_| [0; WORDS])
    }
}

/// The words that this lane reads of a part's first `N` rows: of each it has the elements of all answers that share it, at one place of their extents.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn load_shared<S: Simt, T: Source, const N: usize>(simt: S, places: Places<T>) -> Vectors<N> {
    let Places {
        start,
        first,
        present,
        filler,
        ..
    } = places;
    let elements = word_elements::<T>();
    let place_in_word = simt.lane() % elements as u32;
    let step = T::of(places.extents.step, places.array) as isize;
    let left = simt.opaque(u32::saturating_sub(present, place_in_word));
    let offset = (first + u64::from(place_in_word)) as isize * step - place_in_word as isize;
    let mut from = start.wrapping_offset(offset);
    // All are read before any is exchanged.
    each_row(|row| {
        let mut at = from;
        from = from.wrapping_offset(row_elements::<T>() as isize * step);
        let mut word = |i: usize| {
            let here = at;
            at = at.wrapping_offset(elements as isize * step);
            if place::<T>(row, i * elements) as u32 >= left {
                return filler.unwrap_or_default()[0];
            }
            // SAFETY: the word is of as many answers as it has elements, all at a place that is present.
            unsafe { simt.load_input(here.cast()) }
        };
        [word(0), word(1), word(2), word(3)]
    })
}

/// Of the words that some lanes read, each at another place, this lane's answer's elements at all of these places.
///
/// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn exchanged<S: Simt, T: Item>(simt: S, word: u32) -> u32 {
    let exchange = |word: u32, reach: u32, [first, second]: [u32; 2]| {
        let digits = if simt.lane() & reach == 0 { first } else { second };
        simt.byte_perm(word, simt.shuffle_xor(word, reach), digits)
    };
    // Halves of words; bytes, and then halves.
    if T::BYTES == 2 {
        exchange(word, 1, [0x5410, 0x3276])
    } else {
        exchange(exchange(word, 1, [0x6240, 0x3715]), 2, [0x5410, 0x3276])
    }
}
