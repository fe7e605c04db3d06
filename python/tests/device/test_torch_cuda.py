"""warpfold.torch on a GPU: the bits of the CPU's, in autograd, compiled, in graphs; and the mode."""

import itertools
import sys
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU is here", allow_module_level=True)
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
import warpfold as wf
import warpfold.torch as wt
from test_torch import bits, values
from warpfold.testing import BatchVariant, check_batch_invariant
from warpfold.torch.overrides import OVERRIDES

ROWS = [torch.float32, torch.float16, torch.bfloat16]
TARGETS = torch.tensor([0, 699, 3, -100, 7, 7])

FUNCTIONS = {
    "sum": lambda x, w, b: wt.sum(x, 1),
    "mean": lambda x, w, b: wt.mean(x, 0),
    "var": lambda x, w, b: wt.var(x, 1),
    "std": lambda x, w, b: wt.std(x),
    "logsumexp": lambda x, w, b: wt.logsumexp(x, 1),
    "norm": lambda x, w, b: wt.norm(x, dim=1),
    "softmax": lambda x, w, b: wt.softmax(x),
    "log_softmax": lambda x, w, b: wt.log_softmax(x, 0, scale=0.3),
    "causal": lambda x, w, b: wt.softmax(x, causal=0),
    "rms_norm": lambda x, w, b: wt.rms_norm(x, 700, w),
    "layer_norm": lambda x, w, b: wt.layer_norm(x, 700, w, b),
    "group_norm": lambda x, w, b: wt.group_norm(x.view(6, 70, 10), 7, w[:70], b[:70]),
    "cross_entropy": lambda x, w, b: wt.cross_entropy(x, TARGETS.to(x.device), label_smoothing=0.1),
    "token_log_probs": lambda x, w, b: wt.token_log_probs(x, TARGETS.to(x.device)),
}
# Those whose gradients are warpfold's alone: torch's exponentials and powers may have other bits on a GPU.
SAME_GRADIENTS = ["sum", "mean", "softmax", "log_softmax", "causal", "rms_norm", "layer_norm", "cross_entropy"]

MODELS = {
    "softmax": lambda x, w, b: x.softmax(-1),
    "softmax in float32": lambda x, w, b: F.softmax(x, -1, dtype=torch.float32),
    "log_softmax": lambda x, w, b: F.log_softmax(x, 0),
    "layer_norm": lambda x, w, b: F.layer_norm(x, (700,), w, b),
    "rms_norm": lambda x, w, b: F.rms_norm(x, (700,), w),
    "group_norm": lambda x, w, b: F.group_norm(x.view(6, 70, 10), 7, w[:70], b[:70]),
    "cross_entropy": lambda x, w, b: F.cross_entropy(x, TARGETS.to(x.device)),
    "sum": lambda x, w, b: x.sum(1),
    "mean": lambda x, w, b: x.mean(),
    "var": lambda x, w, b: x.var(1),
    "logsumexp": lambda x, w, b: x.logsumexp(1),
    "norm": lambda x, w, b: torch.linalg.vector_norm(x, dim=1),
    "norms": lambda x, w, b: torch.stack(torch._foreach_norm([x, w])),
}


def arguments(dtype, device="cuda"):
    return [x.to(dtype).to(device) for x in (values(6, 700), values(700, seed=1), values(700, seed=2))]


