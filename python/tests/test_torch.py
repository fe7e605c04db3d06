"""warpfold.torch: answers and gradients beside torch's in float64, fake tensors, torch.compile."""

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F

import warpfold as wf
import warpfold.torch as wt
from warpfold.torch import ops

FLOATS = [torch.float32, torch.float16, torch.bfloat16]


def values(*shape, dtype=torch.float32, seed=0):
    """Numbers of many sizes, so that another order of a sum shows."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator, dtype=torch.float64)
    return (x * torch.exp2(torch.randint(-3, 4, shape, generator=generator))).to(dtype)


X, W, B = values(6, 70), values(70, seed=1), values(70, seed=2)
IMAGE = values(3, 8, 5, 4)
R = values(6, 70, seed=5)
T = torch.tensor([0, 69, 3, -100, 7, 7])
MASK = values(6, 70, seed=6) > 0

# A call of ours, the same of torch's, and what it is of.
CALLS = {
    "sum": (wt.sum, torch.sum, [X]),
    "sum_of_dims": (lambda x: wt.sum(x, (0, -1)), lambda x: x.sum((0, -1)), [IMAGE]),
    "mean": (wt.mean, torch.mean, [X]),
    "mean_kept": (lambda x: wt.mean(x, 1, True), lambda x: x.mean(1, True), [IMAGE]),
    "exact_mean": (lambda x: wt.mean(x.float(), 0, accuracy="exact"), lambda x: x.mean(0), [X]),
    "logsumexp": (lambda x: wt.logsumexp(x, -1), lambda x: x.logsumexp(-1), [X]),
    "var": (wt.var, torch.var, [X]),
    "var_of_dims": (lambda x: wt.var(x, (1, 2), correction=0), lambda x: x.var((1, 2), correction=0), [IMAGE]),
    "std": (lambda x: wt.std(x, 1), lambda x: x.std(1), [X]),
    "norm": (lambda x: wt.norm(x, dim=1), lambda x: torch.linalg.vector_norm(x, dim=1), [X]),
    "norm_1": (lambda x: wt.norm(x, 1), lambda x: torch.linalg.vector_norm(x, 1), [X]),
    "norm_3": (lambda x: wt.norm(x, 3.0, 0), lambda x: torch.linalg.vector_norm(x, 3, 0), [X]),
    "norm_inf": (lambda x: wt.norm(x, float("inf"), 0, True), lambda x: torch.linalg.vector_norm(x, torch.inf, 0, True), [X]),
    "softmax": (wt.softmax, lambda x: x.softmax(-1), [X]),
    "softmax_scaled": (lambda x: wt.softmax(x, 0, scale=0.3), lambda x: (x * 0.3).softmax(0), [X]),
    "softmax_causal": (
        lambda x: wt.softmax(x, causal=0),
        lambda x: x.masked_fill(torch.ones_like(x).tril(70 - 6) == 0, -torch.inf).softmax(-1),
        [X],
    ),
    "softmax_masked": (lambda x: wt.softmax(x, mask=MASK, scale=0.3), lambda x: (x * 0.3).masked_fill(~MASK, -torch.inf).softmax(-1), [X]),
    "softmax_biased": (lambda x, b: wt.softmax(x, bias=b, scale=0.3), lambda x, b: (x * 0.3 + b).softmax(-1), [X, R]),
    "log_softmax": (wt.log_softmax, lambda x: x.log_softmax(-1), [X]),
    "log_softmax_masked": (
        lambda x: wt.log_softmax(x, 0, mask=MASK[:, :1]).masked_fill(~MASK[:, :1], 0),
        lambda x: x.masked_fill(~MASK[:, :1], -torch.inf).log_softmax(0).masked_fill(~MASK[:, :1], 0),
        [X],
    ),
    "log_softmax_biased": (lambda x, b: wt.log_softmax(x, bias=b), lambda x, b: (x + b).log_softmax(-1), [IMAGE, values(8, 1, 4, seed=3)]),
    "rms_norm": (lambda x, w: wt.rms_norm(x, 70, w), lambda x, w: F.rms_norm(x, (70,), w, 1e-6), [X, W]),
    "rms_norm_plus": (lambda x, w: wt.rms_norm(x, 70, w, one_plus_weight=True), lambda x, w: F.rms_norm(x, (70,), 1 + w, 1e-6), [X, W]),
    "rms_norm_residual": (
        lambda x, r, w: torch.stack(wt.rms_norm(x, 70, w, residual=r)),
        lambda x, r, w: torch.stack([F.rms_norm(x + r, (70,), w, 1e-6), x + r]),
        [X, R, W],
    ),
    "rms_norm_plain": (lambda x: wt.rms_norm(x, (5, 4)), lambda x: F.rms_norm(x, (5, 4), eps=1e-6), [IMAGE]),
    "layer_norm": (lambda x, w, b: wt.layer_norm(x, 70, w, b), lambda x, w, b: F.layer_norm(x, (70,), w, b), [X, W, B]),
    "layer_norm_of_dims": (
        lambda x, w, b: wt.layer_norm(x, (5, 4), w, b),
        lambda x, w, b: F.layer_norm(x, (5, 4), w, b),
        [IMAGE, values(5, 4, seed=3), values(5, 4, seed=4)],
    ),
    "layer_norm_residual": (
        lambda x, r, w, b: torch.stack(wt.layer_norm(x, (5, 4), w, b, residual=r)),
        lambda x, r, w, b: torch.stack([F.layer_norm(x + r, (5, 4), w, b), x + r]),
        [IMAGE, values(3, 8, 5, 4, seed=5), values(5, 4, seed=3), values(5, 4, seed=4)],
    ),
    "group_norm": (
        lambda x, w, b: wt.group_norm(x, 4, w, b),
        lambda x, w, b: F.group_norm(x, 4, w, b),
        [IMAGE, values(8, seed=3), values(8, seed=4)],
    ),
    "cross_entropy": (lambda x: wt.cross_entropy(x, T), lambda x: F.cross_entropy(x, T), [X]),
    "cross_entropy_sum": (
        lambda x: wt.cross_entropy(x, T.int(), label_smoothing=0.1, reduction="sum"),
        lambda x: F.cross_entropy(x, T, label_smoothing=0.1, reduction="sum"),
        [X],
    ),
    "cross_entropy_of_dims": (
        lambda x: wt.cross_entropy(x, IMAGE_TARGETS, reduction="none"),
        lambda x: F.cross_entropy(x, IMAGE_TARGETS, reduction="none"),
        [IMAGE],
    ),
    "z_loss": (
        lambda x: wt.cross_entropy(x, T, z_loss=1e-2, reduction="none"),
        lambda x: F.cross_entropy(x, T, reduction="none") + 1e-2 * (T >= 0) * x.logsumexp(-1) ** 2,
        [X],
    ),
    "token_log_probs": (lambda x: wt.token_log_probs(x, T), lambda x: -F.cross_entropy(x, T, reduction="none"), [X]),
}
IMAGE_TARGETS = torch.arange(3 * 5 * 4).view(3, 5, 4) % 8


def run(f, inputs):
    """Its answer and its gradients; the answer is weighted, since gradients of a plain sum are often 0."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    y = f(*inputs)
    weights = values(*y.shape, dtype=y.dtype, seed=9)
    return [y, *torch.autograd.grad((y * weights).sum(), inputs)]


