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


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("std", {"correction": 1}),
        ("var", {"ddof": 1}),
        ("var", {"correction": 1, "ddof": None}),
        ("meanvar", {"correction": 0.5}),
        ("norm", {"ord": 1}),
        ("norm", {"ord": np.inf}),
        ("norm", {"ord": 3}),
        ("norm", {}),
        ("sum", {"accuracy": "exact"}),
        ("mean", {"accuracy": "wide"}),
        ("sum", {"nan": "ignore"}),
        ("nanmax", {}),
        ("nanstd", {"ddof": 1}),
        ("argmax", {"ties": "last"}),
        ("argmin", {"ties": "last", "nan": "ignore"}),
        ("sum_of_squares", {}),
        ("bitwise_xor", {}),
    ],
)
def test_options_are_those_of_numpy_arrays(name, options):
    x = values((50, 30), "int32" if name == "bitwise_xor" else "float32")
    if "nan" in name or "nan" in options:
        x[3:30:5, ::7] = np.nan
    x[7] = x[40]
    lazy = da.from_array(x, (9, 30))
    got, expected = getattr(wf, name)(lazy, axis=0, **options), getattr(wf, name)(x, axis=0, **options)
    for ours, whole in zip(*((got, expected) if isinstance(got, tuple) else ((got,), (expected,)))):
        assert bits(ours.compute(scheduler="sync")) == bits(whole)


def test_what_dask_arrays_do_not_take_is_named():
    x = da.ones((4, 6), chunks=(2, 6), dtype="float32")
    for call, argument in (
        (lambda: wf.sum(x, dtype="float64"), "dtype"),
        (lambda: wf.sum(x, where=np.ones((4, 6), bool)), "where"),
        (lambda: wf.max(x, out=np.zeros(())), "out"),
        (lambda: wf.dot(x, x), "y"),
        (lambda: wf.dask.sum(x, dtype="float64"), "dtype"),
        (lambda: wf.softmax(x), "x"),
        (lambda: wf.describe(x), "x"),
        (lambda: wf.n_unique(x), "x"),
        (lambda: wf.partial("sum", x), "x"),
        (lambda: wf.segments("sum", x, size=2), "x"),
    ):
        with pytest.raises(TypeError, match=f"^{argument}: .*dask"):
            call()


@pytest.mark.parametrize("name", ["var", "norm", "minmax", "any"])
@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64"])
def test_what_numpy_arrays_are_cast_to(name, dtype):
    if (name, dtype) in (("var", "complex64"), ("minmax", "complex64"), ("minmax", "bool")):
        with pytest.raises(TypeError):
            getattr(wf, name)(da.ones(4, chunks=2, dtype=dtype))[0].compute(scheduler="sync")
        return
    x = np.ones((20, 3), dtype)
    x[::3] = 0
    got, expected = getattr(wf, name)(da.from_array(x, (7, 3)), axis=0), getattr(wf, name)(x, axis=0)
    for ours, whole in zip(*((got, expected) if isinstance(got, tuple) else ((got,), (expected,)))):
        computed = ours.compute(scheduler="sync")
        assert computed.dtype == ours.dtype and bits(computed) == bits(whole)


def test_wrong_arguments():
    x = da.ones((4, 6), chunks=(2, 6), dtype="float32")
    for split_every in (1, -1, {0: 2}):
        with pytest.raises(ValueError, match="^split_every: "):
            wf.dask.sum(x, split_every=split_every)
    with pytest.raises(TypeError, match="^axis: "):
        wf.sum(x, axis=[0])
    masked = da.from_array(np.ma.array([1.0, 2.0], mask=[0, 1]), 2)
    with pytest.raises(TypeError, match="masked array"):
        wf.sum(masked).compute(scheduler="sync")


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
