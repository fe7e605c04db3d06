//! The norm of tensors that are taken one after the other, so that none of them is held.

use std::{marker::PhantomData, sync::Arc};

use warpfold_kernels::element::{Element, bf16, f16};

use super::{GradNorm, Order, TotalNorm};
use crate::{
    Error,
    dynamic::{Function, function},
    ops::{
        NormInf, NormL1, NormL2, NormLp,
        untyped::{Typed, Untyped, unpacked},
    },
};

/// Elements of a tensor whose norm is taken: f32, f16, bf16 and f64.
pub trait GradElement: Element + sealed::Sealed {
    /// What the list's norm is: f64 of f64, else f32.
    type Norm: NormElement;

    #[doc(hidden)]
    fn function(order: Order) -> Box<dyn Function<Self>>;
    /// Whether it is neither infinite nor NaN.
    #[doc(hidden)]
    fn is_finite(self) -> bool;
}

/// What a norm is: f32 or f64.
pub trait NormElement: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn folded(order: Order) -> Folded;
    #[doc(hidden)]
    fn unpacked(packed: &[u8]) -> Self;
}

/// An operator whose states are words.
#[doc(hidden)]
pub struct Folded(Arc<dyn Untyped>);

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($element:ident: $norm:ident, $is_finite:expr;)*) => {
        $(impl sealed::Sealed for $element {}
        impl GradElement for $element {
            type Norm = $norm;

            fn function(order: Order) -> Box<dyn Function<Self>> {
                match order {
                    Order::L1 => function(NormL1),
                    Order::L2 => function(NormL2),
                    Order::Inf => function(NormInf),
                    Order::P(p) => function(NormLp { p }),
                }
            }
            fn is_finite(self) -> bool {
                $is_finite(self)
            }
        })*
    };
}

elements!(
    f32: f32, f32::is_finite;
    f64: f64, f64::is_finite;
    f16: f32, |half: f16| half.to_bits() & 0x7c00 != 0x7c00;
    bf16: f32, |half: bf16| half.to_bits() & 0x7f80 != 0x7f80;
);

macro_rules! norms {
    ($($norm:ident)*) => {
        $(impl NormElement for $norm {
            fn folded(order: Order) -> Folded {
                Folded(match order {
                    Order::L1 => Arc::new(Typed::<_, $norm>::new(NormL1)),
                    Order::L2 => Arc::new(Typed::<_, $norm>::new(NormL2)),
                    Order::Inf => Arc::new(Typed::<_, $norm>::new(NormInf)),
                    Order::P(p) => Arc::new(Typed::<_, $norm>::new(NormLp { p })),
                })
            }
            fn unpacked(packed: &[u8]) -> Self {
                unpacked(packed).next().expect("a norm is one number")
            }
        })*
    };
}

norms!(f32 f64);

/// The norm of the tensors so far: see [`GradNorm::running`].
pub struct RunningNorm<F> {
    untyped: Arc<dyn Untyped>,
    /// States of neighbours that wait for the tensors that follow: one for each bit of the number of tensors, the most tensors first.
    waiting: Vec<Vec<u32>>,
    tensors: u64,
    elements: u64,
    not_finite: u64,
    norm: PhantomData<F>,
}

impl GradNorm {
    /// The norm of no tensors, to be given one after the other: of f32, f16 and bf16 an f32, of f64 an f64. The bits are those of
    /// [`on_cpu`](Self::on_cpu) over the list of them.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] of an order that has no meaning.
    ///
    /// ```
    /// use warpfold::{dynamic::{Arrays, Function, Target}, gradients::{GradElement, Order, grad_norm}};
    ///
    /// let (norm, mut total) = (grad_norm(Order::L2), grad_norm(Order::L2).running::<f64>()?);
    /// for tensor in [[3.0_f64, 0.0], [4.0, 1e200]] {
    ///     let state = norm.function::<f64>().state(&Target::Cpu, &Arrays::one(&tensor))?;
    ///     total.push(&state, 2, norm.not_finite(&tensor));
    /// }
    /// assert_eq!(total.finish().norm, 1e200);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn running<F: NormElement>(self) -> Result<RunningNorm<F>, Error> {
        self.order.check()?;
        Ok(RunningNorm {
            untyped: F::folded(self.order).0,
            waiting: vec![],
            tensors: 0,
            elements: 0,
            not_finite: 0,
            norm: PhantomData,
        })
    }

    /// The fold of a tensor, whole or in pieces, whose state [`RunningNorm::push`] takes.
    #[must_use]
    pub fn function<T: GradElement>(self) -> Box<dyn Function<T>> {
        T::function(self.order)
    }

    /// How many elements are infinite or NaN.
    #[must_use]
    pub fn not_finite<T: GradElement>(self, values: &[T]) -> u64 {
        values.iter().map(|value| u64::from(!value.is_finite())).sum()
    }
}

impl<F: NormElement> RunningNorm<F> {
    /// Takes the next tensor: the words of the state of all its elements, how many these are, and how many of them are not finite.
    ///
    /// # Panics
    ///
    /// If these are not the words of a state.
    pub fn push(&mut self, state: &[u32], elements: u64, not_finite: u64) {
        let mut state = state[..self.untyped.words()].to_vec();
        for _ in 0..self.tensors.trailing_ones() {
            let mut left = self.waiting.pop().expect("a state waits for each bit");
            self.untyped.combine(&mut left, &state);
            state = left;
        }
        self.waiting.push(state);
        self.tensors += 1;
        self.elements += elements;
        self.not_finite += not_finite;
    }

    /// Elements so far.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Tensors so far.
    #[must_use]
    pub fn tensors(&self) -> u64 {
        self.tensors
    }

    /// Whether all elements of a tensor with that state are finite. It may say no of such, where they are too large for it.
    pub(super) fn are_finite(&self, state: &[u32], elements: u64) -> bool
    where
        f64: From<F>,
    {
        let mut answer = self.untyped.over_nothing();
        if elements > 0 {
            self.untyped.finish(state, elements, &mut answer);
        }
        f64::from(F::unpacked(&answer)).is_finite()
    }

    /// The norm of all tensors.
    #[must_use]
    pub fn finish(mut self) -> TotalNorm<F> {
        let mut answer = self.untyped.over_nothing();
        // What has no neighbour is combined with nothing.
        if let Some(mut state) = self.waiting.pop() {
            while let Some(mut left) = self.waiting.pop() {
                self.untyped.combine(&mut left, &state);
                state = left;
            }
            if self.elements > 0 {
                self.untyped.finish(&state, self.elements, &mut answer);
            }
        }
        TotalNorm {
            norm: F::unpacked(&answer),
            not_finite: self.not_finite,
        }
    }
}
