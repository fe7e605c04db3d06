//! What the page's script is given.

use std::collections::HashMap;

use anyhow::Result;
use serde::Serialize;
use warpfold_emulator::picture::{self, Change, Held, Picture, Place, Stage, WARPS};
use warpfold_kernels::{
    monoids::{Monoid, Words},
    tree::LANES,
};

use super::{
    SEED,
    operators::{ARGMAX, LOG_SUM_EXP, MEAN_VARIANCE, Operator, SUM},
    words,
};

/// All of it. Places are numbered: lanes by block and thread, slots of shared memory by block, slots in global memory, the tickets, the
/// answer.
#[derive(Serialize)]
pub struct Data {
    blocks: u32,
    warps: u32,
    values: Vec<f32>,
    /// The operators, in the order of the page.
    pub operators: Vec<Shown>,
}

/// One operator's run.
#[derive(Serialize)]
pub struct Shown {
    name: &'static str,
    title: &'static str,
    state: &'static str,
    identity: &'static str,
    combine: &'static str,
    /// Each state that comes up, once: two short lines, and all of it.
    states: Vec<(String, String, String)>,
    /// The steps.
    pub steps: Vec<ShownStep>,
    answer: String,
}

/// One step.
#[derive(Serialize)]
pub struct ShownStep {
    /// What happens.
    pub title: String,
    /// The same, explained.
    pub text: String,
    /// The same, in Rust.
    pub code: String,
    /// Places in which all lanes wait for each other.
    waits: bool,
    /// A place, what it holds now, and where that came from.
    changes: Vec<(u32, ShownHeld, Vec<u32>)>,
}

/// What a place holds: a state by its number, or nothing for a lane that waits.
#[derive(Serialize)]
#[serde(untagged)]
enum ShownHeld {
    State(usize),
    Elements { elements: Vec<(usize, usize)> },
    Columns { columns: Vec<usize> },
    Count { count: u32 },
    Waits,
}

/// The runs of all operators.
pub fn of_all(values: &[f32]) -> Result<Data> {
    let operators = vec![
        shown(&SUM, values)?,
        shown(&ARGMAX, values)?,
        shown(&MEAN_VARIANCE, values)?,
        shown(&LOG_SUM_EXP, values)?,
    ];
    let blocks = picture::small(SUM.op, values, SEED)?.blocks;
    let (warps, values) = (WARPS, values.to_vec());
    Ok(Data {
        blocks,
        warps,
        values,
        operators,
    })
}

fn shown<M: Monoid<f32>>(operator: &Operator<M>, values: &[f32]) -> Result<Shown> {
    let picture = picture::small(operator.op, values, SEED)?;
    let mut states = States {
        operator,
        shown: vec![],
        numbers: HashMap::new(),
    };
    let steps = picture.steps.iter().map(|step| {
        let (title, text, code) = words::of(step, operator.name, &picture);
        let changes = step.changes.iter().map(|change| states.change(change, picture.blocks));
        ShownStep {
            title,
            text,
            code,
            waits: step.stage == Stage::Barrier,
            changes: changes.collect(),
        }
    });
    let steps = steps.collect();
    let &Operator {
        name,
        title,
        state,
        identity,
        combine,
        ..
    } = operator;
    Ok(Shown {
        name,
        title,
        state,
        identity,
        combine,
        states: states.shown,
        steps,
        answer: (operator.answer)(picture.folded.answer).replace('-', "−"),
    })
}

/// States by number.
struct States<'a, M: Monoid<f32>> {
    operator: &'a Operator<M>,
    shown: Vec<(String, String, String)>,
    numbers: HashMap<Vec<u32>, usize>,
}

/// The words of a value.
pub fn bits<W: Words>(value: W) -> Vec<u32> {
    (0..W::COUNT).map(|i| value.word(i)).collect()
}

impl<M: Monoid<f32>> States<'_, M> {
    fn number(&mut self, state: M::State) -> usize {
        let Operator { op, short, .. } = self.operator;
        let shown = &mut self.shown;
        *self.numbers.entry(bits(state)).or_insert_with(|| {
            shown.push(if bits(state) == bits(op.identity()) {
                let all = format!("the identity: {}", self.operator.identity);
                ("id".to_owned(), String::new(), all)
            } else {
                let [first, second] = short(state);
                (first, second, self.operator.full(state))
            });
            shown.len() - 1
        })
    }

    fn change(&mut self, change: &Change<M::State>, blocks: u32) -> (u32, ShownHeld, Vec<u32>) {
        let held = match &change.held {
            Held::Elements(vectors) => ShownHeld::Elements {
                elements: vectors.clone(),
            },
            Held::Columns(columns) => ShownHeld::Columns {
                columns: columns.iter().map(|state| self.number(*state)).collect(),
            },
            Held::State(state) => ShownHeld::State(self.number(*state)),
            Held::Count(count) => ShownHeld::Count { count: *count },
            Held::Waits => ShownHeld::Waits,
        };
        let from = change.from.iter().map(|place| number(*place, blocks)).collect();
        (number(change.place, blocks), held, from)
    }
}

/// The number of a place.
fn number(place: Place, blocks: u32) -> u32 {
    let lanes = blocks * WARPS * LANES;
    let shared = lanes + blocks * WARPS;
    match place {
        Place::Lane(who) => who.block * WARPS * LANES + who.thread,
        Place::Shared { block, slot } => lanes + block * WARPS + slot,
        Place::Slot(slot) => shared + slot,
        Place::Tickets => shared + blocks,
        Place::Answer => shared + blocks + 1,
    }
}

/// The block that draws a ticket, in a picture.
pub fn block_of_ticket<State, Answer>(picture: &Picture<State, Answer>, number: u32) -> Option<u32> {
    let step = picture
        .steps
        .iter()
        .find(|step| step.stage == Stage::Ticket { number })?;
    step.changes
        .iter()
        .flat_map(|change| &change.from)
        .find_map(|place| match place {
            Place::Lane(who) => Some(who.block),
            _ => None,
        })
}
