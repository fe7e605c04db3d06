//! Clipping tensors in place.

use warpfold_kernels::{
    element::{bf16, f16},
    rowwise::RowElement,
};

use super::{Floats, GradNorm, TotalNorm};
use crate::{Error, cpu::pool};

/// A tensor that is written, of any of the three types.
#[derive(Debug, PartialEq)]
pub enum FloatsMut<'a> {
    /// f32.
    F32(&'a mut [f32]),
    /// f16.
    F16(&'a mut [f16]),
    /// bf16.
    Bf16(&'a mut [bf16]),
}

macro_rules! floats {
    ($($element:ident: $variant:ident)*) => {
        $(impl<'a> From<&'a mut [$element]> for FloatsMut<'a> {
            fn from(values: &'a mut [$element]) -> Self {
                Self::$variant(values)
            }
        }
        impl<'a> From<&'a mut Vec<$element>> for FloatsMut<'a> {
            fn from(values: &'a mut Vec<$element>) -> Self {
                Self::$variant(values)
            }
        })*
    };
}

floats!(f32: F32 f16: F16 bf16: Bf16);

impl FloatsMut<'_> {
    /// The same, to be read.
    #[must_use]
    pub fn as_ref(&self) -> Floats<'_> {
        match self {
            Self::F32(values) => Floats::F32(values),
            Self::F16(values) => Floats::F16(values),
            Self::Bf16(values) => Floats::Bf16(values),
        }
    }

    /// Their bytes, as memory has them.
    #[cfg(feature = "cuda")]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::F32(values) => bytemuck::cast_slice_mut(values),
            Self::F16(values) => bytemuck::cast_slice_mut(values),
            Self::Bf16(values) => bytemuck::cast_slice_mut(values),
        }
    }

    fn multiply(&mut self, factor: f32) {
        match self {
            Self::F32(values) => multiply(values, factor),
            Self::F16(values) => multiply(values, factor),
            Self::Bf16(values) => multiply(values, factor),
        }
    }
}

/// Elements that one thread multiplies, or counts, at a time.
pub(super) const TASK: usize = 1 << 15;

fn multiply<T: RowElement>(values: &mut [T], factor: f32) {
    pool::runs(values, 1, TASK, &|_, run| {
        run.iter_mut().for_each(|x| *x = T::narrowed(x.wide() * factor));
    });
}

impl GradNorm {
    /// Multiplies tensors in place, on the CPU, so that their norm is `max_norm` at most; answers the norm that they had.
    ///
    /// As PyTorch's `clip_grad_norm_` has it, the factor is `max_norm / (norm + 10⁻⁶)` in f32, and nothing is written where that is 1 or more. Each product is of f32,
    /// rounded once to the tensor's type. **Where the norm is not finite nothing is written**, unlike there: whoever sees
    /// [`not_finite`](TotalNorm::not_finite) above 0 can skip the step, and has the gradients to look at.
    ///
    /// # Errors
    ///
    /// As [`on_cpu`](Self::on_cpu); [`Error::Parameter`] of a `max_norm` below 0 or NaN.
    ///
    /// ```
    /// use warpfold::gradients::{Order, grad_norm};
    ///
    /// let mut weights = vec![3.0_f32, -4.0];
    /// let total = grad_norm(Order::L2).clip_on_cpu(&mut [(&mut weights).into()], 1.0)?;
    /// assert_eq!((total.norm, weights), (5.0, vec![0.599_999_9, -0.799_999_83]));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn clip_on_cpu(self, tensors: &mut [FloatsMut<'_>], max_norm: f32) -> Result<TotalNorm, Error> {
        check_max(max_norm)?;
        let views: Vec<Floats<'_>> = tensors.iter().map(FloatsMut::as_ref).collect();
        let total = self.on_cpu(&views)?;
        if let Some(factor) = total.clip_factor(max_norm) {
            pool::runs(tensors, 1, 1, &|_, run| {
                run.iter_mut().for_each(|tensor| tensor.multiply(factor))
            });
        }
        Ok(total)
    }
}

/// Whether a largest norm has a meaning.
pub(crate) fn check_max(max_norm: f32) -> Result<(), Error> {
    if max_norm >= 0.0 {
        return Ok(());
    }
    Err(Error::Parameter {
        op: "clip",
        name: "max_norm",
        value: max_norm.into(),
        must: "0 or more",
    })
}
