//! What a build says of itself: `report.json` for programs, a table for people.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::{
    arch,
    facts::{Counts, Figures},
    process::write_if_changed,
};

/// Everything that was built.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// One for each architecture, oldest first.
    pub builds: Vec<Build>,
}

/// The PTX of one architecture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Build {
    /// The architecture it is compiled for, as `sm_NN`.
    pub arch: String,
    /// Code generator and version.
    pub generator: String,
    /// The assembler's release; none if there was none, and so no figures.
    pub ptxas: Option<String>,
    /// Devices for which it was assembled and its figures judged.
    pub devices: Vec<u32>,
    /// Its entry points.
    pub entries: Vec<ReportRow>,
}

/// One entry point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportRow {
    /// Its symbol.
    pub name: String,
    /// What it is made of.
    pub counts: Counts,
    /// Figures on the architecture itself.
    pub figures: Option<Figures>,
}

impl Build {
    /// Adds what was built of it before. They are judged on the devices that both are.
    pub fn add(&mut self, before: Self) {
        self.devices.retain(|device| before.devices.contains(device));
        let is_new = |row: &ReportRow| self.entries.iter().all(|new| new.name != row.name);
        let kept: Vec<ReportRow> = before.entries.into_iter().filter(is_new).collect();
        self.entries.extend(kept);
        self.entries.sort_by(|a, b| a.name.cmp(&b.name));
    }
}

impl Report {
    /// The report in a PTX folder; an empty one if there is none, or none that can be read.
    pub fn load(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join("report.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Puts a build in the place of an earlier one.
    pub fn put(&mut self, build: Build) {
        self.builds.retain(|old| old.arch != build.arch);
        self.builds.push(build);
        self.builds.sort_by_key(|build| arch::number(&build.arch));
    }

    /// Writes the report to its folder.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).context("the report as JSON")?;
        write_if_changed(&folder.join("report.json"), &(text + "\n"))
    }
}

/// A build as a table.
pub fn table(build: &Build) -> String {
    let heads = [
        "entry",
        "bytes",
        "instructions",
        "wide loads",
        "scalar",
        "shuffles",
        "barriers",
        "atomics",
        "fused",
        "regs",
        "shared",
        "spills",
        "stack",
    ];
    let rows = build.entries.iter().map(|row| {
        let figure = |of: fn(&Figures) -> u32| row.figures.as_ref().map_or("-".to_owned(), |f| of(f).to_string());
        let figures = [
            figure(|f| f.registers),
            figure(|f| f.shared),
            figure(|f| f.spill_stores + f.spill_loads),
            figure(|f| f.stack),
        ];
        let counts = row.counts.columns().map(|count| count.to_string());
        [row.name.clone()].into_iter().chain(counts).chain(figures).collect()
    });
    columns(
        std::iter::once(heads.map(str::to_owned).to_vec()).chain(rows).collect(),
        1,
    )
}

/// Lines of cells in columns, the first `left` of them flush left, the others flush right.
pub fn columns(rows: Vec<Vec<String>>, left: usize) -> String {
    let mut widths = vec![];
    for row in &rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| {
            if at < left {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        text += format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(arch: &str) -> Build {
        let row = ReportRow {
            name: "sum_f32".to_owned(),
            counts: Counts {
                bytes: 30_000,
                instructions: 900,
                wide_loads: 8,
                scalar_loads: 32,
                shuffles: 29,
                barriers: 6,
                atomics: 1,
                fused: 0,
            },
            figures: None,
        };
        Build {
            arch: arch.to_owned(),
            generator: "rustc".to_owned(),
            ptxas: None,
            devices: vec![],
            entries: vec![row],
        }
    }

    #[test]
    fn builds_replace_earlier_ones_and_stay_in_order() {
        let mut report = Report::default();
        for arch in ["sm_100", "sm_75", "sm_90", "sm_75"] {
            report.put(build(arch));
        }
        let archs: Vec<_> = report.builds.iter().map(|build| &*build.arch).collect();
        assert_eq!(archs, ["sm_75", "sm_90", "sm_100"]);
    }

    #[test]
    fn a_missing_figure_shows_as_a_dash() {
        let table = table(&build("sm_90"));
        let row = table.lines().nth(1).unwrap();
        let cells: Vec<_> = row.split_whitespace().collect();
        assert_eq!(
            cells,
            [
                "sum_f32", "30000", "900", "8", "32", "29", "6", "1", "0", "-", "-", "-", "-"
            ]
        );
    }
}
