"""dask and xarray: random chunks, merged as any scheduler does, have the bits of one fold."""

import numpy as np
import pytest

import warpfold as wf
from conftest import bits, values

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
SCHEDULERS = ["sync", "threads"]


def chunks_of(length, rng):
    cuts = sorted(set(rng.integers(1, max(length, 2), rng.integers(0, 6)).tolist()) - {0, length})
    edges = [0, *(cut for cut in cuts if cut < length), length]
    return tuple(b - a for a, b in zip(edges, edges[1:]))


@pytest.mark.parametrize("name", ["sum", "mean", "std", "argmax", "minmax", "count_nonzero"])
def test_random_chunks(name, rng):
    x = values((30, 11, 7), "float32")
    for _ in range(8):
        axis = [0, 1, 2, (0, 1), None][rng.integers(5)] if name not in ("argmax",) else int(rng.integers(3))
        along = range(3) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        # Of the folded axes the first alone is divided.
        chunks = tuple(chunks_of(n, rng) if i == min(along) or i not in along else (n,) for i, n in enumerate(x.shape))
        lazy = da.from_array(x, chunks)
        got = getattr(wf, name)(lazy, axis=axis, keepdims=bool(rng.integers(2)))
        one = got if isinstance(got, tuple) else (got,)
        expected = getattr(wf, name)(x, axis=axis)
        for ours, whole in zip(one, expected if isinstance(expected, tuple) else (expected,)):
            computed = np.asarray(ours.compute(scheduler=SCHEDULERS[rng.integers(2)]))
            assert ours.dtype == computed.dtype and ours.shape == computed.shape
            assert bits(computed.reshape(np.shape(whole))) == bits(whole)


@pytest.mark.parametrize(("name", "options"), [("max", {}), ("sum", {"accuracy": "exact"}), ("argmin", {}), ("any", {})])
def test_any_grid_of_what_no_order_changes(name, options, rng):
    x = values((20, 12, 9), "float32")
    for _ in range(5):
        lazy = da.from_array(x, tuple(chunks_of(n, rng) for n in x.shape))
        got = getattr(wf.dask, name)(lazy, split_every=int(rng.integers(2, 5)), **options)
        assert bits(got.compute(scheduler="sync")) == bits(getattr(wf, name)(x, **options))
        got = getattr(wf.dask, name)(lazy, axis=(1, 2), **options)
        if name != "argmin":
            assert bits(got.compute()) == bits(getattr(wf, name)(x, axis=(1, 2), **options))


def test_chunks_that_are_no_runs_are_refused():
    x = da.ones((4, 6), chunks=(2, 3), dtype="float32")
    with pytest.raises(ValueError, match=r"axes \[0, 1\] are divided.*rechunk\(\{1: -1\}\).*accuracy='exact'"):
        wf.sum(x)
    with pytest.raises(ValueError, match="chunks of unknown sizes"):
        wf.sum(x[x > 0])
    with pytest.raises(IndexError):
        wf.sum(x, axis=2)


def test_two_processes():
    distributed = pytest.importorskip("distributed")
    x = values((1000, 30), "float64")
    expected = bits(wf.sum(x, axis=0))
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        assert bits(wf.sum(da.from_array(x, (77, 8)), axis=0, ).compute()) == expected


def test_xarray():
    xarray = pytest.importorskip("xarray")
    x = values((40, 6), "float32")
    lazy = xarray.DataArray(da.from_array(x, (7, 4)), dims=("time", "cell"))
    got = lazy.reduce(wf.mean, "time")
    assert bits(got.compute().values) == bits(wf.mean(x, axis=0))
