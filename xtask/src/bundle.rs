//! `cargo xtask bundle`: one folder that runs the device tests and the benches where there is a GPU and no Rust.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::{
    build_ptx,
    generator::Codegen,
    paths,
    process::{cargo, on_path},
    setup,
};

#[derive(clap::Args)]
pub struct Args {
    /// The folder to make; what an earlier bundle left there goes.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The code generator of the kernels.
    #[arg(long, value_enum, default_value = "llvm")]
    codegen: Codegen,
}

/// What runs in the bundle.
const RUN: &str = include_str!("run.sh");

/// The test program that belongs in the bundle, and is built for it: the others need no GPU, and some need this repository.
const DEVICE_TESTS: &str = "device";

/// Files that the programs read, with their places in the bundle.
const DATA: [(&str, &str); 1] = [("host/examples/data", "data")];

/// A bundle is copied to other machines, so it should be small.
const LARGE: u64 = 60 << 20;

/// Something to build for the bundle.
struct Build {
    /// Arguments of cargo.
    arguments: &'static [&'static str],
    /// For each kind of program, its folder in the bundle.
    folders: &'static [(&'static str, &'static str)],
}

const BUILDS: [Build; 4] = [
    // Tests are built as tests are: in the release profile rustc 1.95 overflows its stack over so many folds in one program.
    Build {
        arguments: &["test", "--no-run", "-p", "warpfold-tests", "--test", DEVICE_TESTS],
        folders: &[("test", "tests")],
    },
    Build {
        arguments: &["bench", "--no-run", "-p", "warpfold", "--benches"],
        folders: &[("bench", "benches")],
    },
    Build {
        arguments: &["build", "--release", "-p", "warpfold", "--bins", "--examples"],
        folders: &[("bin", "bin"), ("example", "examples")],
    },
    Build {
        arguments: &["build", "--release", "-p", "warpfold-demo"],
        folders: &[("bin", "examples")],
    },
];

/// Runs the task.
pub fn run(args: &Args) -> Result<()> {
    build_ptx::build_default(&setup::ensure(args.codegen)?)?;
    build_ptx::build_example()?;
    let out = args.out.clone().unwrap_or_else(|| paths::target().join("bundle"));
    clear(&out)?;
    let mut programs = vec![];
    for build in &BUILDS {
        for program in built(build.arguments)? {
            let Some(folder) = program.folder(build.folders) else {
                continue;
            };
            let to = out.join(folder).join(&program.name);
            copy(&program.file, &to)?;
            programs.push(to);
        }
    }
    if !programs.iter().any(|program| program.starts_with(out.join("tests"))) {
        bail!("warpfold-tests has no test program {DEVICE_TESTS:?}");
    }
    strip(&programs)?;
    for (from, to) in DATA {
        let from = paths::root().join(from);
        if from.is_dir() {
            copy_folder(&from, &out.join(to))?;
        }
    }
    let script = out.join("run.sh");
    fs::write(&script, RUN)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;

    let size = size_of_folder(&out)?;
    println!(
        "{} programs, {:.1} MiB, in {}; run it with ./run.sh",
        programs.len(),
        size as f64 / f64::from(1 << 20),
        out.display()
    );
    if size > LARGE {
        println!("warning: that is more than {} MiB", LARGE >> 20);
    }
    Ok(())
}

/// Removes an earlier bundle, and nothing that is not one.
fn clear(out: &Path) -> Result<()> {
    let empty = fs::read_dir(out).map_or(true, |mut entries| entries.next().is_none());
    let ours =
        fs::read_to_string(out.join("run.sh")).is_ok_and(|script| script.contains("Runs warpfold's device tests"));
    if !empty && !ours {
        bail!("{} has something in it that is no bundle", out.display());
    }
    let _ = fs::remove_dir_all(out);
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))
}

/// A program that cargo made.
#[derive(Debug, PartialEq)]
pub struct Program {
    /// What cargo calls it.
    pub name: String,
    kind: String,
    /// Where it is.
    pub file: PathBuf,
}

impl Program {
    /// Its folder in the bundle.
    fn folder<'a>(&self, folders: &[(&str, &'a str)]) -> Option<&'a str> {
        let (_, folder) = folders.iter().find(|(kind, _)| *kind == self.kind)?;
        (self.kind != "test" || self.name == DEVICE_TESTS).then_some(*folder)
    }
}

/// Runs cargo and gives the programs it made.
pub fn built(arguments: &[&str]) -> Result<Vec<Program>> {
    println!("$ cargo {}", arguments.join(" "));
    let mut command = cargo();
    command
        .args(arguments)
        .args(["--message-format=json-render-diagnostics"]);
    let output = command
        .current_dir(paths::root())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("cargo {}: {}", arguments.join(" "), output.status);
    }
    Ok(programs_in(&String::from_utf8_lossy(&output.stdout)))
}

/// The programs in cargo's messages.
fn programs_in(messages: &str) -> Vec<Program> {
    #[derive(Deserialize)]
    struct Message {
        target: BundleTarget,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct BundleTarget {
        name: String,
        kind: Vec<String>,
    }
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok())
        .filter_map(|message| {
            Some(Program {
                name: message.target.name,
                kind: message.target.kind.into_iter().next()?,
                file: message.executable?,
            })
        })
        .collect()
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            copy(&entry.path(), &to)?;
        }
    }
    Ok(())
}

/// Takes symbols out of the copies: they are most of a program's size.
fn strip(programs: &[PathBuf]) -> Result<()> {
    if on_path("strip").is_none() {
        println!("warning: no `strip` here, so the programs keep their symbols");
        return Ok(());
    }
    let status = Command::new("strip").args(programs).status()?;
    if !status.success() {
        bail!("strip: {status}");
    }
    Ok(())
}

fn size_of_folder(folder: &Path) -> Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        size += if entry.path().is_dir() {
            size_of_folder(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_among_cargos_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"device","kind":["test"]},"executable":"/t/a"}
{"reason":"compiler-artifact","target":{"name":"warpfold","kind":["lib"]},"executable":null}
{"reason":"compiler-artifact","target":{"name":"laws","kind":["test"]},"executable":"/t/b"}
{"reason":"build-finished","success":true}
"#;
        let programs = programs_in(messages);
        let names: Vec<_> = programs.iter().map(|program| &*program.name).collect();
        assert_eq!(names, ["device", "laws"]);
        let folders: Vec<_> = programs
            .iter()
            .map(|program| program.folder(BUILDS[0].folders))
            .collect();
        assert_eq!(folders, [Some("tests"), None]);
    }

    #[test]
    fn a_folder_that_is_no_bundle_is_left_alone() {
        let folder = std::env::temp_dir().join(format!("warpfold-bundle-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("mine"), "").unwrap();
        assert!(clear(&folder).is_err());
        fs::write(folder.join("run.sh"), "echo mine too").unwrap();
        assert!(clear(&folder).is_err() && folder.join("mine").exists());
        fs::write(folder.join("run.sh"), RUN).unwrap();
        assert!(clear(&folder).is_ok() && !folder.join("mine").exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
