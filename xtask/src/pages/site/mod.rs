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
pub use svg::escape;

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

/// All sections, each chart of the newest record that has its figures.
pub fn sections(records: &[Record]) -> Result<Vec<Section>> {
    let section = |title, says, planned: &[Planned<'_>]| {
        let (mut charts, mut missing) = (vec![], vec![]);
        for (what, make) in planned {
            match newest(records, *make).with_context(|| format!("the chart of {what}"))? {
                Some(chart) => charts.push(chart),
                None => missing.push((*what).to_owned()),
            }
        }
        Ok(Section {
            title,
            says,
            charts,
            missing,
        })
    };
    beside_peers()
        .into_iter()
        .chain(of_sums())
        .map(|(title, says, planned)| section(title, says, planned))
        .collect()
}

type Plan = (&'static str, &'static str, &'static [Planned<'static>]);

/// Sections that compare.
fn beside_peers() -> [Plan; 4] {
    [
        (
            "Whole arrays",
            "Bandwidth of one reduction of a whole array, beside other libraries.",
            &[
                ("whole, sum", &|of| versus::bandwidth(of, "sum")),
                ("whole, max", &|of| versus::bandwidth(of, "max")),
                ("whole, argmax", &|of| versus::bandwidth(of, "argmax")),
            ],
        ),
        (
            "Along an axis",
            "Reductions of the rows and the columns of matrices, and of segments.",
            &[
                ("rows, f32", &|of| versus::ratios(of, "rows", "f32")),
                ("rows, bf16", &|of| versus::ratios(of, "rows", "bf16")),
                ("columns, f32", &|of| versus::ratios(of, "columns", "f32")),
                ("columns, bf16", &|of| versus::ratios(of, "columns", "bf16")),
                ("segments, f32", &|of| versus::ratios(of, "segments", "f32")),
            ],
        ),
        (
            "Row operations",
            "Softmax, norms and cross-entropy of the rows of a matrix.",
            &[
                ("maps, f32", &|of| versus::ratios(of, "maps", "f32")),
                ("maps, bf16", &|of| versus::ratios(of, "maps", "bf16")),
            ],
        ),
        (
            "GPT-2",
            "Its layer norm, and the causal softmax of its attention.",
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
            &[("accuracy", &own::accuracy), ("determinism", &own::determinism)],
        ),
        (
            "First calls",
            "What a process waits for once.",
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
