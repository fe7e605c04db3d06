//! The names by which callers know operators, each with that of its kernels: from the host's one list of operators.

// Its links are those of the library.
#[allow(rustdoc::broken_intra_doc_links)]
#[path = "../../host/src/ops/manifest.rs"]
mod manifest;

macro_rules! names {
    ([] $({
        $(#[$doc:meta])*
        $op:ident $fields:tt
        name ($name:literal, $says:literal)
        of $groups:tt
        folds $folds:tt
        masked $masked:tt
        without_nan ($($without_nan:literal)?)
        spec $spec:tt
        command $command:tt
    })*) => {
        /// Names of operators, and of those that leave NaN out, with the names of their kernels.
        pub const NAMES: &[(&str, &str)] = &[
            $(($name, kernels_of!($folds)),)*
            $($(($without_nan, kernels_of!($masked)),)?)*
        ];
    };
}

/// The name of an operator's kernels, or of those under a mask.
macro_rules! kernels_of {
    ((asks $monoid:ident::$make:ident, $entry:literal)) => {
        $entry
    };
    ((|$this:ident| $monoid:ty = $value:expr, $entry:literal $($more:tt)*)) => {
        $entry
    };
    (($entry:literal $($more:tt)*)) => {
        $entry
    };
}

crate::manifest!(names![]);
