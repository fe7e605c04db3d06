//! The structures of DLPack 1.3, as `dlpack.h` has them.

use std::ffi::{c_char, c_int, c_void};

/// The version whose structures these are; minor ones only add.
pub const MAJOR: u32 = 1;
pub const CPU: i32 = 1;
pub const CUDA: i32 = 2;
/// CUDA's memory on the host, and what both sides can read.
pub const CUDA_HOST: i32 = 3;
pub const CUDA_MANAGED: i32 = 13;
/// The names of capsules, and what they are called once their tensor was taken.
pub const VERSIONED: &std::ffi::CStr = c"dltensor_versioned";
pub const USED_VERSIONED: &std::ffi::CStr = c"used_dltensor_versioned";
pub const LEGACY: &std::ffi::CStr = c"dltensor";
pub const USED_LEGACY: &std::ffi::CStr = c"used_dltensor";
pub const EXCHANGE: &std::ffi::CStr = c"dlpack_exchange_api";
/// A flag: the tensor is not to be written.
pub const READ_ONLY: u64 = 1;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DlDevice {
    pub kind: i32,
    pub index: i32,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DlType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Tensor {
    pub data: *mut c_void,
    pub device: DlDevice,
    pub axes: i32,
    pub element: DlType,
    pub shape: *mut i64,
    /// In elements; null of a tensor in C order.
    pub strides: *mut i64,
    pub byte_offset: u64,
}

#[repr(C)]
pub struct Legacy {
    pub tensor: Tensor,
    pub context: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

#[repr(C)]
pub struct Versioned {
    pub version: Version,
    pub context: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
    pub flags: u64,
    pub tensor: Tensor,
}

/// Where an allocator says what went wrong: a kind of exception and a text.
pub type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// The functions of a library, `type(x).__dlpack_c_exchange_api__`: no Python runs in them.
#[repr(C)]
#[derive(Debug)]
pub struct Exchange {
    pub version: Version,
    pub older: *const c_void,
    pub allocate: unsafe extern "C" fn(*mut Tensor, *mut *mut Versioned, *mut c_void, SetError) -> c_int,
    pub owned: unsafe extern "C" fn(*mut c_void, *mut *mut Versioned) -> c_int,
    pub to_object: unsafe extern "C" fn(*mut Versioned, *mut *mut c_void) -> c_int,
    pub borrowed: Option<unsafe extern "C" fn(*mut c_void, *mut Tensor) -> c_int>,
    pub current_stream: unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int,
}

// SAFETY: a table that nobody writes, and functions that may be called from any thread with the interpreter attached.
unsafe impl Sync for Exchange {}
// SAFETY: as above.
unsafe impl Send for Exchange {}
