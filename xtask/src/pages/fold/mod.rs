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
    data::{Data, Shown, ShownStep},
    operators::{ARGMAX, LOG_SUM_EXP, MEAN_VARIANCE, Operator, SUM},
};
use super::{
    draw::{Drawing, escape},
    numbers::count,
};

/// Elements of the picture: three leaves, and 100 elements of a fourth, so that some lanes have none.
const LEN: usize = 3172;

/// The schedule of the picture: block 1 draws the first ticket, so that block 0 is the last.
const SEED: u64 = 2;

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

/// An operator's run: what its still's file is called, what that shows, and the still; and what the page's script is given of it.
type Outcome = (&'static str, String, Drawing, Shown);

fn outcome<M: Monoid<f32>>(operator: &'static Operator<M>) -> Result<Outcome> {
    let picture = run(operator)?;
    let (title, still) = still::draw(operator, &picture);
    Ok((operator.still, title, still, data::shown(operator, &picture)?))
}

/// The runs of all operators, in the order of the page.
fn all() -> Result<[Outcome; 4]> {
    Ok([
        outcome(&SUM)?,
        outcome(&ARGMAX)?,
        outcome(&MEAN_VARIANCE)?,
        outcome(&LOG_SUM_EXP)?,
    ])
}

/// The stills as files: names and texts.
pub fn pictures() -> Result<Vec<(String, String)>> {
    let file = |(name, title, still, _): Outcome| (name.to_owned(), still.file("still", &title, still::STYLE, "g"));
    Ok(all()?.into_iter().map(file).collect())
}

/// The section of the page.
pub fn section() -> Result<String> {
    let (mut stills, mut operators) = (String::new(), vec![]);
    for (_, title, still, shown) in all()? {
        stills += &format!("<div>\n{}</div>\n", still.inline("still", &title));
        operators.push(shown);
    }
    let step = |ShownStep { told, .. }: &ShownStep| {
        let [title, text, code] = [&told.title, &told.text, &told.code].map(|text| escape(text));
        format!("<li><b>{title}.</b> {text} <code>{code}</code></li>\n")
    };
    let steps: String = operators[0].steps.iter().map(step).collect();
    let data = Data {
        blocks: run(&SUM)?.blocks,
        warps: picture::WARPS,
        values: values(),
        operators,
    };
    // A slash that follows "<" would end the element that the data lies in.
    let json = serde_json::to_string(&data)?.replace("</", "<\\/");
    let parts = [
        ("{{title}}", TITLE),
        ("{{len}}", &count(LEN as f64)),
        ("{{blocks}}", &data.blocks.to_string()),
        ("{{warps}}", &data.warps.to_string()),
        ("{{stills}}", &stills),
        ("{{steps}}", &steps),
        ("{{data}}", &json),
        ("{{script}}", SCRIPT),
    ];
    let put = |page: String, (name, text): (&str, &str)| page.replacen(name, text, 1);
    Ok(parts.into_iter().fold(TEMPLATE.to_owned(), put))
}
