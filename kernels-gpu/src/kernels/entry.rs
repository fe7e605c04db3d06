//! From an operator and a type of elements to entry points.

/// The entries of a crate and their entry points: operators, each made from the number that its launch passes, and the types of
/// elements each is built for, each with its [`Room`](crate::kernels::Room). `table.rs` is made by it, and so is what
/// [`operators!`](crate::operators) makes of a crate of your own.
///
/// Operators `[of two arrays]` fold [`Two`](crate::element::Two) elements at a time, those `[of masked arrays]` an element and the
/// mask's, [`Masked`](crate::element::Masked). `ptx` is what the crate embeds; there are entry
/// points where `cfg` says so, on the GPU, of f32, bf16 and u8 and of other elements.
#[doc(hidden)]
#[macro_export]
macro_rules! entries {
    (
        ptx: $ptx:expr, entry points if $when:meta, of other elements if $others:meta;
        $($op:ident: $monoid:ty = |$parameter:pat_param| $value:expr, { $($element:ident: $room:ident),* $(,)? };)*
        $([of two arrays]
        $($two_op:ident: $two_monoid:ty = |$two_parameter:pat_param| $two_value:expr, {
            $($two_element:ident: $two_room:ident),* $(,)?
        };)*)?
        $([of masked arrays]
        $($masked_op:ident: $masked_monoid:ty = |$masked_parameter:pat_param| $masked_value:expr, {
            $($masked_element:ident: $masked_room:ident),* $(,)?
        };)*)?
        $([whole arrays alone]
        $($whole_op:ident: $whole_monoid:ty = |$whole_parameter:pat_param| $whole_value:expr, {
            $($whole_element:ident: $whole_room:ident),* $(,)?
        };)*)?
    ) => {
        /// Every entry point of this crate.
        pub static ENTRIES: &[$crate::kernels::Entry] = &[$($(
            $crate::entries!(@new All, $op, "", $element, $element, $monoid, $room),
            $crate::entries!(@new Small, $op, "_small", $element, $element, $monoid, $room),
            $crate::entries!(@new Rows, $op, "_rows", $element, $element, $monoid, $room),
            $crate::entries!(@new Strided, $op, "_strided", $element, $element, $monoid, $room),
            $crate::entries!(@new Segments, $op, "_segments", $element, $element, $monoid, $room),
        )*)* $($($(
            $crate::entries!(@new All, $two_op, "", $two_element, $crate::element::Two<$two_element>, $two_monoid, $two_room),
            $crate::entries!(@new Small, $two_op, "_small", $two_element, $crate::element::Two<$two_element>, $two_monoid, $two_room),
            $crate::entries!(@new Rows, $two_op, "_rows", $two_element, $crate::element::Two<$two_element>, $two_monoid, $two_room),
            $crate::entries!(@new Strided, $two_op, "_strided", $two_element, $crate::element::Two<$two_element>, $two_monoid, $two_room),
            $crate::entries!(@new Segments, $two_op, "_segments", $two_element, $crate::element::Two<$two_element>, $two_monoid, $two_room),
        )*)*)? $($($(
            $crate::entries!(@new All, $masked_op, "", $masked_element, $crate::element::Masked<$masked_element>, $masked_monoid, $masked_room),
            $crate::entries!(@new Small, $masked_op, "_small", $masked_element, $crate::element::Masked<$masked_element>, $masked_monoid, $masked_room),
            $crate::entries!(@new Rows, $masked_op, "_rows", $masked_element, $crate::element::Masked<$masked_element>, $masked_monoid, $masked_room),
            $crate::entries!(@new Strided, $masked_op, "_strided", $masked_element, $crate::element::Masked<$masked_element>, $masked_monoid, $masked_room),
            $crate::entries!(@new Segments, $masked_op, "_segments", $masked_element, $crate::element::Masked<$masked_element>, $masked_monoid, $masked_room),
        )*)*)? $($($(
            $crate::entries!(@new All, $whole_op, "", $whole_element, $whole_element, $whole_monoid, $whole_room),
        )*)*)?];

        /// What this crate has built.
        pub static LIBRARY: $crate::kernels::Library = $crate::kernels::Library {
            package: env!("CARGO_PKG_NAME"),
            // Of no use on the GPU, where statics cannot know each other.
            entries: if cfg!(target_arch = "nvptx64") { &[] } else { ENTRIES },
            ptx: $ptx,
        };

        $($(
            $crate::entries!(@points $when, $others, All, $op, "", $element, $element, $monoid, $room, $parameter, $value);
            $crate::entries!(@points $when, $others, Small, $op, "_small", $element, $element, $monoid, $room, $parameter, $value);
            $crate::entries!(@points $when, $others, Rows, $op, "_rows", $element, $element, $monoid, $room, $parameter, $value);
            $crate::entries!(@points $when, $others, Strided, $op, "_strided", $element, $element, $monoid, $room, $parameter, $value);
            $crate::entries!(@points $when, $others, Segments, $op, "_segments", $element, $element, $monoid, $room, $parameter, $value);
        )*)*
        $($($(
            $crate::entries!(
                @points $when, $others, All, $two_op, "", $two_element, $crate::element::Two<$two_element>, $two_monoid, $two_room,
                $two_parameter, $two_value
            );
            $crate::entries!(
                @points $when, $others, Small, $two_op, "_small", $two_element, $crate::element::Two<$two_element>, $two_monoid, $two_room,
                $two_parameter, $two_value
            );
            $crate::entries!(
                @points $when, $others, Rows, $two_op, "_rows", $two_element, $crate::element::Two<$two_element>, $two_monoid, $two_room,
                $two_parameter, $two_value
            );
            $crate::entries!(
                @points $when, $others, Strided, $two_op, "_strided", $two_element, $crate::element::Two<$two_element>, $two_monoid, $two_room,
                $two_parameter, $two_value
            );
            $crate::entries!(
                @points $when, $others, Segments, $two_op, "_segments", $two_element, $crate::element::Two<$two_element>, $two_monoid, $two_room,
                $two_parameter, $two_value
            );
        )*)*)?
        $($($(
            $crate::entries!(
                @points $when, $others, All, $masked_op, "", $masked_element, $crate::element::Masked<$masked_element>, $masked_monoid, $masked_room,
                $masked_parameter, $masked_value
            );
            $crate::entries!(
                @points $when, $others, Small, $masked_op, "_small", $masked_element, $crate::element::Masked<$masked_element>, $masked_monoid, $masked_room,
                $masked_parameter, $masked_value
            );
            $crate::entries!(
                @points $when, $others, Rows, $masked_op, "_rows", $masked_element, $crate::element::Masked<$masked_element>, $masked_monoid, $masked_room,
                $masked_parameter, $masked_value
            );
            $crate::entries!(
                @points $when, $others, Strided, $masked_op, "_strided", $masked_element, $crate::element::Masked<$masked_element>, $masked_monoid, $masked_room,
                $masked_parameter, $masked_value
            );
            $crate::entries!(
                @points $when, $others, Segments, $masked_op, "_segments", $masked_element, $crate::element::Masked<$masked_element>, $masked_monoid, $masked_room,
                $masked_parameter, $masked_value
            );
        )*)*)?
        $($($(
            $crate::entries!(
                @points $when, $others, All, $whole_op, "", $whole_element, $whole_element, $whole_monoid, $whole_room,
                $whole_parameter, $whole_value
            );
        )*)*)?
    };
    (@new $kernel:ident, $op:ident, $infix:literal, $element:ident, $item:ty, $monoid:ty, $room:ident) => {
        $crate::kernels::Entry::new::<$item, $monoid>(
            &LIBRARY,
            $crate::kernels::Kernel::$kernel,
            $crate::kernels::Room::$room,
            // The operator, the symbol, the module.
            [
                stringify!($op),
                concat!(stringify!($op), $infix, "_", stringify!($element)),
                concat!(stringify!($op), "_", stringify!($element)),
            ],
        )
    };
    // A build of a sample has these types of elements alone, which `Type::is_sampled` knows.
    (@points $when:meta, $others:meta, $kernel:ident, $op:ident, $infix:literal, f32, $($rest:tt)*) => {
        $crate::entries!(@point $when, $kernel, $op, $infix, f32, $($rest)*);
    };
    (@points $when:meta, $others:meta, $kernel:ident, $op:ident, $infix:literal, bf16, $($rest:tt)*) => {
        $crate::entries!(@point $when, $kernel, $op, $infix, bf16, $($rest)*);
    };
    (@points $when:meta, $others:meta, $kernel:ident, $op:ident, $infix:literal, u8, $($rest:tt)*) => {
        $crate::entries!(@point $when, $kernel, $op, $infix, u8, $($rest)*);
    };
    (@points $when:meta, $others:meta, $($point:tt)*) => {
        $crate::entries!(@point $others, $($point)*);
    };
    (
        @point $when:meta, $kernel:ident, $op:ident, $infix:literal, $element:ident, $item:ty, $monoid:ty,
        $room:ident, $parameter:pat_param, $value:expr
    ) => {
        #[cfg(all(target_arch = "nvptx64", $when))]
        const _: () = {
            $crate::kernel! {
                /// One of `kernels::Kernel`; what it is told is `kernels::Arguments`.
                ///
                /// # Safety
                ///
                /// As [`kernels::run`](crate::kernels::run).
                #[unsafe(export_name = concat!(stringify!($op), $infix, "_", stringify!($element)))]
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
                    second: *const $element, // of a mask its address
                    second_stride: i64,
                    second_step: i64,
                    second_around_first: usize,
                    second_around_end: usize,
                ) {
                    let $parameter = parameter;
                    let around = $crate::stages::extents::Around(around_first, around_end);
                    let second_around = $crate::stages::extents::Around(second_around_first, second_around_end);
                    let arguments = $crate::kernels::Arguments::<$item> {
                        extents: $crate::stages::extents::Extents {
                            start: $crate::entries!(@each $item, start, second),
                            len,
                            count,
                            stride: $crate::entries!(@each $item, stride, second_stride),
                            step: $crate::entries!(@each $item, step, second_step),
                            layout,
                            around: $crate::entries!(@each $item, around, second_around),
                        },
                        meeting: $crate::stages::grid::Meeting { slots, tiles, tickets, blocks },
                        output: $crate::kernels::output::Output { answer, state },
                        steps,
                        answers,
                        warps,
                    };
                    let simt = $crate::simt::nvptx::Nvptx;
                    // SAFETY: passed on to the launcher.
                    unsafe { $crate::kernels::run(simt, $value, $crate::kernels::Kernel::$kernel, arguments) }
                }
            }

            /// What the build is to know of the entry point, in the PTX beside it: the build compiles a crate of yours for the GPU,
            /// and runs nothing of it.
            #[used]
            #[unsafe(export_name = concat!(
                env!("CARGO_CRATE_NAME"), "$", stringify!($op), "_", stringify!($element), "$",
                stringify!($op), $infix, "_", stringify!($element),
            ))]
            static FACTS: $crate::kernels::Facts =
                $crate::entries!(@new $kernel, $op, $infix, $element, $item, $monoid, $room).facts();
        };
    };
    // What the launch says of each array of an item.
    (@each $item:ty, $first:expr, $second:expr) => {
        <$item as $crate::stages::source::Source>::each(|array| if array == 0 { $first } else { $second })
    };
}
