//! The source as rustc_codegen_nvvm compiles it, with stand-ins for `cuda_std` and `cuda_builder`: what can be checked of that
//! path on any machine. The kernels go through rustc's own PTX backend; types and the expansions of attributes are checked,
//! and since PTX comes out, what ptxas says of the inline assembly, and how often barriers and shuffles stand in it. None of
//! it ever runs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use warpfold_kernels::element::Type;

use super::nvvm;
use crate::{
    compiled::Compiled,
    kernel_crate::KernelCrate,
    paths,
    process::{cargo, succeed, write_if_changed},
};

/// Flags of the compiler: the tool attributes that `cuda_std`'s macros leave, registered as cuda_builder registers them, and
/// the calling convention that makes an entry point of a kernel here.
pub const FLAGS: &str = "\
    -Zcrate-attr=feature(register_tool) -Zcrate-attr=register_tool(nvvm_internal) -Zcrate-attr=feature(abi_ptx)";

/// The architecture that is checked.
pub const ARCH: &str = "sm_90";

/// Types whose kernels come out as PTX. Those of all types are expanded and type-checked; how their words are loaded and stored is the same for
/// both generators.
pub const TYPES: [Type; 1] = [Type::F32];

/// The crates of kernels with the stand-in in `cuda_std`'s place.
pub fn kernels() -> Result<KernelCrate> {
    let cache = paths::target().join("kernels/stand-in");
    Ok(KernelCrate {
        own: Compiled::kernels(put("kernels")?),
        beside: vec![Compiled::distinct(put("distinct")?)],
        sources: nvvm::sources()
            .into_iter()
            .chain([paths::nvvm().join("stand-in")])
            .collect(),
        ptx: cache.join("ptx"),
        cache,
        ours: true,
    })
}

/// What the builder must ask of cuda_builder, as the stand-in writes it down.
const ASKED: &str = "kernels\narch Compute90\nrelease true\nfma_contraction false\n--config\n\
                     profile.release.rustflags=[\"-Zmir-enable-passes=-JumpThreading\",\"-Zfewer-names=no\"]\n--config\n\
                     profile.release.package.warpfold-kernels.rustflags=[\"-Zmir-enable-passes=-JumpThreading\",\"-Zfewer-names=no\"]\n\
                     -Zprofile-rustflags\n\
                     --target-dir\ntarget\n";

/// Checks the program that drives cuda_builder, with a stand-in in its place: types, lints, its own tests, and what it asks
/// for.
pub fn check_builder() -> Result<()> {
    let folder = put("builder")?;
    for arguments in [
        &["clippy", "--quiet", "--all-targets", "--", "-D", "warnings"][..],
        &["test", "--quiet"],
    ] {
        let mut check = cargo();
        check.args(arguments).current_dir(&folder);
        succeed(check.env("CARGO_TARGET_DIR", folder.join("target")))?;
    }
    let asked = folder.join("asked");
    let mut run = cargo();
    run.args(["run", "--quiet", "--", "kernels", "sm_90", "target"])
        .arg(&asked);
    succeed(run.current_dir(&folder).env("CARGO_TARGET_DIR", folder.join("target")))?;
    let found = fs::read_to_string(&asked)?;
    if found != ASKED {
        bail!("the builder asks cuda_builder for\n{found}and not for\n{ASKED}");
    }
    Ok(())
}

/// Writes the manifest of a package of `kernels-gpu/nvvm` with stand-ins in it, and gives its folder.
fn put(package: &str) -> Result<PathBuf> {
    let nvvm = paths::nvvm();
    let read = |file: &Path| fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()));
    let real = read(&nvvm.join(package).join("Cargo.toml"))?;
    let made = manifest(&real, &read(&nvvm.join("Cargo.toml"))?, &nvvm, package)?;
    let folder = paths::target().join("kernels/stand-in").join(package);
    write_if_changed(&folder.join("Cargo.toml"), &made)?;
    Ok(folder)
}

/// The real manifest with the paths of sources made absolute, what it inherits written out, and stand-ins for its dependencies. A package of
/// `kernels-gpu/nvvm` beside it stays one: its stand-in lies beside this one's, too.
fn manifest(real: &str, workspace: &str, nvvm: &Path, package: &str) -> Result<String> {
    let mut made = String::new();
    let mut stand_ins = 0;
    for line in real.lines() {
        let (key, value) = line.split_once(" = ").unwrap_or_default();
        made += &match key.strip_suffix(".workspace") {
            Some(key) => inherited(workspace, key)?.to_owned(),
            None if key == "path" => {
                let path = nvvm.join(package).join(value.trim_matches('"'));
                format!("path = {path:?}")
            }
            None if value.contains("workspace = true") => {
                stand_ins += 1;
                let stand_in = format!("path = {:?}", nvvm.join("stand-in").join(key));
                line.replace("workspace = true", &stand_in)
            }
            None if value.contains("path = \"../") => {
                stand_ins += 1;
                line.to_owned()
            }
            None => line.to_owned(),
        };
        made.push('\n');
    }
    if stand_ins == 0 {
        bail!("{package} has no dependency for a stand-in to take the place of");
    }
    Ok(made + "\n[workspace]\n")
}

/// The workspace's line for what a package inherits.
fn inherited<'a>(workspace: &'a str, key: &str) -> Result<&'a str> {
    let (_, package) = workspace
        .split_once("[workspace.package]")
        .context("the manifest has no [workspace.package]")?;
    let section = package.split("\n[").next().unwrap_or_default();
    let line = section.lines().find(|line| line.split(" = ").next() == Some(key));
    line.with_context(|| format!("[workspace.package] has no {key}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_stand_in_takes_its_dependencys_place_and_no_more() {
        let workspace = "[workspace]\n\n[workspace.package]\nversion = \"1.0.0\"\nedition = \"2024\"\n\n[profile]\n";
        let real = "[package]\nname = \"k\"\nversion.workspace = true\n[lib]\npath = \"../../a.rs\"\n[dependencies]\n\
                    cuda_std = { workspace = true, features = [] }\n";
        let made = manifest(real, workspace, Path::new("/w"), "kernels").unwrap();
        assert_eq!(
            made,
            "[package]\nname = \"k\"\nversion = \"1.0.0\"\n[lib]\npath = \"/w/kernels/../../a.rs\"\n[dependencies]\n\
             cuda_std = { path = \"/w/stand-in/cuda_std\", features = [] }\n\n[workspace]\n"
        );
        let beside = "[dependencies]\nkernels = { path = \"../kernels\", features = [] }\n";
        let made = manifest(beside, workspace, Path::new("/w"), "k").unwrap();
        assert_eq!(made, format!("{beside}\n[workspace]\n"));
        assert!(manifest("[package]\n", workspace, Path::new("/w"), "k").is_err());
        assert!(manifest("licence.workspace = true\n", workspace, Path::new("/w"), "k").is_err());
    }

    /// The signatures of the public functions in a source.
    fn signatures(text: &str) -> BTreeSet<String> {
        let public = text.lines().map(str::trim).filter(|line| line.starts_with("pub fn "));
        public.map(|line| line.trim_end_matches(" {").to_owned()).collect()
    }

    #[test]
    fn the_stand_in_is_what_the_list_says() {
        let nvvm = paths::nvvm();
        let list = fs::read_to_string(nvvm.join("interface.txt")).unwrap();
        for (package, source) in [
            ("cuda_builder", "stand-in/cuda_builder/src/lib.rs"),
            ("cuda_std", "stand-in/cuda_std/src/thread.rs"),
            ("cuda_std_macros", "stand-in/cuda_std_macros/src/lib.rs"),
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
