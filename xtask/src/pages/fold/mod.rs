//! The animated fold: a page that steps through a small run of the library's own kernel in the emulator, and a still of it.
//!
//! Everything that it shows was computed by that run; words are added here ([`words`]) and operators described ([`operators`]).

mod data;
mod operators;
mod still;
#[cfg(test)]
mod tests;
mod words;

use std::path::PathBuf;

use anyhow::Result;
use warpfold_emulator::picture::{self, Picture};
use warpfold_kernels::monoids::Sum;

use crate::{paths, process::write_if_changed};

/// Elements of the picture: three leaves, and 100 elements of a fourth, so that some lanes have none.
const LEN: usize = 3172;

/// The schedule of the picture: block 1 draws the first ticket, so that block 0 is the last.
const SEED: u64 = 2;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Writes the page to `target/report/fold.html`.
pub fn write() -> Result<()> {
    let page = page_file();
    write_if_changed(&page, &page_text()?)?;
    println!("a fold in steps: {}", page.display());
    Ok(())
}

/// The still of the sum: its file's name, and its text.
pub fn still() -> Result<(String, String)> {
    Ok(("fold-sum.svg".to_owned(), still::draw(&sum()?)))
}

fn page_file() -> PathBuf {
    paths::target().join("report/fold.html")
}

/// The elements: hundredths from −10.9 to 20.9. 3181 is prime, so none comes twice.
fn values() -> Vec<f32> {
    (0..LEN).map(|i| ((i * 1103 % 3181) as f32 - 1090.0) / 100.0).collect()
}

fn sum() -> Result<Picture<f32, f32>> {
    Ok(picture::small(Sum, &values(), SEED)?)
}

fn page_text() -> Result<String> {
    let (sum, data) = (sum()?, data::of_all(&values())?);
    let list: Vec<String> = data.operators[0].steps.iter().map(words::list_item).collect();
    // A slash that follows "<" would end the element that the data lies in.
    let json = serde_json::to_string(&data)?.replace("</", "<\\/");
    let parts = [
        ("{{style}}", STYLE),
        ("{{len}}", &still::thousands(sum.len)),
        ("{{blocks}}", &sum.blocks.to_string()),
        ("{{warps}}", &picture::WARPS.to_string()),
        ("{{still}}", &still::draw(&sum)),
        ("{{steps}}", &list.concat()),
        ("{{data}}", &json),
        ("{{script}}", SCRIPT),
    ];
    let put = |page: String, (name, text): (&str, &str)| page.replacen(name, text, 1);
    Ok(parts.into_iter().fold(TEMPLATE.to_owned(), put))
}
