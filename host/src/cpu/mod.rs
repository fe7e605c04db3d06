//! The CPU backend: the same operators, the same canonical tree, so the same bits as the GPU.
//!
//! All cores work (rayon's global pool, so `RAYON_NUM_THREADS` is obeyed), with the widest vector instructions the
//! machine has, found when the program runs.

mod any_order;
mod axes;
mod distinct;
mod in_order;
mod masks;
mod named;
mod pairs;
mod rows;
mod run;
mod segments;
mod short;
mod states;
mod strided;
mod values;

pub use axes::reduce_axes;
pub use distinct::{distinct, distinct_axes, distinct_segments};
pub use masks::{fold_where, reduce_where, reduce_where_axes, reduce_where_segments};
pub use named::*;
pub use pairs::{fold_pair, reduce_pair, reduce_pair_axes, reduce_pair_segments};
pub use segments::reduce_segments;

use pulp::Arch;
use run::RUN;
use values::Values;
use warpfold_kernels::{
    element::{Element, Item},
    monoids::Monoid,
    tree::leaf_elements,
};

use crate::{
    Error,
    ops::{EmptyInput as _, Reduction},
};

/// Bytes of short extents that a thread folds before it takes others.
const TASK: usize = 1 << 17;

/// Folds `values` to one answer, in the canonical tree.
///
/// NaN, ties, signed zeros: as each operator says ([`ops`](crate::ops)). Over nothing the answer is the operator's own
/// (0, 1, NaN), if it has one.
///
/// Cost: every byte is read once; no allocation; one thread up to 256 leaves (1 MiB), all of the pool's above.
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
    op.check()?;
    crate::pieces::finish::<R, T>(op, values.len() as u64, fold(op, values))
}

/// Folds `values` to the state of a run, to go on with: see [`Pieces`](crate::pieces::Pieces).
///
/// Positions count from the start of `values`. The state of nothing is the operator's identity. Cost as [`reduce`].
#[must_use]
pub fn fold<T: Element, R: Reduction<T>>(op: R, values: &[T]) -> R::State {
    fold_tree(Arch::new(), op.monoid(), values, 0)
}

/// A subtree whose element 0 has index `first`. The halves part at a power of two leaves, as the canonical tree does.
fn fold_tree<T, M, V>(arch: Arch, op: M, values: V, first: u64) -> M::State
where
    T: Item,
    M: Monoid<T, State: Send> + Send + Sync,
    V: Values<T>,
{
    let leaf = leaf_elements::<T>();
    let leaves = values.len().div_ceil(leaf);
    if leaves <= V::LEAVES {
        return run::fold(arch, op, &values.run(), first);
    }
    let half = leaves.next_power_of_two() / 2 * leaf;
    let (mut low, mut high) = (op.identity(), op.identity());
    join(
        leaves > RUN,
        &mut || low = fold_tree(arch, op, values.part(0, half), first),
        &mut || high = fold_tree(arch, op, values.part(half, values.len() - half), first + half as u64),
    );
    op.combine(low, high)
}

/// Does both, and where it is worth it asks another thread to help. What is done has no type here: rayon's part of it is compiled
/// once, and not with every operator and type of elements.
fn join(is_worth_it: bool, low: &mut (dyn FnMut() + Send), high: &mut (dyn FnMut() + Send)) {
    if is_worth_it {
        rayon::join(low, high);
    } else {
        low();
        high();
    }
}

/// `count` answers, all the same.
fn filled<A: Copy>(answer: A, count: u64) -> Result<Vec<A>, Error> {
    let mut answers = Vec::new();
    usize::try_from(count)
        .ok()
        .filter(|count| answers.try_reserve_exact(*count).is_ok())
        .map(|count| answers.resize(count, answer))
        .ok_or(Error::LengthOverflow {
            elements: count,
            element_bytes: size_of::<A>(),
        })?;
    Ok(answers)
}

/// How many threads fold.
#[must_use]
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// The vector instructions that fold.
#[must_use]
pub fn vector_instructions() -> &'static str {
    match Arch::new() {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Arch::V4(_) => "AVX-512",
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Arch::V3(_) => "AVX2",
        #[cfg(target_arch = "aarch64")]
        Arch::Neon(_) => "NEON",
        _ => "the compiler's baseline",
    }
}
