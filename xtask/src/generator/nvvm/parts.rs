//! The parts of the toolchain: which ones are pinned, where they may lie, and what to do about one that is not here.

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::VARIABLE;
use crate::{
    process::{capture, on_path, untangled},
    ptxas::subfolders,
};

/// The LLVM that writes the dialect which libNVVM reads.
const LLVM: &str = "7.";
/// Parts of it that rustc_codegen_nvvm links.
const LLVM_PARTS: [&str; 5] = ["bitreader", "bitwriter", "ipo", "lto", "nvptx"];

/// CUDA's major versions that the pinned commit knows.
const CUDA: [u32; 2] = [12, 13];

/// A part that is not here.
#[derive(Debug, PartialEq)]
pub struct Missing {
    /// What, and why what is here does not do.
    what: String,
    /// How to get it.
    how: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n      {}", self.what, self.how)
    }
}

fn missing(what: impl Into<String>, how: impl Into<String>) -> Missing {
    Missing {
        what: what.into(),
        how: how.into(),
    }
}

/// What the manifest beside the kernels pins.
#[derive(Debug, PartialEq)]
pub struct Pinned {
    /// Rust-CUDA's commit.
    pub commit: String,
    /// The Rust toolchain's name.
    pub toolchain: String,
    /// Its components.
    components: Vec<String>,
}

impl Pinned {
    pub fn read(folder: &Path) -> Result<Self> {
        let text = |name: &str| {
            let file = folder.join(name);
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
        };
        Self::of(&text("Cargo.toml")?, &text("rust-toolchain.toml")?)
    }

    fn of(manifest: &str, toolchain: &str) -> Result<Self> {
        let commits = manifest.lines().filter_map(|line| quoted(line.split_once("rev = ")?.1));
        let commits: Vec<&str> = commits.collect();
        let value = |key: &str| toolchain.lines().find_map(|line| line.strip_prefix(key));
        match (&commits[..], value("channel = "), value("components = ")) {
            ([commit, others @ ..], Some(channel), Some(components)) if others.iter().all(|other| other == commit) => {
                Ok(Self {
                    commit: (*commit).to_owned(),
                    toolchain: quoted(channel).unwrap_or_default().to_owned(),
                    components: components.split(',').filter_map(quoted).map(str::to_owned).collect(),
                })
            }
            _ => bail!("kernels-gpu/nvvm pins no one commit of Rust-CUDA and one Rust toolchain"),
        }
    }

    fn install(&self) -> String {
        format!(
            "rustup toolchain install {} --profile minimal --component {}",
            self.toolchain,
            self.components.join(",")
        )
    }
}

/// What stands between the first two quotation marks.
fn quoted(text: &str) -> Option<&str> {
    text.split('"').nth(1)
}

/// What the rustc of a toolchain says of itself, if the toolchain is whole. One that the variable `named` is not ours to
/// install.
pub fn rust_toolchain(name: &str, named: bool, pinned: &Pinned) -> Result<String, Missing> {
    if on_path("rustup").is_none() {
        return Err(missing(
            format!("rustup, for the Rust toolchain {name}"),
            format!("see https://rustup.rs, then: {}", pinned.install()),
        ));
    }
    let absent = |what: String, how: String| {
        let how = if named { format!("{VARIABLE} names it") } else { how };
        missing(what, how)
    };
    let mut rustup = untangled("rustup");
    // Naming it must not install it: `rustup` would, unasked.
    rustup.env("RUSTUP_AUTO_INSTALL", "0");
    let rustc = capture(rustup.args(["which", "--toolchain", name, "rustc"]))
        .map_err(|_| absent(format!("the Rust toolchain {name}"), pinned.install()))?;
    let rustc = Path::new(rustc.trim());
    let sysroot = rustc.parent().and_then(Path::parent).unwrap_or(rustc);
    let components = absent_components(sysroot);
    if !components.is_empty() {
        return Err(absent(
            format!("components of the Rust toolchain {name}: {}", components.join(", ")),
            format!("rustup component add --toolchain {name} {}", components.join(" ")),
        ));
    }
    let version = capture(untangled(rustc).arg("--version"));
    let version = version.map_err(|why| absent(format!("a rustc of {name} that runs: {why:#}"), pinned.install()))?;
    Ok(version.trim().to_owned())
}

/// The components that a toolchain lacks, by what they put into its folder.
fn absent_components(sysroot: &Path) -> Vec<&'static str> {
    let rustlib = sysroot.join("lib/rustlib");
    let for_host = |folder: &str, prefix: &str| {
        let hosts = fs::read_dir(&rustlib).into_iter().flatten().flatten();
        let mut names = hosts.flat_map(|host| fs::read_dir(host.path().join(folder)).into_iter().flatten().flatten());
        names.any(|file| file.file_name().to_string_lossy().starts_with(prefix))
    };
    let present = [
        ("rust-src", rustlib.join("src/rust/library/core/src/lib.rs").is_file()),
        ("rustc-dev", for_host("lib", "librustc_middle")),
        ("llvm-tools-preview", for_host("bin", "llvm-")),
    ];
    let absent = present.into_iter().filter(|(_, present)| !present);
    absent.map(|(name, _)| name).collect()
}

