//! A package as a code generator compiles it.

use std::path::PathBuf;

use crate::ours;

/// A package to compile.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// Its folder.
    pub folder: PathBuf,
    /// The package, as cargo knows it.
    pub package: String,
    /// The library, as the compiler knows it.
    pub library: String,
    /// The part of the build that it is as a whole; otherwise it may have several.
    pub part: Option<&'static str>,
    /// What cargo is to be told of its features.
    pub features: &'static [&'static str],
}

impl Compiled {
    /// `warpfold-kernels`, by the manifest in `folder`.
    pub fn kernels(folder: PathBuf) -> Self {
        Self {
            folder,
            package: "warpfold-kernels".to_owned(),
            library: "warpfold_kernels".to_owned(),
            part: None,
            features: &["--features", "entries"],
        }
    }

    /// `warpfold-distinct`, by the manifest in `folder`.
    pub fn distinct(folder: PathBuf) -> Self {
        Self {
            folder,
            package: "warpfold-distinct".to_owned(),
            library: "warpfold_distinct".to_owned(),
            part: Some(ours::DISTINCT),
            features: &[],
        }
    }
}
