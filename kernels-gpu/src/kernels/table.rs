//! The one list of what is built: each operator, by the number that its launch passes, and the types of elements it is built
//! for, each with the registers it needs.

use super::{Entry, FULL, HEAVY, Kernel, LIGHT, WIDE};
use crate::{
    element::{bf16, f16},
    monoids::{
        All, Any, Arg, CountInf, CountNan, CountNonzero, Describe, Extremum, Kurtosis, LogSumExp, Mean, MeanVariance,
        NormInf, NormL1, NormL2, NormLp, Product, Skewness, StdDev, Sum, SumOfSquares, Variance,
    },
};

macro_rules! table {
    (
        $($op:ident: $monoid:ty = |$parameter:pat_param| $value:expr, { $($element:ident: $room:ident),* $(,)? };)*
        [whole arrays alone]
        $($whole_op:ident: $whole_monoid:ty = |$whole_parameter:pat_param| $whole_value:expr, {
            $($whole_element:ident: $whole_room:ident),* $(,)?
        };)*
    ) => {
        /// Every entry point.
        pub static ENTRIES: &[Entry] = &[$($(
            Entry::new::<$element, $monoid>(Kernel::All, $room, table!(@names $op, "", $element)),
            Entry::new::<$element, $monoid>(Kernel::Small, $room, table!(@names $op, "_small", $element)),
            Entry::new::<$element, $monoid>(Kernel::Rows, $room, table!(@names $op, "_rows", $element)),
            Entry::new::<$element, $monoid>(Kernel::Strided, $room, table!(@names $op, "_strided", $element)),
            Entry::new::<$element, $monoid>(Kernel::Segments, $room, table!(@names $op, "_segments", $element)),
        )*)* $($(
            Entry::new::<$whole_element, $whole_monoid>(
                Kernel::All,
                $whole_room,
                table!(@names $whole_op, "", $whole_element),
            ),
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
        $($(
            reduce_entries!(
                @entry All, concat!(stringify!($whole_op), "_", stringify!($whole_element)), $whole_element,
                $whole_parameter, $whole_value
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
    sum: Sum = |_| Sum, {
        f32: LIGHT, f64: HEAVY, f16: WIDE, bf16: WIDE,
        i8: WIDE, i16: WIDE, i32: WIDE, i64: HEAVY, u8: WIDE, u16: WIDE, u32: WIDE, u64: HEAVY, bool: WIDE,
    };
    mean: Mean = |_| Mean, {
        f32: LIGHT, f64: HEAVY, f16: WIDE, bf16: WIDE,
        i8: WIDE, i16: WIDE, i32: WIDE, i64: HEAVY, u8: WIDE, u16: WIDE, u32: WIDE, u64: HEAVY, bool: WIDE,
    };
    product: Product = |_| Product, {
        f32: LIGHT, f64: HEAVY, f16: WIDE, bf16: WIDE,
        i8: WIDE, i16: WIDE, i32: HEAVY, i64: HEAVY, u8: WIDE, u16: WIDE, u32: HEAVY, u64: HEAVY, bool: WIDE,
    };
    extremum: Extremum = |parameter| Extremum::of_parameter(parameter), {
        f32: HEAVY, f64: WIDE, f16: WIDE, bf16: WIDE,
        i8: WIDE, i16: WIDE, i32: HEAVY, i64: HEAVY, u8: WIDE, u16: WIDE, u32: HEAVY, u64: HEAVY, bool: WIDE,
    };
    arg: Arg = |parameter| Arg::of_parameter(parameter), {
        f32: HEAVY, f64: WIDE, f16: WIDE, bf16: WIDE,
        i8: WIDE, i16: WIDE, i32: HEAVY, i64: WIDE, u8: WIDE, u16: WIDE, u32: HEAVY, u64: WIDE, bool: WIDE,
    };
    min_max: (Extremum, Extremum) = |_| (Extremum::SMALLEST, Extremum::LARGEST), {
        f32: HEAVY, f64: WIDE, f16: FULL, bf16: FULL,
        i8: WIDE, i16: WIDE, i32: HEAVY, i64: WIDE, u8: WIDE, u16: WIDE, u32: HEAVY, u64: WIDE,
    };
    argmin_argmax: (Arg, Arg) = |_| (Arg::SMALLEST, Arg::LARGEST), {
        f32: WIDE, f64: WIDE, f16: FULL, bf16: FULL,
        i8: FULL, i16: FULL, i32: WIDE, i64: WIDE, u8: FULL, u16: FULL, u32: WIDE, u64: WIDE,
    };
    log_sum_exp: LogSumExp = |_| LogSumExp, { f32: HEAVY, f64: FULL, f16: WIDE, bf16: WIDE };
    variance: Variance = |parameter| Variance { correction: f64::from_bits(parameter) }, { f32: WIDE, f64: WIDE };
    std: StdDev = |parameter| StdDev { correction: f64::from_bits(parameter) }, { f32: WIDE, f64: WIDE };
    mean_variance: MeanVariance = |parameter| MeanVariance { correction: f64::from_bits(parameter) }, { f32: WIDE, f64: WIDE };
    skewness: Skewness = |_| Skewness {}, { f32: FULL, f64: FULL };
    kurtosis: Kurtosis = |_| Kurtosis {}, { f32: FULL, f64: FULL };
    norm_lp: NormLp = |parameter| NormLp { p: f64::from_bits(parameter) }, { f32: FULL, f64: FULL };
    norm_l1: NormL1 = |_| NormL1, { f32: LIGHT, f64: HEAVY, f16: WIDE, bf16: WIDE };
    norm_l2: NormL2 = |_| NormL2, { f32: HEAVY, f64: HEAVY, f16: FULL, bf16: FULL };
    norm_inf: NormInf = |_| NormInf, { f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE };
    sum_of_squares: SumOfSquares = |_| SumOfSquares, { f32: HEAVY, f64: HEAVY, f16: FULL, bf16: FULL };
    count_nonzero: CountNonzero = |_| CountNonzero, {
        f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE,
        i8: FULL, i16: WIDE, i32: HEAVY, i64: HEAVY, u8: FULL, u16: WIDE, u32: HEAVY, u64: HEAVY, bool: FULL,
    };
    count_nan: CountNan = |_| CountNan, { f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE };
    count_inf: CountInf = |_| CountInf, { f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE };
    any: Any = |_| Any, {
        f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE,
        i8: WIDE, i16: WIDE, i32: HEAVY, i64: HEAVY, u8: WIDE, u16: WIDE, u32: HEAVY, u64: HEAVY, bool: WIDE,
    };
    all: All = |_| All, {
        f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE,
        i8: WIDE, i16: WIDE, i32: HEAVY, i64: HEAVY, u8: WIDE, u16: WIDE, u32: HEAVY, u64: HEAVY, bool: WIDE,
    };
    // States of 26 and 30 words, and so much code to combine two that one kernel of each type is enough.
    [whole arrays alone]
    describe: Describe = |parameter| Describe { correction: f64::from_bits(parameter) }, {
        f32: FULL, f64: FULL,
    };
}
