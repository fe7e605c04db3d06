"""Softmax, norms and cross-entropy of torch tensors, with gradients."""

import math

import torch

from . import ops
from .function import Function, check_tensors, first_derivative_only, wants_grad
from .reductions import sum


def _summed_to(run, gradient, shape):
    """The gradient of what was broadcast from that shape."""
    new = gradient.dim() - len(shape)
    dims = [d for d in range(gradient.dim()) if d < new or (shape[d - new] == 1 and gradient.shape[d] != 1)]
    return run.sum(gradient, dims, True).view(shape) if dims else gradient


class _Softmax(Function):
    @staticmethod
    def forward(ctx, x, bias, log, dim, scale, causal, dtype, mask, *all_masked):
        run = ops.on(x, mask, bias)
        y = (run.log_softmax if log else run.softmax)(x, dim, scale, causal, dtype, mask, bias, *all_masked)
        ctx.save_for_backward(y, mask)
        ctx.options = dim, scale, causal, log
        ctx.given = x.dtype, None if bias is None else bias.shape
        return y

    @staticmethod
    @first_derivative_only
    def backward(ctx, dy):
        y, mask = ctx.saved_tensors
        dim, scale, causal, log = ctx.options
        run, (dtype, shape) = ops.on(dy, y), ctx.given
        dx = dbias = None
        if ctx.needs_input_grad[0]:
            dx = run.softmax_backward(y, dy, dim, scale, causal, log)
            if mask is not None:
                dx = dx.masked_fill(~mask, 0)
            dx = dx.to(dtype)
        if ctx.needs_input_grad[1]:
            dbias = _summed_to(run, run.softmax_backward(y, dy, dim, 1.0, causal, log), shape).to(dtype)
        return dx, dbias, *[None] * (len(ctx.needs_input_grad) - 2)


def _check_causal(causal):
    if isinstance(causal, bool):
        raise TypeError("causal: an integer, 0 in place of True, and None in place of False")


def softmax(x, dim=-1, *, scale=1.0, causal=None, mask=None, bias=None, all_masked="nan", dtype=None):
    """exp(x * scale + bias - m) / sum of exp(x * scale + bias - m) along dim, m being the largest.

    scale: what elements are multiplied by first. causal: of the last two dimensions, row r sees columns up to r + S - T + causal.
    mask: bool, broadcasts to x; what it does not select is as -inf. bias: of x's type, broadcasts to x, and not with a mask.
    all_masked: what a row of all -inf becomes, "nan" or "zero". dtype: the type of the answer: that of x, or float32.
    """
    _check_causal(causal)
    wanted = wants_grad(x, bias=bias)
    if not x.dim():
        return softmax(x.reshape(1), dim, scale=scale, causal=causal, mask=mask, bias=bias, all_masked=all_masked, dtype=dtype).reshape(())
    # torch's own error of a dimension that there is not.
    x.size(dim)
    if wanted:
        return _Softmax.apply(x, bias, False, dim, scale, causal, dtype, mask, all_masked)
    return ops.on(x, mask, bias).softmax(x, dim, scale, causal, dtype, mask, bias, all_masked)


def log_softmax(x, dim=-1, *, scale=1.0, causal=None, mask=None, bias=None, dtype=None):
    """x * scale + bias - logsumexp(x * scale + bias) along dim; the keywords are those of softmax, but all_masked."""
    _check_causal(causal)
    wanted = wants_grad(x, bias=bias)
    if not x.dim():
        return log_softmax(x.reshape(1), dim, scale=scale, causal=causal, mask=mask, bias=bias, dtype=dtype).reshape(())
    x.size(dim)
    if wanted:
        return _Softmax.apply(x, bias, True, dim, scale, causal, dtype, mask)
    return ops.on(x, mask, bias).log_softmax(x, dim, scale, causal, dtype, mask, bias)


