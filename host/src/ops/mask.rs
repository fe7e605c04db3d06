//! Operators under a mask.

use warpfold_kernels::{
    element::{Element, Masked, Type},
    kernels::{Entry, OpParams},
    monoids,
    monoids::Monoid,
};

use super::{BadParameter, IgnoreNan, OpSignature, Operator, Reduction, SkipsNan};

/// The operator `Op` over the elements that a mask selects, as NumPy's `where=`. [`Fold::masked`](crate::Fold::masked) wraps the operator itself, and
/// says what is answered; for a launch of your own it is `gpu.prepare::<Masked<T>, _>(Where(op), len)`.
///
/// On the CPU it takes every operator of [`TakesMask`], of every type of elements that the operator has. GPUs have these:
///
/// | operators | elements |
/// |---|---|
/// | [`Sum`](super::Sum), [`Min`](super::Min), [`Max`](super::Max) | f16, bf16, f32, f64, i8 to i64, u8 to u64, bool |
/// | [`Product`](super::Product), [`Mean`](super::Mean), [`Variance`](super::Variance), [`StdDev`](super::StdDev), [`NormL1`](super::NormL1), [`NormL2`](super::NormL2), [`NormInf`](super::NormInf), [`SumOfSquares`](super::SumOfSquares), [`LogSumExp`](super::LogSumExp) | f16, bf16, f32, f64 |
/// | [`CountNonzero`](super::CountNonzero), [`Any`](super::Any), [`All`](super::All), [`CountNan`](super::CountNan), [`CountInf`](super::CountInf) | those of the operator |
/// | [`ArgMin`](super::ArgMin), [`ArgMax`](super::ArgMax), their last of equals | f16, bf16, f32, f64 |
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

    fn signature(self, each_step: &mut dyn FnMut(monoids::Step)) -> OpSignature {
        self.0.signature(each_step)
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

/// What folds the elements of an operator of the [manifest](crate::manifest) that a mask selects: another monoid, or the operator's own.
macro_rules! takes_mask {
    ($op:ty, (asks $monoid:ident::$make:ident, $entry:literal), ($entry_where:literal)) => {
        impl TakesMask for $op {
            const ENTRY_WHERE: &'static str = $entry_where;
            type Counted = monoids::$monoid;
            fn counted(self, element: Type) -> monoids::$monoid {
                monoids::$monoid::$make(element)
            }
        }
    };
    ($op:ty, $folds:tt, ()) => {};
    ($op:ty, (|$this:ident| $monoid:ty = $value:expr, $($kernels:tt)*), ($entry_where:literal)) => {
        takes_mask!($op, (), ($entry_where, |$this| $monoid = $value));
    };
    ($op:ty, $folds:tt, ($entry_where:literal, |$this:ident| $monoid:ty = $value:expr)) => {
        impl TakesMask for $op {
            const ENTRY_WHERE: &'static str = $entry_where;
            type Counted = $monoid;
            fn counted(self, _: Type) -> $monoid {
                let $this = self;
                $value
            }
        }
    };
}
pub(super) use takes_mask;
