//! The driver's functions, under the names that `libcuda` exports.
//!
//! Results are plain codes, mapped as the crate's page says; enums are `u32`, structures `c_void`. `cust::sys` declares
//! most of these functions with their own types, and reaches the same definitions.

#![allow(non_snake_case, clippy::too_many_arguments)]

use std::{
    ffi::{CStr, c_char, c_void},
    mem, ptr,
};

use crate::{
    codes::{INVALID_VALUE, NOT_FOUND, SHARED_OBJECT_INIT_FAILED, SUCCESS, UNKNOWN, mapped},
    library::Entry,
};

/// Any of the driver's opaque pointers: context, stream, event, module, function, graph, array and so on.
pub type Handle = *mut c_void;
/// An address in device memory.
pub type DevicePtr = u64;
/// `CUhostFn`: called with the data given beside it.
pub type HostFn = Option<unsafe extern "C" fn(*mut c_void)>;
/// `CUoccupancyB2DSize`: from threads in a block to bytes of dynamic shared memory.
pub type BlockToShared = Option<unsafe extern "C" fn(i32) -> usize>;

/// Keeps a function to the program or the library that is linked with it. A shared library that exported it would stand in for the driver's own: for other
/// libraries of the process, which look it up by name.
macro_rules! hidden {
    ($name:ident) => {
        #[cfg(target_os = "linux")]
        std::arch::global_asm!(concat!(".hidden ", stringify!($name)));
    };
}

/// A function of the driver's a line.
macro_rules! driver {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {
        $(
            hidden!($name);

            #[doc = concat!("`", stringify!($name), "` of the CUDA driver API.")]
            ///
            /// # Safety
            ///
            /// As the driver API documents for this function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                static ENTRY: Entry = Entry::new(concat!(stringify!($name), "\0"));
                match ENTRY.address() {
                    Ok(address) => {
                        // SAFETY: the driver exports a function of these parameters under this name.
                        let forward: unsafe extern "C" fn($($ty),*) -> u32 = unsafe { mem::transmute(address) };
                        // SAFETY: passed on to the caller.
                        mapped(unsafe { forward($($arg),*) })
                    }
                    Err(code) => code,
                }
            }
        )*

        /// The table: names and types of parameters.
        #[cfg(test)]
        pub(crate) const TABLE: &[(&str, &[&str])] = &[$((stringify!($name), &[$(stringify!($ty)),*])),*];
    };
}

