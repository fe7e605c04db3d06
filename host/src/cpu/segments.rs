//! Folds in segments.

use pulp::Arch;
use warpfold_kernels::{
    element::{Element, Item},
    monoids::{Monoid, Words},
    tree::leaf_elements,
};

use super::{
    TASK, filled, fold_tree, join,
    run::{self, Lens, RUN},
    values::Values,
};
use crate::{
    Error,
    layout::Segments,
    ops::{EmptyInput as _, Reduction},
};

/// Folds each segment of an array to an answer: what [`reduce`](super::reduce) gives for its elements alone, to the bit.
/// Positions count from the segment's start.
///
/// Cost: one reading of every element; all threads of the pool, long segments shared among them.
///
/// # Errors
///
/// [`Error::Offset`] if the segments are not of as many elements as `values` has; [`Error::EmptySegment`] where one is empty and
/// the operator has no answer over nothing; [`Error::LengthOverflow`] if there is no memory for the answers.
///
/// ```
/// use warpfold::{cpu, layout::Segments, ops::{ArgMax, Sum}};
///
/// let values = [1.0_f32, 5.0, 3.0, 4.0, 2.0];
/// let segments = Segments::by_offsets(&[0, 2, 2, 5])?;
/// assert_eq!(cpu::reduce_segments(Sum, &values, &segments)?, [6.0, 0.0, 9.0]);
/// let segments = Segments::by_lens([2, 3])?;
/// assert_eq!(cpu::reduce_segments(ArgMax, &values, &segments)?, [1, 1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn reduce_segments<T: Element, R: Reduction<T>>(
    op: R,
    values: &[T],
    segments: &Segments,
) -> Result<Vec<R::Answer>, Error> {
    reduce(op, values, segments)
}

/// The same of the items of one array or of two.
pub(super) fn reduce<T: Item, R: Reduction<T>, V: Values<T>>(
    op: R,
    values: V,
    segments: &Segments,
) -> Result<Vec<R::Answer>, Error> {
    segments.check(values.len() as u64)?;
    op.check_segments(segments)?;
    let monoid = op.monoid();
    let over_nothing = monoid.empty().unwrap_or_else(|| R::Answer::from_words(|_| 0));
    let mut answers = filled(over_nothing, segments.count() as u64)?;
    fold(Arch::new(), monoid, values, segments.offsets(), &mut answers);
    Ok(answers)
}

/// The answers of the segments between `offsets` that are not empty.
fn fold<T, M, V>(arch: Arch, op: M, values: V, offsets: &[u64], answers: &mut [M::Answer])
where
    T: Item,
    M: Monoid<T, State: Send, Answer: Send> + Send + Sync,
    V: Values<T>,
{
    let elements = (offsets[answers.len()] - offsets[0]) as usize;
    let half = answers.len() / 2;
    if half > 0 && (elements * size_of::<T>() > TASK || size_of_val(answers) > TASK) {
        let (low, high) = answers.split_at_mut(half);
        join(
            true,
            &mut || fold(arch, op, values, &offsets[..=half], low),
            &mut || fold(arch, op, values, &offsets[half..], high),
        );
        return;
    }
    let lens: Vec<usize> = offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize).collect();
    let values = values.part(offsets[0] as usize, elements);
    let starts: Vec<i64> = offsets[..lens.len()]
        .iter()
        .map(|start| (*start - offsets[0]) as i64)
        .collect();
    let mut states = vec![op.identity(); lens.len()];
    if elements <= RUN * leaf_elements::<T>() {
        run::fold_each(arch, op, &values.run(), &starts, Lens::Each(&lens), &mut states);
    } else {
        // A segment by itself: it is shared among threads.
        for ((start, len), state) in starts.iter().zip(&lens).zip(&mut states) {
            *state = fold_tree(arch, op, values.part(*start as usize, *len), 0);
        }
    }
    for ((answer, len), state) in answers.iter_mut().zip(lens).zip(states) {
        if len > 0 {
            *answer = op.finish(state, len as u64);
        }
    }
}