def _with_sums(dx, dsums):
    """The gradient by what is normalized: of a norm with a residual it is an answer, too, that has a gradient."""
    return dsums if dx is None else dx if dsums is None else dx + dsums


class _RmsNorm(Function):
    @staticmethod
    def forward(ctx, x, residual, weight, eps, one_plus_weight):
        run = ops.on(x, weight, residual)
        ctx.one_plus_weight = one_plus_weight
        if residual is None:
            y, rstd = run.rms_norm_forward(x, weight, eps, one_plus_weight)
            ctx.save_for_backward(x, weight, rstd)
            return y
        y, sums, rstd = run.rms_norm_residual_forward(x, residual, weight, eps, one_plus_weight)
        ctx.save_for_backward(sums, weight, rstd)
        ctx.set_materialize_grads(False)
        return y, sums

    @staticmethod
    @first_derivative_only
    def backward(ctx, dy, dsums=None):
        x, weight, rstd = ctx.saved_tensors
        by_x, by_residual, by_weight, *_ = ctx.needs_input_grad
        dx = dweight = None
        if dy is not None:
            run = ops.on(dy, x, weight)
            if by_x or by_residual:
                dx = run.norm_backward(dy, x, None, rstd, weight, ctx.one_plus_weight)
            if by_weight:
                dweight = run.norm_columns_backward(dy, x, None, rstd)[0].to(weight.dtype)
        dx = _with_sums(dx, dsums)
        return dx, dx if by_residual else None, dweight, None, None


class _LayerNorm(Function):
    @staticmethod
    def forward(ctx, x, residual, weight, bias, eps):
        run = ops.on(x, weight, bias, residual)
        ctx.bias_dtype = None if bias is None else bias.dtype
        if residual is None:
            y, mean, rstd = run.layer_norm_forward(x, weight, bias, eps)
            ctx.save_for_backward(x, weight, mean, rstd)
            return y
        y, sums, mean, rstd = run.layer_norm_residual_forward(x, residual, weight, bias, eps)
        ctx.save_for_backward(sums, weight, mean, rstd)
        ctx.set_materialize_grads(False)
        return y, sums

    @staticmethod
    @first_derivative_only
    def backward(ctx, dy, dsums=None):
        x, weight, mean, rstd = ctx.saved_tensors
        by_x, by_residual, by_weight, by_bias, _ = ctx.needs_input_grad
        dx = dweight = dbias = None
        if dy is not None:
            run = ops.on(dy, x, weight)
            if by_x or by_residual:
                dx = run.norm_backward(dy, x, mean, rstd, weight)
            if by_weight or by_bias:
                columns = run.norm_columns_backward(dy, x, mean, rstd)
                dweight = columns[0].to(weight.dtype) if by_weight else None
                dbias = columns[1].to(ctx.bias_dtype) if by_bias else None
        dx = _with_sums(dx, dsums)
        return dx, dx if by_residual else None, dweight, dbias, None


