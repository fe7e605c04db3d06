//! From what lanes and their operator did to steps.

use std::{collections::BTreeMap, mem};

use warpfold_kernels::{
    element::Type,
    monoids::{Monoid, Words},
    tree::{LANES, Positional as _},
};

use super::{Change, Held, Place, Stage, Step, watched::Act};
use crate::{
    fault::Thread,
    trace::{Did, Event},
    whole::Shape,
};

/// Elements of a vector.
const VECTOR: u64 = 4;

/// How far a lane has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It folds its own elements.
    Own,
    /// Its warp folds.
    Warp,
    /// Its block does.
    Block,
    /// The last block folds what all have stored.
    Grid,
}

/// A lane on its way through the kernel.
struct Walker<State> {
    phase: Phase,
    elements: Vec<(usize, usize)>,
    columns: Vec<State>,
    state: State,
    /// The words of a state that were loaded so far.
    words: Vec<u32>,
    /// What it loaded from shared memory.
    loaded: Vec<(Place, State)>,
    /// The lane of which it just took a state.
    partner: Option<u32>,
    rounds: u32,
}

/// Reads a launch's events, and sorts what they change into steps.
pub struct Reader<'a, M: Monoid<f32>> {
    op: M,
    acts: &'a [Act<M::State, M::Answer>],
    shape: Shape,
    len: usize,
    lanes: Vec<Walker<M::State>>,
    steps: BTreeMap<Stage, Vec<Change<M::State>>>,
}

/// Whether two states are the same to the bit.
fn same<W: Words>(a: W, b: W) -> bool {
    (0..W::COUNT).all(|i| a.word(i) == b.word(i))
}

/// Loads as vectors, in the order of memory: words of one that were loaded one by one are together.
fn vectors(mut loads: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    loads.sort_unstable();
    let mut vectors: Vec<(usize, usize)> = vec![];
    for (at, count) in loads {
        match vectors.last_mut() {
            Some(last) if last.0 + last.1 == at && !at.is_multiple_of(VECTOR as usize) => last.1 += count,
            _ => vectors.push((at, count)),
        }
    }
    vectors
}

impl<'a, M: Monoid<f32>> Reader<'a, M> {
    pub fn new(op: M, acts: &'a [Act<M::State, M::Answer>], shape: Shape, len: usize) -> Self {
        let walker = || Walker {
            phase: Phase::Own,
            elements: vec![],
            columns: vec![],
            state: op.identity(),
            words: vec![],
            loaded: vec![],
            partner: None,
            rounds: 0,
        };
        let lanes = (0..shape.blocks * shape.threads).map(|_| walker()).collect();
        let steps = BTreeMap::new();
        Self {
            op,
            acts,
            shape,
            len,
            lanes,
            steps,
        }
    }

    /// The steps of what was read.
    pub fn steps(self) -> Vec<Step<M::State>> {
        let step = |(stage, mut changes): (Stage, Vec<Change<M::State>>)| {
            changes.sort_by_key(|change| change.place);
            Step { stage, changes }
        };
        self.steps.into_iter().map(step).collect()
    }

    /// Reads the next event.
    pub fn read(&mut self, event: &Event) {
        let (who, count) = (event.who, M::State::COUNT);
        match event.did {
            Did::Load {
                buffer: "input",
                at,
                count,
                ..
            } => self.lane(who).elements.push((at, count)),
            Did::Load {
                buffer: "slots",
                at,
                words,
                ..
            } => {
                if let Some(state) = self.word(who, words[0]) {
                    self.hold(Stage::Gather, who, state, vec![Place::Slot((at / count) as u32)]);
                }
            }
            Did::Shuffle { from, .. } => {
                self.end_own(who);
                self.lane(who).partner = Some(from);
            }
            Did::StoreShared { at, .. } if (at as usize).is_multiple_of(count) => {
                self.store(Stage::Share, self.shared(who, at), who);
            }
            Did::LoadShared { at, word } => {
                if let Some(state) = self.word(who, word) {
                    let place = self.shared(who, at);
                    self.lane(who).loaded.push((place, state));
                }
            }
            Did::Barrier => {
                self.lane(who).phase = Phase::Block;
                self.change(Stage::Barrier, Place::Lane(who), Held::Waits, vec![]);
            }
            // The first warp of the last block, before it loads the slots.
            Did::WarpBarrier => self.lane(who).phase = Phase::Grid,
            Did::Store {
                buffer: "slots", at, ..
            } if at.is_multiple_of(count) => {
                self.store(Stage::Slot, Place::Slot((at / count) as u32), who);
            }
            Did::Store {
                buffer: "answer",
                at: 0,
                ..
            } => self.store(Stage::Answer, Place::Answer, who),
            Did::Atomic {
                buffer: "tickets",
                old,
                new,
                ..
            } => {
                let stage = Stage::Ticket { number: old };
                self.change(stage, Place::Tickets, Held::Count(new), vec![Place::Lane(who)]);
            }
            Did::Mark { number } => self.act(who, &self.acts[number]),
            _ => {}
        }
    }

