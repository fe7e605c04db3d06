"""Reductions of torch tensors with gradients."""

import math

from . import ops
from .function import Function, wants_grad


def _dims(x, dim):
    """Dimensions as the operators take them. As torch has it, a tensor without dimensions has 0 and -1."""
    if dim is None:
        return None
    if dim is True or dim is False:
        raise TypeError(f"dim: {dim}; it is an integer, several, or None")
    dim = (dim,) if isinstance(dim, int) else dim
    return None if not x.dim() and tuple(dim) in ((0,), (-1,)) else dim


def _folded(shape, dim):
    """How many elements each answer is of."""
    return math.prod([shape[d] for d in dim] if dim else shape)


def _expanded(y, shape, dim, keepdim):
    """Answers, at each element that went into them, of arrays of that shape."""
    if not keepdim and dim:
        for d in sorted([d % len(shape) for d in dim]):
            y = y.unsqueeze(d)
    return y.expand(shape)


def _quotient(a, b):
    """Infinite for b of 0: gradients of no elements, or of as many as the correction, are NaN or infinite, as torch has them."""
    try:
        return a / b
    except ZeroDivisionError:
        return math.inf


class _Sum(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim, dtype, accuracy):
        ctx.options = x.shape, dim, keepdim
        ctx.dtype = x.dtype
        return ops.on(x).sum(x, dim, keepdim, dtype, accuracy)

    @staticmethod
    def backward(ctx, dy):
        return _expanded(dy, *ctx.options).to(ctx.dtype), None, None, None, None


class _Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim, dtype, accuracy):
        ctx.options = x.shape, dim, keepdim
        ctx.dtype = x.dtype
        return ops.on(x).mean(x, dim, keepdim, dtype, accuracy)

    @staticmethod
    def backward(ctx, dy):
        # Not divided: GPUs multiply by the reciprocal of a number, CPUs divide by it.
        dy = dy * _quotient(1, _folded(*ctx.options[:2]))
        return _expanded(dy, *ctx.options).to(ctx.dtype), None, None, None, None


class _LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim):
        y = ops.on(x).logsumexp(x, dim, keepdim)
        ctx.save_for_backward(x, y)
        ctx.dim, ctx.keepdim = dim, keepdim
        return y

    @staticmethod
    def backward(ctx, dy):
        x, y = ctx.saved_tensors
        # Where all elements are -inf, so is y: their gradients are 0 then, and not NaN.
        y = y.masked_fill(y == -math.inf, 0)
        y, dy = (_expanded(part, x.shape, ctx.dim, ctx.keepdim) for part in (y, dy))
        return dy * (x - y).exp(), None, None


def _var_gradient(dy, x, dim, keepdim, correction):
    scale = _quotient(2, _folded(x.shape, dim) - correction)
    return _expanded(dy * scale, x.shape, dim, keepdim) * (x - mean(x, dim or tuple(range(x.dim())), True))


class _Var(Function):
    @staticmethod
    def forward(ctx, x, dim, correction, keepdim):
        ctx.save_for_backward(x)
        ctx.options = dim, keepdim, correction
        return ops.on(x).var(x, dim, correction, keepdim)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return _var_gradient(dy, x, *ctx.options), None, None, None


class _Std(Function):
    @staticmethod
    def forward(ctx, x, dim, correction, keepdim):
        y = ops.on(x).std(x, dim, correction, keepdim)
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
        y = ops.on(x).norm(x, ord, dim, keepdim)
        ctx.save_for_backward(x, y)
        ctx.ord, ctx.dim, ctx.keepdim = ord, dim, keepdim
        return y

    @staticmethod
    def backward(ctx, dy):
        x, y = ctx.saved_tensors
        y, dy = (_expanded(part, x.shape, ctx.dim, ctx.keepdim) for part in (y, dy))
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
    wanted = wants_grad(x)
    dim = _dims(x, dim)
    if wanted:
        return _Sum.apply(x, dim, keepdim, dtype, accuracy)
    return ops.on(x).sum(x, dim, keepdim, dtype, accuracy)


def mean(x, dim=None, keepdim=False, *, dtype=None, accuracy="native"):
    """The arithmetic mean along dim; the keywords are those of sum."""
    wanted = wants_grad(x)
    dim = _dims(x, dim)
    if wanted:
        return _Mean.apply(x, dim, keepdim, dtype, accuracy)
    return ops.on(x).mean(x, dim, keepdim, dtype, accuracy)


def logsumexp(x, dim=None, keepdim=False):
    """The logarithm of the sum of exponentials along dim, without overflow."""
    wanted = wants_grad(x)
    dim = _dims(x, dim)
    if wanted:
        return _LogSumExp.apply(x, dim, keepdim)
    return ops.on(x).logsumexp(x, dim, keepdim)


def var(x, dim=None, *, correction=1, keepdim=False):
    """The variance along dim, divided by n - 1 as torch has it, where warpfold.var divides by n.

    correction: what is taken off n.
    """
    wanted = wants_grad(x)
    dim = _dims(x, dim)
    if wanted:
        return _Var.apply(x, dim, correction, keepdim)
    return ops.on(x).var(x, dim, correction, keepdim)


def std(x, dim=None, *, correction=1, keepdim=False):
    """The standard deviation along dim, divided by n - 1 as torch has it, where warpfold.std divides by n."""
    wanted = wants_grad(x)
    dim = _dims(x, dim)
    if wanted:
        return _Std.apply(x, dim, correction, keepdim)
    return ops.on(x).std(x, dim, correction, keepdim)


def norm(x, ord=2, dim=None, keepdim=False):
    """The norm along dim: of ord 1, 2, math.inf, or any other power above 0. One vector, never a matrix norm."""
    wanted = wants_grad(x)
    dim = _dims(x, dim)
    if wanted:
        return _Norm.apply(x, ord, dim, keepdim)
    return ops.on(x).norm(x, ord, dim, keepdim)


ops.with_gradients |= {
    "sum": _Sum.apply,
    "mean": _Mean.apply,
    "logsumexp": _LogSumExp.apply,
    "var": _Var.apply,
    "std": _Std.apply,
    "norm": _Norm.apply,
}
