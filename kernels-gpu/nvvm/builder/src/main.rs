//! Compiles a crate of kernels to PTX with cuda_builder: `warpfold-nvvm-builder CRATE ARCH TARGET-DIR PTX`.
//!
//! `cargo xtask build-ptx --codegen nvvm` runs it, once for each architecture, and checks what comes out.

use std::{env, path::PathBuf, process::ExitCode, str::FromStr};

use cuda_builder::{CudaBuilder, NvvmArch};

/// rustc's jump threading copies what threads do together into divergent branches, in its own intermediate form, before
/// any code generator sees that it is convergent. cuda_builder sets all compiler flags itself; a profile adds to them.
const NO_JUMP_THREADING: &str = r#"profile.release.rustflags=["-Zmir-enable-passes=-JumpThreading"]"#;

fn main() -> ExitCode {
    match build(env::args().skip(1).collect()) {
        Ok(ptx) => {
            println!("{}", ptx.display());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn build(arguments: Vec<String>) -> Result<PathBuf, String> {
    let [kernels, arch, target_dir, ptx] = arguments
        .try_into()
        .map_err(|_| "usage: warpfold-nvvm-builder CRATE ARCH TARGET-DIR PTX, with ARCH such as sm_90".to_owned())?;
    CudaBuilder::new(kernels)
        .arch(virtual_arch(&arch)?)
        .release(true)
        // Arithmetic as written: a fused multiplication and addition rounds once where the source rounds twice.
        .fma_contraction(false)
        .build_args(&[
            "--config",
            NO_JUMP_THREADING,
            "-Zprofile-rustflags",
            "--target-dir",
            &target_dir,
        ])
        .copy_to(ptx)
        .build()
        .map_err(|error| error.to_string())
}

/// libNVVM's `compute_90` for `sm_90`.
fn virtual_arch(arch: &str) -> Result<NvvmArch, String> {
    let name = arch.replacen("sm_", "compute_", 1);
    NvvmArch::from_str(&name).map_err(|_| format!("libNVVM has no architecture {arch:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_libnvvms() {
        assert_eq!(virtual_arch("sm_90").unwrap(), NvvmArch::Compute90);
        assert_eq!(virtual_arch("sm_120").unwrap(), NvvmArch::Compute120);
        assert!(virtual_arch("sm_13").is_err() && virtual_arch("").is_err());
    }

    #[test]
    fn arguments_are_counted() {
        assert!(build(vec![]).unwrap_err().starts_with("usage:"));
    }
}