def run(f, inputs):
    """The answer and the gradients, on the CPU."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    y = f(*inputs)
    weights = values(*y.shape, seed=9).to(y.device, y.dtype)
    found = torch.autograd.grad((y * weights).sum(), inputs, allow_unused=True)
    return [t.detach().cpu() for t in (y, *found) if t is not None]


@pytest.fixture
def mode():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with wt.set_batch_invariant_mode():
            yield


@pytest.mark.parametrize("dtype", ROWS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_cpus_bits(name, dtype):
    ours = run(FUNCTIONS[name], arguments(dtype))
    cpus = run(FUNCTIONS[name], arguments(dtype, "cpu"))
    assert bits(ours[:1]) == bits(cpus[:1])
    if name in SAME_GRADIENTS:
        assert bits(ours) == bits(cpus)
    for mine, other in zip(ours, cpus, strict=True):
        bound = {torch.bfloat16: 3e-2, torch.float16: 4e-3}.get(dtype, 1e-5) * other.abs().max().item()
        torch.testing.assert_close(mine, other, rtol=0, atol=bound)
    assert bits(run(FUNCTIONS[name], arguments(dtype))) == bits(ours), "twice"


@pytest.mark.parametrize("dtype", ROWS)
@pytest.mark.parametrize("name", MODELS)
def test_the_mode_has_the_cpus_bits_and_torchs_layout(name, dtype, mode):
    with torch.no_grad():
        ours = MODELS[name](*arguments(dtype))
        cpus = MODELS[name](*arguments(dtype, "cpu"))
    assert bits([ours.cpu()]) == bits([cpus])
    gradients = run(MODELS[name], arguments(dtype))
    with wt.set_batch_invariant_mode(False):
        theirs = MODELS[name](*arguments(dtype))
        expected = run(MODELS[name], arguments(dtype))
    assert (ours.dtype, ours.shape, ours.stride()) == (theirs.dtype, theirs.shape, theirs.stride())
    for mine, other in zip(gradients, expected, strict=True):
        bound = {torch.bfloat16: 6e-2, torch.float16: 1e-2}.get(dtype, 2e-5) * other.abs().max().item()
        assert mine.dtype == other.dtype
        torch.testing.assert_close(mine, other, rtol=0, atol=bound)


def test_statistics_are_as_torchs(mode):
    calls = [
        lambda x, w, b: torch.ops.aten.native_layer_norm(x, [700], w, b, 1e-5),
        lambda x, w, b: torch.ops.aten._fused_rms_norm(x, [700], w, None),
        lambda x, w, b: torch.ops.aten._fused_rms_norm(x * 1e-4, [700], None, None),
        lambda x, w, b: torch.ops.aten.native_group_norm(x, w, b, 6, 700, 1, 7, 1e-5),
        lambda x, w, b: torch.ops.aten.nll_loss_forward(x, TARGETS.cuda(), None, 1, -100),
        lambda x, w, b: torch.ops.aten._softmax(x, 1, True) if x.dtype == torch.float16 else x,
        lambda x, w, b: torch.ops.aten.var_mean.correction(x, [1]),
    ]
    for (number, call), dtype in itertools.product(enumerate(calls), ROWS):
        ours = call(*arguments(dtype))
        with wt.set_batch_invariant_mode(False):
            theirs = call(*arguments(dtype))
        pairs = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
        for part, (mine, other) in enumerate(pairs):
            assert (mine.dtype, mine.shape, mine.stride()) == (other.dtype, other.shape, other.stride()), (number, part, dtype)
            torch.testing.assert_close(mine, other, rtol=3e-2, atol=3e-2)


def test_a_model_goes_nowhere_else(mode):
    def model(x, w, b):
        y = F.layer_norm(F.rms_norm(x, (700,), w), (700,), w, b).softmax(-1)
        return F.cross_entropy(y, TARGETS.cuda()) + x.var(1).sum() + torch.linalg.vector_norm(x) + x.mean()

    with wt.mode.report() as elsewhere:
        run(model, arguments(torch.float32))
    assert not elsewhere.calls, str(elsewhere)
    assert elsewhere.taken["_fused_rms_norm_backward"] == elsewhere.taken["native_layer_norm_backward"] == 1
    assert set(elsewhere.taken) - {"sum", "mean"} <= set(OVERRIDES)


@pytest.mark.parametrize("name", MODELS)
def test_compiled_in_the_mode(name, mode):
    torch._dynamo.reset()
    step = torch.compile(MODELS[name], fullgraph=True)
    with torch.no_grad():
        assert bits([step(*arguments(torch.float32)).cpu()]) == bits([MODELS[name](*arguments(torch.float32)).cpu()])
    if name != "norms":
        for mine, other in zip(run(step, arguments(torch.float32)), run(MODELS[name], arguments(torch.float32)), strict=True):
            torch.testing.assert_close(mine, other, rtol=0, atol=1e-5 * other.abs().max().item())


def test_compiled_functions_with_graphs_of_inductors():
    targets = TARGETS.cuda()

    def model(x, w, b):
        y = wt.layer_norm(wt.rms_norm(x, 700, w), 700, w, b)
        return wt.cross_entropy(y, targets) + wt.softmax(x).square().sum()

    torch._dynamo.reset()
    step = torch.compile(model, fullgraph=True, mode="reduce-overhead")
    expected = run(model, arguments(torch.float32))
    for _ in range(4):
        for mine, other in zip(run(step, arguments(torch.float32)), expected, strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)


def test_a_training_step_in_a_graph(mode):
    x, w, b = (t.requires_grad_() for t in arguments(torch.float32))
    targets = TARGETS.cuda()

    def step():
        for t in (x, w, b):
            t.grad = None
        loss = F.cross_entropy(F.layer_norm(wt.rms_norm(x, 700, w), (700,), w, b), targets)
        loss.backward()
        wt.clip_grad_norm_([x, w, b], 0.1)
        return loss

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        in_graph = step()
        gradients = [t.grad for t in (x, w, b)]
    for seed in range(3):
        with torch.no_grad():
            x.copy_(values(6, 700, seed=seed))
        graph.replay()
        torch.cuda.synchronize()
        replayed = bits([in_graph.cpu(), *(g.cpu() for g in gradients)])
        loss = step()
        assert replayed == bits([loss.cpu(), x.grad.cpu(), w.grad.cpu(), b.grad.cpu()])


CHECKED = {
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "sum": lambda x: x.sum(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
}


@pytest.mark.parametrize("name", CHECKED)
def test_batch_invariance(name, mode):
    check_batch_invariant(CHECKED[name], values(8, 4099).cuda())


@pytest.mark.parametrize("dtype", ROWS)
def test_ten_thousand_rows(dtype, mode):
    rows = values(10_000, 2048, seed=3).to(dtype).cuda()
    for name, f in CHECKED.items():
        whole = f(rows)
        for start in (0, 1, 4999, 9990):
            assert torch.equal(f(rows[start : start + 10]), whole[start : start + 10]), name
            assert torch.equal(f(rows[start : start + 1]), whole[start : start + 1]), name
        assert torch.equal(torch.cat([f(part) for part in rows.split(77)]), whole), name
        assert torch.equal(f(rows.flip(0)).flip(0), whole), name


def test_the_check_catches_torch_itself():
    # torch's own sum of rows divides a few long rows among blocks, and many among warps.
    with pytest.raises(BatchVariant):
        check_batch_invariant(lambda x: x.sum(-1), values(4, 400_000).cuda(), batches=(1, 2, 64, 512), strides=False, graphs=False)


def test_the_current_stream_is_launched_on():
    x = values(1 << 22)
    expected, stream = bits([wt.sum(x)]), torch.cuda.Stream()
    for _ in range(10):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(10_000_000)
            got = wt.sum(x.cuda(non_blocking=True) * 1)
        stream.synchronize()
        assert bits([got.cpu()]) == expected


def test_partials_of_a_gpus_logits():
    import torch.distributed as dist

    import warpfold.torch.distributed as wtd

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        logits, targets = values(6, 5003).cuda(), TARGETS.cuda()
        got = wtd.token_log_probs(logits, targets, first=0, whole=5003)
        assert got.is_cuda and torch.equal(got, wt.token_log_probs(logits, targets))
        assert torch.equal(wtd.reduce("sum", logits, first=0, length=logits.numel()), wf.sum(logits))
        p = torch.nn.Parameter(logits)
        for _ in range(2):
            p.grad = logits.clone()
            norms = wtd.clip_grad_norm_([p], 1.0), p.grad
            p.grad = logits.clone()
            assert all(torch.equal(a, b) for a, b in zip(norms, (wt.clip_grad_norm_([p], 1.0), p.grad)))
    finally:
        dist.destroy_process_group()


def test_what_is_added_and_masked_has_the_cpus_bits():
    shapes = [(33, 1000), (33, 1000), (1000,)]
    x, residual, w = (values(*shape, dtype=torch.bfloat16, seed=seed) for seed, shape in enumerate(shapes))
    mask = values(33, 1000, seed=3) > 0
    calls = [
        lambda d: wt.rms_norm(d(x), 1000, d(w), residual=d(residual)),
        lambda d: wt.layer_norm(d(x), 1000, d(w), d(w), residual=d(residual)),
        lambda d: [wt.softmax(d(x), mask=d(mask), all_masked="zero")],
        lambda d: [wt.log_softmax(d(x), bias=d(residual))],
    ]
    for number, call in enumerate(calls):
        for on_gpu, on_cpu in zip(call(torch.Tensor.cuda), call(lambda tensor: tensor), strict=True):
            assert torch.equal(on_gpu.cpu(), on_cpu), number
    grown = [t.cuda().requires_grad_() for t in (x, residual, w)]
    on_cpu = [t.clone().requires_grad_() for t in (x, residual, w)]
    for tensors in (grown, on_cpu):
        y, sums = wt.rms_norm(tensors[0], 1000, tensors[2], residual=tensors[1])
        (y.float() * 3 + sums.float()).sum().backward()
    for gpu, cpu in zip(grown[:2], on_cpu):
        assert torch.equal(gpu.grad.cpu(), cpu.grad)
