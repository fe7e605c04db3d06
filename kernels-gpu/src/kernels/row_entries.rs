//! From a row operation to entry points.

use super::{
    Entry, Kernel, LaunchBounds, Library,
    rowwise::{self, RowVariant},
};
use crate::{
    element::Type,
    monoids::{Algebra, Words},
    rowwise::{OwnRowOp, RowOp, Value},
    stages::strategy::Strategy,
};

/// Launch bounds of a row operation's kernels: of f32, and of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowBounds {
    /// [`RowVariant::Short`]: how many blocks, of 128 threads, a multiprocessor must have registers for; 0 of an operation that has no such kernels, as of those below.
    pub short: [u32; 2],
    /// [`RowVariant::ShortKnown`]: the same.
    pub short_known: [u32; 2],
    /// [`RowVariant::Fold`]: the same.
    pub fold: [u32; 2],
    /// [`RowVariant::Leaf`]: threads of the largest block, of f32, of bf16 and of f16.
    pub leaf: [u32; 3],
    /// [`RowVariant::Long`]: how many blocks, of 256 threads, a multiprocessor must have registers for: one loads, while another folds or writes.
    pub long: [u32; 2],
    /// [`RowVariant::Any`]: threads of the largest block.
    pub any: [u32; 2],
    /// [`RowVariant::Added`]: the same.
    pub added: [u32; 2],
    /// [`RowVariant::Strided`]: blocks, of 256 threads.
    pub strided: u32,
    /// [`RowVariant::Known`]: blocks, of 128 threads.
    pub known: u32,
    /// The kernel that combines states: blocks, of 256 threads.
    pub states: u32,
}

impl RowBounds {
    /// Of no kernels.
    pub const NONE: Self = Self {
        short: [0; 2],
        short_known: [0; 2],
        fold: [0; 2],
        leaf: [0; 3],
        long: [0; 2],
        any: [0; 2],
        added: [0; 2],
        strided: 0,
        known: 0,
        states: 0,
    };

    /// Of as many registers a thread in every kernel.
    #[must_use]
    pub const fn of(bounds: LaunchBounds) -> Self {
        let threads = bounds.threads * bounds.blocks;
        let blocks = threads / 256;
        Self {
            short: [threads / 128; 2],
            short_known: [0; 2],
            fold: [0; 2],
            leaf: [threads; 3],
            long: [0; 2],
            any: [threads; 2],
            added: [0; 2],
            // Lanes of these have addresses of their own, for which registers are left.
            strided: if blocks > 3 { 3 } else { blocks },
            known: 0,
            states: blocks,
        }
    }

    /// Threads of the largest block, and how many of those a multiprocessor must have registers for.
    #[must_use]
    pub const fn of_variant(self, variant: RowVariant, element: Type) -> [u32; 2] {
        let i = (element.bytes() == 2) as usize;
        match variant {
            RowVariant::Short => [128, self.short[i]],
            RowVariant::ShortKnown => [128, self.short_known[i]],
            RowVariant::Fold => [128, self.fold[i]],
            RowVariant::Leaf if matches!(element, Type::F16) => [self.leaf[2], 1],
            RowVariant::Leaf => [self.leaf[i], 1],
            RowVariant::Long => [rowwise::LONG_THREADS, self.long[i]],
            RowVariant::Any => [self.any[i], 1],
            RowVariant::Added => [self.added[i], 1],
            RowVariant::Strided => [256, self.strided],
            RowVariant::Known => [128, self.known],
        }
    }
}

/// A row operation that has kernels. None is written by hand: of your own [`row_operations!`](crate::row_operations) implements it.
pub trait RowOperation: OwnRowOp {
    /// Its name in errors and in the list of kernels.
    const NAME: &'static str;
    /// What its kernels are built in: they are looked up there, so the name may be that of another crate's operation.
    const LIBRARY: &'static Library;
    /// The name of the kernel that combines its states: of the library's several operations share one.
    const STATES: &'static str = Self::NAME;
}

