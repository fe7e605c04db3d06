//! The source as rustc_codegen_nvvm compiles it, through rustc's own PTX backend, with a stand-in for `cuda_std`: what can be
//! checked of that path on any machine. The types and the expansions of the attributes are, and since PTX comes out, what
//! ptxas says of the inline assembly, and how often barriers and shuffles stand in it. It never runs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{kernel_crate::KernelCrate, paths, process::write_if_changed};

/// Flags of the compiler: the tool attributes that `cuda_std`'s macros leave, registered as cuda_builder registers them, and
/// the calling convention that makes an entry point of a kernel here.
pub const FLAGS: &str =
    "-Zcrate-attr=feature(register_tool) -Zcrate-attr=register_tool(nvvm_internal) -Zcrate-attr=feature(abi_ptx)";

/// The architecture that is checked.
pub const ARCH: &str = "sm_90";

/// The real manifest's line that the stand-in takes the place of.
const DEPENDENCY: &str = "cuda_std.workspace = true";

/// The crate of kernels with the stand-in in `cuda_std`'s place, its manifest made from the real one.
pub fn kernels() -> Result<KernelCrate> {
    let cache = paths::target().join("kernels/stand-in");
    let nvvm = paths::nvvm();
    let real = nvvm.join("kernels/Cargo.toml");
    let text = std::fs::read_to_string(&real).with_context(|| format!("cannot read {}", real.display()))?;
    let workspace = std::fs::read_to_string(nvvm.join("Cargo.toml"))?;
    let folder = cache.join("crate");
    write_if_changed(
        &folder.join("Cargo.toml"),
        &manifest(&text, &workspace, &nvvm, &paths::root())?,
    )?;
    Ok(KernelCrate {
        folder,
        package: "warpfold-kernels".to_owned(),
        library: "warpfold_kernels".to_owned(),
        sources: sources(),
        ptx: cache.join("ptx"),
        cache,
        ours: true,
    })
}

/// Files and folders that the PTX of rustc_codegen_nvvm depends on.
pub fn sources() -> Vec<PathBuf> {
    let nvvm = paths::nvvm();
    let manifests = [
        "Cargo.toml",
        "Cargo.lock",
        "rust-toolchain.toml",
        "kernels",
        "builder",
        "stand-in",
    ];
    std::iter::once(paths::root().join("kernels-gpu/src"))
        .chain(manifests.map(|name| nvvm.join(name)))
        .collect()
}

/// The real manifest with its paths made absolute, what it inherits written out, and the stand-in for a dependency.
fn manifest(real: &str, workspace: &str, nvvm: &Path, root: &Path) -> Result<String> {
    let mut made = String::new();
    for line in real.lines() {
        let line = match line.trim_end().strip_suffix(".workspace = true") {
            _ if line == DEPENDENCY => {
                let stand_in = nvvm.join("stand-in");
                format!("cuda_std = {{ path = {stand_in:?} }}")
            }
            Some(key) => inherited(workspace, key)?.to_owned(),
            None if line.starts_with("path = ") => {
                let source = root.join("kernels-gpu/src/lib.rs");
                format!("path = {source:?}")
            }
            None => line.to_owned(),
        };
        made += &format!("{line}\n");
    }
    if !made.contains("cuda_std = { path = ") {
        bail!("the manifest has no line `{DEPENDENCY}` for the stand-in to take the place of");
    }
    Ok(made + "\n[workspace]\n")
}

/// The workspace's line for what a package inherits.
fn inherited<'a>(workspace: &'a str, key: &str) -> Result<&'a str> {
    let (_, package) = workspace
        .split_once("[workspace.package]")
        .context("the manifest has no [workspace.package]")?;
    let section = package.split("\n[").next().unwrap_or_default();
    let line = section
        .lines()
        .find(|line| line.split('=').next().is_some_and(|name| name.trim() == key));
    line.with_context(|| format!("[workspace.package] has no {key}"))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;

    #[test]
    fn the_stand_in_takes_the_dependencys_place_and_no_more() {
        let workspace = "[workspace]\n\n[workspace.package]\nversion = \"1.0.0\"\nedition = \"2024\"\n\n[profile]\n";
        let real = "[package]\nname = \"k\"\nversion.workspace = true\n[lib]\npath = \"../a.rs\"\n[dependencies]\n\
                    cuda_std.workspace = true\n";
        let made = manifest(real, workspace, Path::new("/w/kernels-gpu/nvvm"), Path::new("/w")).unwrap();
        assert_eq!(
            made,
            "[package]\nname = \"k\"\nversion = \"1.0.0\"\n[lib]\npath = \"/w/kernels-gpu/src/lib.rs\"\n[dependencies]\n\
             cuda_std = { path = \"/w/kernels-gpu/nvvm/stand-in\" }\n\n[workspace]\n"
        );
        assert!(manifest("[package]\n", workspace, Path::new("/w"), Path::new("/w")).is_err());
        assert!(
            manifest(
                "licence.workspace = true\n",
                workspace,
                Path::new("/w"),
                Path::new("/w")
            )
            .is_err()
        );
    }

    /// The signatures of the public functions in a source.
    fn signatures(text: &str) -> BTreeSet<String> {
        let public = text.lines().filter(|line| line.starts_with("pub fn "));
        public.map(|line| line.trim_end_matches(" {").to_owned()).collect()
    }

    #[test]
    fn the_stand_in_is_what_the_list_says() {
        let nvvm = paths::nvvm();
        let list = fs::read_to_string(nvvm.join("interface.txt")).unwrap();
        for (package, source) in [
            ("cuda_std", "stand-in/src/thread.rs"),
            ("cuda_std_macros", "stand-in/macros/src/lib.rs"),
        ] {
            let listed: BTreeSet<String> = list
                .lines()
                .filter(|line| line.split_whitespace().next() == Some(package))
                .filter_map(|line| Some(line[line.find("pub fn")?..].to_owned()))
                .collect();
            let defined = signatures(&fs::read_to_string(nvvm.join(source)).unwrap());
            assert_eq!(listed, defined, "{source}");
            assert!(!listed.is_empty());
        }
    }
}
