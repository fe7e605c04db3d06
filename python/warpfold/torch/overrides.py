"""aten's reductions by warpfold: which are taken, and what goes to torch's own kernels.

OVERRIDES is the whole list. mode.py puts it in aten's place in eager mode, and inductor.py does so while torch.compile traces.
A `take` has the arguments of its aten operator, and answers what that would, of the same types, shapes and strides; or a Left:
why torch's own kernel computes it. Before those it has what runs: ops.kernels in eager mode, the operators of ops while torch traces.
"""

import enum
import math
from typing import NamedTuple

import torch

from .rows import group_norm_gradients

ROWS = {torch.float32, torch.float16, torch.bfloat16}
FLOATS = ROWS | {torch.float64}
# What torch adds where no eps is said.
_EPS = torch.finfo(torch.float32).eps
ORDERED = FLOATS | {torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8}


class Left(enum.Enum):
    """Why torch's own kernel computes a call."""

    TYPE = "a type that warpfold does not take here: integers are exact in any order; complex numbers; float64 of row operations"
    EMPTY = "a tensor without elements, or without dimensions"
    INVALID = "arguments that torch refuses, so that its own error is raised"
    ORD = "a norm of ord 0, -inf, or below 0"
    FREEDOM = "a variance of no more elements than the correction, of which torch warns"
    MIXED = "a weight of another type than the input's"
    CLASSES = "classes with weights"
    ELEMENTWISE = "reduction='none', which reduces nothing"


def _lacks(x, dim, types):
    """Why a reduction of x along these dimensions is left; None if it is taken."""
    if x.dtype not in types:
        return Left.TYPE
    if x.dim() == 0 or x.numel() == 0:
        return Left.EMPTY
    found = set()
    for d in dim or ():
        if not -x.dim() <= d < x.dim() or d % x.dim() in found:
            return Left.INVALID
        found.add(d % x.dim())
    return None


def _cast_first(fold, x, dim, keepdim, dtype):
    """A sum or a mean, of elements that are cast first, as torch has it."""
    if dtype is None or dtype == x.dtype:
        return fold(x, dim, keepdim)
    if dtype not in FLOATS:
        return Left.TYPE
    if dtype == torch.float64:
        return fold(x, dim, keepdim, dtype)
    # To a narrower type the answer alone is rounded, as torch's kernels do.
    return fold(x.float(), dim, keepdim).to(dtype)


def _sum(run, x, dim=None, keepdim=False, *, dtype=None):
    return _lacks(x, dim, FLOATS) or _cast_first(run.sum, x, dim, keepdim, dtype)


def _mean(run, x, dim=None, keepdim=False, *, dtype=None):
    return _lacks(x, dim, FLOATS) or _cast_first(run.mean, x, dim, keepdim, dtype)


def _logsumexp(run, x, dim, keepdim=False):
    if not dim:
        return Left.INVALID
    return _lacks(x, dim, FLOATS) or run.logsumexp(x, dim, keepdim)


def _argmax(run, x, dim=None, keepdim=False):
    dim = None if dim is None else (dim,)
    return _lacks(x, dim, ORDERED) or run.argmax(x, dim, keepdim)


def _moment(compute):
    def take(run, x, dim=None, *, correction=None, keepdim=False):
        if lack := _lacks(x, dim, FLOATS):
            return lack
        correction = 1 if correction is None else correction
        if (math.prod([x.shape[d] for d in dim]) if dim else x.numel()) <= correction:
            return Left.FREEDOM
        return compute(run, x, dim, correction, keepdim)

    return take


_var = _moment(lambda run, *options: run.var(*options))
_std = _moment(lambda run, *options: run.std(*options))
_var_mean = _moment(lambda run, x, dim, correction, keepdim: (run.var(x, dim, correction, keepdim), run.mean(x, dim, keepdim)))
_std_mean = _moment(lambda run, x, dim, correction, keepdim: (run.std(x, dim, correction, keepdim), run.mean(x, dim, keepdim)))