def bits(tensors):
    return [(t.dtype, tuple(t.shape), t.detach().contiguous().view(-1).view(torch.uint8).tolist()) for t in tensors]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", CALLS)
def test_answers_and_gradients(name, dtype):
    ours, theirs, inputs = CALLS[name]
    inputs = [x.to(dtype) for x in inputs]
    got, expected = run(ours, inputs), run(theirs, [x.double() for x in inputs])
    for mine, exact in zip(got, expected, strict=True):
        assert mine.shape == exact.shape and mine.dtype in (dtype, torch.float32)
        # In terms of the largest: a small difference of large numbers has their error.
        bound = {torch.float32: 2e-5, torch.float16: 8e-3, torch.bfloat16: 5e-2}[dtype] * exact.abs().max().item()
        torch.testing.assert_close(mine.double(), exact, rtol=0, atol=bound)


def test_float64_has_reductions_and_no_rows():
    x = values(5, 2000, dtype=torch.float64)
    assert torch.equal(wt.sum(x, 1), wf.sum(x, axis=1))
    assert torch.autograd.gradcheck(lambda x: wt.var(x, 1), [x[:, :20].clone().requires_grad_()])
    assert torch.autograd.gradgradcheck(lambda x: wt.logsumexp(x, 1), [x[:, :9].clone().requires_grad_()])
    with pytest.raises(TypeError, match="softmax is of float32, float16 and bfloat16"):
        wt.softmax(x)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "rms_norm", "layer_norm", "logsumexp", "token_log_probs"])
