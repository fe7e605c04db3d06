//! Every operator of every type of elements, behind one trait that knows neither.
//!
//! A CPU fold and a kernel are much code for each operator and each type. Here the CPU's is compiled once, for all tests;
//! and the emulator's kernels are compiled once for each type, for an operator that asks another through a table.

use std::{array, marker::PhantomData};

use warpfold::{Plan, cpu, layout, ops::Reduction, plan::Team};
use warpfold_emulator::{Shape, reduce_all, reduce_small};
use warpfold_kernels::{
    element::{Element, Type},
    kernels::{Entry, Kernel, OpParams, strided, whole::tile_elements},
    monoids::{Algebra, Monoid, PartFold, Positional, Prefilter, Words},
    stages::strategy::{Partials, most_states, most_warps},
    tree::{LANES, Part, ROWS, place, row_elements, vector_elements},
};

use crate::{
    Bits,
    backends::{self, Emulated},
    each_operation,
    partials::{Divided, Way},
    samples::elements,
};

/// A state or an answer of at most eight words; the rest are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eight([u32; 8]);

impl Eight {
    fn of<W: Words>(value: W) -> Self {
        Self(array::from_fn(|i| if i < W::COUNT { value.word(i) } else { 0 }))
    }

    fn to<W: Words>(self) -> W {
        W::from_words(|i| self.0[i])
    }

    /// Its first words.
    #[must_use]
    pub fn bits(self, words: usize) -> Bits {
        Bits(self.0[..words].to_vec())
    }
}

impl Words for Eight {
    const COUNT: usize = 8;
    fn word(self, i: usize) -> u32 {
        self.0[i]
    }
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        Self(array::from_fn(word))
    }
}

/// An operator of a type of elements, which are given as bits.
pub trait Operation: Sync {
    /// The operator's name.
    fn name(&self) -> &'static str;
    /// The elements' type.
    fn ty(&self) -> Type;
    /// Its whole-array kernel.
    fn entry(&self) -> &'static Entry;
    /// What its kernels are passed.
    fn params(&self) -> OpParams;
    /// Words of a state, and of an answer.
    fn words(&self) -> (usize, usize);

    /// The CPU's answer; `None` where the operator has none over nothing.
    fn cpu(&self, bits: &[u64]) -> Option<Bits>;
    /// The CPU's state.
    fn state(&self, bits: &[u64]) -> Bits;
    /// The CPU's answer by way of pieces of so many elements.
    fn pieces(&self, bits: &[u64], piece: usize) -> Option<Bits>;
    /// The fold of extents, which lie one after the other, in parts on the CPU.
    fn divided(&self, bits: &[u64], way: Way) -> Divided;
    /// The answer and the state of a kernel on the emulator, over at least one element.
    ///
    /// # Panics
    ///
    /// On a fault.
    fn emulator(&self, kernel: Kernel, bits: &[u64], misalign: usize, shape: Shape, seed: u64) -> Emulated;

    /// The answers of the kernels on the emulator along axes, in the tuned plan but for the room that its states leave.
    ///
    /// # Panics
    ///
    /// On a fault.
    fn along(&self, bits: &[u64], plan: &Plan, extents: &layout::Extents, misalign: usize, seed: u64) -> Vec<Bits>;

    /// What the kernel writes on the emulator in segments.
    ///
    /// # Panics
    ///
    /// On a fault.
    fn segments(&self, bits: &[u64], plan: &Plan, segments: &layout::Segments, apart: bool, seed: u64)
    -> Vec<Emulated>;

    /// [`Monoid::identity`].
    fn identity(&self) -> Eight;
    /// [`Monoid::lift`].
    fn lift(&self, bits: u64, index: u64) -> Eight;
    /// [`Monoid::combine`].
    fn combine(&self, a: Eight, b: Eight) -> Eight;
    /// [`Positional::shift`].
    fn shift(&self, state: Eight, by: u64) -> Eight;
    /// [`Algebra::selects`].
    fn selects(&self) -> bool;
    /// [`Prefilter::may_change`].
    fn may_change(&self, best: Eight, bits: u64) -> bool;
    /// [`PartFold::fold_part`] of the places of a part, row after row.
    fn fold_part(&self, places: &[Option<u64>]) -> Eight;
    /// [`Monoid::finish`].
    fn finish(&self, state: Eight, count: u64) -> Eight;
    /// [`Monoid::empty`].
    fn empty(&self) -> Option<Bits>;
    /// What is compared of a state: [`Bits::of_state`].
    fn bits(&self, state: Eight) -> Bits;
}

