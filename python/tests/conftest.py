"""What tests have in common."""

import numpy as np
import pytest

FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def values(shape, dtype, seed=0):
    """Numbers that a wrong order of sums shows in."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(max(info.min, -1000), min(info.max, 1000), shape).astype(dtype)
    wide = rng.standard_normal(shape) * np.exp2(rng.integers(-8, 8, shape))
    if dtype.kind == "c":
        return (wide + 1j * rng.standard_normal(shape)).astype(dtype)
    return wide.astype(dtype)


def bits(x):
    """Its bytes, and its type and shape."""
    x = np.asarray(x)
    return x.dtype.str, x.shape, x.tobytes()


@pytest.fixture
def rng():
    return np.random.default_rng(7)
