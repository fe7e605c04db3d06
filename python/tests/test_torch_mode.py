"""Batch-invariant mode: torch's own calls have warpfold's bits, and torch's types, shapes, strides and errors."""

import functools
import itertools
import re
import threading
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F

import warpfold as wf
import warpfold.torch as wt
from test_torch import bits, values
from warpfold.torch.overrides import OVERRIDES, Left

aten = torch.ops.aten
HALVES = [torch.float16, torch.bfloat16]
ROWS = [torch.float32, *HALVES]


@pytest.fixture(autouse=True)
def mode():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with wt.set_batch_invariant_mode():
            yield


def inputs(dtype):
    """Tensors of many layouts."""
    if dtype == torch.bool or not (dtype.is_floating_point or dtype.is_complex):
        make = lambda *shape: values(*shape).mul(10).to(torch.int64).to(dtype)
    else:
        make = lambda *shape: values(*shape).to(dtype)
    return {
        "matrix": make(5, 300),
        "transposed": make(40, 6).T,
        "sliced": make(6, 8, 10)[::2, 1:7, ::3],
        "cube": make(3, 6, 4),
        "expanded": make(7, 1).expand(7, 5),
        "vector": make(33),
        "one": make(1),
        "scalar": make(1)[0],
        "empty": make(0, 4),
        "no columns": make(3, 0),
        "image": make(2, 6, 4, 5).to(memory_format=torch.channels_last),
    }


DIMS = [None, 0, -1, 1, (0, 1), (), (0, 0), 7, -3]
REDUCTIONS = {
    "sum.dim_IntList": [
        lambda x, d, k: torch.sum(x, d, k),
        lambda x, d, k: x.sum(dtype=torch.float32),
        lambda x, d, k: torch.sum(x, d, k, dtype=torch.float64),
        lambda x, d, k: torch.sum(x, d, dtype=torch.bfloat16),
        lambda x, d, k: torch.sum(x, d, k, dtype=torch.int64),
    ],
    "mean.dim": [
        lambda x, d, k: torch.mean(x, d, k),
        lambda x, d, k: x.mean(dtype=torch.float32),
        lambda x, d, k: torch.mean(x, d, k, dtype=torch.float64),
        lambda x, d, k: torch.mean(x, d, dtype=torch.int32),
    ],
    "logsumexp": [lambda x, d, k: torch.logsumexp(x, d, k)],
    "argmax": [lambda x, d, k: torch.argmax(x, d, k)],
    "var.correction": [
        lambda x, d, k: torch.var(x, d, keepdim=k),
        lambda x, d, k: torch.var(x, d, correction=0, keepdim=k),
        lambda x, d, k: torch.var(x, d, correction=2.5),
    ],
    "std.correction": [lambda x, d, k: torch.std(x, d, keepdim=k), lambda x, d, k: torch.std(x, d, correction=0)],
    "var_mean.correction": [lambda x, d, k: torch.var_mean(x, d, keepdim=k)],
    "std_mean.correction": [lambda x, d, k: torch.std_mean(x, d, correction=0, keepdim=k)],
    "linalg_vector_norm": [
        lambda x, d, k, o=o: torch.linalg.vector_norm(x, o, d, k) for o in (2, 1, float("inf"), 3.5, 0.5, 0, -1, -float("inf"))
    ]
    + [
        lambda x, d, k: torch.linalg.vector_norm(x, 2, d, k, dtype=torch.float64),
        lambda x, d, k: torch.linalg.vector_norm(x, dtype=torch.float16),
    ],
    "_foreach_norm.Scalar": [
        lambda x, d, k: torch._foreach_norm([x, x * 2]),
        lambda x, d, k: torch._foreach_norm([x], 1),
        lambda x, d, k: torch._foreach_norm([x], 0),
    ],
    "_softmax": [
        lambda x, d, k: torch.softmax(x, d),
        lambda x, d, k: F.softmax(x, d, dtype=torch.float32),
        lambda x, d, k: aten._softmax(x, d, True),
    ],
    "_log_softmax": [lambda x, d, k: torch.log_softmax(x, d), lambda x, d, k: aten._log_softmax(x, d, k)],
    "_softmax_backward_data": [
        lambda x, d, k: aten._softmax_backward_data(x, x.exp(), d, x.dtype),
        lambda x, d, k: aten._softmax_backward_data(x, x[..., :3], d, x.dtype),
    ],
    "_log_softmax_backward_data": [lambda x, d, k: aten._log_softmax_backward_data(x, x.sin(), d, x.dtype)],
}
TYPES = [*ROWS, torch.float64, torch.int32, torch.int64, torch.uint8, torch.bool, torch.complex64]


