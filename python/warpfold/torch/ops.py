"""The operators torch.ops.warpfold.*: a schema, a kernel for CPU and CUDA tensors, a fake kernel, and one for autograd each.

reductions.py and rows.py call them below function.Function, which costs half of what register_autograd does. A call from elsewhere, such as
an exported program's, has the same gradients by autograd's kernel.
"""

import sys
from types import SimpleNamespace

import torch
from torch._C import (
    DispatchKey,
    DispatchKeySet,
    _are_functorch_transforms_active,
    _is_torch_function_mode_enabled,
    _is_tracing,
    _len_torch_dispatch_stack,
)
from torch._library.utils import fill_defaults
from torch.autograd import forward_ad
from torch.compiler import is_dynamo_compiling
from torch.utils._python_dispatch import _disable_current_modes

import warpfold as wf
from warpfold import _warpfold

from .function import refuse_tangents, refuse_transforms

_library = torch.library.Library("warpfold", "DEF")
_overloads = sys.modules[__name__]
# The kernels, by the same names.
kernels = SimpleNamespace()
# Of an operator's name: what answers the same with gradients. reductions.py and rows.py fill it.
with_gradients: dict[str, object] = {}
# The keys of a call that autograd and a kernel alone have a part in: another dispatch takes longer than the kernel.
_DEVICES = frozenset(
    (DispatchKeySet(getattr(DispatchKey, name)) | DispatchKeySet(getattr(DispatchKey, f"Autograd{name}"))).raw_repr()
    for name in ("CPU", "CUDA")
)
# Types of tensors that are neither fake nor of another subclass; and of none.
_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter, type(None)})


def on(x, weight=None, bias=None, residual=None):
    """`kernels` where nothing but a kernel has a part in a call of these tensors; elsewhere this module, whose operators torch dispatches.

    torch's dispatcher takes longer than a reduction of a few elements. A trace, a mode, a transform of torch.func, forward-mode AD or a
    subclass needs it, and so does an x that has no memory: a meta tensor, or a batch of gradients. In a backward pass, pass dy as x.
    """
    if (
        is_dynamo_compiling()
        or _len_torch_dispatch_stack()
        or _is_torch_function_mode_enabled()
        or _are_functorch_transforms_active()
        or _is_tracing()
        or forward_ad._current_level >= 0
        or type(x) not in _PLAIN
        or type(weight) not in _PLAIN
        or type(bias) not in _PLAIN
        or type(residual) not in _PLAIN
    ):
        return _overloads
    try:
        return kernels if x.data_ptr() else _overloads
    except RuntimeError:
        # A batched tensor has no address.
        return _overloads


def _autograd(name, op, computes):
    """An operator's kernel for autograd. torch's fallback would lose the gradient."""

    def kernel(keyset, *args, **kwargs):
        if forward_ad._current_level >= 0:
            refuse_tangents(args)
        if torch.is_grad_enabled() and torch._C._any_requires_grad(*args):
            if name not in with_gradients:
                raise ValueError(f"warpfold::{name} has no gradient, and one of its tensors requires grad")
            refuse_transforms()
            args, kwargs = fill_defaults(op._schema, args, kwargs)
            return with_gradients[name](*args, **kwargs)
        if keyset.raw_repr() in _DEVICES:
            return computes(*args, **kwargs)
        with torch._C._AutoDispatchBelowAutograd():
            return op.redispatch(keyset & torch._C._after_autograd_keyset, *args, **kwargs)

    return kernel


def _small(x):
    """An argument as it is, but of one element, and with sizes that are numbers."""
    if isinstance(x, torch.Tensor):
        return torch.zeros([1] * x.dim(), dtype=x.dtype, device="cpu")
    return 1 if isinstance(x, (torch.SymInt, torch.SymFloat)) else x


