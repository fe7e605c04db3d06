//! ptxas, NVIDIA's assembler: needed for checks only, never to build or to run.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    paths,
    process::{capture, on_path, write_if_changed},
};

/// The variable that names a ptxas.
pub const VARIABLE: &str = "WARPFOLD_PTXAS";

/// The package that has it, in the Python package index.
pub const PACKAGE: &str = "nvidia-cuda-nvcc";

/// An assembler.
#[derive(Clone, Debug)]
pub struct Ptxas {
    /// Where it lies.
    pub path: PathBuf,
    /// Its release, such as `13.0`.
    pub version: String,
}

/// What became of one assembly.
pub enum Assembly {
    /// What it said of the functions.
    Assembled(String),
    /// This release knows nothing of that device.
    Unknown,
}

/// Where setup puts the package.
pub fn folder() -> PathBuf {
    paths::tools().join("ptxas")
}

/// Where what it said is kept.
fn verdicts() -> PathBuf {
    paths::target().join("kernels/verdicts")
}

/// Looks for ptxas: the one that the variable names, or else on the search path, in a CUDA installation, in setup's
/// own folder.
pub fn find() -> Option<Ptxas> {
    if let Some(named) = env::var_os(VARIABLE) {
        return check(PathBuf::from(named));
    }
    candidates().into_iter().find_map(check)
}

fn candidates() -> Vec<PathBuf> {
    let mut folders = vec![];
    for variable in ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"] {
        folders.extend(env::var_os(variable).map(|cuda| PathBuf::from(cuda).join("bin")));
    }
    // The newest of several installations: it knows the most devices.
    let mut installed = subfolders(Path::new("/usr/local"), "cuda");
    installed.reverse();
    folders.extend(installed.into_iter().map(|cuda| cuda.join("bin")));
    folders.extend(
        subfolders(&folder().join("nvidia"), "cu")
            .into_iter()
            .map(|cuda| cuda.join("bin")),
    );
    let found = folders.into_iter().map(|folder| folder.join("ptxas"));
    on_path("ptxas")
        .into_iter()
        .chain(found)
        .filter(|file| file.is_file())
        .collect()
}

/// The folders in `folder` whose names begin with `prefix`, sorted.
pub fn subfolders(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

fn check(path: PathBuf) -> Option<Ptxas> {
    let said = capture(Command::new(&path).arg("--version")).ok()?;
    let version = release(&said)?.to_owned();
    Some(Ptxas { path, version })
}

/// The release in what `ptxas --version` prints.
fn release(said: &str) -> Option<&str> {
    said.split_once("release ")?.1.split([',', ' ', '\n']).next()
}

impl Ptxas {
    /// Assembles a file for a device, and gives what ptxas says of its functions: what it said of the same text before, if it was asked.
    pub fn assemble(&self, file: &Path, device: u32) -> Result<Assembly> {
        let mut hasher = DefaultHasher::new();
        (fs::read(file)?, device, &self.version).hash(&mut hasher);
        let kept = verdicts().join(format!("{:016x}", hasher.finish()));
        if let Ok(said) = fs::read_to_string(&kept) {
            return Ok(Assembly::Assembled(said));
        }
        let outcome = self.ask(file, device)?;
        if let Assembly::Assembled(said) = &outcome {
            write_if_changed(&kept, said)?;
        }
        Ok(outcome)
    }

    fn ask(&self, file: &Path, device: u32) -> Result<Assembly> {
        let output = Command::new(&self.path)
            .args(["-v", &format!("-arch=sm_{device}"), "-o", "/dev/null"])
            .arg(file)
            .output()
            .with_context(|| format!("cannot start {}", self.path.display()))?;
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        if output.status.success() {
            Ok(Assembly::Assembled(said))
        } else if is_unknown_device(&said) {
            Ok(Assembly::Unknown)
        } else {
            bail!(
                "ptxas {} does not take {} for sm_{device}:\n{}",
                self.version,
                file.display(),
                said.trim()
            )
        }
    }
}

fn is_unknown_device(said: &str) -> bool {
    // The latter from one that is older than the PTX itself.
    said.contains("is not defined for option 'gpu-name'") || said.contains("Unsupported .version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_read() {
        let said = "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.0, V13.0.88\n";
        assert_eq!(release(said), Some("13.0"));
        assert_eq!(release("nothing"), None);
    }

    #[test]
    fn an_unknown_device_is_told_from_bad_ptx() {
        assert!(is_unknown_device(
            "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'"
        ));
        assert!(!is_unknown_device(
            "ptxas a.ptx, line 3; error : Parsing error near 'x'"
        ));
    }
}
