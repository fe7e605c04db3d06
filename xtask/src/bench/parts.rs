//! What can be measured, and by which programs.

use anyhow::Result;

use super::{programs::Programs, records::Measured};

/// Something to measure.
#[derive(Debug)]
pub struct BenchPart {
    /// What it is asked for by.
    pub name: &'static str,
    by: By,
    /// The peers' groups that are measured beside it.
    pub peers: &'static [&'static str],
}

/// What measures it.
#[derive(Debug)]
enum By {
    /// Subcommands of the command.
    Commands(&'static [&'static [&'static str]]),
    /// A benchmark that prints CSV, and what it is asked for.
    Csv(&'static str, &'static [&'static str]),
    /// A benchmark that prints JSON.
    Json(&'static str, &'static [&'static str]),
}

/// All of them.
pub const PARTS: [BenchPart; 20] = [
    part("ladder", By::Commands(&LADDER), &["determinism"]),
    part("accuracy", By::Commands(&[&["accuracy"]]), &["accuracy"]),
    part("whole", By::Csv("gpu", &["whole", "unaligned", "host"]), &["whole"]),
    part("operators", By::Csv("gpu", &["operators"]), &["operators"]),
    part("types", By::Csv("gpu", &["types"]), &["types"]),
    part("exact", By::Csv("gpu", &["exact"]), &[]),
    part("pairs", By::Csv("gpu", &["pairs"]), &["pairs"]),
    part("masks", By::Csv("gpu", &["masks"]), &[]),
    part("steps", By::Csv("gpu", &["steps"]), &[]),
    part("axes", By::Csv("gpu", &["axes"]), &["rows", "columns"]),
    part("segments", By::Csv("gpu", &["segments"]), &["segments"]),
    part("large-states", By::Csv("gpu", &["large-states"]), &[]),
    part("distinct", By::Csv("gpu", &["distinct"]), &[]),
    part(
        "maps",
        By::Csv("rows", &["maps", "gpt2", "group_norm", "forms"]),
        &["maps", "gpt2"],
    ),
    part("backward", By::Csv("rows", &["backward"]), &["backward"]),
    part("vocabulary", By::Csv("rows", &["vocabulary"]), &["vocabulary"]),
    part("serving", By::Csv("rows", &["serving"]), &["serving", "early"]),
    part("gradients", By::Csv("gradients", &[]), &["gradients"]),
    part("first-calls", By::Json("gpu", &["first-calls"]), &[]),
    part("cpu", By::Json("cpu", &["json"]), &[]),
];

const LADDER: [&[&str]; 4] = [
    &["ladder", "sum", "--runs", "1000"],
    &["ladder", "softmax"],
    &["ladder", "layer-norm"],
    &["ladder", "stages"],
];

const fn part(name: &'static str, by: By, peers: &'static [&'static str]) -> BenchPart {
    BenchPart { name, by, peers }
}

/// The part of a name.
pub fn named(name: &str) -> Result<&'static BenchPart, String> {
    const ALL: &[BenchPart] = &PARTS;
    let names = || ALL.iter().map(|part| part.name).collect::<Vec<_>>().join(", ");
    let found = ALL.iter().find(|part| part.name == name);
    found.ok_or_else(|| format!("no part of that name; there are {}", names()))
}

impl BenchPart {
    /// Whether it needs no GPU.
    pub fn is_of_cpu(&self) -> bool {
        self.bench() == Some("cpu")
    }

    /// The benchmark that measures it.
    pub fn bench(&self) -> Option<&'static str> {
        match self.by {
            By::Commands(_) => None,
            By::Csv(bench, _) | By::Json(bench, _) => Some(bench),
        }
    }

    /// What our programs measure of it.
    pub fn measure(&self, programs: &Programs) -> Result<Measured> {
        match self.by {
            By::Csv(bench, asked) => programs.csv(bench, asked),
            By::Json(bench, asked) => programs.json(bench, asked),
            By::Commands(commands) => {
                let mut measured = Measured::default();
                for command in commands {
                    measured.figures.extend(programs.command(command)?);
                }
                Ok(measured)
            }
        }
    }
}