/// An LLVM of the right version.
#[derive(Clone, Debug)]
pub struct Llvm {
    pub config: PathBuf,
    pub libraries: PathBuf,
    pub version: String,
}

pub fn llvm() -> Result<Llvm, Missing> {
    const HOW: &str = "build LLVM 7.1.0 with the targets NVPTX and the host's own (distributions have it no more), and name \
                       its llvm-config in LLVM_CONFIG";
    let named = env::var_os("LLVM_CONFIG").map(PathBuf::from);
    let Some(config) = named.or_else(|| on_path("llvm-config")) else {
        return Err(missing("LLVM 7: no llvm-config here", HOW));
    };
    let ask = |what: &str| {
        capture(untangled(&config).arg(what))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let (version, parts) = (ask("--version"), ask("--components"));
    match unfit_llvm(&version, &parts) {
        None => Ok(Llvm {
            libraries: ask("--libdir").into(),
            config,
            version,
        }),
        Some(why) => Err(missing(format!("LLVM 7: {} {why}", config.display()), HOW)),
    }
}

/// Why an LLVM does not do.
fn unfit_llvm(version: &str, parts: &str) -> Option<String> {
    if version.is_empty() {
        return Some("does not run".to_owned());
    }
    if !version.starts_with(LLVM) {
        return Some(format!("is of LLVM {version}"));
    }
    let has = |part: &&str| parts.split_whitespace().any(|has| has == *part);
    let absent: Vec<&str> = LLVM_PARTS.into_iter().filter(|part| !has(part)).collect();
    (!absent.is_empty()).then(|| format!("is built without {}", absent.join(", ")))
}

/// A CUDA toolkit.
#[derive(Clone, Debug, PartialEq)]
pub struct Cuda {
    pub folder: PathBuf,
    pub version: String,
}

pub fn cuda() -> Result<Cuda, Missing> {
    const HOW: &str =
        "install NVIDIA's CUDA toolkit 12 or 13, and name its folder in CUDA_PATH if it is not /usr/local/cuda";
    // The order in which Rust-CUDA looks, then the usual places.
    let named = ["CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"]
        .into_iter()
        .filter_map(env::var_os);
    let mut folders: Vec<PathBuf> = named.map(PathBuf::from).collect();
    folders.extend(["/usr/lib/cuda", "/usr/local/cuda", "/opt/cuda"].map(PathBuf::from));
    folders.retain(|folder| folder.exists());
    folders.extend(subfolders(Path::new("/usr/local"), "cuda-").into_iter().rev());
    let mut unfit = vec![];
    for folder in folders {
        match check_cuda(&folder) {
            Ok(cuda) => return Ok(cuda),
            Err(why) => unfit.push(format!("{} {why}", folder.display())),
        }
    }
    let why = if unfit.is_empty() {
        "none here".to_owned()
    } else {
        unfit.join("; ")
    };
    Err(missing(format!("a CUDA toolkit with libNVVM: {why}"), HOW))
}

/// A toolkit in `folder`, or why it is none.
fn check_cuda(folder: &Path) -> Result<Cuda, String> {
    const NEEDED: [&str; 5] = [
        "include/cuda.h",
        "include/cuda_runtime_api.h",
        "nvvm/include/nvvm.h",
        "nvvm/lib64/libnvvm.so",
        "nvvm/libdevice/libdevice.10.bc",
    ];
    let absent: Vec<&str> = NEEDED.into_iter().filter(|file| !folder.join(file).is_file()).collect();
    if !absent.is_empty() {
        return Err(format!("has no {}", absent.join(", ")));
    }
    let header = fs::read_to_string(folder.join("include/cuda.h")).unwrap_or_default();
    let (major, minor) = cuda_version(&header).ok_or("does not say its version in include/cuda.h")?;
    if !CUDA.contains(&major) {
        return Err(format!("is CUDA {major}.{minor}"));
    }
    Ok(Cuda {
        folder: folder.to_owned(),
        version: format!("{major}.{minor}"),
    })
}

/// 13.0 of `#define CUDA_VERSION 13000`.
fn cuda_version(header: &str) -> Option<(u32, u32)> {
    let number = header
        .lines()
        .find_map(|line| line.strip_prefix("#define CUDA_VERSION "))?;
    let number: u32 = number.trim().parse().ok()?;
    Some((number / 1000, number % 1000 / 10))
}

/// What building the back end itself needs beside.
pub fn build_tools() -> Vec<Missing> {
    let mut absent = vec![];
    if on_path("c++").is_none() {
        absent.push(missing(
            "a C++ compiler named c++",
            "apt-get install g++, or your system's",
        ));
    }
    if on_path("clang").is_none() && env::var_os("LIBCLANG_PATH").is_none() {
        absent.push(missing(
            "libclang, which reads CUDA's headers: no clang here and no LIBCLANG_PATH",
            "apt-get install clang, or your system's",
        ));
    }
    let openssl = Command::new("pkg-config").args(["--exists", "openssl"]).status();
    if !openssl.is_ok_and(|status| status.success()) {
        absent.push(missing(
            "pkg-config and OpenSSL's headers",
            "apt-get install pkg-config libssl-dev, or your system's",
        ));
    }
    absent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths;

    const COMMIT: &str = "946c91f080770f30d42d7c706ac8185969274073";

    #[test]
    fn the_manifests_pin_what_the_readme_says() {
        let pinned = Pinned::read(&paths::nvvm()).unwrap();
        assert_eq!(pinned.commit, COMMIT);
        assert_eq!(pinned.components, ["llvm-tools-preview", "rust-src", "rustc-dev"]);
        let readme = fs::read_to_string(paths::root().join("README.md")).unwrap();
        for said in [&pinned.commit[..7], &pinned.toolchain] {
            assert!(readme.contains(said), "the README does not say {said}");
        }
        let lock = fs::read_to_string(paths::nvvm().join("Cargo.lock")).unwrap();
        assert!(lock.contains("name = \"glam\"\nversion = \"0.30.9\""));
        let git: Vec<&str> = lock
            .lines()
            .filter(|line| line.starts_with("source = \"git+"))
            .collect();
        assert!(!git.is_empty() && git.iter().all(|source| source.ends_with(&format!("#{COMMIT}\""))));
    }

    #[test]
    fn two_commits_are_none() {
        let line = |commit| format!("a = {{ git = \"x\", rev = \"{commit}\" }}\n");
        let toolchain = "channel = \"nightly-1\"\ncomponents = [\"a\", \"b\"]\n";
        let pinned = Pinned::of(&(line("c1") + &line("c1")), toolchain).unwrap();
        assert_eq!((&*pinned.commit, &*pinned.toolchain), ("c1", "nightly-1"));
        assert!(
            pinned
                .install()
                .ends_with("nightly-1 --profile minimal --component a,b")
        );
        assert!(Pinned::of(&(line("c1") + &line("c2")), toolchain).is_err());
        assert!(Pinned::of("", toolchain).is_err() && Pinned::of(&line("c1"), "").is_err());
    }

    #[test]
    fn an_llvm_that_does_not_do_is_told_why() {
        let parts = "all ipo bitreader bitwriter lto nvptx x86";
        assert_eq!(unfit_llvm("7.1.0", parts), None);
        assert!(unfit_llvm("19.1.7", parts).unwrap().contains("LLVM 19.1.7"));
        assert!(
            unfit_llvm("7.0.1", "ipo lto nvptx")
                .unwrap()
                .contains("bitreader, bitwriter")
        );
        assert!(unfit_llvm("", "").unwrap().contains("not run"));
    }

    fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("warpfold-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn put(folder: &Path, file: &str, text: &str) {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    #[test]
    fn components_are_known_by_their_files() {
        let sysroot = folder("sysroot");
        assert_eq!(
            absent_components(&sysroot),
            ["rust-src", "rustc-dev", "llvm-tools-preview"]
        );
        put(&sysroot, "lib/rustlib/src/rust/library/core/src/lib.rs", "");
        put(
            &sysroot,
            "lib/rustlib/x86_64-unknown-linux-gnu/lib/librustc_middle-1a.rmeta",
            "",
        );
        assert_eq!(absent_components(&sysroot), ["llvm-tools-preview"]);
        put(&sysroot, "lib/rustlib/x86_64-unknown-linux-gnu/bin/llvm-objdump", "");
        assert!(absent_components(&sysroot).is_empty());
        fs::remove_dir_all(&sysroot).unwrap();
    }

    #[test]
    fn a_toolkit_is_known_by_its_files_and_its_version() {
        let cuda = folder("cuda");
        assert!(check_cuda(&cuda).unwrap_err().contains("nvvm/lib64/libnvvm.so"));
        for file in [
            "include/cuda_runtime_api.h",
            "nvvm/include/nvvm.h",
            "nvvm/lib64/libnvvm.so",
            "nvvm/libdevice/libdevice.10.bc",
        ] {
            put(&cuda, file, "");
        }
        put(&cuda, "include/cuda.h", "#define CUDA_VERSION 12090\n");
        assert_eq!(check_cuda(&cuda).unwrap().version, "12.9");
        put(&cuda, "include/cuda.h", "#define CUDA_VERSION 11080\n");
        assert!(check_cuda(&cuda).unwrap_err().contains("CUDA 11.8"));
        put(&cuda, "include/cuda.h", "");
        assert!(check_cuda(&cuda).unwrap_err().contains("version"));
        fs::remove_dir_all(&cuda).unwrap();
    }

    #[test]
    fn a_part_that_is_missing_comes_with_the_way_to_get_it() {
        assert_eq!(missing("a thing", "get it").to_string(), "a thing\n      get it");
    }
}
