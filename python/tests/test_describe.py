"""Descriptions and numbers of distinct elements against NumPy's; faults, and in what files differ."""

import array

import ml_dtypes
import numpy as np
import pytest

import warpfold as wf
from conftest import FLOATS, INTEGERS, bits, values
from test_files import write_safetensors

FIELDS = [
    "count", "nan", "infinities", "positive_infinities", "negative_infinities", "zeros", "min", "max", "argmin", "argmax", "sum", "mean", "variance",
    "std", "skewness", "kurtosis", "l1", "l2", "linf",
]  # fmt: skip


def expected(x):
    """By float64, of one axis without NaN."""
    x = np.asarray(x, "float64")
    z = (x - x.mean()) / x.std()
    return {
        "count": x.size, "nan": 0, "infinities": 0, "positive_infinities": 0, "negative_infinities": 0, "zeros": (x == 0).sum(),
        "min": x.min(), "max": x.max(), "argmin": x.argmin(), "argmax": x.argmax(), "sum": x.sum(), "mean": x.mean(),
        "variance": x.var(), "std": x.std(), "skewness": (z**3).mean(), "kurtosis": (z**4).mean() - 3,
        "l1": np.abs(x).sum(), "l2": np.linalg.norm(x), "linf": np.abs(x).max(),
    }  # fmt: skip


def assert_described(description, x):
    wide = np.abs(np.asarray(x, "float64")).sum()
    for name, number in expected(x).items():
        tolerance = 1e-6 * wide if name in ("sum", "mean", "l1") else 1e-6
        assert np.allclose(float(getattr(description, name)), number, rtol=2e-5, atol=tolerance), name


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_arrays_are_described(dtype):
    x = values(5000, dtype)
    description = wf.describe(x)
    assert list(description._asdict()) == FIELDS
    assert_described(description, x)
    assert description.min.dtype == ("float64" if dtype in INTEGERS or dtype == "float64" else "float32")
    assert description.count.dtype == np.int64 and description.inf == 0
    assert repr(description).startswith("Description(count=5000, nan=0")


def test_fields_have_the_bits_of_the_reductions():
    x = values((60, 70), "float32")
    description = wf.describe(x.T, correction=1)
    assert bits(description.sum) == bits(wf.sum(x.T)) and bits(description.std) == bits(wf.std(x.T, correction=1))
    assert bits(description.l2) == bits(wf.norm(x.T)) and bits(description.kurtosis) == bits(wf.kurtosis(x.T))
    rows = wf.describe(x, axis=1)
    assert bits(rows.sum) == bits(wf.sum(x, axis=1)) and bits(rows.argmax) == bits(wf.argmax(x, axis=1))
    assert bits(wf.describe(x, axis=(0, 1)).variance) == bits(wf.var(x))
    assert rows.count.tolist() == [70] * 60


def test_what_is_no_number():
    x = np.array([1.0, np.nan, -0.0, np.inf, -np.inf, np.nan, 3.0], "float32")
    description = wf.describe(x)
    assert (description.count, description.nan, description.infinities, description.positive_infinities) == (7, 2, 2, 1)
    assert (description.zeros, description.min, description.argmax) == (1, -np.inf, 3)
    for nothing in (np.zeros(0, "float32"), np.full(3, np.nan)):
        description = wf.describe(nothing)
        assert np.isnan(description.min) and description.argmax == -1 and description.sum == 0


def test_other_libraries_and_types():
    x = values(500, "float32").astype(ml_dtypes.bfloat16)
    assert_described(wf.describe(x), x.astype("float32"))
    assert wf.describe(np.array([True, False, True])).sum == 2
    described = wf.describe(array.array("d", [1.0, 2.0]))
    assert (described.sum, type(described.sum)) == (3.0, float)
    with pytest.raises(TypeError, match="complex64"):
        wf.describe(np.ones(3, "complex64"))
    with pytest.raises(TypeError, match="no array"):
        wf.describe(7)
    with pytest.raises(IndexError):
        wf.describe(x, axis=1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "bool"])
@pytest.mark.parametrize("save", ["npy", "npz"])
def test_tensors_have_the_bits_of_arrays(tmp_path, dtype, save):
    x = values(1_300_001, dtype)
    path = tmp_path / f"x.{save}"
    (np.save if save == "npy" else np.savez_compressed)(path, x)
    (tensor,) = wf.open(path).values()
    of_array, of_tensor = wf.describe(x)._asdict(), wf.describe(tensor)._asdict()
    assert {name: bits(number) for name, number in of_array.items()} == {name: bits(number) for name, number in of_tensor.items()}
    with pytest.raises(ValueError, match="axis"):
        wf.describe(tensor, axis=0)


def test_paths_are_described_by_name(tmp_path):
    arrays = {"a.weight": values((3, 4), "float32"), "b": values(9, "int64")}
    path = write_safetensors(tmp_path / "x.safetensors", arrays)
    described = wf.describe(path)
    assert list(described) == list(arrays)
    assert all(bits(described[name].sum) == bits(wf.describe(array).sum) for name, array in arrays.items())
    assert list(wf.describe(f"{path}:b")) == ["b"]


