"""Reductions of what is divided among ranks, with the bits of one reduction of the whole.

Ranks gather bytes and merge partials. Nothing is added on the way, so neither the number of ranks nor the collective's order
shows in a bit.
Each function is collective: all ranks of the group call it, in the same order.
"""

import numpy as np
import torch
import torch.distributed as dist
from torch.autograd import Function

import warpfold as wf
from warpfold import _warpfold

from .clip import clip, order_of
from .function import check_tensors, refuse_tangents, wants_grad
from .rows import check_picked, picked_gradient

__all__ = ["all_gather_bytes", "clip_grad_norm_", "reduce", "token_log_probs"]


def all_gather_bytes(data, *, group=None):
    """The bytes of each rank, in the order of ranks, of any lengths: two collectives, of the lengths and of padded bytes."""
    size = dist.get_world_size(group)
    # NCCL gathers in GPU memory alone.
    device = torch.device("cuda", torch.cuda.current_device()) if "nccl" in dist.get_backend(group) else torch.device("cpu")
    lengths = torch.empty(size, dtype=torch.int64, device=device)
    dist.all_gather_into_tensor(lengths, torch.tensor([len(data)], device=device), group=group)
    lengths = lengths.tolist()
    padded = np.zeros(max(lengths), np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    if not padded.size:
        return [b""] * size
    gathered = torch.empty(size * padded.size, dtype=torch.uint8, device=device)
    dist.all_gather_into_tensor(gathered, torch.from_numpy(padded).to(device), group=group)
    rows = gathered.view(size, -1).cpu().numpy()
    return [row[:length].tobytes() for row, length in zip(rows, lengths)]


def _merged(messages):
    """The partial of all of them together."""
    merged = wf.Partial.from_bytes(messages[0])
    for message in messages[1:]:
        merged.merge(wf.Partial.from_bytes(message))
    return merged


def _tensor(answer, x, shape=None):
    """NumPy's answer as a tensor on the device of x."""
    answer = np.asarray(answer)
    if answer.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        # torch takes no array of ml_dtypes; the bits are the same.
        tensor = torch.from_numpy(np.array(answer).view(f"u{answer.itemsize}")).view(getattr(torch, answer.dtype.name))
    else:
        tensor = torch.from_numpy(np.array(answer))
    return tensor.to(x.device) if shape is None else tensor.to(x.device).view(shape)


def reduce(op, x, *, group=None, first, length, **options):
    """The reduction of that name of a whole array, of which each rank has a part: on each rank the bits of warpfold's on one device.

    x: this rank's part, which begins at element `first` of `length`. axis=..., correction=..., accuracy=... and the rest: as of
    warpfold.partial; under an axis, first and length are of an answer's elements. An answer of several parts is a tuple.
    """
    check_tensors(x=x)
    refuse_tangents([x])
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError("x: it requires grad, and a reduction among ranks has no gradient; pass x.detach()")
    partial = wf.partial(op, x, first=first, **options)
    answer = _merged(all_gather_bytes(bytes(partial), group=group)).finish(length)
    return tuple(_tensor(part, x) for part in answer) if isinstance(answer, tuple) else _tensor(answer, x)


class _TokenLogProbs(Function):
    @staticmethod
    def forward(ctx, shard, targets, group, first, whole, ignore_index):
        kept = targets != ignore_index
        here = kept & (targets >= first) & (targets < first + shard.shape[-1])
        # A negative index is none of this shard's.
        index = torch.where(here, targets - first, -1).long().unsqueeze(-1)
        chosen = shard.gather(-1, index.clamp(min=0)).float() if shard.shape[-1] else shard.new_zeros(index.shape, dtype=torch.float32)
        partial = wf.partial("logsumexp", shard.float(), first=first, axis=-1)
        # Each rank sends the logits of all targets; the first rank whose shard has a target is the one that is believed.
        sent = torch.cat([chosen.reshape(-1), here.reshape(-1).float()]).cpu().numpy().tobytes()
        messages = all_gather_bytes(sent + bytes(partial), group=group)
        lse = _tensor(_merged([m[len(sent) :] for m in messages]).finish(whole), shard, index.shape)
        logits = torch.zeros_like(chosen)
        found = torch.zeros_like(kept).unsqueeze(-1)
        for message in messages:
            numbers = torch.from_numpy(np.frombuffer(message, np.float32, count=len(sent) // 4).copy()).to(shard.device)
            theirs, has = numbers.view(2, *index.shape)
            logits = torch.where(has.bool(), theirs, logits)
            found |= has.bool()
        if not bool((found.squeeze(-1) | ~kept).all()):
            raise ValueError(f"targets: one is in no rank's shard, and they are in 0..{whole} or {ignore_index}")
        ctx.save_for_backward(shard, index, lse, kept)
        return (logits - lse).squeeze(-1).masked_fill(~kept, 0)

    @staticmethod
    def backward(ctx, dy):
        if torch.is_grad_enabled():
            raise RuntimeError("create_graph: token_log_probs has no second derivative")
        return picked_gradient(dy, *ctx.saved_tensors), None, None, None, None, None


def token_log_probs(shard, targets, *, group=None, first, whole, ignore_index=-100):
    """warpfold.torch.token_log_probs of a vocabulary of `whole` tokens that is divided among ranks: the same bits.

    shard: this rank's logits, [..., tokens], the first of which is token `first`. targets: the same on all ranks. The gradient is that
    of this rank's logits, and needs no collective. Shards of warpfold.split(whole, ranks, torch.float32) send a few states a row; others
    send up to 4 KB a row and border.
    """
    check_picked(shard, targets)
    # It has no gradient under torch.func, and says so.
    wants_grad(shard)
    return _TokenLogProbs.apply(shard, targets, group, first, whole, ignore_index)


def _local(gradient):
    """This rank's elements of a gradient, in their order. Of a DTensor that is sharded along its first dimension, the local ones."""
    placements = getattr(gradient, "placements", None)
    if placements is None:
        return gradient
    if len(placements) != 1 or not placements[0].is_shard(0):
        raise ValueError(
            f"a gradient is placed as {placements}: clip_grad_norm_ takes those that are sharded along dimension 0 of one mesh axis"
        )
    return gradient.to_local()


@torch.no_grad()
def clip_grad_norm_(params, max_norm, norm_type=2.0, error_if_nonfinite=False, *, group=None):
    """warpfold.torch.clip_grad_norm_ of parameters whose gradients are divided among ranks: the same bits, and the same norm on each rank.

    All ranks pass the same parameters, in the same order. Each has a part of a gradient's elements, the parts being in the order of
    ranks: as FSDP shards them along dimension 0, or flat. A rank that has none of a parameter passes an empty gradient, or none. The
    type of a parameter is the same on all ranks.
    """
    ord = order_of(norm_type)
    params = [params] if isinstance(params, torch.Tensor) else list(params)
    gradients = [None if p.grad is None else _local(p.grad) for p in params]
    # Where the parts begin: all sizes, in one collective. -1 is no gradient.
    mine = np.array([-1 if g is None else g.numel() for g in gradients], np.int64)
    messages = all_gather_bytes(mine.tobytes(), group=group)
    if any(len(message) != mine.nbytes for message in messages):
        raise ValueError(f"params: ranks have different numbers of them, {[len(message) // 8 for message in messages]}")
    sizes = np.stack([np.frombuffer(message, np.int64) for message in messages])
    firsts = np.maximum(sizes, 0).cumsum(0)[dist.get_rank(group)] - np.maximum(mine, 0)
    parts = [
        b"" if g is None else bytes(wf.partial("norm", g.reshape(-1), first=int(first), ord=ord)) for g, first in zip(gradients, firsts)
    ]
    messages = [_split(message, len(params)) for message in all_gather_bytes(_joined(parts), group=group)]
    device = next((p.device for p in params), torch.device("cpu"))
    kept = [index for index, lengths in enumerate(sizes.T) if (lengths >= 0).any()]
    partials = [_merged([message[index] for message in messages if message[index]]) for index in kept]
    lengths = [int(np.maximum(sizes[:, index], 0).sum()) for index in kept]
    norm = _warpfold._grad_norm_of_partials(partials, lengths, ord=ord)
    dtype = torch.float64 if any(params[index].dtype == torch.float64 for index in kept) else torch.float32
    total = torch.tensor(norm, dtype=dtype, device=device)
    return clip([g for g in gradients if g is not None], total, max_norm, error_if_nonfinite)


def _joined(parts):
    """Parts as one message: their lengths, then their bytes."""
    return np.array([len(part) for part in parts], np.int64).tobytes() + b"".join(parts)


def _split(message, count):
    lengths = np.frombuffer(message, np.int64, count=count)
    ends = np.cumsum([lengths.nbytes, *lengths])
    return [message[start:end] for start, end in zip(ends, ends[1:])]
