"""How calls reach the kernels: past torch's dispatcher where nothing watches it, and through it everywhere else."""

import copy

import pytest

torch = pytest.importorskip("torch")
from test_torch import bits, values
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import warpfold.torch as wt
from warpfold.torch import ops

X, W, B = values(6, 70), values(70, seed=1), values(70, seed=2)
INPUTS = X, W, B, torch.tensor([0, 69, 3, -100, 7, 7])

# A call, its operator without a gradient, and its operators with one.
CALLS = {
    "sum": (lambda x, w, b, t: wt.sum(x, 1), "sum", {"sum"}),
    "logsumexp": (lambda x, w, b, t: wt.logsumexp(x, 1), "logsumexp", {"logsumexp"}),
    "softmax": (lambda x, w, b, t: wt.softmax(x), "softmax", {"softmax", "softmax_backward"}),
    "rms_norm": (lambda x, w, b, t: wt.rms_norm(x, 70, w), "rms_norm", {"rms_norm_forward", "norm_backward", "norm_columns_backward"}),
    "residual": (
        lambda x, w, b, t: torch.stack(wt.layer_norm(x, 70, w, b, residual=x)),
        "layer_norm_residual",
        {"layer_norm_residual_forward", "norm_backward", "norm_columns_backward"},
    ),
    "group_norm": (
        lambda x, w, b, t: wt.group_norm(x, 7, w, b),
        "group_norm",
        {"group_norm_forward", "norm_backward", "sum"},
    ),
    "cross_entropy": (
        lambda x, w, b, t: wt.cross_entropy(x, t, reduction="none"),
        "cross_entropy",
        {"cross_entropy", "cross_entropy_backward"},
    ),
}


class Functions(TorchFunctionMode):
    """Keeps what a function mode sees."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.add(func)
        return func(*args, **(kwargs or {}))


class Dispatched(TorchDispatchMode):
    """Keeps what a dispatch mode sees."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.add(func)
        return func(*args, **(kwargs or {}))


def traced(f, **options):
    """The operators of a trace."""
    return {node.target for node in make_fx(f, **options)(*INPUTS).graph.nodes}


def names(seen):
    """Of operators, those of warpfold's."""
    texts = map(str, seen)
    return {text.split(".")[1] for text in texts if text.startswith("warpfold.")}


def with_gradients(f, *inputs):
    """The answer, and its gradients by what it is of."""
    leaves = [x.detach().requires_grad_() for x in inputs[:3]]
    y = f(*leaves, *inputs[3:])
    found = torch.autograd.grad(y.square().sum(), leaves, allow_unused=True)
    return [y, *(g for g in found if g is not None)]


@pytest.mark.parametrize("name", CALLS)
def test_modes_and_traces_see_operators(name):
    f, operator, operators = CALLS[name]
    answer, answers = bits([f(*INPUTS)]), bits(with_gradients(f, *INPUTS))
    for mode in (Functions(), Dispatched()):
        with mode:
            assert bits([f(*INPUTS)]) == answer
        assert names(mode.seen) == {operator}
    with Dispatched() as mode, wt.mode.report() as report:
        assert bits(with_gradients(f, *INPUTS)) == answers
    assert names(mode.seen) == operators
    assert {op.removeprefix("warpfold::") for op in report.taken if op.startswith("warpfold")} == operators
    for pre_dispatch in (False, True):
        assert names(traced(f, pre_dispatch=pre_dispatch)) == {operator}
    assert names(traced(lambda *inputs: with_gradients(f, *inputs), tracing_mode="fake")) == operators


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_dispatched_elsewhere(name, monkeypatch):
    f, *_ = CALLS[name]
    answers = bits(with_gradients(f, *INPUTS))
    monkeypatch.setattr(ops, "_overloads", None)
    assert bits(with_gradients(f, *INPUTS)) == answers
    parameters = copy.deepcopy([torch.nn.Parameter(t) for t in INPUTS[:3]])
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert bits([f(*parameters, INPUTS[3])]) == answers[:1]
    with torch.inference_mode():
        assert bits([f(*INPUTS)]) == answers[:1]


@pytest.mark.parametrize("name", CALLS)
def test_fake_and_meta_tensors(name):
    f, *_ = CALLS[name]
    real, fakes = f(*INPUTS), torch._subclasses.FakeTensorMode()
    for make in (fakes.from_tensor, lambda t: t.to("meta")):
        y = f(*map(make, INPUTS))
        assert (y.shape, y.dtype, y.stride()) == (real.shape, real.dtype, real.stride())


def test_transforms():
    rows = values(3, 6, 70)
    assert bits([torch.vmap(wt.softmax)(rows)]) == bits([wt.softmax(rows)])
    weights = values(3, 70, seed=1)
    assert bits([torch.vmap(lambda w: wt.rms_norm(X, 70, w))(weights)]) == bits([torch.stack([wt.rms_norm(X, 70, w) for w in weights])])
    assert bits([torch.func.functionalize(wt.softmax)(X)]) == bits([wt.softmax(X)])
    # A gradient by something else.
    assert torch.func.grad(lambda y: (wt.softmax(X) * y).sum())(X).equal(wt.softmax(X))
    with pytest.raises(RuntimeError, match="torch.func: warpfold's functions have no gradient"):
        torch.func.grad(lambda x: wt.softmax(x)[0, 0])(X)


def test_traces_of_torchscript_have_the_operators():
    with pytest.warns(DeprecationWarning):
        graph = str(torch.jit.trace(lambda x: wt.softmax(x) + wt.sum(x), X, check_trace=False).graph)
    assert "warpfold::softmax" in graph and "warpfold::sum" in graph


SEEN = []


class Wrapped(torch.Tensor):
    """A subclass that keeps the operators it is in."""

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        SEEN.append(func)
        return func(*(a.inner if isinstance(a, cls) else a for a in args), **(kwargs or {}))


def test_subclasses_see_operators():
    expected = bits([wt.rms_norm(X, 70, W)])
    for inputs in ((Wrapped(X), W), (X, Wrapped(W))):
        SEEN.clear()
        assert bits([wt.rms_norm(inputs[0], 70, inputs[1])]) == expected
        assert SEEN == [ops.rms_norm]


def test_other_memory():
    assert bits([wt.softmax(torch._efficientzerotensor(3))]) == bits([wt.softmax(torch.zeros(3))])
    assert bits([wt.sum(X._neg_view())]) == bits([wt.sum(-X)])
    with pytest.raises(RuntimeError):
        wt.sum(X.to_sparse())
