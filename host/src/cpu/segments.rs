//! Folds in segments.

use warpfold_kernels::element::Element;

use super::{
    TASK,
    erased::{AnyFold, Fold},
    filled, fold_tree, pool,
};
use crate::{
    Error,
    layout::Segments,
    operand::source::{One, RUN},
    ops::{
        Reduction,
        untyped::{Answers, Lens},
    },
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
    let folded = fold_in(&Fold::new(op, One(values)), segments)?;
    Ok(folded.unpacked()?.answers)
}

/// The same of one array or of two.
pub(super) fn fold_in(fold: &dyn AnyFold, segments: &Segments) -> Result<Answers, Error> {
    segments.check(fold.len() as u64)?;
    let untyped = fold.untyped();
    untyped.facts().check_segments(segments)?;
    let count = segments.count() as u64;
    let mut bytes = filled(&untyped.over_nothing(), count)?;
    fold_segments(fold, segments.offsets(), &mut bytes);
    Ok(Answers {
        shape: vec![count],
        bytes,
    })
}

/// The answers, packed, of the segments between `offsets` that are not empty.
fn fold_segments(fold: &dyn AnyFold, offsets: &[u64], answers: &mut [u8]) {
    let (untyped, count) = (fold.untyped(), offsets.len() - 1);
    let first = offsets[0] as usize;
    let elements = offsets[count] as usize - first;
    let half = count / 2;
    if half > 0 && (elements * fold.item_bytes() > TASK || answers.len() > TASK) {
        let (low, high) = answers.split_at_mut(answers.len() / count * half);
        pool::join(true, &mut || fold_segments(fold, &offsets[..=half], low), &mut || {
            fold_segments(fold, &offsets[half..], high)
        });
        return;
    }
    let lens: Vec<usize> = offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize).collect();
    let starts = offsets.iter().map(|start| (*start - offsets[0]) as i64);
    let starts: Vec<i64> = starts.take(count).collect();
    let mut states = vec![0; count * untyped.words()];
    if elements as u64 <= RUN as u64 * untyped.facts().leaf_elements() {
        fold.each(first..first + elements, &starts, Lens::Each(&lens), &mut states);
    } else {
        // A segment by itself: it is shared among threads.
        for ((start, len), state) in starts.iter().zip(&lens).zip(states.chunks_exact_mut(untyped.words())) {
            let start = first + *start as usize;
            fold_tree(fold, start..start + len, 0, state);
        }
    }
    untyped.finish_each(&states, Lens::Each(&lens), answers);
}
