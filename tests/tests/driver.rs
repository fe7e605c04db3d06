//! A machine without a driver, or with one that is none: a typed error with a reason, and no crash.
//!
//! The driver is loaded once in the life of a process, so each test asks a child: this program again.

use std::{
    env,
    process::{Command, ExitCode},
};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use warpfold::{Error, cpu, gpu::Gpu, ops::Sum};

/// Set for the child; what it asks is in [`ask`].
const CHILD: &str = "WARPFOLD_TESTS_CHILD";
/// What the library loads instead of the system's driver.
const DRIVER: &str = "WARPFOLD_CUDA_DRIVER";

fn main() -> ExitCode {
    if env::var_os(CHILD).is_some() {
        return ask();
    }
    let tests = vec![
        Trial::ignorable_test("this_machine_has_no_driver_and_says_so", this_machine),
        Trial::test("a_missing_driver_is_a_typed_error", || named("/nowhere/libcuda.so.1")),
        Trial::test("a_driver_that_is_no_library_is_a_typed_error", || {
            let file = env::temp_dir().join(format!("warpfold-no-driver-{}.so", std::process::id()));
            std::fs::write(&file, "not a library")?;
            let outcome = named(&file.to_string_lossy());
            std::fs::remove_file(&file)?;
            outcome
        }),
        Trial::test("a_library_that_is_no_driver_is_a_typed_error", foreign_library),
    ];
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

/// In the child: what the library answers, one line each. The CPU answers in any case.
fn ask() -> ExitCode {
    println!("{}", told(Gpu::count()));
    println!("{}", told(Gpu::new(0).map(|gpu| gpu.facts().index)));
    println!("{:?}", cpu::reduce(Sum, &[1.0_f32, 2.0]).ok());
    ExitCode::SUCCESS
}

fn told(answer: Result<usize, Error>) -> String {
    match answer {
        Ok(count) => format!("{count}"),
        Err(Error::NoDriver { reason }) => format!("NoDriver: {reason}"),
        Err(error @ Error::Driver { .. }) => format!("Driver: {error}"),
        Err(error) => format!("another error: {error:?}"),
    }
}

/// The child's three lines.
fn child(driver: Option<&str>) -> Result<[String; 3], Failed> {
    let mut command = Command::new(env::current_exe()?);
    command.env(CHILD, "1").env_remove(DRIVER);
    if let Some(driver) = driver {
        command.env(DRIVER, driver);
    }
    let output = command.output()?;
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    if !output.status.success() {
        return Err(format!("the child ended with {}: {stdout}{stderr}", output.status).into());
    }
    let lines: Vec<String> = stdout.lines().map(str::to_owned).collect();
    lines
        .try_into()
        .map_err(|lines| format!("the child said {lines:?}").into())
}

/// Whether both calls say that there is no driver, naming `what`, and the CPU answers all the same.
fn no_driver(lines: &[String; 3], what: &str) -> Result<(), Failed> {
    let both = lines[..2]
        .iter()
        .all(|line| line.starts_with("NoDriver: ") && line.contains(what));
    if both && lines[2] == "Some(3.0)" {
        Ok(())
    } else {
        Err(format!("{lines:?}, where NoDriver that names {what} was expected").into())
    }
}

fn this_machine() -> Result<Completion, Failed> {
    let lines = child(None)?;
    if lines[0].starts_with("NoDriver") {
        no_driver(&lines, "libcuda")?;
        return Ok(Completion::Completed);
    }
    Ok(Completion::ignored_with(format!(
        "there is a driver here: {}",
        lines[0]
    )))
}

fn named(driver: &str) -> Result<(), Failed> {
    no_driver(&child(Some(driver))?, driver)
}

/// A library that loads and has none of the driver's functions: the C library.
fn foreign_library() -> Result<(), Failed> {
    let lines = child(Some("libc.so.6"))?;
    let both = lines[..2]
        .iter()
        .all(|line| line.starts_with("Driver: ") && line.contains("500"));
    if both && lines[2] == "Some(3.0)" {
        Ok(())
    } else {
        Err(format!("{lines:?}, where a failed driver call (500, no such function) was expected").into())
    }
}
