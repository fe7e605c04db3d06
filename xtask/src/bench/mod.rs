//! `cargo xtask bench`: ours and, where they are there, the peers, on the same shapes in one run; a dated record of it, and what became slower.

mod compare;
mod programs;
pub mod records;

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::{build_ptx, generator::Codegen, paths, process::capture, setup, test};
use programs::Programs;
use records::{Figure, Record};

#[derive(clap::Args)]
pub struct Args {
    /// What to measure; all, if nothing is named.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// A folder of `cargo xtask bundle`, whose programs are run as they are: on a machine without Rust.
    #[arg(long, value_name = "DIR", requires = "commit")]
    programs: Option<PathBuf>,
    /// What they were built from.
    #[arg(long)]
    commit: Option<String>,
    /// Leave the peers out.
    #[arg(long)]
    no_peers: bool,
    /// Where the record goes.
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The ladder, and where the time of a sum goes.
    Ladder,
    /// Errors of sums, and how many bits runs of one sum differ in.
    Accuracy,
    /// Whole arrays.
    Whole,
    /// Rows and columns of matrices.
    Axes,
    /// Row operations.
    Maps,
    /// What a process waits for once.
    FirstCalls,
}

/// What to say where there is none.
const NO_GPU: &str = "no GPU can be used here: `cargo bench -p warpfold --bench cpu` is what there is for CPUs";

/// Runs the task.
pub fn run(args: &Args) -> Result<()> {
    let (programs, commit) = match (&args.programs, &args.commit) {
        (Some(folder), Some(commit)) => (Programs::of_bundle(folder), commit.clone()),
        _ => {
            // Before half an hour of building.
            if !test::has_driver() {
                bail!("{NO_GPU}");
            }
            build_ptx::build_default(&setup::ensure(Codegen::Llvm)?)?;
            (Programs::build()?, args.commit.clone().map_or_else(commit, Ok)?)
        }
    };
    let machine = programs.machine()?;
    if machine.gpu.is_none() {
        bail!("{NO_GPU}");
    }
    let mut record = Record {
        schema: 1,
        date: jiff::Timestamp::now().strftime("%FT%TZ").to_string(),
        commit,
        machine,
        figures: vec![],
        absent: BTreeMap::new(),
        failed: vec![],
    };
    let parts = if args.only.is_empty() {
        Part::value_variants()
    } else {
        &args.only
    };
    for part in parts {
        record.figures.extend(measure(*part, &programs)?);
    }
    if !args.no_peers {
        let groups: Vec<&str> = parts.iter().flat_map(|part| peers_of(*part)).copied().collect();
        if !groups.is_empty() {
            let root = if args.programs.is_some() {
                ".".into()
            } else {
                paths::root()
            };
            let peers = programs::peers(&root, &groups)?;
            record.figures.extend(peers.figures);
            record.absent = peers.absent;
            record.failed = peers.failed;
        }
    }
    for line in record.keep_first() {
        println!("{line}");
    }
    let folder = args.records.clone().unwrap_or_else(records::folder);
    let earlier = records::all(&folder)?;
    let file = record.save(&folder)?;
    println!("{} figures in {}", record.figures.len(), file.display());
    for (who, why) in &record.absent {
        println!("not present: {who} ({why})");
    }
    for failed in &record.failed {
        println!(
            "no figure of {}, {} of {} {}: {}",
            failed.who, failed.op, failed.case, failed.dtype, failed.failed
        );
    }
    for line in compare::regressions(&earlier, &record) {
        println!("{line}");
    }
    Ok(())
}

/// What our programs measure of a part.
fn measure(part: Part, programs: &Programs) -> Result<Vec<Figure>> {
    Ok(match part {
        Part::Ladder => {
            let of = |arguments: &[&str]| programs.command(&[&["ladder"], arguments].concat());
            [
                of(&["sum", "--runs", "1000"])?,
                of(&["softmax"])?,
                of(&["layer-norm"])?,
                of(&["stages"])?,
            ]
            .concat()
        }
        Part::Accuracy => programs.command(&["accuracy"])?,
        Part::Whole => programs.bench("gpu", &["sum", "max", "argmax"])?,
        Part::Axes => programs.bench("gpu", &["axes"])?,
        Part::Maps => programs.bench("rows", &[])?,
        Part::FirstCalls => programs.first_calls()?,
    })
}

/// The peers' groups that are measured beside it.
fn peers_of(part: Part) -> &'static [&'static str] {
    match part {
        Part::Ladder => &["determinism"],
        Part::Accuracy => &["accuracy"],
        Part::Whole => &["whole"],
        Part::Axes => &["rows", "columns"],
        Part::Maps => &["maps", "gpt2"],
        Part::FirstCalls => &[],
    }
}

/// What is checked out, with a mark where files differ from it.
fn commit() -> Result<String> {
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        capture(git.args(arguments).current_dir(paths::root())).context("what the programs are of: name it by --commit")
    };
    let commit = git(&["rev-parse", "--short", "HEAD"])?.trim().to_owned();
    let differs = !git(&["status", "--porcelain", "--untracked-files=no"])?
        .trim()
        .is_empty();
    Ok(if differs { commit + "+" } else { commit })
}
