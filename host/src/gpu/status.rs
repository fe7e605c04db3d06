//! From the driver's codes to the crate's error.

use cust::error::{CudaError, CudaResult};

use crate::Error;

/// CUDA_ERROR_UNSUPPORTED_PTX_VERSION, which cust has no name for.
pub(super) const UNSUPPORTED_PTX_VERSION: u32 = 222;

/// Gives a driver call's failure the call's name.
pub(super) trait Status<T> {
    fn or_fail(self, call: &'static str) -> Result<T, Error>;
}

impl<T> Status<T> for CudaResult<T> {
    fn or_fail(self, call: &'static str) -> Result<T, Error> {
        self.map_err(|error| driver(call, error))
    }
}

/// The number of an error, also of one newer than cust.
pub(super) fn code(error: CudaError) -> u32 {
    match error {
        CudaError::UnknownError => warpfold_driver::last_unmapped_code().unwrap_or(error as u32),
        error => error as u32,
    }
}

/// A driver call's failure.
pub(super) fn driver(call: &'static str, error: CudaError) -> Error {
    Error::Driver {
        call,
        code: code(error),
        message: error.to_string(),
    }
}

/// A plain code of a driver call.
pub(super) fn check(call: &'static str, code: u32) -> Result<(), Error> {
    if code == 0 {
        return Ok(());
    }
    let mut text = std::ptr::null();
    // SAFETY: the driver crate's function always gives a static text.
    let message = unsafe {
        warpfold_driver::sys::cuGetErrorString(code, &mut text);
        std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned()
    };
    // Codes newer than cust are remembered beside the one that stands in for them.
    let unknown = CudaError::UnknownError as u32;
    let newer = if code == unknown {
        warpfold_driver::last_unmapped_code()
    } else {
        None
    };
    Err(Error::Driver {
        call,
        code: newer.unwrap_or(code),
        message,
    })
}

/// An allocation's failure.
pub(super) fn memory(bytes: usize, error: CudaError) -> Error {
    match error {
        CudaError::OutOfMemory | CudaError::InvalidMemoryAllocation => {
            let (free, total) = cust::memory::mem_get_info().unwrap_or((0, 0));
            Error::OutOfMemory { bytes, free, total }
        }
        error => driver("cuMemAlloc", error),
    }
}
