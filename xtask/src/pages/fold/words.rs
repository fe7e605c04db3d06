//! The steps in words: a title, a text, and what it is in Rust. What is in braces is put in, if it has a name and nothing else.

use serde::Serialize;
use warpfold_emulator::picture::{Picture, Stage, Step};

use super::data::block_of_ticket;
use crate::pages::numbers::count;

/// What is told of a step.
#[derive(Serialize)]
pub struct Told {
    /// What happens.
    pub title: String,
    /// The same, explained.
    pub text: String,
    /// The same, in Rust.
    pub code: String,
}

/// A step in words.
pub fn told<State, Answer>(step: &Step<State>, operator: &str, picture: &Picture<State, Answer>) -> Told {
    let last = picture.blocks - 1;
    let (reach, number) = match step.stage {
        Stage::Shuffle { reach } => (reach, last),
        Stage::Ticket { number } => (0, number),
        _ => (0, last),
    };
    let more = match reach {
        1 => " A shuffle hands a register from lane to lane, without memory.",
        16 => " After five rounds all 32 lanes hold the state of the warp's leaf.",
        _ => "",
    };
    let names = [
        ("{more}", more.to_owned()),
        ("{len}", count(picture.len as f64)),
        ("{reach}", reach.to_string()),
        ("{neighbours}", (2 * reach).to_string()),
        ("{blocks}", picture.blocks.to_string()),
        (
            "{block}",
            block_of_ticket(picture, number).unwrap_or_default().to_string(),
        ),
        ("{number}", number.to_string()),
        ("{last}", last.to_string()),
    ];
    let put = |text: String, (name, value): &(&str, String)| text.replace(name, value);
    let words = match step.stage {
        Stage::Load | Stage::Columns | Stage::Lane | Stage::Shuffle { .. } => of_warp(step.stage, operator),
        _ => of_blocks(step.stage, number == last),
    };
    let [title, text, code] = words.map(|text| names.iter().fold(text.to_owned(), put));
    Told { title, text, code }
}

/// What warps do by themselves.
fn of_warp(stage: Stage, operator: &str) -> [&'static str; 3] {
    match stage {
        Stage::Load => [
            "Each lane loads its elements",
            "A warp is 32 lanes: threads that run the same instruction together. One load of a lane reads four neighbouring floats, 16 \
             bytes; the 32 loads of a warp lie side by side, so memory is read in long runs (coalesced). Eight such rows, 1,024 \
             elements, are a leaf, and each warp has one. The array has {len} elements: the last leaf is short and loaded word by word, and \
             some of its lanes have none.",
            "let rows: [[f32; 4]; 8] = load(leaf, lane);",
        ],
        Stage::Columns if operator == "mean-variance" => [
            "Each lane folds the rows of its columns",
            "This operator folds the eight elements of a column at once: first their mean, then the squared distances from it. Lanes \
             need nothing of each other yet.",
            "let c0 = op.fold_column([r0[0], r1[0], …, r7[0]]);",
        ],
        Stage::Columns => [
            "Each lane folds the rows of its columns",
            "A lane's elements are eight rows of four columns. The rows of each column are combined in pairs of neighbours, then the \
             results in pairs again. Lanes need nothing of each other yet. Where there is no element stands the identity, which \
             changes nothing.",
            "let c0 = ((r0[0] ∘ r1[0]) ∘ (r2[0] ∘ r3[0])) ∘ ((r4[0] ∘ r5[0]) ∘ (r6[0] ∘ r7[0]));",
        ],
        Stage::Shuffle { .. } => [
            "Warp: shuffle over {reach}",
            "Lanes swap states in pairs, {reach} apart: 0 with {reach}, and so on. Their numbers differ in the one bit that is worth \
             {reach}. Both lanes combine the two states, so every {neighbours} neighbours now hold the same one, shown in one \
             colour.{more}",
            "state = op.combine(state, simt.shuffle_xor(state, {reach}));",
        ],
        _ => [
            "Each lane folds its columns",
            "The four columns become one state, still without any other lane. From here on a lane holds one state, whatever the \
             operator is.",
            "state = op.combine(op.combine(c0, c1), op.combine(c2, c3));",
        ],
    }
}

/// What warps of a block do together, and blocks of a grid.
fn of_blocks(stage: Stage, is_last: bool) -> [&'static str; 3] {
    match stage {
        Stage::Share => [
            "Block: a slot for each warp",
            "Shuffles end at the warp. Shared memory belongs to the block: lane 0 of each warp puts the warp's state there.",
            "if simt.lane() == 0 { shared[simt.warp()] = state; }",
        ],
        Stage::Barrier => [
            "Block: barrier",
            "Every thread of a block waits here for the others. Without it the first warp could read a slot before it is written. A \
             barrier reaches no other block.",
            "simt.barrier();",
        ],
        Stage::Block => [
            "Block: the first warp folds the slots",
            "Lane 0 of the first warp reads the slots and combines them. With more warps, more lanes would read, and shuffle again.",
            "state = op.combine(shared[0], shared[1]);",
        ],
        Stage::Slot => [
            "Grid: a slot for each block",
            "Blocks share nothing but global memory, and cannot wait for each other. Each stores its state in a slot that is \
             its own: which one, depends on its number, never on who is first.",
            "slots[simt.block()] = state;",
        ],
        Stage::Ticket { .. } => [
            "Grid: block {block} draws ticket {number}",
            if is_last {
                "The counter stood at {number}, so block {block} is the last: every slot is written, and it may read them all. It leaves the \
                 counter at 0 for the next launch. The order of arrival decides who does the rest, and no bit of the answer."
            } else {
                "Thread 0 adds one to a counter, in one atomic operation, and gets what it was: {number}. The last would get {last}. So \
                 block {block} is not the last, and is done."
            },
            "let is_last = simt.ticket(tickets, {last}) == {last};",
        ],
        Stage::Gather => [
            "Last block: block {block} loads the slots",
            "One lane of its first warp loads each slot: {blocks} of 256 that a warp folds at once. Other lanes hold the identity.",
            "let state = if lane < blocks { slots[lane] } else { op.identity() };",
        ],
        Stage::Last { .. } => [
            "Last block: its warp folds the slots",
            "By shuffles, neighbours first, as before. Rounds that combine with nothing but the identity are not shown: they change no \
             bit.",
            "state = op.combine(state, simt.shuffle_xor(state, 1));",
        ],
        _ => [
            "The answer",
            "Thread 0 finishes the state and stores the answer. Every pair that was combined follows from the number of elements \
             alone; so do the bits.",
            "answer = op.finish(state, len);",
        ],
    }
}