def columns(x, dtype=None, count=2):
    return [values(*x.shape[-1:], seed=i + 1).to(dtype or x.dtype) for i in range(count)]


def layer_norm_forms(x):
    yield lambda: aten.native_layer_norm(x, x.shape[-1:], *columns(x), 1e-5)
    yield lambda: aten.native_layer_norm(x, x.shape[-2:], None, None, 1e-5)
    yield lambda: aten.native_layer_norm(x, x.shape[-1:], *columns(x, torch.float32), 1e-5)
    yield lambda: aten.native_layer_norm(x, x.shape[-1:], columns(x)[0], None, 1e-5)
    yield lambda: aten.native_layer_norm(x, [7], None, None, 1e-5)
    yield lambda: aten.native_layer_norm(x, [], None, None, 1e-5)


def layer_norm_backward_forms(x):
    weight, bias = columns(x)
    outer = [*x.shape[:-1], 1]
    mean, rstd = values(*outer, seed=5).to(x.dtype), values(*outer, seed=6).to(x.dtype).abs()
    for mask in ([True] * 3, [True, False, False], [False, True, True]):
        yield lambda mask=mask: aten.native_layer_norm_backward(x.sin(), x, x.shape[-1:], mean, rstd, weight, bias, mask)
    yield lambda: aten.native_layer_norm_backward(x.sin(), x, x.shape[-1:], mean, rstd, None, None, [True, False, False])


def rms_norm_forms(x):
    yield lambda: F.rms_norm(x, x.shape[-1:], columns(x)[0], 1e-6)
    yield lambda: F.rms_norm(x * 1e-3, x.shape[-1:])
    yield lambda: F.rms_norm(x, x.shape[-2:])
    yield lambda: F.rms_norm(x, x.shape[-1:], columns(x, torch.float32)[0], 1e-6)
    yield lambda: F.rms_norm(x, [7])


