//! The entries, and their entry points.

use super::Way;
#[cfg(target_arch = "nvptx64")]
use super::{Added, Any, Plain, RowLaunch, fold_states, map_apart, map_leaves, map_short, note_rows, sum_columns};
#[cfg(target_arch = "nvptx64")]
use crate::element::{bf16, f16};
use crate::{
    element::Type,
    kernels::{Entry, Kernel, LIBRARY},
    monoids::{Algebra, Words},
    rowwise::{
        CrossEntropy, LayerNorm, LogSoftmax, LogSoftmaxGradient, NormGradient, RmsNorm, RowOp, Softmax,
        SoftmaxGradient, Value,
    },
    stages::{columns::Floats, strategy::Strategy},
};

/// The part of the build that has them: newer architectures round and meet by instructions of their own.
const PART: &str = "rows";

/// What the build knows of an entry. Where it is of 16 bits, whichever of the two types they are, elements are called bf16. Its block has so many threads at most, and a
/// multiprocessor so many blocks at least: what leaves it as many registers as it needs.
const fn entry<O: RowOp>(
    op: &'static str,
    name: &'static str,
    element: Type,
    way: Way,
    [max_threads, blocks]: [u32; 2],
) -> Entry {
    let arrays = O::Value::ARRAYS;
    Entry {
        library: &LIBRARY,
        name,
        op,
        also: None,
        part: PART,
        element,
        arrays,
        masked: false,
        kernel: Kernel::Row,
        state_words: O::State::COUNT,
        strategy: Strategy {
            element,
            arrays,
            masked: false,
            words: O::State::COUNT,
            algebra: Algebra::PLAIN,
        },
        answer_words: 2,
        answer_bytes: 8,
        max_threads,
        min_blocks: Some(blocks),
        fuses: true,
        barriers: matches!(way, Way::Leaf | Way::Any | Way::Added) as u32,
    }
}

/// The entry that folds states, which are those of an operation.
const fn states<O: RowOp>(name: &'static str) -> Entry {
    entry::<O>(name, name, Type::F32, Way::Short, [256, 4])
}

/// The entry that sums columns.
const fn columns(name: &'static str, element: Type) -> Entry {
    entry::<NormGradient>("norm_column_gradient", name, element, Way::Short, [128, 4])
}

/// Of states, where a launch passes arguments for elements.
///
/// # Safety
///
/// As [`fold_states`].
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn states_of<S: crate::simt::Simt, O: RowOp>(simt: S, op: O, arguments: super::Arguments<u32>) {
    let super::Arguments {
        states,
        states_of_row,
        out,
        rows,
        ..
    } = arguments;
    // SAFETY: passed on to the caller.
    unsafe { fold_states(simt, op, states, states_of_row.into(), out.start.cast(), rows.count) }
}

/// The entry that folds states of a kind: `scaled` of exponentials, `moments`, `sum`, `sums` of two, `weighted` exponentials.
#[must_use]
pub fn find_states(kind: &str) -> Option<&'static Entry> {
    ENTRIES
        .iter()
        .find(|entry| entry.name.strip_prefix("row_states_") == Some(kind))
}

/// The entry that sums columns, of elements of a type.
#[must_use]
pub fn find_columns(element: Type) -> Option<&'static Entry> {
    Floats::of(element)?;
    let name = if element.bytes() == 2 {
        "norm_column_gradient_b16"
    } else {
        "norm_column_gradient_b32"
    };
    ENTRIES
        .iter()
        .find(|entry| entry.name == name && Floats::of(element).is_some())
}

/// The entry of an operation for elements of a type; none if it is not built.
#[must_use]
pub fn find(op: &str, element: Type, way: Way) -> Option<&'static Entry> {
    let element = if element == Type::F16 && !way.is_plain() {
        Type::Bf16
    } else {
        element
    };
    ENTRIES.iter().find(|entry| {
        let infix = entry.name.strip_prefix(op);
        entry.element == element && infix.is_some_and(|rest| rest.starts_with(way.infix()))
    })
}

