"""Arguments that were once taken for others, or dropped: each is had as it is meant, or is an error that names it."""

import array
import ctypes

import ml_dtypes
import numpy as np
import pytest

import warpfold as wf
from conftest import bits, values

X = values(24, "float32")
TABLE = values((4, 6), "float32")
INTEGERS = np.arange(24) % 7


class Subclass(np.ndarray):
    pass


class Float32Only:
    """An array whose library casts to float32 where float64 is asked for, as JAX does."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **keywords):
        return self.x.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __array_namespace__(self):
        return self

    float64 = "float32"

    @staticmethod
    def astype(array, dtype):
        return Float32Only(array.x.astype(dtype))


REFUSED = [
    ("dtype", TypeError, lambda: wf.sum(X, dtype=bool)),
    ("dtype", TypeError, lambda: wf.sum(X, dtype=ml_dtypes.float8_e4m3fn)),
    ("dtype", TypeError, lambda: wf.prod(X.astype(ml_dtypes.float8_e5m2), dtype="float8_e4m3fn")),
    ("dtype", TypeError, lambda: wf.mean(INTEGERS, dtype=int)),
    ("dtype", TypeError, lambda: wf.sum(X.astype("complex64"), dtype="float32")),
    ("dtype", TypeError, lambda: wf.sum(X, dtype="float31")),
    ("x", TypeError, lambda: wf.sum(np.ma.array(X, mask=X > 0))),
    ("where", TypeError, lambda: wf.sum(X, where=np.ma.array(X > 0, mask=X > 1))),
    ("x", TypeError, lambda: wf.softmax(np.ma.array(TABLE))),
    ("x", TypeError, lambda: wf.sum(np.polynomial.Polynomial([1, 2]))),
    ("x", TypeError, lambda: wf.sum(X.astype(">f4"))),
    ("causal", TypeError, lambda: wf.softmax(TABLE, causal=True)),
    ("causal", TypeError, lambda: wf.log_softmax(TABLE, causal=False)),
    ("mask", TypeError, lambda: wf.softmax(TABLE, mask=np.ones((4, 6), int))),
    ("bias", TypeError, lambda: wf.softmax(TABLE, bias=np.ones((4, 6)))),
    ("residual", TypeError, lambda: wf.rms_norm(TABLE, residual=TABLE.astype("float16"))),
    ("weight", TypeError, lambda: wf.layer_norm(TABLE, np.ones(6))),
    ("y", TypeError, lambda: wf.segments("sum", X, y=X, size=6)),
    ("y", TypeError, lambda: wf.segments("dot", X, size=6)),
    ("y", TypeError, lambda: wf.partial("sum", X, y=X)),
    ("y", TypeError, lambda: wf.partial("dot", X)),
    ("y", TypeError, lambda: wf.partial("norm", X, y=X)),
    ("where", TypeError, lambda: wf.partial("dot", X, y=X, where=X > 0)),
    ("correction", TypeError, lambda: wf.segments("sum", X, correction=1, size=6)),
    ("correction", TypeError, lambda: wf.partial("norm", X, correction=1)),
    ("ord", TypeError, lambda: wf.segments("l2", X, ord=3, size=6)),
    ("op", ValueError, lambda: wf.partial("lp", X)),
    ("ddof", ValueError, lambda: wf.var(X, correction=1, ddof=2)),
    ("count", ValueError, lambda: wf.set_threads(0)),
    ("nan", ValueError, lambda: wf.sum(X, nan="drop")),
    ("nan", TypeError, lambda: wf.nansum(X, nan="propagate")),
    ("ties", ValueError, lambda: wf.argmax(X, ties="middle")),
    ("accuracy", ValueError, lambda: wf.sum(X, accuracy="best")),
    ("x", TypeError, lambda: wf.partial("minmax", X > 0)),
    ("x", TypeError, lambda: wf.sum(Float32Only(X), dtype="float64", accuracy="exact")),
    ("x", TypeError, lambda: wf.describe(Float32Only(INTEGERS))),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_has_no_meaning_is_refused_by_name(number):
    argument, error, call = REFUSED[number]
    with pytest.raises(error, match=f"^{argument}: "):
        call()


def test_copies_without_memory_are_an_error():
    endless = np.broadcast_to(np.float32(1), (1 << 46,))
    with pytest.raises(MemoryError):
        wf.segments("sum", endless, size=1 << 45)


def test_two_answers_have_no_out():
    for function in (wf.minmax, wf.argminmax, wf.meanvar):
        with pytest.raises(TypeError, match="out"):
            function(X, out=np.zeros(2))


SAME = [
    ("ctypes", lambda: np.float32(wf.sum((ctypes.c_float * 6)(*X[:6]))), lambda: wf.sum(X[:6])),
    ("ctypes of two axes", lambda: wf.max(((ctypes.c_int * 3) * 2)((1, 2, 3), (4, 9, 6))), lambda: 9),
    ("a subclass", lambda: wf.sum(X.view(Subclass)), lambda: wf.sum(X)),
    ("a subclass of bfloat16", lambda: wf.sum(X.astype(ml_dtypes.bfloat16).view(Subclass)), lambda: wf.sum(X.astype(ml_dtypes.bfloat16))),
    ("a type of C's", lambda: wf.sum(INTEGERS, dtype=np.longlong), lambda: wf.sum(INTEGERS)),
    ("a character", lambda: wf.sum(X, dtype="f8"), lambda: wf.sum(X, dtype="float64")),
    ("integers of a buffer", lambda: np.float64(wf.var(array.array("i", [1, 2, 5]))), lambda: wf.var(np.array([1, 2, 5]))),
    ("strided segments", lambda: wf.segments("sum", X[::2], size=5), lambda: wf.segments("sum", X[::2].copy(), size=5)),
    ("backward segments", lambda: wf.segments("dot", X[::-1], y=X, size=5), lambda: wf.segments("dot", X[::-1].copy(), y=X, size=5)),
    ("a strided mask", lambda: wf.segments("sum", X[:12], where=(X > 0)[::2], size=5), lambda: wf.segments("sum", X[:12], where=(X > 0)[::2].copy(), size=5)),
    ("strided keys", lambda: wf.segments("sum", X[:12], keys=INTEGERS[::2]), lambda: wf.segments("sum", X[:12], keys=INTEGERS[::2].copy())),
    ("segments of integers", lambda: wf.segments("var", INTEGERS, size=8), lambda: wf.segments("var", INTEGERS.astype(float), size=8)),
    ("partials of integers", lambda: wf.partial("std", INTEGERS).finish(24), lambda: wf.std(INTEGERS)),
    ("truths of complex numbers", lambda: wf.partial("any", X.astype("complex64")).finish(24), lambda: wf.any(X)),
    ("columns of truths", lambda: wf.sum(np.ones((100, 100), bool)[:, 3]), lambda: 100),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SAME)))
def test_equivalent_calls_have_the_same_bits(number):
    _, got, expected = SAME[number]
    assert bits(np.asarray(got())) == bits(np.asarray(expected()))


def test_truths():
    truths = np.array([[True, False], [True, True]])
    assert [part.tolist() for part in wf.minmax(truths, axis=1)] == [[False, True], [True, True]]
    assert wf.minmax(truths)[0].dtype == bool and wf.argminmax(truths) == (1, 0)
    # What out holds is not looked at.
    out = np.full(2, 7, "u1").view(bool)
    assert wf.any(truths, axis=1, out=out) is out and out.tolist() == [True, True]


def test_empty_answers_of_buffers():
    empty = wf.sum(memoryview(np.zeros((0, 3), "float32")), axis=1)
    assert (empty.format, empty.shape) == ("f", (0,))


def test_unaligned_arrays_are_copied():
    packed = np.zeros((50, 30), dtype=[("a", "u1"), ("b", "float32"), ("c", "complex128")])
    packed["b"], packed["c"] = values((50, 30), "float32"), 2
    assert bits(wf.sum(packed["b"].T, axis=0)) == bits(wf.sum(packed["b"].T.copy(), axis=0))
    assert wf.sum(packed["c"][::3, 4]) == 34


def test_files_have_what_their_arrays_have(tmp_path):
    arrays = {"truths": X > 0, "integers": INTEGERS.astype("int32"), "complex": X + 1j * X, "plain": X}
    np.savez(tmp_path / "all.npz", **arrays)
    file = wf.open(tmp_path / "all.npz")
    for name in ("var", "norm", "minmax", "count_nan", "logsumexp"):
        for key in ("truths", "integers"):
            got, expected = file[key].reduce(name), getattr(wf, name)(arrays[key])
            assert [bits(np.asarray(part)) for part in np.atleast_1d(got)] == [bits(np.asarray(part)) for part in np.atleast_1d(expected)]
    assert file["complex"].reduce("count_nonzero") == 24 and bool(file["complex"].reduce("all"))
    with pytest.raises(TypeError, match="accuracy"):
        file["integers"].reduce("sum", accuracy="exact")
    described = wf.describe(tmp_path / "all.npz")
    assert described["complex"] is None and described["plain"].count == 24
    for tolerance in (-1, float("nan")):
        with pytest.raises(ValueError, match="^tolerance: "):
            wf.diff(tmp_path / "all.npz", tmp_path / "all.npz", tolerance=tolerance)


def test_bytes_of_any_kind_are_partials():
    data = bytes(wf.partial("sum", X))
    assert bits(wf.Partial.from_bytes(bytearray(data)).finish(24)) == bits(wf.sum(X))
