//! The entries, and their entry points.

use super::Way;
#[cfg(target_arch = "nvptx64")]
use super::{RowLaunch, fold_states, map_apart, map_leaves, map_short, sum_columns};
use crate::{
    element::Type,
    kernels::{Entry, Kernel, LIBRARY},
    monoids::{Algebra, Words},
    rowwise::{
        CrossEntropy, LayerNorm, LogSoftmax, LogSoftmaxGradient, NormGradient, RmsNorm, RowOp, Softmax,
        SoftmaxGradient, Value,
    },
    stages::strategy::Strategy,
};

/// The part of the build that has them: newer architectures round and meet by instructions of their own.
const PART: &str = "rows";

/// How the name of an operation's kernels ends that add another array.
const ADDED: &str = "_added";

/// What the build knows of an entry, of elements of 16 bits or of f32: those of 16 bits are called bf16, and may be f16. Its block has so many threads at most, and a multiprocessor
/// so many blocks at least: what leaves it as many registers as it needs.
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
        barriers: matches!(way, Way::Leaf) as u32,
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
    find("norm_column_gradient", element, Way::Short)
}

/// The kernels of an operation of which another array is added to the first; none if it has none.
#[must_use]
pub fn added(op: &str) -> Option<&'static str> {
    let mut ops = ENTRIES.iter().map(|entry| entry.op);
    ops.find(|name| name.strip_suffix(ADDED) == Some(op))
}

/// The entry of an operation for elements of a type; none if it is not built.
#[must_use]
pub fn find(op: &str, element: Type, way: Way) -> Option<&'static Entry> {
    // Elements that lie apart are read one by one: what is added is one of several cases.
    let op = if way == Way::Apart {
        op.strip_suffix(ADDED).unwrap_or(op)
    } else {
        op
    };
    let element = match element {
        Type::F16 => Type::Bf16,
        element => element,
    };
    let mut of_op = ENTRIES
        .iter()
        .filter(|entry| entry.op == op && entry.element == element);
    of_op.nth(Way::ALL.iter().position(|other| *other == way)?)
}

macro_rules! points {
    ($($op:ident: $operation:ty, short [$short:literal $short_half:literal], leaf [$leaf:literal $leaf_half:literal] = |$params:ident| $value:expr, [$($wide:literal)*] [$($half:literal)*] $(, added $added:literal [$short_wide:literal $leaf_wide:literal $short_16:literal $leaf_16:literal])?;)*) => {
        /// The entries: operation by operation, each of f32 and of 16 bits, as [`Way::ALL`] has them.
        pub static ENTRIES: [Entry; 7 + 6 * 8 + 4 * 2] = [
            states::<Softmax>("row_states_scaled"),
            states::<LayerNorm>("row_states_moments"),
            states::<RmsNorm>("row_states_sum"),
            states::<NormGradient>("row_states_sums"),
            states::<CrossEntropy>("row_states_weighted"),
            columns("norm_column_gradient_b32", Type::F32),
            columns("norm_column_gradient_b16", Type::Bf16),
            $(
            entry::<$operation>(stringify!($op), points!(@name 0 $($wide)*), Type::F32, Way::Short, [128, $short]),
            entry::<$operation>(stringify!($op), points!(@name 1 $($wide)*), Type::F32, Way::Leaf, [$leaf, 1]),
            entry::<$operation>(stringify!($op), points!(@name 2 $($wide)*), Type::F32, Way::Apart, [256, 3]),
            entry::<$operation>(stringify!($op), points!(@name 0 $($half)*), Type::Bf16, Way::Short, [128, $short_half]),
            entry::<$operation>(stringify!($op), points!(@name 1 $($half)*), Type::Bf16, Way::Leaf, [$leaf_half, 1]),
            entry::<$operation>(stringify!($op), points!(@name 2 $($half)*), Type::Bf16, Way::Apart, [256, 3]),
            $(
            entry::<$operation>($added, $short_wide, Type::F32, Way::Short, [128, 7]),
            entry::<$operation>($added, $leaf_wide, Type::F32, Way::Leaf, [1024, 1]),
            entry::<$operation>($added, $short_16, Type::Bf16, Way::Short, [128, 4]),
            entry::<$operation>($added, $leaf_16, Type::Bf16, Way::Leaf, [640, 1]),
            )?
            )*
        ];

        points!(@point all(), |params| Softmax { scale: params.scale(), zero_if_masked: false }, states_of, "row_states_scaled");
        points!(@point all(), |_params| LayerNorm { epsilon: 0.0 }, states_of, "row_states_moments");
        points!(@point all(), |_params| RmsNorm { epsilon: 0.0, plus: 0.0 }, states_of, "row_states_sum");
        points!(@point all(), |_params| NormGradient { centers: false, plus: 0.0 }, states_of, "row_states_sums");
        points!(@point all(), |_params| CrossEntropy::new(0.0, 0.0, 0.0), states_of, "row_states_weighted");
        points!(@point all(), |_params| NormGradient { centers: true, plus: -0.0 }, sum_columns::<_, u32>, "norm_column_gradient_b32");
        points!(@point all(), |_params| NormGradient { centers: true, plus: -0.0 }, sum_columns::<_, u16>, "norm_column_gradient_b16");

        $(
            points!(@point all(), |$params| $value, map_short::<_, u32, _, false>, points!(@name 0 $($wide)*));
            points!(@point all(), |$params| $value, map_leaves::<_, u32, _, false>, points!(@name 1 $($wide)*));
            points!(@point all(), |$params| $value, map_apart::<_, u32, _>, points!(@name 2 $($wide)*));
            points!(@point all(), |$params| $value, map_short::<_, u16, _, false>, points!(@name 0 $($half)*));
            points!(@point all(), |$params| $value, map_leaves::<_, u16, _, false>, points!(@name 1 $($half)*));
            points!(@point all(), |$params| $value, map_apart::<_, u16, _>, points!(@name 2 $($half)*));
            $(
            points!(@point all(), |$params| $value, map_short::<_, u32, _, true>, $short_wide);
            points!(@point all(), |$params| $value, map_leaves::<_, u32, _, true>, $leaf_wide);
            points!(@point all(), |$params| $value, map_short::<_, u16, _, true>, $short_16);
            points!(@point all(), |$params| $value, map_leaves::<_, u16, _, true>, $leaf_16);
            )?
        )*
    };
    (@name 0 $a:literal $b:literal $c:literal) => { $a };
    (@name 1 $a:literal $b:literal $c:literal) => { $b };
    (@name 2 $a:literal $b:literal $c:literal) => { $c };
    (@point $when:meta, |$params:ident| $value:expr, $kernel:expr, $name:expr) => {
        #[cfg(all(
            target_arch = "nvptx64",
            feature = "entries",
            any(not(warpfold_part), warpfold_part = "rows"),
            $when
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
                    let $params = launch.params();
                    // SAFETY: passed on to the launcher.
                    unsafe { $kernel(crate::simt::nvptx::Nvptx, $value, launch.arguments()) }
                }
            }
        };
    };
}

