"""Partials: any division, merged in any order, has the bits of one fold."""

import pickle

import numpy as np
import pytest

import warpfold as wf
from conftest import bits, values

OPERATORS = [
    ("sum", "float32", {}), ("sum", "float16", {}), ("sum", "int32", {}), ("mean", "float64", {}), ("max", "float32", {}),
    ("argmax", "float32", {}), ("minmax", "int16", {}), ("var", "float32", {"correction": 1.0}), ("std", "float64", {}),
    ("sum", "float32", {"accuracy": "exact"}), ("sum", "float32", {"accuracy": "compensated"}), ("sum", "float32", {"nan": "ignore"}),
    ("norm", "float32", {"ord": 3.0}), ("norm", "float64", {}), ("count_nonzero", "uint8", {}), ("logsumexp", "float32", {}),
    ("bitwise_xor", "uint64", {}), ("sum", "complex64", {}), ("any", "bool", {}),
]  # fmt: skip


def one_fold(name, x, options, **more):
    return getattr(wf, name)(x, **options, **more)


@pytest.mark.parametrize(("name", "dtype", "options"), OPERATORS)
def test_any_division_in_any_order(name, dtype, options, rng):
    x = values(20_000, dtype)
    expected = one_fold(name, x, options)
    seen = set()
    for _ in range(20):
        cuts = sorted(rng.integers(0, len(x) + 1, rng.integers(1, 8)))
        parts = [wf.partial(name, x[a:b], first=a, **options) for a, b in zip([0, *cuts], [*cuts, len(x)])]
        rng.shuffle(parts)
        merged = pickle.loads(pickle.dumps(parts[0]))
        for part in parts[1:]:
            merged.merge(wf.Partial.from_bytes(bytes(part)))
        assert merged.ranges == [(0, len(x))]
        seen.add(bytes(merged))
        got = merged.finish(len(x))
        assert [bits(part) for part in np.atleast_1d(got)] == [bits(part) for part in np.atleast_1d(expected)]
    assert len(seen) == 1


def test_along_axes(rng):
    x = values((3, 5000, 2), "float32")
    expected = wf.sum(x, axis=(1, 2))
    cuts = sorted(rng.integers(0, 5000, 3))
    parts = [wf.partial("sum", x[:, a:b], first=2 * a, axis=(1, 2)) for a, b in zip([0, *cuts], [*cuts, 5000])]
    first, *others = parts[::-1]
    for part in others:
        first.merge(part)
    assert first.shape == (3,)
    assert bits(first.finish(10_000)) == bits(expected)


def test_masks_and_pairs():
    x, y, mask = values(3000, "float32"), values(3000, "float32", 1), values(3000, "bool")
    parts = [wf.partial("sum", x[part], first=part.start, where=mask[part]) for part in (slice(0, 7), slice(7, 3000))]
    parts[0].merge(parts[1])
    assert bits(parts[0].finish(3000)) == bits(wf.sum(x, where=mask))
    parts = [wf.partial("dot", x[part], y=y[part], first=part.start) for part in (slice(0, 1500), slice(1500, 3000))]
    parts[1].merge(parts[0])
    assert bits(parts[1].finish(3000)) == bits(wf.dot(x, y))


def test_what_is_wrong_is_named():
    x = np.ones(100, "float32")
    part = wf.partial("sum", x)
    for call, text in [
        (lambda: part.merge(wf.partial("sum", x, first=99)), "elements from 99 up to 100"),
        (lambda: part.merge(wf.partial("mean", x, first=100)), "sum"),
        (lambda: part.finish(101), "lacks the elements from 100 up to 101"),
        (lambda: part.finish(99), "100"),
        (lambda: wf.Partial.from_bytes(b"nothing"), "partial"),
        (lambda: wf.Partial.from_bytes(bytes(part)[:-1]), ""),
        (lambda: wf.partial("median", x), 'no reduction "median"'),
        (lambda: wf.split(100, 0, "float32"), "parts: 0"),
    ]:
        with pytest.raises(ValueError) as raised:
            call()
        assert text in str(raised.value)
    flipped = bytearray(bytes(part))
    flipped[20] ^= 1
    with pytest.raises(ValueError):
        wf.Partial.from_bytes(bytes(flipped))


def test_split():
    assert wf.split(5000, 2, "float32") == [(0, 2048), (2048, 5000)]
