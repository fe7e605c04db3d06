//! The one list of what is built: each operator, by what its launch tells, and the types of elements it is built for, each with the
//! registers it needs.

use crate::entries;
use crate::{
    element::{bf16, complex32, complex64, complex128, f8e4m3, f8e5m2, f16},
    monoids::{
        Arg, BitXor, Bits, Compensated, Cosine, Count, CountedMean, Describe, Dot, Either, Exact, Extremum, Kurtosis,
        LogSumExp, Map, Mean, MeanVariance, NormInf, NormL1, NormL2, NormLp, Product, Skewness, StdDev, Sum,
        SumOfSquares, ToldStep, Truth, Variance, Where, WhereNumbers, Wide,
    },
};

/// The parts of the build, the dearest first. The compiler takes each by itself, with `--cfg warpfold_part="NAME"`, so that several
/// are compiled at once.
pub const PARTS: [&str; 5] = ["order", "sums", "statistics", "masks", "exponentials"];

/// Those for which newer architectures have an instruction that the oldest has not, a maximum that keeps NaN. The PTX of all others
/// is the same for each, so it is built once.
pub const PARTS_OF_NEWER: [&str; 1] = ["exponentials"];

entries! {
    ptx: None, of other elements if not(warpfold_sample);
    sums: folds of one, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "sums")) {
        (sum | mean): Either<Sum, Mean> = |told| Either::told(Sum, Mean, told), {
            f32: LIGHT, f64: HEAVY, f16: WIDE, bf16: WIDE,
            i8: WIDE, i16: WIDE, i32: WIDE, i64: HEAVY, u8: WIDE, u16: WIDE, u32: WIDE, u64: HEAVY,
            f8e4m3: FULL, f8e5m2: FULL, complex32: WIDE, complex64: WIDE, complex128: HEAVY,
        }, with small;
        (sum_mapped | mean_mapped): Map<ToldStep<false>, Either<Sum, Mean>> = |told| Map::step(told, Either::told(Sum, Mean, told)), {
            f32: HEAVY, f64: HEAVY, f16: WIDE_APART, bf16: WIDE_APART,
        }, without small;
        (sum_exp | mean_exp): Map<ToldStep<true>, Either<Sum, Mean>> = |told| Map::exp(told, Either::told(Sum, Mean, told)), {
            f32: HEAVY, f64: FULL, f16: WIDE, bf16: WIDE,
        }, without small;
        (sum_compensated | mean_compensated): Either<Compensated<Sum>, Compensated<Mean>> = |told| {
            Either::told(Compensated(Sum), Compensated(Mean), told)
        }, { f32: HEAVY, f64: HEAVY }, without small;
        (sum_wide | mean_wide): Either<Wide<Sum>, Wide<Mean>> = |told| Either::told(Wide(Sum), Wide(Mean), told), {
            f32: HEAVY, f16: FULL, bf16: FULL,
        }, without small;
        product: Product = |_| Product, {
            f32: LIGHT, f64: HEAVY, f16: WIDE, bf16: WIDE,
            i8: DEEP, i16: WIDE, i32: WIDE, u8: WIDE, u16: WIDE, u32: WIDE, u64: HEAVY,
        }, with small;
        norm_lp: NormLp = |told| NormLp { p: f64::from_bits(told.number) }, { f32: FULL, f64: FULL, f16: FULL, bf16: FULL }, without small;
        norm_l1: NormL1 = |_| NormL1, { f32: LIGHT, f64: HEAVY, f16: WIDE, bf16: WIDE }, with small;
        (sum_of_squares | norm_l2): Either<SumOfSquares, NormL2> = |told| Either::told(SumOfSquares, NormL2, told), {
            f32: HEAVY, f64: WIDE, f16: FULL, bf16: FULL, complex32: WIDE_APART, complex64: WIDE, complex128: WIDE,
        }, with small;
        count: Count = |told| Count::told(told), { u8: FULL, u16: WIDE, u32: HEAVY, u64: HEAVY }, with small;
        truth: Truth = |told| Truth::told(told), { u8: WIDE, u16: DEEP, u32: HEAVY, u64: HEAVY }, with small;
        bits: Bits = |told| Bits::told(told), { u8: WIDE, u16: WIDE, u32: HEAVY, u64: HEAVY }, without small;
        bit_xor: BitXor = |_| BitXor, { u8: FULL, u16: WIDE, u32: HEAVY, u64: HEAVY }, without small;
    }

    order: folds of one, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "order")) {
        extremum: Extremum = |told| Extremum::told(told), {
            f32: HEAVY, f64: WIDE, f16: WIDE, bf16: WIDE,
            u8: WIDE, u16: WIDE, u32: HEAVY, u64: HEAVY, bool: WIDE, f8e4m3: FULL, f8e5m2: FULL,
        }, with small;
        arg: Arg = |told| Arg::told(told), {
            f32: HEAVY, f64: WIDE, f16: WIDE, bf16: WIDE,
            u8: WIDE, u16: WIDE_APART, u32: HEAVY, u64: WIDE, bool: WIDE, f8e4m3: FULL, f8e5m2: FULL,
        }, with small;
        min_max: (Extremum, Extremum) = |told| (Extremum::SMALLEST.signed(told), Extremum::LARGEST.signed(told)), {
            f32: HEAVY, f64: WIDE, f16: FULL, bf16: FULL,
            u8: WIDE, u16: WIDE, u32: HEAVY, u64: WIDE,
        }, with small;
        argmin_argmax: (Arg, Arg) = |told| (Arg::SMALLEST.signed(told), Arg::LARGEST.signed(told)), {
            f32: WIDE, f64: FULL, f16: FULL, bf16: FULL,
            u8: FULL, u16: FULL, u32: WIDE, u64: WIDE,
        }, without small;
        norm_inf: NormInf = |_| NormInf, {
            f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE,
            f8e4m3: FULL, f8e5m2: FULL, complex32: DEEP, complex64: WIDE, complex128: WIDE,
        }, with small;
        extremum_mapped: Map<ToldStep<false>, Extremum> = |told| Map::step(told, Extremum::told(told.behind())), {
            f32: WIDE, f64: WIDE, f16: WIDE_APART, bf16: WIDE_APART,
        }, without small;
        arg_mapped: Map<ToldStep<false>, Arg> = |told| Map::step(told, Arg::told(told.behind())), {
            f32: WIDE, f64: WIDE, f16: WIDE_APART, bf16: WIDE_APART,
        }, without small;
    }

    exponentials: folds of one, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "exponentials")) {
        log_sum_exp: LogSumExp = |_| LogSumExp, { f32: HEAVY, f64: FULL, f16: WIDE, bf16: WIDE }, with small;
    }

    statistics: folds of one, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "statistics")) {
        (sum_exact | mean_exact): Either<Exact<Sum>, Exact<Mean>> = |told| Either::told(Exact(Sum), Exact(Mean), told), { f32: WIDE }, without small;
        (variance | std): Either<Variance, StdDev> = |told| {
            let correction = f64::from_bits(told.number);
            Either::told(Variance { correction }, StdDev { correction }, told)
        }, { f32: WIDE, f64: WIDE, f16: FULL, bf16: FULL }, with small;
        mean_variance: MeanVariance = |told| MeanVariance { correction: f64::from_bits(told.number) }, {
            f32: WIDE, f64: WIDE, f16: FULL, bf16: FULL,
        }, with small;
        (skewness | kurtosis): Either<Skewness, Kurtosis> = |told| Either::told(Skewness {}, Kurtosis {}, told), {
            f32: DEEP, f64: DEEP, f16: FULL, bf16: FULL,
        }, without small;
    }

    statistics: folds of two, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "statistics")) {
        dot: Dot = |_| Dot, { f32: WIDE, f64: WIDE, f16: FULL, bf16: WIDE }, without small;
        cosine: Cosine = |_| Cosine, { f32: FULL, f64: FULL, f16: FULL, bf16: FULL }, without small;
    }

    masks: folds of masked, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "masks")) {
        sum_where: WhereNumbers<Sum> = |told| WhereNumbers::told(Sum, told), { f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE }, with small;
        sum_where: Where<Sum> = |_| Where(Sum), {
            i8: FULL, i16: FULL, i32: WIDE, u8: FULL, u16: FULL, u32: WIDE, u64: WIDE,
        }, with small;
        mean_where: WhereNumbers<CountedMean> = |told| WhereNumbers::told(CountedMean, told), {
            f32: WIDE, f64: WIDE, f16: DEEP, bf16: DEEP,
        }, with small;
        product_where: WhereNumbers<Product> = |told| WhereNumbers::told(Product, told), {
            f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE,
        }, with small;
        norm_l1_where: WhereNumbers<NormL1> = |told| WhereNumbers::told(NormL1, told), {
            f32: HEAVY, f64: HEAVY, f16: WIDE, bf16: WIDE,
        }, with small;
        (sum_of_squares_where | norm_l2_where): WhereNumbers<Either<SumOfSquares, NormL2>> = |told| {
            WhereNumbers::told(Either::told(SumOfSquares, NormL2, told), told)
        }, { f32: WIDE, f64: WIDE, f16: FULL, bf16: FULL }, with small;
        norm_inf_where: WhereNumbers<NormInf> = |told| WhereNumbers::told(NormInf, told), {
            f32: WIDE, f64: WIDE, f16: WIDE, bf16: WIDE,
        }, with small;
        count_where: Where<Count> = |told| Where(Count::told(told)), { u8: FULL, u16: FULL, u32: WIDE, u64: HEAVY }, with small;
        truth_where: Where<Truth> = |told| Where(Truth::told(told)), { u8: FULL, u16: FULL, u32: HEAVY, u64: HEAVY }, with small;
        extremum_where: WhereNumbers<Extremum> = |told| WhereNumbers::told(Extremum::told(told), told), {
            f32: WIDE, f64: WIDE, f16: WIDE, bf16: WIDE,
        }, with small;
        extremum_where: Where<Extremum> = |told| Where(Extremum::told(told)), {
            u8: FULL, u16: FULL, u32: WIDE, u64: WIDE, bool: FULL,
        }, with small;
        arg_where: WhereNumbers<Arg> = |told| WhereNumbers::told(Arg::told(told), told), {
            f32: DEEP, f64: WIDE, f16: FULL, bf16: FULL,
        }, with small;
        (variance_where | std_where): WhereNumbers<Either<Variance, StdDev>> = |told| {
            let correction = f64::from_bits(told.number);
            WhereNumbers::told(Either::told(Variance { correction }, StdDev { correction }, told), told)
        }, { f32: DEEP, f64: DEEP, f16: DEEP, bf16: DEEP }, with small;
    }

    exponentials: folds of masked, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "exponentials")) {
        log_sum_exp_where: WhereNumbers<LogSumExp> = |told| WhereNumbers::told(LogSumExp, told), { f32: WIDE, f64: FULL, f16: FULL, bf16: FULL }, with small;
    }

    // States of 26, 30 and 69 words, and so much code to combine two that few kernels are enough.
    (folds of vast states) statistics, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "statistics")) {
        describe: Describe = |told| Describe { correction: f64::from_bits(told.number) }, {
            f32: FULL, f64: FULL,
        };
        (sum_exact | mean_exact): Either<Exact<Sum>, Exact<Mean>> = |told| Either::told(Exact(Sum), Exact(Mean), told), { f64: FULL };
    }
}
