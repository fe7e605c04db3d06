//! `cargo xtask test`: every check and every test, all of them even if one fails, and what came of each.

use std::{
    env,
    io::{BufRead, BufReader},
    ops::AddAssign,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail};

use crate::{
    build_ptx, compare, demo,
    generator::{Codegen, Generator, stand_in},
    outside, paths,
    process::{cargo, seconds},
    python, report, setup, tidy,
};

#[derive(clap::Args)]
pub struct Args {
    /// The code generator of the kernels.
    #[arg(long, value_enum, default_value = "llvm")]
    codegen: Codegen,
}

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TestCounts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl AddAssign for TestCounts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl From<[u64; 3]> for TestCounts {
    fn from([passed, failed, skipped]: [u64; 3]) -> Self {
        Self {
            passed,
            failed,
            skipped,
        }
    }
}

/// What became of a step.
struct Done {
    name: &'static str,
    took: String,
    tests: Option<TestCounts>,
    outcome: Result<()>,
}

/// The tests that need a GPU.
const DEVICE: &str = "device";

/// Cargo's steps, the quick ones first. The first three share one compilation of the dependencies.
const CARGO_STEPS: [(&str, &[&str]); 10] = [
    ("format", &["fmt", "--all", "--check"]),
    (
        "format of the nvvm builder",
        &[
            "fmt",
            "--manifest-path",
            "kernels-gpu/nvvm/builder/Cargo.toml",
            "--check",
        ],
    ),
    (
        "format of the stand-ins",
        &[
            "fmt",
            "--manifest-path",
            "kernels-gpu/nvvm/stand-in/Cargo.toml",
            "--all",
            "--check",
        ],
    ),
    (
        "clippy",
        &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
    ),
    (
        "clippy of the device tests",
        &[
            "clippy",
            "-p",
            "warpfold-tests",
            "--test",
            DEVICE,
            "--",
            "-D",
            "warnings",
        ],
    ),
    (
        "clippy of the command without the GPU backend",
        &[
            "clippy",
            "-p",
            "warpfold",
            "--features",
            "command,ndarray",
            "--",
            "-D",
            "warnings",
        ],
    ),
    ("docs without features", &["doc", "-p", "warpfold", "--no-deps"]),
    ("docs", &["doc", "--workspace", "--no-deps"]),
    // Without the examples, which clippy has checked, and which no test runs.
    ("tests", &["test", "--workspace", "--tests", "--no-fail-fast"]),
    ("tests in the docs", &["test", "--workspace", "--doc", "--no-fail-fast"]),
];

/// Runs the task.
pub fn run(args: &Args) -> Result<()> {
    // First, for the host crate embeds what it makes: without it, the tests would be of older kernels.
    let built = step("kernels", || kernels(args.codegen));
    if built.outcome.is_err() {
        return conclude(&[built]);
    }
    let mut done = vec![
        built,
        step("kernels of a user's crate", build_ptx::build_example),
        step("kernels as nvvm has them", as_nvvm_has_them),
        step("tidy", tidy::run),
    ];
    setup::ensure_browser();
    for (name, arguments) in CARGO_STEPS {
        let mut tests = TestCounts::default();
        let mut this = step(name, || run_cargo(arguments, &mut tests));
        this.tests = (arguments[0] == "test").then_some(tests);
        done.push(this);
    }
    let mut tests = TestCounts::default();
    let mut in_python = step("tests of the Python package", || {
        tests += python::test()?.into();
        Ok(())
    });
    in_python.tests = Some(tests);
    done.push(in_python);
    let mut tests = TestCounts::default();
    let mut of_torch = step("tests of warpfold.torch", || {
        tests += python::test_torch()?.unwrap_or([0, 0, 1]).into();
        Ok(())
    });
    of_torch.tests = Some(tests);
    done.push(of_torch);
    let mut tests = TestCounts::default();
    let mut on_device = step("tests on a GPU", || device_tests(&mut tests));
    on_device.tests = Some(tests);
    done.push(on_device);
    done.push(step("instructions of the CPU backend", instructions));
    done.push(step("what the demo prints", demo::check));
    // Last, for it downloads nothing: the steps before have all it needs.
    done.push(step("a crate outside the workspace", outside::run));
    conclude(&done)
}

/// Builds the kernels; those of another code generator are compared with those of rustc's own.
fn kernels(codegen: Codegen) -> Result<()> {
    let tools = setup::ensure(codegen)?;
    let builds = build_ptx::build_default(&tools)?;
    if let Generator::Nvvm(_) = tools.generator {
        let reference = build_ptx::prove_default(&setup::ensure(Codegen::Llvm)?)?;
        println!("{}", compare::tables(&reference, &builds));
    }
    Ok(())
}

