"""The norm of gradients, and their clipping by it."""

import torch

import warpfold as wf


def gradients_of(params):
    """The gradients of parameters, or of one, as torch.nn.utils takes them."""
    params = [params] if isinstance(params, torch.Tensor) else list(params)
    return [p.grad for p in params if p.grad is not None]


def order_of(norm_type):
    """A norm_type as a number: torch takes "inf", too."""
    ord = float(norm_type)
    if not ord >= 1:
        raise ValueError(f"norm_type: {norm_type!r}; it is 1 or more, or infinite")
    return ord


@torch.no_grad()
def clip(gradients, total, max_norm, error_if_nonfinite):
    """Multiplies gradients by max_norm / (total + 1e-6) where that is below 1, as torch does."""
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(f"the norm of the gradients is {total.item()}; they are left as they are")
    factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
    by_device = {}
    for gradient in gradients:
        by_device.setdefault(gradient.device, []).append(gradient)
    for device, group in by_device.items():
        torch._foreach_mul_(group, factor.to(device))
    return total


@torch.no_grad()
def clip_grad_norm_(params, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """Scales gradients so that their norm is max_norm at most, and answers what it was: torch.nn.utils.clip_grad_norm_.

    The norm is warpfold.grad_norm of the gradients: one launch for all of them on a GPU, in float32, or float64 where one is.
    Nothing waits for a GPU unless error_if_nonfinite, or the gradients lie on several devices.
    """
    ord = order_of(norm_type)
    gradients = gradients_of(params)
    if not gradients:
        return torch.tensor(0.0)
    return clip(gradients, wf.grad_norm(gradients, ord=ord), max_norm, error_if_nonfinite)