driver! {
    // What cust 0.3.2 refers to (and cuGetErrorString, below).
    cuArray3DCreate_v2(array: *mut Handle, description: *const c_void);
    cuArray3DGetDescriptor_v2(description: *mut c_void, array: Handle);
    cuArrayDestroy(array: Handle);
    cuCtxCreate_v2(context: *mut Handle, flags: u32, device: i32);
    cuCtxDestroy_v2(context: Handle);
    cuCtxGetApiVersion(context: Handle, version: *mut u32);
    cuCtxGetCacheConfig(config: *mut u32);
    cuCtxGetCurrent(context: *mut Handle);
    cuCtxGetDevice(device: *mut i32);
    cuCtxGetFlags(flags: *mut u32);
    cuCtxGetLimit(value: *mut usize, limit: u32);
    cuCtxGetSharedMemConfig(config: *mut u32);
    cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32);
    cuCtxPopCurrent_v2(context: *mut Handle);
    cuCtxPushCurrent_v2(context: Handle);
    cuCtxSetCacheConfig(config: u32);
    cuCtxSetCurrent(context: Handle);
    cuCtxSetLimit(limit: u32, value: usize);
    cuCtxSetSharedMemConfig(config: u32);
    cuCtxSynchronize();
    cuDestroyExternalMemory(memory: Handle);
    cuDeviceGet(device: *mut i32, ordinal: i32);
    cuDeviceGetAttribute(value: *mut i32, attribute: u32, device: i32);
    cuDeviceGetCount(count: *mut i32);
    cuDeviceGetName(name: *mut c_char, len: i32, device: i32);
    cuDevicePrimaryCtxRelease_v2(device: i32);
    cuDevicePrimaryCtxReset_v2(device: i32);
    cuDevicePrimaryCtxRetain(context: *mut Handle, device: i32);
    cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32);
    cuDeviceTotalMem_v2(bytes: *mut usize, device: i32);
    cuDriverGetVersion(version: *mut i32);
    cuEventCreate(event: *mut Handle, flags: u32);
    cuEventDestroy_v2(event: Handle);
    cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle);
    cuEventQuery(event: Handle);
    cuEventRecord(event: Handle, stream: Handle);
    cuEventSynchronize(event: Handle);
    cuExternalMemoryGetMappedBuffer(pointer: *mut DevicePtr, memory: Handle, description: *const c_void);
    cuFuncGetAttribute(value: *mut i32, attribute: u32, function: Handle);
    cuFuncSetCacheConfig(function: Handle, config: u32);
    cuFuncSetSharedMemConfig(function: Handle, config: u32);
    cuGraphAddKernelNode(node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize,
        params: *const c_void);
    cuGraphCreate(graph: *mut Handle, flags: u32);
    cuGraphDebugDotPrint(graph: Handle, path: *const c_char, flags: u32);
    cuGraphDestroy(graph: Handle);
    cuGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize);
    cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize);
    cuGraphKernelNodeGetParams(node: Handle, params: *mut c_void);
    cuGraphNodeGetType(node: Handle, kind: *mut u32);
    cuImportExternalMemory(memory: *mut Handle, description: *const c_void);
    cuInit(flags: u32);
    cuLaunchHostFunc(stream: Handle, callback: HostFn, data: *mut c_void);
    cuLaunchKernel(function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32,
        block_z: u32, shared: u32, stream: Handle, params: *mut *mut c_void, extra: *mut *mut c_void);
    cuLinkAddData_v2(state: Handle, kind: u32, data: *mut c_void, size: usize, name: *const c_char, count: u32,
        options: *mut u32, values: *mut *mut c_void);
    cuLinkComplete(state: Handle, cubin: *mut *mut c_void, size: *mut usize);
    cuLinkCreate_v2(count: u32, options: *mut u32, values: *mut *mut c_void, state: *mut Handle);
    cuLinkDestroy(state: Handle);
    cuMemAdvise(pointer: DevicePtr, count: usize, advice: u32, device: i32);
    cuMemAllocAsync(pointer: *mut DevicePtr, bytes: usize, stream: Handle);
    cuMemAllocHost_v2(pointer: *mut *mut c_void, bytes: usize);
    cuMemAllocManaged(pointer: *mut DevicePtr, bytes: usize, flags: u32);
    cuMemAlloc_v2(pointer: *mut DevicePtr, bytes: usize);
    cuMemFreeAsync(pointer: DevicePtr, stream: Handle);
    cuMemFreeHost(pointer: *mut c_void);
    cuMemFree_v2(pointer: DevicePtr);
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemPrefetchAsync(pointer: DevicePtr, count: usize, device: i32, stream: Handle);
    cuMemcpy2D_v2(copy: *const c_void);
    cuMemcpyAtoH_v2(to: *mut c_void, from: Handle, from_offset: usize, bytes: usize);
    cuMemcpyDtoDAsync_v2(to: DevicePtr, from: DevicePtr, bytes: usize, stream: Handle);
    cuMemcpyDtoD_v2(to: DevicePtr, from: DevicePtr, bytes: usize);
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: DevicePtr, bytes: usize, stream: Handle);
    cuMemcpyDtoH_v2(to: *mut c_void, from: DevicePtr, bytes: usize);
    cuMemcpyHtoA_v2(to: Handle, to_offset: usize, from: *const c_void, bytes: usize);
    cuMemcpyHtoDAsync_v2(to: DevicePtr, from: *const c_void, bytes: usize, stream: Handle);
    cuMemcpyHtoD_v2(to: DevicePtr, from: *const c_void, bytes: usize);
    cuMemsetD16Async(to: DevicePtr, value: u16, count: usize, stream: Handle);
    cuMemsetD16_v2(to: DevicePtr, value: u16, count: usize);
    cuMemsetD32Async(to: DevicePtr, value: u32, count: usize, stream: Handle);
    cuMemsetD32_v2(to: DevicePtr, value: u32, count: usize);
    cuMemsetD8Async(to: DevicePtr, value: u8, count: usize, stream: Handle);
    cuMemsetD8_v2(to: DevicePtr, value: u8, count: usize);
    cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char);
    cuModuleGetGlobal_v2(pointer: *mut DevicePtr, bytes: *mut usize, module: Handle, name: *const c_char);
    cuModuleLoad(module: *mut Handle, path: *const c_char);
    cuModuleLoadData(module: *mut Handle, image: *const c_void);
    cuModuleLoadDataEx(module: *mut Handle, image: *const c_void, count: u32, options: *mut u32,
        values: *mut *mut c_void);
    cuModuleUnload(module: Handle);
    cuOccupancyAvailableDynamicSMemPerBlock(shared: *mut usize, function: Handle, blocks: i32, block: i32);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, function: Handle, block: i32, shared: usize);
    cuOccupancyMaxPotentialBlockSize(grid: *mut i32, block: *mut i32, function: Handle, shared_of: BlockToShared,
        shared: usize, limit: i32);
    cuStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: i32);
    cuStreamDestroy_v2(stream: Handle);
    cuStreamGetFlags(stream: Handle, flags: *mut u32);
    cuStreamGetPriority(stream: Handle, priority: *mut i32);
    cuStreamSynchronize(stream: Handle);
    cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32);
    cuSurfObjectCreate(surface: *mut u64, resource: *const c_void);
    cuSurfObjectDestroy(surface: u64);
    cuSurfObjectGetResourceDesc(resource: *mut c_void, surface: u64);
    cuTexObjectCreate(texture: *mut u64, resource: *const c_void, description: *const c_void, view: *const c_void);
    cuTexObjectDestroy(texture: u64);
    cuTexObjectGetResourceDesc(resource: *mut c_void, texture: u64);

    // What cust does not use, for warpfold and for users of this module. cuGraphInstantiateWithFlags came with CUDA 11.4; before it there was only
    // cuGraphInstantiate_v2. cuLaunchKernelEx came with 11.8, cuOccupancyMaxActiveClusters too.
    cuDeviceGetUuid(uuid: *mut [u8; 16], device: i32);
    cuFuncSetAttribute(function: Handle, attribute: u32, value: i32);
    cuGraphExecDestroy(exec: Handle);
    cuGraphInstantiateWithFlags(exec: *mut Handle, graph: Handle, flags: u64);
    cuGraphLaunch(exec: Handle, stream: Handle);
    cuLaunchCooperativeKernel(function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32,
        block_z: u32, shared: u32, stream: Handle, params: *mut *mut c_void);
    cuPointerGetAttribute(data: *mut c_void, attribute: u32, pointer: DevicePtr);
    cuStreamBeginCapture_v2(stream: Handle, mode: u32);
    cuStreamEndCapture(stream: Handle, graph: *mut Handle);
    cuStreamGetCtx(stream: Handle, context: *mut Handle);
    cuStreamIsCapturing(stream: Handle, status: *mut u32);
    cuThreadExchangeStreamCaptureMode(mode: *mut u32);
    cuStreamQuery(stream: Handle);
    cuLaunchKernelEx(config: *const c_void, function: Handle, params: *mut *mut c_void, extra: *mut *mut c_void);
    cuOccupancyMaxActiveClusters(clusters: *mut i32, function: Handle, config: *const c_void);
}

