//! What is found in tensors of any type, and how two findings are combined.

use std::sync::Arc;

use warpfold_kernels::{
    element::{Element, Float as _, Rank as _, Real, Scale as _, Squares, Type, bf16, f16},
    monoids::{Monoid as _, Words},
};

use super::{Floats, Order, TotalNorm};
use crate::{
    Error,
    cpu::{self, carries::Carries, erased::PackedFold, pool},
    ops::{
        self, Reduction,
        untyped::{Typed, of_words, words},
    },
    partial::AnyPartial,
    pieces::AnyPieces,
};

/// Elements that a thread looks at in one go.
const TASK: usize = 1 << 16;

/// What is found in some tensors, or in a part of one.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The words of a state: of f32 until it is combined with one of f64.
    pub(super) state: Vec<u32>,
    pub(super) is_f64: bool,
    pub(super) elements: u64,
    pub(super) not_finite: u64,
}

/// A norm, its operator forgotten.
pub(super) trait AnyNorm: Send + Sync {
    /// What is found in a tensor.
    fn fold(&self, tensor: Floats<'_>) -> Found;
    /// What is found in both. A state of f32 that is combined with one of f64 is widened first, exactly.
    fn combine(&self, a: Found, b: Found) -> Found;
    /// The norm of all that was found.
    fn finish(&self, found: &Found) -> TotalNorm;
    /// Pieces of a tensor of that type, each of so many elements; of a type that has no norm none.
    fn pieces(&self, element: Type, piece: u64) -> Option<Result<AnyPieces, Error>>;
    /// A partial of a tensor of that type that has no elements.
    fn partial(&self, element: Type) -> Option<Result<AnyPartial, Error>>;
    /// What is found in all pieces of one.
    fn found(&self, element: Type, pieces: AnyPieces, not_finite: u64) -> Found;
}

/// The norm of that order.
pub(super) fn of(order: Order) -> Arc<dyn AnyNorm> {
    match order {
        Order::L1 => Arc::new(ops::NormL1),
        Order::L2 => Arc::new(ops::NormL2),
        Order::Inf => Arc::new(ops::NormInf),
        Order::P(p) => Arc::new(ops::NormLp { p }),
    }
}

/// A norm of all types: states of f16 and bf16 are those of f32.
trait Norm:
    Reduction<f16> + Reduction<bf16> + Reduction<f32, Answer = f32> + Reduction<f64, Answer = f64> + Send + Sync
{
    /// The state that the same numbers have as f64: what it stands for is the same, exactly.
    fn widen(self, state: <Self as Reduction<f32>>::State) -> <Self as Reduction<f64>>::State;
}

impl Norm for ops::NormL1 {
    fn widen(self, sum: f32) -> f64 {
        sum.into()
    }
}

impl Norm for ops::NormL2 {
    fn widen(self, squares: <Self as Reduction<f32>>::State) -> <Self as Reduction<f64>>::State {
        // Roots of sums of squares of f32 are far from the ends of f64: the factor is 1, but of 0, of an infinity and of a NaN.
        let scale = <f64 as Element>::Scale::of(squares.sum.sqrt());
        let sum = squares.sum * scale.factor() * scale.factor();
        Squares { sum, scale }
    }
}

impl Norm for ops::NormInf {
    fn widen(self, largest: i32) -> i64 {
        f64::from(f32::of_key(largest)).key()
    }
}

impl Norm for ops::NormLp {
    fn widen(self, state: <Self as Reduction<f32>>::State) -> <Self as Reduction<f64>>::State {
        state
    }
}

/// Elements of FP8 that are made f32 at a time: a subtree.
const WIDENED: usize = 1 << 16;

impl<R: Norm> AnyNorm for R {
    fn fold(&self, tensor: Floats<'_>) -> Found {
        let op = *self;
        match tensor {
            Floats::F32(values) => found(op, values, narrow(op)),
            Floats::F16(values) => found(op, values, narrow(op)),
            Floats::Bf16(values) => found(op, values, narrow(op)),
            Floats::F64(values) => found(op, values, wide(op)),
            Floats::F8E4M3(values) => widened(self, values),
            Floats::F8E5M2(values) => widened(self, values),
        }
    }

    fn combine(&self, a: Found, b: Found) -> Found {
        let op = *self;
        let is_f64 = a.is_f64 || b.is_f64;
        let (elements, not_finite) = (a.elements + b.elements, a.not_finite + b.not_finite);
        let state = if is_f64 {
            let [a, b] = [a, b].map(|found| as_f64(op, &found));
            words(Reduction::<f64>::monoid(op).combine(a, b))
        } else {
            let [a, b] = [a, b].map(|found| of_words(&found.state));
            words(Reduction::<f32>::monoid(op).combine(a, b))
        };
        Found {
            state,
            is_f64,
            elements,
            not_finite,
        }
    }

