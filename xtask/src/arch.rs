//! Names of architectures.

/// `90` of `sm_90`.
pub fn number(arch: &str) -> Option<u32> {
    arch.strip_prefix("sm_")?.parse().ok()
}
