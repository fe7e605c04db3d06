//! Elements that follow one another: what a lane reads of leaves and of shorter extents, by whole vectors where it can.

use crate::{
    element::Item,
    monoids::Monoid,
    simt::Simt,
    stages::{
        load::{
            around::Around,
            extents::{Input, after},
            fragment::Fragment,
            source::{Aligned, At, Elements, Ragged, Source, Way, Whole, Within, load},
            words::ALL,
        },
        narrow,
    },
    tree::{ROWS, leaf_elements, vector_elements},
};

/// How many leaves are read by whole vectors: the first.
#[must_use]
pub fn whole_leaves<T: Source>(input: Input<T>) -> u64 {
    if input.is_aligned() { input.whole_leaves() } else { 0 }
}

/// Reads this lane's part of leaf `leaf`, one of the [`whole_leaves`], all eight vectors in flight together.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch, and `leaf` is one of those.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn load_whole<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    input: Input<T>,
    leaf: u64,
) -> Fragment<T, ROWS> {
    let base = base::<S, T>(simt, leaf);
    // SAFETY: a whole leaf lies inside the input; a lane's vectors keep its alignment.
    unsafe { load_part(simt, op, Whole, input, base, ALL) }
}

/// Reads this lane's part of leaf `leaf`, of any alignment and length.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch, and so is what is around it.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn load_leaf<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    input: Input<T>,
    leaf: u64,
) -> Fragment<T, ROWS> {
    // SAFETY: passed on to the caller.
    unsafe {
        if leaf < whole_leaves(input) {
            load_whole(simt, op, input, leaf)
        } else {
            load_rows(simt, op, Ragged, input, base::<S, T>(simt, leaf))
        }
    }
}

/// Reads the first `N` rows of this lane's part of leaf `leaf`, which has no more: by whole vectors where the input is `wide`, aligned and of nothing but whole vectors.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// As [`load_leaf`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn load_first_rows<S: Simt, T: Source, M: Monoid<T>, const N: usize>(
    simt: S,
    op: M,
    input: Input<T>,
    leaf: u64,
    wide: bool,
) -> Fragment<T, N> {
    let base = base::<S, T>(simt, leaf);
    // SAFETY: passed on to the caller.
    unsafe {
        if wide {
            load_rows(simt, op, Aligned, input, base)
        } else {
            load_rows(simt, op, Ragged, input, base)
        }
    }
}

/// Reads this lane's part of an extent of at most a leaf.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// As [`load_leaf`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn load_extent<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>) -> Fragment<T, ROWS> {
    let base = base::<S, T>(simt, 0);
    // SAFETY: passed on to the caller.
    unsafe {
        if has_whole_vectors(input) {
            load_rows(simt, op, Aligned, input, base)
        } else {
            load_rows(simt, op, Ragged, input, base)
        }
    }
}

/// Reads vector `vector` of each of four extents that have at most one row of one leaf, all in flight together.
///
/// Called by: any thread · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// As [`load_leaf`], for each.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn load_vector_of_each<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    inputs: [Input<T>; 4],
    vector: u32,
) -> [Fragment<T, 1>; 4] {
    let [a, b, c, d] = inputs;
    let base = u64::from(vector) * vector_elements::<T>() as u64;
    // One way for all of them.
    if has_whole_vectors(a) && has_whole_vectors(b) && has_whole_vectors(c) && has_whole_vectors(d) {
        // SAFETY: passed on to the caller.
        return unsafe { load_each(simt, op, Aligned, inputs, base) };
    }
    if T::MASKED {
        // Each lane as it can: a mask may be one row for all, and end with each.
        // SAFETY: passed on to the caller.
        return unsafe { load_each(simt, op, Ragged, inputs, base) };
    }
    if a.has_words() && b.has_words() && c.has_words() && d.has_words() {
        // SAFETY: passed on to the caller.
        return unsafe { load_each(simt, op, Within, inputs, base) };
    }
    // At an end of what may be read, which few warps reach: little code, one after the other.
    let mut read = [Fragment::unread(op); 4];
    let mut left = inputs;
    let mut turn = simt.opaque(0);
    while turn < 4 {
        let [input, b, c, d] = left;
        left = [b, c, d, input];
        let [_, f, g, h] = read;
        // SAFETY: passed on to the caller.
        read = [f, g, h, unsafe { load_rows(simt, op, Elements, input, base) }];
        turn = simt.opaque(turn + 1);
    }
    read
}

/// The vectors of four extents that begin at element `base`, in one way.
///
/// # Safety
///
/// As [`load_rows`], for each.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_each<S: Simt, T: Source, M: Monoid<T>, W: Way>(
    simt: S,
    op: M,
    way: W,
    [a, b, c, d]: [Input<T>; 4],
    base: u64,
) -> [Fragment<T, 1>; 4] {
    // SAFETY: passed on to the caller.
    unsafe {
        [
            load_rows(simt, op, way, a, base),
            load_rows(simt, op, way, b, base),
            load_rows(simt, op, way, c, base),
            load_rows(simt, op, way, d, base),
        ]
    }
}

/// Reads `N` vectors from `from` on, a row apart, of which the first `present` places hold elements; by one load each where they are
/// `wide`: all of a vector then, or nothing; else by words. They begin at place `first` of their extent.
///
/// Called by: any thread · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// As [`load_leaf`]; vectors that are wide and not absent are aligned, and valid as a whole; of others all words that hold an element
/// are valid, and nobody writes them.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn load_vectors<S: Simt, T: Source, M: Monoid<T>, const N: usize>(
    simt: S,
    op: M,
    from: At<T>,
    first: u32,
    present: u32,
    wide: bool,
    around: T::Each<Around>,
) -> Fragment<T, N> {
    // SAFETY: passed on to the caller.
    let words = unsafe {
        if wide {
            load::<S, T, _, N>(simt, Aligned, from, present, around, op.filler())
        } else {
            load::<S, T, _, N>(simt, Within, from, present, around, op.filler())
        }
    };
    Fragment::new(op, words, present, first.into())
}

/// Whether of each vector of an extent all is present, or nothing, and it is aligned.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn has_whole_vectors<T: Source>(input: Input<T>) -> bool {
    input.is_aligned() && input.len.is_multiple_of(vector_elements::<T>() as u64)
}

/// The vectors of an extent's rows that begin at element `base`.
///
/// # Safety
///
/// As [`load_leaf`], and as the way has it.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_rows<S: Simt, T: Source, M: Monoid<T>, W: Way, const N: usize>(
    simt: S,
    op: M,
    way: W,
    input: Input<T>,
    base: u64,
) -> Fragment<T, N> {
    let present = narrow(simt, u64::saturating_sub(input.len, base));
    // SAFETY: passed on to the caller.
    unsafe { load_part(simt, op, way, input, base, present) }
}

/// The same, the first `present` places of them.
///
/// # Safety
///
/// As [`load_rows`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_part<S: Simt, T: Source, M: Monoid<T>, W: Way, const N: usize>(
    simt: S,
    op: M,
    way: W,
    input: Input<T>,
    base: u64,
    present: u32,
) -> Fragment<T, N> {
    let from = after::<T>(input.start, base);
    // SAFETY: passed on to the caller.
    let words = unsafe { load::<S, T, _, N>(simt, way, from, present, input.around, op.filler()) };
    Fragment::new(op, words, present, base)
}

/// Index of this lane's first element of a leaf.
pub(crate) fn base<S: Simt, T: Item>(simt: S, leaf: u64) -> u64 {
    leaf * leaf_elements::<T>() as u64 + u64::from(simt.lane()) * vector_elements::<T>() as u64
}