def _fake(kernel, shapes):
    """The fake kernel. The real one says what types are answered and refused, of tensors of one element; shapes says the shapes."""

    def fake(*args, **kwargs):
        with _disable_current_modes():
            small = kernel(*map(_small, args), **kwargs)
        made = shapes(*args, **kwargs)
        if isinstance(small, torch.Tensor):
            return args[0].new_empty(made, dtype=small.dtype)
        return tuple(args[0].new_empty(shape, dtype=part.dtype) for part, shape in zip(small, made, strict=True))

    return fake


def _define(schema, kernel, shapes, small=None):
    """The overload of a new operator: dispatched in less than half the time of one of torch.library.custom_op.

    shapes: those of the answers, by the arguments. small: the kernel of tensors of one element, where it is not that kernel.
    """
    name = schema.partition("(")[0]
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    for key in ("CPU", "CUDA"):
        _library.impl(name, kernel, key)
    op = getattr(torch.ops.warpfold, name).default
    _library.impl(name, _autograd(name, op, kernel), "Autograd", with_keyset=True)
    torch.library.register_fake(f"warpfold::{name}", _fake(small or kernel, shapes), lib=_library)
    setattr(kernels, name, kernel)
    return op


def _axis(dim):
    """torch's dimensions as warpfold's: none, and an empty list, are all of them."""
    return tuple(dim) if dim else None


def _reduced(x, dim, keepdim):
    """The shape of x without the dimensions that are reduced."""
    dims = {d % x.dim() for d in dim} if dim else set(range(x.dim()))
    return [1 if d in dims else size for d, size in enumerate(x.shape) if keepdim or d not in dims]


def _same(name, shape, expected):
    """The shape, which is as expected."""

    def message():
        return f"{name}: its shape is {tuple(shape)}, and must be {tuple(expected)}"

    torch._check_value(len(shape) == len(expected), message)
    for size, other in zip(shape, expected):
        # Of a size that is not known yet, torch keeps the check for later.
        torch._check_value(size == other, message)
    return shape


def _broadcast(x, **others):
    """The shape of x, to which the others broadcast."""
    for name, other in others.items():
        if other is not None:
            _same(name, torch.broadcast_shapes(other.shape, x.shape), x.shape)
    return x.shape


def _normed(x, axis, residual=None, **columns):
    """The shape of x, whose axis has as many elements as the weights and biases have."""
    for name, column in columns.items():
        if column is not None:
            _same(name, [column.numel()], [x.shape[axis]])
    if residual is not None:
        _same("residual", residual.shape, x.shape)
    return x.shape


def _grouped(x, groups, **columns):
    """The shapes of a group norm's answer, and of a number for each group."""
    torch._check_value(x.shape[1] % groups == 0, lambda: f"{x.shape[1]} channels cannot be {groups} groups of equally many")
    return _normed(x, 1, **columns), [x.shape[0], groups], [x.shape[0], groups]


# Reductions.

sum = _define(
    "sum(Tensor x, int[]? dim=None, bool keepdim=False, ScalarType? dtype=None, str accuracy='native') -> Tensor",
    lambda x, dim=None, keepdim=False, dtype=None, accuracy="native": wf.sum(
        x, axis=_axis(dim), keepdims=keepdim, dtype=dtype, accuracy=accuracy
    ),
    lambda x, dim=None, keepdim=False, dtype=None, accuracy="native": _reduced(x, dim, keepdim),
)
mean = _define(
    "mean(Tensor x, int[]? dim=None, bool keepdim=False, ScalarType? dtype=None, str accuracy='native') -> Tensor",
    lambda x, dim=None, keepdim=False, dtype=None, accuracy="native": wf.mean(
        x, axis=_axis(dim), keepdims=keepdim, dtype=dtype, accuracy=accuracy
    ),
    lambda x, dim=None, keepdim=False, dtype=None, accuracy="native": _reduced(x, dim, keepdim),
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
    lambda x, dim, keepdim=False: _reduced(x, dim, keepdim),
)

# Row operations.

