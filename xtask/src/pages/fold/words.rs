//! The steps in words.

use warpfold_emulator::picture::{Picture, Stage, Step};

use super::{
    data::{ShownStep, block_of_ticket},
    still::thousands,
};

/// A step's title, its text, and what it is in Rust.
pub fn of<State, Answer>(
    step: &Step<State>,
    operator: &str,
    picture: &Picture<State, Answer>,
) -> (String, String, String) {
    let (title, text, code) = match step.stage {
        Stage::Load => loads(picture),
        Stage::Columns => columns(operator),
        Stage::Lane => (
            "Each lane folds its columns".to_owned(),
            "The four columns become one state, still without any other lane. From here on a lane holds one state, whatever the \
             operator is."
                .to_owned(),
            "state = op.combine(op.combine(c0, c1), op.combine(c2, c3));".to_owned(),
        ),
        Stage::Shuffle { reach } => shuffle(reach),
        Stage::Share | Stage::Barrier | Stage::Block => in_block(step.stage),
        Stage::Slot | Stage::Ticket { .. } => in_grid(step.stage, picture),
        Stage::Gather | Stage::Last { .. } | Stage::Answer => at_last(step.stage, picture),
    };
    (title, text, code)
}

fn loads<State, Answer>(picture: &Picture<State, Answer>) -> (String, String, String) {
    let text = format!(
        "A warp is 32 lanes: threads that run the same instruction together. One load of a lane reads four neighbouring floats, 16 \
         bytes; the 32 loads of a warp lie side by side, so memory is read in long runs (coalesced). Eight such rows, 1,024 \
         elements, are a leaf, and each warp has one. The array has {} elements: the last leaf is short and loaded word by word, and \
         some of its lanes have none.",
        thousands(picture.len)
    );
    let code = "let rows: [[f32; 4]; 8] = load(leaf, lane);";
    ("Each lane loads its elements".to_owned(), text, code.to_owned())
}

fn columns(operator: &str) -> (String, String, String) {
    let (text, code) = if operator == "mean-variance" {
        (
            "This operator folds the eight elements of a column at once: first their mean, then the squared distances from it. Lanes \
             need nothing of each other yet.",
            "let c0 = op.fold_column([r0[0], r1[0], …, r7[0]]);",
        )
    } else {
        (
            "A lane's elements are eight rows of four columns. The rows of each column are combined in pairs of neighbours, then the \
             results in pairs again. Lanes need nothing of each other yet. Where there is no element stands the identity, which \
             changes nothing.",
            "let c0 = ((r0[0] ∘ r1[0]) ∘ (r2[0] ∘ r3[0])) ∘ ((r4[0] ∘ r5[0]) ∘ (r6[0] ∘ r7[0]));",
        )
    };
    let title = "Each lane folds the rows of its columns";
    (title.to_owned(), text.to_owned(), code.to_owned())
}

fn shuffle(reach: u32) -> (String, String, String) {
    let more = match reach {
        1 => " A shuffle hands a register from lane to lane, without memory.",
        16 => " After five rounds all 32 lanes hold the state of the warp's leaf.",
        _ => "",
    };
    let text = format!(
        "Lanes swap states in pairs, {reach} apart: 0 with {reach}, and so on. Their numbers differ in the one bit that is worth \
         {reach}. Both lanes combine the two states, so every {} neighbours now hold the same one, shown in one colour.{more}",
        2 * reach
    );
    let code = format!("state = op.combine(state, simt.shuffle_xor(state, {reach}));");
    (format!("Warp: shuffle over {reach}"), text, code)
}

fn in_block(stage: Stage) -> (String, String, String) {
    let (title, text, code) = match stage {
        Stage::Share => (
            "Block: a slot for each warp",
            "Shuffles end at the warp. Shared memory belongs to the block: lane 0 of each warp puts the warp's state there.",
            "if simt.lane() == 0 { shared[simt.warp()] = state; }",
        ),
        Stage::Barrier => (
            "Block: barrier",
            "Every thread of a block waits here for the others. Without it the first warp could read a slot before it is written. A \
             barrier reaches no other block.",
            "simt.barrier();",
        ),
        _ => (
            "Block: the first warp folds the slots",
            "Lane 0 of the first warp reads the slots and combines them. With more warps, more lanes would read, and shuffle again.",
            "state = op.combine(shared[0], shared[1]);",
        ),
    };
    (title.to_owned(), text.to_owned(), code.to_owned())
}

fn in_grid<State, Answer>(stage: Stage, picture: &Picture<State, Answer>) -> (String, String, String) {
    let Stage::Ticket { number } = stage else {
        let text = "Blocks share nothing but global memory, and cannot wait for each other. Each stores its state in a slot that is \
                    its own: which one, depends on its number, never on who is first.";
        let code = "slots[simt.block()] = state;";
        return (
            "Grid: a slot for each block".to_owned(),
            text.to_owned(),
            code.to_owned(),
        );
    };
    let block = block_of_ticket(picture, number).unwrap_or_default();
    let last = picture.blocks - 1;
    let text = if number == last {
        format!(
            "The counter stood at {number}, so block {block} is the last: every slot is written, and it may read them all. It leaves the \
             counter at 0 for the next launch. The order of arrival decides who does the rest, and no bit of the answer."
        )
    } else {
        format!(
            "Thread 0 adds one to a counter, in one atomic operation, and gets what it was: {number}. The last would get {last}. So \
             block {block} is not the last, and is done."
        )
    };
    let code = format!("let is_last = simt.ticket(tickets, {last}) == {last};");
    (format!("Grid: block {block} draws ticket {number}"), text, code)
}

fn at_last<State, Answer>(stage: Stage, picture: &Picture<State, Answer>) -> (String, String, String) {
    let block = block_of_ticket(picture, picture.blocks - 1).unwrap_or_default();
    let (title, text, code) = match stage {
        Stage::Gather => (
            format!("Last block: block {block} loads the slots"),
            format!("One lane of its first warp loads each slot: {} of 256 that a warp folds at once. Other lanes hold the identity.", picture.blocks),
            "let state = if lane < blocks { slots[lane] } else { op.identity() };",
        ),
        Stage::Last { .. } => (
            "Last block: its warp folds the slots".to_owned(),
            "By shuffles, neighbours first, as before. Rounds that combine with nothing but the identity are not shown: they change no \
             bit."
            .to_owned(),
            "state = op.combine(state, simt.shuffle_xor(state, 1));",
        ),
        _ => (
            "The answer".to_owned(),
            "Thread 0 finishes the state and stores the answer. Every pair that was combined follows from the number of elements \
             alone; so do the bits."
            .to_owned(),
            "answer = op.finish(state, len);",
        ),
    };
    (title, text, code.to_owned())
}

/// A step as an item of a list.
pub fn list_item(step: &ShownStep) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<li><b>{}.</b> {} <code>{}</code></li>\n",
        escape(&step.title),
        escape(&step.text),
        escape(&step.code)
    )
}
