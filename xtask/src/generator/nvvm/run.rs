//! The last build of all kernels through Rust-CUDA, which few machines can make: when it was, of which sources, and where its PTX has run.
//! `cargo xtask build-ptx --codegen nvvm --bless` writes it down, beside the facts of the code.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::sources;
use crate::{
    paths,
    process::{capture, write_if_changed},
    stamp,
};

/// A build.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The day of the commit.
    pub date: String,
    /// What it was built from.
    pub commit: String,
    /// The stamp of the kernels' sources.
    pub kernels: String,
    /// Where what it made has run since, and what; none for a build of now.
    pub ran: Vec<String>,
    /// How long it took there.
    #[serde(default)]
    pub times: Vec<Time>,
}

/// Medians of one run, in which the programs with each generator's kernels took turns.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Time {
    /// The operator or row operation.
    pub op: String,
    /// The length, or rows and columns.
    pub case: String,
    /// Microseconds with the kernels of rustc's own backend.
    pub llvm: f64,
    /// The same with its own.
    pub nvvm: f64,
}

impl Run {
    /// One of what is checked out.
    pub fn of_now() -> Result<Self> {
        let git = |format: &str| {
            let mut git = Command::new("git");
            let said = capture(git.args(["log", "-1", format]).current_dir(paths::root()))?;
            Ok::<_, anyhow::Error>(said.trim().to_owned())
        };
        Ok(Self {
            date: git("--format=%cs")?,
            commit: git("--format=%h")?,
            kernels: stamp::of_sources(&sources())?,
            ran: vec![],
            times: vec![],
        })
    }

    /// The one that is recorded.
    pub fn load() -> Result<Self> {
        let text = fs::read_to_string(file()).with_context(|| format!("cannot read {}", file().display()))?;
        serde_json::from_str(&text).with_context(|| format!("{}", file().display()))
    }

    /// Writes it down.
    pub fn save(&self) -> Result<()> {
        write_if_changed(&file(), &(serde_json::to_string_pretty(self)? + "\n"))
    }

    /// Whether the kernels are still those that it was built from.
    pub fn is_of_now(&self) -> Result<bool> {
        Ok(self.kernels == stamp::of_sources(&sources())?)
    }
}

fn file() -> PathBuf {
    paths::nvvm().join("run.json")
}
