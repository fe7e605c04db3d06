//! What makes PTX of kernels: one of two code generators.

pub mod llvm;
pub mod nvvm;
pub mod stand_in;

use std::{fs, path::Path, process::Command, time::Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rayon::prelude::*;

use crate::{
    compiled::Compiled,
    kernel_crate::KernelCrate,
    process::seconds,
    wanted::{PartOfBuild, Wanted},
};

/// The variable that names the entries that are wanted of ours: `warpfold_kernels::kernels::is_wanted` reads it.
const ENTRIES: &str = "WARPFOLD_ENTRIES";

/// The code generator that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Codegen {
    /// rustc's own PTX backend: the default, for it needs nothing but a rustc with its sources.
    Llvm,
    /// Rust-CUDA: rustc_codegen_nvvm, through NVIDIA's libNVVM.
    Nvvm,
    /// Rust-CUDA where its toolchain is whole, rustc's own backend elsewhere.
    Auto,
}

/// A code generator, ready to use.
#[derive(Clone, Debug)]
pub enum Generator {
    /// rustc's own PTX backend.
    Llvm(llvm::Compiler),
    /// rustc_codegen_nvvm.
    Nvvm(nvvm::Toolchain),
    /// rustc's own PTX backend, on the source as rustc_codegen_nvvm compiles it: for checks alone.
    StandIn(llvm::Compiler),
}

impl Generator {
    /// Its name: what `--codegen` takes, and its folder in the cache.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Llvm(_) => "llvm",
            Self::Nvvm(_) => "nvvm",
            Self::StandIn(_) => "stand-in",
        }
    }

    /// Its name and the versions of all that decides on its output. The host library hands this out, and
    /// `warpfold devices` prints it.
    pub fn version(&self) -> String {
        let version = match self {
            Self::Llvm(compiler) | Self::StandIn(compiler) => &compiler.version,
            Self::Nvvm(toolchain) => &toolchain.version,
        };
        format!("{}: {version}", self.name())
    }

    /// Checks the name of an architecture.
    pub fn knows(&self, arch: &str) -> Result<()> {
        let known = match self {
            Self::Llvm(compiler) | Self::StandIn(compiler) => compiler.archs.clone(),
            Self::Nvvm(toolchain) => toolchain.archs(),
        };
        if known.iter().any(|known| known == arch) {
            return Ok(());
        }
        bail!(
            "no architecture {arch:?}: {} generates code for {}",
            self.name(),
            known.join(", ")
        )
    }

    /// The PTX of `kernels` for each of `builds`, in the parts that each is compiled in; as many at once as there are cores, for each
    /// is one long single-threaded piece.
    pub fn compile_all(&self, kernels: &KernelCrate, builds: &[Wanted]) -> Result<Vec<Vec<String>>> {
        for wanted in builds {
            let of = match kernels.ours {
                true => format!("{} kernels", wanted.entries.len()),
                false => kernels.own.package.clone(),
            };
            println!("compiling {of} for {} with {}", wanted.arch, self.version());
        }
        if let Self::Nvvm(toolchain) = self {
            toolchain.build_builder()?;
        }
        builds
            .par_iter()
            .map(|wanted| {
                let (arch, start) = (&*wanted.arch, Instant::now());
                let texts = match kernels.ours {
                    true => self.compile_parts(kernels, arch, &wanted.parts(), "")?,
                    false => vec![self.compile(&kernels.cache.join(arch), &kernels.own, arch, None, "")?],
                };
                println!("  {arch}: {}", seconds(start.elapsed()));
                Ok(texts)
            })
            .collect()
    }

    /// The PTX of a crate, or a part of ours, for `arch`, with more flags for rustc's own backend; what is needed on the way goes to `cache`.
    fn compile(
        &self,
        cache: &Path,
        of: &Compiled,
        arch: &str,
        part: Option<&PartOfBuild>,
        more_flags: &str,
    ) -> Result<String> {
        match self {
            Self::Llvm(compiler) => compiler.compile(cache, of, arch, part, more_flags),
            Self::Nvvm(toolchain) => toolchain.compile(cache, of, arch, part),
            Self::StandIn(compiler) => compiler.compile(cache, of, arch, part, stand_in::FLAGS),
        }
    }

    /// The same of parts of ours, as many at once as there are cores. `core` is compiled once for all, with no part.
    pub fn compile_parts(
        &self,
        kernels: &KernelCrate,
        arch: &str,
        parts: &[PartOfBuild],
        more_flags: &str,
    ) -> Result<Vec<String>> {
        let common = kernels.cache.join(arch).join("core");
        let none = PartOfBuild {
            name: "none",
            only: None,
        };
        let start = Instant::now();
        self.compile(&common, &kernels.own, arch, Some(&none), more_flags)?;
        println!("  {arch}, core: {}", seconds(start.elapsed()));
        // In their order, so that the dearest are not left for the end.
        let compiled: Vec<(usize, String)> = parts
            .iter()
            .enumerate()
            .par_bridge()
            .map(|(i, part)| {
                let start = Instant::now();
                // Cargo compiles one thing at a time in a folder.
                let folder = kernels.cache.join(arch).join(part.name);
                copy_but(&common, &folder, &kernels.own.library)?;
                let text = self.compile(&folder, kernels.having(part.name), arch, Some(part), more_flags)?;
                println!("  {arch}, {}: {}", part.name, seconds(start.elapsed()));
                Ok((i, text))
            })
            .collect::<Result<_>>()?;
        let mut texts = vec![String::new(); parts.len()];
        for (i, text) in compiled {
            texts[i] = text;
        }
        Ok(texts)
    }
}

/// Copies a folder with the times of its files, by which cargo knows what is fresh, but for what belongs to a crate.
fn copy_but(from: &Path, to: &Path, crate_name: &str) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, target) = (entry.file_name(), to.join(entry.file_name()));
        // Its name begins with the crate's, or with that of its package.
        let name = name.to_string_lossy().replace('-', "_");
        if name.trim_start_matches("lib").starts_with(crate_name) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy_but(&entry.path(), &target, crate_name)?;
        } else {
            fs::copy(entry.path(), &target).with_context(|| format!("cannot write {}", target.display()))?;
            fs::File::options()
                .write(true)
                .open(&target)?
                .set_modified(entry.metadata()?.modified()?)?;
        }
    }
    Ok(())
}

/// Tells a compiler which entries are wanted of a part of ours, if not all are.
fn with_entries<'a>(command: &'a mut Command, part: Option<&PartOfBuild>) -> &'a mut Command {
    match part.and_then(|part| part.only.as_ref()) {
        Some(only) => command.env(ENTRIES, only),
        None => command.env_remove(ENTRIES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_that_does_not_exist_is_named() {
        let compiler = Generator::Llvm(llvm::Compiler {
            rustc: "rustc".into(),
            cargo: "cargo".into(),
            version: "rustc 1".into(),
            archs: vec!["sm_80".into(), "sm_90".into()],
        });
        assert!(compiler.knows("sm_90").is_ok());
        let error = compiler.knows("sm_91").unwrap_err().to_string();
        assert!(error.contains("sm_91") && error.contains("sm_80, sm_90"), "{error}");
        assert_eq!(compiler.version(), "llvm: rustc 1");
    }
}
