//! The one list of what is built: each operator, by what its launch tells, and the types of elements it is built for, each with the
//! registers it needs.

use super::{Entry, Kernel, rowwise};
use crate::entries;
use crate::{
    element::{Type, bf16, complex32, complex64, complex128, f8e4m3, f8e5m2, f16},
    monoids::{
        Arg, BitXor, Bits, Compensated, Cosine, Count, CountedMean, Describe, Dot, Either, Exact, Extremum, Kurtosis,
        LogSumExp, Map, Mean, MeanVariance, NormInf, NormL1, NormL2, NormLp, Product, Skewness, StdDev, StepOfParams,
        Sum, SumOfSquares, Truth, Variance, Where, WhereNumbers, Wide,
    },
};

/// The parts of the build, the dearest first. The compiler takes each by itself, with `--cfg warpfold_part="NAME"`, so that several
/// are compiled at once.
pub const PARTS: [&str; 8] = [
    "order",
    "sums",
    "statistics",
    "masks",
    "rows",
    "exponentials",
    "gradients",
    "ladder",
];

/// Whether newer architectures have instructions for an entry that the oldest has not: a maximum that keeps NaN, rounding to bf16, clusters, a launch
/// that starts early. The PTX of all others differs too little to be built twice.
#[must_use]
pub fn is_better_on_newer(entry: &Entry) -> bool {
    /// Operators whose entries of the usual floats are, but in segments.
    const OPS: [&str; 4] = ["sum", "extremum", "arg", "log_sum_exp"];
    entry.part == "rows"
        || OPS.contains(&entry.op)
            && matches!(entry.element, Type::F32 | Type::F16 | Type::Bf16)
            && entry.kernel != Kernel::Segments
}

