"""warpfold's functions of torch tensors, with gradients, under torch.compile and in CUDA graphs.

    import warpfold.torch as wt
    wt.rms_norm(x, x.shape[-1:], weight).sum().backward()

The bits of an answer and of a gradient are a function of the tensors' elements alone: not of the batch, the device or the launch.
"""

from . import mode, nn
from .clip import clip_grad_norm_
from .mode import (
    disable_batch_invariant_mode,
    enable_batch_invariant_mode,
    is_batch_invariant_mode_enabled,
    set_batch_invariant_mode,
)
from .reductions import logsumexp, mean, norm, std, sum, var
from .rows import cross_entropy, group_norm, layer_norm, log_softmax, rms_norm, softmax, token_log_probs

__all__ = [
    "clip_grad_norm_", "cross_entropy", "disable_batch_invariant_mode", "enable_batch_invariant_mode", "group_norm",
    "is_batch_invariant_mode_enabled", "layer_norm", "log_softmax", "logsumexp", "mean", "mode", "nn", "norm", "rms_norm",
    "set_batch_invariant_mode", "softmax", "std", "sum", "token_log_probs", "var",
]  # fmt: skip
