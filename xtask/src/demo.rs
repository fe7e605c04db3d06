//! `cargo xtask demo`: from a fresh clone to an answer.

use anyhow::{Context, Result, bail};

use crate::{build_ptx, generator::Codegen, paths, process::cargo, setup};

#[derive(clap::Args)]
pub struct Args {
    /// Passed on to the demo.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Runs the task.
pub fn run(args: &Args) -> Result<()> {
    build_ptx::build_default(&setup::ensure(Codegen::Llvm)?)?;
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
