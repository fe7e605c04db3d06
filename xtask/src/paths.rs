//! Where things lie.

use std::{env, path::PathBuf};

/// The workspace.
pub fn root() -> PathBuf {
    let xtask = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    xtask.parent().expect("xtask lies in the workspace").to_owned()
}

/// The workspace's own target folder, wherever `CARGO_TARGET_DIR` points: `host/build.rs` looks for the PTX here too.
pub fn target() -> PathBuf {
    root().join("target")
}

/// The kernels' manifests for rustc_codegen_nvvm, a workspace of their own.
pub fn nvvm() -> PathBuf {
    root().join("kernels-gpu/nvvm")
}

/// The example of a user's crate of operators.
pub fn own_operator() -> PathBuf {
    root().join("host/examples/own-operator")
}

/// Finished PTX: `ARCH/ENTRY.ptx`.
pub fn ptx() -> PathBuf {
    env::var_os("WARPFOLD_PTX_DIR").map_or_else(|| target().join("ptx"), PathBuf::from)
}

/// Tools that setup downloaded.
pub fn tools() -> PathBuf {
    target().join("tools")
}
