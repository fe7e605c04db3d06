//! The policy for NaN.

use warpfold_kernels::{
    element::Float,
    kernels::{Entry, OpParams},
    monoids,
    monoids::Monoid,
};

use super::{BadParameter, OpSignature, Operator, Reduction, TakesMask};

pub use warpfold_kernels::monoids::NO_INDEX;

/// The operator `Op` over the elements that are not NaN, as NumPy's `nansum` and its like; without it a NaN makes the answer
/// NaN, or its index.
///
/// There are those of [`SkipsNan`], over floats: integers have no NaN. The mean divides by the number of elements that are not
/// NaN, and so do the variance and the standard deviation, less their correction. Indices are those in the whole array.
///
/// An array of nothing but NaN has the sum −0.0 (which equals 0), the product 1, [`NO_INDEX`] for an index, and for the rest NaN.
/// An empty one has what `Op` has.
///
/// All other elements keep their places in the canonical tree, so where there is no NaN the bits are `Op`'s, and where
/// there is one, those of the tree with a hole. On GPUs it folds by the kernels for masks.
///
/// ```
/// use warpfold::{cpu, ops::{ArgMax, IgnoreNan, Max, Mean, NO_INDEX}};
///
/// let values = [f32::NAN, 1.0, 4.0];
/// assert_eq!(cpu::reduce(IgnoreNan(Mean), &values)?, 2.5);
/// assert_eq!(cpu::reduce(IgnoreNan(ArgMax), &values)?, 2);
/// assert!(cpu::reduce(IgnoreNan(Max), &values[..1])?.is_nan());
/// assert_eq!(cpu::reduce(IgnoreNan(ArgMax), &values[..1])?, NO_INDEX);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IgnoreNan<Op>(pub Op);

/// Operators that [`IgnoreNan`] takes.
pub trait SkipsNan: TakesMask {
    /// What [`IgnoreNan`] of it is called in errors.
    const NAME_IGNORING: &'static str;
}

impl<Op: SkipsNan> Operator for IgnoreNan<Op> {
    const NAME: &'static str = Op::NAME_IGNORING;
    // Without a mask.
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

impl<T, Op> Reduction<T> for IgnoreNan<Op>
where
    T: Float,
    Op: SkipsNan + Reduction<T>,
    Op::Counted: Monoid<T, State: Send + Sync + 'static, Answer = Op::Answer>,
{
    type Answer = Op::Answer;
    type State = <Op::Counted as Monoid<T>>::State;
    type Monoid = monoids::IgnoreNan<Op::Counted>;

    fn monoid(self) -> Self::Monoid {
        monoids::IgnoreNan(self.0.counted(T::TYPE))
    }

    fn params(self, entry: &Entry) -> OpParams {
        OpParams {
            also: entry.also == Some(Self::ENTRY),
            numbers_only: true,
            ..self.0.params(entry)
        }
    }
}

/// What an operator of the [manifest](crate::manifest) is called where NaN is left out, if it can be.
macro_rules! skips_nan {
    ($op:ty, ()) => {};
    ($op:ty, ($name:literal)) => {
        impl SkipsNan for $op {
            const NAME_IGNORING: &'static str = $name;
        }
    };
}
pub(super) use skips_nan;
