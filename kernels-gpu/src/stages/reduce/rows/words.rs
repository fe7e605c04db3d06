//! Operators of which a lane's vectors are folded word by word.

use super::{OfSlots, Transposed, combine_vectors, transpose};
use crate::{
    monoids::{Monoid, Words as _},
    simt::Simt,
    stages::{
        each::each,
        load::{
            rows::{RowVectors, Tiling, VECTORS},
            source::Source,
        },
        reduce::{packed::Packed, two_passes::TwoPasses},
    },
    tree::{row_elements, vector_elements},
};

/// What [`fold`](super::fold) and [`transpose`] do, of an operator that is a [maximum](super::super::packed::is_maximum): with a word in the place of each state.
///
/// Called by: all 32 lanes together · Valid in: every lane, of the slots that [`Transposed`] names · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce_words<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    read: RowVectors,
    held: Transposed,
) -> OfSlots<M::State> {
    let (packed, Tiling { lanes, depth, .. }) = (Packed(op), read.tiling);
    let mut words = [0; VECTORS];
    each!(i < VECTORS => words[i] = packed.word([read.vectors[i]]));
    let [words] = combine_vectors(packed, [words], depth);
    let words = transpose(simt, packed, words, held, lanes);
    let mut states = [op.identity(); VECTORS];
    each!(i < VECTORS => states[i] = M::State::from_words(|_| words[i]));
    states
}

/// The same of an operator that [seeks a largest element](super::super::two_passes::takes_two_passes), by words: how large it is, and then which elements are. The state of
/// [`TwoPasses`] is in the place of each. Where there is a NaN they are any, and it says so.
///
/// Called by: all 32 lanes together · Valid in: every lane, of the slots that [`Transposed`] names · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn two_passes<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    read: RowVectors,
    held: Transposed,
) -> (OfSlots<M::State>, bool) {
    debug_assert!(M::State::COUNT > 1, "two words take the place of a state");
    let (passes, Tiling { lanes, depth, .. }) = (TwoPasses(op), read.tiling);
    let largest = largest_of_rows(op, read);
    let mut has_nan = false;
    each!(i < VECTORS => has_nan |= passes.is_nan(largest[i]));
    let matches = matches_of_rows(op, read, largest);
    let first = read.tiling.lane(simt) * vector_elements::<T>() as u32;
    let mut states = [0; VECTORS];
    each!(i < VECTORS => if i < VECTORS >> depth {
        states[i] = passes.state(largest[i], matches[i], first);
    });
    if depth > 2 {
        // Four vectors of 16-bit elements fill a word with matches.
        let further = passes.state(largest[0], matches[1], first + 4 * row_elements::<T>() as u32);
        states[0] = u64::max(states[0], further);
    }
    let states = transpose(simt, passes, states, held, lanes);
    let mut of = [op.identity(); VECTORS];
    each!(i < VECTORS => of[i] = M::State::from_words(|at| if at < 2 { states[i].word(at) } else { 0 }));
    (of, has_nan)
}

/// The largest element of each slot, at all places of a word; behind those, of what each was made from.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn largest_of_rows<T: Source, M: Monoid<T>>(op: M, read: RowVectors) -> [u32; VECTORS] {
    let mut largest = [0; VECTORS];
    each!(i < VECTORS => largest[i] = TwoPasses(op).largest(read.vectors[i]));
    // Of a row those that are there are first.
    let larger = |a, b, at: u32| {
        if read.present & 1 << at == 0 {
            a
        } else {
            Packed(op).combine(a, b)
        }
    };
    if read.tiling.depth > 0 {
        each!(i < 4, 4 => largest[i] = larger(largest[2 * i], largest[2 * i + 1], 2 * i as u32 + 1));
    }
    if read.tiling.depth > 1 {
        each!(i < 2, 2 => largest[i] = larger(largest[2 * i], largest[2 * i + 1], 4 * i as u32 + 2));
    }
    if read.tiling.depth > 2 {
        largest[0] = larger(largest[0], largest[1], 4);
    }
    largest
}

/// The elements of each slot that [match](TwoPasses::matches) its largest. Of eight vectors of 16-bit elements those of the last four are in the second place.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn matches_of_rows<T: Source, M: Monoid<T>>(op: M, read: RowVectors, largest: [u32; VECTORS]) -> [u32; VECTORS] {
    let (depth, bits) = (read.tiling.depth, vector_elements::<T>() as u32);
    // That of each vector's row. No index that a compiler does not know: it would keep them in memory.
    let [mut a, mut b, mut c, mut d, ..] = largest;
    if depth > 2 {
        b = a;
    }
    if depth > 1 {
        (a, b, c, d) = (a, a, b, b);
    }
    let of_row = if depth > 0 { [a, a, b, b, c, c, d, d] } else { largest };
    let mut matches = [0; VECTORS];
    each!(i < VECTORS => if read.present & 1 << i != 0 {
        matches[i] = TwoPasses(op).matches(read.vectors[i], of_row[i]);
    });
    if depth > 0 {
        each!(i < 4, 4 => matches[i] = matches[2 * i] | matches[2 * i + 1] << bits);
    }
    if depth > 1 {
        each!(i < 2, 2 => matches[i] = matches[2 * i] | matches[2 * i + 1] << (2 * bits));
    }
    if depth > 2 && bits == 4 {
        (matches[0], matches[1]) = (matches[0] | matches[1] << 16, 0);
    }
    matches
}