/// Kernels of row operations, each with the threads of its largest block and how many of those a multiprocessor has at least: of f32, and of 16 bits. In place of the former `short`
/// kernels, whose blocks are all of 128 threads, have how many of those.
macro_rules! points {
    ($($op:ident: $operation:ty, $(short [$short:literal $short_16:literal],)? leaf [$leaf:literal $leaf_16:literal], any [$any:literal $any_16:literal] $(, added [$added:literal $added_16:literal])? $(, known [$known:literal])? = |$params:ident| $value:expr;)*) => {
        /// The entries.
        pub static ENTRIES: &[Entry] = &[
            states::<Softmax>("row_states_scaled"),
            states::<LayerNorm>("row_states_moments"),
            states::<RmsNorm>("row_states_sum"),
            states::<NormGradient>("row_states_sums"),
            states::<CrossEntropy>("row_states_weighted"),
            columns("norm_column_gradient_b32", Type::F32),
            columns("norm_column_gradient_b16", Type::Bf16),
            $(
            $(
            points!(@entry $op $operation, "_short_f32", Type::F32, Way::Short, [128, $short]),
            points!(@entry $op $operation, "_short_f16", Type::F16, Way::Short, [128, $short_16]),
            points!(@entry $op $operation, "_short_bf16", Type::Bf16, Way::Short, [128, $short_16]),
            )?
            points!(@entry $op $operation, "_leaf_f32", Type::F32, Way::Leaf, [$leaf, 1]),
            points!(@entry $op $operation, "_leaf_f16", Type::F16, Way::Leaf, [$leaf_16, 1]),
            points!(@entry $op $operation, "_leaf_bf16", Type::Bf16, Way::Leaf, [$leaf_16, 1]),
            points!(@entry $op $operation, "_any_b32", Type::F32, Way::Any, [$any, 1]),
            points!(@entry $op $operation, "_any_b16", Type::Bf16, Way::Any, [$any_16, 1]),
            points!(@entry $op $operation, "_apart_b32", Type::F32, Way::Apart, [256, 3]),
            points!(@entry $op $operation, "_apart_b16", Type::Bf16, Way::Apart, [256, 3]),
            $(
            points!(@entry $op $operation, "_added_b32", Type::F32, Way::Added, [$added, 1]),
            points!(@entry $op $operation, "_added_b16", Type::Bf16, Way::Added, [$added_16, 1]),
            )?
            $(
            points!(@entry $op $operation, "_known_b32", Type::F32, Way::Known, [128, $known]),
            points!(@entry $op $operation, "_known_b16", Type::Bf16, Way::Known, [128, $known]),
            )?
            )*
        ];

        points!(@point "row_states_scaled", arguments, |params, simt, passed| states_of(simt, Softmax { scale: params.scale(), zero_if_masked: false }, passed));
        points!(@point "row_states_moments", arguments, |_params, simt, passed| states_of(simt, LayerNorm { epsilon: 0.0 }, passed));
        points!(@point "row_states_sum", arguments, |_params, simt, passed| states_of(simt, RmsNorm { epsilon: 0.0, plus: 0.0 }, passed));
        points!(@point "row_states_sums", arguments, |_params, simt, passed| states_of(simt, NormGradient { centers: false, plus: 0.0 }, passed));
        points!(@point "row_states_weighted", arguments, |_params, simt, passed| states_of(simt, CrossEntropy::new(0.0, 0.0, 0.0), passed));
        points!(@point "norm_column_gradient_b32", arguments, |_params, simt, passed| sum_columns::<_, u32>(simt, NormGradient { centers: true, plus: -0.0 }, passed));
        points!(@point "norm_column_gradient_b16", arguments, |_params, simt, passed| sum_columns::<_, u16>(simt, NormGradient { centers: true, plus: -0.0 }, passed));

        $(
            $(
            points!(@point concat!(stringify!($op), "_short_f32"), plain_arguments, |$params, simt, passed| { const _: u32 = $short; map_short::<_, f32, _>(simt, $value, passed) });
            points!(@point concat!(stringify!($op), "_short_f16"), plain_arguments, |$params, simt, passed| { const _: u32 = $short; map_short::<_, f16, _>(simt, $value, passed) });
            points!(@point concat!(stringify!($op), "_short_bf16"), plain_arguments, |$params, simt, passed| { const _: u32 = $short; map_short::<_, bf16, _>(simt, $value, passed) });
            )?
            points!(@point concat!(stringify!($op), "_leaf_f32"), plain_arguments, |$params, simt, passed| map_leaves::<_, f32, _, _>(simt, $value, passed, Plain));
            points!(@point concat!(stringify!($op), "_leaf_f16"), plain_arguments, |$params, simt, passed| map_leaves::<_, f16, _, _>(simt, $value, passed, Plain));
            points!(@point concat!(stringify!($op), "_leaf_bf16"), plain_arguments, |$params, simt, passed| map_leaves::<_, bf16, _, _>(simt, $value, passed, Plain));
            points!(@point concat!(stringify!($op), "_any_b32"), arguments, |$params, simt, passed| map_leaves::<_, u32, _, _>(simt, $value, passed, Any));
            points!(@point concat!(stringify!($op), "_any_b16"), arguments, |$params, simt, passed| map_leaves::<_, u16, _, _>(simt, $value, passed, Any));
            points!(@point concat!(stringify!($op), "_apart_b32"), arguments, |$params, simt, passed| map_apart::<_, u32, _>(simt, $value, passed));
            points!(@point concat!(stringify!($op), "_apart_b16"), arguments, |$params, simt, passed| map_apart::<_, u16, _>(simt, $value, passed));
            $(
            points!(@point concat!(stringify!($op), "_added_b32"), arguments, |$params, simt, passed| { const _: u32 = $added; map_leaves::<_, u32, _, _>(simt, $value, passed, Added) });
            points!(@point concat!(stringify!($op), "_added_b16"), arguments, |$params, simt, passed| { const _: u32 = $added; map_leaves::<_, u16, _, _>(simt, $value, passed, Added) });
            )?
            $(
            points!(@point concat!(stringify!($op), "_known_b32"), arguments, |$params, simt, passed| { const _: u32 = $known; note_rows::<_, u32, _>(simt, $value, passed) });
            points!(@point concat!(stringify!($op), "_known_b16"), arguments, |$params, simt, passed| { const _: u32 = $known; note_rows::<_, u16, _>(simt, $value, passed) });
            )?
        )*
    };
    (@entry $op:ident $operation:ty, $rest:literal, $element:expr, $way:expr, $room:expr) => {
        entry::<$operation>(stringify!($op), concat!(stringify!($op), $rest), $element, $way, $room)
    };
    (@point $name:expr, $arguments:ident, |$params:ident, $simt:ident, $passed:ident| $call:expr) => {
        #[cfg(all(
            target_arch = "nvptx64",
            feature = "entries",
            any(not(warpfold_part), warpfold_part = "rows")
        ))]
        const _: () = {
            crate::kernel! {
                /// One of the kernels above.
                ///
                /// # Safety
                ///
                /// As the kernel's.
                #[unsafe(export_name = $name)]
                pub unsafe fn entry(launch: RowLaunch) {
                    let ($params, $simt, $passed) = (launch.params(), crate::simt::nvptx::Nvptx, launch.$arguments());
                    // SAFETY: passed on to the launcher.
                    unsafe { $call }
                }
            }
        };
    };
}

