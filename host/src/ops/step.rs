//! A step in front of an operator.

use warpfold_kernels::{
    element::{Real, Type},
    kernels::{self, Entry, Kernel, OpParams},
    monoids,
};

use super::{BadParameter, OpSignature, Operator, Reduction, TakesMask};

pub use warpfold_kernels::monoids::{Step, Then};

/// The operator `Op` on what a [`Step`] makes of each element, in the same pass: the magnitude, the square, the exponential, less a
/// number first, or the element itself cast to f32 or f64. The bits are those of the tree of the elements' type, over the array that
/// the step makes; so of f32 and f64 they are those of that array, folded by itself.
///
/// On the CPU `Op` is any operator that has a meaning for f32 (of elements that are floats of up to 32 bits) or f64 (of others), one
/// of another accuracy or policy, too. GPUs have kernels of f16, bf16, f32 and f64 behind each step for [`Sum`](super::Sum) and
/// [`Mean`](super::Mean), and behind all but the exponential for [`Min`](super::Min), [`Max`](super::Max),
/// [`ArgMin`](super::ArgMin), [`ArgMax`](super::ArgMax) and those of the last of equals; of others their calls answer
/// [`Error::NoKernel`](crate::Error::NoKernel). A step of your own is a [`Map`](monoids::Map).
///
/// ```
/// use warpfold::{cpu, ops::{ArgMin, Mapped, Mean, Step, Sum}};
///
/// let values = [3.0_f32, -5.0, 1.5];
/// assert_eq!(cpu::reduce(Mapped(Sum, Step::ABS), &values)?, 9.5);
/// assert_eq!(cpu::reduce(Mapped(Mean, Step::minus(1.0).square()), &values)?, 13.416667);
/// // The nearest to 2.
/// assert_eq!(cpu::reduce(Mapped(ArgMin, Step::minus(2.0).abs()), &values)?, 2);
/// // Integers are summed as f64.
/// assert_eq!(cpu::reduce(Mapped(Sum, Step::CAST), &[i64::MAX, i64::MAX])?, 2.0_f64.powi(64));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Cost: one reading of the memory. On GPUs a step of f32 is some 5 instructions an element, the exponential some 30.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mapped<Op>(pub Op, pub Step);

/// The names in the table of kernels of an operator behind a step, and behind the exponential; none is built by the name of nothing.
const fn entries(entry: &str) -> [&'static str; 2] {
    match entry.as_bytes() {
        b"sum" => ["sum_mapped", "sum_exp"],
        b"mean" => ["mean_mapped", "mean_exp"],
        b"extremum" => ["extremum_mapped", ""],
        b"arg" => ["arg_mapped", ""],
        _ => [""; 2],
    }
}

impl<Op: Operator> Mapped<Op> {
    /// Its name in the table of kernels. An operator of a crate of a user's own may be called as one of ours is, and has none there.
    fn name_of_entry(self) -> &'static str {
        if *Op::LIBRARY != kernels::LIBRARY {
            return "";
        }
        entries(Op::ENTRY)[usize::from(self.1.then == Then::Exp)]
    }
}

impl<Op: Operator> Operator for Mapped<Op> {
    const NAME: &'static str = Op::NAME;
    const ENTRY: &'static str = entries(Op::ENTRY)[0];

    /// What the step takes off.
    fn parameter(self) -> u64 {
        self.1.minus.to_bits()
    }

    fn signature(self, each_step: &mut dyn FnMut(Step)) -> OpSignature {
        each_step(self.1);
        self.0.signature(each_step)
    }

    fn bad_parameter(self) -> Option<BadParameter> {
        let minus = || BadParameter::unless_finite("minus", self.1.minus);
        self.0.bad_parameter().or_else(minus)
    }
}

impl<T: Real, Op: Reduction<T::Computed>> Reduction<T> for Mapped<Op> {
    type Answer = Op::Answer;
    type State = Op::State;
    type Monoid = monoids::Map<Step, Op::Monoid>;

    fn monoid(self) -> Self::Monoid {
        let Self(op, transform) = self;
        let op = op.monoid();
        monoids::Map { transform, op }
    }

    fn built(self) -> Option<&'static Entry> {
        Self::LIBRARY.find(self.name_of_entry(), T::TYPE, Kernel::All)
    }

    fn params(self, entry: &Entry) -> OpParams {
        let Self(op, step) = self;
        OpParams {
            number: self.parameter(),
            also: entry.also == Some(self.name_of_entry()),
            then: step.then,
            mode: op.parameter() as u8,
            ..OpParams::default()
        }
    }
}

/// What a step of such elements is computed in: [`Real::Computed`].
fn computed(element: Type) -> Type {
    if element.is_float() && element != Type::F64 {
        Type::F32
    } else {
        Type::F64
    }
}

impl<Op: TakesMask> TakesMask for Mapped<Op> {
    const ENTRY_WHERE: &'static str = "";
    type Counted = monoids::Map<Step, Op::Counted>;

    fn counted(self, element: Type) -> Self::Counted {
        let Self(op, transform) = self;
        let op = op.counted(computed(element));
        monoids::Map { transform, op }
    }
}

#[cfg(test)]
mod tests {
    use warpfold_kernels::kernels::Library;

    use super::*;
    use crate::ops::Sum;

    /// The library of another crate.
    static ANOTHER: Library = Library {
        package: "another",
        lists: &[],
        rows: &[],
        ptx: None,
    };

    /// Not our sum, though it has its name.
    #[derive(Clone, Copy)]
    struct Namesake;

    impl Operator for Namesake {
        const NAME: &'static str = "sum";
        const ENTRY: &'static str = "sum";
        const LIBRARY: &'static Library = &ANOTHER;
    }

    impl Reduction<f32> for Namesake {
        type Answer = f32;
        type State = f32;
        type Monoid = monoids::NormL1;
        fn monoid(self) -> monoids::NormL1 {
            monoids::NormL1
        }
    }

    #[test]
    fn a_namesake_of_another_crate_has_no_kernel_of_ours() {
        let built = Reduction::<f32>::built(Mapped(Sum, Step::ABS)).map(|entry| entry.op);
        assert_eq!(built, Some("sum_mapped"));
        assert!(Reduction::<f32>::built(Mapped(Namesake, Step::ABS)).is_none());
    }
}
