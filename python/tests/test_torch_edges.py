"""warpfold.torch at its edges: transforms, batched gradients, exported programs, fake kernels, empty and 0-d tensors, wrong arguments."""

import itertools
import math
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

import warpfold.torch as wt
from test_torch import CALLS, IMAGE, MASK, R, T, W, X, bits, values
from warpfold.torch import ops

nan, inf = math.nan, math.inf


def dual(f, x, *others):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, torch.ones_like(x)), *others)).tangent


FORWARD_MODE = {
    "jvp": lambda f, x, *others: torch.func.jvp(lambda x: f(x, *others), (x,), (torch.ones_like(x),)),
    "jacfwd": lambda f, x, *others: torch.func.jacfwd(lambda x: f(x, *others))(x),
    "dual": dual,
    "dual in no_grad": torch.no_grad()(dual),
    "a gradient, too": lambda f, x, *others: dual(f, x.clone().requires_grad_(), *others),
    "vectorized": lambda f, x, *others: torch.autograd.functional.jacobian(
        lambda x: f(x, *others), x, strategy="forward-mode", vectorize=True
    ),
    "compiled": lambda f, x, *others: torch.compile(FORWARD_MODE["jvp"], backend="aot_eager")(f, x, *others),
}


@pytest.mark.parametrize("transform", FORWARD_MODE)
@pytest.mark.parametrize(
    "name", ["sum", "logsumexp", "std", "softmax_biased", "rms_norm", "layer_norm", "cross_entropy", "token_log_probs"]
)
def test_forward_mode_is_refused(name, transform):
    f, _, inputs = CALLS[name]
    torch._dynamo.reset()
    with pytest.raises(RuntimeError, match="forward-mode AD"):
        FORWARD_MODE[transform](f, *inputs)


def test_forward_mode_of_something_else():
    with forward_ad.dual_level():
        y = forward_ad.make_dual(X, R) * wt.softmax(X)
        assert torch.equal(forward_ad.unpack_dual(y).tangent, R * wt.softmax(X))


