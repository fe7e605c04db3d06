//! An operator's states as words and its answers as bytes, so that what puts them together is compiled once.

use std::marker::PhantomData;

use warpfold_kernels::{
    element::Item,
    monoids::{Monoid, Positional as _, Words},
};

use super::{OpFacts, Reduction, Signature};
use crate::{Error, layout::Folded, room::room};

/// What it takes to put states together and to finish them, all types forgotten. Slices hold one state after the other.
pub(crate) trait Untyped: Send + Sync {
    /// What is known of the operator.
    fn facts(&self) -> &OpFacts;
    /// Which it is.
    fn signature(&self) -> Signature;
    /// Words of a state.
    fn words(&self) -> usize;
    /// The state of nothing.
    fn identity(&self) -> Vec<u32>;
    /// Each state of `low` with the one that comes after it.
    fn combine(&self, low: &mut [u32], high: &[u32]);
    /// Each state as that of a run that starts so much later.
    fn shift(&self, states: &mut [u32], by: u64);
    /// Writes the answers, packed, of states of extents that are not empty.
    fn finish_each(&self, states: &[u32], lens: Lens<'_>, answers: &mut [u8]);
    /// Writes the answer of one, unless its extent is empty.
    fn finish(&self, state: &[u32], len: u64, answer: &mut [u8]) {
        self.finish_each(state, Lens::All(len as usize), answer);
    }
    /// The answer over nothing, or where there is none bytes that stand in for one.
    fn over_nothing(&self) -> Vec<u8>;
}

/// How many elements extents have.
#[derive(Clone, Copy)]
pub(crate) enum Lens<'a> {
    /// So many, all of them.
    All(usize),
    /// Each its own number.
    Each(&'a [usize]),
}

impl Lens<'_> {
    /// Of extent `i`.
    pub(crate) fn of(self, i: usize) -> usize {
        match self {
            Self::All(len) => len,
            Self::Each(lens) => lens[i],
        }
    }
}

/// An operator over items of one type.
pub(crate) struct Typed<R, I> {
    pub(crate) op: R,
    facts: OpFacts,
    items: PhantomData<fn(I)>,
}

impl<R: Reduction<I>, I: Item> Typed<R, I> {
    pub(crate) fn new(op: R) -> Self {
        let (facts, items) = (OpFacts::of::<I, R>(op), PhantomData);
        Self { op, facts, items }
    }
}

impl<R: Reduction<I>, I: Item> Untyped for Typed<R, I> {
    fn facts(&self) -> &OpFacts {
        &self.facts
    }
    fn signature(&self) -> Signature {
        Signature::of::<I, R>(self.op)
    }
    fn words(&self) -> usize {
        R::State::COUNT
    }
    fn identity(&self) -> Vec<u32> {
        words(self.op.monoid().identity())
    }
    fn combine(&self, low: &mut [u32], high: &[u32]) {
        let op = self.op.monoid();
        let each = low
            .chunks_exact_mut(R::State::COUNT)
            .zip(high.chunks_exact(R::State::COUNT));
        for (low, high) in each {
            write(op.combine(of_words(low), of_words(high)), low);
        }
    }
    fn shift(&self, states: &mut [u32], by: u64) {
        let op = self.op.monoid();
        for state in states.chunks_exact_mut(R::State::COUNT) {
            write(op.positional().shift(of_words(state), by), state);
        }
    }
    fn finish_each(&self, states: &[u32], lens: Lens<'_>, answers: &mut [u8]) {
        let op = self.op.monoid();
        let answers = answers.chunks_exact_mut(R::Answer::COUNT * R::Answer::UNIT);
        for (i, (state, answer)) in states.chunks_exact(R::State::COUNT).zip(answers).enumerate() {
            let len = lens.of(i);
            if len > 0 {
                pack(op.finish(of_words(state), len as u64), answer);
            }
        }
    }
    fn over_nothing(&self) -> Vec<u8> {
        let answer = self.op.monoid().empty().unwrap_or_else(|| R::Answer::from_words(|_| 0));
        let mut bytes = vec![0; R::Answer::COUNT * R::Answer::UNIT];
        pack(answer, &mut bytes);
        bytes
    }
}

/// Answers, each packed as a file has it: its numbers one after the other, little-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    /// The shape of the output; of no axes where all is folded.
    pub shape: Vec<u64>,
    /// The answers, in C order.
    pub bytes: Vec<u8>,
}

impl Answers {
    /// As values.
    pub(crate) fn unpacked<A: Words>(self) -> Result<Folded<A>, Error> {
        let packed = unpacked::<A>(&self.bytes);
        let mut answers = room(packed.len() as u64)?;
        answers.extend(packed);
        Ok(Folded {
            shape: self.shape,
            answers,
        })
    }
}

/// A value's words.
pub(crate) fn words<W: Words>(value: W) -> Vec<u32> {
    (0..W::COUNT).map(|i| value.word(i)).collect()
}

/// The value of so many words.
pub(crate) fn of_words<W: Words>(words: &[u32]) -> W {
    W::from_words(|i| words[i])
}

/// Writes a value's words.
pub(crate) fn write<W: Words>(value: W, words: &mut [u32]) {
    for (i, word) in words.iter_mut().enumerate() {
        *word = value.word(i);
    }
}

/// Writes a value as memory and files have it: its numbers one after the other, little-endian.
pub(crate) fn pack<W: Words>(value: W, bytes: &mut [u8]) {
    for (i, unit) in bytes.chunks_exact_mut(W::UNIT).enumerate() {
        unit.copy_from_slice(&value.word(i).to_le_bytes()[..W::UNIT]);
    }
}

/// The values of packed bytes.
pub(crate) fn unpacked<W: Words>(packed: &[u8]) -> impl ExactSizeIterator<Item = W> {
    let each = packed.chunks_exact(W::COUNT * W::UNIT);
    each.map(|bytes| W::from_words(|i| unpacked_word::<W>(bytes, i)))
}

/// Word `i` of a packed value.
pub(crate) fn unpacked_word<W: Words>(packed: &[u8], i: usize) -> u32 {
    let bytes = packed[i * W::UNIT..][..W::UNIT].iter().rev();
    bytes.fold(0, |word, byte| word << 8 | u32::from(*byte))
}
