"""Reductions of NumPy arrays, beside NumPy and float64."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import warpfold as wf
from conftest import FLOATS, INTEGERS, bits, values

# Of each: NumPy's function, and the types that it has a meaning for.
LIKE_NUMPY = {
    "sum": (np.sum, FLOATS + INTEGERS + ["bool", "complex64", "complex128"]),
    "prod": (np.prod, FLOATS + INTEGERS + ["bool"]),
    "mean": (np.mean, FLOATS + INTEGERS + ["bool", "complex64"]),
    "min": (np.min, FLOATS + INTEGERS + ["bool"]),
    "max": (np.max, FLOATS + INTEGERS + ["bool"]),
    "argmin": (np.argmin, FLOATS + INTEGERS + ["bool"]),
    "argmax": (np.argmax, FLOATS + INTEGERS + ["bool"]),
    "any": (np.any, FLOATS + INTEGERS + ["bool"]),
    "all": (np.all, FLOATS + INTEGERS + ["bool"]),
    "count_nonzero": (np.count_nonzero, FLOATS + INTEGERS + ["bool"]),
    "var": (np.var, FLOATS + ["int32"]),
    "std": (np.std, FLOATS + ["int32"]),
    "bitwise_and": (np.bitwise_and.reduce, INTEGERS),
    "bitwise_or": (np.bitwise_or.reduce, INTEGERS),
    "bitwise_xor": (np.bitwise_xor.reduce, INTEGERS),
}
CASES = [(name, dtype) for name, (_, dtypes) in LIKE_NUMPY.items() for dtype in dtypes]
TOLERANCE = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-11, "complex64": 1e-4, "complex128": 1e-11}


def close(got, expected):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    if got.dtype.kind in "fc":
        tolerance = TOLERANCE[got.dtype.name]
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(got, expected)


def reference(function, x, **keywords):
    """NumPy's answer, of floats in float64."""
    if x.dtype.kind == "f":
        x = x.astype("float64")
    with np.errstate(all="ignore"):
        return function(x, **keywords)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_answers_are_numpys(name, dtype):
    function = LIKE_NUMPY[name][0]
    x = values((3, 5, 7), dtype)
    if name == "prod":
        x = (x % 3).astype(dtype) if x.dtype.kind != "b" else x
    ours = getattr(wf, name)
    close(ours(x.reshape(-1)), reference(function, x.reshape(-1)))
    for axis in (0, 1, -1):
        close(ours(x, axis=axis), reference(function, x, axis=axis))
    if name not in ("argmin", "argmax") and not name.startswith("bitwise"):
        close(ours(x), reference(function, x, axis=None))
        close(ours(x, axis=(0, 2), keepdims=True), reference(function, x, axis=(0, 2), keepdims=True))
    close(ours(x[::-1, ::2].T, axis=1), reference(function, x[::-1, ::2].T, axis=1))


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS + ["bool"])
def test_types_are_those_of_the_array_api(dtype):
    x = values(10, dtype)
    wide = {"f": dtype, "i": "int64", "u": "uint64", "b": "int64"}[x.dtype.kind]
    assert wf.sum(x).dtype == wf.prod(x).dtype == wide
    assert wf.max(x).dtype == wf.min(x).dtype == dtype
    assert wf.argmax(x).dtype == wf.argmin(x).dtype == wf.count_nonzero(x).dtype == "int64"
    assert wf.any(x).dtype == wf.all(x).dtype == "bool"
    assert wf.mean(x).dtype == (dtype if x.dtype.kind == "f" else "float64")


ARRAYS = hnp.arrays(
    st.sampled_from(["float32", "float64", "int16", "uint8"]),
    hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=9),
    elements={"min_value": 0, "max_value": 100},
)


@settings(deadline=None, max_examples=200)
@given(x=ARRAYS, data=st.data())
def test_an_answer_has_the_bits_of_its_elements_alone(x, data):
    """Neither strides nor what is around change a bit."""
    name = data.draw(st.sampled_from(["sum", "max", "argmin", "mean", "std", "logsumexp"]))
    steps = tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1]))) for _ in x.shape)
    order = data.draw(st.permutations(range(x.ndim)))
    view = x[steps].transpose(order)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    ours = getattr(wf, name)
    answers = np.asarray(ours(view, axis=axis))
    moved = np.moveaxis(view, axis, -1)
    for index in np.ndindex(*moved.shape[:-1]):
        assert bits(answers[index]) == bits(ours(np.ascontiguousarray(moved[index])))
    np.testing.assert_array_equal(ours(view, axis=axis, keepdims=True), np.expand_dims(answers, axis))


