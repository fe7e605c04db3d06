//! Operators under a mask.

use warpfold_kernels::{
    element::{Element, Masked, Type},
    kernels::{Entry, OpParams},
    monoids,
    monoids::Monoid,
};

use super::{
    ArgMax, ArgMaxLast, ArgMin, ArgMinLast, ArgMinMax, BadParameter, BitAnd, BitOr, BitXor, Compensated, Exact,
    IgnoreNan, Kurtosis, LogSumExp, Max, Mean, MeanVariance, Min, MinMax, NormInf, NormL1, NormL2, NormLp, Operator,
    Product, Reduction, Skewness, SkipsNan, StdDev, Sum, SumOfSquares, Variance, Wide,
};

/// The operator `Op` over the elements that a mask selects, as NumPy's `where=`. [`Fold::masked`](crate::Fold::masked) wraps the operator itself, and
/// says what is answered; for a launch of your own it is `gpu.prepare::<Masked<T>, _>(Where(op), len)`.
///
/// On the CPU it takes every operator of [`TakesMask`], of every type of elements that the operator has. GPUs have these:
///
/// | operators | elements |
/// |---|---|
/// | [`Sum`], [`Min`], [`Max`] | f16, bf16, f32, f64, i8 to i64, u8 to u64, bool |
/// | [`Product`], [`Mean`], [`Variance`], [`StdDev`], [`NormL1`], [`NormL2`], [`NormInf`], [`SumOfSquares`], [`LogSumExp`] | f16, bf16, f32, f64 |
/// | [`CountNonzero`](super::CountNonzero), [`Any`](super::Any), [`All`](super::All), [`CountNan`](super::CountNan), [`CountInf`](super::CountInf) | those of the operator |
/// | [`ArgMin`], [`ArgMax`], their last of equals | f16, bf16, f32, f64 |
/// | [`IgnoreNan`] of any of these that it takes | f16, bf16, f32, f64 |
///
/// Of others their calls answer [`Error::NoKernel`](crate::Error::NoKernel).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Where<Op>(pub Op);

/// What an operator answers over elements of `T` under a mask: as without one.
pub type AnswerWhere<Op, T> = <Where<Op> as Reduction<Masked<T>>>::Answer;

/// Elements of a mask: `bool`, or bytes, which select where they are not 0.
pub trait MaskElement: Element + bytemuck::NoUninit {}

impl MaskElement for bool {}
impl MaskElement for u8 {}

/// Operators that [`Where`] takes: all but those that divide by a number of elements which they do not count, a mean of another
/// accuracy and [`Describe`](super::Describe).
pub trait TakesMask: Operator {
    /// Its name in the table of kernels; one that is not in there where GPUs have none.
    const ENTRY_WHERE: &'static str;
    /// What folds the elements that are selected, and answers for as many as there were.
    type Counted: Send + Sync;

    /// The operator, of elements of that type.
    fn counted(self, element: Type) -> Self::Counted;
}

impl<Op: TakesMask> Operator for Where<Op> {
    const NAME: &'static str = Op::NAME;
    const ENTRY: &'static str = Op::ENTRY_WHERE;

    fn parameter(self) -> u64 {
        self.0.parameter()
    }

    fn bad_parameter(self) -> Option<BadParameter> {
        self.0.bad_parameter()
    }
}

impl<T, Op> Reduction<Masked<T>> for Where<Op>
where
    T: Element,
    Op: TakesMask + Reduction<T>,
    Op::Counted: Monoid<T, State: Send + Sync + 'static, Answer = Op::Answer>,
{
    type Answer = Op::Answer;
    type State = <Op::Counted as Monoid<T>>::State;
    type Monoid = monoids::Where<Op::Counted>;
    const BUILT: Type = <Op as Reduction<T>>::BUILT;

    fn monoid(self) -> Self::Monoid {
        monoids::Where(self.0.counted(T::TYPE))
    }

    fn params(self, entry: &Entry) -> OpParams {
        OpParams {
            also: entry.also == Some(Self::ENTRY),
            ..self.0.params(entry)
        }
    }
}

