//! From an operator and a type of elements to entry points.

/// Defines the entry points of one operator over elements of `$element`, named in the order of
/// [`Kernel::ALL`](crate::kernels::Kernel::ALL); the operator is made from the parameter of the launch. A crate of your own that
/// uses it needs `#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]`; `cargo xtask build-ptx --crate PATH` compiles it.
#[macro_export]
macro_rules! reduce_entries {
    ($all:expr, $small:expr, $rows:expr, $strided:expr, $segments:expr, $element:ty, |$parameter:pat_param| $op:expr) => {
        $crate::reduce_entries!(@entry All, $all, $element, $parameter, $op);
        $crate::reduce_entries!(@entry Small, $small, $element, $parameter, $op);
        $crate::reduce_entries!(@entry Rows, $rows, $element, $parameter, $op);
        $crate::reduce_entries!(@entry Strided, $strided, $element, $parameter, $op);
        $crate::reduce_entries!(@entry Segments, $segments, $element, $parameter, $op);
    };
    (@entry $kernel:ident, $name:expr, $element:ty, $parameter:pat_param, $op:expr) => {
        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            $crate::kernel! {
                /// One of `kernels::Kernel`; what it is told is `kernels::Arguments`.
                ///
                /// # Safety
                ///
                /// As [`kernels::run`](crate::kernels::run).
                #[unsafe(export_name = $name)]
                pub unsafe fn entry(
                    start: *const $element,
                    len: u64,
                    parameter: u64,
                    count: u64,
                    stride: i64,
                    step: i64,
                    layout: *const u64,
                    around_first: usize,
                    around_end: usize,
                    tiles: u64,
                    slots: *mut u32,
                    tickets: *mut u32,
                    answer: *mut u8,
                    state: *mut u32,
                    blocks: u32,
                    steps: u32,
                    answers: u32,
                    warps: u32,
                ) {
                    let $parameter = parameter;
                    let around = $crate::stages::extents::Around(around_first, around_end);
                    let arguments = $crate::kernels::Arguments {
                        extents: $crate::stages::extents::Extents { start, len, count, stride, step, layout, around },
                        meeting: $crate::stages::grid::Meeting { slots, tiles, tickets, blocks },
                        output: $crate::kernels::output::Output { answer, state },
                        steps,
                        answers,
                        warps,
                    };
                    let simt = $crate::simt::nvptx::Nvptx;
                    // SAFETY: passed on to the launcher.
                    unsafe { $crate::kernels::run(simt, $op, $crate::kernels::Kernel::$kernel, arguments) }
                }
            }
        };
    };
}
