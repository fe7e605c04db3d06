//! A driver of our own in the place of NVIDIA's: forwarding, unknown codes, absent functions and texts.
//!
//! One test a file: the driver is loaded once in a process.

use std::{env, path::Path, process::Command, ptr, thread};

use cust::{CudaFlags, context::CurrentContext, device::Device, error::CudaError};
use warpfold_driver::{driver_version, is_available, last_unmapped_code, sys};

#[test]
fn calls_reach_the_driver_and_its_codes_come_back_mapped() {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libfake_driver.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake_driver.c");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source)
        .status();
    // Whoever links Rust programs has it.
    let status = compiled.expect("a C compiler called cc");
    assert!(status.success(), "cc: {status}");
    // SAFETY: the only test of this program, before any other thread reads the environment.
    unsafe { env::set_var("WARPFOLD_CUDA_DRIVER", &library) };

    assert_eq!(is_available(), Ok(()));
    assert_eq!(driver_version(), Some(13_020));

    // A code newer than cust; then ones it names; then the driver's own 999.
    assert_eq!(cust::init(CudaFlags::empty()), Err(CudaError::UnknownError));
    assert_eq!(
        thread::spawn(last_unmapped_code).join().ok(),
        Some(None),
        "another thread's business"
    );
    // SAFETY: the fake reads no memory.
    unsafe {
        assert_eq!(sys::cuInit(0), 999, "cust must never see 226");
        assert_eq!(sys::cuStreamQuery(ptr::without_provenance_mut(1)), 600);
        assert_eq!(sys::cuStreamQuery(ptr::null_mut()), 719);
    }
    assert_eq!(last_unmapped_code(), Some(226), "codes with a name leave it");
    assert_eq!(last_unmapped_code(), None, "taken");
    assert_eq!(cust::init(CudaFlags::empty()), Err(CudaError::UnknownError));
    assert_eq!(CurrentContext::synchronize(), Err(CudaError::UnknownError));
    assert_eq!(last_unmapped_code(), None, "the driver's own 999");

    // A code of cust's enum that its error type has no name for: unchanged, and remembered.
    // SAFETY: the fake reads no memory.
    assert_eq!(unsafe { sys::cuModuleUnload(ptr::without_provenance_mut(1)) }, 222);
    assert_eq!(last_unmapped_code(), Some(222));

    // All eleven arguments in their places, twice: looked up, and from the cache.
    for _ in 0..2 {
        let at = ptr::without_provenance_mut;
        // SAFETY: the fake reads no memory.
        let code = unsafe { sys::cuLaunchKernel(at(1), 2, 3, 4, 5, 6, 7, 8, at(9), at(10).cast(), at(11).cast()) };
        assert_eq!(code, 0);
    }

    // A function this driver lacks, and texts it has and lacks.
    assert_eq!(Device::num_devices(), Err(CudaError::NotFound));
    assert_eq!(CudaError::NotReady.to_string(), "\"come back later\"");
    assert_eq!(
        CudaError::NotFound.to_string(),
        "\"the CUDA driver lacks this function\""
    );
    assert_eq!(
        CudaError::LaunchFailed.to_string(),
        "\"CUDA error without a description\""
    );
}
