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
    operand::{packed, source::Source},
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
    /// Packs items of arrays without a layout.
    fn pack(&self, items: Range<usize>, to: &mut [u8]);
    /// Packs `len` elements, from `first` on, of each of `count` extents from number `extent` on, where all extents have their items side by
    /// side, element after element.
    fn pack_gathered(&self, extents: &[Extents], extent: (u64, usize), first: (u64, usize), to: &mut [u8]);
}

/// An operator that folds items which were packed, too: what partials, which keep such, must know types for.
pub(crate) trait PackedFold: Untyped {
    /// Bytes of a packed item.
    fn packed_bytes(&self) -> usize;
    /// The states of some of `cells` extents of at most [`RUN`](crate::operand::source::RUN) leaves, whose items lie side by side, element
    /// after element.
    fn fold_packed(&self, packed: &[u8], cells: usize, some: Range<usize>, states: &mut [u32]);
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
        fold_each(self.op.op, values, starts, lens, states);
    }
}

fn fold_each<R: Reduction<I>, I: Item>(op: R, values: &[I], starts: &[i64], lens: Lens<'_>, states: &mut [u32]) {
    let op = op.monoid();
    let mut typed = vec![op.identity(); starts.len()];
    run::fold_each(Arch::new(), op, values, starts, lens, &mut typed);
    for (state, words) in typed.into_iter().zip(states.chunks_exact_mut(R::State::COUNT)) {
        write(state, words);
    }
}

impl<R: Reduction<I>, I: Item> PackedFold for Typed<R, I> {
    fn packed_bytes(&self) -> usize {
        packed::bytes::<I>()
    }
    fn fold_packed(&self, packed: &[u8], cells: usize, some: Range<usize>, states: &mut [u32]) {
        let len = packed.len() / (cells * packed::bytes::<I>());
        let starts: Vec<i64> = (0..some.len()).map(|i| (i * len) as i64).collect();
        let values: Vec<I> = unpacked(packed, cells, some);
        fold_each(self.op, &values, &starts, Lens::All(len), states);
    }
}

/// The items of some extents, one extent after the other.
fn unpacked<I: Item>(packed: &[u8], cells: usize, some: Range<usize>) -> Vec<I> {
    let bytes = packed::bytes::<I>();
    let elements = packed.chunks_exact(cells * bytes);
    let of_cell = |cell: usize| {
        elements
            .clone()
            .map(move |items| packed::read(&items[cell * bytes..][..bytes]))
    };
    some.flat_map(of_cell).collect()
}

fn pack<I: Item>(values: &[I], to: &mut [u8]) {
    for (value, bytes) in values.iter().zip(to.chunks_exact_mut(packed::bytes::<I>())) {
        packed::write(*value, bytes);
    }
}

fn pack_gathered<I: Item, S: Source<I>>(
    source: S,
    extents: &[Extents],
    (extent, count): (u64, usize),
    (first, len): (u64, usize),
    to: &mut [u8],
) {
    let values = source.gather(extents, extent, count, first, len, len);
    let bytes = packed::bytes::<I>();
    let elements = to.chunks_exact_mut(extents[0].count as usize * bytes);
    for (element, items) in elements.enumerate() {
        let items = items[extent as usize * bytes..].chunks_exact_mut(bytes);
        for (cell, item) in items.take(count).enumerate() {
            packed::write(values[cell * len + element], item);
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
    fn pack(&self, items: Range<usize>, to: &mut [u8]) {
        let part = self.source.part(items.start, items.len());
        pack(&part.run(), to);
    }
    fn pack_gathered(&self, extents: &[Extents], extent: (u64, usize), first: (u64, usize), to: &mut [u8]) {
        pack_gathered(self.source, extents, extent, first, to);
    }
}
