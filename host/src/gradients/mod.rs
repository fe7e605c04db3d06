//! The norm of a list of tensors, of different lengths and types, as of one vector; and clipping them to a largest one.
//!
//! **The bits of a norm are a function of the tensors and of their order in the list alone.** It does not matter how a launch groups the tensors, nor
//! where they lie, nor on which device. Each tensor is folded in the canonical tree, as [`NormL2`](crate::ops::NormL2) and its kin fold it. The
//! tensors' states are then combined as neighbours, in the order of the list. `docs/gradients.md` is the specification.
//!
//! | | |
//! |---|---|
//! | on the CPU | [`GradNorm::on_cpu`], [`GradNorm::clip_on_cpu`] |
//! | of tensors in host memory, on a GPU | `GradNorm::on`, `GradNorm::clip_on` |
//! | of tensors in device memory | `GradNorm::prepare`, then `PreparedNorm::launch_raw` and `clip_raw`: one launch each, nothing waits |
//!
//! ```
//! use warpfold::gradients::{Order, grad_norm};
//!
//! let (weights, biases) = ([3.0_f32, 0.0, -4.0], [12.0_f32]);
//! let total = grad_norm(Order::L2).on_cpu(&[(&weights).into(), (&biases).into()])?;
//! assert_eq!((total.norm, total.not_finite), (13.0, 0));
//! # Ok::<(), warpfold::Error>(())
//! ```

mod clip;
mod running;

pub use crate::row::Floats;
pub use clip::FloatsMut;
#[cfg(feature = "cuda")]
pub(crate) use clip::check_max;
pub use running::{GradElement, NormElement, RunningNorm};

use bytemuck::NoUninit;
use warpfold_kernels::{kernels::gradients, monoids};

use crate::{
    Error,
    cpu::pool,
    dynamic::{Arrays, Target},
};

/// Which norm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Order {
    /// The sum of magnitudes, as [`NormL1`](crate::ops::NormL1): pairwise, in f32.
    L1,
    /// The root of the sum of squares, as [`NormL2`](crate::ops::NormL2): in f64, so nothing over- or underflows.
    #[default]
    L2,
    /// The largest magnitude, as [`NormInf`](crate::ops::NormInf).
    Inf,
    /// The root of the sum of powers, as [`NormLp`](crate::ops::NormLp): of a power of 1 or more, finite. It is by logarithms, in f64.
    P(f64),
}

impl Order {
    /// That of a number, as PyTorch's `norm_type` is one: 1, 2 and ∞ are those above.
    #[must_use]
    pub fn of(p: f64) -> Self {
        match p {
            1.0 => Self::L1,
            2.0 => Self::L2,
            f64::INFINITY => Self::Inf,
            p => Self::P(p),
        }
    }

    /// Whether it has a meaning.
    pub(crate) fn check(self) -> Result<(), Error> {
        match self {
            Self::P(p) if !(p.is_finite() && p >= 1.0) => Err(Error::Parameter {
                op: "grad_norm",
                name: "the order",
                value: p,
                must: "1 or more: for the largest magnitude there is Order::Inf",
            }),
            _ => Ok(()),
        }
    }

    /// The kernel's name.
    pub(crate) fn entry(self) -> &'static str {
        match self {
            Self::L1 => "grad_norm_l1",
            Self::L2 => "grad_norm_l2",
            Self::Inf => "grad_norm_inf",
            Self::P(_) => "grad_norm_lp",
        }
    }
}

/// The norm of a list of tensors, and what is not finite in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TotalNorm<F = f32> {
    /// The norm, rounded once. NaN if an element is NaN; otherwise ∞ if one is infinite, or if the norm is too large for its type. 0 of nothing.
    pub norm: F,
    /// How many elements are infinite or NaN.
    pub not_finite: u64,
}

impl TotalNorm {
    /// What a launch [writes](crate::gradients): the norm's bits, a zero, and the count, its lower half first.
    #[must_use]
    pub fn of_words([norm, _, low, high]: [u32; 4]) -> Self {
        Self {
            norm: f32::from_bits(norm),
            not_finite: u64::from(low) | u64::from(high) << 32,
        }
    }

    /// What [clipping](GradNorm::clip_on_cpu) multiplies by; none where it leaves the tensors as they are.
    #[must_use]
    pub fn clip_factor(&self, max_norm: f32) -> Option<f32> {
        monoids::clip_factor(self.norm, max_norm)
    }
}

/// The norm of a list of tensors, to be had on the CPU or on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[must_use = "nothing is folded before its last step"]
pub struct GradNorm {
    /// Which.
    pub order: Order,
}

/// The norm of a list of tensors of f32, f16 and bf16, all of them taken as one vector.
///
/// Tensors may be empty, and so may the list: its norm is 0. What is not finite is counted.
///
/// Cost: each element is read once. On GPUs one launch, whatever the number of tensors.
///
/// Its combination of tensors in a fixed order is what pytorch#134393 asks for: there the norm depends on how tensors are grouped by device and type. The norms are those
/// of [`ops`](crate::ops); see N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., §4.2, for the error of pairwise summation.
pub fn grad_norm(order: Order) -> GradNorm {
    GradNorm { order }
}

impl GradNorm {
    /// The norm of tensors in host memory, on the CPU, by all cores.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] of an order that has no meaning.
    pub fn on_cpu(self, tensors: &[Floats<'_>]) -> Result<TotalNorm, Error> {
        let mut total = self.running::<f32>()?;
        let states = pool::map(tensors.len(), &|number| match &tensors[number] {
            Floats::F32(values) => self.state(&total, values),
            Floats::F16(values) => self.state(&total, values),
            Floats::Bf16(values) => self.state(&total, values),
        });
        for (tensor, state) in tensors.iter().zip(states) {
            let (state, not_finite) = state?;
            total.push(&state, tensor.len() as u64, not_finite);
        }
        Ok(total.finish())
    }

    /// The state of a tensor, and how many elements are not finite: those are looked for only where there may be any, for few tensors
    /// have such.
    fn state<T: GradElement<Norm = f32> + NoUninit>(
        self,
        total: &RunningNorm<f32>,
        values: &[T],
    ) -> Result<(Vec<u32>, u64), Error> {
        let state = self.function::<T>().state(&Target::Cpu, &Arrays::one(values))?;
        let not_finite = match total.are_finite(&state, values.len() as u64) {
            true => 0,
            false => self.not_finite(values),
        };
        Ok((state, not_finite))
    }

    /// The kernels' symbols, for those who look at their PTX: of the norm, and of what clips.
    #[must_use]
    pub fn kernels(self) -> [&'static str; 2] {
        [self.order.entry(), gradients::CLIP]
    }
}
