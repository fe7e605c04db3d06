//! Elements that follow one another: what a lane reads of leaves and of shorter extents, by whole vectors where it can.

use crate::{
    element::Item,
    monoids::Monoid,
    simt::Simt,
    stages::{
        load::{
            extents::{Input, after},
            fragment::Fragment,
            source::{Access, Aligned, Elements, Ragged, Source, Whole, Within, load},
            words::ALL,
        },
        narrow,
    },
    tree::{ROWS, leaf_elements, vector_elements},
};

/// Reads this lane's part of leaf `leaf`, all eight vectors in flight together; nothing, if the leaf is not whole or the input not aligned.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn load_whole<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    input: Input<T>,
    leaf: u64,
) -> Option<Fragment<T, ROWS>> {
    is_whole(input, leaf).then(|| load_part(simt, op, Whole, input, base::<S, T>(simt, leaf), ALL))
}

/// Whether a leaf is read by whole vectors: of an input that is aligned those that are whole.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn is_whole<T: Source>(input: Input<T>, leaf: u64) -> bool {
    leaf < if input.is_aligned() { input.whole_leaves() } else { 0 }
}

/// Reads this lane's part of leaf `leaf`, of any alignment and length.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn load_leaf<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>, leaf: u64) -> Fragment<T, ROWS> {
    // Not `load_whole`, whose answer a compiler would copy.
    if is_whole(input, leaf) {
        load_part(simt, op, Whole, input, base::<S, T>(simt, leaf), ALL)
    } else {
        load_rows(simt, op, Ragged, input, base::<S, T>(simt, leaf))
    }
}

/// Reads the first `N` rows of this lane's part of leaf `leaf`, which has no more: by whole vectors where the input is `wide`, aligned and of nothing but whole vectors.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn load_first_rows<S: Simt, T: Source, M: Monoid<T>, const N: usize>(
    simt: S,
    op: M,
    input: Input<T>,
    leaf: u64,
    wide: bool,
) -> Fragment<T, N> {
    let base = base::<S, T>(simt, leaf);
    if wide {
        debug_assert!(has_whole_vectors(input), "whole vectors");
        load_rows(simt, op, Aligned, input, base)
    } else {
        load_rows(simt, op, Ragged, input, base)
    }
}

/// Reads this lane's part of an extent of at most a leaf.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn load_extent<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>) -> Fragment<T, ROWS> {
    load_first_rows(simt, op, input, 0, has_whole_vectors(input))
}

/// Reads vector `vector` of each of four extents that have at most one row of one leaf, all in flight together.
///
/// Called by: any thread · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn load_vector_of_each<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    inputs: [Input<T>; 4],
    vector: u32,
) -> [Fragment<T, 1>; 4] {
    let [a, b, c, d] = inputs;
    let base = u64::from(vector) * vector_elements::<T>() as u64;
    // One way for all of them.
    if has_whole_vectors(a) && has_whole_vectors(b) && has_whole_vectors(c) && has_whole_vectors(d) {
        return load_each(simt, op, Aligned, inputs, base);
    }
    if T::MASKED {
        // Each lane as it can: a mask may be one row for all, and end with each.
        return load_each(simt, op, Ragged, inputs, base);
    }
    if a.has_words() && b.has_words() && c.has_words() && d.has_words() {
        return load_each(simt, op, Within, inputs, base);
    }
    // At an end of what may be read, which few warps reach: little code, one after the other.
    let mut read = [Fragment::unread(op); 4];
    let mut left = inputs;
    let mut turn = simt.opaque(0);
    while turn < 4 {
        let [input, b, c, d] = left;
        left = [b, c, d, input];
        let [_, f, g, h] = read;
        read = [f, g, h, load_rows(simt, op, Elements, input, base)];
        turn = simt.opaque(turn + 1);
    }
    read
}

/// The vectors of four extents that begin at element `base`, in one way.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn load_each<S: Simt, T: Source, M: Monoid<T>, W: Access>(
    simt: S,
    op: M,
    access: W,
    [a, b, c, d]: [Input<T>; 4],
    base: u64,
) -> [Fragment<T, 1>; 4] {
    [
        load_rows(simt, op, access, a, base),
        load_rows(simt, op, access, b, base),
        load_rows(simt, op, access, c, base),
        load_rows(simt, op, access, d, base),
    ]
}

/// Reads `N` vectors of an extent, a row apart, from element `first` on, of which there are `present`: by one load each where they are
/// `wide`, aligned and whole or absent; else by words, all of which that hold an element may be read.
///
/// Called by: any thread · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn load_vectors<S: Simt, T: Source, M: Monoid<T>, const N: usize>(
    simt: S,
    op: M,
    input: Input<T>,
    first: u32,
    present: u32,
    wide: bool,
) -> Fragment<T, N> {
    debug_assert!(
        present <= u32::saturating_sub(input.len as u32, first),
        "elements of the extent"
    );
    if wide {
        debug_assert!(present == 0 || has_whole_vectors(input), "whole vectors");
        load_part(simt, op, Aligned, input, first.into(), present)
    } else {
        debug_assert!(present == 0 || input.has_words(), "all words may be read");
        load_part(simt, op, Within, input, first.into(), present)
    }
}

/// Whether of each vector of an extent all is present, or nothing, and it is aligned.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn has_whole_vectors<T: Source>(input: Input<T>) -> bool {
    input.is_aligned() && input.len.is_multiple_of(vector_elements::<T>() as u64)
}

/// The vectors of an extent's rows that begin at element `base`, in a way that the extent allows.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn load_rows<S: Simt, T: Source, M: Monoid<T>, W: Access, const N: usize>(
    simt: S,
    op: M,
    access: W,
    input: Input<T>,
    base: u64,
) -> Fragment<T, N> {
    let present = narrow(simt, u64::saturating_sub(input.len, base));
    load_part(simt, op, access, input, base, present)
}

/// The same, the first `present` places of them.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn load_part<S: Simt, T: Source, M: Monoid<T>, W: Access, const N: usize>(
    simt: S,
    op: M,
    access: W,
    input: Input<T>,
    base: u64,
    present: u32,
) -> Fragment<T, N> {
    let from = after::<T>(input.start, base);
    // SAFETY: so many elements are the input's, and whoever chose the way has asked what it may read.
    let words = unsafe { load::<S, T, _, N>(simt, access, from, present, input.around, op.filler()) };
    Fragment::new(op, words, present, base)
}

/// Index of this lane's first element of a leaf.
pub(crate) fn base<S: Simt, T: Item>(simt: S, leaf: u64) -> u64 {
    leaf * leaf_elements::<T>() as u64 + u64::from(simt.lane()) * vector_elements::<T>() as u64
}