points! {
    softmax: Softmax, short [8 7], leaf [1024 1024], any [1024 1024], added [1024 640], known [4]
        = |params| Softmax { scale: params.scale(), zero_if_masked: params.flag };
    log_softmax: LogSoftmax, short [8 8], leaf [1024 1024], any [1024 1024], added [1024 640]
        = |params| LogSoftmax { scale: params.scale() };
    layer_norm: LayerNorm, short [8 7], leaf [1024 1024], any [1024 896]
        = |params| LayerNorm { epsilon: params.numbers[0] };
    rms_norm: RmsNorm, short [8 8], leaf [1024 1024], any [1024 1024]
        = |params| RmsNorm { epsilon: params.numbers[0], plus: params.numbers[1] };
    cross_entropy: CrossEntropy, leaf [896 896], any [1024 896], known [4]
        = |params| CrossEntropy::new(params.numbers[0], params.numbers[1], params.numbers[3]);
    softmax_gradient: SoftmaxGradient, short [8 8], leaf [1024 1024], any [1024 1024]
        = |params| SoftmaxGradient { scale: params.numbers[0] };
    log_softmax_gradient: LogSoftmaxGradient, short [8 8], leaf [1024 1024], any [1024 1024]
        = |params| LogSoftmaxGradient { scale: params.numbers[0] };
    norm_gradient: NormGradient, short [7 5], leaf [1024 1024], any [1024 896]
        = |params| NormGradient { centers: params.flag, plus: params.numbers[1] };
}