entries! {
    ptx: None, rows: rowwise::ENTRIES;
    sums: folds of one, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "sums")) {
        (sum | mean): Either<Sum, Mean> = |params| Either::of_params(Sum, Mean, params), {
            f32: REGS_64, f64: REGS_80, f16: REGS_128, bf16: REGS_128,
            i8: REGS_128, i16: REGS_128, i32: REGS_128, i64: REGS_80, u8: REGS_128, u16: REGS_128, u32: REGS_128, u64: REGS_80,
            f8e4m3: REGS_255, f8e5m2: REGS_255, complex32: REGS_128, complex64: REGS_128, complex128: REGS_80,
        }, with small;
        (sum_mapped | mean_mapped): Map<StepOfParams<false>, Either<Sum, Mean>> = |params| Map::step(params, Either::of_params(Sum, Mean, params)), {
            f32: REGS_80, f64: REGS_80, f16: REGS_128_STRIDED_255, bf16: REGS_128_STRIDED_255,
        }, without small;
        (sum_exp | mean_exp): Map<StepOfParams<true>, Either<Sum, Mean>> = |params| Map::exp(params, Either::of_params(Sum, Mean, params)), {
            f32: REGS_80, f64: REGS_255, f16: REGS_128, bf16: REGS_128,
        }, without small;
        (sum_compensated | mean_compensated): Either<Compensated<Sum>, Compensated<Mean>> = |params| {
            Either::of_params(Compensated(Sum), Compensated(Mean), params)
        }, { f32: REGS_80, f64: REGS_80 }, without small;
        (sum_wide | mean_wide): Either<Wide<Sum>, Wide<Mean>> = |params| Either::of_params(Wide(Sum), Wide(Mean), params), {
            f32: REGS_80, f16: REGS_255, bf16: REGS_255,
        }, without small;
        product: Product = |_| Product, {
            f32: REGS_64, f64: REGS_80, f16: REGS_128, bf16: REGS_128,
            i8: REGS_168, i16: REGS_128, i32: REGS_128, u8: REGS_128_STRIDED_255, u16: REGS_128, u32: REGS_128, u64: REGS_80,
            complex32: REGS_128, complex64: REGS_128, complex128: REGS_128,
        }, with small;
        norm_lp: NormLp = |params| NormLp { p: f64::from_bits(params.number) }, { f32: REGS_255, f64: REGS_255, f16: REGS_255, bf16: REGS_255 }, without small;
        norm_l1: NormL1 = |_| NormL1, { f32: REGS_64, f64: REGS_80, f16: REGS_128, bf16: REGS_128 }, with small;
        (sum_of_squares | norm_l2): Either<SumOfSquares, NormL2> = |params| Either::of_params(SumOfSquares, NormL2, params), {
            f32: REGS_80, f64: REGS_128, f16: REGS_255, bf16: REGS_255, complex32: REGS_128_STRIDED_255, complex64: REGS_128, complex128: REGS_128,
        }, with small;
        count: Count = |params| Count::of_params(params), { u8: REGS_255, u16: REGS_128, u32: REGS_80, u64: REGS_80 }, with small;
        truth: Truth = |params| Truth::of_params(params), { u8: REGS_128, u16: REGS_168, u32: REGS_80, u64: REGS_80 }, with small;
        bits: Bits = |params| Bits::of_params(params), { u8: REGS_128, u16: REGS_128, u32: REGS_80, u64: REGS_80 }, without small;
        bit_xor: BitXor = |_| BitXor, { u8: REGS_255, u16: REGS_128, u32: REGS_80, u64: REGS_80 }, without small;
    }

    order: folds of one, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "order")) {
        extremum: Extremum = |params| Extremum::of_params(params), {
            f32: REGS_80, f64: REGS_128, f16: REGS_128, bf16: REGS_128,
            u8: REGS_128, u16: REGS_128, u32: REGS_80, u64: REGS_80, bool: REGS_128, f8e4m3: REGS_255, f8e5m2: REGS_255,
        }, with small;
        arg: Arg = |params| Arg::of_params(params), {
            f32: REGS_80, f64: REGS_128, f16: REGS_128_STRIDED_255, bf16: REGS_128_STRIDED_255,
            u8: REGS_128, u16: REGS_128_STRIDED_255, u32: REGS_80, u64: REGS_128, bool: REGS_128, f8e4m3: REGS_255, f8e5m2: REGS_255,
        }, with small;
        min_max: (Extremum, Extremum) = |params| (Extremum::SMALLEST.signed(params), Extremum::LARGEST.signed(params)), {
            f32: REGS_80, f64: REGS_128, f16: REGS_255, bf16: REGS_255,
            u8: REGS_128, u16: REGS_128, u32: REGS_80, u64: REGS_128,
        }, with small;
        argmin_argmax: (Arg, Arg) = |params| (Arg::SMALLEST.signed(params), Arg::LARGEST.signed(params)), {
            f32: REGS_128, f64: REGS_255, f16: REGS_255, bf16: REGS_255,
            u8: REGS_255, u16: REGS_255, u32: REGS_128, u64: REGS_128,
        }, without small;
        norm_inf: NormInf = |_| NormInf, {
            f32: REGS_80, f64: REGS_80, f16: REGS_128, bf16: REGS_128,
            f8e4m3: REGS_255, f8e5m2: REGS_255, complex32: REGS_168, complex64: REGS_128, complex128: REGS_128,
        }, with small;
        extremum_mapped: Map<StepOfParams<false>, Extremum> = |params| Map::step(params, Extremum::of_params(params.behind())), {
            f32: REGS_128, f64: REGS_128, f16: REGS_128_STRIDED_255, bf16: REGS_128_STRIDED_255,
        }, without small;
        arg_mapped: Map<StepOfParams<false>, Arg> = |params| Map::step(params, Arg::of_params(params.behind())), {
            f32: REGS_128, f64: REGS_128, f16: REGS_128_STRIDED_255, bf16: REGS_128_STRIDED_255,
        }, without small;
    }

    exponentials: folds of one, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "exponentials")) {
        log_sum_exp: LogSumExp = |_| LogSumExp, { f32: REGS_128, f64: REGS_255, f16: REGS_128, bf16: REGS_128 }, with small;
    }

    statistics: folds of one, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "statistics")) {
        (sum_exact | mean_exact): Either<Exact<Sum>, Exact<Mean>> = |params| Either::of_params(Exact(Sum), Exact(Mean), params), { f32: REGS_128 }, without small;
        (variance | std): Either<Variance, StdDev> = |params| {
            let correction = f64::from_bits(params.number);
            Either::of_params(Variance { correction }, StdDev { correction }, params)
        }, { f32: REGS_128, f64: REGS_128, f16: REGS_255, bf16: REGS_255 }, with small;
        mean_variance: MeanVariance = |params| MeanVariance { correction: f64::from_bits(params.number) }, {
            f32: REGS_128, f64: REGS_128, f16: REGS_255, bf16: REGS_255,
        }, with small;
        (skewness | kurtosis): Either<Skewness, Kurtosis> = |params| Either::of_params(Skewness {}, Kurtosis {}, params), {
            f32: REGS_168, f64: REGS_168, f16: REGS_255, bf16: REGS_255,
        }, without small;
    }

    statistics: folds of two, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "statistics")) {
        dot: Dot = |_| Dot, { f32: REGS_128, f64: REGS_128, f16: REGS_255, bf16: REGS_168 }, without small;
        cosine: Cosine = |_| Cosine, { f32: REGS_255, f64: REGS_255, f16: REGS_255, bf16: REGS_255 }, without small;
    }

    masks: folds of masked, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "masks")) {
        sum_where: WhereNumbers<Sum> = |params| WhereNumbers::of_params(Sum, params), { f32: REGS_80, f64: REGS_80, f16: REGS_128, bf16: REGS_128 }, with small;
        sum_where: Where<Sum> = |_| Where(Sum), {
            i8: REGS_255, i16: REGS_255, i32: REGS_128, u8: REGS_255, u16: REGS_255, u32: REGS_128, u64: REGS_128,
        }, with small;
        mean_where: WhereNumbers<CountedMean> = |params| WhereNumbers::of_params(CountedMean, params), {
            f32: REGS_128, f64: REGS_128, f16: REGS_168, bf16: REGS_168,
        }, with small;
        product_where: WhereNumbers<Product> = |params| WhereNumbers::of_params(Product, params), {
            f32: REGS_80, f64: REGS_80, f16: REGS_128, bf16: REGS_128,
        }, with small;
        norm_l1_where: WhereNumbers<NormL1> = |params| WhereNumbers::of_params(NormL1, params), {
            f32: REGS_80, f64: REGS_80, f16: REGS_128, bf16: REGS_128,
        }, with small;
        (sum_of_squares_where | norm_l2_where): WhereNumbers<Either<SumOfSquares, NormL2>> = |params| {
            WhereNumbers::of_params(Either::of_params(SumOfSquares, NormL2, params), params)
        }, { f32: REGS_128, f64: REGS_128, f16: REGS_255, bf16: REGS_255 }, with small;
        norm_inf_where: WhereNumbers<NormInf> = |params| WhereNumbers::of_params(NormInf, params), {
            f32: REGS_128, f64: REGS_128, f16: REGS_128, bf16: REGS_128,
        }, with small;
        count_where: Where<Count> = |params| Where(Count::of_params(params)), { u8: REGS_255, u16: REGS_255, u32: REGS_128, u64: REGS_128 }, with small;
        truth_where: Where<Truth> = |params| Where(Truth::of_params(params)), { u8: REGS_255, u16: REGS_255, u32: REGS_80, u64: REGS_80 }, with small;
        extremum_where: WhereNumbers<Extremum> = |params| WhereNumbers::of_params(Extremum::of_params(params), params), {
            f32: REGS_128, f64: REGS_128, f16: REGS_128, bf16: REGS_128,
        }, with small;
        extremum_where: Where<Extremum> = |params| Where(Extremum::of_params(params)), {
            u8: REGS_255, u16: REGS_255, u32: REGS_128, u64: REGS_128, bool: REGS_255,
        }, with small;
        arg_where: WhereNumbers<Arg> = |params| WhereNumbers::of_params(Arg::of_params(params), params), {
            f32: REGS_168, f64: REGS_128, f16: REGS_255, bf16: REGS_255,
        }, with small;
        (variance_where | std_where): WhereNumbers<Either<Variance, StdDev>> = |params| {
            let correction = f64::from_bits(params.number);
            WhereNumbers::of_params(Either::of_params(Variance { correction }, StdDev { correction }, params), params)
        }, { f32: REGS_168, f64: REGS_168, f16: REGS_168, bf16: REGS_168 }, with small;
    }

    exponentials: folds of masked, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "exponentials")) {
        log_sum_exp_where: WhereNumbers<LogSumExp> = |params| WhereNumbers::of_params(LogSumExp, params), { f32: REGS_128, f64: REGS_255, f16: REGS_255, bf16: REGS_255 }, with small;
    }

    // States of 26, 30 and 69 words, and so much code to combine two that few kernels are enough.
    (folds of vast states) statistics, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "statistics")) {
        describe: Describe = |params| Describe { correction: f64::from_bits(params.number) }, {
            f32: REGS_255, f64: REGS_255,
        };
        (sum_exact | mean_exact): Either<Exact<Sum>, Exact<Mean>> = |params| Either::of_params(Exact(Sum), Exact(Mean), params), { f64: REGS_255 };
    }
}
