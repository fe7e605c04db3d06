//! The part of `cuda_builder` that warpfold's builder uses, as `interface.txt` lists it. It builds nothing.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

/// What a build may fail with.
#[derive(Debug)]
pub enum CudaBuilderError {
    /// The only failure there is here.
    BuildFailed,
}

impl fmt::Display for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is the stand-in for cuda_builder")
    }
}

/// An architecture of libNVVM's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NvvmArch {
    /// Compute capability 9.0.
    Compute90,
    /// Compute capability 12.0.
    Compute120,
}

impl FromStr for NvvmArch {
    type Err = &'static str;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        match s {
            "compute_90" => Ok(Self::Compute90),
            "compute_120" => Ok(Self::Compute120),
            _ => Err("unknown compile target"),
        }
    }
}

/// A build.
pub struct CudaBuilder;

#[allow(unused_variables, missing_docs)]
impl CudaBuilder {
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        Self
    }
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self
    }
    pub fn release(mut self, release: bool) -> Self {
        self
    }
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self
    }
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self
    }
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self
    }
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        Err(CudaBuilderError::BuildFailed)
    }
}
