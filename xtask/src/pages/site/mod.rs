//! The report: charts of the records, as one page that needs nothing else, and as pictures for the README and the pages beside it.

mod bars;
#[cfg(test)]
mod browser;
mod chart;
mod dots;
mod heat;
mod lines;
mod own;
mod page;
mod scale;
mod svg;
mod table;
#[cfg(test)]
mod tests;
mod versus;

use anyhow::{Context, Result};

use super::COLOURS;
use crate::bench::records::Record;
use chart::{Chart, Make, newest};

pub use page::page;
pub use scale::case;
pub use svg::{Anchor, Drawing, Sign, WIDTH, escape};

/// Strokes, fills and sizes of charts.
const CHART_STYLE: &str = include_str!("chart.css");

/// Charts of one subject.
pub struct Section {
    title: &'static str,
    says: &'static str,
    charts: Vec<Chart>,
    /// Figures that no record has, so that their charts are left out.
    missing: Vec<String>,
}

/// A chart that a section should have: the figures that it takes, and what makes it.
type Planned<'a> = (&'a str, Make<'a>);

/// What becomes of a section's charts of which no record has figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absent {
    /// They are named.
    Named,
    /// They are passed over, and so is the section without any.
    PassedOver,
}

type Plan = (&'static str, &'static str, Absent, &'static [Planned<'static>]);

/// All sections, each chart of the newest record that has its figures. What is measured on GPUs is never of a record without one.
pub fn sections(records: &[Record]) -> Result<Vec<Section>> {
    let of_gpus: Vec<Record> = records
        .iter()
        .filter(|record| record.machine.gpu.is_some())
        .cloned()
        .collect();
    let section = |(title, says, absent, planned): Plan, records: &[Record]| {
        let (mut charts, mut missing) = (vec![], vec![]);
        for (what, make) in planned {
            match newest(records, *make).with_context(|| format!("the chart of {what}"))? {
                Some(chart) => charts.push(chart),
                None if absent == Absent::Named => missing.push((*what).to_owned()),
                None => {}
            }
        }
        Ok(Section {
            title,
            says,
            charts,
            missing,
        })
    };
    let gpu = beside_peers()
        .into_iter()
        .chain(of_sums())
        .map(|plan| section(plan, &of_gpus));
    let mut sections: Vec<Section> = gpu.chain([section(CPU, records)]).collect::<Result<_>>()?;
    sections.retain(|section| !(section.charts.is_empty() && section.missing.is_empty()));
    Ok(sections)
}

/// What the CPU is measured by.
const CPU: Plan = (
    "On the CPU",
    "Speed of the CPU backend.",
    Absent::PassedOver,
    &[("cpu", &own::cpu)],
);

/// Sections that compare.
fn beside_peers() -> [Plan; 5] {
    [
        (
            "Whole arrays",
            "Bandwidth of one reduction of a whole array, beside other libraries.",
            Absent::Named,
            &[
                ("whole, sum", &|of| versus::bandwidth(of, "sum")),
                ("whole, max", &|of| versus::bandwidth(of, "max")),
                ("whole, argmax", &|of| versus::bandwidth(of, "argmax")),
            ],
        ),
        (
            "Along an axis",
            "Reductions of the rows and the columns of matrices.",
            Absent::Named,
            &[
                ("rows, f32", &|of| versus::ratios(of, "rows", "f32")),
                ("rows, bf16", &|of| versus::ratios(of, "rows", "bf16")),
                ("columns, f32", &|of| versus::ratios(of, "columns", "f32")),
                ("columns, bf16", &|of| versus::ratios(of, "columns", "bf16")),
            ],
        ),
        (
            "Segments",
            "Reductions of segments of one array, by kind of lengths: all of 2ᵏ elements, of lengths between two, or very uneven.",
            Absent::PassedOver,
            &[
                ("segments, f32", &|of| versus::ratios(of, "segments", "f32")),
                ("segments, f32, shares", &|of| versus::shares(of, "segments", "f32")),
                ("segments, bf16", &|of| versus::ratios(of, "segments", "bf16")),
                ("segments, bf16, shares", &|of| versus::shares(of, "segments", "bf16")),
                ("segments, f64", &|of| versus::ratios(of, "segments", "f64")),
                ("segments, f64, shares", &|of| versus::shares(of, "segments", "f64")),
            ],
        ),
        (
            "Row operations",
            "Softmax, norms and cross-entropy of the rows of a matrix.",
            Absent::Named,
            &[
                ("maps, f32", &|of| versus::ratios(of, "maps", "f32")),
                ("maps, bf16", &|of| versus::ratios(of, "maps", "bf16")),
            ],
        ),
        (
            "GPT-2",
            "Its layer norm, and the causal softmax of its attention.",
            Absent::Named,
            &[("gpt2", &|of| versus::cases(of, "gpt2", "GPT-2's row operations"))],
        ),
    ]
}

/// Sections on sums themselves.
fn of_sums() -> [Plan; 3] {
    [
        (
            "The ladder",
            "How a reduction becomes fast, one idea a rung.",
            Absent::Named,
            &[
                ("ladder, sum", &own::ladder_sum),
                ("ladder, stages", &own::stages),
                ("ladder, softmax", &|of| own::ladder_rows(of, "softmax")),
                ("ladder, layer-norm", &|of| own::ladder_rows(of, "layer-norm")),
            ],
        ),
        (
            "Accuracy and determinism",
            "How far sums are from the exact one, and whether their bits are the same in every run.",
            Absent::Named,
            &[("accuracy", &own::accuracy), ("determinism", &own::determinism)],
        ),
        (
            "First calls",
            "What a process waits for once.",
            Absent::Named,
            &[("first-calls", &own::first_calls)],
        ),
    ]
}

/// Each chart as a file: its name and its text.
pub fn pictures(sections: &[Section]) -> Vec<(String, String)> {
    let style = [COLOURS, CHART_STYLE].concat();
    let charts = sections.iter().flat_map(|section| &section.charts);
    let picture = |chart: &Chart| {
        let texts = [&*chart.title, &*chart.label(), &*chart.source];
        (format!("{}.svg", chart.name), chart.drawing.file(texts, &style))
    };
    charts.map(picture).collect()
}
