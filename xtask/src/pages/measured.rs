//! A record, as tables and charts ask it.

use anyhow::{Context, Result};
use warpfold_kernels::ladder::{LAYER_NORMS, Rung, SOFTMAXES, SUMS};

use super::draw::NOBODY;
use crate::bench::records::{Failed, Figure, Record};

/// What our figures are called.
pub const OWN: &str = "warpfold";

/// Who reads the elements and does nothing with them.
pub const PLAIN_READ: &str = "a plain read";

/// The length that the ladder of the sum is climbed at, and the one that every rung takes.
pub const MANY: &str = "2^28";
pub const FEW: &str = "2^11";

/// Everybody who has a colour and a mark of their own.
const SERIES: [&str; NOBODY] = [
    OWN,
    "CUB",
    "PyTorch",
    "torch.compile",
    "Triton",
    "CuPy",
    "QuACK",
    "Liger",
];

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

/// Names of rungs, in their order, and of the library's own kernel; with their titles.
pub fn rungs(op: &str) -> Vec<(&'static str, &'static str)> {
    fn of<K>(rungs: &'static [Rung<K>]) -> Vec<(&'static str, &'static str)> {
        let own = (OWN, "the library's own");
        rungs.iter().map(|rung| (rung.name, rung.title)).chain([own]).collect()
    }
    match op {
        "softmax" => of(&SOFTMAXES),
        "layer-norm" => of(&LAYER_NORMS),
        _ => of(&SUMS),
    }
}

/// The title of the rung that a figure is of.
pub fn rung_title(figure: &Figure) -> &'static str {
    let title = rungs(&figure.op).into_iter().find(|(name, _)| *name == figure.who);
    title.map_or("", |(_, title)| title)
}

/// How many runs a figure is of. The peers' program said nothing of it in the first records.
pub fn runs(figure: &Figure) -> &str {
    figure.note.as_deref().unwrap_or("1000 runs")
}

/// What is measured: group, operation, type and case.
pub type What<'a> = [&'a str; 4];

/// What a figure is of.
pub fn what(figure: &Figure) -> What<'_> {
    [&figure.group, &figure.op, &figure.dtype, &figure.case]
}

/// A record.
#[derive(Clone, Copy)]
pub struct Of<'a>(pub &'a Record);

impl<'a> Of<'a> {
    /// The newest record that has figures of an operation.
    pub fn newest(records: &'a [Record], group: &str, op: &str) -> Result<Self> {
        let has = |record: &&Record| record.figures.iter().any(|f| f.group == group && f.op == op);
        let record = records.iter().rev().find(has);
        Ok(Self(
            record.with_context(|| format!("no record has figures of {group}, {op}"))?,
        ))
    }

    /// A group's figures of a metric.
    pub fn figures(self, group: &str, metric: &str) -> impl Iterator<Item = &'a Figure> {
        let figures = self.0.figures.iter();
        figures.filter(move |figure| figure.group == group && figure.metric == metric)
    }

    /// A figure.
    pub fn figure(self, [group, op, dtype, case]: What<'_>, who: &str, metric: &str) -> Option<&'a Figure> {
        let key = [group, op, dtype, case, who, metric];
        self.0.figures.iter().find(|figure| figure.key() == key)
    }

    /// The figure of the least value among some.
    pub fn fastest(self, is: impl Fn(&&Figure) -> bool) -> Option<&'a Figure> {
        let figures = self.0.figures.iter().filter(is);
        figures.min_by(|a, b| a.value.total_cmp(&b.value))
    }

    /// The time of a plain read.
    pub fn plain_read(self) -> Option<&'a Figure> {
        self.figure(["ladder", "sum", "f32", MANY], PLAIN_READ, "us")
    }

    /// The memory's peak, by clock and width.
    pub fn peak(self) -> Option<f64> {
        self.0.machine.gpu.as_ref().and_then(|gpu| gpu.peak_gb_per_s)
    }

    /// What stands in place of somebody's time, and why: they gave no answer or a wrong one, or were not there at all.
    pub fn missing(self, what: What<'_>, who: &str) -> Option<(&'a str, &'a str)> {
        let is = |f: &&Failed| [&*f.group, &f.op, &f.dtype, &f.case] == what && f.who == who;
        if let Some(failed) = self.0.failed.iter().find(is) {
            return Some(("failed", &failed.failed));
        }
        let is_there = self.0.figures.iter().any(|figure| figure.who == who);
        let why = self.0.absent.get(who).or_else(|| self.0.absent.get("all peers"));
        (!is_there).then(|| ("not present", why.map_or("it was not measured", |why| why)))
    }

    /// Card, day and commit.
    pub fn source(self) -> String {
        let machine = &self.0.machine;
        let cpu = || format!("CPU, {} threads of {}", machine.threads, machine.vector_instructions);
        let card = machine.gpu.as_ref().map_or_else(cpu, |gpu| gpu.name.clone());
        format!("{card}, {}, commit {}", self.0.day(), self.0.commit)
    }

    /// When, of which source, and where it was measured.
    pub fn sentence(self) -> String {
        let (record, machine) = (self.0, &self.0.machine);
        let cpu = || {
            let (threads, with) = (machine.threads, &machine.vector_instructions);
            format!("{threads} threads of one {}, {with}", record.card())
        };
        let on = machine.gpu.as_ref().map_or_else(cpu, |gpu| format!("one {}", gpu.name));
        format!("Measured on {} at commit {}, on {on}.", record.day(), record.commit)
    }
}

/// GB/s of a time whose bytes are known.
pub fn gb_per_s(figure: &Figure) -> f64 {
    figure.gb_per_s().unwrap_or(f64::NAN)
}

/// An error that names a time whose bytes are not known.
pub fn ensure_bytes<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> Result<()> {
    let without = figures.into_iter().find(|figure| figure.gb_per_s().is_none());
    without.map_or(Ok(()), |figure| Err(anyhow::anyhow!("{:?} has no bytes", figure.key())))
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

#[cfg(test)]
pub mod tests {
    use crate::bench::records::{Figure, Key, tests::figure};

    /// A figure that nobody measured.
    pub fn figure_of([group, op, dtype, case, who, metric]: Key<'_>, value: f64) -> Figure {
        let [group, op, dtype, metric] = [group, op, dtype, metric].map(str::to_owned);
        let mut figure = figure(who, case, value);
        (figure.group, figure.op, figure.dtype, figure.metric) = (group, op, dtype, metric);
        figure
    }
}