def group_norm_gradients(run, dy, x, mean, rstd, weight, groups, wanted):
    """The gradients of group norm by x, weight and bias, as far as wanted; those by weight and bias in float32. run: what ops.on answers.

    Groups of channels are rows of a layer norm that has no weight, since that is of channels: dy is multiplied by it first, in float32.
    """
    batch, channels = x.shape[:2]
    # Said in full: of no elements, no size can be inferred.
    inner = math.prod(x.shape[2:])
    rows = batch, groups, channels // groups * inner
    wide_dy, wide_x = dy.float(), x.float()
    columns = (1, channels) + (1,) * (x.dim() - 2)
    dx = dweight = dbias = None
    if wanted[0]:
        scaled = wide_dy if weight is None else wide_dy * weight.float().view(columns)
        dx = run.norm_backward(scaled.reshape(rows), wide_x.reshape(rows), mean, rstd, None).view(x.shape).to(x.dtype)
    others = [d for d in range(x.dim()) if d != 1]
    if wanted[1]:
        shape = batch, channels, inner
        per_channel = [s.repeat_interleave(channels // groups, 1).unsqueeze(-1) for s in (mean, rstd)]
        normed = (wide_x.reshape(shape) - per_channel[0]) * per_channel[1]
        dweight = run.sum(wide_dy.reshape(shape) * normed, [0, 2])
    if wanted[2]:
        dbias = run.sum(wide_dy, others)
    return dx, dweight, dbias


class _GroupNorm(Function):
    @staticmethod
    def forward(ctx, x, groups, weight, bias, eps):
        y, mean, rstd = ops.on(x, weight, bias).group_norm_forward(x, groups, weight, bias, eps)
        ctx.save_for_backward(x, weight, mean, rstd)
        ctx.groups, ctx.bias_dtype = groups, None if bias is None else bias.dtype
        return y

    @staticmethod
    @first_derivative_only
    def backward(ctx, dy):
        x, weight, mean, rstd = ctx.saved_tensors
        wanted = [ctx.needs_input_grad[i] for i in (0, 2, 3)]
        dx, dweight, dbias = group_norm_gradients(ops.on(dy, x, weight), dy, x, mean, rstd, weight, ctx.groups, wanted)
        dweight = None if dweight is None else dweight.to(weight.dtype)
        dbias = None if dbias is None else dbias.to(ctx.bias_dtype)
        return dx, None, dweight, dbias, None


def _normalized(x, normalized_shape, weight, bias, residual):
    """Rows of the dimensions that are normalized, the residual as such, and the weights and biases of their columns."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or x.shape[-len(shape) :] != shape:
        raise ValueError(f"normalized_shape: {shape} are not the last dimensions of {tuple(x.shape)}")
    if weight is not None and weight.shape != shape:
        raise ValueError(f"weight: its shape is {tuple(weight.shape)}, and must be {shape}")
    if bias is not None and bias.shape != shape:
        raise ValueError(f"bias: its shape is {tuple(bias.shape)}, and must be {shape}")
    if residual is not None and residual.shape != x.shape:
        raise ValueError(f"residual: its shape is {tuple(residual.shape)}, and must be {tuple(x.shape)}")
    if len(shape) == 1:
        return x, residual, weight, bias
    rows = *x.shape[: -len(shape)], math.prod(shape)
    x, residual = (None if t is None else t.reshape(rows) for t in (x, residual))
    return x, residual, *(None if column is None else column.reshape(-1) for column in (weight, bias))


def _as(x, answer):
    """An answer of rows, or several, in the shape of x."""
    return answer.view(x.shape) if isinstance(answer, torch.Tensor) else tuple(part.view(x.shape) for part in answer)


def rms_norm(x, normalized_shape, weight=None, eps=1e-6, *, residual=None, one_plus_weight=False):
    """x / sqrt(mean of x * x + eps) * weight, rows being the last dimensions, of normalized_shape.

    eps is 1e-6, where torch takes the type's epsilon. one_plus_weight: multiply by 1 + weight. The answer is of x's type.
    residual: of x's type and shape, is added first; then the answers are two, the second being x + residual, rounded to the type.
    """
    wanted = wants_grad(x, weight, None, residual)
    rows, added, weight, _ = _normalized(x, normalized_shape, weight, None, residual)
    if wanted:
        y = _RmsNorm.apply(rows, added, weight, eps, one_plus_weight)
    elif added is None:
        y = ops.on(rows, weight).rms_norm(rows, weight, eps, one_plus_weight)
    else:
        y = ops.on(rows, weight, added).rms_norm_residual(rows, added, weight, eps, one_plus_weight)
    return y if rows is x else _as(x, y)


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5, *, residual=None):
    """(x - mean) / sqrt(variance + eps) * weight + bias, rows being the last dimensions, of normalized_shape.

    residual: as of rms_norm.
    """
    wanted = wants_grad(x, weight, bias, residual)
    rows, added, weight, bias = _normalized(x, normalized_shape, weight, bias, residual)
    if wanted:
        y = _LayerNorm.apply(rows, added, weight, bias, eps)
    elif added is None:
        y = ops.on(rows, weight, bias).layer_norm(rows, weight, bias, eps)
    else:
        y = ops.on(rows, weight, bias, added).layer_norm_residual(rows, added, weight, bias, eps)
    return y if rows is x else _as(x, y)


def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    """(x - mean) / sqrt(variance + eps) * weight + bias of groups of channels, which are dimension 1 of x."""
    wanted = wants_grad(x, weight, bias)
    if num_groups < 1:
        raise ValueError(f"num_groups: {num_groups}; it is at least 1")
    if wanted:
        return _GroupNorm.apply(x, num_groups, weight, bias, eps)
    return ops.on(x, weight, bias).group_norm(x, num_groups, weight, bias, eps)


class _CrossEntropy(Function):
    @staticmethod
    def forward(ctx, logits, targets, ignore_index, label_smoothing, z_loss):
        ctx.save_for_backward(logits, targets)
        ctx.options = ignore_index, label_smoothing, z_loss
        return ops.on(logits, targets).cross_entropy(logits, targets, *ctx.options)[0]

    @staticmethod
    @first_derivative_only
    def backward(ctx, dy):
        logits, targets = ctx.saved_tensors
        run = ops.on(dy, logits, targets)
        gradient = run.cross_entropy_backward(logits, targets, *ctx.options)
        # The gradient of an ignored row is 0, and its product with infinity or NaN is not.
        dy = torch.where(targets == ctx.options[0], dy.nan_to_num(0.0, 0.0, 0.0), dy).unsqueeze(-1)
        if run is ops.kernels:
            # In place: the product is rounded to the type of logits, and takes no memory.
            return gradient.mul_(dy), None, None, None, None
        return (gradient * dy).to(gradient.dtype), None, None, None, None


def cross_entropy(logits, targets, *, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, reduction="mean"):
    """-log_softmax(logits)[target], classes being dimension 1 as torch has it; of one dimension, that. The answer is float32.

    targets: int64 or int32. reduction: "mean" of the rows that are not ignored, "sum", or "none". ignore_index: the target of rows whose
    loss is 0. label_smoothing: the share that all classes have alike. z_loss: the weight of the square of the log-sum-exp.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction: {reduction!r} is none of mean, sum, none")
    check_tensors(logits=logits, targets=targets)
    rows = logits if logits.dim() < 3 else logits.movedim(1, -1)
    if wants_grad(rows):
        loss = _CrossEntropy.apply(rows, targets, ignore_index, label_smoothing, z_loss)
    else:
        loss = ops.on(rows, targets).cross_entropy(rows, targets, ignore_index, label_smoothing, z_loss)[0]
    if reduction == "none":
        return loss
    total = sum(loss)
    return total if reduction == "sum" else total / (targets != ignore_index).sum()


def _picked(logits, targets, ignore_index):
    """Log-probabilities of targets, and what their gradient needs."""
    kept = targets != ignore_index
    lse = ops.on(logits).logsumexp(logits.float(), [-1], True)
    index = targets.masked_fill(~kept, 0).long().unsqueeze(-1)
    chosen = logits.gather(-1, index).float()
    return (chosen - lse).squeeze(-1).masked_fill(~kept, 0), index.masked_fill(~kept.unsqueeze(-1), -1), lse, kept


class _TokenLogProbs(Function):
    @staticmethod
    def forward(ctx, logits, targets, ignore_index):
        answer, *known = _picked(logits, targets, ignore_index)
        ctx.save_for_backward(logits, *known)
        return answer

    @staticmethod
    @first_derivative_only
    def backward(ctx, dy):
        return picked_gradient(dy, *ctx.saved_tensors), None, None


def picked_gradient(dy, logits, index, lse, kept):
    """The gradient of logits[index] - lse by logits. An index that is negative is none of these logits'."""
    if not logits.numel():
        return torch.zeros_like(logits)
    negative = (-dy).masked_fill(~kept, 0).unsqueeze(-1)
    gradient = (logits.float() - lse).exp_()
    # In place but for a batch of dy.
    gradient = gradient.mul_(negative) if ops.on(dy) is ops.kernels else gradient * negative
    here = index.clamp(min=0)
    # One index a row, so this is no sum, and has no order.
    at_target = gradient.gather(-1, here)
    return gradient.scatter_(-1, here, torch.where(index >= 0, at_target - negative, at_target)).to(logits.dtype)


def check_picked(logits, targets):
    """Refuses logits and targets that token_log_probs does not take."""
    check_tensors(logits=logits, targets=targets)
    if logits.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise TypeError(f"logits: token_log_probs is of float32, float16 and bfloat16, and this is of {logits.dtype}".replace("torch.", ""))
    if targets.dtype not in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        raise TypeError(f"targets: they are of an integer type, and these are of {targets.dtype}".replace("torch.", ""))
    if targets.shape != logits.shape[:-1]:
        raise ValueError(f"targets: their shape is {tuple(targets.shape)}, and must be {tuple(logits.shape[:-1])}: one for each row")


def token_log_probs(logits, targets, *, ignore_index=-100):
    """logits[target] - logsumexp(logits) of each row along the last dimension, in float32: log-probabilities of tokens.

    The log-sum-exp is the reduction warpfold.logsumexp of the logits as float32, which a vocabulary divided among ranks has, too:
    warpfold.torch.distributed.token_log_probs answers the same bits. Those of log_softmax may differ in the last place.
    A target that is ignore_index has 0.
    """
    check_picked(logits, targets)
    if wants_grad(logits):
        return _TokenLogProbs.apply(logits, targets, ignore_index)
    return _picked(logits, targets, ignore_index)[0]


def _with_saved(answers, count):
    """Answers with gradients, and the last tensors that their gradient saved."""
    answers = answers if isinstance(answers, tuple) else (answers,)
    return *answers, *answers[0].grad_fn.saved_tensors[-count:]


def _cross_entropy(logits, targets, *options):
    """The operator's answers, of which the loss has a gradient."""
    with torch.no_grad():
        _, *others = ops.cross_entropy(logits, targets, *options)
    return _CrossEntropy.apply(logits, targets, *options), *others


ops.with_gradients |= {
    "softmax": lambda x, dim, scale, causal, dtype, mask, bias, all_masked: _Softmax.apply(
        x, bias, False, dim, scale, causal, dtype, mask, all_masked
    ),
    "log_softmax": lambda x, dim, scale, causal, dtype, mask, bias: _Softmax.apply(x, bias, True, dim, scale, causal, dtype, mask),
    "rms_norm": lambda x, *rest: _RmsNorm.apply(x, None, *rest),
    "rms_norm_forward": lambda x, *rest: _with_saved(_RmsNorm.apply(x, None, *rest), 1),
    "rms_norm_residual": _RmsNorm.apply,
    "rms_norm_residual_forward": lambda *inputs: _with_saved(_RmsNorm.apply(*inputs), 1),
    "layer_norm": lambda x, *rest: _LayerNorm.apply(x, None, *rest),
    "layer_norm_forward": lambda x, *rest: _with_saved(_LayerNorm.apply(x, None, *rest), 2),
    "layer_norm_residual": _LayerNorm.apply,
    "layer_norm_residual_forward": lambda *inputs: _with_saved(_LayerNorm.apply(*inputs), 2),
    "group_norm": _GroupNorm.apply,
    "group_norm_forward": lambda *inputs: _with_saved(_GroupNorm.apply(*inputs), 2),
    "cross_entropy": _cross_entropy,
}