TRANSFORMS = {
    "grad": lambda f: torch.func.grad(lambda x: f(x).sum()),
    "grad of vmap": lambda f: torch.func.grad(lambda x: torch.vmap(f)(x).sum()),
    "operators": lambda f: torch.func.grad(lambda x: ops.softmax(x, -1).sum()),
    "compiled": lambda f: torch.compile(torch.func.grad(lambda x: f(x).sum()), backend="aot_eager"),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", [wt.softmax, wt.sum, lambda x: wt.rms_norm(x, x.shape[-1]), lambda x: wt.token_log_probs(x, x.argmax(-1))])
def test_gradients_of_transforms_are_refused(f, transform):
    torch._dynamo.reset()
    with pytest.raises(RuntimeError, match="torch.func: warpfold's functions have no gradient"):
        TRANSFORMS[transform](f)(X)


def test_token_log_probs_under_vmap():
    x = values(3, 6, 70)
    assert bits([torch.vmap(lambda x: wt.token_log_probs(x, T))(x)]) == bits([torch.stack([wt.token_log_probs(row, T) for row in x])])


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", CALLS)
def test_batched_gradients(name):
    f, _, inputs = CALLS[name]
    inputs = [x.detach().bfloat16().requires_grad_() for x in inputs]
    y = f(*inputs)
    dys = values(3, *y.shape, dtype=y.dtype, seed=9)
    batched = torch.autograd.grad(y, inputs, dys, retain_graph=True, is_grads_batched=True)
    each = [torch.autograd.grad(y, inputs, dy, retain_graph=True) for dy in dys]
    assert bits(batched) == bits([torch.stack(gradients) for gradients in zip(*each)])


class Model(torch.nn.Module):
    """A function as a module, whose parameters are all inputs but the first."""

    def __init__(self, f, parameters):
        super().__init__()
        self.f, self.names = f, [f"p{number}" for number in range(len(parameters))]
        for name, p in zip(self.names, parameters):
            self.register_parameter(name, torch.nn.Parameter(p.clone()))

    def forward(self, x):
        return self.f(x, *[getattr(self, name) for name in self.names])


def exported(model, x, **options):
    return torch.export.export(model, (x,), **options).module()


def traced_without_gradients(model, x):
    with torch.no_grad():
        return exported(model, x)


TRACES = {
    "export": exported,
    "strict export": lambda model, x: exported(model, x, strict=True),
    "export under no_grad": traced_without_gradients,
    "compiled export": lambda model, x: torch.compile(exported(model, x), backend="aot_eager"),
    "make_fx": lambda model, x: make_fx(model)(x),
    "make_fx before autograd": lambda model, x: make_fx(model, pre_dispatch=True)(x),
    "jit": lambda model, x: torch.jit.trace(model, x),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("name", CALLS)
def test_traces_have_gradients(name, trace):
    f, _, (x, *parameters) = CALLS[name]
    torch._dynamo.reset()
    model = Model(f, parameters)
    found = TRACES[trace](model, x)

    def gradients(f, owner):
        leaf = x.clone().requires_grad_()
        y = f(leaf)
        return [y, *torch.autograd.grad((y * values(*y.shape, seed=9)).sum(), [leaf, *owner.parameters()])]

    # What make_fx traces has the model's parameters as they are.
    assert bits(gradients(found, model if "make_fx" in trace else found)) == bits(gradients(model, model))


def test_operators_of_statistics_have_gradients():
    x, w, b = (t.clone().requires_grad_() for t in (X, W, W.sin()))
    forms = [
        (ops.rms_norm_forward(x, w, 1e-6), wt.rms_norm(x, 70, w)),
        (ops.rms_norm_residual_forward(x, x, w, 1e-6), wt.rms_norm(x, 70, w, residual=x)),
        (ops.layer_norm_forward(x, w, b, 1e-5), wt.layer_norm(x, 70, w, b)),
        (ops.layer_norm_residual_forward(x, x, w, b, 1e-5), wt.layer_norm(x, 70, w, b, residual=x)),
        (ops.group_norm_forward(x, 7, w, b, 1e-5), wt.group_norm(x, 7, w, b)),
        (ops.cross_entropy(x, T), wt.cross_entropy(x, T, reduction="none")),
    ]
    for answers, expected in forms:
        expected = [expected] if isinstance(expected, torch.Tensor) else expected
        assert bits(answers[: len(expected)]) == bits(expected)
        assert not any(statistic.requires_grad for statistic in answers[len(expected) :])
        for mine, other in zip(answers, expected):
            assert bits(torch.autograd.grad(mine, x, R.view(mine.shape) if mine.numel() == 420 else R[:, 0], retain_graph=True)) == bits(
                torch.autograd.grad(other, x, R.view(other.shape) if other.numel() == 420 else R[:, 0], retain_graph=True)
            )


@pytest.mark.parametrize("dy", [1.0, -2.0, nan, inf, -inf])
def test_ignored_rows_have_no_gradient(dy):
    x = X.clone().requires_grad_()
    loss = wt.cross_entropy(x, T, reduction="none")
    (dx,) = torch.autograd.grad(loss, x, torch.where(T == -100, dy, 1.0))
    assert bits([dx[T != -100]]) == bits([torch.autograd.grad(wt.cross_entropy(x, T, reduction="sum"), x)[0][T != -100]])
    assert not dx[3].any()
    mean = wt.cross_entropy(x, torch.full_like(T, -100))
    assert mean.isnan() and not torch.autograd.grad(mean, x)[0].any()


def empty(*shape):
    return torch.empty(shape)


SCALAR = torch.tensor(2.0)
# A call of ours, the same of torch's, and what it is of: answers and gradients are torch's.
EDGES = {
    "mean of nothing": (wt.mean, torch.mean, [empty(0)]),
    "mean of no rows": (lambda x: wt.mean(x, 0), lambda x: x.mean(0), [empty(0, 5)]),
    "sum of nothing": (wt.sum, torch.sum, [empty(0)]),
    "var of one": (lambda x: wt.var(x, 1), lambda x: x.var(1), [torch.ones(3, 1)]),
    "std of one": (lambda x: wt.std(x, 1), lambda x: x.std(1), [torch.ones(3, 1)]),
    "group norm of no batch": (
        lambda x, w, b: wt.group_norm(x, 2, w, b),
        lambda x, w, b: F.group_norm(x, 2, w, b),
        [empty(0, 4, 3), W[:4], W[4:8]],
    ),
    "layer norm of no rows": (
        lambda x, w, b: wt.layer_norm(x, 3, w, b),
        lambda x, w, b: F.layer_norm(x, (3,), w, b),
        [empty(0, 3), W[:3], W[3:6]],
    ),
    "softmax of no rows": (lambda x: wt.softmax(x), lambda x: x.softmax(-1), [empty(0, 3)]),
    "softmax of no columns": (lambda x: wt.softmax(x), lambda x: x.softmax(-1), [empty(3, 0)]),
    **{
        f"{name} of a number along {dim}": (
            lambda x, name=name, dim=dim: getattr(wt, name)(x, dim=dim),
            lambda x, name=name, dim=dim: (torch.linalg.vector_norm if name == "norm" else getattr(torch, name))(x, dim=dim),
            [SCALAR],
        )
        for name, dim in itertools.product(["sum", "mean", "var", "std", "norm", "logsumexp", "softmax"], [0, -1, (0,)])
        if name != "softmax" or dim in (0, -1)
    },
}


@pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0")
@pytest.mark.parametrize("name", EDGES)
def test_answers_and_gradients_are_as_torchs(name):
    ours, theirs, inputs = EDGES[name]
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    for mine, other in zip(*([y := f(*leaves), *torch.autograd.grad(y.sum(), leaves)] for f in (ours, theirs)), strict=True):
        torch.testing.assert_close(mine, other, equal_nan=True)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0")
def test_the_gradient_of_a_variance_of_as_many_as_the_correction():
    x = X[:2, :3].clone().requires_grad_()
    (mine,), (other,) = (torch.autograd.grad(var(x, 1, correction=3).sum(), x) for var in (wt.var, torch.var))
    assert torch.equal(mine, other) and mine.isinf().all()


TYPES = [
    torch.bool, torch.uint8, torch.int32, torch.int64, torch.uint32, torch.float16, torch.bfloat16, torch.float32, torch.float64,
    torch.complex64, torch.complex128, torch.float8_e5m2, torch.float8_e4m3fn,
]  # fmt: skip
DIMS = [None, [0], [-1, 0], [9], [0, 0], [0, -2]]
T32 = T.int()
# Arguments of operators that come after x, of which x is of 6 rows and 70 columns.
ARGUMENTS = {
    ops.sum: [*((dim, keep) for dim in DIMS for keep in (False, True)), *((None, False, dtype) for dtype in TYPES),
              (None, False, None, "exact"), (None, False, None, "fast")],
    ops.mean: [*((dim, keep) for dim in DIMS for keep in (False, True)), *((None, False, dtype) for dtype in TYPES)],
    ops.logsumexp: [(dim,) for dim in DIMS],
    ops.var: [(dim, 1.0) for dim in DIMS],
    ops.std: [(dim, 0.0) for dim in DIMS],
    ops.norm: [*((2.0, dim) for dim in DIMS), (0.5, None), (inf, [1]), (-1.0, None)],
    ops.argmax: [(dim,) for dim in DIMS if dim is None or len(dim) == 1],
    ops.softmax: [(-1,), (2,), *((0, 1.0, None, dtype) for dtype in TYPES), (0, nan), (0, 1.0, None, None, MASK[:, :3]),
                  (1, 1.0, None, None, MASK[0]), (0, 1.0, None, None, X), (0, 1.0, None, None, None, X), (0, 1.0, None, None, None, X[:4]),
                  (0, 1.0, None, None, None, None, "one")],
    ops.log_softmax: [(-1,), (-3,), *((0, 1.0, None, dtype) for dtype in TYPES)],
    ops.softmax_backward: [(X, -1), (X[:3], -1), (X.half(), 0)],
    ops.rms_norm: [(W, 1e-6), (None, 0.0), (W[:3], 1e-6), (W.half(), 1e-6)],
    ops.rms_norm_forward: [(W, 1e-6), (W[:3], 1e-6)],
    ops.rms_norm_residual: [(X, W, 1e-6), (X[:3], W, 1e-6), (X.half(), None, 1e-6)],
    ops.layer_norm: [(W, W, 1e-5), (W, None, 1e-5), (W, W[:3], 1e-5), (None, None, nan)],
    ops.layer_norm_residual_forward: [(X, W, W, 1e-5), (X, W[:3], W, 1e-5)],
    ops.group_norm: [(7, W, W, 1e-5), (4, None, None, 1e-5), (0, None, None, 1e-5), (-1, None, None, 1e-5), (7, W[:3], None, 1e-5)],
    ops.norm_backward: [(X, None, torch.ones(6), W), (X[:3], None, torch.ones(6), W)],
    ops.cross_entropy: [(T,), (T32,), (T.short(),), (T.float(),), (T[:3],), (T, -100, 2.0), (T, -100, 0.0, -1.0)],
    ops.cross_entropy_backward: [(T,), (T.short(),), (T[:3],)],
}  # fmt: skip


def layout(call):
    """What a call's answers are, or that it is refused."""
    try:
        answers = call()
    except Exception:
        return "refused"
    return [(y.dtype, y.shape, y.stride()) for y in ([answers] if isinstance(answers, torch.Tensor) else answers)]


@pytest.mark.parametrize("op", ARGUMENTS, ids=str)
def test_fake_kernels_are_as_the_real_ones(op):
    mode = torch._subclasses.FakeTensorMode()
    makes = {"fake": mode.from_tensor, "meta": lambda t: t.to("meta")}
    wrong, taken = [], 0
    for dtype, arguments in itertools.product(TYPES, ARGUMENTS[op]):
        x = X.abs().to(dtype)
        real = layout(lambda: op(x, *arguments))
        taken += real != "refused"
        for name, make in makes.items():
            made = [make(a) if isinstance(a, torch.Tensor) else a for a in (x, *arguments)]
            if (got := layout(lambda: op(*made))) != real:
                wrong.append((name, dtype, arguments, got, real))
    assert not wrong and taken, f"{len(wrong)}, such as {wrong[:3]}"


def numbers():
    yield 1


REFUSED = {
    "a list": ("x", TypeError, lambda: wt.sum([1.0])),
    "an array": ("x", TypeError, lambda: wt.rms_norm(np.ones(3, np.float32), 3)),
    "a number": ("x", TypeError, lambda: wt.softmax(1.0)),
    "nothing": ("x", TypeError, lambda: wt.group_norm(None, 2)),
    "a list of weights": ("weight", TypeError, lambda: wt.layer_norm(X, 70, [1.0] * 70)),
    "a list as bias": ("bias", TypeError, lambda: wt.softmax(X, bias=[1.0] * 70)),
    "a list of logits": ("logits", TypeError, lambda: wt.cross_entropy([[1.0]], T)),
    "a list of targets": ("targets", TypeError, lambda: wt.token_log_probs(X, [0] * 6)),
    "targets of floats": ("targets", TypeError, lambda: wt.token_log_probs(X, T.float())),
    "logits of float64": ("logits", TypeError, lambda: wt.token_log_probs(X.double(), T)),
    "negative groups": ("num_groups", ValueError, lambda: wt.group_norm(IMAGE, -1)),
    "no groups": ("num_groups", ValueError, lambda: wt.group_norm(IMAGE, 0)),
    "a bool as dim": ("dim", TypeError, lambda: wt.sum(X, True)),
    "a norm_type below 1": ("norm_type", ValueError, lambda: wt.clip_grad_norm_([], 1.0, 0.5)),
    "a norm_type of NaN": ("norm_type", ValueError, lambda: wt.clip_grad_norm_([], 1.0, nan)),
    "a bool as causal": ("causal", TypeError, lambda: wt.softmax(X, causal=False)),
    "a bool as causal, compiled": ("causal", TypeError, lambda: torch.compile(lambda x: wt.log_softmax(x, causal=True), backend="eager")(X)),
    "a generator": ("function", TypeError, lambda: wt.set_batch_invariant_mode(False)(numbers)),
    "a second entry": ("this block", RuntimeError, lambda: block.__enter__()),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_named(what):
    name, error, call = REFUSED[what]
    with pytest.raises(error, match=f"^{name}"):
        call()


def test_norm_type_may_be_a_string():
    p = torch.nn.Parameter(X.clone())
    p.grad = R.clone()
    assert wt.clip_grad_norm_(p, 1e9, "inf") == R.abs().max()


on = wt.is_batch_invariant_mode_enabled
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    with (block := wt.set_batch_invariant_mode()):
        pass


def test_overlapping_blocks():
    for first, second in itertools.product((False, True), repeat=2):
        for before in (False, True):
            with wt.set_batch_invariant_mode(before):
                a = wt.set_batch_invariant_mode(first)
                b = wt.set_batch_invariant_mode(second)
                b.__enter__(), a.__enter__()
                a.__exit__(None, None, None)
                assert on() is second
                b.__exit__(None, None, None)
                assert on() is before
    assert not on()


def test_the_mode_as_a_decorator():
    for enabled in (True, False):

        @wt.set_batch_invariant_mode(enabled)
        def inside(x):
            """Whether the mode is on."""
            return x, on()

        with wt.set_batch_invariant_mode(not enabled):
            assert [inside(1), on(), inside(2), on()] == [(1, enabled), not enabled, (2, enabled), not enabled]
        assert inside.__doc__ == "Whether the mode is on." and not on()
    decorator = wt.set_batch_invariant_mode()
    twice = decorator(decorator(on))
    assert twice() and not on()


def test_a_block_that_is_kept_and_not_entered():
    with wt.set_batch_invariant_mode():
        kept = wt.set_batch_invariant_mode()
    assert not on() and kept


def test_a_single_element_is_causal_too():
    with pytest.raises(ValueError):
        wt.softmax(torch.tensor(1.0), causal=-1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_backward_pass_may_come_after_the_block(dtype):
    norm, x = torch.nn.RMSNorm(70, dtype=dtype), X.to(dtype)
    with wt.set_batch_invariant_mode():
        loss = norm(x).square().sum()
        (expected,) = torch.autograd.grad(norm(x).square().sum(), norm.weight)
    loss.backward()
    torch.testing.assert_close(norm.weight.grad, expected)
    # What warpfold does not take is a formula of torch's, whose sums are then torch's own.
    assert dtype == torch.float64 or bits([norm.weight.grad]) == bits([expected])


def test_a_pass_that_is_set_in_the_mode_stays():
    from torch._inductor import config

    with config.patch(pre_grad_custom_pass=None):
        with wt.set_batch_invariant_mode():
            config.pre_grad_custom_pass = users = lambda graph: None
        assert config.pre_grad_custom_pass is users and config.joint_custom_pre_pass is None
