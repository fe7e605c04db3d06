//! The operators of `warpfold reduce`: those of the library's manifest, and the number of distinct elements.

mod list;
mod names;

use clap::ValueEnum;

pub use list::list;
pub use names::{Asked, parse};

/// What an operator takes there: its options, whether it is on the emulator, and whether it rounds.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types)] // as the manifest has them
pub enum Takes {
    /// Answers are rounded to their type: those that elements are added up or multiplied for.
    rounds,
    masked,
    without_nan,
    accuracy,
    ties,
    correction,
    ord,
    with,
    emulated,
}

macro_rules! op {
    ([] $($entry:tt)*) => {
        op!(@shown [] $($entry)*);
    };
    // One that the command does not show here.
    (@shown $taken:tt {
        $(#[$doc:meta])*
        $op:ident $fields:tt name $name:tt of $of:tt folds $folds:tt masked $masked:tt without_nan $without_nan:tt spec $spec:tt
        command ()
    } $($more:tt)*) => {
        op!(@shown $taken $($more)*);
    };
    (@shown [$($taken:tt)*] $entry:tt $($more:tt)*) => {
        op!(@shown [$($taken)* $entry] $($more)*);
    };
    (@shown [$({
        $(#[$doc:meta])*
        $op:ident $fields:tt
        name ($name:literal, $says:literal)
        of $of:tt
        folds $folds:tt
        masked $masked:tt
        without_nan $without_nan:tt
        spec $spec:tt
        command ($shown:ident $(($which:ident))?: $($takes:ident)*)
    })*]) => {
        /// An operator.
        #[derive(Clone, Copy, PartialEq, ValueEnum)]
        pub enum Op {
            $(
                #[doc = $says]
                #[value(name = $name)]
                $op,
            )*
            /// How many are distinct, all NaN being one value, and so both zeros.
            Distinct,
        }

        impl Op {
            /// Whether it takes something.
            pub fn takes(self, what: Takes) -> bool {
                let all: &[Takes] = match self {
                    $(Self::$op => &[$(Takes::$takes),*],)*
                    Self::Distinct => &[],
                };
                all.contains(&what)
            }
        }
    };
}

warpfold::manifest!(op![]);
