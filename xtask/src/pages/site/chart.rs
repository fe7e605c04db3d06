//! A chart: what is drawn, its table, and the record that both are of.

use anyhow::{Context, Result};

use super::{svg::Drawing, table::Table};
use crate::bench::records::{Figure, Record};

/// A chart.
pub struct Chart {
    /// What its file is called.
    pub name: String,
    pub title: String,
    /// How it is read: a sentence or two.
    pub says: String,
    pub drawing: Drawing,
    pub table: Table,
    /// Card, day and commit.
    pub source: String,
}

/// What makes a chart of a record, or nothing where the record has no figures of it.
pub type Make<'a> = &'a dyn Fn(Of<'_>) -> Result<Option<Chart>>;

/// Of the newest record that has figures of it.
pub fn newest(records: &[Record], make: Make<'_>) -> Result<Option<Chart>> {
    for record in records.iter().rev() {
        let made = make(Of(record)).with_context(|| format!("the record of {} on {}", record.date, record.card()))?;
        if made.is_some() {
            return Ok(made);
        }
    }
    Ok(None)
}

/// A record, as charts ask it.
#[derive(Clone, Copy)]
pub struct Of<'a>(pub &'a Record);

/// What our figures are called.
pub const OWN: &str = "warpfold";

/// Everybody who has a colour and a mark of their own; the first is warpfold.
const SERIES: [&str; 8] = [
    OWN,
    "CUB",
    "PyTorch",
    "torch.compile",
    "Triton",
    "CuPy",
    "QuACK",
    "Liger",
];

/// The colour and the mark of all others.
pub const NOBODY: usize = SERIES.len();

/// The colour and the mark of somebody: the same in every chart.
pub fn series(who: &str) -> usize {
    SERIES.iter().position(|known| *known == who).unwrap_or(NOBODY)
}

/// The same of a name that begins with theirs: `PyTorch index_add`, `warpfold, exact`.
pub fn series_of(name: &str) -> usize {
    series(name.split([' ', ',']).next().unwrap_or_default())
}

/// Whom a group of cases compares us with.
pub fn peers(group: &str) -> &'static [&'static str] {
    match group {
        "whole" => &["CUB", "PyTorch", "torch.compile", "Triton", "CuPy"],
        "rows" => &["PyTorch", "torch.compile", "Triton"],
        "segments" => &["CUB", "PyTorch"],
        "maps" => &["PyTorch", "torch.compile", "Triton", "QuACK", "Liger"],
        _ => &["PyTorch", "torch.compile"],
    }
}

impl<'a> Of<'a> {
    /// Card, day and commit.
    pub fn source(self) -> String {
        let machine = &self.0.machine;
        let cpu = || format!("CPU, {} threads of {}", machine.threads, machine.vector_instructions);
        let card = machine.gpu.as_ref().map_or_else(cpu, |gpu| gpu.name.clone());
        format!("{card}, {}, commit {}", self.0.day(), self.0.commit)
    }

    /// A group's figures of a metric.
    pub fn figures(self, group: &str, metric: &str) -> impl Iterator<Item = &'a Figure> {
        let figures = self.0.figures.iter();
        figures.filter(move |figure| figure.group == group && figure.metric == metric)
    }

    /// A time.
    pub fn time(self, [group, op, dtype, case, who]: [&str; 5]) -> Option<&'a Figure> {
        let key = [group, op, dtype, case, who, "us"];
        self.0.figures.iter().find(|figure| figure.key() == key)
    }

    /// By clock and width.
    pub fn peak(self) -> Option<f64> {
        self.0.machine.gpu.as_ref().and_then(|gpu| gpu.peak_gb_per_s)
    }

    /// Why a peer has no figures in the record, if it has none.
    pub fn absent(self, who: &str) -> Option<&'a str> {
        if self.0.figures.iter().any(|figure| figure.who == who) {
            return None;
        }
        let why = self.0.absent.get(who).or_else(|| self.0.absent.get("all peers"));
        Some(why.map_or("it was not measured", |why| why))
    }

    /// Why a case has no figure, where it gave no answer or a wrong one.
    pub fn failed(self, [group, op, dtype, case, who]: [&str; 5]) -> Option<&'a str> {
        let key = [group, op, dtype, case, who];
        let is = |f: &&crate::bench::records::Failed| [&f.group, &f.op, &f.dtype, &f.case, &f.who] == key;
        self.0.failed.iter().find(is).map(|failed| &*failed.failed)
    }
}

/// GB/s of a time; an error that names the figure where its bytes are not known.
pub fn gb_per_s(figure: &Figure) -> Result<f64> {
    figure
        .gb_per_s()
        .with_context(|| format!("{:?} has no bytes", figure.key()))
}

/// What is there, each once, in the order in which it comes.
pub fn once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = vec![];
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}