struct Of<T, R>(R, PhantomData<fn() -> T>);

impl<T: Element, R: Reduction<T>> Operation for Of<T, R> {
    fn name(&self) -> &'static str {
        R::NAME
    }
    fn ty(&self) -> Type {
        T::TYPE
    }
    fn entry(&self) -> &'static Entry {
        self.0.entry()
    }
    fn params(&self) -> OpParams {
        self.0.params(self.0.entry())
    }
    fn words(&self) -> (usize, usize) {
        (R::State::COUNT, R::Answer::COUNT)
    }
    fn cpu(&self, bits: &[u64]) -> Option<Bits> {
        backends::cpu(self.0, &elements::<T>(bits))
    }
    fn state(&self, bits: &[u64]) -> Bits {
        Bits::of_state(self.0, cpu::fold(self.0, &elements::<T>(bits)))
    }
    fn pieces(&self, bits: &[u64], piece: usize) -> Option<Bits> {
        backends::pieces(self.0, &elements::<T>(bits), piece)
    }
    fn divided(&self, bits: &[u64], way: Way) -> Divided {
        Divided::new(self.0, elements::<T>(bits), way)
    }
    fn emulator(&self, kernel: Kernel, bits: &[u64], misalign: usize, shape: Shape, seed: u64) -> Emulated {
        let (answer, state) = emulate::<T>(self, kernel, &elements(bits), misalign, shape, seed);
        Emulated {
            answer: answer.bits(R::Answer::COUNT),
            state: self.bits(state),
        }
    }
    fn along(&self, bits: &[u64], plan: &Plan, extents: &layout::Extents, misalign: usize, seed: u64) -> Vec<Bits> {
        let plan = with_room_for_eight(*plan);
        let answers = along::<T>(self, &elements(bits), &plan, extents, misalign, seed);
        answers
            .into_iter()
            .map(|answer| answer.bits(R::Answer::COUNT))
            .collect()
    }
    fn segments(
        &self,
        bits: &[u64],
        plan: &Plan,
        segments: &layout::Segments,
        apart: bool,
        seed: u64,
    ) -> Vec<Emulated> {
        let values = elements::<T>(bits);
        let (answers, states): (Vec<Eight>, Vec<Eight>) = if self.selects() {
            backends::emulator_segments(Asks::<true>(self), &values, plan, segments, apart, seed)
        } else {
            backends::emulator_segments(Asks::<false>(self), &values, plan, segments, apart, seed)
        };
        let each = answers.into_iter().zip(states);
        each.map(|(answer, state)| Emulated {
            answer: answer.bits(R::Answer::COUNT),
            state: self.bits(state),
        })
        .collect()
    }
    fn identity(&self) -> Eight {
        Eight::of(self.0.monoid().identity())
    }
    fn lift(&self, bits: u64, index: u64) -> Eight {
        Eight::of(self.0.monoid().lift(T::from_bits(bits), index))
    }
    fn combine(&self, a: Eight, b: Eight) -> Eight {
        Eight::of(self.0.monoid().combine(a.to(), b.to()))
    }
    fn shift(&self, state: Eight, by: u64) -> Eight {
        Eight::of(self.0.monoid().positional().shift(state.to(), by))
    }
    fn selects(&self) -> bool {
        R::Monoid::ALGEBRA.selects
    }
    fn may_change(&self, best: Eight, bits: u64) -> bool {
        self.0.monoid().prefilter().may_change(best.to(), T::from_bits(bits))
    }
    fn fold_part(&self, places: &[Option<u64>]) -> Eight {
        Eight::of(
            self.0
                .monoid()
                .part_fold()
                .fold_part(Places(places, PhantomData::<fn() -> T>)),
        )
    }
    fn finish(&self, state: Eight, count: u64) -> Eight {
        Eight::of(self.0.monoid().finish(state.to(), count))
    }
    fn empty(&self) -> Option<Bits> {
        self.0.monoid().empty().map(Bits::of)
    }
    fn bits(&self, state: Eight) -> Bits {
        Bits::of_state(self.0, state.to())
    }
}