def test_a_sum_in_float64_of_what_is_selected():
    x = values(5000, "float32")
    x[::9] = np.nan
    is_number = ~np.isnan(x)
    wide = x.astype("float64")
    assert bits(wf.sum(x, dtype="float64", where=is_number)) == bits(wf.sum(wide, where=is_number))
    assert bits(wf.mean(x, dtype="float64", nan="ignore")) == bits(wf.mean(wide, nan="ignore"))
    assert bits(wf.sum(x, dtype="float64", accuracy="wide", nan="ignore")) == bits(wf.nansum(wide))
    assert bits(wf.sum(x[1:9], dtype="float64", accuracy="wide")) == bits(wf.sum(x[1:9], dtype="float64"))


def test_numpys_names():
    x = values((40, 60), "float32")
    x[3:30:5, ::7] = np.nan
    for name in ("argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var"):
        ignoring = getattr(wf, f"nan{name}")
        assert ignoring.__name__ == f"nan{name}"
        assert bits(ignoring(x, axis=1)) == bits(getattr(wf, name)(x, axis=1, nan="ignore"))
    assert bits(wf.nanstd(x, ddof=1)) == bits(wf.std(x, correction=1, nan="ignore"))
    assert bits(wf.var(x[0], ddof=2)) == bits(wf.var(x[0], correction=2))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products_of_complex_numbers(dtype):
    x = np.exp(1j * values(300, "float64")).astype(dtype)
    assert np.allclose(wf.prod(x), np.prod(x.astype("complex128")), rtol=1e-4)
    assert np.allclose(wf.prod(x.reshape(20, 15), axis=0), x.reshape(20, 15).prod(0), rtol=1e-4)
    assert wf.prod(x[:0]) == 1 and wf.prod(x).dtype == dtype
    assert bits(wf.prod(x[5:6])) == bits(x[5])


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_a_sum_in_float64_is_not_rounded_first(name, dtype):
    x = values(70_000, dtype)
    got = getattr(wf, name)(x, dtype="float64")
    assert got.dtype == "float64"
    exact = math.fsum(map(float, x)) / (len(x) if name == "mean" else 1)
    assert got == pytest.approx(exact, rel=1e-12)
    wide = getattr(wf, name)(x, accuracy="wide")
    assert bits(got.astype(dtype)) == bits(wide)


def test_elements_are_cast_before_they_are_summed():
    x = np.array([200, 100], "uint8")
    assert bits(wf.sum(x, dtype="int32")) == bits(np.int32(300))
    assert bits(wf.sum(x, dtype=np.uint8)) == bits(np.uint8(44))
    assert bits(wf.prod(np.array([1e30, 1e30], "float32"), dtype=float)) == bits(np.float64(np.float32(1e30)) ** 2)


def test_accuracies():
    x = np.array([1e8, 1.0, -1e8, 1.0, 1.0], "float32")
    assert (wf.sum(x), wf.sum(x, accuracy="compensated"), wf.sum(x, accuracy="exact")) == (1, 3, 3)
    y = values(10_000, "float64")
    assert wf.sum(y, accuracy="exact") == math.fsum(y)
    with pytest.raises(TypeError, match="accuracy: sum of int32"):
        wf.sum(np.ones(2, "int32"), accuracy="exact")


def test_masks():
    x = np.array([[1, np.nan, 3], [4, 5, 6]], "float32")
    mask = np.array([True, False, True])
    assert wf.sum(x, where=mask) == 14
    np.testing.assert_array_equal(wf.mean(x, axis=1, where=mask), [2, 5])
    assert wf.argmax(x, where=x < 5) == 3
    assert wf.argmax(x, where=np.zeros_like(x, bool)) == -1
    assert wf.max(np.array([True, False]), where=np.array([False, True])) == False  # noqa: E712
    with pytest.raises(TypeError, match="where: a mask is of bool"):
        wf.sum(x, where=np.ones(3))
    with pytest.raises(ValueError, match="mask"):
        wf.sum(x, where=np.ones(4, bool))


def test_nan():
    x = np.array([1, np.nan, 3], "float64")
    assert math.isnan(wf.max(x)) and wf.argmax(x) == 1
    assert (wf.sum(x, nan="ignore"), wf.mean(x, nan="ignore"), wf.argmax(x, nan="ignore"), wf.var(x, nan="ignore")) == (4, 2, 2, 1)
    assert (wf.count_nan(x), wf.count_inf(np.array([np.inf, 1]))) == (1, 1)
    assert wf.max(np.array([1, 2]), nan="ignore") == 2
    with pytest.raises(ValueError, match='^nan: "drop" is none of propagate, ignore'):
        wf.sum(x, nan="drop")


