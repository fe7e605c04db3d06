//! From an operator and a type of elements to entry points.

/// Defines the entry points `$name` and `$small`: [`whole::reduce_all`](crate::kernels::whole::reduce_all) and
/// [`whole::reduce_small`](crate::kernels::whole::reduce_small) over elements of `$element` for one operator, made from the
/// parameter of the launch. A crate of your own that uses it needs
/// `#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]`; `cargo xtask build-ptx --crate PATH` compiles it.
#[macro_export]
macro_rules! reduce_all_entry {
    ($name:expr, $small:expr, $element:ty, |$parameter:pat_param| $op:expr) => {
        $crate::reduce_all_entry!(@entry $name, $element, $parameter, |simt, input, leaves_per_warp, meeting, output| {
            $crate::kernels::whole::reduce_all(simt, $op, input, leaves_per_warp, meeting, output)
        });
        $crate::reduce_all_entry!(@entry $small, $element, $parameter, |simt, input, _leaves_per_warp, meeting, output| {
            $crate::kernels::whole::reduce_small(simt, $op, input, meeting, output)
        });
    };
    (@entry $name:expr, $element:ty, $parameter:pat_param, |$simt:ident, $input:ident, $leaves:ident, $meeting:ident, $output:ident| $call:expr) => {
        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            $crate::kernel! {
                /// Whole-array entry point; see `kernels::whole`.
                ///
                /// # Safety
                ///
                /// As the function of `kernels::whole` that it calls.
                #[unsafe(export_name = $name)]
                pub unsafe fn entry(
                    start: *const $element,
                    len: u64,
                    parameter: u64,
                    tiles: u64,
                    $leaves: u32,
                    slots: *mut u32,
                    tickets: *mut u32,
                    answer: *mut u32,
                    state: *mut u32,
                ) {
                    let $parameter = parameter;
                    let $simt = $crate::simt::nvptx::Nvptx;
                    let $input = $crate::stages::thread::Input { start, len };
                    let $meeting = $crate::stages::grid::Meeting { slots, tiles, tickets };
                    let $output = $crate::kernels::whole::Output { answer, state };
                    // SAFETY: passed on to the launcher.
                    unsafe { $call }
                }
            }
        };
    };
}
