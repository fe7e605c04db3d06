//! What the page's script is given.

use std::collections::HashMap;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};
use warpfold_emulator::picture::{Change, Held, Picture, Place, Stage, WARPS};
use warpfold_kernels::{
    monoids::{Monoid, Words},
    tree::LANES,
};

use super::{
    operators::{About, Operator},
    words::{self, Told},
};

/// All of it. Places are numbered: lanes by block and thread, slots of shared memory by block, slots in global memory, the tickets, the
/// answer.
#[derive(Serialize)]
pub struct Data {
    pub blocks: u32,
    pub warps: u32,
    pub values: Vec<f32>,
    /// The operators, in the order of the page.
    pub operators: Vec<Shown>,
}

/// One operator's run.
#[derive(Serialize)]
pub struct Shown {
    #[serde(flatten)]
    about: &'static About,
    /// Each state that comes up, once: two short lines, and all of it.
    states: Vec<[String; 3]>,
    pub steps: Vec<ShownStep>,
    answer: String,
}

/// One step.
#[derive(Serialize)]
pub struct ShownStep {
    #[serde(flatten)]
    pub told: Told,
    /// Places in which all lanes wait for each other.
    waits: bool,
    /// A place, what it holds now (a state by its number, or nothing for a lane that waits), and where that came from.
    changes: Vec<(u32, Value, Vec<u32>)>,
}

/// A run.
pub fn shown<M: Monoid<f32>>(operator: &'static Operator<M>, picture: &Picture<M::State, M::Answer>) -> Result<Shown> {
    let mut states = States(operator, vec![], HashMap::new());
    let mut steps = vec![];
    for step in &picture.steps {
        let told = words::told(step, operator.about.name, picture)?;
        let (waits, changes) = (step.stage == Stage::Barrier, step.changes.iter());
        let changes = changes.map(|change| states.change(change, picture.blocks)).collect();
        steps.push(ShownStep { told, waits, changes });
    }
    let (about, states) = (&operator.about, states.1);
    let answer = (operator.answer)(picture.folded.answer).replace('-', "−");
    Ok(Shown {
        about,
        states,
        steps,
        answer,
    })
}

/// An operator, its states as they are shown, and their numbers.
struct States<'a, M: Monoid<f32>>(&'a Operator<M>, Vec<[String; 3]>, HashMap<Vec<u32>, usize>);

/// The words of a value.
pub fn bits<W: Words>(value: W) -> Vec<u32> {
    (0..W::COUNT).map(|i| value.word(i)).collect()
}

impl<M: Monoid<f32>> States<'_, M> {
    fn number(&mut self, state: M::State) -> usize {
        let Self(operator, shown, numbers) = self;
        *numbers.entry(bits(state)).or_insert_with(|| {
            shown.push(if bits(state) == bits(operator.op.identity()) {
                let all = format!("the identity: {}", operator.about.identity);
                ["id".to_owned(), String::new(), all]
            } else {
                let [first, second] = (operator.short)(state);
                [first, second, operator.full(state)]
            });
            shown.len() - 1
        })
    }

    fn change(&mut self, change: &Change<M::State>, blocks: u32) -> (u32, Value, Vec<u32>) {
        let held = match &change.held {
            Held::Elements(vectors) => json!({ "elements": vectors }),
            Held::Columns(columns) => {
                let columns: Vec<usize> = columns.iter().map(|state| self.number(*state)).collect();
                json!({ "columns": columns })
            }
            Held::State(state) => json!(self.number(*state)),
            Held::Count(count) => json!({ "count": count }),
            Held::Waits => Value::Null,
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
