//! The part of `cuda_builder` that warpfold's builder uses; `interface.txt` lists its functions. It builds nothing: it writes
//! down what it was told, where the PTX would go.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    str::FromStr,
};

/// What a build may fail with.
#[derive(Debug)]
pub enum CudaBuilderError {
    /// The only failure there is here.
    FailedToCopyPtxFile(io::Error),
}

impl fmt::Display for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::FailedToCopyPtxFile(error) = self;
        error.fmt(f)
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

/// A build, and what it was told.
pub struct CudaBuilder {
    told: String,
    to: PathBuf,
}

#[allow(missing_docs)]
impl CudaBuilder {
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        let told = format!("{}\n", path_to_crate_root.as_ref().display());
        Self {
            told,
            to: PathBuf::new(),
        }
    }
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        args.iter().for_each(|arg| self.told += &format!("{}\n", arg.as_ref()));
        self
    }
    pub fn release(mut self, release: bool) -> Self {
        self.told += &format!("release {release}\n");
        self
    }
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.told += &format!("arch {arch:?}\n");
        self
    }
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.told += &format!("fma_contraction {fma_contraction}\n");
        self
    }
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.to = path.as_ref().to_owned();
        self
    }
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        fs::write(&self.to, self.told).map_err(CudaBuilderError::FailedToCopyPtxFile)?;
        Ok(self.to)
    }
}
