"""Reductions of dask arrays: the bits of one fold of the whole, whatever the chunks.

    warpfold.sum(x, axis=0)          # of a dask array comes here
    DataArray.reduce(warpfold.sum)   # and so does xarray's

What is in a chunk folds to a partial; partials are merged in any order, and finished once. Operators that any order serves take any chunks: extrema
and their indices, counts, truths, bits, sums of integers, and accuracy="exact". Any other needs chunks that are runs of an answer's elements: of an
array that is folded along several axes, the first of these alone may be divided.
"""

import builtins
import math
from functools import partial as bind

import numpy as np

import warpfold

__all__ = [
    "all", "any", "argmax", "argmin", "argminmax", "bitwise_and", "bitwise_or", "bitwise_xor", "count_inf", "count_nan", "count_nonzero",
    "kurtosis", "logsumexp", "max", "mean", "meanvar", "min", "minmax", "norm", "prod", "skew", "std", "sum", "sum_of_squares", "var",
]  # fmt: skip


def _reduced(name, x, axis, keepdims, split_every, options):
    from dask.array.core import Array
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph

    if split_every is not None and (not isinstance(split_every, int) or split_every < 2):
        raise ValueError(f"split_every: {split_every!r} is no number of partials, of which at least two are merged at a time")
    types = _types(name, x.dtype, options)
    name, options = _of_partial(name, options)
    axes = _axes(axis, x.ndim)
    for i, sizes in enumerate(x.chunks):
        if builtins.any(math.isnan(size) for size in sizes):
            raise ValueError(f"axis {i} has chunks of unknown sizes: x.compute_chunk_sizes() finds them")
    _check_chunks(name, x, axes, options)
    kept = [i for i in range(x.ndim) if i not in axes]
    lengths = [x.shape[i] for i in axes]
    starts = [np.cumsum((0, *sizes[:-1])).tolist() for sizes in x.chunks]
    token = f"warpfold-{name}-{tokenize(x, axes, keepdims, options)}"
    layers = [{} for _ in types]
    shared = {}
    for block in np.ndindex(*(len(x.chunks[i]) for i in kept)):
        parts = []
        for number, along in enumerate(np.ndindex(*(len(x.chunks[i]) for i in axes))):
            index = dict(zip(kept, block)) | dict(zip(axes, along))
            offsets = [starts[i][at] for i, at in zip(axes, along)]
            key = (f"{token}-partial", *block, number)
            chunk = (x.name, *(index[i] for i in range(x.ndim)))
            shared[key] = (bind(_partial, name, axes, offsets, lengths, options), chunk)
            parts.append(key)
        merged = _merged(shared, token, block, parts, split_every or 16)
        at = dict(zip(kept, block)) | dict.fromkeys(axes, 0)
        place = [at[i] for i in range(x.ndim) if keepdims or i in kept]
        for part, layer in enumerate(layers):
            finish = bind(_finish, math.prod(lengths), part, tuple(axes) if keepdims else (), types[part])
            layer[(f"{token}-{part}", *place)] = (finish, merged)
    chunks = tuple((1,) if i in axes else x.chunks[i] for i in range(x.ndim) if keepdims or i in kept)
    arrays = []
    for part, (layer, dtype) in enumerate(zip(layers, types)):
        graph = HighLevelGraph.from_collections(f"{token}-{part}", shared | layer, dependencies=[x])
        arrays.append(Array(graph, f"{token}-{part}", chunks, dtype=dtype))
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def _of_partial(name, options):
    """The name and the options of the same partial."""
    options = dict(options)
    if options.pop("ties", "first") == "last":
        name += "_last"
    ddof = options.pop("ddof", None)
    if ddof is not None:
        options["correction"] = ddof
    return name, options


def _axes(axis, ndim):
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not builtins.all(hasattr(i, "__index__") for i in axes):
        raise TypeError(f"axis: {axis!r} is no integer, nor a tuple of them")
    for i in axes:
        if not -ndim <= i < ndim:
            raise IndexError(f"axis {i} is out of bounds for an array of {ndim} axes")
    found = sorted({i % ndim for i in axes})
    if len(found) < len(axes):
        raise ValueError(f"axis {axis} has one of them twice")
    return found


def _types(name, dtype, options):
    """The types of the answers."""
    answers = getattr(warpfold, name)(np.ones(2, dtype), **options)
    return [part.dtype for part in (answers if isinstance(answers, tuple) else (answers,))]


def _check_chunks(name, x, axes, options):
    divided = [i for i in axes if len(x.chunks[i]) > 1]
    if divided in ([], axes[:1]) or warpfold.partial(name, np.ones(1, x.dtype), **options).in_any_order:
        return
    raise ValueError(
        f"{name} along axes {axes}, and axes {divided} are divided into chunks: a chunk is no run of an answer's elements. Divide axis "
        f"{axes[0]} alone, by x.rechunk({dict.fromkeys(axes[1:], -1)}); or take what no order changes, of sums and means accuracy='exact'"
    )


def _merged(layer, token, block, parts, split_every):
    """The key of all parts together, which are merged so many at a time."""
    level = 0
    while len(parts) > 1:
        groups = [parts[i : i + split_every] for i in range(0, len(parts), split_every)]
        parts = [(f"{token}-merge-{level}", *block, number) for number in range(len(groups))]
        layer.update((key, (_merge, group)) for key, group in zip(parts, groups))
        level += 1
    return parts[0]


def _partial(name, axes, offsets, lengths, options, x):
    """What a chunk folds to, its elements numbered as in the whole."""
    # Not np.asarray: that would drop a mask, which is refused.
    x = np.asanyarray(x)
    steps = [math.prod(lengths[i + 1 :]) for i in range(len(lengths))]
    inner = [x.shape[axis] for axis in axes[1:]]
    if not axes or inner == lengths[1:]:
        first = offsets[0] * steps[0] if axes else 0
        return warpfold.partial(name, x, first=first, axis=tuple(axes), **options)
    # Any order serves. A run for each index of the axes but the last.
    x = np.moveaxis(x, axes, range(-len(axes), 0))
    kept, folded = x.ndim - len(axes), x.shape[x.ndim - len(axes) :]
    runs = []
    for index in np.ndindex(*folded[:-1]):
        at = [offset + i for offset, i in zip(offsets, (*index, 0))]
        first = builtins.sum(i * step for i, step in zip(at, steps))
        runs.append(warpfold.partial(name, x[(..., *index, slice(None))], first=first, axis=(kept,), **options))
    return _merge(runs)


def _merge(parts):
    # One of a graph's may be wanted again, so none is changed.
    merged = warpfold.Partial.from_bytes(bytes(parts[0]))
    for part in parts[1:]:
        merged.merge(part)
    return merged


def _finish(length, part, kept_axes, dtype, partial):
    answers = partial.finish(length)
    answer = answers[part] if isinstance(answers, tuple) else answers
    return np.expand_dims(answer, kept_axes).astype(dtype, copy=False)


def _function(name):
    def function(x, /, *, axis=None, keepdims=False, split_every=None, **options):
        for option in options.keys() - _OPTIONS:
            raise TypeError(f"{option}: {name} of a dask array takes none")
        return _reduced(name, x, axis, keepdims, split_every, options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"warpfold.{name} of a dask array; split_every partials are merged at a time. The other keywords are those of a NumPy array."
    return function


_OPTIONS = {"nan", "accuracy", "correction", "ddof", "ord", "ties"}

for _name in __all__:
    globals()[_name] = _function(_name)
