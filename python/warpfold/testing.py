"""Tests of batch invariance for anybody's kernels: a row's answer has the same bits alone as in any batch.

    from warpfold.testing import check_batch_invariant
    check_batch_invariant(lambda x: my_rms_norm(x, weight), rows)

f takes a batch, [rows, ...], and answers an array, or a tuple of them, with as many rows. Arrays are torch's or NumPy's. f may change
its batch, which is a copy.
"""

import contextlib
import sys
from typing import NamedTuple

import numpy as np

__all__ = ["BatchVariant", "Vacuous", "check_batch_invariant", "shows_order"]


class BatchVariant(AssertionError):
    """A row's answer depends on more than the row."""


class Vacuous(AssertionError):
    """The data could not show it: no other order of sums changes a bit."""


class _Part(NamedTuple):
    """An answer: its type, shape, and bytes, one row each."""

    dtype: str
    shape: tuple
    bytes: np.ndarray


def _is_torch(x):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _part(x):
    """A copy, as f may write its next answer in the same memory."""
    shape = tuple(x.shape)
    inner = int(np.prod(shape[1:]))
    if _is_torch(x):
        import torch

        x = x.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format).cpu()
        rows = x.reshape(*shape[:1], inner).view(torch.uint8).numpy() if x.numel() else np.zeros((*shape[:1], 0), np.uint8)
        return _Part(str(x.dtype), shape, rows)
    x = np.array(x, order="C")
    rows = x.reshape(*shape[:1], inner).view(np.uint8) if x.size else np.zeros((*shape[:1], 0), np.uint8)
    return _Part(str(x.dtype), shape, rows)


