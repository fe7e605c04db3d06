//! What makes PTX of kernels: one of two code generators.

pub mod llvm;
pub mod nvvm;
pub mod stand_in;

use std::time::Instant;

use anyhow::{Result, bail};
use clap::ValueEnum;
use rayon::prelude::*;

use crate::{kernel_crate::KernelCrate, process::seconds, wanted::Wanted};

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
                let parts = || wanted.parts();
                let texts = match self {
                    Self::Nvvm(toolchain) => {
                        let crates = kernels.crates(wanted).into_iter();
                        let texts = crates.map(|of| toolchain.compile(&kernels.cache.join(arch), of, arch));
                        texts.collect::<Result<_>>()?
                    }
                    Self::Llvm(compiler) if !kernels.ours => vec![compiler.compile(kernels, arch, "")?],
                    Self::Llvm(compiler) => compiler.compile_parts(kernels, arch, &parts(), "")?,
                    Self::StandIn(compiler) => compiler.compile_parts(kernels, arch, &parts(), stand_in::FLAGS)?,
                };
                println!("  {arch}: {}", seconds(start.elapsed()));
                Ok(texts)
            })
            .collect()
    }

    /// Whether its kernels have clusters of blocks, from compute capability 9.0 on.
    pub fn has_clusters(&self) -> bool {
        matches!(self, Self::Llvm(_))
    }

    /// Whether it can be told to compile a part alone.
    pub fn knows_parts(&self) -> bool {
        !matches!(self, Self::Nvvm(_))
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