def _vector_norm(run, x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if lack := _lacks(x, dim, FLOATS):
        return lack
    if not ord > 0:
        return Left.ORD
    if dtype is not None and dtype != x.dtype:
        if dtype not in FLOATS or torch.promote_types(dtype, x.dtype) != dtype:
            return Left.INVALID
        x = x.to(dtype)
    return run.norm(x, ord, dim, keepdim)


def _foreach_norm(run, tensors, ord=2, dtype=None):
    norms = [_vector_norm(run, x, ord, dtype=dtype) for x in tensors]
    return next((norm for norm in norms if isinstance(norm, Left)), norms)


def _softmaxes(log):
    def take(run, x, dim, half_to_float):
        if lack := _lacks(x, (dim,), ROWS):
            return lack
        if half_to_float:
            # torch casts others before.
            if not x.is_cuda or x.dtype != torch.float16:
                return Left.INVALID
            x = x.float()
        return (run.log_softmax if log else run.softmax)(x, dim)

    return take


def _softmaxes_backward(log):
    def take(run, dy, y, dim, input_dtype):
        if lack := _lacks(y, (dim,), ROWS):
            return lack
        if dy.dtype != y.dtype or dy.shape != y.shape or input_dtype not in (y.dtype, torch.float16, torch.bfloat16):
            return Left.INVALID
        return run.softmax_backward(y, dy, dim, 1.0, None, log).to(input_dtype)

    return take


def _norm_lacks(x, shape, *columns):
    """Why a norm is left, whose weights and biases have that shape; None if it is taken."""
    if x.dtype not in ROWS:
        return Left.TYPE
    if x.numel() == 0:
        return Left.EMPTY
    types = set()
    for column in columns:
        if column is not None:
            if column.shape != shape:
                return Left.INVALID
            types.add(column.dtype)
    # float32 beside a narrower input is what autocast makes of CPU models.
    return None if types <= {x.dtype} or (types == {torch.float32} and not x.is_cuda) else Left.MIXED


def _last_lacks(x, normalized_shape, *columns):
    """_norm_lacks of a norm of the last dimensions."""
    shape = tuple(normalized_shape)
    if not shape or x.shape[-len(shape) :] != shape:
        return Left.TYPE if x.dtype not in ROWS else Left.EMPTY if x.numel() == 0 else Left.INVALID
    return _norm_lacks(x, shape, *columns)


def _flat(column):
    """A weight or a bias as the kernels take it."""
    return column if column is None or (column.dim() == 1 and column.is_contiguous()) else column.reshape(-1).contiguous()


def _rows(x, normalized_shape):
    """x as rows along the last dimension: itself where that needs no other view."""
    if len(normalized_shape) == 1 and x.dim() > 1 and x.is_contiguous():
        return x
    return x.reshape(-1, math.prod(normalized_shape))


def _like(y, rows, x):
    """Answers for rows, in the shape of x."""
    return y if rows is x else y.view(x.shape)


def _statistic(column, rows, x, normalized_shape, dtype=torch.float32):
    """A number of each row, as aten has it."""
    if rows is x:
        column = column.unsqueeze(-1)
    else:
        outer = x.dim() - len(normalized_shape)
        column = column.view([*x.shape[:outer], *[1] * len(normalized_shape)])
    return _cast(column, dtype)


def _cast(column, dtype):
    return column if column.dtype == dtype else column.to(dtype)


def _per_row(column):
    """A number of each row, as the kernels take it."""
    return column.reshape(-1).float()


def _layer_norm(run, x, normalized_shape, weight, bias, eps):
    if lack := _last_lacks(x, normalized_shape, weight, bias):
        return lack
    rows = _rows(x, normalized_shape)
    y, mean, rstd = run.layer_norm_forward(rows, _flat(weight), _flat(bias), eps)
    column = weight if weight is not None else bias
    # CPU kernels keep what is known of rows in the type of the weights.
    dtype = torch.float32 if x.is_cuda else x.dtype if column is None else column.dtype
    return _like(y, rows, x), *(_statistic(column, rows, x, normalized_shape, dtype) for column in (mean, rstd))


def _layer_norm_backward(run, dy, x, normalized_shape, mean, rstd, weight, bias, output_mask):
    if lack := _last_lacks(x, normalized_shape, weight, bias):
        return lack
    rows, mean, rstd = _rows(x, normalized_shape), _per_row(mean), _per_row(rstd)
    dy = dy if rows is x else dy.reshape(rows.shape)
    dx = dweight = dbias = None
    if output_mask[0]:
        dx = _like(run.norm_backward(dy, rows, mean, rstd, _flat(weight)), rows, x)
    if output_mask[1] or output_mask[2]:
        columns = run.norm_columns_backward(dy, rows, mean, rstd)
        dweight, dbias = (
            columns[i].view(normalized_shape).to(x.dtype if column is None else column.dtype) if output_mask[i + 1] else None
            for i, column in enumerate((weight, bias))
        )
    return dx, dweight, dbias


def _rms_norm(run, x, normalized_shape, weight, eps):
    if lack := _last_lacks(x, normalized_shape, weight):
        return lack
    rows = _rows(x, normalized_shape)
    y, rstd = run.rms_norm_forward(rows, _flat(weight), _EPS if eps is None else eps)
    return _like(y, rows, x), _statistic(rstd, rows, x, normalized_shape)


def _rms_norm_backward(run, dy, x, normalized_shape, rstd, weight, output_mask):
    if lack := _last_lacks(x, normalized_shape, weight):
        return lack
    rows, rstd = _rows(x, normalized_shape), _per_row(rstd)
    dy = dy if rows is x else dy.reshape(rows.shape)
    dx = dweight = None
    if output_mask[0]:
        dx = _like(run.norm_backward(dy, rows, None, rstd, _flat(weight)), rows, x)
    if output_mask[1]:
        dweight = run.norm_columns_backward(dy, rows, None, rstd)[0].view(normalized_shape)
        dweight = dweight.to(x.dtype if weight is None else weight.dtype)
    return dx, dweight


def _group_lacks(x, groups, *columns):
    if x.dim() < 2 or groups < 1 or x.shape[1] % groups:
        return Left.INVALID
    return _norm_lacks(x, x.shape[1:2], *columns)


def _is_group_norms(x):
    """Whether x lies as torch's kernel takes it: in order, or on the CPU in any memory format."""
    return x.is_contiguous() or (not x.is_cuda and x.is_contiguous(memory_format=_format(x)))


def _format(x):
    return torch._prims_common.suggest_memory_format(x)


def _formatted(y, x):
    """A group norm's answer: on the CPU in the memory format of x."""
    return y if x.is_cuda or x.is_contiguous() else y.contiguous(memory_format=_format(x))


def _group_norm(run, x, weight, bias, N, C, HxW, group, eps):
    if lack := _group_lacks(x, group, weight, bias):
        return lack
    if not _is_group_norms(x):
        return Left.INVALID
    y, mean, rstd = run.group_norm_forward(x, group, weight, bias, eps)
    column = weight if weight is not None else bias
    dtype = x.dtype if column is None else column.dtype
    return _formatted(y, x), _cast(mean, dtype), _cast(rstd, dtype)


def _group_norm_backward(run, dy, x, mean, rstd, weight, N, C, HxW, group, output_mask):
    if lack := _group_lacks(x, group, weight):
        return lack
    mean, rstd = mean.float(), rstd.float()
    dx, dweight, dbias = group_norm_gradients(run, dy, x, mean, rstd, weight, group, output_mask)
    dtype = x.dtype if weight is None else weight.dtype
    dx = None if dx is None else _formatted(dx, x)
    return dx, *(None if column is None else column.to(dtype) for column in (dweight, dbias))


def _nll_loss(run, x, target, weight, reduction, ignore_index):
    if x.dtype not in ROWS:
        return Left.TYPE
    if reduction == 0:
        return Left.ELEMENTWISE
    if weight is not None:
        return Left.CLASSES
    if x.numel() == 0 or target.numel() == 0:
        return Left.EMPTY
    x = x if x.dim() < 3 else x.movedim(1, -1)
    if target.dtype != torch.int64 or target.shape != x.shape[:-1]:
        return Left.INVALID
    kept = target != ignore_index
    try:
        chosen = x.gather(-1, (target * kept).unsqueeze(-1)).squeeze(-1)
    except RuntimeError:
        # A class that there is not. On a GPU the gather asserts, as torch's kernel does.
        return Left.INVALID
    losses = -chosen.where(kept, 0).float()
    total, count = run.sum(losses), kept.count_nonzero()
    return (total if reduction == 2 else total / count).to(x.dtype), count.to(x.dtype)


class Override(NamedTuple):
    """An aten operator, and what takes its calls."""

    take: object
    # What else torch's own kernel computes, besides Left.INVALID.
    left: tuple
    # Whether aten has it for CUDA tensors alone, so that one for CPU tensors comes with the mode, and stays.
    new_on_cpu: bool = False


_REDUCTION = Left.TYPE, Left.EMPTY
_NORM = Left.TYPE, Left.EMPTY, Left.MIXED
OVERRIDES = {
    "sum.dim_IntList": Override(_sum, _REDUCTION),
    "mean.dim": Override(_mean, _REDUCTION),
    "logsumexp": Override(_logsumexp, _REDUCTION),
    "argmax": Override(_argmax, _REDUCTION),
    "var.correction": Override(_var, (*_REDUCTION, Left.FREEDOM)),
    "std.correction": Override(_std, (*_REDUCTION, Left.FREEDOM)),
    "var_mean.correction": Override(_var_mean, (*_REDUCTION, Left.FREEDOM)),
    "std_mean.correction": Override(_std_mean, (*_REDUCTION, Left.FREEDOM)),
    "linalg_vector_norm": Override(_vector_norm, (*_REDUCTION, Left.ORD)),
    "_foreach_norm.Scalar": Override(_foreach_norm, (*_REDUCTION, Left.ORD)),
    "_softmax": Override(_softmaxes(False), _REDUCTION),
    "_log_softmax": Override(_softmaxes(True), _REDUCTION),
    "_softmax_backward_data": Override(_softmaxes_backward(False), _REDUCTION),
    "_log_softmax_backward_data": Override(_softmaxes_backward(True), _REDUCTION),
    "native_layer_norm": Override(_layer_norm, _NORM),
    "native_layer_norm_backward": Override(_layer_norm_backward, _NORM),
    "_fused_rms_norm": Override(_rms_norm, _NORM),
    "_fused_rms_norm_backward": Override(_rms_norm_backward, _NORM, new_on_cpu=True),
    "native_group_norm": Override(_group_norm, _NORM),
    "native_group_norm_backward": Override(_group_norm_backward, _NORM),
    "nll_loss_forward": Override(_nll_loss, (*_REDUCTION, Left.CLASSES, Left.ELEMENTWISE)),
    "nll_loss2d_forward": Override(_nll_loss, (*_REDUCTION, Left.CLASSES, Left.ELEMENTWISE)),
}


def overload(name):
    """The operator of such a name: torch.ops.aten.sum.dim_IntList of "sum.dim_IntList"."""
    packet, _, of = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), of or "default")
