//! Short rows, which neighbouring lanes have together.

use super::{FoldedLeaf, PackedLeaf, assert_largest, combine_columns, with_row};
use crate::{
    element::Element,
    monoids::Words,
    rowwise::{LeafFound, Pass, ReferencePass, RowOp, Sums as _, TermsPass, TotalPass},
    simt::Simt,
    stages::{
        each::each,
        load::rows::VECTORS,
        reduce::rows::{Transposed, transpose},
        shuffle,
    },
};

/// Short rows that neighbouring lanes have together, a power of two of them: of each of `K` slots a row. What is made of a row once is made by one of its lanes, and others are
/// handed it.
#[derive(Clone, Copy)]
pub struct Slots<S, const K: usize> {
    simt: S,
    held: Transposed,
    /// The first lane of the row.
    first: u32,
    /// Binary logarithm of the lanes.
    lanes: u32,
}

impl<S: Simt, const K: usize> Slots<S, K> {
    /// Of rows of so many lanes each.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn of(simt: S, lanes: u32) -> Self {
        const { assert!(K == 2 || K == 4, "slots are written out") };
        let log = u32::ilog2(lanes);
        Self {
            simt,
            held: Transposed::of(u32::ilog2(K as u32), log),
            first: simt.lane() & !(lanes - 1),
            lanes: log,
        }
    }

    /// How many slots this lane makes what is made once of.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn count(self) -> u32 {
        self.held.count()
    }

    /// The slot of that number, of this lane's.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn slot(self, number: u32) -> u32 {
        self.held.slot(self.simt, number)
    }

    /// Whether this lane is the first that makes it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn finishes(self) -> bool {
        self.held.finishes(self.simt.lane() - self.first)
    }

    /// What `make` makes of each of this lane's.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn each<X: Copy>(self, mut make: impl FnMut(usize) -> X) -> [X; K] {
        let mut made = [make(0); K];
        each!(number < K, 4 => if number > 0 && (number as u32) < self.count() {
            made[number] = make(number);
        });
        made
    }

    /// What lanes have made of each slot, handed to all lanes of the row.
    ///
    /// Called by: all 32 lanes together
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn handed<X: Words>(self, made: [X; K]) -> [X; K] {
        let mut of = made;
        let log = u32::ilog2(K as u32).min(self.lanes);
        each!(slot < K, 4 => {
            let number = slot as u32 >> log;
            let mut mine = made[0];
            each!(other < K, 4 => if other > 0 && other <= slot && other as u32 == number {
                mine = made[other];
            });
            of[slot] = shuffle(self.simt, mine, self.first + (slot as u32 & ((1 << log) - 1)));
        });
        of
    }

    /// Combines what lanes have of each slot: of this lane's slots all.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn combined<O: RowOp, L: Pass<O>>(self, pass: L, of: [L::State; K]) -> [L::State; K] {
        let mut slots = [pass.identity(); VECTORS];
        each!(slot < K, 4 => slots[slot] = of[slot]);
        let slots = transpose::<_, f32, _>(self.simt, pass, slots, self.held, self.lanes);
        let mut of = of;
        each!(slot < K, 4 => of[slot] = slots[slot]);
        of
    }
}

/// Folds `K` short rows, each a vector of each of its lanes; of this lane's slot of a number `len` elements.
///
/// ```text
/// lane: the columns of each row in pairs ─ its lanes: a transposing butterfly; once for each pass
/// ```
///
/// It gives back what the last pass read, the reference of each slot, and of this lane's slots what they came to.
///
/// Called by: all 32 lanes together · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_short<S: Simt, T: Element, O: RowOp, P: PackedLeaf<O, K>, const K: usize>(
    op: O,
    packed: P,
    slots: Slots<S, K>,
    len: impl Fn(usize) -> u32,
) -> (P, [f32; K], [FoldedLeaf<O::State>; K]) {
    const { assert_largest::<O>() };
    let mut found = [op.nothing(); K];
    if O::HAS_FIRST_PASS {
        let of = match packed.largest() {
            Some(largest) if O::FINDS_LARGEST => largest,
            _ => of_rows::<T, _, _, _, K>(ReferencePass(op), packed, |_| ReferencePass(op)),
        };
        found = slots.combined(ReferencePass(op), of);
    }
    let mut totals = [-0.0; K];
    if O::TOTALS && op.totals() {
        let of = of_rows::<T, _, _, _, K>(TotalPass(op), packed, |_| TotalPass(op));
        totals = slots.combined(TotalPass(op), of);
    }
    let mine = slots.each(|number| op.reference(found[number], len(number)));
    let references = slots.handed(mine);
    let packed = packed.opaque_again();
    let second = |reference: f32| TermsPass { op, reference };
    let mut sums = of_rows::<T, _, _, _, K>(second(0.0), packed, |slot| second(references[slot]));
    if op.sums_one() {
        let firsts = slots.combined(TotalPass(op), sums.map(O::Sums::first));
        each!(slot < K, 4 => sums[slot] = sums[slot].with_first(firsts[slot]));
    } else {
        sums = slots.combined(second(0.0), sums);
    }
    let found = |number: usize| LeafFound {
        first: found[number],
        reference: mine[number],
        total: totals[number],
    };
    let leaves = slots.each(|number| FoldedLeaf::of(op, found(number), sums[number], len(number)));
    (packed, references, leaves)
}

/// Each row by itself, by a pass of its own.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn of_rows<T: Element, O: RowOp, L: Pass<O>, P: PackedLeaf<O, K>, const K: usize>(
    pass: L,
    packed: P,
    by: impl Fn(usize) -> L,
) -> [L::State; K] {
    const { assert!(P::PLAIN, "code is written out") };
    let mut of = [pass.identity(); K];
    each!(row < K, 4 => of[row] = combine_columns::<T, _>(pass, with_row::<T, _, _, _, K>(by(row), packed, None, row)));
    of
}
