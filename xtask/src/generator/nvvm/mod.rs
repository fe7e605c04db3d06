//! Rust-CUDA: rustc_codegen_nvvm, libNVVM, and the Rust toolchain of a certain day. cuda_builder drives them, from a small
//! program beside the kernels' own manifest for them, `kernels-gpu/nvvm`.

mod parts;
mod run;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use parts::{Cuda, Llvm, Missing, Pinned, build_tools, cuda, llvm, rust_toolchain};
pub use run::{Run, Time};

use super::with_entries;
use crate::{
    compiled::Compiled,
    paths,
    process::{capture, succeed, untangled, write_if_changed},
    wanted::PartOfBuild,
};

/// The variable that names another Rust toolchain, as rustup knows it: one of one's own making, say.
const VARIABLE: &str = "WARPFOLD_NVVM_TOOLCHAIN";

/// The compute capabilities that the pinned commit names, from the oldest that every such CUDA has.
const ARCHS: [u32; 13] = [75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121];

/// Where all of it is together.
const IMAGES: &str = "Rust-CUDA's container images have all of it, with the Rust toolchain of their own day: \
                      rust-gpu/rust-cuda-ubuntu24-cuda12, -ubuntu24-cuda13, -rockylinux9-cuda12, -rockylinux9-cuda13, \
                      among GitHub's packages";

/// A toolchain that has every part.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// The Rust toolchain, by rustup's name.
    rust: String,
    /// The LLVM that the back end is linked with.
    llvm: Llvm,
    /// The CUDA toolkit that has libNVVM.
    cuda: Cuda,
    /// The versions of all that decides on the output.
    pub version: String,
}

/// The toolchain, or an error that names every part that is missing and how to get it.
pub fn find() -> Result<Toolchain> {
    match search()? {
        Ok(toolchain) => Ok(toolchain),
        Err(missing) => {
            let parts: String = missing.iter().map(|part| format!("\n  * {part}")).collect();
            bail!("the code generator nvvm needs what is not here:{parts}\n{IMAGES}")
        }
    }
}

/// The toolchain, or all that is missing of it.
pub fn search() -> Result<Result<Toolchain, Vec<Missing>>> {
    let pinned = Pinned::read(&paths::nvvm())?;
    let named = env::var(VARIABLE).ok();
    let name = named.clone().unwrap_or_else(|| pinned.toolchain.clone());
    match (
        rust_toolchain(&name, named.is_some(), &pinned),
        llvm(),
        cuda(),
        build_tools(),
    ) {
        (Ok(rustc), Ok(llvm), Ok(cuda), absent) if absent.is_empty() => Ok(Ok(Toolchain {
            version: format!(
                "rustc_codegen_nvvm {}, {rustc}, LLVM {}, libNVVM of CUDA {}",
                &pinned.commit[..7.min(pinned.commit.len())],
                llvm.version,
                cuda.version
            ),
            rust: name,
            llvm,
            cuda,
        })),
        (rust, llvm, cuda, absent) => {
            let parts = [rust.err(), llvm.err(), cuda.err()];
            Ok(Err(parts.into_iter().flatten().chain(absent).collect()))
        }
    }
}

/// Where facts are recorded of what it makes.
pub fn facts() -> PathBuf {
    paths::nvvm().join("facts")
}

/// Files and folders that the kernels' PTX depends on.
pub fn sources() -> Vec<PathBuf> {
    let nvvm = paths::nvvm();
    let own = [
        "Cargo.toml",
        "Cargo.lock",
        "rust-toolchain.toml",
        "kernels",
        "distinct",
        "builder",
    ];
    let sources = ["kernels-gpu/src", "distinct/src"].map(|of| paths::root().join(of));
    sources.into_iter().chain(own.map(|name| nvvm.join(name))).collect()
}

impl Toolchain {
    /// The architectures, as `sm_NN`.
    pub fn archs(&self) -> Vec<String> {
        ARCHS.map(|number| format!("sm_{number}")).to_vec()
    }

    /// A cargo command on the builder, which compiles it and the back end first if need be.
    fn cargo(&self, subcommand: &str) -> Command {
        let mut command = untangled("rustup");
        command
            .args(["run", &self.rust, "cargo", subcommand, "--locked"])
            .args(["--package", "warpfold-nvvm-builder", "--manifest-path"])
            .arg(paths::nvvm().join("Cargo.toml"))
            .env("CARGO_TARGET_DIR", paths::target().join("kernels/nvvm/builder"))
            .env("LLVM_CONFIG", &self.llvm.config)
            .env("CUDA_PATH", &self.cuda.folder);
        let libraries = [self.cuda.folder.join("nvvm/lib64"), self.llvm.libraries.clone()];
        if let Ok(libraries) = env::join_paths(libraries) {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
    }

    /// Compiles the builder and the back end, showing what cargo says: it takes minutes the first time.
    pub fn build_builder(&self) -> Result<()> {
        succeed(&mut self.cargo("build")).context("cannot build rustc_codegen_nvvm and the builder")
    }

    /// The PTX of a crate, or a part of ours, for `arch`; what is needed on the way goes to `cache`.
    pub fn compile(&self, cache: &Path, kernels: &Compiled, arch: &str, part: Option<&PartOfBuild>) -> Result<String> {
        // Cargo knows nothing of what the back end is made of, and would take an older one's output for its own.
        let made_by = cache.join("made-by");
        if !fs::read_to_string(&made_by).is_ok_and(|version| version == self.version) {
            let _ = fs::remove_dir_all(cache);
        }
        write_if_changed(&made_by, &self.version)?;
        let ptx = cache.join("compiled.ptx");
        let mut builder = self.cargo("run");
        builder.args(["--quiet", "--"]).arg(&kernels.folder).arg(arch);
        builder.arg(cache).arg(&ptx);
        builder.args(part.filter(|_| kernels.part.is_none()).map(|part| part.name));
        capture(with_entries(&mut builder, part)).with_context(|| {
            let part = part.map_or_else(String::new, |part| format!(", {},", part.name));
            format!("cannot compile {}{part} for {arch}", kernels.package)
        })?;
        let text = fs::read_to_string(&ptx).with_context(|| format!("the builder left no {}", ptx.display()))?;
        match release(&text) {
            Some(release) if release != self.cuda.version => bail!(
                "the libNVVM that was loaded is of CUDA {release}, the one in {} of {}",
                self.cuda.folder.display(),
                self.cuda.version
            ),
            _ => Ok(text),
        }
    }
}

/// The CUDA release that libNVVM names in the PTX it makes: `// Cuda compilation tools, release 12.9, V12.9.86`.
fn release(ptx: &str) -> Option<&str> {
    let (_, rest) = ptx.split_once("compilation tools, release ")?;
    rest.split(',').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_tells_whose_libnvvm_made_it() {
        let ptx =
            "// Compiler Build ID: CL-36037853\n// Cuda compilation tools, release 12.9, V12.9.86\n.version 8.8\n";
        assert_eq!(release(ptx), Some("12.9"));
        assert_eq!(release(".version 8.8\n"), None);
    }
}
