//! From an operator and a type of elements to entry points.

/// The entries of a crate and their entry points: operators, each made from what its launch [passes](crate::kernels::OpParams), and the
/// types of elements each is built for, each with its [`LaunchBounds`](crate::kernels::LaunchBounds). `table.rs` is made by it, and so is what
/// [`operators!`](crate::operators) makes of a crate of your own.
///
/// They stand in parts, of which each has entry points where its `if` says so, on the GPU; those that a build does not
/// [want](crate::kernels::is_wanted) are empty. Operators of a part of `folds of two` fold [`Two`](crate::element::Two) elements at a time, `of masked`
/// an element and the mask's, [`Masked`](crate::element::Masked); those of vast states have the three kernels that any extents can do with. Those `with small` have a kernel more for one extent of few tiles ([`Kernel::Small`](crate::kernels::Kernel)). `a | b` are two that fold alike: see [`Either`](crate::monoids::Either). `ptx` is what
/// the crate embeds, `rows` are the entries of its row operations.
#[doc(hidden)]
#[macro_export]
macro_rules! entries {
    (
        ptx: $ptx:expr, rows: $rows:expr;
        $($part:ident: folds of $arrays:ident, if $when:meta {
            $($op:tt: $monoid:ty = |$params:pat_param| $value:expr, { $($element:ident: $bounds:ident),* $(,)? }, $few:ident small;)*
        })*
        $((folds of vast states) $vast_part:ident, if $vast_when:meta {
            $($vast_op:tt: $vast_monoid:ty = |$vast_params:pat_param| $vast_value:expr, {
                $($vast_element:ident: $vast_bounds:ident),* $(,)?
            };)*
        })?
    ) => {
        /// Every entry point of this crate, operator by operator.
        static ENTRIES: &[&[$crate::kernels::Entry]] = &[$($($(
            &[
                $crate::entries!(@new All, $op, "", $arrays $element, $monoid, $bounds, $part),
                $crate::entries!(@new Rows, $op, "_rows", $arrays $element, $monoid, $bounds, $part),
                $crate::entries!(@new Strided, $op, "_strided", $arrays $element, $monoid, $bounds, $part),
                $crate::entries!(@new Segments, $op, "_segments", $arrays $element, $monoid, $bounds, $part),
            ],
            $crate::entries!(@new_if $few, Small, $op, "_small", $arrays $element, $monoid, $bounds, $part),
        )*)*)* $($($(
            &[
                $crate::entries!(@new All, $vast_op, "", one $vast_element, $vast_monoid, $vast_bounds, $vast_part),
                $crate::entries!(@new Strided, $vast_op, "_strided", one $vast_element, $vast_monoid, $vast_bounds, $vast_part),
                $crate::entries!(@new Segments, $vast_op, "_segments", one $vast_element, $vast_monoid, $vast_bounds, $vast_part),
            ],
        )*)*)?];

        /// What this crate has built.
        pub static LIBRARY: $crate::kernels::Library = $crate::kernels::Library {
            package: env!("CARGO_PKG_NAME"),
            // Of no use on the GPU, where statics cannot know each other.
            lists: if cfg!(target_arch = "nvptx64") { &[] } else { ENTRIES },
            rows: if cfg!(target_arch = "nvptx64") { &[] } else { $rows },
            ptx: $ptx,
        };

        $($($(
            $crate::entries!(@point $when, All, $op, "", $arrays $element, $monoid, $bounds, $params, $value);
            $crate::entries!(
                @point_if $few; $when, Small, $op, "_small", $arrays $element, $monoid, $bounds, $params, $value
            );
            $crate::entries!(@point $when, Rows, $op, "_rows", $arrays $element, $monoid, $bounds, $params, $value);
            $crate::entries!(@point $when, Strided, $op, "_strided", $arrays $element, $monoid, $bounds, $params, $value);
            $crate::entries!(@point $when, Segments, $op, "_segments", $arrays $element, $monoid, $bounds, $params, $value);
        )*)*)*
        $($($(
            $crate::entries!(
                @point $vast_when, All, $vast_op, "", one $vast_element, $vast_monoid, $vast_bounds,
                $vast_params, $vast_value
            );
            $crate::entries!(
                @point $vast_when, Strided, $vast_op, "_strided", one $vast_element, $vast_monoid, $vast_bounds,
                $vast_params, $vast_value
            );
            $crate::entries!(
                @point $vast_when, Segments, $vast_op, "_segments", one $vast_element, $vast_monoid, $vast_bounds,
                $vast_params, $vast_value
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
        @new $kernel:ident, ($op:ident $(| $also:ident)?), $infix:literal, $arrays:ident $element:ident, $monoid:ty, $bounds:ident,
        $part:ident
    ) => {
        $crate::kernels::Entry::new::<$crate::entries!(@item $arrays $element), $monoid>(
            &LIBRARY,
            $crate::kernels::Kernel::$kernel,
            $crate::kernels::LaunchBounds::$bounds,
            $crate::entries!(@also $($also)?),
            // The operator, the symbol, and the part of the build.
            [
                stringify!($op),
                concat!(stringify!($op), $infix, "_", stringify!($element)),
                stringify!($part),
            ],
        )
    };
    (@new_if with, $($rest:tt)*) => {
        &[$crate::entries!(@new $($rest)*)]
    };
    (@new_if without, $($rest:tt)*) => {
        &[]
    };
    (@point_if with; $($rest:tt)*) => {
        $crate::entries!(@point $($rest)*);
    };
    (@point_if without; $($rest:tt)*) => {};
    (@point $when:meta, $kernel:ident, ($op:ident | $also:ident), $($rest:tt)*) => {
        $crate::entries!(@point $when, $kernel, $op, $($rest)*);
    };
    (
        @point $when:meta, $kernel:ident, $op:ident, $infix:literal, $arrays:ident $element:ident, $monoid:ty,
        $bounds:ident, $params:pat_param, $value:expr
    ) => {
        $crate::entry_point! {
            concat!(stringify!($op), $infix, "_", stringify!($element)), if $when,
            |launch: $crate::kernels::Launch| {
                let $params = launch.params();
                let arguments = launch.arguments::<$crate::entries!(@item $arrays $element)>();
                $crate::kernels::run($crate::simt::nvptx::Nvptx, $value, $crate::kernels::Kernel::$kernel, arguments)
            },
            $crate::entries!(@new $kernel, $op, $infix, $arrays $element, $monoid, $bounds, $op).facts()
        }
    };
}

/// An entry point of that name, on the GPU, where `if` says so: it runs what is said of its launch, which is trusted to be of it. One that a build does not
/// [want](crate::kernels::is_wanted) is empty. What the build is to know of it stands in the PTX beside it, if facts are given: the build compiles a crate of yours for the GPU, and runs
/// nothing of it.
#[doc(hidden)]
#[macro_export]
macro_rules! entry_point {
    ($name:expr, if $when:meta, |$launch:ident: $passed:ty| $run:expr $(, $facts:expr)?) => {
        #[cfg(all(target_arch = "nvptx64", $when))]
        const _: () = {
            $crate::kernel! {
                /// The entry point of a kernel.
                ///
                /// # Safety
                ///
                /// The launch is one that the host planned for it.
                #[unsafe(export_name = $name)]
                pub unsafe fn entry($launch: $passed) {
                    if const { $crate::kernels::is_wanted($name) } {
                        // SAFETY: passed on to the launcher.
                        unsafe { $run }
                    }
                }
            }

            $(
                #[used]
                #[unsafe(export_name = concat!(env!("CARGO_CRATE_NAME"), "$", $name))]
                static FACTS: $crate::kernels::Facts = $facts;
            )?
        };
    };
}