@pytest.mark.parametrize("dtype", ["bool", *FLOATS, *INTEGERS, "complex64"])
def test_distinct_elements_are_counted(dtype):
    x = values((40, 51), dtype)
    assert bits(wf.n_unique(x)) == bits(np.int64(len(np.unique(x))))
    assert bits(wf.n_unique(x[::2, ::-3])) == bits(np.int64(len(np.unique(x[::2, ::-3]))))
    for axis in (0, 1):
        counts = np.array([len(np.unique(row)) for row in np.moveaxis(x, axis, 1)], "int64")
        assert bits(wf.n_unique(x, axis=axis)) == bits(counts)
        assert wf.n_unique(x, axis=axis, keepdims=True).shape == ((1, 51) if axis == 0 else (40, 1))
    assert wf.n_unique(x, keepdims=True).shape == (1, 1)


def test_distinct_elements_of_anything():
    assert wf.n_unique(np.array([np.nan, -np.nan, 0.0, -0.0])) == 2
    assert wf.n_unique(np.zeros(0, "int8")) == 0 and wf.n_unique(np.float32(3)) == 1
    assert wf.n_unique(b"hello") == 4 and type(wf.n_unique(b"hello")) is int
    x = values(3000, "float32").astype(ml_dtypes.float8_e4m3fn)
    # Both zeros are one.
    assert wf.n_unique(x) == len(np.unique(x.astype("float32")))
    assert wf.n_unique(values(200_000, "int64")) == len(np.unique(values(200_000, "int64")))
    with pytest.raises(TypeError, match="complex128"):
        wf.n_unique(np.ones(3, "complex128"))
    with pytest.raises(IndexError):
        wf.n_unique(x, axis=1)


def test_faults_are_found(tmp_path):
    good = values((30, 40), "float32")
    bad = good.copy()
    bad[20, 7] = bad[20, 9] = np.nan
    bad[5, 3] = -np.inf
    arrays = {"good": good, "bad": bad, "zeros": np.zeros(9, "int8"), "same": np.full(5, 2.5), "one": np.zeros(1)}
    path = tmp_path / "x.npz"
    np.savez(path, **arrays, text=np.array(["a", "b"]))
    faults = wf.check(path)
    assert [(fault.name, fault.kind, fault.count, fault.first, fault.is_warning) for fault in faults] == [
        ("bad", "nan", 2, (20, 7), False),
        ("bad", "inf", 1, (5, 3), False),
        ("zeros", "zeros", 9, None, True),
        ("same", "constant", 5, None, True),
        ("text", "unread", 0, None, False),
    ]
    assert faults[0].message == f"{path}:bad: 2 of 1200 elements are NaN, first at [20, 7]"
    assert repr(faults[2]) == f"<warpfold.Fault zeros: {path}:zeros: all 9 elements are 0>"
    np.save(tmp_path / "good.npy", good)
    assert wf.check(tmp_path / "good.npy") == []
    whole = (tmp_path / "good.npy").read_bytes()
    (tmp_path / "good.npy").write_bytes(whole[:-1])
    (fault,) = wf.check(tmp_path / "good.npy")
    assert (fault.name, fault.kind) == (None, "file") and "cut short" in fault.message


def test_differences_are_found(tmp_path):
    a = {"x": values((20, 30), "float32"), "y": values(7, "int32"), "z": values(3, "float64"), "w": values((2, 3), "float32")}
    b = {**a, "x": a["x"].copy(), "w": a["w"].reshape(3, 2), "v": values(3, "float64")}
    del b["z"]
    b["x"][11, 4] += 0.5
    b["x"][2, 2] -= 0.25
    paths = [write_safetensors(tmp_path / f"{name}.safetensors", arrays) for name, arrays in (("a", a), ("b", b))]
    assert wf.diff(paths[0], paths[0]) == []
    found = {difference.name: difference for difference in wf.diff(*paths)}
    assert list(found) == ["x", "w", "z", "v"]
    x = found["x"]
    gap = a["x"].astype("float64") - b["x"].astype("float64")
    assert (x.differing, x.largest, x.at) == (2, np.abs(gap).max(), (11, 4)) and x.dtypes == ("float32", "float32")
    assert np.isclose(x.relative_l2, np.linalg.norm(gap) / np.linalg.norm(a["x"].astype("float64")))
    assert 0.99 < x.cosine <= 1 and "2 elements differ" in repr(x)
    assert found["w"].shapes == ((2, 3), (3, 2)) and found["w"].differing is None
    assert found["z"].dtypes == ("float64", None) and found["v"].shapes == (None, (3,))
    assert "x" not in [difference.name for difference in wf.diff(*paths, tolerance=0.6)]


def test_equal_by_what_is_asked_for(tmp_path):
    x = np.array([1.0, np.nan, 3.0], "float32")
    y = x.copy()
    y.view("uint32")[1] ^= 1
    for name, saved in (("x", x), ("y", y), ("z", x.astype("complex64"))):
        np.save(tmp_path / f"{name}.npy", saved)
    (difference,) = wf.diff(tmp_path / "x.npy", tmp_path / "y.npy")
    assert (difference.name, difference.differing, difference.largest) == ("x.npy", 1, 0.0)
    assert wf.diff(tmp_path / "x.npy", tmp_path / "y.npy", nan_equal=True) == []
    with pytest.raises(TypeError, match="complex numbers are compared with those of their type"):
        wf.diff(tmp_path / "x.npy", tmp_path / "z.npy")
