//! `cargo xtask demo`: from a fresh clone to an answer. And what it prints is read: a fold that had become five times as slow was printed
//! for days, and nobody looked.

use anyhow::{Context, Result, bail, ensure};

use crate::{build_ptx, generator::Codegen, paths, process::cargo, setup};

#[derive(clap::Args)]
pub struct Args {
    /// Passed on to the demo.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Runs the task.
pub fn run(args: &Args) -> Result<()> {
    if build_ptx::build_sample(&setup::ensure(Codegen::Llvm)?)? {
        println!(
            "these are the kernels of f32, bf16 and u8, but for counts, any and all of the first two; `cargo xtask build-ptx` builds all"
        );
    }
    let status = cargo()
        .args(["run", "--release", "--package", "warpfold", "--example", "demo", "--"])
        .args(&args.arguments)
        .current_dir(paths::root())
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("the demo: {status}");
    }
    Ok(())
}

/// Runs the demo, small and on what kernels there are, and fails unless sums and extrema run at half the memory's speed. Another process may
/// slow it down once; not three times.
pub fn check() -> Result<()> {
    const ELEMENTS: &str = "16777216";
    let mut seen = vec![];
    for _ in 0..3 {
        let output = cargo()
            .args([
                "run",
                "--release",
                "--package",
                "warpfold",
                "--example",
                "demo",
                "--",
                ELEMENTS,
            ])
            .current_dir(paths::root())
            .stderr(std::process::Stdio::inherit())
            .output()
            .context("cannot start cargo")?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        println!("{printed}");
        ensure!(output.status.success(), "the demo: {}", output.status);
        let slow = ["sum", "mean", "min", "max"].map(|op| Ok((op, share(&printed, op)?)));
        let slow: Vec<(&str, f64)> = slow.into_iter().collect::<Result<_>>()?;
        if slow.iter().all(|(_, share)| *share >= 50.0) {
            return Ok(());
        }
        seen.push(slow);
    }
    bail!("percent of the memory's speed, in three runs: {seen:?}")
}

/// The first percentage in an operator's row: of a plain read on a CPU, of a copy on a GPU.
fn share(printed: &str, op: &str) -> Result<f64> {
    let mut rows = printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row.first() == Some(&op) && row.iter().any(|word| word.ends_with('%')));
    let share = row
        .as_ref()
        .and_then(|row| row.iter().find_map(|word| word.strip_suffix('%')));
    Ok(share
        .with_context(|| format!("the demo says nothing of {op}"))?
        .parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_read_from_the_row_that_has_one() {
        let printed = "  mean    299852.4\n  op  answer  ms  GB/s  read  of read\n  mean  0.9  9.522  7.0  10.0  71%\n";
        assert_eq!(share(printed, "mean").unwrap(), 71.0);
        assert!(share(printed, "sum").is_err());
    }
}
