//! The steps in words. What is in braces is put in, if it has a name and nothing else.

use anyhow::{Context, Result};
use serde::Serialize;
use warpfold_emulator::picture::{Picture, Place, Stage, Step};

use crate::pages::numbers::count;

/// Of each stage a name, a title, a line of Rust and a text.
const STEPS: &str = include_str!("steps.txt");

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
pub fn told<State, Answer>(step: &Step<State>, operator: &str, picture: &Picture<State, Answer>) -> Result<Told> {
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
    let stage = format!("{:?}", step.stage);
    let stage = match stage.split(' ').next().unwrap_or_default() {
        "Columns" if operator == "mean-variance" => "Columns of mean-variance",
        "Ticket" if number == last => "Ticket, the last",
        stage => stage,
    };
    let mut told = STEPS.split("\n\n").map(|told| told.lines());
    let mut lines = told.find_map(|mut lines| (lines.next() == Some(stage)).then_some(lines));
    let lines = lines.as_mut().with_context(|| format!("nothing is told of {stage}"))?;
    let block = block_of_ticket(picture, number).unwrap_or_default();
    let put = |text: &str| {
        let text = text
            .replace("{more}", more)
            .replace("{len}", &count(picture.len as f64));
        let numbers = [
            ("reach", reach),
            ("neighbours", 2 * reach),
            ("number", number),
            ("last", last),
        ];
        let numbers = numbers
            .into_iter()
            .chain([("blocks", picture.blocks), ("block", block)]);
        numbers.fold(text, |text, (name, number)| {
            text.replace(&format!("{{{name}}}"), &number.to_string())
        })
    };
    let mut line = || put(lines.next().unwrap_or_default());
    let (title, code) = (line(), line());
    let text = put(&lines.collect::<Vec<_>>().join(" "));
    Ok(Told { title, text, code })
}

/// The block that draws a ticket, in a picture.
pub fn block_of_ticket<State, Answer>(picture: &Picture<State, Answer>, number: u32) -> Option<u32> {
    let is_ticket = |stage| stage == Stage::Ticket { number };
    let step = picture.steps.iter().find(|step| is_ticket(step.stage))?;
    let mut from = step.changes.iter().flat_map(|change| &change.from);
    from.find_map(|place| match place {
        Place::Lane(who) => Some(who.block),
        _ => None,
    })
}