def test_ties_and_pairs():
    x = np.array([3, 1, 3, 1], "int8")
    assert (wf.argmax(x), wf.argmax(x, ties="last"), wf.argmin(x, ties="last")) == (0, 2, 3)
    assert wf.minmax(x) == (1, 3) and wf.argminmax(x) == (1, 0)
    smallest, largest = wf.minmax(np.arange(6).reshape(2, 3), axis=0)
    np.testing.assert_array_equal(smallest, [0, 1, 2])
    np.testing.assert_array_equal(largest, [3, 4, 5])


def test_moments_and_norms():
    x = values((4, 100), "float64")
    close(wf.var(x, axis=1, correction=1), np.var(x, axis=1, ddof=1))
    mean, var = wf.meanvar(x)
    close(mean, x.mean()), close(var, x.var())
    for order in (1, 2, 3, np.inf):
        close(wf.norm(x, ord=order, axis=1), np.linalg.norm(x, ord=order, axis=1))
    close(wf.sum_of_squares(x), (x * x).sum())
    close(wf.logsumexp(x, axis=0), np.log(np.exp(x - x.max(0)).sum(0)) + x.max(0))
    centered = x - x.mean()
    close(wf.skew(x), (centered**3).mean() / (centered**2).mean() ** 1.5)
    close(wf.kurtosis(x), (centered**4).mean() / (centered**2).mean() ** 2 - 3)
    with pytest.raises(ValueError, match="ord: 0 is no power"):
        wf.norm(x, ord=0)


def test_two_arrays():
    x, y = values((3, 50), "float64"), values((3, 50), "float64", 1)
    close(wf.dot(x, y, axis=1), (x * y).sum(1))
    close(wf.cosine(x, y), (x * y).sum() / math.sqrt((x * x).sum() * (y * y).sum()))
    with pytest.raises(TypeError, match="y: it is of float32, and x of float64"):
        wf.dot(x, y.astype("float32"))
    with pytest.raises(ValueError):
        wf.dot(x, y[:2])


def test_out():
    x, out = np.arange(6, dtype="float32").reshape(2, 3), np.zeros((4, 2), "float32")
    assert wf.sum(x, axis=1, out=out[::2, 0]) is not None
    np.testing.assert_array_equal(out[:, 0], [3, 0, 12, 0])
    for wrong, error in [(np.zeros(3, "float32"), ValueError), (np.zeros(2), TypeError)]:
        with pytest.raises(error, match="^out: "):
            wf.sum(x, axis=1, out=wrong)
    frozen = np.zeros(2, "float32")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out: it is not to be written"):
        wf.sum(x, axis=1, out=frozen)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: wf.sum([1, 2]), TypeError, "x: list is no array"),
        (lambda: wf.sum(None), TypeError, "x: NoneType is no array"),
        (lambda: wf.sum(np.array(["a"])), TypeError, 'x: an array of elements of format "1w"'),
        (lambda: wf.sum(np.ones(3, ">f4")), TypeError, 'format ">f"'),
        (lambda: wf.sum(np.ones(3), axis=1), IndexError, "axis 1 is out of bounds for an array of 1 axes"),
        (lambda: wf.sum(np.ones((2, 2)), axis=(0, 0)), ValueError, "axis 0"),
        (lambda: wf.sum(np.ones(3), axis="a"), TypeError, "axis: 'a' is no integer"),
        (lambda: wf.max(np.ones(0)), ValueError, "max of an empty array"),
        (lambda: wf.max(np.ones((0, 2)), axis=0), ValueError, "max of an empty array"),
        (lambda: wf.max(np.ones(2, "complex64")), TypeError, "max has no meaning for complex64"),
        (lambda: wf.logsumexp(np.ones(2, "complex64")), TypeError, "logsumexp has no meaning for complex64"),
        (lambda: wf.bitwise_or(np.ones(2)), TypeError, "bitwise_or has no meaning for float64"),
        (lambda: wf.var(np.ones(2), correction=math.nan), ValueError, "correction"),
        (lambda: wf.sum(np.ones(2), dtype="float8"), TypeError, "dtype: 'float8' is no type"),
        (lambda: wf.sum(np.ones(2), axis=0, keepdims=1, nope=2), TypeError, "nope"),
    ],
)
def test_what_is_wrong_is_named(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert text in str(raised.value)


def test_empty_arrays():
    x = np.zeros((0, 3), "float32")
    assert (wf.sum(x), wf.prod(x), wf.count_nonzero(x)) == (0, 1, 0)
    assert math.isnan(wf.mean(x))
    np.testing.assert_array_equal(wf.sum(x, axis=0), [0, 0, 0])
    assert wf.sum(x, axis=1).shape == (0,)


def test_arrays_that_lie_oddly():
    """Fields of records, elements that are not aligned, truths of other bytes, one element repeated, no axes."""
    records = np.zeros(5, [("a", "u1"), ("b", "<f4")])
    records["b"] = [1, 2, 3, 4, 5]
    assert wf.sum(records["b"]) == 15
    unaligned = np.frombuffer(b"\0" + np.arange(4, dtype="f8").tobytes(), "f8", offset=1)
    assert wf.sum(unaligned) == 6
    assert wf.sum(np.array([0, 1, 2, 255], "u1").view(bool)) == 3
    assert wf.all(np.array([1, 2], "u1").view(bool)) == True  # noqa: E712
    assert wf.sum(np.broadcast_to(np.float32(2), (3, 4))) == 24
    assert wf.sum(np.float32(3)) == 3 and wf.sum(np.array(3.0)) == 3


def test_large_arrays_and_threads():
    from concurrent.futures import ThreadPoolExecutor

    x = values(1 << 20, "float32")
    alone = bits(wf.sum(x))
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: bits(wf.sum(x)), range(32))) == {alone}


