//! The norm of a list of tensors, of different lengths and types, as of one vector; and clipping them to a largest one.
//!
//! **The bits of a norm are a function of the tensors and of their order in the list alone.** It does not matter how a launch groups the tensors, nor
//! where they lie, nor on which device. Each tensor is folded in the canonical tree, as [`ops::NormL2`] and its kin fold it. The
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

pub use crate::row::Floats;
pub use clip::FloatsMut;
#[cfg(feature = "cuda")]
pub(crate) use clip::check_max;

use warpfold_kernels::{
    element::{bf16, f16},
    kernels::gradients,
    monoids::{self, Counted, Monoid as _, NormAndCount, TensorNorm, Words as _},
};

use crate::{
    Error,
    cpu::{self, pool},
    ops::{self, Reduction},
};

/// Which norm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Order {
    /// The sum of magnitudes, as [`ops::NormL1`]: pairwise, in f32.
    L1,
    /// The root of the sum of squares, as [`ops::NormL2`]: in f64, so nothing over- or underflows.
    #[default]
    L2,
    /// The largest magnitude, as [`ops::NormInf`].
    Inf,
    /// The root of the sum of powers, as [`ops::NormLp`]: of a power of 1 or more, finite. It is by logarithms, in f64.
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

/// What is known of a list of tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TotalNorm {
    /// The norm, rounded to f32 once. NaN if an element is NaN; otherwise ∞ if one is infinite, or if the norm is too large for f32. 0 of nothing.
    pub norm: f32,
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

    fn of(((norm, _), not_finite): NormAndCount) -> Self {
        Self { norm, not_finite }
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
        self.order.check()?;
        Ok(match self.order {
            Order::L1 => total(ops::NormL1, monoids::NormL1, tensors),
            Order::L2 => total(ops::NormL2, monoids::NormL2, tensors),
            Order::Inf => total(ops::NormInf, monoids::NormInf, tensors),
            Order::P(p) => total(ops::NormLp { p }, monoids::NormLp { p }, tensors),
        })
    }

    /// The kernels' symbols, for those who look at their PTX: of the norm, and of what clips.
    #[must_use]
    pub fn kernels(self) -> [&'static str; 2] {
        [self.order.entry(), gradients::CLIP]
    }
}

/// The norm of tensors by an operator, whose states are those of `norm`.
fn total<R, N>(op: R, norm: N, tensors: &[Floats<'_>]) -> TotalNorm
where
    R: Reduction<f32> + Reduction<f16> + Reduction<bf16> + Sync,
    N: TensorNorm<State: Send> + Send + Sync,
{
    let counted = Counted(norm);
    let mut states: Vec<(N::State, u64)> = pool::map(tensors.len(), &|i| {
        let state = match &tensors[i] {
            Floats::F32(values) => state::<_, R, N>(op, values),
            Floats::F16(values) => state::<_, R, N>(op, values),
            Floats::Bf16(values) => state::<_, R, N>(op, values),
        };
        let count = if norm.is_finite(state) {
            0
        } else {
            not_finite(&tensors[i])
        };
        (state, count)
    });
    // Neighbours meet until one is left. What has no neighbour meets the identity, which changes no bit.
    while states.len() > 1 {
        let both = |pair: &[_]| pair.get(1).map_or(pair[0], |other| counted.combine(pair[0], *other));
        states = states.chunks(2).map(both).collect();
    }
    let elements: usize = tensors.iter().map(Floats::len).sum();
    let answer = match states.first() {
        Some(state) if elements > 0 => counted.finish(*state, elements as u64),
        _ => counted.empty().expect("norms of nothing are 0"),
    };
    TotalNorm::of(answer)
}

/// The state of a tensor: of its type, and the same of f32.
fn state<T: ops::element::Element, R: Reduction<T>, N: TensorNorm>(op: R, values: &[T]) -> N::State {
    let state = cpu::fold(op, values);
    N::State::from_words(|i| state.word(i))
}

/// How many elements are infinite or NaN: a second look, for few have such.
fn not_finite(tensor: &Floats<'_>) -> u64 {
    match tensor {
        Floats::F32(values) => count(values, &|x| !x.is_finite()),
        Floats::F16(values) => count(values, &|x| x.to_bits() & 0x7c00 == 0x7c00),
        Floats::Bf16(values) => count(values, &|x| x.to_bits() & 0x7f80 == 0x7f80),
    }
}

fn count<T: Sync>(values: &[T], counts: &(impl Fn(&T) -> bool + Sync)) -> u64 {
    let tasks: Vec<&[T]> = values.chunks(clip::TASK).collect();
    let counted = pool::map(tasks.len(), &|i| tasks[i].iter().filter(|x| counts(x)).count() as u64);
    counted.iter().sum()
}
