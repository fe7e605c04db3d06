//! What the page's script is given.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};
use warpfold_emulator::picture::{Change, Held, Picture, Place, Stage, Step, WARPS};
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
pub fn shown<M: Monoid<f32>>(operator: &'static Operator<M>, picture: &Picture<M::State, M::Answer>) -> Shown {
    let (shown, numbers) = (vec![], HashMap::new());
    let mut states = States {
        operator,
        shown,
        numbers,
    };
    let step = |step: &Step<M::State>| {
        let (told, waits) = (
            words::told(step, operator.about.name, picture),
            step.stage == Stage::Barrier,
        );
        let changes = step
            .changes
            .iter()
            .map(|change| states.change(change, picture.blocks))
            .collect();
        ShownStep { told, waits, changes }
    };
    let steps = picture.steps.iter().map(step).collect();
    let answer = (operator.answer)(picture.folded.answer).replace('-', "−");
    let (about, states) = (&operator.about, states.shown);
    Shown {
        about,
        states,
        steps,
        answer,
    }
}

/// States by number.
struct States<'a, M: Monoid<f32>> {
    operator: &'a Operator<M>,
    shown: Vec<[String; 3]>,
    numbers: HashMap<Vec<u32>, usize>,
}

/// The words of a value.
pub fn bits<W: Words>(value: W) -> Vec<u32> {
    (0..W::COUNT).map(|i| value.word(i)).collect()
}

impl<M: Monoid<f32>> States<'_, M> {
    fn number(&mut self, state: M::State) -> usize {
        let Operator { op, short, about, .. } = self.operator;
        *self.numbers.entry(bits(state)).or_insert_with(|| {
            self.shown.push(if bits(state) == bits(op.identity()) {
                [
                    "id".to_owned(),
                    String::new(),
                    format!("the identity: {}", about.identity),
                ]
            } else {
                let [first, second] = short(state);
                [first, second, self.operator.full(state)]
            });
            self.shown.len() - 1
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

/// The block that draws a ticket, in a picture.
pub fn block_of_ticket<State, Answer>(picture: &Picture<State, Answer>, number: u32) -> Option<u32> {
    let step = picture
        .steps
        .iter()
        .find(|step| step.stage == Stage::Ticket { number })?;
    let mut from = step.changes.iter().flat_map(|change| &change.from);
    from.find_map(|place| match place {
        Place::Lane(who) => Some(who.block),
        _ => None,
    })
}
