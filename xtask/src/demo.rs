//! `cargo xtask demo`: from a fresh clone to an answer. And what it prints is read: a fold that had become five times as slow was printed
//! for days, and nobody looked.

use std::{
    process::{Command, Stdio},
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    build_ptx,
    generator::Codegen,
    paths,
    process::{cargo, lines_of, seconds},
    selection::Selection,
    setup,
};

#[derive(clap::Args)]
pub struct Args {
    /// Passed on to the demo.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// The kernels that it runs: of whole arrays, large and small, and of a table's rows.
const KERNELS: [&str; 9] = [
    "sum_f32",
    "sum_small_f32",
    "product_f32",
    "product_small_f32",
    "extremum_f32",
    "extremum_small_f32",
    "arg_f32",
    "arg_small_f32",
    "softmax_short_f32",
];

/// How often a long compilation says how far it is.
const PROGRESS: Duration = Duration::from_secs(20);

/// Runs the task.
pub fn run(args: &Args) -> Result<()> {
    if setup::has_driver() {
        let selection = Selection::parse(&KERNELS.map(str::to_owned), &[])?;
        build_ptx::build_some(&selection, &setup::ensure(Codegen::Llvm)?)?;
    } else {
        println!("no NVIDIA driver is here: the CPU answers, and no kernels are compiled for a GPU");
    }
    compile()?;
    println!();
    let status = demo("run").arg("--").args(&args.arguments).status();
    let status = status.context("cannot start cargo")?;
    if !status.success() {
        bail!("the demo: {status}");
    }
    Ok(())
}

/// Has cargo build or run the demo, and show errors alone.
fn demo(task: &str) -> Command {
    let mut command = cargo();
    command.args([task, "--quiet", "--release", "--package", "warpfold-demo"]);
    command.current_dir(paths::root());
    command
}

/// Compiles the demo, with a line now and then.
fn compile() -> Result<()> {
    println!("compiling the library and the demo");
    let start = Instant::now();
    let mut child = demo("build")
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let lines = lines_of(&mut child);
    let (mut crates, mut next) = (0, PROGRESS);
    loop {
        match lines.recv_timeout(next.saturating_sub(start.elapsed())) {
            Ok(line) => crates += usize::from(is_compiled(&line)),
            Err(RecvTimeoutError::Timeout) => {
                println!("  {crates} crates, {}", seconds(start.elapsed()));
                next += PROGRESS;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = child.wait()?;
    ensure!(status.success(), "the demo was not compiled: {status}");
    println!("  {crates} crates compiled: {}", seconds(start.elapsed()));
    Ok(())
}

/// Whether a message of cargo's is that a crate was compiled just now.
fn is_compiled(message: &str) -> bool {
    message.contains("\"reason\":\"compiler-artifact\"") && message.contains("\"fresh\":false")
}

/// Runs the demo, small and on what kernels there are, and fails unless sums and extrema run at half the memory's speed. Another process may
/// slow it down once; not three times.
pub fn check() -> Result<()> {
    const ELEMENTS: &str = "16777216";
    let mut seen = vec![];
    for _ in 0..3 {
        let output = demo("run").args(["--", ELEMENTS]).stderr(Stdio::inherit()).output();
        let output = output.context("cannot start cargo")?;
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
    use crate::ours;

    #[test]
    fn its_kernels_are_all_there_and_no_others_are_built() {
        let selection = Selection::parse(&KERNELS.map(str::to_owned), &[]).unwrap();
        let built = ours::kernels().filter(|kernel| selection.has(kernel.name())).count();
        assert_eq!(built, KERNELS.len());
    }

    #[test]
    fn what_is_fresh_was_not_compiled() {
        let message = |reason, fresh| format!(r#"{{"reason":"{reason}","package_id":"a","fresh":{fresh}}}"#);
        assert!(is_compiled(&message("compiler-artifact", false)));
        assert!(!is_compiled(&message("compiler-artifact", true)));
        assert!(!is_compiled(&message("build-finished", false)));
    }

    #[test]
    fn a_share_is_read_from_the_row_that_has_one() {
        let printed = "  mean    299852.4\n  op  answer  ms  GB/s  read  of read\n  mean  0.9  9.522  7.0  10.0  71%\n";
        assert_eq!(share(printed, "mean").unwrap(), 71.0);
        assert!(share(printed, "sum").is_err());
    }
}
