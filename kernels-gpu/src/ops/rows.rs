//! Row operations of your own.

/// Builds row operations of your own: each with a name, of letters, digits and underscores, that no other of the crate has, and its
/// [`LaunchBounds`](crate::kernels::LaunchBounds). To be called once, in the root of a library:
///
/// ```ignore
/// #![no_std]
/// #![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]
///
/// warpfold_kernels::row_operations! {
///     by_largest: ByLargest, REGS_64;
/// }
/// ```
///
/// It makes the kernels' entry points of f32, f16 and bf16, where the crate is compiled by `cargo xtask build-ptx --crate PATH`; and `ROW_LIBRARY`, the
/// list of them, with the PTX that the package's build script embeds (`fn main() { warpfold_embed::ptx(); }`); and it implements
/// [`RowOperation`](crate::ops::RowOperation), so that the host library's `row::own` takes the operation. It stands beside
/// [`operators!`](crate::operators), or alone. The package `own-operator`, among the host library's examples, has one.
#[macro_export]
macro_rules! row_operations {
    ($($name:ident: $op:ty, $bounds:ident;)*) => {
        $crate::row_entries! {
            ROW_ENTRIES of ROW_LIBRARY, in "rows", if all(), with [];
            states {
                $($name: $op, $crate::row_operations!(@$bounds);)*
            }
            $($name: $op, $crate::row_operations!(@$bounds), short;)*
        }

        /// What this crate has built of row operations.
        pub static ROW_LIBRARY: $crate::kernels::Library = $crate::kernels::Library {
            package: env!("CARGO_PKG_NAME"),
            lists: &[],
            // As in `operators!`.
            rows: if cfg!(target_arch = "nvptx64") { &[] } else { ROW_ENTRIES },
            ptx: Some($crate::embedded!()),
        };

        $(impl $crate::ops::RowOperation for $op {
            const NAME: &'static str = stringify!($name);
            const LIBRARY: &'static $crate::kernels::Library = &ROW_LIBRARY;
        })*
    };
    (@$bounds:ident) => {
        $crate::kernels::row_entries::RowBounds::of($crate::kernels::LaunchBounds::$bounds)
    };
}