impl<Op: SkipsNan> TakesMask for IgnoreNan<Op> {
    const ENTRY_WHERE: &'static str = Op::ENTRY_WHERE;
    type Counted = monoids::IgnoreNan<Op::Counted>;

    fn counted(self, element: Type) -> Self::Counted {
        monoids::IgnoreNan(self.0.counted(element))
    }
}

macro_rules! takes_mask {
    ($($op:ty, $entry:literal: |$self:pat_param| $monoid:ty = $value:expr;)*) => {
        $(impl TakesMask for $op {
            const ENTRY_WHERE: &'static str = $entry;
            type Counted = $monoid;
            fn counted(self, _: Type) -> $monoid {
                let $self = self;
                $value
            }
        })*
    };
}

takes_mask! {
    Sum, "sum_where": |_| monoids::Sum = monoids::Sum;
    Mean, "mean_where": |_| monoids::CountedMean = monoids::CountedMean;
    Min, "extremum_where": |_| monoids::Extremum = monoids::Extremum::SMALLEST;
    Max, "extremum_where": |_| monoids::Extremum = monoids::Extremum::LARGEST;
    ArgMin, "arg_where": |_| monoids::Arg = monoids::Arg::SMALLEST;
    ArgMax, "arg_where": |_| monoids::Arg = monoids::Arg::LARGEST;
    ArgMinLast, "arg_where": |_| monoids::Arg = monoids::Arg::SMALLEST.last();
    ArgMaxLast, "arg_where": |_| monoids::Arg = monoids::Arg::LARGEST.last();
    Variance, "variance_where": |Variance { correction }| monoids::Variance = monoids::Variance { correction };
    StdDev, "std_where": |StdDev { correction }| monoids::StdDev = monoids::StdDev { correction };
    Product, "product_where": |_| monoids::Product = monoids::Product;
    NormL1, "norm_l1_where": |_| monoids::NormL1 = monoids::NormL1;
    NormL2, "norm_l2_where": |_| monoids::NormL2 = monoids::NormL2;
    NormInf, "norm_inf_where": |_| monoids::NormInf = monoids::NormInf;
    SumOfSquares, "sum_of_squares_where": |_| monoids::SumOfSquares = monoids::SumOfSquares;
    LogSumExp, "log_sum_exp_where": |_| monoids::LogSumExp = monoids::LogSumExp;
    MinMax, "": |_| (monoids::Extremum, monoids::Extremum) = (monoids::Extremum::SMALLEST, monoids::Extremum::LARGEST);
    ArgMinMax, "": |_| (monoids::Arg, monoids::Arg) = (monoids::Arg::SMALLEST, monoids::Arg::LARGEST);
    BitAnd, "": |_| monoids::Bits = monoids::Bits::And;
    BitOr, "": |_| monoids::Bits = monoids::Bits::Or;
    BitXor, "": |_| monoids::BitXor = monoids::BitXor;
    NormLp, "": |NormLp { p }| monoids::NormLp = monoids::NormLp { p };
    MeanVariance, "": |MeanVariance { correction }| monoids::MeanVariance = monoids::MeanVariance { correction };
    Skewness, "": |_| monoids::Skewness = monoids::Skewness {};
    Kurtosis, "": |_| monoids::Kurtosis = monoids::Kurtosis {};
    Compensated<Sum>, "": |_| monoids::Compensated<monoids::Sum> = monoids::Compensated(monoids::Sum);
    Wide<Sum>, "": |_| monoids::Wide<monoids::Sum> = monoids::Wide(monoids::Sum);
    Exact<Sum>, "": |_| monoids::Exact<monoids::Sum> = monoids::Exact(monoids::Sum);
}
