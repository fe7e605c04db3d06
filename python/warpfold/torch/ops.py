"""The operators torch.ops.warpfold.*: a schema, a kernel for CPU and CUDA tensors, and a fake kernel each.

They have no autograd. functions.py calls them below torch.autograd.Function, which costs half of what register_autograd does.
"""

import torch

import warpfold as wf
from warpfold import _warpfold

_library = torch.library.Library("warpfold", "DEF")


def _define(schema, kernel, fake):
    """The overload of a new operator: dispatched in 1.8 us, where torch.library.custom_op takes 6.5."""
    name = schema.partition("(")[0]
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    for key in ("CPU", "CUDA"):
        _library.impl(name, kernel, key)
    # So that warpfold sees a tensor that wants a gradient, and refuses it: torch's own fallback would lose the gradient.
    _library.impl(name, torch.library.fallthrough_kernel, "Autograd")
    torch.library.register_fake(f"warpfold::{name}", fake, lib=_library)
    return getattr(torch.ops.warpfold, name).default


def _axis(dim):
    """torch's dimensions as warpfold's: none, and an empty list, are all of them."""
    return tuple(dim) if dim else None


def _reduced(x, dim, keepdim, dtype=None):
    """A new tensor of the shape of x without the dimensions that are reduced."""
    dims = {d % x.dim() for d in dim} if dim else set(range(x.dim()))
    shape = [1 if d in dims else size for d, size in enumerate(x.shape) if keepdim or d not in dims]
    return x.new_empty(shape, dtype=dtype or x.dtype)


def _like(x, dtype=None):
    return torch.empty_like(x, dtype=dtype or x.dtype, memory_format=torch.contiguous_format)


def _rows(x, *sizes):
    """A float32 for each row, rows being along the last dimension."""
    return x.new_empty(sizes or x.shape[:-1], dtype=torch.float32)


# Reductions.

sum = _define(
    "sum(Tensor x, int[]? dim=None, bool keepdim=False, ScalarType? dtype=None, str accuracy='native') -> Tensor",
    lambda x, dim=None, keepdim=False, dtype=None, accuracy="native": wf.sum(
        x, axis=_axis(dim), keepdims=keepdim, dtype=dtype, accuracy=accuracy
    ),
    lambda x, dim=None, keepdim=False, dtype=None, accuracy="native": _reduced(x, dim, keepdim, dtype),
)
mean = _define(
    "mean(Tensor x, int[]? dim=None, bool keepdim=False, ScalarType? dtype=None, str accuracy='native') -> Tensor",
    lambda x, dim=None, keepdim=False, dtype=None, accuracy="native": wf.mean(
        x, axis=_axis(dim), keepdims=keepdim, dtype=dtype, accuracy=accuracy
    ),
    lambda x, dim=None, keepdim=False, dtype=None, accuracy="native": _reduced(x, dim, keepdim, dtype),
)
logsumexp = _define(
    "logsumexp(Tensor x, int[]? dim, bool keepdim=False) -> Tensor",
    lambda x, dim, keepdim=False: wf.logsumexp(x, axis=_axis(dim), keepdims=keepdim),
    lambda x, dim, keepdim=False: _reduced(x, dim, keepdim),
)
var = _define(
    "var(Tensor x, int[]? dim, float correction, bool keepdim=False) -> Tensor",
    lambda x, dim, correction, keepdim=False: wf.var(x, axis=_axis(dim), correction=correction, keepdims=keepdim),
    lambda x, dim, correction, keepdim=False: _reduced(x, dim, keepdim),
)
std = _define(
    "std(Tensor x, int[]? dim, float correction, bool keepdim=False) -> Tensor",
    lambda x, dim, correction, keepdim=False: wf.std(x, axis=_axis(dim), correction=correction, keepdims=keepdim),
    lambda x, dim, correction, keepdim=False: _reduced(x, dim, keepdim),
)
norm = _define(
    "norm(Tensor x, float ord, int[]? dim, bool keepdim=False) -> Tensor",
    lambda x, ord, dim, keepdim=False: wf.norm(x, ord=ord, axis=_axis(dim), keepdims=keepdim),
    lambda x, ord, dim, keepdim=False: _reduced(x, dim, keepdim),
)
argmax = _define(
    "argmax(Tensor x, int[]? dim, bool keepdim=False) -> Tensor",
    lambda x, dim, keepdim=False: wf.argmax(x, axis=_axis(dim), keepdims=keepdim),
    lambda x, dim, keepdim=False: _reduced(x, dim, keepdim, torch.int64),
)

# Row operations.

