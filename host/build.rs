//! Embeds the PTX that `cargo xtask build-ptx` made. Where there is none the crate builds all the same, with a warning; a GPU call
//! then answers with an error that names the command.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Where to look instead of the workspace's `target/ptx`.
const VARIABLE: &str = "WARPFOLD_PTX_DIR";

/// What kernels' names begin with that the library has no use for: the command has, `warpfold ladder`.
const APART: &str = "ladder";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    // The CPU backend alone has no use for it, and asks for nothing.
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        warpfold_embed::ptx_in(None, None);
        return;
    }
    let host = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let repository = host.parent().filter(|root| root.join("kernels-gpu").is_dir());
    // A package brings its own, and so does one of all sources, which has no tasks.
    let has_tasks = repository.is_some_and(|root| root.join("xtask").is_dir());
    let packed = Some(host.join("ptx")).filter(|folder| !has_tasks && folder.is_dir());
    let folder = named().or(packed).or_else(|| repository.and_then(folder_of));
    if warpfold_embed::ptx_in(folder.as_ref(), Some(APART)) > 0 {
        return;
    }
    let looked = folder.map_or_else(String::new, |folder| format!(" in {}", folder.display()));
    let at = repository.map_or_else(|| "warpfold's repository".to_owned(), |root| root.display().to_string());
    println!(
        "cargo::warning=no PTX of the kernels{looked}, so GPU calls will answer with an error: run `cargo xtask build-ptx` in {at}, or name \
         a folder that has it in {VARIABLE}, and build again"
    );
}

/// The folder that the variable names.
fn named() -> Option<PathBuf> {
    let named = PathBuf::from(env::var_os(VARIABLE)?);
    assert!(
        named.is_dir(),
        "{VARIABLE} names {}, which is no folder",
        named.display()
    );
    Some(named)
}

/// The folder in the workspace where the task leaves it.
fn folder_of(repository: &Path) -> Option<PathBuf> {
    // An empty folder to watch: cargo would run this script at every build for one that is missing.
    let folder = repository.join("target/ptx");
    fs::create_dir_all(&folder).ok()?;
    Some(folder)
}