impl Entry {
    /// The entry of a row operation. Elements of 16 bits whose two types share a kernel are called bf16.
    #[doc(hidden)] // for `row_entries!`
    #[must_use]
    pub const fn row<O: RowOp>(
        library: &'static Library,
        [op, name, part]: [&'static str; 3],
        element: Type,
        variant: RowVariant,
        [max_threads, blocks]: [u32; 2],
    ) -> Self {
        let (arrays, words) = (O::Value::ARRAYS, O::State::COUNT);
        Self {
            library,
            name,
            op,
            also: None,
            part,
            element,
            arrays,
            masked: false,
            kernel: Kernel::Row(variant),
            state_words: words,
            strategy: Strategy {
                element,
                arrays,
                masked: false,
                words,
                algebra: Algebra::PLAIN,
                of_words: false,
            },
            answer_words: 2,
            answer_bytes: 8,
            max_threads,
            min_blocks: Some(blocks),
            needs_clusters: matches!(variant, RowVariant::Long),
            fuses: true,
            barriers: match variant {
                RowVariant::Leaf | RowVariant::Long | RowVariant::Any | RowVariant::Added => {
                    1 + O::COMBINES_ONCE as u32
                }
                _ => 0,
            },
        }
    }
}

/// The entries of a crate's row operations, and their entry points: the library's are made by it, and so is what
/// [`row_operations!`](crate::row_operations) makes of a crate of your own.
///
/// Each operation has its [`RowBounds`](crate::kernels::row_entries::RowBounds), and is made of what its launch
/// [passes](crate::rowwise::OwnRowOp::of_params); those that are `short` have kernels for short rows, those that are `short_known` for short rows of which nothing is mapped, those that are `fold` for longer ones, those that are `long` have one for the longest rows of f32 that a cluster keeps, those that are `added` take another array, those that are `known` for what is known of rows alone. The kernels that combine states are made of
/// those under `states`. There are entry points where `if` says so, on the GPU; `with` are further entries.
#[doc(hidden)]
#[macro_export]
macro_rules! row_entries {
    (
        $vis:vis $list:ident of $library:ident, in $part:literal, if $when:meta, with [$($with:expr),*];
        states { $($states:ident: $states_of:ty, $states_bounds:expr;)* }
        $($op:ident: $operation:ty, $bounds:expr $(, $more:ident)*;)*
    ) => {
        /// Every entry point of this crate's row operations.
        $vis static $list: &[&[$crate::kernels::Entry]] = &[
            $($with,)*
            &[$($crate::row_entries!(@states $library, $part, $states, $states_of, $states_bounds)),*],
            $($crate::row_entries!(
                @variants list [$when, $library, $part, $op, $operation, $bounds] [$($more)*]
            ),)*
        ];

        $($crate::row_entries! {
            @point $when, concat!("row_states_", stringify!($states)),
            $crate::row_entries!(@states $library, $part, $states, $states_of, $states_bounds),
            $states_of, |op, simt, passed = row_arguments| $crate::kernels::rowwise::combine_states(simt, op, passed)
        })*
        $($crate::row_entries! {
            @variants points [$when, $library, $part, $op, $operation, $bounds] [$($more)*]
        })*
    };
    // The one list of an operation's variants, for the list of entries and for their entry points.
    (@variants $then:ident $of:tt [short $($others:ident)*] $($more:tt)*) => {
        $crate::row_entries! {
            @variants $then $of [$($others)*] $($more)*
            "_short_f32", Short of F32 = map_short<f32>(plain_row_arguments);
            "_short_f16", Short of F16 = map_short<$crate::element::f16>(plain_row_arguments);
            "_short_bf16", Short of Bf16 = map_short<$crate::element::bf16>(plain_row_arguments);
        }
    };
    (@variants $then:ident $of:tt [short_known $($others:ident)*] $($more:tt)*) => {
        $crate::row_entries! {
            @variants $then $of [$($others)*] $($more)*
            "_short_known_f32", ShortKnown of F32 = map_short<f32>(plain_row_arguments);
            "_short_known_f16", ShortKnown of F16 = map_short<$crate::element::f16>(plain_row_arguments);
            "_short_known_bf16", ShortKnown of Bf16 = map_short<$crate::element::bf16>(plain_row_arguments);
        }
    };
    (@variants $then:ident $of:tt [fold $($others:ident)*] $($more:tt)*) => {
        $crate::row_entries! {
            @variants $then $of [$($others)*] $($more)*
            "_fold_f32", Fold of F32 = fold_leaves<f32>(plain_row_arguments);
            "_fold_f16", Fold of F16 = fold_leaves<$crate::element::f16>(plain_row_arguments);
            "_fold_bf16", Fold of Bf16 = fold_leaves<$crate::element::bf16>(plain_row_arguments);
        }
    };
    (@variants $then:ident $of:tt [long $($others:ident)*] $($more:tt)*) => {
        $crate::row_entries! {
            @variants $then $of [$($others)*] $($more)*
            "_long_f32", Long of F32 = map_long<f32>(plain_row_arguments);
        }
    };
    (@variants $then:ident $of:tt [added $($others:ident)*] $($more:tt)*) => {
        $crate::row_entries! {
            @variants $then $of [$($others)*] $($more)*
            "_added_b32", Added of F32 = map_leaves<u32>(row_arguments, Added);
            "_added_b16", Added of Bf16 = map_leaves<u16>(row_arguments, Added);
        }
    };
    (@variants $then:ident $of:tt [known $($others:ident)*] $($more:tt)*) => {
        $crate::row_entries! {
            @variants $then $of [$($others)*] $($more)*
            "_known_b32", Known of F32 = store_known_of_rows<u32>(row_arguments);
            "_known_b16", Known of Bf16 = store_known_of_rows<u16>(row_arguments);
        }
    };
    (@variants $then:ident $of:tt [] $($more:tt)*) => {
        $crate::row_entries! {
            @$then $of;
            "_leaf_f32", Leaf of F32 = map_leaves<f32>(plain_row_arguments, Plain);
            "_leaf_f16", Leaf of F16 = map_leaves<$crate::element::f16>(plain_row_arguments, Plain);
            "_leaf_bf16", Leaf of Bf16 = map_leaves<$crate::element::bf16>(plain_row_arguments, Plain);
            "_any_b32", Any of F32 = map_leaves<u32>(row_arguments, Any);
            "_any_b16", Any of Bf16 = map_leaves<u16>(row_arguments, Any);
            "_strided_b32", Strided of F32 = map_strided<u32>(row_arguments);
            "_strided_b16", Strided of Bf16 = map_strided<u16>(row_arguments);
            $($more)*
        }
    };
    (@list $of:tt; $($rest:literal, $row_variant:ident of $type:ident = $kernel:ident<$element:ty>($arguments:ident $(, $variant:ident)?);)*) => {
        &[$($crate::row_entries!(@new $of, $rest, $row_variant, $type)),*]
    };
    (@points $of:tt; $($rest:literal, $row_variant:ident of $type:ident = $kernel:ident<$element:ty>($arguments:ident $(, $variant:ident)?);)*) => {
        $($crate::row_entries! {
            @variant $of, $rest, $row_variant, $type, $kernel, $element, $arguments $(, $crate::kernels::rowwise::$variant)?
        })*
    };
    (
        @variant [$when:meta, $library:ident, $part:literal, $op:ident, $operation:ty, $bounds:expr],
        $rest:literal, $row_variant:ident, $type:ident, $kernel:ident, $element:ty, $arguments:ident $(, $variant:expr)?
    ) => {
        $crate::row_entries! {
            @point $when, concat!(stringify!($op), $rest),
            $crate::row_entries!(
                @new [$when, $library, $part, $op, $operation, $bounds], $rest, $row_variant, $type
            ),
            $operation, |op, simt, passed = $arguments::<$element>| {
                $crate::kernels::rowwise::$kernel(simt, op, passed $(, $variant)?)
            }
        }
    };
    (
        @new [$when:meta, $library:ident, $part:literal, $op:ident, $operation:ty, $bounds:expr],
        $rest:literal, $row_variant:ident, $type:ident
    ) => {
        $crate::kernels::Entry::row::<$operation>(
            &$library,
            [stringify!($op), concat!(stringify!($op), $rest), $part],
            $crate::element::Type::$type,
            $crate::kernels::rowwise::RowVariant::$row_variant,
            $bounds.of_variant($crate::kernels::rowwise::RowVariant::$row_variant, $crate::element::Type::$type),
        )
    };
    (@states $library:ident, $part:literal, $states:ident, $operation:ty, $bounds:expr) => {
        $crate::kernels::Entry::row::<$operation>(
            &$library,
            [
                concat!("row_states_", stringify!($states)),
                concat!("row_states_", stringify!($states)),
                $part,
            ],
            $crate::element::Type::F32,
            $crate::kernels::rowwise::RowVariant::Short,
            [256, $bounds.states],
        )
    };
    (
        @point $when:meta, $name:expr, $entry:expr, $operation:ty,
        |$op:ident, $simt:ident, $passed:ident = $arguments:ident $(::<$element:ty>)?| $call:expr
    ) => {
        $crate::entry_point! {
            $name, if $when,
            |launch: $crate::kernels::Launch| {
                #[allow(unused_imports, reason = "one that is no operation of a row has it itself")]
                use $crate::rowwise::OwnRowOp as _;
                let $op = <$operation>::of_params(launch.row_params());
                let ($simt, $passed) = ($crate::simt::nvptx::Nvptx, launch.$arguments$(::<$element>)?());
                $call
            },
            $entry.facts()
        }
    };
}
