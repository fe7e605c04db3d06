//! What answers are.

use warpfold_kernels::element::{Element as _, Type, bf16, complex32, complex64, complex128, f8e4m3, f8e5m2, f16};

/// What an operator answers: a number, complex or not, or a truth, or two of one type.
pub trait Answer {
    /// It.
    const ANSWER: AnswerType;
}

/// What an operator's answers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerType {
    /// The type of its numbers.
    pub element: Type,
    /// How many numbers an answer is.
    pub parts: usize,
}

macro_rules! answers {
    ($($number:ty)*) => {
        $(impl Answer for $number {
            const ANSWER: AnswerType = AnswerType { element: <$number>::TYPE, parts: 1 };
        }

        impl Answer for ($number, $number) {
            const ANSWER: AnswerType = AnswerType { element: <$number>::TYPE, parts: 2 };
        })*
    };
}

answers!(f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 f8e4m3 f8e5m2 complex32 complex64 complex128 bool);
