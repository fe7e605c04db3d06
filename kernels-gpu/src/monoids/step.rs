//! The steps in front of an operator that kernels are built with.

use super::{Map, Transform};
use crate::{
    element::{Accumulator as _, Arithmetic as _, Float as _, Real, Wide as _},
    kernels::OpParams,
};

/// What becomes of each element before it is folded: a number is taken off it, and of what is left it is the magnitude, the
/// square, the exponential, or that itself.
///
/// It is computed in f32 of floats of up to 32 bits (f16, bf16 and FP8 are widened first, exactly) and in f64 of f64, integers and
/// bool (integers of 64 bits are rounded first), each operation rounded once; so a step that does nothing is a cast. The operator
/// behind folds f32 or f64, and answers as it does of those.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// What is taken off, rounded to what is computed in.
    pub minus: f64,
    /// What becomes of the rest.
    pub then: Then,
}

/// What becomes of an element less a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Then {
    /// It stays.
    #[default]
    Itself,
    /// Its magnitude.
    Magnitude,
    /// Its square, rounded once.
    Square,
    /// Its exponential, as [`arithmetic`](crate::arithmetic) has it: within 0.94 ulp in f32, 0.65 in f64 (1 of a subnormal one).
    Exp,
}

impl Step {
    /// The element itself, as f32 or f64.
    pub const CAST: Self = Self::then(Then::Itself);
    /// Its magnitude.
    pub const ABS: Self = Self::then(Then::Magnitude);
    /// Its square.
    pub const SQUARE: Self = Self::then(Then::Square);
    /// Its exponential.
    pub const EXP: Self = Self::then(Then::Exp);

    const fn then(then: Then) -> Self {
        Self { minus: 0.0, then }
    }

    /// The element less a number.
    #[must_use]
    pub const fn minus(number: f64) -> Self {
        Self {
            minus: number,
            then: Then::Itself,
        }
    }

    /// The magnitude of that.
    #[must_use]
    pub const fn abs(self) -> Self {
        Self {
            then: Then::Magnitude,
            ..self
        }
    }

    /// The square of that.
    #[must_use]
    pub const fn square(self) -> Self {
        Self {
            then: Then::Square,
            ..self
        }
    }

    /// The exponential of that.
    #[must_use]
    pub const fn exp(self) -> Self {
        Self {
            then: Then::Exp,
            ..self
        }
    }
}

impl Step {
    /// The element less the number.
    #[inline(always)]
    fn rest<T: Real>(self, value: T) -> T::Computed {
        // Less a number is more its opposite, to the bit; and nothing is neutral to the bit as −0.0.
        value.computed().plus(T::Computed::from_f64(-self.minus))
    }

    /// What becomes of an element, but for the exponential: choices and no branches, which would have each element wait for the one
    /// before.
    #[inline(always)]
    fn plain<T: Real>(self, value: T) -> T::Computed {
        let rest = self.rest(value);
        let size = if self.then == Then::Itself {
            rest
        } else {
            rest.wide_magnitude()
        };
        let factor = if self.then == Then::Square {
            size
        } else {
            T::Computed::ONE
        };
        size.times(factor)
    }
}

impl<T: Real> Transform<T> for Step {
    type Output = T::Computed;

    #[inline(always)]
    fn apply(self, value: T) -> T::Computed {
        match self.then {
            Then::Exp => self.rest(value).exp(),
            _ => self.plain(value),
        }
    }

    // The exponential is.
    const FUSES: bool = true;
}

/// A step that a launch passes: the exponential, which is much code, or any other. Each has kernels of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepOfParams<const EXP: bool>(Step);

impl<M> Map<StepOfParams<false>, M> {
    /// By what a launch passes: any step but the exponential.
    #[inline(always)]
    #[must_use]
    pub fn step(params: OpParams, op: M) -> Self {
        let transform = StepOfParams::of_params(params);
        Self { transform, op }
    }
}

impl<M> Map<StepOfParams<true>, M> {
    /// By what a launch passes: the exponential.
    #[inline(always)]
    #[must_use]
    pub fn exp(params: OpParams, op: M) -> Self {
        let transform = StepOfParams::of_params(params);
        Self { transform, op }
    }
}

