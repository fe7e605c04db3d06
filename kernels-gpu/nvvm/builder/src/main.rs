//! Compiles a crate of kernels, or a part of ours, to PTX with cuda_builder: `warpfold-nvvm-builder CRATE ARCH TARGET-DIR PTX [PART]`.
//!
//! `cargo xtask build-ptx --codegen nvvm` runs it, once for each part and architecture, and checks what comes out.

use std::{env, path::PathBuf, process::ExitCode, str::FromStr};

use cuda_builder::{CudaBuilder, NvvmArch};

/// rustc's jump threading copies what threads do together into divergent branches, in its own intermediate form, before
/// any code generator sees that it is convergent. And a type that refers to itself sends the back end into an endless recursion, unless
/// types keep their names.
const FLAGS: &str = r#""-Zmir-enable-passes=-JumpThreading","-Zfewer-names=no""#;

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
    let (kernels, arch, target_dir, ptx, part) = match &arguments[..] {
        [kernels, arch, target_dir, ptx] => (kernels, arch, target_dir, ptx, None),
        [kernels, arch, target_dir, ptx, part] => (kernels, arch, target_dir, ptx, Some(&**part)),
        _ => {
            return Err(
                "usage: warpfold-nvvm-builder CRATE ARCH TARGET-DIR PTX [PART], with ARCH such as sm_90".to_owned(),
            );
        }
    };
    let [of_all, of_ours] = profiles(part);
    CudaBuilder::new(kernels)
        .arch(virtual_arch(arch)?)
        .release(true)
        // Arithmetic as written: a fused multiplication and addition rounds once where the source rounds twice.
        .fma_contraction(false)
        .build_args(&[
            "--config",
            &of_all,
            "--config",
            &of_ours,
            "-Zprofile-rustflags",
            "--target-dir",
            target_dir,
        ])
        .copy_to(ptx)
        .build()
        .map_err(|error| error.to_string())
}

/// The compiler's flags for every crate, and for ours, which alone is compiled anew for a part. cuda_builder sets all other flags itself; a
/// profile adds to them.
fn profiles(part: Option<&str>) -> [String; 2] {
    let of_part = part.map_or_else(String::new, |part| {
        format!(r#","--cfg=warpfold_part","--cfg=warpfold_part='{part}'""#).replace('\'', r#"\""#)
    });
    [
        format!("profile.release.rustflags=[{FLAGS}]"),
        format!("profile.release.package.warpfold-kernels.rustflags=[{FLAGS}{of_part}]"),
    ]
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
    fn a_part_is_told_to_our_crate_alone() {
        let [of_all, of_ours] = profiles(Some("sums"));
        assert_eq!(of_all, format!("profile.release.rustflags=[{FLAGS}]"));
        let part = r#""--cfg=warpfold_part","--cfg=warpfold_part=\"sums\"""#;
        assert_eq!(
            of_ours,
            format!("profile.release.package.warpfold-kernels.rustflags=[{FLAGS},{part}]")
        );
        assert!(profiles(None)[1].ends_with(&format!("[{FLAGS}]")));
    }

    #[test]
    fn arguments_are_counted() {
        assert!(build(vec![]).unwrap_err().starts_with("usage:"));
    }
}
