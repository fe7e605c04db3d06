"""The norm of gradients, and their clipping by it."""

import torch

from .reductions import norm


def gradients_of(params):
    """The gradients of parameters, or of one, as torch.nn.utils takes them."""
    params = [params] if isinstance(params, torch.Tensor) else list(params)
    return [p.grad for p in params if p.grad is not None]


def wide(x):
    """Elements of a type that a norm may be rounded to: float32, or float64."""
    return x if x.dtype == torch.float64 else x.float()


def norm_of_norms(norms, norm_type):
    """The norm of all gradients: that of their norms, in their order."""
    if not norms:
        return torch.tensor(0.0)
    device, dtype = norms[0].device, torch.float64 if any(n.dtype == torch.float64 for n in norms) else torch.float32
    return norm(torch.stack([n.to(device, dtype) for n in norms]), norm_type)


@torch.no_grad()
def clip(gradients, total, max_norm, error_if_nonfinite):
    """Multiplies gradients by max_norm / (total + 1e-6) where that is below 1, as torch does."""
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(f"the norm of the gradients is {total.item()}; they are left as they are")
    factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor.to(gradient.device))
    return total


@torch.no_grad()
def clip_grad_norm_(params, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """Scales gradients so that their norm is max_norm at most, and answers what it was: torch.nn.utils.clip_grad_norm_.

    The norm is that of the norms of the gradients, in their order: each is one reduction in float32 (of float64 in float64).
    Nothing waits for a GPU unless error_if_nonfinite.
    """
    gradients = gradients_of(params)
    total = norm_of_norms([norm(wide(g), norm_type) for g in gradients], norm_type)
    return clip(gradients, total, max_norm, error_if_nonfinite)