softmax = _define(
    "softmax(Tensor x, int dim, float scale=1.0, int? causal=None, ScalarType? dtype=None) -> Tensor",
    lambda x, dim, scale=1.0, causal=None, dtype=None: wf.softmax(x, axis=dim, scale=scale, causal=causal, dtype=dtype),
    lambda x, dim, scale=1.0, causal=None, dtype=None: _like(x, dtype),
)
log_softmax = _define(
    "log_softmax(Tensor x, int dim, float scale=1.0, int? causal=None, ScalarType? dtype=None) -> Tensor",
    lambda x, dim, scale=1.0, causal=None, dtype=None: wf.log_softmax(x, axis=dim, scale=scale, causal=causal, dtype=dtype),
    lambda x, dim, scale=1.0, causal=None, dtype=None: _like(x, dtype),
)
softmax_backward = _define(
    "softmax_backward(Tensor y, Tensor dy, int dim, float scale=1.0, int? causal=None, bool log=False) -> Tensor",
    lambda y, dy, dim, scale=1.0, causal=None, log=False: _warpfold._softmax_gradient(y, dy, axis=dim, scale=scale, causal=causal, log=log),
    lambda y, dy, dim, scale=1.0, causal=None, log=False: _like(y),
)

# Norms of rows along the last dimension; those with _forward answer what the gradient needs, too.

rms_norm = _define(
    "rms_norm(Tensor x, Tensor? weight, float eps, bool one_plus_weight=False) -> Tensor",
    lambda x, weight, eps, one_plus_weight=False: wf.rms_norm(x, weight, eps=eps, one_plus_weight=one_plus_weight),
    lambda x, weight, eps, one_plus_weight=False: _like(x),
)
rms_norm_forward = _define(
    "rms_norm_forward(Tensor x, Tensor? weight, float eps, bool one_plus_weight=False) -> (Tensor, Tensor)",
    lambda x, weight, eps, one_plus_weight=False: wf.rms_norm(x, weight, eps=eps, one_plus_weight=one_plus_weight, statistics=True),
    lambda x, weight, eps, one_plus_weight=False: (_like(x), _rows(x)),
)
layer_norm = _define(
    "layer_norm(Tensor x, Tensor? weight, Tensor? bias, float eps) -> Tensor",
    lambda x, weight, bias, eps: wf.layer_norm(x, weight, bias, eps=eps),
    lambda x, weight, bias, eps: _like(x),
)
layer_norm_forward = _define(
    "layer_norm_forward(Tensor x, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    lambda x, weight, bias, eps: wf.layer_norm(x, weight, bias, eps=eps, statistics=True),
    lambda x, weight, bias, eps: (_like(x), _rows(x), _rows(x)),
)
group_norm = _define(
    "group_norm(Tensor x, int groups, Tensor? weight, Tensor? bias, float eps) -> Tensor",
    lambda x, groups, weight, bias, eps: wf.group_norm(x, groups, weight, bias, eps=eps),
    lambda x, groups, weight, bias, eps: _like(x),
)
group_norm_forward = _define(
    "group_norm_forward(Tensor x, int groups, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    lambda x, groups, weight, bias, eps: wf.group_norm(x, groups, weight, bias, eps=eps, statistics=True),
    lambda x, groups, weight, bias, eps: (_like(x), _rows(x, x.shape[0], groups), _rows(x, x.shape[0], groups)),
)
norm_backward = _define(
    "norm_backward(Tensor dy, Tensor x, Tensor? mean, Tensor rstd, Tensor? weight, bool one_plus_weight=False) -> Tensor",
    lambda dy, x, mean, rstd, weight, one_plus_weight=False: _warpfold._norm_gradient(
        x, dy, mean, rstd, weight, one_plus_weight=one_plus_weight
    ),
    lambda dy, x, mean, rstd, weight, one_plus_weight=False: _like(x),
)
norm_columns_backward = _define(
    "norm_columns_backward(Tensor dy, Tensor x, Tensor? mean, Tensor rstd) -> Tensor",
    lambda dy, x, mean, rstd: _warpfold._norm_column_gradients(x, dy, mean, rstd),
    lambda dy, x, mean, rstd: _rows(x, 2, x.shape[-1]),
)

# Cross-entropy of rows along the last dimension.


def _cross_entropy(logits, targets, ignore_index=-100, label_smoothing=0.0, z_loss=0.0):
    losses = wf.cross_entropy(logits, targets, ignore_index=ignore_index, label_smoothing=label_smoothing, z_loss=z_loss)
    return losses.loss, losses.lse, losses.log_prob, losses.entropy


cross_entropy = _define(
    "cross_entropy(Tensor logits, Tensor targets, int ignore_index=-100, float label_smoothing=0.0, float z_loss=0.0)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    _cross_entropy,
    lambda logits, targets, *_, **__: tuple(_rows(logits) for _ in range(4)),
)
cross_entropy_backward = _define(
    "cross_entropy_backward(Tensor logits, Tensor targets, int ignore_index=-100, float label_smoothing=0.0, float z_loss=0.0) -> Tensor",
    lambda logits, targets, ignore_index=-100, label_smoothing=0.0, z_loss=0.0: _warpfold._cross_entropy_gradient(
        logits, targets, ignore_index=ignore_index, label_smoothing=label_smoothing, z_loss=z_loss
    ),
    lambda logits, targets, *_, **__: _like(logits),
)