/// A part whose places were read before.
struct Places<'a, T>(&'a [Option<u64>], PhantomData<fn() -> T>);

impl<T> Clone for Places<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Places<'_, T> {}

impl<T: Element> Part<T> for Places<'_, T> {
    const COLUMNS: usize = vector_elements::<T>();

    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        match self.0[row * vector_elements::<T>() + column] {
            Some(bits) => op.lift(T::from_bits(bits), place::<T>(row, column)),
            None => op.identity(),
        }
    }
}

fn rows<T, P: Part<T>>(_: &P) -> usize {
    P::ROWS
}

fn columns<T, P: Part<T>>(_: &P) -> usize {
    P::COLUMNS
}

/// An element as it is, the place that it is said to have, and that it is there.
#[derive(Clone, Copy)]
struct Read;

impl<T: Element> Monoid<T> for Read {
    type State = ((u64, u64), bool);
    type Answer = bool;

    fn identity(self) -> Self::State {
        ((0, 0), false)
    }
    fn lift(self, value: T, place: u64) -> Self::State {
        ((bits_of(value), place), true)
    }
    fn combine(self, a: Self::State, b: Self::State) -> Self::State {
        if a.1 { a } else { b }
    }
    fn finish(self, (_, present): Self::State, _: u64) -> bool {
        present
    }
    fn empty(self) -> Option<bool> {
        Some(false)
    }
}

/// The operator that the emulator's kernels are compiled for: it asks another.
#[derive(Clone, Copy)]
struct Asks<'a, const SELECTS: bool, const ASSOCIATES: bool = false>(&'a dyn Operation);

fn bits_of<T: Element>(value: T) -> u64 {
    (0..T::COUNT).fold(0, |bits, i| bits | u64::from(value.word(i)) << (32 * i))
}

impl<T: Element, const SELECTS: bool, const ASSOCIATES: bool> Monoid<T> for Asks<'_, SELECTS, ASSOCIATES> {
    type State = Eight;
    type Answer = Eight;

    fn identity(self) -> Eight {
        self.0.identity()
    }
    fn lift(self, value: T, index: u64) -> Eight {
        self.0.lift(bits_of(value), index)
    }
    fn combine(self, a: Eight, b: Eight) -> Eight {
        self.0.combine(a, b)
    }
    const ALGEBRA: Algebra = Algebra {
        selects: SELECTS,
        associates: ASSOCIATES,
        ..Algebra::PLAIN
    };
    warpfold_kernels::opt_in!(T: Positional, Prefilter, PartFold);
    fn finish(self, state: Eight, count: u64) -> Eight {
        self.0.finish(state, count)
    }
    fn empty(self) -> Option<Eight> {
        let Bits(words) = self.0.empty()?;
        Some(Eight(array::from_fn(|i| words.get(i).copied().unwrap_or(0))))
    }
}

impl<const SELECTS: bool, const ASSOCIATES: bool> Positional<Eight> for Asks<'_, SELECTS, ASSOCIATES> {
    fn shift(self, state: Eight, by: u64) -> Eight {
        self.0.shift(state, by)
    }
}

impl<T: Element, const SELECTS: bool, const ASSOCIATES: bool> Prefilter<T, Eight> for Asks<'_, SELECTS, ASSOCIATES> {
    fn may_change(self, best: Eight, value: T) -> bool {
        self.0.may_change(best, bits_of(value))
    }
}

impl<T: Element, const SELECTS: bool, const ASSOCIATES: bool> PartFold<T, Eight> for Asks<'_, SELECTS, ASSOCIATES> {
    #[inline(never)]
    fn fold_part(self, part: impl Part<T>) -> Eight {
        // Where they are said to be, which is where the operator's own parts have them.
        let mut places = vec![None; ROWS * vector_elements::<T>()];
        for (row, column) in (0..rows(&part)).flat_map(|row| (0..columns(&part)).map(move |column| (row, column))) {
            if let ((bits, place), true) = part.lift(Read, row, column) {
                let (row, column) = (
                    place as usize / row_elements::<T>(),
                    place as usize % row_elements::<T>(),
                );
                places[row * vector_elements::<T>() + column] = Some(bits);
            }
        }
        self.0.fold_part(&places)
    }
}

