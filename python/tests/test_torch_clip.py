"""Clipping of gradients: the norm of a list, whatever its types, and what torch multiplies by."""

import pytest
import torch

import warpfold as wf
import warpfold.torch as wt


def parameters(types, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(50, 40), (7,), (9000,), (3, 3), (0,)]
    params = [torch.nn.Parameter(torch.zeros(shape, dtype=dtype)) for shape, dtype in zip(shapes, types * len(shapes))]
    for p in params:
        p.grad = torch.randn(p.shape, generator=generator).to(p.dtype)
    return params


@pytest.mark.parametrize("types", [[torch.float32], [torch.bfloat16, torch.float32], [torch.float64, torch.float32, torch.float16]])
def test_a_list_of_any_types(types):
    ours, clipped = parameters(types), parameters(types)
    for norm_type in (2.0, 1.0, float("inf")):
        gradients = [p.grad.clone() for p in ours]
        got = wt.clip_grad_norm_(ours, 1.5, norm_type)
        assert torch.equal(got, wf.grad_norm(gradients, ord=norm_type))
        assert got.dtype == (torch.float64 if torch.float64 in types else torch.float32)
        whole = torch.cat([g.double().reshape(-1) for g in gradients])
        assert got.item() == pytest.approx(torch.linalg.vector_norm(whole, norm_type).item(), rel=1e-6)
    # torch's own norm is rounded to each tensor's type, so the product in float64 is what is compared: a rounding, and the factor's in float32.
    total = wt.clip_grad_norm_(clipped, 1.5)
    for p, q in zip(clipped, parameters(types)):
        rtol = torch.finfo(p.dtype).eps + 4 * torch.finfo(torch.float32).eps
        torch.testing.assert_close(p.grad.double(), q.grad.double() * (1.5 / (total.double() + 1e-6)), rtol=rtol, atol=1e-7)


def test_gradients_of_any_strides():
    (p,) = parameters([torch.float32])[:1]
    whole = p.grad.clone()
    p.grad = whole.T.contiguous().T
    total = wt.clip_grad_norm_(p, 0.5)
    assert torch.equal(total, wf.grad_norm([whole]))
    q = torch.nn.Parameter(torch.zeros_like(whole))
    q.grad = whole.clone()
    wt.clip_grad_norm_(q, 0.5)
    assert torch.equal(p.grad, q.grad) and p.grad.norm().item() == pytest.approx(0.5, rel=1e-4)
