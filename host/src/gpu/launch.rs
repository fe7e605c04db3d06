//! The one place that launches kernels.

use std::{ffi::c_void, ptr};

use cust::sys::{CUfunction, CUstream};
use warpfold_driver::sys;
use warpfold_kernels::kernels::Launch;

use super::{Gpu, RawStream, context::Bound, status::check};
use crate::Error;

/// A kernel's handle, and how it is launched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub(super) handle: CUfunction,
    /// Whether its code waits for the launch before it, ahead of all else.
    waits: bool,
    /// Whether its blocks may start while that launch still runs.
    is_early: bool,
    /// Bytes of a block's dynamic shared memory.
    dynamic_bytes: u32,
}

impl Function {
    pub(super) fn new(handle: CUfunction, waits: bool) -> Self {
        Self {
            handle,
            waits,
            is_early: false,
            dynamic_bytes: 0,
        }
    }

    /// The same with so many bytes of dynamic shared memory for a block. What has no room for them has none for a [cluster](clusters_at_once). The context is current.
    pub(super) fn with_dynamic(self, dynamic_bytes: u32) -> Self {
        /// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        const DYNAMIC_BYTES: u32 = 8;
        if dynamic_bytes > 0 {
            // SAFETY: the handle is of a loaded module. A device that has not as many says so where it is asked for clusters.
            let _ = unsafe { sys::cuFuncSetAttribute(self.handle.cast(), DYNAMIC_BYTES, dynamic_bytes as i32) };
        }
        Self { dynamic_bytes, ..self }
    }

    /// The same, launched early; as it was, if it does not wait.
    pub(super) fn early(self) -> Self {
        Self {
            is_early: self.waits,
            ..self
        }
    }
}

// SAFETY: the driver's handles may be used from any thread; whoever holds one keeps its module loaded.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// The context of a GPU, made current, if the stream is of it.
pub(super) fn bind(gpu: &Gpu, stream: RawStream) -> Result<Bound<'_>, Error> {
    let context = gpu.context();
    let bound = Bound::to(context)?;
    if stream.is_any_contexts() {
        return Ok(bound);
    }
    let mut owner = ptr::null_mut();
    // SAFETY: whoever made it a `RawStream` says that it lives; writes one handle.
    check("cuStreamGetCtx", unsafe {
        sys::cuStreamGetCtx(stream.as_inner().cast(), &mut owner)
    })?;
    if owner.cast() == context.as_raw() {
        Ok(bound)
    } else {
        Err(Error::ForeignStream)
    }
}

/// Fails unless `address` is memory of the device of that index.
pub(super) fn check_memory(address: u64, index: usize) -> Result<(), Error> {
    /// CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    const DEVICE_ORDINAL: u32 = 9;
    /// CUDA_ERROR_INVALID_VALUE, for an address that the driver does not know
    const INVALID_VALUE: u32 = 1;
    let mut ordinal: i32 = -1;
    // SAFETY: the attribute is one i32, which outlives the call; any address may be asked about.
    let code = unsafe { sys::cuPointerGetAttribute(ptr::from_mut(&mut ordinal).cast(), DEVICE_ORDINAL, address) };
    match code {
        INVALID_VALUE => Err(Error::ForeignMemory { address, index }),
        0 if ordinal != index as i32 => Err(Error::ForeignMemory { address, index }),
        code => check("cuPointerGetAttribute", code),
    }
}

/// Fails unless `address` is a multiple of `alignment`.
pub(super) fn check_alignment(address: u64, alignment: usize) -> Result<(), Error> {
    if address.is_multiple_of(alignment as u64) {
        Ok(())
    } else {
        Err(Error::Misaligned { address, alignment })
    }
}