def group_norm_forms(x):
    channels = x.shape[1]
    weight, bias = (values(channels, seed=i).to(x.dtype) for i in (1, 2))
    yield lambda: aten.native_group_norm(x, weight, bias, x.shape[0], channels, x.numel() // x.shape[0] // channels, 2, 1e-5)
    yield lambda: F.group_norm(x, 3)
    yield lambda: F.group_norm(x, 3, weight.float(), bias.float())
    yield lambda: F.group_norm(x, 4)


def group_norm_backward_forms(x):
    batch, channels = x.shape[:2]
    inner = x.numel() // batch // channels
    mean, rstd = (values(batch, 2, seed=i).to(x.dtype).abs() for i in (5, 6))
    weight = values(channels, seed=1).to(x.dtype)
    # Without the first one torch's own kernel crashes on channels-last tensors.
    for mask in ([True] * 3, [True, False, True]):
        yield lambda mask=mask: aten.native_group_norm_backward(x.sin(), x, mean, rstd, weight, batch, channels, inner, 2, mask)


def nll_forms(x):
    targets = torch.arange(x.shape[0]) % x.shape[-1]
    ignored = targets.clone()
    ignored[0] = -100
    for reduction in ("mean", "sum", "none"):
        yield lambda reduction=reduction: F.nll_loss(x, ignored, reduction=reduction)
        yield lambda reduction=reduction: F.cross_entropy(x, targets, label_smoothing=0.1, reduction=reduction)
    yield lambda: F.nll_loss(x, targets, torch.ones(x.shape[-1], dtype=x.dtype))
    yield lambda: F.nll_loss(x, targets + 10_000)
    yield lambda: F.nll_loss(x, targets - 10_000)
    yield lambda: F.nll_loss(x, targets[:1])
    yield lambda: F.nll_loss(x, targets.int())
    yield lambda: F.nll_loss(x[0], targets[0])
    yield lambda: aten.nll_loss_forward(x, ignored, None, 1, -100)
    yield lambda: F.nll_loss(x, torch.full_like(targets, -100))


def nll2d_forms(x):
    targets = torch.arange(x.shape[0] * 20).view(x.shape[0], 4, 5) % 6
    for reduction in ("mean", "sum", "none"):
        yield lambda reduction=reduction: F.nll_loss(x, targets, reduction=reduction)


ROW_FORMS = {
    "native_layer_norm": (layer_norm_forms, ["matrix", "transposed", "sliced", "vector", "no columns", "empty"]),
    "native_layer_norm_backward": (layer_norm_backward_forms, ["matrix", "transposed", "sliced"]),
    "_fused_rms_norm": (rms_norm_forms, ["matrix", "transposed", "sliced", "vector", "no columns", "empty"]),
    "native_group_norm": (group_norm_forms, ["transposed", "sliced", "image"]),
    # torch's kernel reads any other layout as if it were contiguous.
    "native_group_norm_backward": (group_norm_backward_forms, ["cube", "image"]),
    "nll_loss_forward": (nll_forms, ["matrix", "transposed"]),
    "nll_loss2d_forward": (nll2d_forms, ["image"]),
}


def outcome(call):
    """What a call answers, or its error's class."""
    try:
        answer = call()
    except Exception as error:
        return [type(error)]
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


def agreeing(calls):
    """How many calls gave tensors, which have torch's types, shapes and strides, and nearly its values. Each comes with what it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = [outcome(call) for _, call in calls]
        with wt.set_batch_invariant_mode(False):
            theirs = [outcome(call) for _, call in calls]
    wrong = [(what, text) for (what, _), mine, other in zip(calls, ours, theirs) if (text := difference(mine, other))]
    assert not wrong, f"{len(wrong)} of {len(calls)}, such as {wrong[:5]}"
    return sum(isinstance(other[0], torch.Tensor) for other in theirs)


def difference(ours, theirs):
    layout = lambda x: (x.dtype, x.shape, x.stride(), x.device, x.requires_grad)
    for mine, other in zip(ours, theirs, strict=True):
        if not isinstance(other, torch.Tensor) or not isinstance(mine, torch.Tensor):
            if mine is not other:
                return f"{mine} for {other}"
            continue
        if layout(mine) != layout(other):
            return f"{layout(mine)} for {layout(other)}"
        bound = {torch.bfloat16: 3e-2, torch.float16: 5e-3}.get(other.dtype, 1e-4)
        try:
            torch.testing.assert_close(mine, other, rtol=bound, atol=bound, equal_nan=True)
        except AssertionError as error:
            return str(error)
    return None


@pytest.fixture
def cheap_toggle(monkeypatch):
    """Nothing is compiled here, so nothing needs to be compiled again."""
    monkeypatch.setattr(torch._dynamo, "reset", lambda: None)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_answers_are_as_torchs(name, cheap_toggle):
    calls = [
        ((dtype, layout, dim, keepdim, number), functools.partial(form, x, dim, keepdim))
        for dtype in TYPES
        for layout, x in inputs(dtype).items()
        for dim, keepdim in itertools.product(DIMS, (False, True))
        for number, form in enumerate(REDUCTIONS[name])
        if layout != "image"
    ]
    assert agreeing(calls) > 100


@pytest.mark.parametrize("name", ROW_FORMS)
def test_rows_are_as_torchs(name, cheap_toggle):
    forms, layouts = ROW_FORMS[name]
    calls = [
        ((dtype, layout, number), call)
        for dtype, layout in itertools.product(TYPES[:4], layouts)
        for number, call in enumerate(forms(inputs(dtype)[layout]))
    ]
    assert agreeing(calls) >= 8


def test_every_override_is_in_a_table():
    # The backward of rms_norm is no operator of torch's CPU; its gradients are tested below.
    assert {*REDUCTIONS, *ROW_FORMS, "_fused_rms_norm_backward"} == set(OVERRIDES)


MODELS = {
    "softmax": lambda x, w, b: x.softmax(-1),
    "log_softmax": lambda x, w, b: F.log_softmax(x, 0),
    "layer_norm": lambda x, w, b: F.layer_norm(x, (70,), w, b),
    "rms_norm": lambda x, w, b: F.rms_norm(x, (70,), w),
    "group_norm": lambda x, w, b: F.group_norm(x.view(6, 70, 1), 7, w, b),
    "cross_entropy": lambda x, w, b: F.cross_entropy(x, torch.arange(6)),
    "sum": lambda x, w, b: x.sum(1),
    "mean": lambda x, w, b: x.mean(),
    "var": lambda x, w, b: x.var(1),
    "std": lambda x, w, b: torch.std(x),
    "logsumexp": lambda x, w, b: x.logsumexp(1),
    "norm": lambda x, w, b: torch.linalg.vector_norm(x, dim=1),
}


def gradients(f, arguments):
    arguments = [x.detach().requires_grad_() for x in arguments]
    y = f(*arguments)
    weights = values(*y.shape, dtype=y.dtype, seed=9)
    found = torch.autograd.grad((y * weights).sum(), arguments, allow_unused=True)
    return [y, *(g for g in found if g is not None)]


@pytest.mark.parametrize("dtype", [*ROWS, torch.float64])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_near_torchs(name, dtype, cheap_toggle):
    arguments = [x.to(dtype) for x in (values(6, 70), values(70, seed=1), values(70, seed=2))]
    ours = gradients(MODELS[name], arguments)
    with wt.set_batch_invariant_mode(False):
        theirs = gradients(MODELS[name], [x.double() for x in arguments])
    for mine, exact in zip(ours, theirs, strict=True):
        assert mine.dtype == dtype
        bound = {torch.float32: 2e-5, torch.float16: 1e-2, torch.bfloat16: 6e-2}.get(dtype, 1e-12) * exact.abs().max().item()
        torch.testing.assert_close(mine.double(), exact, rtol=0, atol=bound)


def test_second_derivatives_are_torchs():
    x = values(3, 7, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: x.softmax(-1) * x, [x])
    y = values(3, 7).requires_grad_()
    (gradient,) = torch.autograd.grad((y.softmax(-1) ** 2).sum(), y, create_graph=True)
    (second,) = torch.autograd.grad(gradient.square().sum(), y)
    z = y.detach().double().requires_grad_()
    (gradient,) = torch.autograd.grad((z.softmax(-1) ** 2).sum(), z, create_graph=True)
    torch.testing.assert_close(second.double(), torch.autograd.grad(gradient.square().sum(), z)[0], rtol=1e-3, atol=1e-5)


def test_bits_are_warpfolds():
    x, w, b = values(6, 70), values(70, seed=1), values(70, seed=2)
    pairs = [
        (x.sum(1), wf.sum(x, axis=1)), (x.mean(), wf.mean(x)), (torch.einsum("ij->i", x), wf.sum(x, axis=1)), (x.softmax(-1), wf.softmax(x)),
        (torch.nn.LogSoftmax(-1)(x), wf.log_softmax(x)), (x.std(1), wf.std(x, axis=1, correction=1)), (x.norm(), wf.norm(x)),
        (F.layer_norm(x, (70,), w, b), wf.layer_norm(x, w, b)), (F.rms_norm(x, (70,), w, 1e-6), wf.rms_norm(x, w)),
        (x.argmax(1), wf.argmax(x, axis=1)), (x.logsumexp(1), wf.logsumexp(x, axis=1)),
    ]  # fmt: skip
    for number, (got, expected) in enumerate(pairs):
        assert bits([got]) == bits([expected]), number


def test_disabling_restores_torch():
    x = values(8, 3000)
    with wt.set_batch_invariant_mode(False):
        assert not wt.is_batch_invariant_mode_enabled()
        before = bits([x.sum(1), x.softmax(1), F.rms_norm(x, (3000,))])
        assert type(F.rms_norm(x.requires_grad_(), (3000,)).grad_fn).__name__ == "MulBackward0"
        x.requires_grad_(False)
    assert wt.is_batch_invariant_mode_enabled()
    ours = bits([x.sum(1), x.softmax(1), F.rms_norm(x, (3000,))])
    assert all(a != b for a, b in zip(before, ours)), "the data show no difference"
    wt.disable_batch_invariant_mode()
    wt.disable_batch_invariant_mode()
    assert bits([x.sum(1), x.softmax(1), F.rms_norm(x, (3000,))]) == before
    wt.enable_batch_invariant_mode()
    assert bits([x.sum(1), x.softmax(1), F.rms_norm(x, (3000,))]) == ours


def test_all_threads_are_in_the_mode():
    x, found = values(8, 3000), []
    threads = [threading.Thread(target=lambda: found.append(bits([x.sum(1), x.double().softmax(1)]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(f == bits([wf.sum(x, axis=1), x.double().softmax(1)]) for f in found)


def test_the_warning_comes_once(monkeypatch):
    wt.disable_batch_invariant_mode()
    monkeypatch.setattr(wt.mode, "_warned", False)
    with pytest.warns(UserWarning, match="Matrix products, attention and convolutions stay torch's"):
        wt.enable_batch_invariant_mode()
    wt.disable_batch_invariant_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wt.enable_batch_invariant_mode()


def test_report():
    x = values(6, 70).requires_grad_()
    with wt.mode.report() as elsewhere:
        y = (x.softmax(-1) @ x.T).sum() + F.mse_loss(x, x * 2) + x.double().log_softmax(-1).sum() + x.detach().max()
        y.backward()
        x.detach().long().sum()
    by_op = {call.op: call for call in elsewhere.calls}
    assert set(by_op) == {"mm", "mse_loss", "_log_softmax", "_log_softmax_backward_data"}
    assert by_op["_log_softmax"] == ("_log_softmax", "float64", (6, 70), Left.TYPE.value)
    assert (
        sum(n for call, n in elsewhere.calls.items() if call.op == "mm") == 3
        and elsewhere.taken["_softmax"] == 1
        and elsewhere.taken["_softmax_backward_data"] == 1
    )
    assert "mse_loss of float32 [6, 70]: the mode is not enabled, or has no override of it" in str(elsewhere)
    with wt.set_batch_invariant_mode(False), wt.mode.report() as elsewhere:
        x.softmax(-1)
    assert [call.op for call in elsewhere.calls] == ["_softmax"]


def compiled(f, **options):
    torch._dynamo.reset()
    return torch.compile(f, fullgraph=True, **options)


@pytest.mark.parametrize("name", MODELS)
def test_inductor_has_the_bits_of_eager(name):
    arguments = values(6, 70), values(70, seed=1), values(70, seed=2)
    with torch.no_grad():
        eager = MODELS[name](*arguments)
        assert bits([compiled(MODELS[name])(*arguments)]) == bits([eager])


OWN_SUM = r"(float|double|<float>|<double>) tmp_acc"


def test_inductor_has_no_reduction_of_its_own():
    from torch._inductor.utils import run_fw_bw_and_get_code

    def model(x, w, b):
        y = F.layer_norm(F.rms_norm(x, (70,), w), (70,), w, b).softmax(-1)
        return F.cross_entropy(y, torch.arange(6)) + x.var(1).sum() + torch.linalg.vector_norm(x) + x.mean()

    arguments = [t.requires_grad_() for t in (values(6, 70), values(70, seed=1), values(70, seed=2))]
    eager = gradients(model, arguments)
    step = compiled(model)
    _, codes = run_fw_bw_and_get_code(lambda: step(*arguments))
    text = "\n".join(codes)
    for op in ("rms_norm_forward", "layer_norm_forward", "softmax", "log_softmax", "sum", "mean", "var", "norm", "softmax_backward",
               "norm_backward", "norm_columns_backward"):  # fmt: skip
        assert f"torch.ops.warpfold.{op}.default" in text, op
    # It counts targets, in integers.
    assert not re.search(OWN_SUM, text), "a sum of Inductor's own"
    for mine, other in zip(gradients(step, arguments), eager, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6)
    with wt.set_batch_invariant_mode(False):
        _, codes = run_fw_bw_and_get_code(lambda: step(*arguments))
    assert "warpfold" not in "\n".join(codes) and re.search(OWN_SUM, "\n".join(codes))


def test_a_users_passes_stay():
    from torch._inductor import config
    from torch._inductor.custom_graph_pass import CustomGraphPass

    class Counting(CustomGraphPass):
        seen = 0

        def __call__(self, graph):
            Counting.seen += 1

        def uuid(self):
            return "counting"

    wt.disable_batch_invariant_mode()
    with config.patch(pre_grad_custom_pass=Counting(), joint_custom_pre_pass=Counting(), force_disable_caches=True):
        wt.enable_batch_invariant_mode()
        assert "counting" in config.joint_custom_pre_pass.uuid()
        compiled(lambda x: x.cos().sum(1) * 3)(values(5, 40))
        assert Counting.seen == 2
        wt.disable_batch_invariant_mode()
        assert config.pre_grad_custom_pass.uuid() == "counting"
    assert config.pre_grad_custom_pass is None and config.joint_custom_pre_pass is None


def test_the_page_lists_the_overrides():
    pages = (folder / "docs" / "python-torch.md" for folder in Path(__file__).parents)
    page = next(page for page in pages if page.is_file()).read_text()
    for name, override in OVERRIDES.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}`")]
        for left in override.left:
            assert left.name in row, (name, left)
    for left in Left:
        assert f"| {left.name} | {left.value} |" in page
