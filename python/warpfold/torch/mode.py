"""Batch-invariant mode: torch's own reductions by warpfold, in eager mode and under torch.compile."""

import functools
import inspect
import itertools
import re
import threading
import warnings
from collections import Counter
from typing import NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .ops import kernels
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
# Backward kernels that torch has for CUDA alone. They outlive the mode: a backward pass may come after its forward's block.
_lasting = None
_warned = False
# Blocks of set_batch_invariant_mode that were entered and have not ended, by their order.
_blocks: dict[int, "_Block"] = {}
_numbers = itertools.count()
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
        _add_lasting()
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


class _Block:
    """What set_batch_invariant_mode answers: a context manager, and a decorator of functions that are such blocks."""

    def __init__(self, enabled):
        self._enabled, self._used = enabled, False
        with _lock:
            self._number = next(_numbers)
            # What the mode is to be after the block.
            self._before = is_batch_invariant_mode_enabled()
            _switch(enabled)

    def __enter__(self):
        with _lock:
            if self._used:
                raise RuntimeError("this block was entered before; call set_batch_invariant_mode again")
            self._used = True
            _blocks[self._number] = self
            # Another thread's block may have ended meanwhile, and changed it. The latest decides.
            _switch(_blocks[max(_blocks)]._enabled)

    def __exit__(self, *error):
        with _lock:
            if _blocks.pop(self._number, None) is not None:
                self._restore()

    def _restore(self):
        later = min((number for number in _blocks if number > self._number), default=None)
        if later is None:
            _switch(self._before)
        else:
            # Another thread's leads back to what was before this one.
            _blocks[later]._before = self._before
            _switch(_blocks[max(_blocks)]._enabled)

    def __call__(self, function):
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"function: {function.__qualname__} goes on after its call has ended; use a block in it")
        with _lock:
            if not self._used:
                self._used = True
                self._restore()

        @functools.wraps(function)
        def within(*args, **kwargs):
            with set_batch_invariant_mode(self._enabled):
                return function(*args, **kwargs)

        return within


def _switch(enabled):
    (enable_batch_invariant_mode if enabled else disable_batch_invariant_mode)()


def set_batch_invariant_mode(enabled=True):
    """Enables or disables the mode: for good, or for a block as a context manager, or for each call of a function as its decorator.

    After a block the mode is as before. Blocks of several threads may overlap: the latest says what the mode is, until all have ended.
    """
    return _Block(enabled)


def _override(library, name):
    override, op = OVERRIDES[name], overload(name)
    for key in ("CUDA",) if override.new_on_cpu else ("CPU", "CUDA"):
        try:
            kernel = torch.library.get_kernel(op, key).call_boxed
        except RuntimeError:
            # A torch without CUDA has no such kernel, and no such tensor.
            continue
        library.impl(name, _kernel(override.take, kernel), key, with_keyset=True, allow_override=True)


def _add_lasting():
    """The kernels for CPU tensors that torch lacks, once."""
    global _lasting
    if _lasting is None:
        _lasting = torch.library.Library("aten", "IMPL")
        for name, override in OVERRIDES.items():
            if override.new_on_cpu:
                _lasting.impl(name, _kernel(override.take, _decomposed(overload(name))), "CPU", with_keyset=True)


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
            answer = take(kernels, *args, **kwargs)
        finally:
            torch._C._set_grad_enabled(was)
        if isinstance(answer, Left):
            answer, _last.reason = torchs(keyset, *args, **kwargs), answer
        else:
            _last.reason = None
        return answer

    return kernel