/// Clusters that the device can hold at once, of a launch of as many blocks of as many threads, in clusters of as many blocks: of more than 8 not every device can hold one. The context is
/// current.
pub(super) fn clusters_at_once(function: Function, shape: [u32; 3]) -> u32 {
    /// CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    const LARGE_CLUSTERS: u32 = 14;
    if shape[2] > 8 {
        // For good: other launches of the same kernel rely on it.
        // SAFETY: the handle is of a loaded module. A device that has no such clusters says so below.
        let _ = unsafe { sys::cuFuncSetAttribute(function.handle.cast(), LARGE_CLUSTERS, 1) };
    }
    let attributes = [Attribute::cluster(shape[2])];
    let config = Config::new(shape, function, ptr::null_mut(), &attributes);
    let mut clusters: i32 = 0;
    // SAFETY: the configuration is what the driver's header has it as; writes one number.
    let code = unsafe {
        sys::cuOccupancyMaxActiveClusters(&mut clusters, function.handle.cast(), ptr::from_ref(&config).cast())
    };
    if code == 0 { clusters.max(0) as u32 } else { 0 }
}

/// `CUlaunchConfig`.
#[repr(C)]
struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    stream: *mut c_void,
    attributes: *const Attribute,
    count: u32,
}

/// `CUlaunchAttribute`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Attribute {
    number: u32,
    pad: u32,
    value: [u32; 16],
}

impl Attribute {
    fn new(number: u32, first: [u32; 3]) -> Self {
        let mut value = [0; 16];
        value[..3].copy_from_slice(&first);
        Self { number, pad: 0, value }
    }

    /// Of a cluster's size.
    fn cluster(blocks: u32) -> Self {
        /// CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        const CLUSTER: u32 = 4;
        Self::new(CLUSTER, [blocks, 1, 1])
    }

    /// Of blocks that may start once each of the launch before has begun.
    fn early(is_early: bool) -> Self {
        /// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        const EARLY: u32 = 6;
        Self::new(EARLY, [is_early.into(), 0, 0])
    }
}

impl Config {
    fn new([blocks, threads, _]: [u32; 3], function: Function, stream: CUstream, attributes: &[Attribute]) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: function.dynamic_bytes,
            stream: stream.cast(),
            attributes: attributes.as_ptr(),
            count: attributes.len() as u32,
        }
    }
}

/// Enqueues a launch of an entry point: its one parameter is what is passed. The rest is as [`launch_kernel`] has it.
///
/// # Safety
///
/// As [`launch_kernel`].
pub(super) unsafe fn launch_passing(
    function: Function,
    shape: [u32; 3],
    stream: CUstream,
    mut passed: Launch,
) -> Result<(), Error> {
    // SAFETY: passed on to the caller.
    unsafe { launch_kernel(function, shape, stream, &mut [ptr::from_mut(&mut passed).cast()]) }
}

/// Enqueues a launch of as many blocks of as many threads, in clusters of as many blocks. The context is current.
///
/// # Safety
///
/// The function's module stays loaded, the arguments are its parameters, and what they point to is valid until the stream has passed the launch.
pub(super) unsafe fn launch_kernel(
    function: Function,
    [blocks, threads, cluster]: [u32; 3],
    stream: CUstream,
    arguments: &mut [*mut c_void],
) -> Result<(), Error> {
    // The newer call is only for what needs it: old drivers have it not.
    if cluster == 1 && !function.is_early {
        // SAFETY: passed on to the caller.
        return check("cuLaunchKernel", unsafe {
            sys::cuLaunchKernel(
                function.handle.cast(),
                blocks,
                1,
                1,
                threads,
                1,
                1,
                function.dynamic_bytes,
                stream.cast(),
                arguments.as_mut_ptr().cast(),
                ptr::null_mut(),
            )
        });
    }
    // Launches with a cluster's size, be it 1, have at most 8 blocks on a multiprocessor.
    let attributes = [Attribute::early(function.is_early), Attribute::cluster(cluster)];
    let attributes = if cluster > 1 { &attributes[..] } else { &attributes[..1] };
    let config = Config::new([blocks, threads, cluster], function, stream, attributes);
    // SAFETY: the configuration is what the driver's header has it as; the rest is the caller's word.
    check("cuLaunchKernelEx", unsafe {
        sys::cuLaunchKernelEx(
            ptr::from_ref(&config).cast(),
            function.handle.cast(),
            arguments.as_mut_ptr().cast(),
            ptr::null_mut(),
        )
    })
}

/// An address of the device, as its kernels have it.
pub(super) fn device<T>(address: u64) -> *mut T {
    ptr::without_provenance_mut(address as usize)
}
