//! The one list of what is built: each operator, by the number that its launch passes, and the types of elements it is built
//! for, each with the registers it needs.

use super::{Entry, FULL, Kernel};
use crate::monoids::Describe;

macro_rules! table {
    ($($op:ident: $monoid:ty = |$parameter:pat_param| $value:expr, { $($element:ident: $room:ident),* $(,)? };)*) => {
        /// Every entry point.
        pub static ENTRIES: &[Entry] = &[$($(
            Entry::new::<$element, $monoid>(Kernel::All, $room, table!(@names $op, "", $element)),
            Entry::new::<$element, $monoid>(Kernel::Small, $room, table!(@names $op, "_small", $element)),
            Entry::new::<$element, $monoid>(Kernel::Rows, $room, table!(@names $op, "_rows", $element)),
            Entry::new::<$element, $monoid>(Kernel::Strided, $room, table!(@names $op, "_strided", $element)),
            Entry::new::<$element, $monoid>(Kernel::Segments, $room, table!(@names $op, "_segments", $element)),
        )*)*];

        $($(
            reduce_entries!(
                concat!(stringify!($op), "_", stringify!($element)),
                concat!(stringify!($op), "_small_", stringify!($element)),
                concat!(stringify!($op), "_rows_", stringify!($element)),
                concat!(stringify!($op), "_strided_", stringify!($element)),
                concat!(stringify!($op), "_segments_", stringify!($element)),
                $element,
                |$parameter| $value
            );
        )*)*
    };
    // The operator, the symbol, the module.
    (@names $op:ident, $kernel:literal, $element:ident) => {
        [
            stringify!($op),
            concat!(stringify!($op), $kernel, "_", stringify!($element)),
            concat!(stringify!($op), "_", stringify!($element)),
        ]
    };
}

table! {
    describe: Describe = |parameter| Describe { correction: f64::from_bits(parameter) }, { f32: FULL };
}
