//! The CPU backend: the same operators, the same canonical tree, so the same bits as the GPU.
//!
//! All cores work (rayon's global pool, so `RAYON_NUM_THREADS` is obeyed), with the widest vector instructions the
//! machine has, found when the program runs. Where the system starts no thread, the calling thread works alone
//! ([`thread_fault`]).

mod any_order;
pub(crate) mod axes;
pub(crate) mod carries;
mod distinct;
pub(crate) mod erased;
mod in_order;
mod leaves;
mod named;
mod plain;
pub(crate) mod pool;
mod prefilter;
mod rows;
pub(crate) mod rowwise;
mod run;
mod segments;
mod short;
mod states;
mod strided;
mod unordered;

pub use axes::reduce_axes;
pub use distinct::{distinct, distinct_axes, distinct_segments};
pub use named::*;
pub use pool::{after_fork, set_threads, thread_fault};
pub use segments::reduce_segments;

use std::ops::Range;

use erased::{AnyFold, Fold};
use pulp::Arch;
use warpfold_kernels::{element::Element, tree::leaf_elements};

use crate::{
    Error,
    layout::extent::Extent,
    operand::{
        Shapes,
        source::{One, RUN},
    },
    ops::{
        OpFacts, Reduction,
        untyped::{Answers, Lens, of_words},
    },
    pieces,
    room::room,
};

/// Bytes of short extents that a thread folds before it takes others.
const TASK: usize = 1 << 17;

/// Folds `values` to one answer, in the canonical tree.
///
/// NaN, ties, signed zeros: as each operator says ([`ops`](crate::ops)). Over nothing the answer is the operator's own
/// (0, 1, NaN), if it has one.
///
/// Cost: every byte is read once; up to 256 leaves (1 MiB) one thread and no allocation, above all of the pool's threads.
///
/// # Errors
///
/// [`Error::EmptyExtent`] where `values` is empty and the operator has no answer for that; [`Error::Parameter`] for a correction or a
/// power that has no meaning.
///
/// ```
/// use warpfold::{cpu, ops::{ArgMax, Sum}};
///
/// assert_eq!(cpu::reduce(Sum, &[1.5_f32, 2.0, -0.5])?, 3.0);
/// assert_eq!(cpu::reduce(ArgMax, &[1.5_f32, 2.0, 2.0])?, 1);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Integers are summed in 64 bits, truths counted:
///
/// ```
/// use warpfold::{cpu, ops::{Mean, Min, Sum}};
///
/// assert_eq!(cpu::reduce(Sum, &[200_u8, 100])?, 300_u64);
/// assert_eq!(cpu::reduce(Min, &[3_i64, i64::MIN, 0])?, i64::MIN);
/// assert_eq!(cpu::reduce(Sum, &[true, false, true])?, 2_i64);
/// assert_eq!(cpu::reduce(Mean, &[1_i16, 2])?, 1.5_f64);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn reduce<T: Element, R: Reduction<T>>(op: R, values: &[T]) -> Result<R::Answer, Error> {
    OpFacts::of::<T, R>(op).check()?;
    pieces::finish::<R, T>(op, values.len() as u64, fold(op, values))
}

/// Folds `values` to the state of a run, to go on with: see [`Pieces`](crate::pieces::Pieces).
///
/// Positions count from the start of `values`. The state of nothing is the operator's identity. Cost as [`reduce`].
#[must_use]
pub fn fold<T: Element, R: Reduction<T>>(op: R, values: &[T]) -> R::State {
    if values.len() <= RUN * leaf_elements::<T>() {
        return run::fold(Arch::new(), op.monoid(), values, 0);
    }
    of_words(&fold_all(&Fold::new(op, One(values))))
}

/// The answers of arrays of any kind, over extents of any kind.
pub(crate) fn answers(fold: &dyn AnyFold, shapes: &Shapes, extent: Extent<'_>) -> Result<Answers, Error> {
    match (extent, shapes.run()?) {
        (Extent::Whole, Some(len)) => {
            let untyped = fold.untyped();
            untyped.facts().check_extent(len)?;
            let mut bytes = untyped.over_nothing();
            untyped.finish(&fold_all(fold), len, &mut bytes);
            Ok(Answers { shape: vec![], bytes })
        }
        (Extent::In(segments), _) => {
            shapes.in_order()?;
            segments::fold_in(fold, segments)
        }
        (extent, _) => axes::fold_along(fold, &shapes.along(&extent.axes())?.extents),
    }
}

/// The words of the state of all of arrays in order, to go on with.
pub(crate) fn state(fold: &dyn AnyFold, shapes: &Shapes) -> Result<Vec<u32>, Error> {
    shapes.in_order()?;
    Ok(fold_all(fold))
}

fn fold_all(fold: &dyn AnyFold) -> Vec<u32> {
    let mut state = vec![0; fold.untyped().words()];
    fold_tree(fold, 0..fold.len(), 0, &mut state);
    state
}

/// A subtree whose first element has that position. The halves part at a power of two leaves, as the canonical tree does.
pub(crate) fn fold_tree(fold: &dyn AnyFold, items: Range<usize>, position: u64, state: &mut [u32]) {
    let untyped = fold.untyped();
    let leaf = untyped.facts().leaf_elements() as usize;
    let leaves = items.len().div_ceil(leaf);
    if leaves <= fold.leaves_at_once() {
        let len = items.len();
        fold.each(items, &[0], Lens::All(len), state);
        untyped.shift(state, position);
        return;
    }
    let half = leaves.next_power_of_two() / 2 * leaf;
    let middle = items.start + half;
    let mut high = vec![0; state.len()];
    pool::join(
        leaves > RUN,
        &mut || fold_tree(fold, items.start..middle, position, state),
        &mut || fold_tree(fold, middle..items.end, position + half as u64, &mut high),
    );
    untyped.combine(state, &high);
}

/// `count` answers, all the same, packed.
pub(crate) fn filled(answer: &[u8], count: u64) -> Result<Vec<u8>, Error> {
    let bytes = count.saturating_mul(answer.len() as u64);
    let mut answers = room::<u8>(bytes).map_err(|_| Error::LengthOverflow {
        elements: count,
        element_bytes: answer.len(),
    })?;
    if answer.iter().all(|byte| *byte == 0) {
        answers.resize(bytes as usize, 0);
    } else {
        (0..count).for_each(|_| answers.extend_from_slice(answer));
    }
    Ok(answers)
}

/// How many threads fold: those of rayon's pool; 1 where the system starts none ([`thread_fault`]).
#[must_use]
pub fn threads() -> usize {
    pool::threads()
}

/// The vector instructions that fold.
#[must_use]
pub fn vector_instructions() -> &'static str {
    match Arch::new() {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(_) => "AVX-512",
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) => "AVX2",
        #[cfg(target_arch = "aarch64")]
        Arch::Neon(_) => "NEON",
        _ => "none: column by column",
    }
}