hidden!(cuGetErrorString);
hidden!(cuGetErrorName);

/// `cuGetErrorString` of the CUDA driver API, except that there is always a text.
///
/// # Safety
///
/// `text` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: u32, text: *mut *const c_char) -> u32 {
    static ENTRY: Entry = Entry::new("cuGetErrorString\0");
    let ours = match code {
        SUCCESS => c"no error",
        SHARED_OBJECT_INIT_FAILED => c"the CUDA driver library could not be loaded",
        NOT_FOUND => c"the CUDA driver lacks this function",
        _ => c"CUDA error without a description",
    };
    // SAFETY: passed on to the caller.
    unsafe { describe(&ENTRY, code, text, ours) }
}

/// `cuGetErrorName` of the CUDA driver API, except that there is always a name.
///
/// # Safety
///
/// `name` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: u32, name: *mut *const c_char) -> u32 {
    static ENTRY: Entry = Entry::new("cuGetErrorName\0");
    let ours = match code {
        SUCCESS => c"CUDA_SUCCESS",
        SHARED_OBJECT_INIT_FAILED => c"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED",
        NOT_FOUND => c"CUDA_ERROR_NOT_FOUND",
        UNKNOWN => c"CUDA_ERROR_UNKNOWN",
        _ => c"CUDA_ERROR_WITHOUT_A_NAME",
    };
    // SAFETY: passed on to the caller.
    unsafe { describe(&ENTRY, code, name, ours) }
}

/// The driver's words for a code, or ours if it has none.
///
/// # Safety
///
/// `out` is null or valid for a write; `entry` is one of the two functions above.
unsafe fn describe(entry: &Entry, code: u32, out: *mut *const c_char, ours: &'static CStr) -> u32 {
    if out.is_null() {
        return INVALID_VALUE;
    }
    let mut words = ptr::null();
    if let Ok(address) = entry.address() {
        // SAFETY: both functions have these parameters.
        let ask: unsafe extern "C" fn(u32, *mut *const c_char) -> u32 = unsafe { mem::transmute(address) };
        // SAFETY: `words` outlives the call, and what it is set to is the driver's static text or null.
        if unsafe { ask(code, &mut words) } != SUCCESS {
            words = ptr::null();
        }
    }
    // SAFETY: not null, so valid by contract.
    unsafe { out.write(if words.is_null() { ours.as_ptr() } else { words }) };
    SUCCESS
}
