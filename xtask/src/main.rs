//! warpfold's chores, as `cargo xtask TASK`: one line a task in the table below, one module a task.
//!
//! `cargo xtask` compiles the tasks of the first minutes alone, for the crates that the others want take longer to compile than those tasks
//! take. It has cargo compile and run the whole for every other task.

#![cfg_attr(
    not(feature = "whole"),
    allow(dead_code, reason = "the other tasks use more of what these have")
)]

mod arch;
mod asked;
#[cfg(feature = "whole")]
mod bench;
#[cfg(feature = "whole")]
mod book;
mod build_ptx;
#[cfg(feature = "whole")]
mod bundle;
mod by_stage;
#[cfg(feature = "whole")]
mod compare;
mod compiled;
mod demo;
mod facts;
mod generator;
mod judge;
mod kernel_crate;
mod operators;
mod ours;
#[cfg(feature = "whole")]
mod outside;
#[cfg(feature = "whole")]
mod package;
mod packages;
#[cfg(feature = "whole")]
mod pages;
mod paths;
mod process;
mod ptx;
mod ptxas;
#[cfg(feature = "whole")]
mod python;
mod record;
mod report;
mod selection;
mod setup;
mod stamp;
#[cfg(feature = "whole")]
mod test;
#[cfg(feature = "whole")]
mod tidy;
mod wanted;
mod weight;

use std::process::ExitCode;

use clap::Parser;

/// warpfold's chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Find a kernel compiler and ptxas, and install what is missing.
    Setup,
    /// Compile the kernels to PTX and check what came out.
    BuildPtx(build_ptx::Args),
    /// Run every check and every test.
    #[cfg(feature = "whole")]
    Test(test::Args),
    /// Check the invariants of the design.
    #[cfg(feature = "whole")]
    Tidy,
    /// Fold a real file and a large array on the best device there is.
    Demo(demo::Args),
    /// Pack the crates as a registry has them, the kernels' PTX in the library's.
    #[cfg(feature = "whole")]
    Package,
    /// Measure on this machine's GPU, beside other libraries, and keep a dated record.
    #[cfg(feature = "whole")]
    Bench(bench::Args),
    /// Make the tables of figures in the pages, the pictures and the report's page from the records.
    #[cfg(feature = "whole")]
    Report,
    /// Make the book of the pages in `docs`, by mdBook.
    #[cfg(feature = "whole")]
    Book,
    /// Run the tests of the Python package, of the library that `cargo test --workspace` made.
    #[cfg(feature = "whole")]
    Python,
    /// Make the wheel of the Python package, with the kernels that were built, and check it.
    #[cfg(feature = "whole")]
    Wheel,
    /// Make a folder that runs the device tests and benches on a machine without Rust.
    #[cfg(feature = "whole")]
    Bundle(bundle::Args),
}

/// The tasks that are compiled without the others.
#[cfg(not(feature = "whole"))]
const FIRST: [&str; 3] = ["setup", "build-ptx", "demo"];

/// Has cargo compile all tasks and run the one that is asked for.
#[cfg(not(feature = "whole"))]
fn run_whole() -> anyhow::Result<ExitCode> {
    let mut command = process::cargo();
    command.args(["run", "--quiet", "--package", "xtask", "--"]);
    let status = command
        .args(std::env::args_os().skip(1))
        .current_dir(paths::root())
        .status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn main() -> ExitCode {
    #[cfg(not(feature = "whole"))]
    if !std::env::args().nth(1).is_some_and(|task| FIRST.contains(&&*task)) {
        return run_whole().unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        });
    }
    let done = match Task::parse() {
        Task::Setup => setup::run(),
        Task::BuildPtx(args) => build_ptx::run(&args),
        #[cfg(feature = "whole")]
        Task::Test(args) => test::run(&args),
        #[cfg(feature = "whole")]
        Task::Tidy => tidy::run(),
        Task::Demo(args) => demo::run(&args),
        #[cfg(feature = "whole")]
        Task::Package => package::run(),
        #[cfg(feature = "whole")]
        Task::Bench(args) => bench::run(&args),
        #[cfg(feature = "whole")]
        Task::Report => pages::run(),
        #[cfg(feature = "whole")]
        Task::Book => book::run(),
        #[cfg(feature = "whole")]
        Task::Python => python::run(),
        #[cfg(feature = "whole")]
        Task::Wheel => python::wheel(),
        #[cfg(feature = "whole")]
        Task::Bundle(args) => bundle::run(&args),
    };
    // Not by returning it: a backtrace through this program says nothing of what went wrong in another.
    if let Err(error) = done {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
