//! The entries, and their entry points.

use super::Way;
#[cfg(target_arch = "nvptx64")]
use super::{RowLaunch, fold_states, map_apart, map_leaves, map_short};
use crate::{
    element::{Element, Type, bf16, f16},
    kernels::{Entry, Kernel, LIBRARY},
    monoids::{Algebra, Words},
    rowwise::{LayerNorm, LogSoftmax, RmsNorm, RowOp, Softmax},
    stages::strategy::Strategy,
};

/// The part of the build that has them: newer architectures round and meet by instructions of their own.
const PART: &str = "rows";

/// What the build knows of an entry.
const fn entry<T: Element, O: RowOp>(op: &'static str, name: &'static str, way: Way, blocks: u32) -> Entry {
    // Warps that have a row together are one block.
    let max_threads = if matches!(way, Way::Leaf) { 512 } else { 256 };
    Entry {
        library: &LIBRARY,
        name,
        op,
        also: None,
        part: PART,
        element: T::TYPE,
        arrays: 1,
        masked: false,
        kernel: Kernel::Row,
        state_words: O::State::COUNT,
        strategy: Strategy {
            element: T::TYPE,
            arrays: 1,
            masked: false,
            words: O::State::COUNT,
            algebra: Algebra::PLAIN,
        },
        answer_words: 2,
        answer_bytes: 8,
        max_threads,
        min_blocks: Some(blocks),
        fuses: true,
        barriers: matches!(way, Way::Half | Way::Leaf) as u32,
    }
}

/// The entry that folds states, which are those of an operation.
const fn states<O: RowOp>(name: &'static str) -> Entry {
    Entry {
        max_threads: 256,
        min_blocks: Some(4),
        ..entry::<f32, O>(name, name, Way::Short, 4)
    }
}

/// Of states, where a launch passes arguments for elements.
///
/// # Safety
///
/// As [`fold_states`].
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn states_of<S: crate::simt::Simt, O: RowOp>(simt: S, op: O, arguments: super::Arguments<f32>) {
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

/// The entry that folds states of a kind: `scaled` of exponentials, `moments`, `sum`.
#[must_use]
pub fn find_states(kind: &str) -> Option<&'static Entry> {
    ENTRIES
        .iter()
        .find(|entry| entry.name.strip_prefix("row_states_") == Some(kind))
}

/// The entry of an operation for elements of a type; none if it is not built.
#[must_use]
pub fn find(op: &str, element: Type, way: Way) -> Option<&'static Entry> {
    let mut of_op = ENTRIES
        .iter()
        .filter(|entry| entry.op == op && entry.element == element);
    of_op.nth(Way::ALL.iter().position(|other| *other == way)?)
}

macro_rules! points {
    ($($op:ident: $operation:ty, blocks [$short:literal $half:literal $leaf:literal] = |$params:ident| $value:expr, {$($element:ident if $when:meta: $($name:literal)*);* $(;)?})*) => {
        /// The entries: operation by operation, each for each type of elements, as [`Way::ALL`] has them.
        pub static ENTRIES: [Entry; 51] = [
            states::<Softmax>("row_states_scaled"),
            states::<LayerNorm>("row_states_moments"),
            states::<RmsNorm>("row_states_sum"),
            $($(
            entry::<$element, $operation>(stringify!($op), points!(@name 0 $($name)*), Way::Short, $short),
            entry::<$element, $operation>(stringify!($op), points!(@name 1 $($name)*), Way::Half, $half),
            entry::<$element, $operation>(stringify!($op), points!(@name 2 $($name)*), Way::Leaf, $leaf),
            entry::<$element, $operation>(stringify!($op), points!(@name 3 $($name)*), Way::Apart, 3),
        )*)*];

        points!(@point all(), |params| Softmax { scale: params.scale(), zero_if_masked: false }, states_of, "row_states_scaled");
        points!(@point all(), |_params| LayerNorm { epsilon: 0.0 }, states_of, "row_states_moments");
        points!(@point all(), |_params| RmsNorm { epsilon: 0.0, plus: 0.0 }, states_of, "row_states_sum");

        $($(
            points!(@point $when, |$params| $value, map_short::<_, $element, _>, points!(@name 0 $($name)*));
            points!(@point $when, |$params| $value, map_leaves::<_, $element, _, 4>, points!(@name 1 $($name)*));
            points!(@point $when, |$params| $value, map_leaves::<_, $element, _, 8>, points!(@name 2 $($name)*));
            points!(@point $when, |$params| $value, map_apart::<_, $element, _>, points!(@name 3 $($name)*));
        )*)*
    };
    (@name 0 $a:literal $b:literal $c:literal $d:literal) => { $a };
    (@name 1 $a:literal $b:literal $c:literal $d:literal) => { $b };
    (@name 2 $a:literal $b:literal $c:literal $d:literal) => { $c };
    (@name 3 $a:literal $b:literal $c:literal $d:literal) => { $d };
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
    softmax: Softmax, blocks [2 3 1] = |params| Softmax { scale: params.scale(), zero_if_masked: params.flag }, {
        f32 if all(): "softmax_short_f32" "softmax_half_f32" "softmax_leaf_f32" "softmax_apart_f32";
        f16 if not(warpfold_sample): "softmax_short_f16" "softmax_half_f16" "softmax_leaf_f16" "softmax_apart_f16";
        bf16 if all(): "softmax_short_bf16" "softmax_half_bf16" "softmax_leaf_bf16" "softmax_apart_bf16";
    }
    log_softmax: LogSoftmax, blocks [2 3 1] = |params| LogSoftmax { scale: params.scale() }, {
        f32 if all(): "log_softmax_short_f32" "log_softmax_half_f32" "log_softmax_leaf_f32" "log_softmax_apart_f32";
        f16 if not(warpfold_sample): "log_softmax_short_f16" "log_softmax_half_f16" "log_softmax_leaf_f16" "log_softmax_apart_f16";
        bf16 if all(): "log_softmax_short_bf16" "log_softmax_half_bf16" "log_softmax_leaf_bf16" "log_softmax_apart_bf16";
    }
    layer_norm: LayerNorm, blocks [2 2 1] = |params| LayerNorm { epsilon: params.numbers[0] }, {
        f32 if all(): "layer_norm_short_f32" "layer_norm_half_f32" "layer_norm_leaf_f32" "layer_norm_apart_f32";
        f16 if not(warpfold_sample): "layer_norm_short_f16" "layer_norm_half_f16" "layer_norm_leaf_f16" "layer_norm_apart_f16";
        bf16 if all(): "layer_norm_short_bf16" "layer_norm_half_bf16" "layer_norm_leaf_bf16" "layer_norm_apart_bf16";
    }
    rms_norm: RmsNorm, blocks [2 3 1] = |params| RmsNorm { epsilon: params.numbers[0], plus: params.numbers[1] }, {
        f32 if all(): "rms_norm_short_f32" "rms_norm_half_f32" "rms_norm_leaf_f32" "rms_norm_apart_f32";
        f16 if not(warpfold_sample): "rms_norm_short_f16" "rms_norm_half_f16" "rms_norm_leaf_f16" "rms_norm_apart_f16";
        bf16 if all(): "rms_norm_short_bf16" "rms_norm_half_bf16" "rms_norm_leaf_bf16" "rms_norm_apart_bf16";
    }
}
