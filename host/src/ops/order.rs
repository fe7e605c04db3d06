//! Which norm a list of tensors has.

use crate::Error;
#[cfg(doc)]
use crate::ops;

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
