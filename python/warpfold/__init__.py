"""Reductions whose bits are a function of the input alone.

Sums, products, extrema, norms and moments, softmax, layer norms and cross-entropy, of NumPy arrays, torch tensors, and
anything with DLPack. The answer is of the array's library and on its device, and has the same bits on every CPU and GPU, in
every launch, batch and split.
"""

from ._warpfold import (
    DeviceError,
    Losses,
    Partial,
    __version__,
    all,
    any,
    argmax,
    argmin,
    argminmax,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    cosine,
    count_inf,
    count_nan,
    count_nonzero,
    cross_entropy,
    devices,
    dot,
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
    norm,
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

__all__ = [name for name in dir() if not name.startswith("_")]
