"""Batch-invariant mode: torch's own reductions by warpfold, in eager mode and under torch.compile."""

import contextlib
import threading
import warnings
from collections import Counter
from typing import NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .overrides import OVERRIDES, Left, overload

__all__ = [
    "disable_batch_invariant_mode", "enable_batch_invariant_mode", "is_batch_invariant_mode_enabled", "report",
    "set_batch_invariant_mode",
]  # fmt: skip

_WARNING = """\
warpfold's batch-invariant mode takes reductions, softmax, norms and losses. Matrix products, attention and convolutions stay torch's:
- products: CUBLAS_WORKSPACE_CONFIG=:16:8, torch.backends.cuda.preferred_blas_library("cublas"), no TF32, no reduced-precision reductions
- attention: one backend for all sizes, torch.nn.attention.sdpa_kernel(SDPBackend.MATH), or one whose splits do not depend on the batch
- convolutions: torch.backends.cudnn.deterministic = True, torch.backends.cudnn.benchmark = False
warpfold.torch.mode.report() lists what else a model reduces."""

_lock = threading.RLock()
_library = None
_warned = False
# Of this thread: why torch's own kernel computed the last call of an override; None if warpfold did.
_last = threading.local()


def is_batch_invariant_mode_enabled():
    """Whether torch's reductions are warpfold's."""
    return _library is not None


def enable_batch_invariant_mode():
    """torch's reductions are warpfold's from here on, in all threads. What torch.compile compiled is compiled again."""
    global _library, _warned
    with _lock:
        if _library is not None:
            return
        library = torch.library.Library("aten", "IMPL")
        try:
            with warnings.catch_warnings():
                # That kernels are overridden is what is asked for.
                warnings.simplefilter("ignore", UserWarning)
                for name in OVERRIDES:
                    _override(library, name)
            _inductor().enable()
        except BaseException:
            # All of them, or none.
            library._destroy()
            raise
        _library = library
        if not _warned:
            _warned = True
            warnings.warn(_WARNING, stacklevel=2)


def disable_batch_invariant_mode():
    """torch's reductions are torch's again."""
    global _library
    with _lock:
        if _library is not None:
            _library._destroy()
            _library = None
            _inductor().disable()


def _inductor():
    # Imported with the mode alone: Inductor's settings take as long as half of torch.
    from . import inductor

    return inductor


@contextlib.contextmanager
def _restoring(was):
    try:
        yield
    finally:
        (enable_batch_invariant_mode if was else disable_batch_invariant_mode)()


def set_batch_invariant_mode(enabled=True):
    """Enables or disables the mode: for good, or as a context manager for a block, after which it is as before."""
    was = is_batch_invariant_mode_enabled()
    (enable_batch_invariant_mode if enabled else disable_batch_invariant_mode)()
    return _restoring(was)


def _override(library, name):
    override, op = OVERRIDES[name], overload(name)
    for key in ("CPU", "CUDA"):
        try:
            kernel = torch.library.get_kernel(op, key).call_boxed
        except RuntimeError:
            # A torch without CUDA has no such kernel, and no such tensor.
            if key == "CUDA" or not override.new_on_cpu:
                continue
            kernel = _decomposed(op)
        library.impl(name, _kernel(override.take, kernel), key, with_keyset=True, allow_override=True)


def _decomposed(op):
    """torch's formula of an operator, where it has no kernel."""
    formula = torch._decomp.decomposition_table[op]
    return lambda keyset, *args, **kwargs: formula(*args, **kwargs)


def _kernel(take, torchs):
    def kernel(keyset, *args, **kwargs):
        # Autograd is above this kernel, and leaves grad mode on, in which warpfold refuses a tensor that requires grad.
        was = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        try:
            answer = take(*args, **kwargs)
        finally:
            torch._C._set_grad_enabled(was)
        if isinstance(answer, Left):
            answer, _last.reason = torchs(keyset, *args, **kwargs), answer
        else:
            _last.reason = None
        return answer

    return kernel


# What sums without a tag that says so.
_SUMMING = {
    "addmm", "baddbmm", "bmm", "mm", "mv", "dot", "convolution", "convolution_backward", "cumsum", "cumprod",
    "logcumsumexp", "native_batch_norm", "native_batch_norm_backward", "_native_batch_norm_legit", "cudnn_batch_norm",
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "_embedding_bag", "embedding_dense_backward", "index_add", "index_add_", "scatter_add", "scatter_add_",
    "index_put", "index_put_", "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_fused_attention_overrideable", "avg_pool2d", "_adaptive_avg_pool2d",
    "upsample_bilinear2d_backward", "_cdist_forward", "renorm", "multi_margin_loss", "_ctc_loss",
}  # fmt: skip
# Reductions that no order changes.
_ORDER_FREE = {"max", "min", "amax", "amin", "aminmax", "argmin", "any", "all", "count_nonzero", "median", "nanmedian", "mode", "kthvalue"}


class Elsewhere(NamedTuple):
    """A call that torch's own kernel computed."""

    op: str
    dtype: str
    shape: tuple
    reason: str


class report(TorchDispatchMode):
    """The reductions of a model that warpfold did not take, while it runs in eager mode:

        with warpfold.torch.mode.report() as elsewhere:
            model(x).sum().backward()
        print(elsewhere)

    elsewhere.calls counts each Elsewhere: operator, type and shape of its first tensor, and why torch computed it. taken counts those that
    warpfold did, by operator. Extrema and counts are in neither, as no order changes them.
    """

    def __init__(self):
        super().__init__()
        self.calls = Counter()
        self.taken = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        _last.reason = "the mode is not enabled, or has no override of it"
        answer = func(*args, **(kwargs or {}))
        name = func.name().removeprefix("aten::")
        packet = name.partition(".")[0]
        if name.startswith("warpfold::"):
            self.taken[name] += 1
        elif packet not in _ORDER_FREE and (torch.Tag.reduction in func.tags or packet in _SUMMING or name in OVERRIDES):
            self._record(name, args)
        return answer

    def _record(self, name, args):
        reason = _last.reason
        if reason is None:
            self.taken[name] += 1
        elif reason not in (Left.TYPE, Left.EMPTY, Left.ELEMENTWISE) or self._is_inexact(args):
            x = self._first(args)
            dtype, shape = ("", ()) if x is None else (str(x.dtype).removeprefix("torch."), tuple(x.shape))
            self.calls[Elsewhere(name, dtype, shape, reason.value if isinstance(reason, Left) else reason)] += 1

    @staticmethod
    def _first(args):
        flat, _ = torch.utils._pytree.tree_flatten(args)
        return next((x for x in flat if isinstance(x, torch.Tensor)), None)

    def _is_inexact(self, args):
        x = self._first(args)
        return x is not None and (x.is_floating_point() or x.is_complex()) and x.numel() > 1

    def __str__(self):
        lines = [f"{count} x {c.op} of {c.dtype} {list(c.shape)}: {c.reason}" for c, count in self.calls.most_common()]
        return "\n".join([f"taken: {sum(self.taken.values())}; elsewhere: {sum(self.calls.values())}", *lines])
