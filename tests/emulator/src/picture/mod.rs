//! A fold as a picture: what the library's own whole-array kernel does in a small launch, in steps that one can follow.
//!
//! The machine says who shuffled, stored and drew tickets ([`Event`](crate::Event)); a watched operator says which states
//! were combined. [`small`] puts both together: each [`Step`] has the places that changed, what they hold now, and where
//! that came from.

mod reader;
mod watched;

use std::cell::RefCell;

use warpfold_kernels::{kernels::whole, monoids::Monoid, tree::LANES};

use self::{reader::Reader, watched::Watched};
use crate::{
    fault::{Fault, Thread},
    whole::{Folded, fold_traced, shape_of_small},
};

/// Warps of a block, in a picture.
pub const WARPS: u32 = 2;

/// A fold in steps.
#[derive(Clone, Debug)]
pub struct Picture<State, Answer> {
    /// How many elements.
    pub len: usize,
    /// How many blocks.
    pub blocks: u32,
    /// The steps, in order.
    pub steps: Vec<Step<State>>,
    /// What the launch came to.
    pub folded: Folded<Answer, State>,
}

/// What lanes do at once. Blocks run on their own, at whatever pace; here they are side by side until they draw tickets.
#[derive(Clone, Debug, PartialEq)]
pub struct Step<State> {
    /// Which.
    pub stage: Stage,
    /// What changes in it.
    pub changes: Vec<Change<State>>,
}

/// The stages of a fold, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Each lane loads its vectors of a leaf.
    Load,
    /// Each lane folds the rows of each of its columns.
    Columns,
    /// Each lane folds its columns.
    Lane,
    /// Each lane combines its state with that of the lane whose number differs in one bit.
    Shuffle {
        /// The bit.
        reach: u32,
    },
    /// Each warp's lane 0 puts the warp's state into shared memory.
    Share,
    /// All threads of a block wait for each other.
    Barrier,
    /// The first warp combines the states in shared memory.
    Block,
    /// Thread 0 stores the block's state in its slot in global memory.
    Slot,
    /// A block draws a ticket.
    Ticket {
        /// Its number: what the counter was.
        number: u32,
    },
    /// The last block's first warp loads the slots.
    Gather,
    /// It combines them, in a round of shuffles. Rounds in which no two lanes hold anything but the identity are left out.
    Last {
        /// The round's number.
        round: u32,
    },
    /// Thread 0 finishes the state and stores the answer.
    Answer,
}

/// Something that can hold a state, or what becomes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A lane's registers.
    Lane(Thread),
    /// A slot in the shared memory of a block.
    Shared {
        /// The block.
        block: u32,
        /// The slot, in states.
        slot: u32,
    },
    /// A slot in global memory.
    Slot(u32),
    /// The counter of tickets.
    Tickets,
    /// The answer in global memory.
    Answer,
}

/// A place that changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Change<State> {
    /// The place.
    pub place: Place,
    /// What it holds now.
    pub held: Held<State>,
    /// Which places that came from, as they were before: the left operand first. Those of a lane's own elements are not listed.
    pub from: Vec<Place>,
}

/// What a place holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Held<State> {
    /// Elements: the number of the first of each vector, and how many it has.
    Elements(Vec<(usize, usize)>),
    /// A state of each column.
    Columns(Vec<State>),
    /// One state.
    State(State),
    /// A number of tickets.
    Count(u32),
    /// Nothing yet: it waits at a barrier, and keeps what it has.
    Waits,
}

/// Folds `values` with the kernel `whole::reduce_small` in blocks of [`WARPS`] warps, on the schedule of `seed`, and makes steps of it.
///
/// # Errors
///
/// As [`reduce_small`](crate::reduce_small).
///
/// # Panics
///
/// If there are so many values that the kernel does not allow them.
pub fn small<M: Monoid<f32>>(op: M, values: &[f32], seed: u64) -> Result<Picture<M::State, M::Answer>, Fault> {
    let shape = shape_of_small::<f32>(values.len(), WARPS * LANES);
    let acts = RefCell::new(vec![]);
    let (folded, events) = fold_traced::<f32, M>(values, shape, seed, |lane, arguments| {
        let acts = &acts;
        let op = Watched { op, lane, acts };
        whole::reduce_small(lane, op, arguments);
    })?;
    let acts = acts.into_inner();
    let mut reader = Reader::new(op, &acts, shape, values.len());
    for event in &events {
        reader.read(event);
    }
    Ok(Picture {
        len: values.len(),
        blocks: shape.blocks,
        steps: reader.steps(),
        folded,
    })
}
