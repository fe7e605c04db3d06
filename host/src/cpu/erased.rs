//! A fold whose operator and items are forgotten: what is compiled for each of them is the fold of extents that lie in memory, and how such are
//! gathered. All else is compiled once.

use std::ops::Range;

use pulp::Arch;
use warpfold_kernels::{
    element::Item,
    monoids::{Monoid as _, Words as _},
};

use super::run;
use crate::{
    layout::Extents,
    operand::source::Source,
    ops::{
        Reduction,
        untyped::{Lens, Typed, Untyped, write},
    },
};

/// An operator and the arrays that it folds.
pub(crate) trait AnyFold: Sync {
    /// The operator.
    fn untyped(&self) -> &dyn Untyped;
    /// Items of arrays without a layout.
    fn len(&self) -> usize;
    /// Bytes of an item.
    fn item_bytes(&self) -> usize;
    /// Leaves that are folded at once.
    fn leaves_at_once(&self) -> usize;
    /// The states of extents of at most [`RUN`](crate::operand::source::RUN) leaves among some of the items: those that begin at `starts`, counted from the first of these.
    fn each(&self, items: Range<usize>, starts: &[i64], lens: Lens<'_>, states: &mut [u32]);
    /// Whether each extent is a run of the array.
    fn in_place(&self, extents: &[Extents]) -> bool;
    /// The states of `len` elements, from `first` on, of each of `count` extents from number `extent` on.
    fn gathered(&self, extents: &[Extents], extent: (u64, usize), first: (u64, usize), states: &mut [u32]);
}

/// Bytes between gathered extents: a whole number of pages apart they would fight for the same lines of the cache.
const GAP: usize = 64;

/// An operator and its arrays.
pub(crate) struct Fold<R, I, S> {
    pub(crate) op: Typed<R, I>,
    pub(crate) source: S,
}

impl<R: Reduction<I>, I: Item, S: Source<I>> Fold<R, I, S> {
    pub(crate) fn new(op: R, source: S) -> Self {
        let op = Typed::new(op);
        Self { op, source }
    }

    fn fold_each(&self, values: &[I], starts: &[i64], lens: Lens<'_>, states: &mut [u32]) {
        let op = self.op.op.monoid();
        let mut typed = vec![op.identity(); starts.len()];
        run::fold_each(Arch::new(), op, values, starts, lens, &mut typed);
        for (state, words) in typed.into_iter().zip(states.chunks_exact_mut(R::State::COUNT)) {
            write(state, words);
        }
    }
}

impl<R: Reduction<I>, I: Item, S: Source<I>> AnyFold for Fold<R, I, S> {
    fn untyped(&self) -> &dyn Untyped {
        &self.op
    }
    fn len(&self) -> usize {
        self.source.len()
    }
    fn item_bytes(&self) -> usize {
        size_of::<I>()
    }
    fn leaves_at_once(&self) -> usize {
        S::LEAVES
    }
    fn each(&self, items: Range<usize>, starts: &[i64], lens: Lens<'_>, states: &mut [u32]) {
        let part = self.source.part(items.start, items.len());
        self.fold_each(&part.run(), starts, lens, states);
    }
    fn in_place(&self, extents: &[Extents]) -> bool {
        S::IN_PLACE && extents[0].is_contiguous()
    }
    fn gathered(
        &self,
        extents: &[Extents],
        (extent, count): (u64, usize),
        (first, len): (u64, usize),
        states: &mut [u32],
    ) {
        let pitch = len + GAP / size_of::<I>();
        let values = self.source.gather(extents, extent, count, first, len, pitch);
        let starts: Vec<i64> = (0..count).map(|i| (i * pitch) as i64).collect();
        self.fold_each(&values, &starts, Lens::All(len), states);
    }
}
