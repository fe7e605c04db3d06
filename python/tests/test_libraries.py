"""Arrays of other libraries than NumPy, and of the standard library."""

import array
import subprocess
import sys

import array_api_strict as strict
import ml_dtypes
import numpy as np
import pytest

import warpfold as wf
from conftest import bits, values


def test_array_api_strict():
    x = strict.asarray(values((3, 4), "float32"))
    got = wf.sum(x, axis=0)
    assert type(got) is type(x)
    assert bits(np.asarray(got)) == bits(wf.sum(np.asarray(x), axis=0))
    assert wf.sum(x, dtype=strict.float64).dtype == strict.float64
    assert wf.argmax(x).dtype == strict.int64


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_ml_dtypes(dtype):
    x = values((2, 100), "float32").astype(dtype)
    assert wf.max(x).dtype == dtype
    assert float(wf.max(x)) == float(x.astype("float32").max())
    assert wf.max(x, axis=1).dtype == dtype
    wide = wf.sum(x)
    assert wide.dtype == (dtype if dtype is ml_dtypes.bfloat16 else np.float32)
    assert float(wide) == pytest.approx(float(x.astype("float64").sum()), rel=1e-2, abs=1)


def test_other_ml_dtypes_are_refused():
    with pytest.raises(TypeError, match="x: an array of float8_e4m3b11fnuz is none of numbers"):
        wf.sum(np.ones(3, ml_dtypes.float8_e4m3b11fnuz))


def test_buffers():
    x = array.array("f", [1, 2, 3])
    assert wf.sum(x) == 6.0 and type(wf.sum(x)) is float
    assert wf.argmax(memoryview(x)) == 2
    view = memoryview(np.arange(6, dtype="int32").reshape(2, 3))
    assert wf.sum(view, axis=0).tolist() == [3, 5, 7]
    assert wf.sum(b"\1\2") == 3
    with pytest.raises(TypeError, match="pass a NumPy array"):
        wf.sum(x, dtype="int64")


class OnlyDlpack:
    """An array of a library that has DLPack from before version 1, and nothing else."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, stream=None):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __array_namespace__(self):
        return np


def test_old_dlpack():
    x = values((3, 4), "float64")
    assert bits(wf.sum(OnlyDlpack(x), axis=0)) == bits(wf.sum(x, axis=0))
    frozen = OnlyDlpack(x)
    frozen.__class__ = type("Nameless", (OnlyDlpack,), {"__array_namespace__": property(lambda _: None)})
    with pytest.raises(BufferError, match="no new array can be made"):
        wf.sum(frozen)


def test_an_array_is_kept_no_longer_than_a_call():
    x = values(100, "float32")
    before = sys.getrefcount(x)
    for _ in range(100):
        wf.sum(x)
        wf.sum(x[::-1])
        wf.sum(OnlyDlpack(x))
    assert sys.getrefcount(x) == before


def test_importing_imports_nothing():
    code = "import sys, warpfold; print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'torch', 'dask')])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
