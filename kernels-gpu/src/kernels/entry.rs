//! From an operator and a type of elements to entry points.

/// The entries of a crate and their entry points: operators, each made from what its launch [tells](crate::kernels::Told), and the
/// types of elements each is built for, each with its [`Room`](crate::kernels::Room). `table.rs` is made by it, and so is what
/// [`operators!`](crate::operators) makes of a crate of your own.
///
/// They stand in parts, of which each has entry points where its `if` says so, on the GPU: of f32, bf16 and u8, and of other elements
/// where their `if` does, too. Operators of a part of `folds of two` fold [`Two`](crate::element::Two) elements at a time, `of masked`
/// an element and the mask's, [`Masked`](crate::element::Masked); those of vast states have the three kernels that any extents can do with. `a | b` are two that fold alike: see [`Either`](crate::monoids::Either). `ptx` is what
/// the crate embeds.
#[doc(hidden)]
#[macro_export]
macro_rules! entries {
    (
        ptx: $ptx:expr, of other elements if $others:meta;
        $($part:ident: folds of $arrays:ident, if $when:meta {
            $($op:tt: $monoid:ty = |$told:pat_param| $value:expr, { $($element:ident: $room:ident),* $(,)? };)*
        })*
        $((folds of vast states) $vast_part:ident, if $vast_when:meta {
            $($vast_op:tt: $vast_monoid:ty = |$vast_told:pat_param| $vast_value:expr, {
                $($vast_element:ident: $vast_room:ident),* $(,)?
            };)*
        })?
    ) => {
        /// Every entry point of this crate.
        pub static ENTRIES: &[$crate::kernels::Entry] = &[$($($(
            $crate::entries!(@new All, $op, "", $arrays $element, $monoid, $room, $part),
            $crate::entries!(@new Small, $op, "_small", $arrays $element, $monoid, $room, $part),
            $crate::entries!(@new Rows, $op, "_rows", $arrays $element, $monoid, $room, $part),
            $crate::entries!(@new Strided, $op, "_strided", $arrays $element, $monoid, $room, $part),
            $crate::entries!(@new Segments, $op, "_segments", $arrays $element, $monoid, $room, $part),
        )*)*)* $($($(
            $crate::entries!(@new All, $vast_op, "", one $vast_element, $vast_monoid, $vast_room, $vast_part),
            $crate::entries!(@new Strided, $vast_op, "_strided", one $vast_element, $vast_monoid, $vast_room, $vast_part),
            $crate::entries!(@new Segments, $vast_op, "_segments", one $vast_element, $vast_monoid, $vast_room, $vast_part),
        )*)*)?];

        /// What this crate has built.
        pub static LIBRARY: $crate::kernels::Library = $crate::kernels::Library {
            package: env!("CARGO_PKG_NAME"),
            // Of no use on the GPU, where statics cannot know each other.
            entries: if cfg!(target_arch = "nvptx64") { &[] } else { ENTRIES },
            ptx: $ptx,
        };

        $($($(
            $crate::entries!(@points $when, $others, $element; All, $op, "", $arrays $element, $monoid, $room, $told, $value);
            $crate::entries!(@points $when, $others, $element; Small, $op, "_small", $arrays $element, $monoid, $room, $told, $value);
            $crate::entries!(@points $when, $others, $element; Rows, $op, "_rows", $arrays $element, $monoid, $room, $told, $value);
            $crate::entries!(@points $when, $others, $element; Strided, $op, "_strided", $arrays $element, $monoid, $room, $told, $value);
            $crate::entries!(@points $when, $others, $element; Segments, $op, "_segments", $arrays $element, $monoid, $room, $told, $value);
        )*)*)*
        $($($(
            $crate::entries!(
                @points $vast_when, $others, $vast_element; All, $vast_op, "", one $vast_element, $vast_monoid, $vast_room,
                $vast_told, $vast_value
            );
            $crate::entries!(
                @points $vast_when, $others, $vast_element; Strided, $vast_op, "_strided", one $vast_element, $vast_monoid, $vast_room,
                $vast_told, $vast_value
            );
            $crate::entries!(
                @points $vast_when, $others, $vast_element; Segments, $vast_op, "_segments", one $vast_element, $vast_monoid, $vast_room,
                $vast_told, $vast_value
            );
        )*)*)?
    };
    // What an operator folds: of one array, of two, and of one under a mask.
    (@item one $element:ident) => { $element };
    (@item two $element:ident) => { $crate::element::Two<$element> };
    (@item masked $element:ident) => { $crate::element::Masked<$element> };
    (@also) => { None };
    (@also $also:ident) => { Some(stringify!($also)) };
    (@new $kernel:ident, $op:ident, $($rest:tt)*) => {
        $crate::entries!(@new $kernel, ($op), $($rest)*)
    };
    (
        @new $kernel:ident, ($op:ident $(| $also:ident)?), $infix:literal, $arrays:ident $element:ident, $monoid:ty, $room:ident,
        $part:ident
    ) => {
        $crate::kernels::Entry::new::<$crate::entries!(@item $arrays $element), $monoid>(
            &LIBRARY,
            $crate::kernels::Kernel::$kernel,
            $crate::kernels::Room::$room,
            $crate::entries!(@also $($also)?),
            // The operator, the symbol, and the part of the build.
            [
                stringify!($op),
                concat!(stringify!($op), $infix, "_", stringify!($element)),
                stringify!($part),
            ],
        )
    };
    // A build of a sample has these types of elements alone, which `Type::is_sampled` knows.
    (@points $when:meta, $others:meta, f32; $($point:tt)*) => {
        $crate::entries!(@point $when, $($point)*);
    };
    (@points $when:meta, $others:meta, bf16; $($point:tt)*) => {
        $crate::entries!(@point $when, $($point)*);
    };
    (@points $when:meta, $others:meta, u8; $($point:tt)*) => {
        $crate::entries!(@point $when, $($point)*);
    };
    (@points $when:meta, $others:meta, $element:ident; $($point:tt)*) => {
        $crate::entries!(@point all($when, $others), $($point)*);
    };
    (@point $when:meta, $kernel:ident, ($op:ident | $also:ident), $($rest:tt)*) => {
        $crate::entries!(@point $when, $kernel, $op, $($rest)*);
    };
    (
        @point $when:meta, $kernel:ident, $op:ident, $infix:literal, $arrays:ident $element:ident, $monoid:ty,
        $room:ident, $told:pat_param, $value:expr
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
                    number: u64,
                    flags: u32,
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
                    let $told = $crate::kernels::Told::new(number, flags);
                    let around = $crate::stages::extents::Around(around_first, around_end);
                    let second_around = $crate::stages::extents::Around(second_around_first, second_around_end);
                    let arguments = $crate::kernels::Arguments::<$crate::entries!(@item $arrays $element)> {
                        extents: $crate::stages::extents::Extents {
                            start: $crate::entries!(@each $arrays $element, start, second),
                            len,
                            count,
                            stride: $crate::entries!(@each $arrays $element, stride, second_stride),
                            step: $crate::entries!(@each $arrays $element, step, second_step),
                            layout,
                            around: $crate::entries!(@each $arrays $element, around, second_around),
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
                env!("CARGO_CRATE_NAME"), "$", stringify!($op), $infix, "_", stringify!($element),
            ))]
            static FACTS: $crate::kernels::Facts =
                $crate::entries!(@new $kernel, $op, $infix, $arrays $element, $monoid, $room, $op).facts();
        };
    };
    // What the launch says of each array of an item.
    (@each $arrays:ident $element:ident, $first:expr, $second:expr) => {
        <$crate::entries!(@item $arrays $element) as $crate::stages::source::Source>::each(|array| if array == 0 { $first } else { $second })
    };
}
