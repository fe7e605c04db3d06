//! What steps ask of an operator, and of an answer.

use std::marker::PhantomData;

use crate::ops::{
    ArgMax, ArgMaxLast, ArgMin, ArgMinLast, Describe, IgnoreNan, MeanVariance, Operator, StdDev, Variance,
    element::{bf16, f8e4m3, f8e5m2, f16},
};

/// Operators that divide by the number of elements less a correction.
pub trait HasCorrection: Operator {
    /// The same with another correction.
    #[must_use]
    fn with_correction(self, correction: f64) -> Self;
}

macro_rules! has_correction {
    ($($op:ident)*) => {
        $(impl HasCorrection for $op {
            fn with_correction(self, correction: f64) -> Self {
                Self { correction }
            }
        })*
    };
}

has_correction!(Variance StdDev MeanVariance Describe);

impl<Op: HasCorrection> HasCorrection for IgnoreNan<Op>
where
    Self: Operator,
{
    fn with_correction(self, correction: f64) -> Self {
        Self(self.0.with_correction(correction))
    }
}

/// Operators that answer the first of equals, and have a sibling that answers the last.
pub trait HasTies: Operator {
    /// That sibling.
    type Last: Operator;

    /// It.
    fn last(self) -> Self::Last;
}

impl HasTies for ArgMin {
    type Last = ArgMinLast;
    fn last(self) -> ArgMinLast {
        ArgMinLast
    }
}

impl HasTies for ArgMax {
    type Last = ArgMaxLast;
    fn last(self) -> ArgMaxLast {
        ArgMaxLast
    }
}

impl<Op: HasTies> HasTies for IgnoreNan<Op>
where
    Self: Operator,
    IgnoreNan<Op::Last>: Operator,
{
    type Last = IgnoreNan<Op::Last>;
    fn last(self) -> Self::Last {
        IgnoreNan(self.0.last())
    }
}

/// What becomes of an answer.
pub trait Output<Answer> {
    /// What the caller gets.
    type Number;

    /// It, of an answer.
    fn of(answer: Answer) -> Self::Number;
}

/// It stays as it is.
#[derive(Clone, Copy, Debug)]
pub struct Own;

/// It is cast to a `Number`.
#[derive(Clone, Copy, Debug)]
pub struct To<Number>(PhantomData<Number>);

impl<Answer> Output<Answer> for Own {
    type Number = Answer;
    fn of(answer: Answer) -> Answer {
        answer
    }
}

impl<Answer: Cast<Number>, Number> Output<Answer> for To<Number> {
    type Number = Number;
    fn of(answer: Answer) -> Number {
        answer.cast()
    }
}

/// Answers that can be had as a `Number`: those that are one number, as `f32`, `f64` and integers of 8 to 64 bits.
pub trait Cast<Number> {
    /// As Rust's `as` does it: rounded to the nearest float or toward 0, the nearest integer there is, the low bits of a wider
    /// integer; NaN becomes the integer 0.
    fn cast(self) -> Number;
}

macro_rules! cast {
    ($($from:ident)* => $to:tt) => {
        $(cast!(@each $from => $to);)*
    };
    (@each $from:ident => [$($to:ident)*]) => {
        $(impl Cast<$to> for $from {
            fn cast(self) -> $to {
                cast!(@$from self) as $to
            }
        })*
    };
    (@f16 $value:ident) => { $value.to_f64() };
    (@bf16 $value:ident) => { $value.to_f64() };
    (@f8e4m3 $value:ident) => { $value.to_f32() };
    (@f8e5m2 $value:ident) => { $value.to_f32() };
    (@$from:ident $value:ident) => { $value };
}

cast!(f16 bf16 f8e4m3 f8e5m2 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 => [f32 f64 i8 i16 i32 i64 u8 u16 u32 u64]);