softmax = _define(
    "softmax(Tensor x, int dim, float scale=1.0, int? causal=None, ScalarType? dtype=None, Tensor? mask=None, Tensor? bias=None,"
    " str all_masked='nan') -> Tensor",
    lambda x, dim, scale=1.0, causal=None, dtype=None, mask=None, bias=None, all_masked="nan": wf.softmax(
        x, axis=dim, scale=scale, causal=causal, mask=mask, bias=bias, all_masked=all_masked, dtype=dtype
    ),
    lambda x, dim, scale=1.0, causal=None, dtype=None, mask=None, bias=None, *_: _broadcast(x, mask=mask, bias=bias),
)
log_softmax = _define(
    "log_softmax(Tensor x, int dim, float scale=1.0, int? causal=None, ScalarType? dtype=None, Tensor? mask=None, Tensor? bias=None)"
    " -> Tensor",
    lambda x, dim, scale=1.0, causal=None, dtype=None, mask=None, bias=None: wf.log_softmax(
        x, axis=dim, scale=scale, causal=causal, mask=mask, bias=bias, dtype=dtype
    ),
    lambda x, dim, scale=1.0, causal=None, dtype=None, mask=None, bias=None, *_: _broadcast(x, mask=mask, bias=bias),
)
softmax_backward = _define(
    "softmax_backward(Tensor y, Tensor dy, int dim, float scale=1.0, int? causal=None, bool log=False) -> Tensor",
    lambda y, dy, dim, scale=1.0, causal=None, log=False: _warpfold._softmax_gradient(y, dy, axis=dim, scale=scale, causal=causal, log=log),
    lambda y, dy, *_: _same("dy", dy.shape, y.shape),
)

# Norms of rows along the last dimension. Those of _residual answer the sums, too, and those of _forward what the gradient needs.

