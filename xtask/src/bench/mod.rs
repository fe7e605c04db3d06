//! `cargo xtask bench`: ours and, where they are there, the peers, on the same shapes in one run; a dated record of it, and what became slower.

mod compare;
mod parts;
mod programs;
pub mod records;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{build_ptx, generator::Codegen, paths, process::capture, setup};
use parts::{BenchPart, PARTS};
use programs::Programs;
use records::{Measured, Record};

#[derive(clap::Args)]
pub struct Args {
    /// What to measure: of a GPU all but `cpu`, without one `cpu` alone, if nothing is named.
    #[arg(long, value_name = "PART", value_parser = parts::named, value_delimiter = ',')]
    only: Vec<&'static BenchPart>,
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

/// What to say where there is none.
const NO_GPU: &str = "no GPU can be used here: `cargo xtask bench --only cpu` is what there is for CPUs";

/// Runs the task.
pub fn run(args: &Args) -> Result<()> {
    let is_of_cpu = match &args.only[..] {
        [] => args.programs.is_none() && !setup::has_driver(),
        parts => parts.iter().any(|part| part.is_of_cpu()),
    };
    let mut parts = args.only.clone();
    if parts.is_empty() {
        parts = PARTS.iter().filter(|part| part.is_of_cpu() == is_of_cpu).collect();
    }
    if parts.iter().any(|part| part.is_of_cpu() != is_of_cpu) {
        bail!("what a CPU does is a record of its own: measure `cpu` alone");
    }
    let (programs, commit) = match (&args.programs, &args.commit) {
        (Some(folder), Some(commit)) => (Programs::of_bundle(folder), commit.clone()),
        _ => {
            // Before half an hour of building.
            if !is_of_cpu {
                if !setup::has_driver() {
                    bail!("{NO_GPU}");
                }
                build_ptx::build_default(&setup::ensure(Codegen::Llvm)?)?;
            }
            let benches: BTreeSet<&str> = parts.iter().filter_map(|part| part.bench()).collect();
            (Programs::build(&benches)?, args.commit.clone().map_or_else(commit, Ok)?)
        }
    };
    let mut machine = programs.machine()?;
    if is_of_cpu {
        machine.gpu = None;
    } else if machine.gpu.is_none() {
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
    let wrong = measure(&mut record, args, &parts, &programs);
    keep(record, args)?;
    if !wrong.is_empty() {
        bail!("not measured:\n{}", wrong.join("\n"));
    }
    Ok(())
}

/// Measures parts and the peers beside them. Says what went wrong: the others are measured all the same.
fn measure(record: &mut Record, args: &Args, parts: &[&BenchPart], programs: &Programs) -> Vec<String> {
    let mut wrong = vec![];
    let mut take = |name: &str, measured: Result<Measured>| match measured {
        Ok(measured) => record.take(measured),
        Err(error) => wrong.push(format!("{name}: {error:#}")),
    };
    for part in parts {
        take(part.name, part.measure(programs));
    }
    let groups: Vec<&str> = parts.iter().flat_map(|part| part.peers).copied().collect();
    if !args.no_peers && !groups.is_empty() {
        let root = args.programs.as_ref().map_or_else(paths::root, |_| ".".into());
        take("peers", programs::peers(&root, &groups));
    }
    wrong
}

/// Writes a record, and says what it lacks and what became slower.
fn keep(mut record: Record, args: &Args) -> Result<()> {
    for line in record.keep_first() {
        println!("{line}");
    }
    ensure!(!record.figures.is_empty(), "nothing was measured");
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
