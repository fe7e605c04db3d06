//! A crate outside the workspace that depends on the library as a user's does: made in a temporary folder, built without any setting
//! of this workspace, and run with no feature and with each.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    paths,
    process::{seconds, untangled},
};

/// A program of the crate, and how it is run.
struct Run {
    program: &'static str,
    feature: &'static str,
    /// What its output begins with.
    prints: &'static str,
    /// What the library's build script warns of, if of anything.
    warns: Option<&'static str>,
}

impl Run {
    const fn of(program: &'static str, feature: &'static str, prints: &'static str) -> Self {
        Self {
            program,
            feature,
            prints,
            warns: None,
        }
    }
}

/// The last has a stand-in for CUDA and no kernels, so that it says the same with a GPU and without.
const RUNS: [Run; 5] = [
    Run::of("outside", "", "14.392729; the largest is at 0\n"),
    Run::of("own", "", "1.5\n[0.6, -0.8]\n"),
    Run::of("npy", "files", "6 of [3]\n"),
    Run::of("matrix", "ndarray", "[1, 2]\n"),
    Run {
        warns: Some("run `cargo xtask build-ptx` in "),
        ..Run::of("gpu", "cuda", "on the CPU alone: ")
    },
];

/// What the docs leave to their reader: how an operator and a row operation of one's own are called.
const OWN: &str = "use own::{L2Normalise, MeanDistance};

fn main() -> Result<(), warpfold::Error> {
    println!(\"{}\", warpfold::cpu::reduce(MeanDistance { from: 2.0 }, &[1.0_f32, 4.0])?);
    let unit = warpfold::row::own(L2Normalise { epsilon: 1e-12 });
    println!(\"{:?}\", unit.on_cpu::<_, f32>(&[3.0_f32, -4.0])?.values);
    Ok(())
}
";

const NPY: &str = "use warpfold::{cpu, files::TensorFile, ops::Sum};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let array = TensorFile::open(\"values.npy\")?.one()?;
    println!(\"{} of {:?}\", cpu::reduce(Sum, &array.read::<f32>()?)?, array.shape());
    Ok(())
}
";

const MATRIX: &str = "use ndarray::{Axis, array};
use warpfold::{ndarray::ReduceExt, ops::ArgMax};

fn main() -> Result<(), warpfold::Error> {
    let matrix = array![[1_i64, 5, 3], [4, 2, 6]];
    println!(\"{}\", matrix.t().reduce_axis(Axis(0), ArgMax)?);
    Ok(())
}
";

/// Variables by which a build would find a CUDA that is not the one meant, or kernels.
const HIDDEN: [&str; 5] = [
    "CUDA_LIBRARY_PATH",
    "CUDA_PATH",
    "CUDA_ROOT",
    "CUDA_TOOLKIT_ROOT_DIR",
    "WARPFOLD_PTX_DIR",
];

/// Makes the crate, runs its programs, and removes it; one that failed is left to be looked at.
pub fn run() -> Result<()> {
    let folder = folder();
    ensure!(
        !folder.starts_with(paths::root()),
        "the folder for temporary files lies in the workspace: {}",
        folder.display()
    );
    let _ = fs::remove_dir_all(&folder);
    let outcome = make(&folder).and_then(|()| RUNS.iter().try_for_each(|run| run.check(&folder)));
    outcome.with_context(|| format!("the crate in {}", folder.display()))?;
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))
}

/// Where the crate is made: the same at every run, for cargo to know it again, and another for each workspace.
fn folder() -> PathBuf {
    let mut hasher = DefaultHasher::new();
    paths::root().hash(&mut hasher);
    env::temp_dir().join(format!("warpfold-outside-{:016x}", hasher.finish()))
}

fn make(folder: &Path) -> Result<()> {
    let readme = fs::read_to_string(paths::root().join("README.md"))?;
    let mut examples = blocks(&readme, "rust");
    let mut example = |what: &str| {
        let found = examples.next();
        found.with_context(|| format!("the README has no example {what}"))
    };
    let library = fs::read_to_string(paths::root().join("docs/library.md"))?;
    let own = |what: &str| {
        let block = blocks(&library, "rust,ignore").find(|block| block.contains(what));
        block.with_context(|| format!("docs/library.md calls no {what}"))
    };
    // One crate has both.
    let own = format!("{}\n{}", own("::operators!")?, own("::row_operations!")?);
    let host = paths::root().join("host");
    let kernels = paths::root().join("kernels-gpu");
    // No debug information: it would be most of what is compiled here.
    let manifest = format!(
        "[package]\nname = \"outside\"\nedition = \"2024\"\n\n\
         [features]\nfiles = [\"warpfold/files\"]\nndarray = [\"dep:ndarray\", \"warpfold/ndarray\"]\ncuda = [\"warpfold/cuda\"]\n\n\
         [dependencies]\nwarpfold = {{ path = {host:?} }}\nown = {{ path = \"own\" }}\n\
         ndarray = {{ version = \"*\", optional = true }}\n\n\
         [profile.dev]\ndebug = false\n"
    );
    let own_manifest = format!(
        "[package]\nname = \"own\"\nedition = \"2024\"\n\n\
         [dependencies]\nwarpfold-kernels = {{ path = {kernels:?} }}\n\n\
         [build-dependencies]\nwarpfold-embed = {{ path = {:?} }}\n",
        host.join("embed")
    );
    let files: [(&str, &[u8]); 11] = [
        ("Cargo.toml", manifest.as_bytes()),
        // The versions that the workspace has, which are on this machine already.
        ("Cargo.lock", &fs::read(paths::root().join("Cargo.lock"))?),
        ("src/main.rs", example("of the CPU")?.as_bytes()),
        ("src/bin/gpu.rs", example("of the GPU")?.as_bytes()),
        ("src/bin/own.rs", OWN.as_bytes()),
        ("src/bin/npy.rs", NPY.as_bytes()),
        ("src/bin/matrix.rs", MATRIX.as_bytes()),
        ("values.npy", &npy(&[1.0, 2.0, 3.0])),
        ("own/Cargo.toml", own_manifest.as_bytes()),
        ("own/build.rs", b"fn main() {\n    warpfold_embed::ptx();\n}\n"),
        ("own/src/lib.rs", own.as_bytes()),
    ];
    for (name, bytes) in files {
        let file = folder.join(name);
        let parent = file.parent().context("a file lies in a folder")?;
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        fs::write(&file, bytes).with_context(|| format!("cannot write {}", file.display()))?;
    }
    fs::create_dir_all(folder.join("no-ptx"))?;
    Ok(())
}

impl Run {
    /// Builds and runs the program.
    fn check(&self, folder: &Path) -> Result<()> {
        let start = Instant::now();
        let output = self.command(folder).output().context("cannot start cargo")?;
        let shown = format!("cargo run --bin {} --features \"{}\"", self.program, self.feature);
        println!("  {shown}: {}", seconds(start.elapsed()));
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            bail!("{shown}: {}\n{stdout}{stderr}", output.status);
        }
        ensure!(
            stdout.starts_with(self.prints),
            "{shown} printed\n{stdout}instead of\n{}",
            self.prints
        );
        let warnings: Vec<&str> = warnings(&stderr).collect();
        let as_expected = match (self.warns, &warnings[..]) {
            (None, []) => true,
            (Some(what), [warning]) => warning.contains(what),
            _ => false,
        };
        ensure!(
            as_expected,
            "{shown} warned of {warnings:?} instead of {:?}\n{stderr}",
            self.warns
        );
        Ok(())
    }

    /// Cargo as it is started in the crate's folder: of this toolchain, and without what the workspace sets.
    fn command(&self, folder: &Path) -> Command {
        let mut command = untangled(env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from));
        if let Some(toolchain) = env::var_os("RUSTUP_TOOLCHAIN") {
            command.env("RUSTUP_TOOLCHAIN", toolchain);
        }
        for variable in HIDDEN {
            command.env_remove(variable);
        }
        if self.feature == "cuda" {
            command.env("CUDA_LIBRARY_PATH", paths::root().join("host/driver/stub"));
            command.env("WARPFOLD_PTX_DIR", folder.join("no-ptx"));
        }
        command
            .args(["run", "--offline", "--bin", self.program, "--features", self.feature])
            .arg("--target-dir")
            .arg(paths::target().join("outside"))
            .env("CARGO_INCREMENTAL", "0")
            .current_dir(folder);
        command
    }
}

