//! Embeds the PTX that `cargo xtask build-ptx` made. Where there is none the crate builds all the same; a GPU call then answers
//! with an error that names the command.

use std::{env, fs, path::PathBuf};

/// Where to look instead of the workspace's `target/ptx`.
const VARIABLE: &str = "WARPFOLD_PTX_DIR";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let wanted = env::var_os("CARGO_FEATURE_CUDA").is_some();
    warpfold_embed::ptx_in(if wanted { folder() } else { None }.as_ref());
}

/// The folder with the PTX: the one that the variable names, or the workspace's. None outside the workspace.
fn folder() -> Option<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE) {
        let named = PathBuf::from(named);
        assert!(
            named.is_dir(),
            "{VARIABLE} names {}, which is no folder",
            named.display()
        );
        return Some(named);
    }
    let host = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let root = host.parent()?;
    if !root.join("kernels-gpu").is_dir() {
        return None;
    }
    // An empty folder to watch: cargo would run this script at every build for one that is missing.
    let folder = root.join("target/ptx");
    fs::create_dir_all(&folder).ok()?;
    Some(folder)
}
