"""The overrides under torch.compile's Inductor, which calls no kernel of aten's.

Inductor runs its pre-grad pass before it traces. Ours changes no graph: it puts the takes of overrides.py among Inductor's
decompositions. There they catch each spelling of an operator, and autograd's own calls in the backward pass.
"""

import threading

import torch
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files

from . import ops, overrides

_lock = threading.Lock()
# Decompositions that were there before ours, and our passes; None while none of ours are installed.
_before = None
_passes = None
# What x.sum() and x.mean() are while they are traced: in eager mode they call the others.
_ALIASES = {"sum": "sum.dim_IntList", "mean": "mean.dim"}


def _decomposition(take, original):
    def decomposed(*args, **kwargs):
        answer = take(ops, *args, **kwargs)
        if not isinstance(answer, overrides.Left):
            return answer
        return NotImplemented if original is None else original(*args, **kwargs)

    return decomposed


def _whole(take):
    return lambda run, x, *, dtype=None: take(run, x, dtype=dtype)


def _install_decompositions():
    from torch._inductor import decomposition

    global _before
    with _lock:
        if _before is not None:
            return
        table, _before = decomposition.decompositions, {}
        takes = {name: override.take for name, override in overrides.OVERRIDES.items()}
        takes |= {alias: _whole(takes[name]) for alias, name in _ALIASES.items()}
        for name, take in takes.items():
            op = overrides.overload(name)
            _before[op] = table.get(op)
            table[op] = _decomposition(take, _before[op])
        decomposition.fast_random_decomps.cache_clear()


def _restore_decompositions():
    global _before
    with _lock:
        if _before is None:
            return
        from torch._inductor import decomposition

        for op, original in _before.items():
            if original is None:
                decomposition.decompositions.pop(op, None)
            else:
                decomposition.decompositions[op] = original
        decomposition.fast_random_decomps.cache_clear()
        _before = None


class Pass(CustomGraphPass):
    """A pass that does something first, and then what was there."""

    def __init__(self, before, prior):
        self.before, self.prior = before, prior

    def __call__(self, graph):
        self.before()
        if self.prior is not None:
            self.prior(graph)

    def uuid(self):
        files = get_hash_for_files((__file__, overrides.__file__, ops.__file__))
        return "warpfold", files, self.prior.uuid() if isinstance(self.prior, CustomGraphPass) else repr(self.prior)

    def __reduce__(self):
        # Inductor pickles its settings for the key of a cache, and never reads them again.
        return repr, (self.uuid(),)


def _nothing():
    pass


def enable():
    """From here on what Inductor compiles has the overrides; what it compiled before is compiled again."""
    global _passes
    # The joint pass has its uuid in the keys of both caches, which the pre-grad pass has not.
    befores = {"pre_grad_custom_pass": _install_decompositions, "joint_custom_pre_pass": _nothing}
    _passes = {name: Pass(before, getattr(config, name)) for name, before in befores.items()}
    for name, ours in _passes.items():
        setattr(config, name, ours)
    torch._dynamo.reset()


def disable():
    global _passes
    for name, ours in _passes.items():
        # One that was set since then stays.
        if getattr(config, name) is ours:
            setattr(config, name, ours.prior)
    _passes = None
    _restore_decompositions()
    torch._dynamo.reset()
