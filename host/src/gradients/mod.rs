//! The norm of a list of tensors, of different lengths and types, as of one vector; and clipping them to a largest one.
//!
//! **The bits of a norm are a function of the tensors and of their order in the list alone.** It does not matter how a launch groups the tensors, nor
//! where they lie, nor on which device. Each tensor is folded in the canonical tree, as [`ops::NormL2`] and its kin fold it. The
//! tensors' states are then combined as neighbours, in the order of the list. `docs/gradients.md` is the specification.
//!
//! | | |
//! |---|---|
//! | on the CPU | [`GradNorm::on_cpu`], [`GradNorm::clip_on_cpu`] |
//! | on the CPU, one tensor after the other, whole or in pieces | [`GradNorm::running`] |
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
mod norm;
mod running;

pub use crate::{ops::order::Order, row::Floats};
pub use clip::FloatsMut;
#[cfg(feature = "cuda")]
pub(crate) use clip::check_max;
pub use running::{RunningNorm, TensorPieces};

use norm::Found;
use warpfold_kernels::{kernels::gradients, monoids};

#[cfg(doc)]
use crate::ops;
use crate::{Error, cpu::pool};

/// What is known of a list of tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TotalNorm {
    /// The norm as f32. NaN if an element is NaN; otherwise ∞ if one is infinite, or if the norm is too large for f32. 0 of nothing.
    pub norm: f32,
    /// The norm as f64: of a list with a tensor of f64 it is rounded once, to f64, and `norm` is that rounded again. Of any other it is `norm`.
    pub norm_f64: f64,
    /// How many elements are infinite or NaN.
    pub not_finite: u64,
}

impl TotalNorm {
    /// A norm that was rounded to f32, of a list without f64.
    #[must_use]
    pub fn of_f32(norm: f32, not_finite: u64) -> Self {
        Self {
            norm,
            norm_f64: norm.into(),
            not_finite,
        }
    }

    /// What a launch [writes](crate::gradients): the norm's bits, a zero, and the count, its lower half first.
    #[must_use]
    pub fn of_words([norm, _, low, high]: [u32; 4]) -> Self {
        Self::of_f32(f32::from_bits(norm), u64::from(low) | u64::from(high) << 32)
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

/// The norm of a list of tensors of f32, f16 and bf16, all of them taken as one vector; on the CPU of f64 and FP8, too.
///
/// Tensors may be empty, and so may the list: its norm is 0. What is not finite is counted. An FP8 tensor is taken as the f32 tensor of the same numbers.
/// A norm with a tensor of f64 is had [as f64](TotalNorm::norm_f64).
///
/// Cost: each element is read once. On GPUs one launch, whatever the number of tensors.
///
/// Its combination of tensors in a fixed order is what pytorch#134393 asks for: there the norm depends on how tensors are grouped by device and type. The norms are those
/// of [`ops`]; see N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., §4.2, for the error of pairwise summation.
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
        let mut running = self.running()?;
        let found: Vec<Found> = pool::map(tensors.len(), &|number| running.fold(tensors[number]));
        found.into_iter().for_each(|found| running.take(found));
        Ok(running.finish())
    }

    /// The norm of tensors that come one after the other, each whole or in pieces, on the CPU: to the bits of [`on_cpu`](Self::on_cpu) of all of them.
    ///
    /// Cost: each element is read once; log₂ of the number of tensors states are kept, and no tensor.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] of an order that has no meaning.
    ///
    /// ```
    /// use warpfold::{gradients::{Order, grad_norm}, ops::element::Type};
    ///
    /// let (weights, biases) = (vec![0.5_f32; 10_000], [12.0_f64]);
    /// let mut running = grad_norm(Order::L2).running()?;
    /// let mut tensor = running.tensor(Type::F32, 4096)?;
    /// for piece in weights.chunks(4096) {
    ///     tensor.push(piece.into())?;
    /// }
    /// tensor.end();
    /// running.push((&biases).into());
    /// let total = running.finish();
    /// assert_eq!(total, grad_norm(Order::L2).on_cpu(&[(&weights).into(), (&biases).into()])?);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn running(self) -> Result<RunningNorm, Error> {
        RunningNorm::new(self.order)
    }

    /// The kernels' symbols, for those who look at their PTX: of the norm, and of what clips.
    #[must_use]
    pub fn kernels(self) -> [&'static str; 2] {
        [self.order.entry(), gradients::CLIP]
    }
}