points! {
    softmax: Softmax, short [8 7], leaf [1024 1024] = |params| Softmax { scale: params.scale(), zero_if_masked: params.flag },
        ["softmax_short_b32" "softmax_leaf_b32" "softmax_apart_b32"] ["softmax_short_b16" "softmax_leaf_b16" "softmax_apart_b16"],
        added "softmax_added" ["softmax_added_short_b32" "softmax_added_leaf_b32" "softmax_added_short_b16" "softmax_added_leaf_b16"];
    log_softmax: LogSoftmax, short [8 7], leaf [1024 1024] = |params| LogSoftmax { scale: params.scale() },
        ["log_softmax_short_b32" "log_softmax_leaf_b32" "log_softmax_apart_b32"] ["log_softmax_short_b16" "log_softmax_leaf_b16" "log_softmax_apart_b16"],
        added "log_softmax_added" ["log_softmax_added_short_b32" "log_softmax_added_leaf_b32" "log_softmax_added_short_b16" "log_softmax_added_leaf_b16"];
    layer_norm: LayerNorm, short [8 6], leaf [1024 1024] = |params| LayerNorm { epsilon: params.numbers[0] },
        ["layer_norm_short_b32" "layer_norm_leaf_b32" "layer_norm_apart_b32"] ["layer_norm_short_b16" "layer_norm_leaf_b16" "layer_norm_apart_b16"];
    rms_norm: RmsNorm, short [8 7], leaf [1024 1024] = |params| RmsNorm { epsilon: params.numbers[0], plus: params.numbers[1] },
        ["rms_norm_short_b32" "rms_norm_leaf_b32" "rms_norm_apart_b32"] ["rms_norm_short_b16" "rms_norm_leaf_b16" "rms_norm_apart_b16"];
    cross_entropy: CrossEntropy, short [4 4], leaf [1024 896] = |params| CrossEntropy::new(params.numbers[0], params.numbers[1], params.numbers[3]),
        ["cross_entropy_short_b32" "cross_entropy_leaf_b32" "cross_entropy_apart_b32"] ["cross_entropy_short_b16" "cross_entropy_leaf_b16" "cross_entropy_apart_b16"];
    softmax_gradient: SoftmaxGradient, short [8 8], leaf [1024 1024] = |params| SoftmaxGradient { scale: params.numbers[0] },
        ["softmax_gradient_short_b32" "softmax_gradient_leaf_b32" "softmax_gradient_apart_b32"] ["softmax_gradient_short_b16" "softmax_gradient_leaf_b16" "softmax_gradient_apart_b16"];
    log_softmax_gradient: LogSoftmaxGradient, short [8 8], leaf [1024 1024] = |params| LogSoftmaxGradient { scale: params.numbers[0] },
        ["log_softmax_gradient_short_b32" "log_softmax_gradient_leaf_b32" "log_softmax_gradient_apart_b32"] ["log_softmax_gradient_short_b16" "log_softmax_gradient_leaf_b16" "log_softmax_gradient_apart_b16"];
    norm_gradient: NormGradient, short [7 5], leaf [1024 896] = |params| NormGradient { centers: params.flag, plus: params.numbers[1] },
        ["norm_gradient_short_b32" "norm_gradient_leaf_b32" "norm_gradient_apart_b32"] ["norm_gradient_short_b16" "norm_gradient_leaf_b16" "norm_gradient_apart_b16"];
}
