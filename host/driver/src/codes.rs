//! Result codes, and which of them `cust` can bear.

use std::cell::Cell;

pub const SUCCESS: u32 = 0;
pub const INVALID_VALUE: u32 = 1;
pub const SHARED_OBJECT_INIT_FAILED: u32 = 303;
pub const NOT_FOUND: u32 = 500;
pub const UNKNOWN: u32 = 999;

/// Whether the code is a variant of `cust_raw`'s `CUresult`, which ends with CUDA 11.4.
pub const fn in_enum(code: u32) -> bool {
    has_variant(code) || matches!(code, 34 | 102 | 221..=224 | 401 | 720 | 802..=809 | 900..=911)
}

/// Whether `cust`'s `CudaError` has a variant for the code; it says `UnknownError` for the rest of the enum.
pub const fn has_variant(code: u32) -> bool {
    matches!(code,
        0..=8 | 100..=101 | 200..=202 | 205..=220 | 300..=304 | 400 | 500 | 600
        | 700..=705 | 708..=719 | 800..=801 | UNKNOWN)
}

thread_local! {
    static BEHIND_UNKNOWN: Cell<Option<u32>> = const { Cell::new(None) };
}

/// The code as `cust` may see it: itself, or [`UNKNOWN`] in place of one that its enum lacks.
#[inline]
pub fn mapped(code: u32) -> u32 {
    if code == SUCCESS { code } else { mapped_failure(code) }
}

#[cold]
fn mapped_failure(code: u32) -> u32 {
    if has_variant(code) && code != UNKNOWN {
        return code;
    }
    // The thread may be ending, its locals gone: then nobody is left to ask.
    let _ = BEHIND_UNKNOWN.try_with(|behind| behind.set((code != UNKNOWN).then_some(code)));
    if in_enum(code) { code } else { UNKNOWN }
}

/// Takes the driver's code behind this thread's latest `CudaError::UnknownError`, where `cust` has no name for it.
///
/// Those are the codes newer than CUDA 11.4, and some older ones that `cust` does not tell apart: 222 (the driver is
/// too old for this PTX), 720 (cooperative launch too large), 900 to 908 (stream capture). `None` if the driver itself
/// said `CUDA_ERROR_UNKNOWN`, or said nothing of the kind since the last time this was asked.
pub fn last_unmapped_code() -> Option<u32> {
    BEHIND_UNKNOWN.take()
}