impl<const EXP: bool> StepOfParams<EXP> {
    #[inline(always)]
    fn of_params(params: OpParams) -> Self {
        Self(Step {
            minus: f64::from_bits(params.number),
            then: match params.then {
                _ if EXP => Then::Exp,
                Then::Exp => Then::Itself,
                then => then,
            },
        })
    }
}

impl<T: Real, const EXP: bool> Transform<T> for StepOfParams<EXP> {
    type Output = T::Computed;

    #[inline(always)]
    fn apply(self, value: T) -> T::Computed {
        if EXP {
            self.0.rest(value).exp()
        } else {
            self.0.plain(value)
        }
    }

    const FUSES: bool = EXP;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        element::bf16,
        monoids::{
            Arg, Extremum, Mean, Sum,
            testing::{answer, bits, special_or_any},
        },
    };

    const THEN: [Then; 4] = [Then::Itself, Then::Magnitude, Then::Square, Then::Exp];

    /// As the launch of `op`, whose number is small, behind `step` tells it.
    fn params(step: Step, behind: u64) -> OpParams {
        let params = OpParams {
            number: step.minus.to_bits(),
            then: step.then,
            mode: behind as u8,
            ..OpParams::default()
        };
        assert_eq!(OpParams::new(params.number, params.flags()), params, "as it arrives");
        params
    }

    proptest! {
        #[test]
        fn a_step_is_plain_arithmetic(x in any::<f32>(), minus in any::<f32>()) {
            let number = f64::from(minus);
            let is = |step: Step, expected: f32| {
                let made = step.apply(x);
                made.to_bits() == expected.to_bits() || made.is_nan() && expected.is_nan()
            };
            prop_assert!(is(Step::minus(number), x - minus));
            prop_assert!(is(Step::minus(number).abs(), (x - minus).abs()));
            prop_assert!(is(Step::minus(number).square(), (x - minus) * (x - minus)));
            prop_assert!(is(Step::minus(number).exp(), crate::arithmetic::single::exp(x - minus)));
            prop_assert!(is(Step::CAST, x) && is(Step::ABS, x.abs()) && is(Step::SQUARE, x * x));
        }

        #[test]
        fn what_a_launch_tells_folds_alike(run in special_or_any(), minus in any::<f64>()) {
            for then in THEN {
                let step = Step { minus, then };
                let mapped = |op| Map { transform: step, op };
                let expected = bits(answer(mapped(Sum), &run));
                let folded = match then {
                    Then::Exp => bits(answer(Map::exp(params(step, 0), Sum), &run)),
                    _ => bits(answer(Map::step(params(step, 0), Sum), &run)),
                };
                prop_assert_eq!(folded, expected, "{:?}", step);
                for arg in [Arg::LARGEST, Arg::SMALLEST.last()] {
                    let params = params(step, arg.parameter());
                    if then != Then::Exp {
                        let op = Map { transform: step, op: arg };
                        prop_assert_eq!(
                            bits(answer(Map::step(params, Arg::of_params(params.behind())), &run)),
                            bits(answer(op, &run)),
                            "{:?} behind {:?}", arg, step
                        );
                        prop_assert_eq!(Extremum::of_params(params.behind()).order, arg.order);
                    }
                }
            }
        }
    }

    #[test]
    fn elements_are_cast_first() {
        let halves = [bf16::from_bits(0x3f81), bf16::from_bits(0xbf80)]; // 1 + 2⁻⁷, −1
        let square = Map {
            transform: Step::SQUARE,
            op: Sum,
        };
        // No bf16 is so close.
        assert_eq!(answer(square, &halves), 2.0 + 1.0 / 64.0 + 1.0 / 16384.0);
        let mean = Map {
            transform: Step::minus(-0.5).abs(),
            op: Mean,
        };
        assert_eq!(answer(mean, &[i8::MIN, i8::MAX]), 127.5);
        let cast = Map {
            transform: Step::CAST,
            op: Sum,
        };
        assert_eq!(answer(cast, &[u64::MAX, u64::MAX]), 2.0_f64.powi(65));
        assert_eq!(answer(cast, &[-0.0_f32]).to_bits(), (-0.0_f32).to_bits());
    }
}