/// Compiles and checks the source that rustc_codegen_nvvm compiles, as far as that can be had without it.
fn as_nvvm_has_them() -> Result<()> {
    let tools = setup::ensure(Codegen::Llvm)?;
    let Generator::Llvm(compiler) = tools.generator else {
        bail!("rustc's own backend was asked for");
    };
    setup::ensure_libnvvm();
    let generator = Generator::StandIn(compiler);
    build_ptx::prove_default(&setup::Tools { generator, ..tools })?;
    stand_in::check_builder()
}

/// Runs the tests that need a GPU, where there is one or `WARPFOLD_REQUIRE_GPU` says so.
fn device_tests(tests: &mut TestCounts) -> Result<()> {
    let is_required = env::var_os("WARPFOLD_REQUIRE_GPU").is_some_and(|value| value == "1");
    if !is_required && !setup::has_driver() {
        println!("skipped: no NVIDIA driver is here; that they compile was checked by clippy");
        tests.skipped += 1;
        return Ok(());
    }
    run_cargo(&["test", "-p", "warpfold-tests", "--test", DEVICE], tests)
}

/// Counts what the CPU backend runs for each element, in a build of its own: what is counted is the release profile.
fn instructions() -> Result<()> {
    setup::ensure_valgrind();
    run_cargo(
        &["run", "--release", "--package", "warpfold-instructions"],
        &mut TestCounts::default(),
    )
}

fn step(name: &'static str, run: impl FnOnce() -> Result<()>) -> Done {
    println!("\n=== {name}");
    let start = Instant::now();
    let outcome = run();
    let took = seconds(start.elapsed());
    match &outcome {
        Ok(()) => println!("=== {name}: ok, {took}"),
        Err(error) => println!("error: {error:#}\n=== {name}: FAILED, {took}"),
    }
    Done {
        name,
        took,
        tests: None,
        outcome,
    }
}

/// Runs cargo, shows what it prints, and adds up what its test programs say.
fn run_cargo(arguments: &[&str], tests: &mut TestCounts) -> Result<()> {
    let shown = format!("cargo {}", arguments.join(" "));
    println!("$ {shown}");
    let mut command: Command = cargo();
    command.args(arguments).current_dir(paths::root()).stdin(Stdio::null());
    // What is compiled once is not compiled for the next time: fewer units, and in each of them fewer copies of what is inlined.
    command.env("CARGO_INCREMENTAL", "0");
    if arguments[0] == "doc" {
        let flags = env::var("RUSTDOCFLAGS").unwrap_or_default();
        command.env("RUSTDOCFLAGS", format!("{flags} -D warnings").trim());
    }
    if arguments[0] == "test"
        && let Some(folder) = setup::ensure_numpy()
    {
        command.env("WARPFOLD_NUMPY", folder);
    }
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {shown}"))?;
    let stdout = child.stdout.take().context("the output was asked for")?;
    for line in BufReader::new(stdout).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
        *tests += counts_in(&line).unwrap_or_default();
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{shown}: {status}");
    }
    Ok(())
}

/// The counts in a test program's last line: `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn counts_in(line: &str) -> Option<TestCounts> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let of = |what: &str| {
        let count = counts.split("; ").find_map(|count| count.trim().strip_suffix(what))?;
        count.trim().parse().ok()
    };
    Some(TestCounts {
        passed: of("passed")?,
        failed: of("failed")?,
        skipped: of("ignored")?,
    })
}

fn conclude(done: &[Done]) -> Result<()> {
    let mut all = TestCounts::default();
    let mut rows = vec![["step", "outcome", "time", "tests"].map(str::to_owned).to_vec()];
    for step in done {
        let outcome = if step.outcome.is_ok() { "ok" } else { "FAILED" };
        let tests = step.tests.inspect(|tests| all += *tests).map(line).unwrap_or_default();
        rows.push(vec![step.name.to_owned(), outcome.to_owned(), step.took.clone(), tests]);
    }
    println!("\n{}", report::columns(rows, 2));
    println!("{}", line(all));
    let failed: Vec<&str> = done
        .iter()
        .filter(|step| step.outcome.is_err())
        .map(|step| step.name)
        .collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn line(counts: TestCounts) -> String {
    format!(
        "{} passed, {} failed, {} skipped",
        counts.passed, counts.failed, counts.skipped
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_test_program_is_read() {
        let ok = "test result: ok. 29 passed; 0 failed; 2 ignored; 0 measured; 1 filtered out; finished in 0.07s";
        let failed = "test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.0s";
        let mut all = counts_in(ok).unwrap();
        all += counts_in(failed).unwrap();
        assert_eq!(line(all), "30 passed, 3 failed, 2 skipped");
        assert_eq!(counts_in("test result: nothing"), None);
        assert_eq!(counts_in("running 3 tests"), None);
    }

    #[test]
    fn a_failed_step_fails_the_task() {
        let done = |outcome| {
            [Done {
                name: "docs",
                took: String::new(),
                tests: None,
                outcome,
            }]
        };
        assert!(conclude(&done(Ok(()))).is_ok());
        let error = conclude(&done(Err(anyhow::anyhow!("why")))).unwrap_err();
        assert_eq!(error.to_string(), "failed: docs");
    }
}
