"""Norms of lists of arrays: those of one vector, in the order of the list."""

import math

import numpy as np
import pytest

import warpfold as wf
from conftest import bits, values


@pytest.mark.parametrize("ord", [1.0, 2.0, math.inf, 3.0])
def test_a_list_is_one_vector(ord):
    for dtype, answer in (("float32", "float32"), ("float16", "float32"), ("float64", "float64")):
        arrays = [values((30, 200), dtype), values(7, dtype, 1), values(9001, dtype, 2), values((0, 3), dtype)]
        got = wf.grad_norm(arrays, ord=ord)
        whole = np.concatenate([array.astype("float64").ravel() for array in arrays])
        assert got.dtype == answer and got.shape == ()
        assert float(got) == pytest.approx(np.linalg.norm(whole, ord), rel=1e-6)
        # Of one array it is the norm.
        assert float(wf.grad_norm(arrays[:1], ord=ord)) == pytest.approx(float(wf.norm(arrays[0].astype("float64"), ord=ord)), rel=1e-6)


def test_bits_do_not_depend_on_strides():
    arrays = [values((40, 50), "float32"), values(3000, "float32", 1)]
    apart = [np.asfortranarray(arrays[0]), np.repeat(arrays[1], 2)[::2]]
    assert bits(wf.grad_norm(apart)) == bits(wf.grad_norm(arrays))
    mixed = [arrays[0], arrays[1].astype("float64")]
    assert bits(wf.grad_norm([np.asfortranarray(mixed[0]), mixed[1]])) == bits(wf.grad_norm(mixed))
    assert wf.grad_norm(mixed).dtype == np.float64


def test_what_has_no_norm():
    assert wf.grad_norm([]) == 0.0
    assert np.isnan(wf.grad_norm([values(3, "float32"), np.array([np.nan], "float32")]))
    with pytest.raises(TypeError, match=r"arrays\[1\]: it is of int32"):
        wf.grad_norm([values(3, "float32"), values(3, "int32")])
    with pytest.raises(ValueError, match="the order"):
        wf.grad_norm([values(3, "float32")], ord=0.5)
    with pytest.raises(TypeError, match=r"arrays\[0\]"):
        wf.grad_norm([None])