/// What cargo's output has of warnings in our crates, by their build scripts and by the compiler.
fn warnings(stderr: &str) -> impl Iterator<Item = &str> {
    let ours = |line: &&str| line.starts_with("warning: warpfold") || line.starts_with("warning: `warpfold");
    stderr.lines().filter(ours)
}

/// The text of each block of code that a page fences so.
fn blocks<'a>(page: &'a str, fence: &str) -> impl Iterator<Item = &'a str> {
    let open = format!("\n```{fence}\n");
    page.match_indices(&open)
        .map(|(at, open)| &page[at + open.len()..])
        .filter_map(|rest| rest.split_once("\n```").map(|(block, _)| block))
        .collect::<Vec<_>>()
        .into_iter()
}

/// An `.npy` file of these values.
fn npy(values: &[f32]) -> Vec<u8> {
    let header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}",
        values.len()
    );
    // The values begin at a multiple of 64 bytes.
    let header = format!("{header:117}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_told_by_their_fence() {
        let page = "a\n```rust\none\ntwo\n```\nb\n```rust,ignore\nthree\n```\n```rust\nfour\n```\n";
        assert_eq!(blocks(page, "rust").collect::<Vec<_>>(), ["one\ntwo", "four"]);
        assert_eq!(blocks(page, "rust,ignore").collect::<Vec<_>>(), ["three"]);
        assert_eq!(blocks(page, "sh").count(), 0);
    }

    #[test]
    fn warnings_of_our_crates_are_found() {
        let stderr = "   Compiling warpfold v0.1.0 (/w/host)\nwarning: warpfold@0.1.0: no PTX\n\
                      warning: unused import: `x`\nwarning: `warpfold-embed` (lib) generated 1 warning\n\
                      warning: the following packages contain code that will be rejected\n";
        assert_eq!(
            warnings(stderr).collect::<Vec<_>>(),
            [
                "warning: warpfold@0.1.0: no PTX",
                "warning: `warpfold-embed` (lib) generated 1 warning"
            ]
        );
    }
}