    fn finish(&self, found: &Found) -> TotalNorm {
        if found.elements == 0 {
            return TotalNorm::default();
        }
        if found.is_f64 {
            let norm_f64 = wide(*self)(of_words(&found.state));
            let norm = f32::from_f64(norm_f64);
            TotalNorm {
                norm,
                norm_f64,
                not_finite: found.not_finite,
            }
        } else {
            TotalNorm::of_f32(narrow(*self)(of_words(&found.state)), found.not_finite)
        }
    }

    fn pieces(&self, element: Type, piece: u64) -> Option<Result<AnyPieces, Error>> {
        let op = *self;
        Some(match element {
            Type::F32 | Type::F8E4M3 | Type::F8E5M2 => AnyPieces::new(Arc::new(Typed::<R, f32>::new(op)), piece),
            Type::F16 => AnyPieces::new(Arc::new(Typed::<R, f16>::new(op)), piece),
            Type::Bf16 => AnyPieces::new(Arc::new(Typed::<R, bf16>::new(op)), piece),
            Type::F64 => AnyPieces::new(Arc::new(Typed::<R, f64>::new(op)), piece),
            _ => return None,
        })
    }

    fn partial(&self, element: Type) -> Option<Result<AnyPartial, Error>> {
        let op: Arc<dyn PackedFold> = match element {
            Type::F32 => Arc::new(Typed::<R, f32>::new(*self)),
            Type::F16 => Arc::new(Typed::<R, f16>::new(*self)),
            Type::Bf16 => Arc::new(Typed::<R, bf16>::new(*self)),
            Type::F64 => Arc::new(Typed::<R, f64>::new(*self)),
            _ => return None,
        };
        Some(AnyPartial::new(op, vec![]))
    }

    fn found(&self, element: Type, pieces: AnyPieces, not_finite: u64) -> Found {
        Found {
            elements: pieces.len(),
            is_f64: element == Type::F64,
            state: pieces.state(),
            not_finite,
        }
    }
}

/// The answer of a state of f32.
fn narrow<R: Norm>(op: R) -> impl Fn(<R as Reduction<f32>>::State) -> f32 {
    // Norms do not depend on how many elements they are of.
    move |state| Reduction::<f32>::monoid(op).finish(state, 1)
}

/// That of one of f64.
fn wide<R: Norm>(op: R) -> impl Fn(<R as Reduction<f64>>::State) -> f64 {
    move |state| Reduction::<f64>::monoid(op).finish(state, 1)
}

fn as_f64<R: Norm>(op: R, found: &Found) -> <R as Reduction<f64>>::State {
    if found.is_f64 {
        of_words(&found.state)
    } else {
        op.widen(of_words(&found.state))
    }
}

/// What is found in elements of a type whose states are those of another, or its own.
fn found<T, R, S, A>(op: R, values: &[T], answer: impl Fn(S) -> A) -> Found
where
    T: Real,
    R: Reduction<T>,
    S: Words,
    A: Real,
{
    let state = words(cpu::fold(op, values));
    // A second pass, for few have such.
    let is_finite = |x: f64| x.is_finite();
    let not_finite = if is_finite(answer(of_words(&state)).to_f64()) {
        0
    } else {
        let tasks: Vec<&[T]> = values.chunks(TASK).collect();
        let count = |task: &[T]| task.iter().filter(|x| !is_finite(x.to_f64())).count() as u64;
        pool::map(tasks.len(), &|number| count(tasks[number])).into_iter().sum()
    };
    Found {
        state,
        is_f64: T::TYPE == Type::F64,
        elements: values.len() as u64,
        not_finite,
    }
}

/// What is found in elements as f32, a subtree at a time, so that few are held.
fn widened<T: Element<Wide = f32>>(norm: &dyn AnyNorm, values: &[T]) -> Found {
    let fold = |values: &[T]| {
        let wide: Vec<f32> = values.iter().map(|x| x.wide()).collect();
        norm.fold((&wide).into())
    };
    let tasks: Vec<&[T]> = values.chunks(WIDENED).collect();
    let found = pool::map(tasks.len(), &|number| fold(tasks[number]));
    let combine = |a, b| norm.combine(a, b);
    let mut carries = Carries::new();
    found.into_iter().for_each(|found| carries.push(found, combine));
    carries.total(combine).unwrap_or_else(|| fold(&[]))
}
