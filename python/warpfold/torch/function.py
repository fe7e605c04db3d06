"""What functions with gradients have in common."""

import functools

import torch
from torch._C import _are_functorch_transforms_active, _is_tracing
from torch.autograd import forward_ad
from torch.compiler import is_dynamo_compiling, is_exporting


class Function(torch.autograd.Function):
    """A torch.autograd.Function whose `apply` is that of C++: torch's own, in Python, takes as long again."""

    def __init_subclass__(cls):
        super().__init_subclass__()
        cls.apply = super(torch.autograd.Function, cls).apply


def check_tensors(**tensors):
    """Refuses what is no tensor, by its name."""
    for name, x in tensors.items():
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"{name}: it is a torch.Tensor, and this is of type {type(x).__name__}")


def refuse_tangents(tensors):
    """An error where one has a tangent, of forward-mode AD: the answer would silently have none."""
    for x in tensors:
        if isinstance(x, torch.Tensor) and forward_ad.unpack_dual(x).tangent is not None:
            raise RuntimeError("forward-mode AD: warpfold's functions have no derivative there; torch.autograd.grad has one")


def refuse_transforms(*tensors):
    """An error where a gradient is wanted under a transform of torch.func, or of forward-mode AD: it would silently be 0 there."""
    if _are_functorch_transforms_active():
        raise RuntimeError("torch.func: warpfold's functions have no gradient under its transforms; torch.autograd.grad has one")
    refuse_tangents(tensors)


def wants_grad(x, weight=None, bias=None, residual=None):
    """Whether a Function is to be called, for a gradient by one of these."""
    try:
        wanted = (
            x.requires_grad
            or (weight is not None and weight.requires_grad)
            or (bias is not None and bias.requires_grad)
            or (residual is not None and residual.requires_grad)
        )
    except AttributeError:
        others = {"weight": weight, "bias": bias, "residual": residual}
        check_tensors(x=x, **{name: other for name, other in others.items() if other is not None})
        raise
    if not wanted or not torch.is_grad_enabled():
        return False
    # An export and a trace of TorchScript keep no Function. The operators have the gradients, too.
    if is_dynamo_compiling():
        return not is_exporting()
    if _is_tracing() or is_exporting():
        return False
    if _are_functorch_transforms_active() or forward_ad._current_level >= 0:
        refuse_transforms(x, weight, bias, residual)
    return True


def first_derivative_only(backward):
    """A backward without a graph of its own: where one is asked for, an error.

    torch's once_differentiable raises only if dy itself has a gradient; a gradient penalty would silently lack a term.
    """

    @functools.wraps(backward)
    def checked(ctx, *gradients):
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            raise RuntimeError("create_graph: warpfold's row operations have no second derivative; torch's own functions have one")
        return backward(ctx, *gradients)

    return checked
