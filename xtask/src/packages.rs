//! Which crate's kernels are built: this workspace's, by the manifest that a code generator has for it, or a user's.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::{
    compiled::Compiled,
    generator::{Codegen, Generator, nvvm, stand_in},
    kernel_crate::KernelCrate,
    paths,
    process::{capture, cargo},
};

/// This workspace's, with the manifest that a code generator has for it.
pub fn ours(generator: &Generator) -> Result<KernelCrate> {
    if let Generator::StandIn(_) = generator {
        return stand_in::kernels();
    }
    let (own, distinct) = (paths::root().join("kernels-gpu"), paths::root().join("distinct"));
    let (folders, sources) = match generator {
        Generator::Nvvm(_) => (
            ["kernels", "distinct"].map(|of| paths::nvvm().join(of)),
            nvvm::sources(),
        ),
        _ => {
            let sources = [&own, &distinct].map(|of| [of.join("Cargo.toml"), of.join("src")]);
            let facts = own.join("facts");
            ([own, distinct], sources.into_iter().flatten().chain([facts]).collect())
        }
    };
    let [own, distinct] = folders;
    Ok(KernelCrate {
        own: Compiled::kernels(own),
        beside: vec![Compiled::distinct(distinct)],
        sources,
        ptx: paths::ptx(),
        cache: paths::target().join("kernels").join(generator.name()),
        ours: true,
    })
}

/// The code generator that a user's crate, in `folder`, takes our kernels for, if it says.
pub fn users_codegen(folder: &Path) -> Result<Option<Codegen>> {
    Ok(Package::at(folder)?.codegen())
}

/// A user's, in `folder`.
pub fn users(folder: &Path, generator: &Generator) -> Result<KernelCrate> {
    let of_cargo = Package::at(folder)?;
    let library = of_cargo.library()?;
    let codegen = of_cargo.codegen();
    let package = of_cargo.name;
    let folder = of_cargo.manifest_path.parent().unwrap_or(folder).to_owned();
    match (codegen, generator) {
        (Some(Codegen::Llvm), Generator::Nvvm(_)) => bail!(
            "{package} depends on kernels-gpu, whose manifest is for the code generator llvm: for nvvm, depend on \
             kernels-gpu/nvvm/kernels"
        ),
        (Some(Codegen::Nvvm), Generator::Llvm(_)) => bail!(
            "{package} depends on kernels-gpu/nvvm/kernels, whose manifest is for the code generator nvvm: for llvm, \
             depend on kernels-gpu"
        ),
        _ => {}
    }
    Ok(KernelCrate {
        sources: vec![],
        ptx: folder.join("target/ptx"),
        cache: folder.join("target/kernels").join(generator.name()),
        own: Compiled {
            folder,
            package,
            library,
            ..Compiled::default()
        },
        beside: vec![],
        ours: false,
    })
}

/// What cargo says of a user's package.
#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<PackageTarget>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct PackageTarget {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Dependency {
    path: Option<PathBuf>,
}

impl Package {
    /// The package in `folder`.
    fn at(folder: &Path) -> Result<Self> {
        let folder = folder
            .canonicalize()
            .with_context(|| format!("no crate at {}", folder.display()))?;
        let manifest = folder.join("Cargo.toml");
        let said = capture(
            cargo()
                .args(["metadata", "--format-version=1", "--no-deps", "--manifest-path"])
                .arg(&manifest),
        )?;
        Self::of(&said, &manifest)
    }

    /// The package at `manifest`, from `cargo metadata`.
    fn of(metadata: &str, manifest: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Metadata {
            packages: Vec<Package>,
        }
        let metadata: Metadata = serde_json::from_str(metadata)?;
        let mut packages = metadata.packages.into_iter();
        let package = packages.find(|package| package.manifest_path == manifest);
        package.with_context(|| format!("{} is no package", manifest.display()))
    }

    /// Its library, as the compiler knows it.
    fn library(&self) -> Result<String> {
        let is_library = |target: &&PackageTarget| target.kind.iter().any(|kind| kind.ends_with("lib"));
        let library = self.targets.iter().find(is_library);
        let library = library.with_context(|| format!("{} has no library to build kernels from", self.name))?;
        Ok(library.name.replace('-', "_"))
    }

    /// The code generator of the manifest that it takes our kernels from; none if it takes them from elsewhere.
    fn codegen(&self) -> Option<Codegen> {
        let mut folders = self.dependencies.iter().filter_map(|of| of.path.as_deref());
        folders.find_map(|folder| {
            if folder.ends_with("kernels-gpu/nvvm/kernels") {
                Some(Codegen::Nvvm)
            } else {
                folder.ends_with("kernels-gpu").then_some(Codegen::Llvm)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package whose kernels are those in `folder`.
    fn package(folder: &str) -> Result<Package> {
        let metadata = format!(
            r#"{{"packages":[{{"name":"my-ops","manifest_path":"/a/Cargo.toml",
            "targets":[{{"name":"demo","kind":["bin"]}},{{"name":"my-ops","kind":["lib"]}}],
            "dependencies":[{{"path":null}},{{"path":"{folder}"}}]}}]}}"#
        );
        assert!(Package::of(&metadata, Path::new("/b/Cargo.toml")).is_err());
        Package::of(&metadata, Path::new("/a/Cargo.toml"))
    }

    #[test]
    fn a_users_library_is_found_by_its_manifest() {
        let mut package = package("/w").unwrap();
        assert_eq!((&*package.name, &*package.library().unwrap()), ("my-ops", "my_ops"));
        package.targets.pop();
        assert!(package.library().is_err());
    }

    #[test]
    fn the_kernels_that_a_users_crate_takes_are_told_by_their_folder() {
        for (folder, codegen) in [
            ("/w/kernels-gpu", Some(Codegen::Llvm)),
            ("/w/kernels-gpu/nvvm/kernels", Some(Codegen::Nvvm)),
            ("/w/another", None),
        ] {
            assert_eq!(package(folder).unwrap().codegen(), codegen, "{folder}");
        }
    }
}