def shows_order(row, terms=None):
    """Whether sums of a row's elements, in the type that kernels accumulate in, have other bits in some other order.

    terms: what of the elements is summed, such as np.exp; of a float32 or float64 NumPy array it answers another.
    """
    if _is_torch(row):
        row = row.detach().cpu().double().numpy() if str(row.dtype) == "torch.float64" else row.detach().cpu().float().numpy()
    row = np.asarray(row).reshape(-1)
    row = row if row.dtype == np.float64 else row.astype(np.float32)
    row = row if terms is None else terms(row)
    if row.size == 0:
        return False
    lanes = np.zeros(-(-row.size // 32) * 32, row.dtype)
    lanes[: row.size] = row
    # One after the other, from the end, and in 32 lanes, as a warp does.
    sums = {
        np.cumsum(row)[-1:].tobytes(),
        np.cumsum(row[::-1])[-1:].tobytes(),
        np.cumsum(np.cumsum(lanes.reshape(-1, 32), 0)[-1])[-1:].tobytes(),
    }
    return len(sums) > 1


def check_batch_invariant(
    f,
    rows,
    *,
    batches=(1, 2, 8, 33, 64, 128, 257, 512),
    strides=True,
    streams=True,
    graphs=True,
    compiled=False,
    terms=None,
    reordered=None,
):
    """Raises BatchVariant if a row of `rows` has other bits in some batch than alone, and Vacuous if `rows` could not show that.

    Each row alone is compared with itself in batches of those sizes: at several positions, among the other rows, and between rows of zeros.
    Types, shapes and the number of answers are compared, too. Batches of the largest size have each row of `rows` in one of them; the
    others have the first rows: as many as their size, and half as many again.
    strides: also in batches that are not contiguous: rows with gaps, every other row, a first element that is not aligned, columns first.
    streams, graphs: of CUDA tensors, also on another stream, and replayed in a CUDA graph. compiled: also by torch.compile(f).

    The data must show an order: of each row, sums in two orders must differ. Sums of bfloat16 elements are often exact in float32:
    terms is what f sums of them, np.exp of a softmax, np.square of a norm. Where that says too little, as f rounds its answers to a
    narrow type, pass `reordered`, f in another order: it must have other bits than f for some row.
    """
    if not (_is_torch(rows) or isinstance(rows, np.ndarray)):
        raise TypeError(f"rows: {type(rows).__name__}; it is a torch tensor or a NumPy array")
    if rows.ndim == 0 or len(rows) < 2 or 0 in rows.shape:
        raise ValueError(f"rows: shape {tuple(rows.shape)}; at least 2 rows, of at least one element")
    sizes = tuple(batches) if np.iterable(batches) else ()
    if not all(isinstance(size, (int, np.integer)) and size > 0 for size in sizes) or max(sizes, default=1) == 1:
        raise ValueError(f"batches: {batches!r}; sizes from 1 on, at least one of them above 1")
    silent = [i for i in range(len(rows)) if not shows_order(rows[i], terms)]
    if silent:
        raise Vacuous(f"rows {silent[:8]} have the same sum in every order that was tried: such data cannot show a reordering")
    alone = _alone(f, rows, "f")
    if reordered is not None:
        other = _alone(reordered, rows, "reordered")
        if _forms(other) != _forms(alone):
            raise ValueError(f"reordered: it answers {_forms(other)} of all rows, and f {_forms(alone)}")
        if all(np.array_equal(a.bytes, b.bytes) for a, b in zip(alone, other, strict=True)):
            raise Vacuous("reordered has the bits of f for each row: such data cannot show a reordering")
    forms = {"": f}
    if compiled:
        import torch

        forms["compiled, "] = torch.compile(f)
    on_gpu = _is_torch(rows) and rows.is_cuda
    for how, form in forms.items():
        for size in sizes:
            for what, batch, index in _batches(rows, size, strides, size == max(sizes)):
                _compare(alone, form(batch), index, f"{how}{what}")
        if on_gpu and streams:
            for what, batch, index in _batches(rows, max(sizes), False, True):
                with _other_stream():
                    answer = form(batch)
                _compare(alone, answer, index, f"{how}another stream, {what}")
    if on_gpu and graphs:
        for size in sizes:
            _compare_replays(alone, f, rows, size)


def _alone(f, rows, name):
    """The answers of all rows, each computed alone."""
    answers = []
    for i in range(len(rows)):
        answers.append(_parts(f(rows[[i]]), name))
        for part in answers[i]:
            if part.shape[:1] != (1,):
                raise ValueError(f"{name} answered shape {part.shape} of a batch of 1: the first axis is of rows")
        if _forms(answers[i]) != _forms(answers[0]):
            raise BatchVariant(f"row {i} alone: {name} answers {_forms(answers[i])}, and {_forms(answers[0])} of row 0 alone")
    alone = [np.concatenate([part.bytes for part in parts]) for parts in zip(*answers, strict=True)]
    return [_Part(part.dtype, (len(rows), *part.shape[1:]), rows) for part, rows in zip(answers[0], alone, strict=True)]


def _parts(answer, name="f"):
    parts = answer if isinstance(answer, (tuple, list)) else (answer,)
    wrong = [type(part).__name__ for part in parts if not hasattr(part, "__array__")]
    if wrong or not parts:
        what = wrong[0] if wrong else f"an empty {type(answer).__name__}"
        raise TypeError(f"{name} answered {what}, and not an array, or a tuple of them")
    return [_part(part) for part in parts]


def _forms(parts, size=None):
    """The types and shapes of answers, in words; of so many rows."""
    return ", ".join(f"{part.dtype} {list(part.shape if size is None else (size, *part.shape[1:]))}" for part in parts)


def _batches(rows, size, strides, all_rows):
    """Batches of that size: what they are, themselves, and which row each is; -1 for padding."""
    for shift in sorted({0, 1 % size, size // 2} | set(range(0, len(rows), size) if all_rows else ())):
        index = (np.arange(size) + shift) % len(rows)
        yield f"a batch of {size}", rows[index.tolist()], index
    if size > 1:
        padded = rows[(np.arange(size) % len(rows)).tolist()]
        padded[::2] = 0
        index = np.arange(size) % len(rows)
        index[::2] = -1
        yield f"a batch of {size}, padded with zeros", padded, index
    if strides:
        index = np.arange(size) % len(rows)
        for what, batch in _layouts(rows[index.tolist()]):
            yield f"a batch of {size}, {what}", batch, index


def _layouts(batch):
    """The same batch, not contiguous."""
    size, *inner = batch.shape
    wide = _empty(batch, (size, *inner[:-1], inner[-1] + 3)) if inner else None
    if wide is not None:
        wide[..., : inner[-1]] = batch
        yield "rows with gaps", wide[..., : inner[-1]]
    double = _empty(batch, (2 * size, *inner))
    double[::2] = batch
    yield "every other row", double[::2]
    count = int(np.prod(batch.shape))
    flat = _empty(batch, (count + 1,))
    flat[1:] = batch.reshape(-1)
    yield "not aligned", flat[1:].reshape(batch.shape)
    columns = _empty(batch, tuple(reversed(batch.shape)))
    transposed = columns.permute(*reversed(range(columns.ndim))) if _is_torch(columns) else columns.T
    transposed[...] = batch
    yield "columns first", transposed


def _empty(like, shape):
    return like.new_zeros(shape) if _is_torch(like) else np.zeros(shape, like.dtype)


def _compare(alone, answer, index, what):
    parts = _parts(answer)
    if _forms(parts) != _forms(alone, len(index)):
        raise BatchVariant(f"{what}: f answers {_forms(parts)}, where rows alone make it {_forms(alone, len(index))}")
    for number, (expected, got) in enumerate(zip(alone, parts, strict=True)):
        for position, row in enumerate(index):
            if row >= 0 and not np.array_equal(expected.bytes[row], got.bytes[position]):
                differ = int((expected.bytes[row] != got.bytes[position]).sum())
                raise BatchVariant(
                    f"row {row} at position {position} of {what}: {differ} bytes of answer {number} are not those of the row alone"
                )


@contextlib.contextmanager
def _other_stream():
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream().wait_stream(stream)


def _compare_replays(alone, f, rows, size):
    import torch

    batch = rows[(np.arange(size) % len(rows)).tolist()]
    # Once before, outside: a first call may compile, and allocate.
    with _other_stream():
        f(batch)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        answer = f(batch)
    for shift in (0, 1, size // 2):
        index = (np.arange(size) + shift) % len(rows)
        batch.copy_(rows[index.tolist()])
        graph.replay()
        _compare(alone, answer, index, f"a batch of {size}, replayed in a CUDA graph")
