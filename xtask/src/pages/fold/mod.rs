//! The animated fold: a section of the report's page that steps through small runs of the library's own kernel in the emulator, and a
//! still of each.
//!
//! Everything that it shows was computed by those runs; words are added here ([`words`]) and operators described ([`operators`]).

mod data;
mod operators;
mod still;
#[cfg(test)]
mod tests;
mod words;

use anyhow::Result;
use warpfold_emulator::picture::{self, Picture};
use warpfold_kernels::monoids::Monoid;

use self::{
    operators::{ARGMAX, LOG_SUM_EXP, MEAN_VARIANCE, Operator, SUM},
    still::Still,
};

/// Elements of the picture: three leaves, and 100 elements of a fourth, so that some lanes have none.
const LEN: usize = 3172;

/// The schedule of the picture: block 1 draws the first ticket, so that block 0 is the last.
const SEED: u64 = 2;

pub use still::thousands;

const TEMPLATE: &str = include_str!("section.html");
const SCRIPT: &str = include_str!("section.js");

/// The heading of the section, and what it is found by.
pub const TITLE: &str = "A fold, step by step";
/// Rules of the section alone: all are of its element, or of names that begin with its own.
pub const STYLES: [&str; 2] = [still::STYLE, include_str!("section.css")];

/// The elements: hundredths from −10.9 to 20.9. 3181 is prime, so none comes twice.
fn values() -> Vec<f32> {
    (0..LEN).map(|i| ((i * 1103 % 3181) as f32 - 1090.0) / 100.0).collect()
}

fn run<M: Monoid<f32>>(operator: &Operator<M>) -> Result<Picture<M::State, M::Answer>> {
    Ok(picture::small(operator.op, &values(), SEED)?)
}

fn draw<M: Monoid<f32>>(operator: &Operator<M>) -> Result<(&'static str, Still)> {
    Ok((operator.still, still::draw(operator, &run(operator)?)))
}

/// A still of each operator, and what its file is called.
fn stills() -> Result<[(&'static str, Still); 4]> {
    Ok([draw(&SUM)?, draw(&ARGMAX)?, draw(&MEAN_VARIANCE)?, draw(&LOG_SUM_EXP)?])
}

/// The stills as files: names and texts.
pub fn pictures() -> Result<Vec<(String, String)>> {
    let file = |(name, still): (&str, Still)| (name.to_owned(), still.file());
    Ok(stills()?.into_iter().map(file).collect())
}

/// The section of the page.
pub fn section() -> Result<String> {
    let (sum, data) = (run(&SUM)?, data::of_all(&values())?);
    let steps: Vec<String> = data.operators[0].steps.iter().map(words::list_item).collect();
    let stills = stills()?.map(|(_, still)| format!("<div>\n{}</div>\n", still.inline()));
    // A slash that follows "<" would end the element that the data lies in.
    let json = serde_json::to_string(&data)?.replace("</", "<\\/");
    let parts = [
        ("{{title}}", TITLE),
        ("{{len}}", &thousands(sum.len)),
        ("{{blocks}}", &sum.blocks.to_string()),
        ("{{warps}}", &picture::WARPS.to_string()),
        ("{{stills}}", &stills.concat()),
        ("{{steps}}", &steps.concat()),
        ("{{data}}", &json),
        ("{{script}}", SCRIPT),
    ];
    let put = |page: String, (name, text): (&str, &str)| page.replacen(name, text, 1);
    Ok(parts.into_iter().fold(TEMPLATE.to_owned(), put))
}
