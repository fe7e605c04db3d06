//! The one place that launches kernels.

use std::{ffi::c_void, ptr};

use cust::{
    stream::Stream,
    sys::{CUfunction, CUstream},
};
use warpfold_driver::sys;
use warpfold_kernels::{
    kernels::{self, Array, OpParams, RowOperands},
    stages::load::{around::Around, mask::NO_MASK},
};

use super::{Gpu, Workspace, context::Bound, memory::DeviceMemory, status::check};
use crate::{Error, plan::Plan};

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
pub(super) fn bind<'a>(gpu: &'a Gpu, stream: &Stream) -> Result<Bound<'a>, Error> {
    let (stream, context) = (stream.as_inner(), gpu.context());
    let mut owner = ptr::null_mut();
    // SAFETY: `stream` comes from a live `Stream`; writes one handle.
    check("cuStreamGetCtx", unsafe {
        sys::cuStreamGetCtx(stream.cast(), &mut owner)
    })?;
    if owner.cast() == context.as_raw() {
        Bound::to(context)
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

/// The places of one launch.
pub(super) struct Launch<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) stream: CUstream,
    /// The arrays; 0 for a second, or a mask, that there is not.
    pub(super) inputs: [u64; 2],
    /// The numbers of segments, where each launch brings its own.
    pub(super) offsets: u64,
    pub(super) workspace: &'a mut Workspace,
    /// Where the answers go, packed; 0 for nowhere.
    pub(super) answer: u64,
    /// Where the states go; 0 for nowhere.
    pub(super) state: u64,
}

/// Enqueues one launch of `plan`, with its operator's `params`. The context is current.
///
/// # Safety
///
/// `function` is the plan's entry, `params` what its operator passes to it, and its module stays loaded; the inputs are valid for what
/// `place` says is read and unwritten, `answer` and `state` are 0 or valid for an answer or a state of each extent, and the
/// workspace is used by nothing else, all until the stream has passed the launch.
pub(super) unsafe fn launch(
    function: Function,
    plan: &Plan,
    params: OpParams,
    place: &Placement,
    launch: Launch<'_>,
) -> Result<(), Error> {
    for (array, input) in launch.inputs.into_iter().enumerate() {
        check_alignment(input, plan.entry.pitch(array))?;
    }
    let (words, ticket_words) = (plan.workspace_words(), plan.ticket_words());
    // SAFETY: passed on to the caller.
    let tickets = unsafe {
        launch
            .workspace
            .for_launch(launch.gpu, launch.stream, words, ticket_words)?
    };
    let array = |i: usize| {
        let is_no_mask = params.numbers_only && plan.entry.masked && i == 1 && launch.inputs[1] == 0;
        let array = array_of(place.arrays[i], launch.inputs[i], plan.entry.pitch(i));
        if is_no_mask {
            Array {
                start: device(NO_MASK),
                around: Around(0, usize::MAX),
                ..array
            }
        } else {
            array
        }
    };
    let passed = kernels::Launch {
        arrays: [array(0), array(1)],
        len: plan.len,
        count: plan.count,
        layout: device(place.layout.as_ref().map_or(launch.offsets, DeviceMemory::address)),
        slots: device(tickets + 4 * ticket_words as u64),
        tiles: plan.tiles,
        tickets: device(tickets),
        answer: device(launch.answer),
        state: device(launch.state),
        numbers: [params.number, 0],
        flags: params.flags().into(),
        blocks: plan.blocks_that_meet().into(),
        steps: plan.steps().into(),
        answers: plan.team.answers.into(),
        warps: plan.team.warps.into(),
        rows: RowOperands::NONE,
    };
    let shape = [plan.shape.blocks, plan.threads(), plan.cluster];
    // SAFETY: every entry has this one parameter; that what they point to is valid is the caller's word.
    unsafe { launch_passing(function, shape, launch.stream, passed) }
}

/// An array of elements of so many bytes, as a launch passes it.
pub(super) fn array_of(strides: Strides, address: u64, pitch: usize) -> Array {
    let at = |element: u64| address + element * pitch as u64;
    let [start, begin, end] = [strides.first, strides.reach.0, strides.reach.1].map(at);
    Array {
        start: device(start),
        stride: strides.stride,
        step: strides.step,
        around: Around(begin as usize, end as usize),
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
    mut passed: kernels::Launch,
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

/// Where the extents lie.
pub(super) struct Placement {
    /// In each array; nowhere in a second that there is not.
    pub(super) arrays: [Strides; 2],
    /// The dimensions, where there are several; the numbers of segments, unless each launch brings its own.
    pub(super) layout: Option<DeviceMemory<u64>>,
}

/// Where the extents lie in an array, in elements from its first.
#[derive(Clone, Copy, Default)]
pub(super) struct Strides {
    /// The first element of the first extent.
    pub(super) first: u64,
    /// From one extent to the next, and from one element to the next.
    pub(super) stride: i64,
    pub(super) step: i64,
    /// All elements lie from the first on, before the second.
    pub(super) reach: (u64, u64),
}

impl Placement {
    /// In as many arrays as an entry has.
    pub(super) fn new(arrays: usize, strides: impl Fn(usize) -> Strides, layout: Option<DeviceMemory<u64>>) -> Self {
        let strides = |i| if i < arrays { strides(i) } else { Strides::default() };
        let arrays = [strides(0), strides(1)];
        Self { arrays, layout }
    }
}
