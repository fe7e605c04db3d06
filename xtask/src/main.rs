//! warpfold's chores, as `cargo xtask TASK`: one line a task in the table below, one module a task.

mod bench;
mod book;
mod build_ptx;
mod bundle;
mod by_stage;
mod compare;
mod demo;
mod facts;
mod generator;
mod kernel_crate;
mod outside;
mod package;
mod pages;
mod paths;
mod process;
mod ptx;
mod ptxas;
mod record;
mod report;
mod setup;
mod stamp;
mod test;
mod tidy;
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
    Test(test::Args),
    /// Check the invariants of the design.
    Tidy,
    /// Fold a real file and a large array on the best device there is.
    Demo(demo::Args),
    /// Pack the crates as a registry has them, the kernels' PTX in the library's.
    Package,
    /// Measure on this machine's GPU, beside other libraries, and keep a dated record.
    Bench(bench::Args),
    /// Make the tables of figures in the pages, the pictures and the report's page from the records.
    Report,
    /// Make the book of the pages in `docs`, by mdBook.
    Book,
    /// Make a folder that runs the device tests and benches on a machine without Rust.
    Bundle(bundle::Args),
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Setup => setup::run(),
        Task::BuildPtx(args) => build_ptx::run(&args),
        Task::Test(args) => test::run(&args),
        Task::Tidy => tidy::run(),
        Task::Demo(args) => demo::run(&args),
        Task::Package => package::run(),
        Task::Bench(args) => bench::run(&args),
        Task::Report => pages::run(),
        Task::Book => book::run(),
        Task::Bundle(args) => bundle::run(&args),
    };
    // Not by returning it: a backtrace through this program says nothing of what went wrong in another.
    if let Err(error) = done {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
