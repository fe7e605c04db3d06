//! warpfold for Python.
//!
//! A call goes: argument → [`arrays`] (where its elements are) → [`folds`] (the function, found once) → the library → [`answers`] (an array of the
//! argument's own library). Nothing here computes.

mod answers;
mod arrays;
mod describe;
mod distinct;
mod dtypes;
mod errors;
mod files;
mod folds;
mod gpu;
mod machine;
mod named;
mod norms;
mod options;
mod partial;
mod reduce;
mod rows;
mod segments;

use pyo3::pymodule;

/// Reductions with the same bits everywhere.
#[pymodule]
mod _warpfold {
    #[pymodule_export]
    use super::arrays::Owned;
    #[pymodule_export]
    use super::describe::{Description, describe};
    #[pymodule_export]
    use super::distinct::n_unique;
    #[pymodule_export]
    use super::errors::DeviceError;
    #[pymodule_export]
    use super::files::{Difference, Fault, File, Tensor, check, diff, open};
    #[pymodule_export]
    use super::machine::{devices, set_threads};
    #[pymodule_export]
    use super::norms::{grad_norm, grad_norm_of_partials};
    #[pymodule_export]
    use super::partial::{Partial, partial, split};
    #[pymodule_export]
    use super::reduce::{
        all, any, argmax, argmin, argminmax, bitwise_and, bitwise_or, bitwise_xor, cosine, count_inf, count_nan,
        count_nonzero, dot, kurtosis, logsumexp, max, mean, meanvar, min, minmax, norm, prod, skew, std, sum,
        sum_of_squares, var,
    };

    use pyo3::{
        Bound, PyResult,
        types::{PyModule, PyModuleMethods as _},
    };

    #[pymodule_export]
    use super::rows::{
        Losses, cross_entropy, cross_entropy_gradient, group_norm, layer_norm, log_softmax, norm_column_gradients,
        norm_gradient, rms_norm, softmax, softmax_gradient,
    };

    #[pymodule_export]
    use super::segments::segments;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::machine::watch_forks(module.py())?;
        module.add("tree_version", warpfold_kernels::tree::VERSION)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
