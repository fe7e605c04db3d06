//! A program on a machine without a driver: it links, starts, and gets errors.
//!
//! One test a file: the driver is loaded once in a process.

use std::env;

use cust::{CudaFlags, device::Device, error::CudaError, stream::Stream, stream::StreamFlags};

#[test]
fn a_program_without_a_driver_starts_and_is_told() {
    // SAFETY: the only test of this program, before any other thread reads the environment.
    unsafe { env::set_var("WARPFOLD_CUDA_DRIVER", "/nowhere/libcuda.so.1") };

    let error = cust::init(CudaFlags::empty()).unwrap_err();
    assert_eq!(error, CudaError::SharedObjectInitFailed);
    assert_eq!(error.to_string(), "\"the CUDA driver library could not be loaded\"");
    // Every code has a text, or cust would read from a null pointer.
    assert_eq!(
        CudaError::UnknownError.to_string(),
        "\"CUDA error without a description\""
    );

    assert_eq!(Device::num_devices().unwrap_err(), CudaError::SharedObjectInitFailed);
    assert_eq!(
        Stream::new(StreamFlags::NON_BLOCKING, None).unwrap_err(),
        CudaError::SharedObjectInitFailed
    );

    let why = warpfold_driver::is_available().unwrap_err();
    assert_eq!(why.library, "/nowhere/libcuda.so.1");
    assert!(why.reason.contains("No such file"), "{why}");
    assert_eq!(warpfold_driver::driver_version(), None);
    assert_eq!(warpfold_driver::last_unmapped_code(), None);
}
