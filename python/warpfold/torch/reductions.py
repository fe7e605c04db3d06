"""Reductions of torch tensors with gradients."""

import math

import torch
from torch.autograd import Function

from . import ops


def _dims(dim):
    return (dim,) if isinstance(dim, int) else dim


def _folded(x, dim):
    """How many elements each answer is of."""
    return math.prod([x.shape[d] for d in dim]) if dim else x.numel()


def _expanded(y, x, dim, keepdim):
    """Answers, at each element of x that went into them."""
    if not keepdim and dim:
        for d in sorted([d % x.dim() for d in dim]):
            y = y.unsqueeze(d)
    return y.expand(x.shape)


def _wants_grad(x):
    return x.requires_grad and torch.is_grad_enabled()


class _Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim, dtype, accuracy):
        ctx.save_for_backward(x)
        ctx.dim, ctx.keepdim = dim, keepdim
        return ops.sum(x, dim, keepdim, dtype, accuracy)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return _expanded(dy, x, ctx.dim, ctx.keepdim).to(x.dtype), None, None, None, None


class _Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim, dtype, accuracy):
        ctx.save_for_backward(x)
        ctx.dim, ctx.keepdim = dim, keepdim
        return ops.mean(x, dim, keepdim, dtype, accuracy)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        # Not divided: GPUs multiply by the reciprocal of a number, CPUs divide by it.
        dy = dy * (1 / _folded(x, ctx.dim))
        return _expanded(dy, x, ctx.dim, ctx.keepdim).to(x.dtype), None, None, None, None


class _LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim):
        y = ops.logsumexp(x, dim, keepdim)
        ctx.save_for_backward(x, y)
        ctx.dim, ctx.keepdim = dim, keepdim
        return y

    @staticmethod
    def backward(ctx, dy):
        x, y = ctx.saved_tensors
        # Where all elements are -inf, so is y: their gradients are 0 then, and not NaN.
        y = y.masked_fill(y == -math.inf, 0)
        y, dy = (_expanded(part, x, ctx.dim, ctx.keepdim) for part in (y, dy))
        return dy * (x - y).exp(), None, None


def _var_gradient(dy, x, dim, keepdim, correction):
    scale = 2 / (_folded(x, dim) - correction)
    return _expanded(dy * scale, x, dim, keepdim) * (x - mean(x, dim or tuple(range(x.dim())), True))


class _Var(Function):
    @staticmethod
    def forward(ctx, x, dim, correction, keepdim):
        ctx.save_for_backward(x)
        ctx.options = dim, keepdim, correction
        return ops.var(x, dim, correction, keepdim)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return _var_gradient(dy, x, *ctx.options), None, None, None


class _Std(Function):
    @staticmethod
    def forward(ctx, x, dim, correction, keepdim):
        y = ops.std(x, dim, correction, keepdim)
        ctx.save_for_backward(x, y)
        ctx.options = dim, keepdim, correction
        return y

    @staticmethod
    def backward(ctx, dy):
        x, y = ctx.saved_tensors
        dy = (dy / (y * 2)).masked_fill(y == 0, 0)
        return _var_gradient(dy, x, *ctx.options), None, None, None


class _Norm(Function):
    @staticmethod
    def forward(ctx, x, ord, dim, keepdim):
        y = ops.norm(x, ord, dim, keepdim)
        ctx.save_for_backward(x, y)
        ctx.ord, ctx.dim, ctx.keepdim = ord, dim, keepdim
        return y

    @staticmethod
    def backward(ctx, dy):
        x, y = ctx.saved_tensors
        y, dy = (_expanded(part, x, ctx.dim, ctx.keepdim) for part in (y, dy))
        return _norm_gradient(dy, x, y, ctx.ord, ctx.dim), None, None, None


def _norm_gradient(dy, x, y, ord, dim):
    if ord == 1:
        return dy * x.sign()
    if ord == 2:
        return dy * (x / y).masked_fill(y == 0, 0)
    if ord == math.inf:
        # The largest share the gradient, as torch has it.
        largest = (x.abs() == y).to(x.dtype)
        count = sum(largest.detach(), dim or tuple(range(x.dim())), True)
        return dy * x.sign() * largest / count
    powers = x.sign() * (x.abs() / y).pow(ord - 1)
    return dy * powers.masked_fill((x == 0) | (y == 0), 0)


def sum(x, dim=None, keepdim=False, *, dtype=None, accuracy="native"):
    """The sum along dim: an integer, several, or None for all. dtype: the type that elements are cast to first.

    accuracy: "native", "compensated", "wide" or "exact", as of warpfold.sum.
    """
    dim = _dims(dim)
    if _wants_grad(x):
        return _Sum.apply(x, dim, keepdim, dtype, accuracy)
    return ops.sum(x, dim, keepdim, dtype, accuracy)


def mean(x, dim=None, keepdim=False, *, dtype=None, accuracy="native"):
    """The arithmetic mean along dim; the keywords are those of sum."""
    dim = _dims(dim)
    if _wants_grad(x):
        return _Mean.apply(x, dim, keepdim, dtype, accuracy)
    return ops.mean(x, dim, keepdim, dtype, accuracy)


def logsumexp(x, dim=None, keepdim=False):
    """The logarithm of the sum of exponentials along dim, without overflow."""
    dim = _dims(dim)
    if _wants_grad(x):
        return _LogSumExp.apply(x, dim, keepdim)
    return ops.logsumexp(x, dim, keepdim)


def var(x, dim=None, *, correction=1, keepdim=False):
    """The variance along dim, divided by n - 1 as torch has it, where warpfold.var divides by n.

    correction: what is taken off n.
    """
    dim = _dims(dim)
    if _wants_grad(x):
        return _Var.apply(x, dim, correction, keepdim)
    return ops.var(x, dim, correction, keepdim)


def std(x, dim=None, *, correction=1, keepdim=False):
    """The standard deviation along dim, divided by n - 1 as torch has it, where warpfold.std divides by n."""
    dim = _dims(dim)
    if _wants_grad(x):
        return _Std.apply(x, dim, correction, keepdim)
    return ops.std(x, dim, correction, keepdim)


def norm(x, ord=2, dim=None, keepdim=False):
    """The norm along dim: of ord 1, 2, math.inf, or any other power above 0. One vector, never a matrix norm."""
    dim = _dims(dim)
    if _wants_grad(x):
        return _Norm.apply(x, ord, dim, keepdim)
    return ops.norm(x, ord, dim, keepdim)