/// The answer and the state that a kernel leaves.
fn emulate<T: Element>(
    op: &dyn Operation,
    kernel: Kernel,
    values: &[T],
    misalign: usize,
    shape: Shape,
    seed: u64,
) -> (Eight, Eight) {
    let folded = match (kernel, op.selects()) {
        (Kernel::All, _) if op.entry().strategy.partials() == Partials::PerThread => {
            reduce_all(Asks::<false, true>(op), values, misalign, shape, seed)
        }
        (Kernel::All, false) => reduce_all(Asks::<false>(op), values, misalign, shape, seed),
        (Kernel::All, true) => reduce_all(Asks::<true>(op), values, misalign, shape, seed),
        (Kernel::Small, false) => reduce_small(Asks::<false>(op), values, misalign, shape.threads, seed),
        (Kernel::Small, true) => reduce_small(Asks::<true>(op), values, misalign, shape.threads, seed),
        (Kernel::Rows | Kernel::Strided | Kernel::Segments | Kernel::Row(_) | Kernel::Own, _) => {
            panic!("{kernel:?} folds no whole array")
        }
    };
    match folded {
        Ok(folded) => (folded.answer, folded.state),
        Err(fault) => panic!(
            "{} of {} {}, {shape:?}: {fault}",
            op.name(),
            values.len(),
            op.ty().name()
        ),
    }
}

/// The same along axes.
fn along<T: Element>(
    op: &dyn Operation,
    values: &[T],
    plan: &Plan,
    extents: &layout::Extents,
    misalign: usize,
    seed: u64,
) -> Vec<Eight> {
    if op.selects() {
        backends::emulator_along(Asks::<true>(op), values, plan, extents, misalign, seed).0
    } else {
        backends::emulator_along(Asks::<false>(op), values, plan, extents, misalign, seed).0
    }
}

/// The plan with no more states in shared memory than have room there if each has eight words. A team that is cut in parts takes
/// as many tiles more.
fn with_room_for_eight(mut plan: Plan) -> Plan {
    let parts = most_states(8).min(plan.shape.warps * plan.shape.leaves_per_warp);
    if plan.entry.kernel == Kernel::All {
        plan.shape.leaves_per_warp = (parts / plan.shape.warps).max(1);
        let tile = tile_elements(plan.entry.element, plan.shape.warps, plan.shape.leaves_per_warp);
        plan.tiles = plan.len.div_ceil(tile);
        plan.shape.blocks = (plan.tiles * plan.count) as u32;
    }
    let most = most_warps(8);
    if plan.entry.kernel == Kernel::Strided && plan.team.answers > LANES {
        // States so large have none of the code of columns.
        plan.team = Team {
            answers: LANES,
            warps: plan.shape.warps,
            steps: 1,
        };
        plan.tiles = strided::parts(plan.entry.element, plan.len).div_ceil(plan.team.units());
        plan.shape.blocks = plan.count.div_ceil(LANES.into()) as u32 * plan.tiles as u32;
    }
    if plan.entry.kernel == Kernel::Strided && plan.shape.warps > most {
        let sets =
            plan.shape.blocks / plan.tiles as u32 * (plan.shape.warps / most).min(plan.shape.warps / plan.team.warps);
        plan.shape.warps = most;
        plan.team.warps = plan.team.warps.min(most);
        plan.tiles = strided::parts(plan.entry.element, plan.len).div_ceil(plan.team.units());
        plan.shape.blocks = sets * plan.tiles as u32;
    }
    plan
}

/// Every operator of every type.
#[must_use]
pub fn all() -> Vec<Box<dyn Operation>> {
    fn one<T: Element, R: Reduction<T>>(op: R, all: &mut Vec<Box<dyn Operation>>) {
        all.push(Box::new(Of(op, PhantomData::<fn() -> T>)));
    }
    let mut all = vec![];
    each_operation!(one(&mut all));
    all
}

/// Elements of a type in a vector, a row and a leaf.
#[must_use]
pub fn extents(ty: Type) -> [usize; 3] {
    [16, 512, 4096].map(|bytes| bytes / ty.bytes())
}
