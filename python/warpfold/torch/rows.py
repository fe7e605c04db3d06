"""Softmax, norms and cross-entropy of torch tensors, with gradients."""

import functools
import math

import torch
from torch.autograd import Function

from . import ops
from .reductions import sum


def _wants_grad(*tensors):
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


def _first_derivative_only(backward):
    """A backward without a graph of its own: where one is asked for, an error.

    torch's once_differentiable raises only if dy itself has a gradient; a gradient penalty would silently lack a term.
    """

    @functools.wraps(backward)
    def checked(ctx, dy):
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            raise RuntimeError("create_graph: warpfold's row operations have no second derivative; torch's own functions have one")
        return backward(ctx, dy)

    return checked


class _Softmax(Function):
    @staticmethod
    def forward(ctx, x, log, dim, scale, causal, dtype):
        y = (ops.log_softmax if log else ops.softmax)(x, dim, scale, causal, dtype)
        ctx.save_for_backward(y)
        ctx.options = dim, scale, causal, log
        ctx.dtype = x.dtype
        return y

    @staticmethod
    @_first_derivative_only
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return ops.softmax_backward(y, dy, *ctx.options).to(ctx.dtype), None, None, None, None, None


def softmax(x, dim=-1, *, scale=1.0, causal=None, dtype=None):
    """exp(x * scale - m) / sum of exp(x * scale - m) along dim, m being the largest.

    scale: what elements are multiplied by first. causal: of the last two dimensions, row r sees columns up to r + S - T + causal.
    dtype: the type of the answer: that of x, or float32.
    """
    if _wants_grad(x):
        return _Softmax.apply(x, False, dim, scale, causal, dtype)
    return ops.softmax(x, dim, scale, causal, dtype)


def log_softmax(x, dim=-1, *, scale=1.0, causal=None, dtype=None):
    """x * scale - logsumexp(x * scale) along dim; the keywords are those of softmax."""
    if _wants_grad(x):
        return _Softmax.apply(x, True, dim, scale, causal, dtype)
    return ops.log_softmax(x, dim, scale, causal, dtype)


class _RmsNorm(Function):
    @staticmethod
    def forward(ctx, x, weight, eps, one_plus_weight):
        y, rstd = ops.rms_norm_forward(x, weight, eps, one_plus_weight)
        ctx.save_for_backward(x, weight, rstd)
        ctx.one_plus_weight = one_plus_weight
        return y

    @staticmethod
    @_first_derivative_only
    def backward(ctx, dy):
        x, weight, rstd = ctx.saved_tensors
        dx = dweight = None
        if ctx.needs_input_grad[0]:
            dx = ops.norm_backward(dy, x, None, rstd, weight, ctx.one_plus_weight)
        if ctx.needs_input_grad[1]:
            dweight = ops.norm_columns_backward(dy, x, None, rstd)[0].to(weight.dtype)
        return dx, dweight, None, None