def test_docstrings_say_what_var_divides_by():
    for name in ("var", "std", "meanvar"):
        assert "by n unless" in getattr(wf, name).__doc__.split("\n\n")[0]


def test_segments():
    x = values(10_000, "float32")
    offsets = np.array([0, 7, 7, 3000, 10_000])
    expected = [bits(wf.sum(x[a:b])) for a, b in zip(offsets, offsets[1:])]
    keys = np.repeat(np.arange(3, dtype="int32"), [7, 2993, 7000])
    for division in ({"offsets": offsets}, {"lengths": np.diff(offsets).astype("uint32")}):
        assert [bits(answer) for answer in wf.segments("sum", x, **division)] == expected
    assert [bits(answer) for answer in wf.segments("sum", x, keys=keys)] == [expected[0], *expected[2:]]
    assert bits(wf.segments("argmax", x, size=1000)) == bits(wf.argmax(x.reshape(10, 1000), axis=1))
    mask = values(10_000, "bool")
    assert bits(wf.segments("mean", x, size=2500, where=mask)) == bits(wf.mean(x.reshape(4, -1), axis=1, where=mask.reshape(4, -1)))
    for wrong, text in [
        ({}, "one of them"), ({"size": 3, "keys": keys}, "one of them"), ({"offsets": offsets - 1}, "offsets: -1 is below 0"),
        ({"offsets": offsets[:3]}, "7"), ({"lengths": offsets[:3]}, "14"), ({"size": 0}, "0"),
    ]:  # fmt: skip
        with pytest.raises(ValueError) as raised:
            wf.segments("sum", x, **wrong)
        assert text in str(raised.value)


def test_threads_and_forks():
    """As many threads as are asked for, once; and a process that was forked has none of its parent's."""
    import multiprocessing
    import subprocess
    import sys

    code = (
        "import os, numpy as np, warpfold as wf; wf.set_threads(2); x = np.ones(1 << 22, 'f4'); wf.sum(x)\n"
        "assert '2 threads' in wf.devices()[0], wf.devices()\n"
        "try: wf.set_threads(3)\n"
        "except RuntimeError: pass\n"
        "else: raise SystemExit('late, and not refused')\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(int(wf.sum(x) != 1 << 22))\n"
        "raise SystemExit(os.waitpid(child, 0)[1])"
    )
    if "fork" in multiprocessing.get_all_start_methods():
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("name", ["any", "all", "count_nonzero"])
def test_truths_of_complex_numbers(name):
    for dtype in ("complex64", "complex128"):
        x = np.zeros((6, 40), dtype)
        x[1, 3], x[2, 4], x[3], x[4, 1] = 1, 1j, 2 - 1j, complex(0, np.nan)
        for axis in (None, 0, 1, (0, 1)):
            for view in (x, x.T, x[::2, ::3]):
                got, expected = getattr(wf, name)(view, axis=axis), getattr(np, name)(view, axis=axis)
                assert np.array_equal(got, expected), (dtype, axis)
        mask = np.arange(40) % 3 == 0
        assert wf.count_nonzero(x, where=np.broadcast_to(mask, x.shape)) == np.count_nonzero(x[:, mask])
