"""Reductions whose bits are a function of the input alone.

Sums, products, extrema, norms and moments, softmax, layer norms and cross-entropy, of NumPy arrays, torch tensors, and
anything with DLPack. The answer is of the array's library and on its device, and has the same bits on every CPU and GPU, in
every launch, batch and split. Files of arrays are folded a piece at a time, described, checked and compared.
"""

from ._warpfold import (
    Description,
    DeviceError,
    Difference,
    Fault,
    File,
    Losses,
    Partial,
    Tensor,
    __version__,
    all,
    any,
    argmax,
    argmin,
    argminmax,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    check,
    cosine,
    count_inf,
    count_nan,
    count_nonzero,
    cross_entropy,
    describe,
    devices,
    diff,
    dot,
    grad_norm,
    group_norm,
    kurtosis,
    layer_norm,
    log_softmax,
    logsumexp,
    max,
    mean,
    meanvar,
    min,
    minmax,
    n_unique,
    norm,
    open,
    partial,
    prod,
    rms_norm,
    segments,
    set_threads,
    skew,
    softmax,
    split,
    std,
    sum,
    sum_of_squares,
    tree_version,
    var,
)

# NumPy's names.
amax, amin, average = max, min, mean


def _ignoring_nan(function):
    def ignoring(x, /, **keywords):
        if "nan" in keywords:
            raise TypeError(f"nan: nan{function.__name__} leaves NaN out")
        return function(x, nan="ignore", **keywords)

    ignoring.__name__ = ignoring.__qualname__ = f"nan{function.__name__}"
    ignoring.__doc__ = f"{function.__name__} with nan=\"ignore\", and the same keywords."
    return ignoring


nanargmax, nanargmin, nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar = map(
    _ignoring_nan, (argmax, argmin, max, mean, min, prod, std, sum, var)
)

__all__ = [name for name in dir() if not name.startswith("_")]