class _LayerNorm(Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        y, mean, rstd = ops.layer_norm_forward(x, weight, bias, eps)
        ctx.save_for_backward(x, weight, mean, rstd)
        ctx.bias_dtype = None if bias is None else bias.dtype
        return y

    @staticmethod
    @_first_derivative_only
    def backward(ctx, dy):
        x, weight, mean, rstd = ctx.saved_tensors
        dx = dweight = dbias = None
        if ctx.needs_input_grad[0]:
            dx = ops.norm_backward(dy, x, mean, rstd, weight)
        if any(ctx.needs_input_grad[1:3]):
            columns = ops.norm_columns_backward(dy, x, mean, rstd)
            if ctx.needs_input_grad[1]:
                dweight = columns[0].to(weight.dtype)
            if ctx.needs_input_grad[2]:
                dbias = columns[1].to(ctx.bias_dtype)
        return dx, dweight, dbias, None


def group_norm_gradients(dy, x, mean, rstd, weight, groups, wanted):
    """The gradients of group norm by x, weight and bias, as far as wanted; those by weight and bias in float32.

    Groups of channels are rows of a layer norm that has no weight, since that is of channels: dy is multiplied by it first, in float32.
    """
    batch, channels = x.shape[:2]
    rows = batch, groups, -1
    wide_dy, wide_x = dy.float(), x.float()
    columns = (1, channels) + (1,) * (x.dim() - 2)
    dx = dweight = dbias = None
    if wanted[0]:
        scaled = wide_dy if weight is None else wide_dy * weight.float().view(columns)
        dx = ops.norm_backward(scaled.reshape(rows), wide_x.reshape(rows), mean, rstd, None).view(x.shape).to(x.dtype)
    others = [d for d in range(x.dim()) if d != 1]
    if wanted[1]:
        shape = batch, channels, -1
        per_channel = [s.repeat_interleave(channels // groups, 1).unsqueeze(-1) for s in (mean, rstd)]
        normed = (wide_x.reshape(shape) - per_channel[0]) * per_channel[1]
        dweight = ops.sum(wide_dy.reshape(shape) * normed, [0, 2])
    if wanted[2]:
        dbias = ops.sum(wide_dy, others)
    return dx, dweight, dbias


class _GroupNorm(Function):
    @staticmethod
    def forward(ctx, x, groups, weight, bias, eps):
        y, mean, rstd = ops.group_norm_forward(x, groups, weight, bias, eps)
        ctx.save_for_backward(x, weight, mean, rstd)
        ctx.groups, ctx.bias_dtype = groups, None if bias is None else bias.dtype
        return y

    @staticmethod
    @_first_derivative_only
    def backward(ctx, dy):
        x, weight, mean, rstd = ctx.saved_tensors
        wanted = [ctx.needs_input_grad[i] for i in (0, 2, 3)]
        dx, dweight, dbias = group_norm_gradients(dy, x, mean, rstd, weight, ctx.groups, wanted)
        dweight = None if dweight is None else dweight.to(weight.dtype)
        dbias = None if dbias is None else dbias.to(ctx.bias_dtype)
        return dx, None, dweight, dbias, None


def _normalized(x, normalized_shape, *columns):
    """Rows of the dimensions that are normalized, and weights and biases of their columns."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or tuple(x.shape[x.dim() - len(shape) :]) != shape:
        raise ValueError(f"normalized_shape: {shape} are not the last dimensions of {tuple(x.shape)}")
    for name, column in zip(("weight", "bias"), columns):
        if column is not None and tuple(column.shape) != shape:
            raise ValueError(f"{name}: its shape is {tuple(column.shape)}, and must be {shape}")
    if len(shape) == 1:
        return x, *columns
    width = math.prod(shape)
    rows = x.reshape(*x.shape[: x.dim() - len(shape)], width)
    return rows, *(None if column is None else column.reshape(width) for column in columns)


def rms_norm(x, normalized_shape, weight=None, eps=1e-6, *, one_plus_weight=False):
    """x / sqrt(mean of x * x + eps) * weight, rows being the last dimensions, of normalized_shape.

    eps is 1e-6, where torch takes the type's epsilon. one_plus_weight: multiply by 1 + weight. The answer is of x's type.
    """
    rows, weight = _normalized(x, normalized_shape, weight)
    if _wants_grad(rows, weight):
        y = _RmsNorm.apply(rows, weight, eps, one_plus_weight)
    else:
        y = ops.rms_norm(rows, weight, eps, one_plus_weight)
    return y if rows is x else y.view(x.shape)


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    """(x - mean) / sqrt(variance + eps) * weight + bias, rows being the last dimensions, of normalized_shape."""
    rows, weight, bias = _normalized(x, normalized_shape, weight, bias)
    if _wants_grad(rows, weight, bias):
        y = _LayerNorm.apply(rows, weight, bias, eps)
    else:
        y = ops.layer_norm(rows, weight, bias, eps)
    return y if rows is x else y.view(x.shape)


def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    """(x - mean) / sqrt(variance + eps) * weight + bias of groups of channels, which are dimension 1 of x."""
    if _wants_grad(x, weight, bias):
        return _GroupNorm.apply(x, num_groups, weight, bias, eps)
    return ops.group_norm(x, num_groups, weight, bias, eps)


class _CrossEntropy(Function):
    @staticmethod
    def forward(ctx, logits, targets, ignore_index, label_smoothing, z_loss):
        ctx.save_for_backward(logits, targets)
        ctx.options = ignore_index, label_smoothing, z_loss
        return ops.cross_entropy(logits, targets, *ctx.options)[0]

    @staticmethod
    @_first_derivative_only
    def backward(ctx, dy):
        gradient = ops.cross_entropy_backward(*ctx.saved_tensors, *ctx.options)
        # In place: the product is rounded to the type of logits, and takes no memory.
        return gradient.mul_(dy.unsqueeze(-1)), None, None, None, None


def cross_entropy(logits, targets, *, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, reduction="mean"):
    """-log_softmax(logits)[target], classes being dimension 1 as torch has it; of one dimension, that. The answer is float32.

    targets: int64 or int32. reduction: "mean" of the rows that are not ignored, "sum", or "none". ignore_index: the target of rows whose
    loss is 0. label_smoothing: the share that all classes have alike. z_loss: the weight of the square of the log-sum-exp.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction: {reduction!r} is none of mean, sum, none")
    rows = logits if logits.dim() < 3 else logits.movedim(1, -1)
    if _wants_grad(rows):
        loss = _CrossEntropy.apply(rows, targets, ignore_index, label_smoothing, z_loss)
    else:
        loss = ops.cross_entropy(rows, targets, ignore_index, label_smoothing, z_loss)[0]
    if reduction == "none":
        return loss
    total = sum(loss)
    return total if reduction == "sum" else total / (targets != ignore_index).sum()


class _TokenLogProbs(Function):
    @staticmethod
    def forward(ctx, logits, targets, ignore_index):
        kept = targets != ignore_index
        lse = ops.logsumexp(logits.float(), [-1], True)
        index = targets.masked_fill(~kept, 0).long().unsqueeze(-1)
        chosen = logits.gather(-1, index).float()
        ctx.save_for_backward(logits, index.masked_fill(~kept.unsqueeze(-1), -1), lse, kept)
        return (chosen - lse).squeeze(-1).masked_fill(~kept, 0)

    @staticmethod
    @_first_derivative_only
    def backward(ctx, dy):
        return picked_gradient(dy, *ctx.saved_tensors), None, None


def picked_gradient(dy, logits, index, lse, kept):
    """The gradient of logits[index] - lse by logits. An index that is negative is none of these logits'."""
    if not logits.numel():
        return torch.zeros_like(logits)
    negative = (-dy).masked_fill(~kept, 0).unsqueeze(-1)
    gradient = (logits.float() - lse).exp_().mul_(negative)
    here = index.clamp(min=0)
    # One index a row, so this is no sum, and has no order.
    at_target = gradient.gather(-1, here)
    return gradient.scatter_(-1, here, torch.where(index >= 0, at_target - negative, at_target)).to(logits.dtype)


def token_log_probs(logits, targets, *, ignore_index=-100):
    """logits[target] - logsumexp(logits) of each row along the last dimension, in float32: log-probabilities of tokens.

    The log-sum-exp is the reduction warpfold.logsumexp of the logits as float32, which a vocabulary divided among ranks has, too:
    warpfold.torch.distributed.token_log_probs answers the same bits. Those of log_softmax may differ in the last place.
    A target that is ignore_index has 0.
    """
    if targets.shape != logits.shape[:-1]:
        raise ValueError(f"targets: their shape is {tuple(targets.shape)}, and must be {tuple(logits.shape[:-1])}: one for each row")
    return _TokenLogProbs.apply(logits, targets, ignore_index)
