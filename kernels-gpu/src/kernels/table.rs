//! The one list of what is built: each operator, by the number that its launch passes, and the types of elements it is built
//! for, each with the registers it needs.

use crate::entries;
use crate::{
    element::{bf16, complex32, complex64, f8e4m3, f8e5m2, f16},
    monoids::{
        All, Any, Arg, BitAnd, BitOr, BitXor, Compensated, Cosine, CountInf, CountNan, CountNonzero, CountedMean,
        Describe, Dot, Exact, Extremum, IgnoreNan, Kurtosis, LogSumExp, Mean, MeanVariance, NormInf, NormL1, NormL2,
        NormLp, Product, Skewness, StdDev, Sum, SumOfSquares, Variance, Wide,
    },
};

entries! {
    ptx: None, entry points if feature = "entries", of other elements if all(feature = "entries", not(warpfold_sample));
    sum: Sum = |_| Sum, {
        f32: LIGHT, f64: HEAVY, f16: WIDE, bf16: WIDE,
        i8: WIDE, i16: WIDE, i32: WIDE, u8: WIDE, u16: WIDE, u32: WIDE, u64: HEAVY,
        f8e4m3: FULL, f8e5m2: FULL,
        complex32: WIDE, complex64: WIDE,
    };
    mean: Mean = |_| Mean, {
        f32: LIGHT, f64: HEAVY, f16: WIDE, bf16: WIDE,
        i8: WIDE, i16: WIDE, i32: WIDE, i64: HEAVY, u8: WIDE, u16: WIDE, u32: WIDE, u64: HEAVY,
        f8e4m3: FULL, f8e5m2: FULL,
        complex32: WIDE, complex64: WIDE,
    };
    sum_compensated: Compensated<Sum> = |_| Compensated(Sum), { f32: HEAVY, f64: HEAVY };
    mean_compensated: Compensated<Mean> = |_| Compensated(Mean), { f32: HEAVY, f64: HEAVY };
    sum_wide: Wide<Sum> = |_| Wide(Sum), { f32: HEAVY, f16: FULL, bf16: FULL };
    mean_wide: Wide<Mean> = |_| Wide(Mean), { f32: HEAVY, f16: FULL, bf16: FULL };
    sum_exact: Exact<Sum> = |_| Exact(Sum), { f32: WIDE };
    mean_exact: Exact<Mean> = |_| Exact(Mean), { f32: WIDE };
    product: Product = |_| Product, {
        f32: LIGHT, f64: HEAVY, f16: WIDE, bf16: WIDE,
        i8: WIDE, i16: WIDE, i32: HEAVY, u8: WIDE, u16: WIDE, u32: HEAVY, u64: HEAVY,
    };
    extremum: Extremum = |parameter| Extremum::of_parameter(parameter), {
        f32: HEAVY, f64: WIDE, f16: WIDE, bf16: WIDE,
        i8: WIDE, i16: WIDE, i32: HEAVY, i64: HEAVY, u8: WIDE, u16: WIDE, u32: HEAVY, u64: HEAVY, bool: WIDE,
        f8e4m3: FULL, f8e5m2: FULL,
    };
    arg: Arg = |parameter| Arg::of_parameter(parameter), {
        f32: HEAVY, f64: WIDE, f16: WIDE, bf16: WIDE,
        i8: WIDE, i16: WIDE, i32: HEAVY, i64: WIDE, u8: WIDE, u16: WIDE, u32: HEAVY, u64: WIDE, bool: WIDE,
        f8e4m3: FULL, f8e5m2: FULL,
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
    skewness: Skewness = |_| Skewness {}, { f32: DEEP, f64: DEEP };
    kurtosis: Kurtosis = |_| Kurtosis {}, { f32: DEEP, f64: DEEP };
    norm_lp: NormLp = |parameter| NormLp { p: f64::from_bits(parameter) }, { f32: FULL, f64: FULL };
    norm_l1: NormL1 = |_| NormL1, { f32: LIGHT, f64: HEAVY, f16: WIDE, bf16: WIDE };
    norm_l2: NormL2 = |_| NormL2, {
        f32: HEAVY, f64: HEAVY, f16: FULL, bf16: FULL,
        complex32: WIDE, complex64: WIDE,
    };
    norm_inf: NormInf = |_| NormInf, {
        f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE, f8e4m3: FULL, f8e5m2: FULL,
        complex32: WIDE, complex64: WIDE,
    };
    sum_of_squares: SumOfSquares = |_| SumOfSquares, { f32: HEAVY, f64: HEAVY, f16: FULL, bf16: FULL };
    count_nonzero: CountNonzero = |_| CountNonzero, {
        f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE,
        u8: FULL, u16: WIDE, u32: HEAVY, u64: HEAVY,
    };
    count_nan: CountNan = |_| CountNan, { f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE, f8e4m3: FULL, f8e5m2: FULL };
    count_inf: CountInf = |_| CountInf, { f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE };
    any: Any = |_| Any, {
        f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE,
        u8: WIDE, u16: WIDE, u32: HEAVY, u64: HEAVY,
    };
    all: All = |_| All, {
        f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE,
        u8: WIDE, u16: WIDE, u32: HEAVY, u64: HEAVY,
    };
    bit_and: BitAnd = |_| BitAnd, {
        u8: WIDE, u16: WIDE, u32: HEAVY, u64: HEAVY,
    };
    bit_or: BitOr = |_| BitOr, {
        u8: WIDE, u16: WIDE, u32: HEAVY, u64: HEAVY,
    };
    bit_xor: BitXor = |_| BitXor, {
        u8: WIDE, u16: WIDE, u32: HEAVY, u64: HEAVY,
    };
    sum_ignore_nan: IgnoreNan<Sum> = |_| IgnoreNan(Sum), { f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE };
    product_ignore_nan: IgnoreNan<Product> = |_| IgnoreNan(Product), { f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE };
    mean_ignore_nan: IgnoreNan<CountedMean> = |_| IgnoreNan(CountedMean), { f32: WIDE, f64: WIDE, f16: FULL, bf16: FULL };
    extremum_ignore_nan: IgnoreNan<Extremum> = |parameter| IgnoreNan(Extremum::of_parameter(parameter)), {
        f32: HEAVY, f64: WIDE, f16: WIDE, bf16: WIDE,
    };
    arg_ignore_nan: IgnoreNan<Arg> = |parameter| IgnoreNan(Arg::of_parameter(parameter)), {
        f32: WIDE, f64: WIDE, f16: WIDE, bf16: FULL,
    };
    variance_ignore_nan: IgnoreNan<Variance> = |parameter| IgnoreNan(Variance { correction: f64::from_bits(parameter) }), {
        f32: DEEP, f64: FULL,
    };
    std_ignore_nan: IgnoreNan<StdDev> = |parameter| IgnoreNan(StdDev { correction: f64::from_bits(parameter) }), {
        f32: DEEP, f64: FULL,
    };
    [of two arrays]
    dot: Dot = |_| Dot, { f32: WIDE, f64: WIDE, f16: FULL, bf16: WIDE };
    cosine: Cosine = |_| Cosine, { f32: FULL, f64: WIDE };
    // States of 26 and 30 words, and so much code to combine two that one kernel of each type is enough.
    [whole arrays alone]
    describe: Describe = |parameter| Describe { correction: f64::from_bits(parameter) }, {
        f32: FULL, f64: FULL,
    };
}
