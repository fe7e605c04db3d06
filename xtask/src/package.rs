//! `cargo xtask package`: the crates as a registry has them, with the kernels' PTX in the library's.
//!
//! Packed as hard as brotli does it, which takes minutes, the PTX leaves room for the source in what a registry takes. A
//! program outside the workspace that has the library, and what that needs, from their packages shows that they build and that the PTX is in there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use warpfold_embed::{Quality, read, write};
use warpfold_kernels::kernels::LIBRARY;

use crate::{
    build_ptx,
    generator::Codegen,
    paths,
    process::{cargo, seconds, untangled},
    setup,
};

/// The most bytes that crates.io takes.
const MOST_BYTES: u64 = 10 << 20;

/// What the library needs of the workspace, and itself.
const PACKAGES: [&str; 6] = [
    "warpfold-embed",
    "warpfold-kernels",
    "warpfold-distinct",
    "warpfold-driver",
    "warpfold-emulator",
    "warpfold",
];

/// Runs the task.
pub fn run() -> Result<()> {
    let packed = Packed::new()?;
    let library = package()?;
    drop(packed);
    check(&library)
}

/// The kernels' PTX, built if it is not fresh and packed, in the library's folder while this lives: for what is made of its sources.
pub struct Packed(PathBuf);

impl Packed {
    pub fn new() -> Result<Self> {
        build_ptx::build_default(&setup::ensure(Codegen::Llvm)?)?;
        let start = Instant::now();
        let mut packs = read(&paths::ptx(), Quality::Best)?;
        packs.fingerprint = Some(LIBRARY.fingerprint());
        let packed = Self(paths::root().join("host/ptx"));
        write(&packed.0, &packs).with_context(|| format!("cannot write {}", packed.0.display()))?;
        let bytes: usize = packs.packs.iter().map(|pack| pack.packed.len()).sum();
        println!(
            "{} packs of PTX, {:.1} MB: {}",
            packs.packs.len(),
            bytes as f64 / 1e6,
            seconds(start.elapsed())
        );
        Ok(packed)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        // A build in the workspace has no use for it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Has cargo pack the crates, and gives the library's package.
fn package() -> Result<PathBuf> {
    let mut command = cargo();
    // No lock file: what it would name is in no registry yet. And no build by cargo: that of `check` is one.
    command.args([
        "package",
        "--allow-dirty",
        "--no-verify",
        "--exclude-lockfile",
        "--quiet",
    ]);
    for package in PACKAGES {
        command.args(["-p", package]);
    }
    let status = command
        .current_dir(paths::root())
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "cargo package: {status}");
    let version = env!("CARGO_PKG_VERSION");
    let mut library = PathBuf::new();
    for package in PACKAGES {
        library = paths::target().join(format!("package/{package}-{version}.crate"));
        let bytes = library
            .metadata()
            .with_context(|| format!("no {}", library.display()))?
            .len();
        println!("{:>6.2} MB  {}", bytes as f64 / 1e6, library.display());
        ensure!(
            bytes <= MOST_BYTES,
            "{package} has {bytes} bytes, and crates.io takes {MOST_BYTES}"
        );
    }
    Ok(library)
}

/// Asks the kernels of a library for what is in it.
const PROGRAM: &str = "fn main() {
    let archs = warpfold::ptx::archs();
    println!(\"{} by {}\", archs.len(), warpfold::ptx::generator().unwrap_or_default());
    assert_eq!(warpfold::cpu::sum(&[1.0_f32, 2.5]).ok(), Some(3.5));
}
";

/// Builds and runs a program that has the library, and what that needs, from their packages.
fn check(library: &Path) -> Result<()> {
    let packages = library.parent().context("a package lies in a folder")?;
    let folder = paths::target().join("packaged");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("src"))?;
    let version = env!("CARGO_PKG_VERSION");
    let mut patches = String::new();
    for package in PACKAGES {
        let file = packages.join(format!("{package}-{version}.crate"));
        let status = Command::new("tar")
            .arg("-xzf")
            .arg(&file)
            .arg("-C")
            .arg(&folder)
            .status()?;
        ensure!(status.success(), "cannot unpack {}", file.display());
        patches += &format!("{package} = {{ path = \"{package}-{version}\" }}\n");
    }
    let manifest = format!(
        "[package]\nname = \"packaged\"\nedition = \"2024\"\n\n[dependencies]\nwarpfold = {{ version = \"{version}\", features = [\"cuda\"] }}\n\n\
         [patch.crates-io]\n{patches}\n[workspace]\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/main.rs"), PROGRAM)?;
    fs::copy(paths::root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let run = || -> Result<std::process::Output> {
        let mut command = untangled(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["run", "--quiet"]).current_dir(&folder);
        command.env("CUDA_LIBRARY_PATH", paths::root().join("host/driver/stub"));
        command.env_remove("WARPFOLD_PTX_DIR");
        command.output().context("cannot start cargo")
    };
    let output = run()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        output.status.success() && said.starts_with("2 by llvm: "),
        "a program of the packages: {}\n{said}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    print!("a program of the packages has PTX of {said}");
    // PTX of other kernels than the package's.
    let index = folder
        .join(format!("warpfold-{version}/ptx"))
        .join(warpfold_embed::INDEX);
    let text = fs::read_to_string(&index)?;
    let fingerprint = LIBRARY.fingerprint();
    fs::write(
        &index,
        text.replace(&fingerprint.to_string(), &fingerprint.wrapping_add(1).to_string()),
    )?;
    let refused = run()?;
    let said = String::from_utf8_lossy(&refused.stderr);
    ensure!(
        !refused.status.success() && said.contains("was built from another source"),
        "PTX of another source was taken: {said}"
    );
    println!("PTX of another source is refused");
    fs::remove_dir_all(&folder)?;
    Ok(())
}