_NO_OVERRIDE = "the mode is not enabled, or has no override of it"
# What reduces nothing, though no tag of torch says so. What is in no list is reported.
_NO_REDUCTIONS = (
    # Copies and layouts.
    "_to_copy", "copy", "_copy_from(_and_resize)?", "_lazy_clone", "lift", "_pin_memory", "_reshape_copy", "_unsafe_view", r"_?resize\w*",
    "set", "fill", "zero", r"\w+_like", r"new_\w+", "cat", "_chunk_cat", "_?stack", "block_diag", "repeat", "repeat_interleave", "flip",
    "roll", "rot90", "tril", "triu", "diag_embed", "im2col", "pixel_(un)?shuffle", "channel_shuffle", "constant_pad_nd",
    r"(reflection|replication)_pad\dd", r"_?upsample_nearest(_exact)?\dd", "index", "_unsafe_index", "_unsafe_masked_index",
    "index_(select|copy|fill)", "gather", "take", "embedding", "masked_(select|scatter|scatter_backward)", r"scatter_?\.(src|value)(_out)?",
    "(select|slice|diagonal|as_strided)_scatter", "(_nested_select|select|slice|diagonal)_backward", "unsafe_split(_with_sizes)?",
    "_pack_padded_sequence", "_cudnn_rnn_flatten_weight", "lu_unpack", r"_?sparse_\w+_tensor\w*", "_coalesced", r"_to_sparse\w*",
    # Element by element.
    "_add_relu", "addr", "complex", "polar", "_conj_physical", "floor_divide", "glu", "glu_backward", "hardswish", "hardswish_backward",
    "leaky_relu", "leaky_relu_backward", "_prelu_kernel", "_prelu_kernel_backward", "log_sigmoid_(forward|backward)", "linalg_cross",
    r"_?fake_quantize_per\w+", r"_thnn_fused_\w+_cell", "_native_batch_norm_legit_no_training",
    "(binary_cross_entropy|(mse|smooth_l1|huber|soft_margin|nll)_loss(2d)?)_backward",
    # Random numbers.
    "native_dropout", "_fused_dropout", "_masked_scale", "bernoulli", "binomial", "cauchy", "exponential", "geometric", "log_normal",
    "normal(_functional)?", "poisson", "random", r"rrelu_with_noise\w*", r"_standard_gamma\w*", "uniform",
    # Reductions that no order changes.
    "max", "min", "amax", "amin", "_?aminmax", r"cum(max|min)", "median", "nanmedian", "mode", "kthvalue", "topk", "sort", r"_?unique\w*",
    r"\w*max_pool\dd(_with_indices)?", r"max_unpool\dd",
)  # fmt: skip
_NO_REDUCTION = re.compile(rf"({'|'.join(_NO_REDUCTIONS)})_?(\..*)?")
# Reductions but for reduction='none'.
_LOSSES = re.compile(r"(mse|(smooth_)?l1|huber|soft_margin|nll)_loss(2d)?(_forward)?|binary_cross_entropy(_with_logits)?")
# Their sums are those of an operator that they call, if that has an override.
_CALL_OVERRIDES = re.compile(rf"{_LOSSES.pattern}|_safe_softmax|renorm_?")


@functools.cache
def _may_reduce(op):
    """Whether a torch operator may reduce, whatever its arguments."""
    tag, name = torch.Tag, op.name().removeprefix("aten::")
    if tag.pointwise in op.tags or tag.view_copy in op.tags or tag.inplace_view in op.tags or op.is_view or _NO_REDUCTION.fullmatch(name):
        return False
    # In place, of lists, and gradients: as the function itself.
    packet = name.partition(".")[0].removeprefix("_foreach_").removesuffix("_").removesuffix("_backward")
    function = getattr(torch.ops.aten, packet, None)
    return function is None or not any(tag.pointwise in getattr(function, overload).tags for overload in function.overloads())


def _reduces(op, args, kwargs):
    """Whether a call of a torch operator reduces: pooled, summed, multiplied as matrices."""

    def argument(name):
        at, known = next(((at, a) for at, a in enumerate(op._schema.arguments) if a.name == name), (0, None))
        return None if known is None else args[at] if at < len(args) else kwargs.get(name, known.default_value)

    return (
        _may_reduce(op)
        and argument("accumulate") is not False
        and argument("training") is not False
        and argument("reduce") not in ("amax", "amin", "max", "min")
        and not (argument("reduction") == 0 and _LOSSES.fullmatch(op._opname))
    )


def _tensors(tree):
    return [x for x in torch.utils._pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


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
    warpfold did, by operator. What no order changes is in neither: integers, extrema, a single element.
    """

    def __init__(self):
        super().__init__()
        self.calls = Counter()
        self.taken = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.name().removeprefix("aten::")
        own_kernels = name in OVERRIDES or types or any(x.is_nested for x in _tensors((args, kwargs)))
        if not own_kernels and _may_reduce(func):
            # In inference mode operators arrive that are made of others.
            with self:
                answer = func.decompose(*args, **kwargs)
            if answer is not NotImplemented:
                return answer
        _last.reason = _NO_OVERRIDE
        answer = func(*args, **kwargs)
        reason = _last.reason
        if name.startswith("warpfold::"):
            self.taken[name] += 1
        elif _reduces(func, args, kwargs) and self._rounds(name, (args, kwargs), answer):
            # Others than these may call an override for a part of their sums.
            if not (name in OVERRIDES or torch.Tag.reduction in func.tags or _CALL_OVERRIDES.fullmatch(func._opname)):
                reason = _NO_OVERRIDE
            if reason is None:
                self.taken[name] += 1
            else:
                first = _tensors((args, kwargs))[0]
                dtype, why = str(first.dtype).removeprefix("torch."), reason.value if isinstance(reason, Left) else reason
                self.calls[Elsewhere(name, dtype, () if first.is_nested else tuple(first.shape), why)] += 1
        return answer

    @staticmethod
    def _rounds(name, given, answer):
        """Whether an answer of floating-point or complex numbers is made of several elements; argmax answers integers."""
        given, rounded = _tensors(given), _tensors((answer, given) if name in OVERRIDES else answer)
        several = any(x.numel() > 1 for x in given)
        return several and any(x.numel() > 0 and (x.is_floating_point() or x.is_complex()) for x in rounded)

    def __str__(self):
        lines = [f"{count} x {c.op} of {c.dtype} {list(c.shape)}: {c.reason}" for c, count in self.calls.most_common()]
        return "\n".join([f"taken: {sum(self.taken.values())}; elsewhere: {sum(self.calls.values())}", *lines])