rms_norm = _define(
    "rms_norm(Tensor x, Tensor? weight, float eps, bool one_plus_weight=False) -> Tensor",
    lambda x, weight, eps, one_plus_weight=False: wf.rms_norm(x, weight, eps=eps, one_plus_weight=one_plus_weight),
    lambda x, weight, *_: _normed(x, -1, weight=weight),
)
rms_norm_forward = _define(
    "rms_norm_forward(Tensor x, Tensor? weight, float eps, bool one_plus_weight=False) -> (Tensor, Tensor)",
    lambda x, weight, eps, one_plus_weight=False: wf.rms_norm(x, weight, eps=eps, one_plus_weight=one_plus_weight, statistics=True),
    lambda x, weight, *_: (_normed(x, -1, weight=weight), x.shape[:-1]),
)
rms_norm_residual = _define(
    "rms_norm_residual(Tensor x, Tensor residual, Tensor? weight, float eps, bool one_plus_weight=False) -> (Tensor, Tensor)",
    lambda x, residual, weight, eps, one_plus_weight=False: wf.rms_norm(
        x, weight, eps=eps, residual=residual, one_plus_weight=one_plus_weight
    ),
    lambda x, residual, weight, *_: (_normed(x, -1, residual, weight=weight), x.shape),
)
rms_norm_residual_forward = _define(
    "rms_norm_residual_forward(Tensor x, Tensor residual, Tensor? weight, float eps, bool one_plus_weight=False)"
    " -> (Tensor, Tensor, Tensor)",
    lambda x, residual, weight, eps, one_plus_weight=False: wf.rms_norm(
        x, weight, eps=eps, residual=residual, one_plus_weight=one_plus_weight, statistics=True
    ),
    lambda x, residual, weight, *_: (_normed(x, -1, residual, weight=weight), x.shape, x.shape[:-1]),
)
layer_norm = _define(
    "layer_norm(Tensor x, Tensor? weight, Tensor? bias, float eps) -> Tensor",
    lambda x, weight, bias, eps: wf.layer_norm(x, weight, bias, eps=eps),
    lambda x, weight, bias, eps: _normed(x, -1, weight=weight, bias=bias),
)
layer_norm_forward = _define(
    "layer_norm_forward(Tensor x, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    lambda x, weight, bias, eps: wf.layer_norm(x, weight, bias, eps=eps, statistics=True),
    lambda x, weight, bias, eps: (_normed(x, -1, weight=weight, bias=bias), x.shape[:-1], x.shape[:-1]),
)
layer_norm_residual = _define(
    "layer_norm_residual(Tensor x, Tensor residual, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor)",
    lambda x, residual, weight, bias, eps: wf.layer_norm(x, weight, bias, eps=eps, residual=residual),
    lambda x, residual, weight, bias, eps: (_normed(x, -1, residual, weight=weight, bias=bias), x.shape),
)
layer_norm_residual_forward = _define(
    "layer_norm_residual_forward(Tensor x, Tensor residual, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    lambda x, residual, weight, bias, eps: wf.layer_norm(x, weight, bias, eps=eps, residual=residual, statistics=True),
    lambda x, residual, weight, bias, eps: (_normed(x, -1, residual, weight=weight, bias=bias), x.shape, x.shape[:-1], x.shape[:-1]),
)
group_norm = _define(
    "group_norm(Tensor x, int groups, Tensor? weight, Tensor? bias, float eps) -> Tensor",
    lambda x, groups, weight, bias, eps: wf.group_norm(x, groups, weight, bias, eps=eps),
    lambda x, groups, weight, bias, eps: _grouped(x, groups, weight=weight, bias=bias)[0],
    lambda x, groups, *rest: kernels.group_norm(x, min(groups, 1), *rest),
)
group_norm_forward = _define(
    "group_norm_forward(Tensor x, int groups, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    lambda x, groups, weight, bias, eps: wf.group_norm(x, groups, weight, bias, eps=eps, statistics=True),
    lambda x, groups, weight, bias, eps: _grouped(x, groups, weight=weight, bias=bias),
    lambda x, groups, *rest: kernels.group_norm_forward(x, min(groups, 1), *rest),
)
norm_backward = _define(
    "norm_backward(Tensor dy, Tensor x, Tensor? mean, Tensor rstd, Tensor? weight, bool one_plus_weight=False) -> Tensor",
    lambda dy, x, mean, rstd, weight, one_plus_weight=False: _warpfold._norm_gradient(
        x, dy, mean, rstd, weight, one_plus_weight=one_plus_weight
    ),
    lambda dy, x, mean, rstd, weight, *_: _same("dy", dy.shape, _normed(x, -1, weight=weight)),
)
norm_columns_backward = _define(
    "norm_columns_backward(Tensor dy, Tensor x, Tensor? mean, Tensor rstd) -> Tensor",
    lambda dy, x, mean, rstd: _warpfold._norm_column_gradients(x, dy, mean, rstd),
    lambda dy, x, mean, rstd: [2, _same("dy", dy.shape, x.shape)[-1]],
)

# Cross-entropy of rows along the last dimension.


def _cross_entropy(logits, targets, ignore_index=-100, label_smoothing=0.0, z_loss=0.0):
    losses = wf.cross_entropy(logits, targets, ignore_index=ignore_index, label_smoothing=label_smoothing, z_loss=z_loss)
    return losses.loss, losses.lse, losses.log_prob, losses.entropy


cross_entropy = _define(
    "cross_entropy(Tensor logits, Tensor targets, int ignore_index=-100, float label_smoothing=0.0, float z_loss=0.0)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    _cross_entropy,
    lambda logits, targets, *_: [_same("targets", targets.shape, logits.shape[:-1])] * 4,
)
cross_entropy_backward = _define(
    "cross_entropy_backward(Tensor logits, Tensor targets, int ignore_index=-100, float label_smoothing=0.0, float z_loss=0.0) -> Tensor",
    lambda logits, targets, ignore_index=-100, label_smoothing=0.0, z_loss=0.0: _warpfold._cross_entropy_gradient(
        logits, targets, ignore_index=ignore_index, label_smoothing=label_smoothing, z_loss=z_loss
    ),
    lambda logits, targets, *_: [*_same("targets", targets.shape, logits.shape[:-1]), logits.shape[-1]],
)
