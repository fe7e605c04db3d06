"""Row operations, beside float64."""

import numpy as np
import pytest

import warpfold as wf
from conftest import bits, values


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 1000), (4, 5000)])
def test_rows_beside_float64(shape, dtype):
    x = (values(shape, dtype) / 16).astype(dtype)
    wide = x.astype("float64")
    tolerance = {"rtol": 2e-3, "atol": 2e-3} if dtype == "float16" else {"rtol": 2e-5, "atol": 2e-6}
    np.testing.assert_allclose(wf.softmax(x), softmax(wide), **tolerance)
    np.testing.assert_allclose(wf.log_softmax(x), np.log(softmax(wide)), **tolerance)
    weight, bias = values(shape[-1], "float32"), values(shape[-1], "float32", 1)
    norm = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6) * weight
    np.testing.assert_allclose(wf.rms_norm(x, weight), norm, rtol=2e-3 if dtype == "float16" else 1e-4, atol=1e-3)
    centered = wide - wide.mean(-1, keepdims=True)
    norm = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * weight + bias
    np.testing.assert_allclose(wf.layer_norm(x, weight, bias), norm, rtol=4e-3, atol=2e-1 if dtype == "float16" else 1e-3)
    assert wf.softmax(x).dtype == dtype and wf.softmax(x, dtype="float32").dtype == "float32"


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "rms_norm", "layer_norm"])
def test_a_rows_bits_depend_on_no_other(name):
    x = values((9, 700), "float32")
    ours = getattr(wf, name)
    whole = ours(x)
    for row in range(9):
        assert bits(whole[row]) == bits(ours(np.ascontiguousarray(x[row])))
    assert bits(np.ascontiguousarray(ours(np.asfortranarray(x)))) == bits(whole)
    assert bits(np.ascontiguousarray(ours(x.T, axis=0).T)) == bits(whole)


def test_softmax_takes_masks_biases_and_causality():
    x = values((4, 6), "float32")
    mask = values((4, 6), "bool", 3)
    mask[2] = False
    got = wf.softmax(x, mask=mask, all_masked="zero")
    assert (got[~mask] == 0).all() and (got[2] == 0).all()
    assert bits(wf.softmax(x, bias=np.where(mask, 0, -np.inf).astype("float32"))[0]) == bits(got[0])
    causal = wf.softmax(x, causal=0)
    assert all((causal[row, row + 3 :] == 0).all() for row in range(4))
    np.testing.assert_allclose(wf.softmax(x, scale=0.5), softmax(x.astype("float64") * 0.5), rtol=1e-5, atol=1e-30)
    for wrong in ({"mask": mask, "bias": x}, {"all_masked": "one"}, {"mask": mask[:3]}):
        with pytest.raises(ValueError):
            wf.softmax(x, **wrong)
    with pytest.raises(TypeError, match="softmax is of float32, float16 and bfloat16"):
        wf.softmax(x.astype("float64"))
    with pytest.raises(IndexError):
        wf.softmax(x, axis=2)


def test_residuals_and_statistics():
    x, residual = values((5, 64), "float16"), values((5, 64), "float16", 1)
    y, total = wf.rms_norm(x, residual=residual)
    assert bits(total) == bits(x + residual) and bits(y) == bits(wf.rms_norm(x + residual))
    y, rstd = wf.rms_norm(x, statistics=True)
    assert rstd.shape == (5,) and rstd.dtype == "float32"
    y, mean, rstd = wf.layer_norm(x, statistics=True)
    np.testing.assert_allclose(mean, x.astype("float64").mean(-1), rtol=1e-3, atol=1e-3)
    weight = values(64, "float16", 2)
    np.testing.assert_allclose(
        wf.rms_norm(x, weight, one_plus_weight=True).astype("float32"),
        wf.rms_norm(x, (1 + weight.astype("float32"))).astype("float32"),
        rtol=2e-3,
    )


def test_group_norm():
    x = values((2, 6, 5, 3), "float32")
    weight, bias = values(6, "float32", 1), values(6, "float32", 2)
    rows = x.reshape(2, 3, -1).astype("float64")
    norm = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
    expected = norm.reshape(x.shape) * weight[:, None, None] + bias[:, None, None]
    np.testing.assert_allclose(wf.group_norm(x, 3, weight, bias), expected, rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError):
        wf.group_norm(x, 4)


def test_cross_entropy():
    x = values((6, 50), "float32") / 16
    targets = np.array([0, 49, 3, -100, 7, 7])
    got = wf.cross_entropy(x, targets)
    log = np.log(softmax(x.astype("float64")))
    kept = targets >= 0
    np.testing.assert_allclose(got.loss[kept], -log[kept, targets[kept]], rtol=1e-5)
    assert got.loss[3] == 0 and got.log_prob[3] == 0
    np.testing.assert_allclose(got.entropy, -(np.exp(log) * log).sum(-1), rtol=1e-4)
    kept, lse = targets.clip(0).astype("int32"), np.log(np.exp(x.astype("float64")).sum(-1))
    smooth = -0.9 * log[range(6), kept] - 0.1 * log.mean(-1) + 1e-4 * lse**2
    got = wf.cross_entropy(x, kept, label_smoothing=0.1, z_loss=1e-4)
    np.testing.assert_allclose(got.loss, smooth, rtol=1e-5)
    for wrong, error in [(targets[:5], ValueError), (targets + 50, ValueError), (targets.astype("float32"), TypeError)]:
        with pytest.raises(error, match="target"):
            wf.cross_entropy(x, wrong)
