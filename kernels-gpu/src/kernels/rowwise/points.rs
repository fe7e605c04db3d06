//! The entries, and their entry points.

use super::RowVariant;
#[cfg(target_arch = "nvptx64")]
use super::{NormF64, map_doubles, sum_columns};
use crate::{
    element::Type,
    kernels::{
        Entry, Kernel, LIBRARY, LaunchBounds, Library,
        row_entries::{RowBounds, RowOperation},
    },
    rowwise::{
        CrossEntropy, LayerNorm, LogSoftmax, LogSoftmaxGradient, NormGradient, RmsNorm, Softmax, SoftmaxGradient,
    },
    stages::columns::Floats,
};

impl Library {
    /// The entry of a row operation for elements of a type; none if it is not built.
    #[must_use]
    pub fn find_row(&self, op: &str, element: Type, variant: RowVariant) -> Option<&'static Entry> {
        let element = if element == Type::F16 && !variant.is_plain() {
            Type::Bf16
        } else {
            element
        };
        let kernel = Kernel::Row(variant);
        self.row_entries()
            .find(|entry| entry.op == op && entry.element == element && entry.kernel == kernel)
    }

    /// The entry that combines states of a kind: here `scaled` of exponentials, `moments`, `sum`, `sums` of two, `weighted` exponentials. In a crate of
    /// your own each operation has one, by its name.
    #[must_use]
    pub fn find_row_states(&self, kind: &str) -> Option<&'static Entry> {
        self.row_entries()
            .find(|entry| entry.name.strip_prefix("row_states_") == Some(kind))
    }
}

/// The entry that sums columns, of elements of a type.
#[must_use]
pub fn find_columns(element: Type) -> Option<&'static Entry> {
    Floats::of(element)?;
    FURTHER[..2]
        .iter()
        .find(|entry| entry.element.bytes() == element.bytes())
}

/// The entry that maps rows of f64.
#[must_use]
pub fn find_doubles() -> &'static Entry {
    &FURTHER[2]
}

/// The entries of no operation: what sums columns, and what maps rows of f64.
static FURTHER: [Entry; 3] = [
    columns("norm_column_gradient_b32", Type::F32),
    columns("norm_column_gradient_b16", Type::Bf16),
    doubles(),
];

const fn doubles() -> Entry {
    Entry {
        element: Type::F64,
        max_threads: 128,
        min_blocks: Some(8),
        fuses: true,
        ..Entry::of_no_operator("norm_map_f64", "rows", Kernel::Own, 2)
    }
}

const fn columns(name: &'static str, element: Type) -> Entry {
    let names = ["norm_column_gradient", name, "rows"];
    Entry::row::<NormGradient>(&LIBRARY, names, element, RowVariant::Short, [128, 4])
}

/// Of the kernels that combine states.
const STATES: RowBounds = RowBounds::of(LaunchBounds::REGS_64);

/// Kernels of row operations, each with the kernel that combines its states; and with the threads of its largest block and how many of those a multiprocessor has at least: of f32, and of 16 bits, or of bf16 and f16. Those of `short`
/// rows and of what is `short_known`, `fold`ed alone or `known`, whose blocks are all of 128 threads, have how many of those; those of `long` ones blocks of 256. Their part of the build is `rows`: newer architectures round and exchange by instructions of their own.
macro_rules! points {
    ($($op:ident: $operation:ty, states $states:ident, leaf [$leaf:literal $leaf_bf16:literal $leaf_f16:literal], any [$any:literal $any_16:literal] $(, $more:ident [$room:literal $room_16:literal])*;)*) => {
        crate::row_entries! {
            pub ENTRIES of LIBRARY, in "rows",
            if all(feature = "entries", any(not(warpfold_part), warpfold_part = "rows")), with [&FURTHER];
            states {
                scaled: Softmax, STATES;
                moments: LayerNorm, STATES;
                sum: RmsNorm, STATES;
                sums: NormGradient, STATES;
                weighted: CrossEntropy, STATES;
            }
            $($op: $operation, RowBounds {
                leaf: [$leaf, $leaf_bf16, $leaf_f16],
                any: [$any, $any_16],
                strided: 3,
                $($more: points!(@room $more $room $room_16),)*
                ..RowBounds::NONE
            } $(, $more)*;)*
        }

        $(impl RowOperation for $operation {
            const NAME: &'static str = stringify!($op);
            const LIBRARY: &'static Library = &LIBRARY;
            const STATES: &'static str = stringify!($states);
        })*

        points!(@columns "norm_column_gradient_b32", Type::F32, u32);
        points!(@columns "norm_column_gradient_b16", Type::Bf16, u16);
        crate::row_entries! {
            @point all(feature = "entries", any(not(warpfold_part), warpfold_part = "rows")), "norm_map_f64", doubles(),
            NormF64, |op, simt, passed = row_arguments::<f64>| map_doubles(simt, op, passed)
        }
    };
    (@room known $room:literal $room_16:literal) => { $room };
    (@room $more:ident $room:literal $room_16:literal) => { [$room, $room_16] };
    (@columns $name:literal, $type:expr, $element:ty) => {
        crate::row_entries! {
            @point all(feature = "entries", any(not(warpfold_part), warpfold_part = "rows")), $name, columns($name, $type),
            NormGradient, |_op, simt, passed = row_arguments::<$element>| sum_columns(simt, NormGradient { centers: true, plus: -0.0 }, passed)
        }
    };
}

points! {
    softmax: Softmax, states scaled, leaf [1024 1024 1024], any [1024 1024], short [8 7], long [3 0], fold [8 8], added [1024 512], known [4 4];
    log_softmax: LogSoftmax, states scaled, leaf [1024 1024 1024], any [1024 1024], short [8 8], long [3 0], added [1024 512];
    layer_norm: LayerNorm, states moments, leaf [1024 1024 1024], any [1024 896], short [7 6], long [3 0];
    rms_norm: RmsNorm, states sum, leaf [1024 1024 1024], any [1024 1024], short [8 8], long [3 0];
    cross_entropy: CrossEntropy, states weighted, leaf [896 896 896], any [1024 896], short_known [7 6], fold [8 6], known [4 4];
    softmax_gradient: SoftmaxGradient, states sum, leaf [1024 1024 1024], any [1024 1024], short [8 8];
    log_softmax_gradient: LogSoftmaxGradient, states sum, leaf [1024 1024 1024], any [1024 1024];
    norm_gradient: NormGradient, states sums, leaf [1024 1024 768], any [1024 512], short [7 5];
}