def test_a_row_alone_has_the_bits_of_a_batch(name):
    ours, _, (x, *others) = CALLS[name]
    whole = run(ours, [x, *others])
    if name == "token_log_probs":
        alone = [wt.token_log_probs(x[i : i + 1], T[i : i + 1]) for i in range(6)]
    else:
        alone = [ours(x[i : i + 1], *others) for i in range(6)]
    assert bits([torch.cat(alone)]) == bits(whole[:1])


def test_answers_of_a_wider_type():
    x = values(4, 300, dtype=torch.bfloat16).requires_grad_()
    y = wt.softmax(x, dtype=torch.float32)
    assert y.dtype == torch.float32
    torch.testing.assert_close(y, x.float().softmax(-1))
    y[:, 3].sum().backward()
    assert x.grad.dtype == torch.bfloat16
    assert wt.sum(x, dtype=torch.float64).dtype == torch.float64


def test_gradients_of_ties_and_of_nothing():
    x = torch.tensor([[0.0, 0.0], [-torch.inf, -torch.inf]], requires_grad=True)
    assert torch.autograd.grad(wt.norm(x[0]), x)[0].tolist() == [[0, 0], [0, 0]]
    assert torch.autograd.grad(wt.logsumexp(x[1:], 1).sum(), x)[0][1].tolist() == [0, 0]
    assert torch.autograd.grad(wt.std(x[0]), x)[0].tolist() == [[0, 0], [0, 0]]
    tied = torch.tensor([3.0, -3.0, 1.0], requires_grad=True)
    assert torch.autograd.grad(wt.norm(tied, float("inf")), tied)[0].tolist() == [0.5, -0.5, 0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_with_a_residual_are_rounded_first(dtype):
    x, r, w, b = (t.detach().to(dtype).requires_grad_() for t in (X, R, W, B))
    for norm in (lambda x, **options: wt.rms_norm(x, 70, w, **options), lambda x, **options: wt.layer_norm(x, 70, w, b, **options)):
        y, sums = norm(x, residual=r)
        assert bits([y, sums]) == bits([norm(x + r), x + r])
        with torch.no_grad():
            assert bits(norm(x, residual=r)) == bits([y, sums])
        # One of the answers alone, and one of the inputs.
        (alone,) = torch.autograd.grad(norm(x, residual=r.detach())[0].sum(), x)
        assert bits([alone]) == bits(torch.autograd.grad(norm(x + r.detach()).sum(), x))
        assert bits(torch.autograd.grad(norm(x.detach(), residual=r)[1].sum(), r)) == bits([torch.ones_like(r)])
        both = torch.autograd.grad([y, sums], [x, r, w], [x.detach(), r.detach()])
        (dx,) = torch.autograd.grad(norm(s := (x + r).detach().requires_grad_()), s, x.detach())
        assert bits(both[:2]) == bits([dx + r.detach()] * 2)


def test_rows_that_a_mask_leaves_nothing_of():
    x, mask = X.clone().requires_grad_(), MASK.clone()
    mask[2] = False
    assert wt.softmax(x, mask=mask)[2].isnan().all()
    y = wt.softmax(x, mask=mask, all_masked="zero")
    (dx,) = torch.autograd.grad(y.square().sum(), x)
    assert bits([y[2], dx[2]]) == bits([torch.zeros(70)] * 2) and dx[0].any()
    # Neither has the other's row a gradient that is NaN.
    (dx,) = torch.autograd.grad(wt.softmax(x, mask=mask)[0].square().sum(), x)
    assert dx.isfinite().all() and not dx[~mask].any()


def test_wrong_arguments():
    with pytest.raises(ValueError, match="normalized_shape"):
        wt.rms_norm(X, 6)
    with pytest.raises(ValueError, match="weight: its shape"):
        wt.layer_norm(X, 70, W[:3])
    with pytest.raises(ValueError, match="bias: its shape"):
        wt.layer_norm(X, 70, W, B[:3])
    with pytest.raises(ValueError, match="residual: its shape"):
        wt.rms_norm(X, 70, residual=W)
    with pytest.raises(ValueError, match="mask and bias"):
        wt.softmax(X, mask=MASK, bias=X)
    with pytest.raises(ValueError, match='all_masked: "one"'):
        wt.softmax(X, all_masked="one")
    with pytest.raises(ValueError, match="reduction: 'max'"):
        wt.cross_entropy(X, T, reduction="max")
    with pytest.raises(ValueError, match="targets: their shape"):
        wt.token_log_probs(X, T[:2])
    with pytest.raises(IndexError):
        wt.softmax(X, 2)


def test_a_second_derivative_is_refused_where_there_is_none():
    x = X.clone().requires_grad_()
    for y in (wt.softmax(x), wt.rms_norm(x, 70), wt.rms_norm(x, 70, residual=x)[1], wt.cross_entropy(x, T), wt.token_log_probs(x, T)):
        with pytest.raises(RuntimeError, match="no second derivative"):
            torch.autograd.grad(y.sum(), x, create_graph=True)


@pytest.mark.parametrize("name", CALLS)
def test_compiled_has_the_same_bits(name):
    ours, _, inputs = CALLS[name]
    torch._dynamo.reset()
    eager = run(ours, inputs)
    # The gradient's own arithmetic is fused by Inductor, which contracts products into sums; aot_eager computes as eager does.
    compiled = torch.compile(ours, fullgraph=True, backend="aot_eager")
    assert bits(run(compiled, inputs)) == bits(eager)


def test_inductor():
    def model(x, w, b):
        x = wt.rms_norm(x, 70, w)
        x = wt.layer_norm(x.sin(), 70, w, b)
        loss = wt.cross_entropy(x, T) + wt.mean(wt.softmax(x)) + wt.var(x) + wt.logsumexp(x, 1).sum() + wt.token_log_probs(x, T).sum()
        return loss + wt.norm(x)

    torch._dynamo.reset()
    for mine, eager in zip(run(torch.compile(model, fullgraph=True), [X, W, B]), run(model, [X, W, B]), strict=True):
        torch.testing.assert_close(mine, eager, rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        forward = torch.compile(lambda x, w: wt.softmax(wt.rms_norm(x, 70, w)), fullgraph=True)
        assert bits([forward(X, W)]) == bits([wt.softmax(wt.rms_norm(X, 70, W))])


OPERATORS = [
    (ops.sum, (IMAGE, [0, -1], True)),
    (ops.mean, (IMAGE.bfloat16(), None, False, torch.float32)),
    (ops.logsumexp, (X.T, [0])),
    (ops.var, (IMAGE, [1], 1.0)),
    (ops.std, (IMAGE, [1], 1.0, True)),
    (ops.norm, (X, 2.0, None)),
    (ops.argmax, (X, [1])),
    (ops.softmax, (X.T, 0)),
    (ops.log_softmax, (X.half(), 1, 0.5, 0, torch.float32)),
    (ops.softmax, (X, 1, 1.0, None, None, MASK, None, "zero")),
    (ops.log_softmax, (X, 1, 1.0, None, torch.float32, None, R)),
    (ops.softmax_backward, (X, X, -1)),
    (ops.rms_norm, (X, W, 1e-6)),
    (ops.rms_norm_forward, (IMAGE, None, 1e-6)),
    (ops.rms_norm_residual, (X, R, W, 1e-6)),
    (ops.rms_norm_residual_forward, (X.T, R.T, None, 1e-6)),
    (ops.layer_norm, (X, W, B, 1e-5)),
    (ops.layer_norm_forward, (IMAGE, None, None, 1e-5)),
    (ops.layer_norm_residual, (X, R, W, B, 1e-5)),
    (ops.layer_norm_residual_forward, (IMAGE, IMAGE, None, None, 1e-5)),
    (ops.group_norm, (IMAGE, 4, None, None, 1e-5)),
    (ops.group_norm_forward, (IMAGE, 4, None, None, 1e-5)),
    (ops.norm_backward, (X, X, None, torch.ones(6), W)),
    (ops.norm_columns_backward, (X, X, torch.ones(6), torch.ones(6))),
    (ops.cross_entropy, (X, T)),
    (ops.cross_entropy_backward, (X, T)),
]


@pytest.mark.parametrize("op,arguments", OPERATORS, ids=lambda x: str(x) if callable(x) else "")
def test_operators_are_what_their_fakes_say(op, arguments):
    torch.library.opcheck(op, arguments, test_utils=("test_schema", "test_faketensor"))
    real = op(*arguments)
    with torch._subclasses.FakeTensorMode() as mode:
        fake = op(*(mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in arguments))
    pairs = zip([real], [fake]) if isinstance(real, torch.Tensor) else zip(real, fake, strict=True)
    assert all((r.dtype, r.shape, r.stride(), r.device) == (f.dtype, f.shape, f.stride(), f.device) for r, f in pairs)


def test_an_operator_without_a_gradient_refuses_what_wants_one():
    x = X.clone().requires_grad_()
    for make in (lambda t: t, torch._subclasses.FakeTensorMode().from_tensor):
        with pytest.raises(ValueError, match="warpfold::softmax_backward has no gradient"):
            ops.softmax_backward(make(x), make(x), -1)


def test_every_operator_is_checked():
    assert {op for op, _ in OPERATORS} == {op for op in vars(ops).values() if isinstance(op, torch._ops.OpOverload)}


def test_clipping():
    params = [torch.nn.Parameter(values(*shape, seed=seed)) for seed, shape in enumerate([(50, 40), (7,), (3000,)])]
    params.append(torch.nn.Parameter(torch.ones(3)))
    for norm_type in (2.0, 1.0, float("inf")):
        for p in params[:3]:
            p.grad = p.detach() * 3
        before = [p.grad.clone() for p in params[:3]]
        total = wt.clip_grad_norm_(params, 1.5, norm_type)
        expected = torch.linalg.vector_norm(torch.cat([g.flatten() for g in before]).double(), norm_type)
        torch.testing.assert_close(total.double(), expected, rtol=1e-6, atol=0)
        for p, g in zip(params, before):
            torch.testing.assert_close(p.grad, (g * 1.5 / expected).float())
    before = params[0].grad.clone()
    wt.clip_grad_norm_(params, 1e9)
    assert torch.equal(params[0].grad, before)
    params[0].grad[0, 0] = torch.nan
    with pytest.raises(RuntimeError, match="norm of the gradients is nan"):
        wt.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    assert wt.clip_grad_norm_([torch.nn.Parameter(torch.ones(2))], 1.0) == 0


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_dimensions_are_as_torchs(name):
    ours, theirs = getattr(wt, name), getattr(torch, name)
    for dim in (0, -1):
        assert torch.equal(ours(torch.tensor(2.0), dim), theirs(torch.tensor(2.0), dim))
    for x, dim in ((torch.ones(3, 4), 2), (torch.ones(3, 4), -3), (torch.tensor(1.0), 1)):
        with pytest.raises(IndexError, match="Dimension out of range"):
            ours(x, dim)