    fn act(&mut self, who: Thread, act: &Act<M::State, M::Answer>) {
        match act {
            Act::Folded { columns, state } => {
                let (op, base) = (self.op, self.base(who));
                let lane = self.lane(who);
                // A part of one column begins there; one of all begins at the lane's first.
                let base = base + lane.columns.len() as u64;
                lane.columns
                    .extend(columns.iter().map(|column| op.positional().shift(*column, base)));
                lane.state = *state;
            }
            Act::Shifted { state } => self.lane(who).state = *state,
            Act::Combined { left, right, state } => self.combined(who, [*left, *right], *state),
            Act::Finished { state, .. } => self.lane(who).state = *state,
        }
    }

    fn combined(&mut self, who: Thread, operands: [M::State; 2], state: M::State) {
        let nothing = self.op.identity();
        let is_idle = operands.iter().any(|operand| same(*operand, nothing));
        let lane = self.lane(who);
        lane.state = state;
        let partner = lane.partner.take().map(|lane| who.thread / LANES * LANES + lane);
        match (lane.phase, partner) {
            (Phase::Warp, Some(thread)) => {
                let reach = who.thread ^ thread;
                let from = vec![Place::Lane(who), Place::Lane(Thread { thread, ..who })];
                self.hold(Stage::Shuffle { reach }, who, state, from);
            }
            (Phase::Grid, Some(thread)) => {
                let round = lane.rounds;
                lane.rounds += 1;
                if !is_idle {
                    let from = vec![Place::Lane(who), Place::Lane(Thread { thread, ..who })];
                    self.hold(Stage::Last { round }, who, state, from);
                }
            }
            (Phase::Block, _) if !is_idle => {
                let from = operands.iter().filter_map(|operand| {
                    let loaded = lane.loaded.iter().find(|(_, state)| same(*state, *operand));
                    loaded.map(|(place, _)| *place)
                });
                let from = from.collect();
                self.hold(Stage::Block, who, state, from);
            }
            _ => {}
        }
    }

    /// A lane has folded what it has read, once it takes part in a shuffle.
    fn end_own(&mut self, who: Thread) {
        let len = self.len;
        let lane = self.lane(who);
        if lane.phase != Phase::Own {
            return;
        }
        lane.phase = Phase::Warp;
        let inside = |&(at, count): &(usize, usize)| (at < len).then(|| (at, count.min(len - at)));
        let elements = vectors(lane.elements.iter().filter_map(inside).collect());
        let (columns, state) = (mem::take(&mut lane.columns), lane.state);
        let place = Place::Lane(who);
        self.change(Stage::Load, place, Held::Elements(elements), vec![]);
        self.change(Stage::Columns, place, Held::Columns(columns), vec![place]);
        self.hold(Stage::Lane, who, state, vec![place]);
    }

    /// Takes the next word that a lane loaded of a state; gives the state with its last.
    fn word(&mut self, who: Thread, word: u32) -> Option<M::State> {
        let words = &mut self.lane(who).words;
        words.push(word);
        if words.len() < M::State::COUNT {
            return None;
        }
        let words = mem::take(words);
        Some(M::State::from_words(|i| words[i]))
    }

    fn store(&mut self, stage: Stage, place: Place, who: Thread) {
        let state = self.lane(who).state;
        self.change(stage, place, Held::State(state), vec![Place::Lane(who)]);
    }

    fn hold(&mut self, stage: Stage, who: Thread, state: M::State, from: Vec<Place>) {
        self.lane(who).state = state;
        self.change(stage, Place::Lane(who), Held::State(state), from);
    }

    fn change(&mut self, stage: Stage, place: Place, held: Held<M::State>, from: Vec<Place>) {
        let changes = self.steps.entry(stage).or_default();
        changes.push(Change { place, held, from });
    }

    fn lane(&mut self, who: Thread) -> &mut Walker<M::State> {
        &mut self.lanes[(who.block * self.shape.threads + who.thread) as usize]
    }

    fn shared(&self, who: Thread, at: u32) -> Place {
        let slot = at / M::State::COUNT as u32;
        let block = who.block;
        Place::Shared { block, slot }
    }

    /// A lane's first element: each warp of the grid has a leaf.
    fn base(&self, who: Thread) -> u64 {
        let leaf = (who.block * self.shape.threads + who.thread) / LANES;
        u64::from(leaf) * Type::F32.leaf_elements() + u64::from(who.thread % LANES) * VECTOR
    }
}
