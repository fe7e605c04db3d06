"""Arrays in a GPU's memory: the bits of the CPU's, on their library's stream, in graphs. Needs a GPU and torch; cupy where it is there."""

import itertools

import numpy as np
import pytest

import warpfold as wf

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU is here", allow_module_level=True)

TYPES = [
    torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool,
    torch.complex64, torch.float8_e4m3fn,
]  # fmt: skip
OPERATORS = [
    "sum", "prod", "mean", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero", "count_nan", "var", "std", "meanvar", "minmax",
    "argminmax", "logsumexp", "norm", "sum_of_squares", "skew", "kurtosis", "bitwise_and", "bitwise_xor",
]  # fmt: skip
FLOATS = TYPES[:3]


def values(shape, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(0, 100, shape, generator=generator).to(dtype)
    x = torch.randn(shape, generator=generator, dtype=torch.float64)
    return (x + 1j * x.flip(-1)).to(dtype) if dtype.is_complex else x.to(dtype)


def bits(x):
    dense = torch.zeros(x.shape, dtype=x.dtype).copy_(x)
    return str(x.dtype), tuple(x.shape), dense.reshape(-1).view(torch.uint8).numpy().tobytes() if x.numel() else b""


def same(on_gpu, on_cpu, what=""):
    on_gpu, on_cpu = ([x] if isinstance(x, torch.Tensor) else list(x) for x in (on_gpu, on_cpu))
    for gpu, cpu in zip(on_gpu, on_cpu, strict=True):
        assert gpu.is_cuda and not cpu.is_cuda
        assert bits(gpu) == bits(cpu), what


def layouts(dtype):
    yield values((5,), dtype), [None, 0]
    yield values((100_003,), dtype), [None]
    yield values((3, 1000), dtype), [None, 0, 1]
    yield values((7, 33, 64), dtype), [None, 0, 1, -1, (0, 2), (1, 2)]
    yield values((40, 48), dtype).T, [None, 0, 1]
    yield values((12, 20, 8), dtype)[::2, 3:17, ::4], [0, (1, 2)]
    yield values((0, 4), dtype), [1]


@pytest.mark.parametrize("name", OPERATORS)
def test_reductions_have_the_cpus_bits(name):
    ours, done = getattr(wf, name), 0
    for dtype in TYPES:
        for x, axes in layouts(dtype):
            for axis, keepdims in itertools.product(axes, (False, True)):
                try:
                    on_cpu = ours(x, axis=axis, keepdims=keepdims)
                except (TypeError, ValueError) as error:
                    with pytest.raises(type(error)):
                        ours(x.cuda(), axis=axis, keepdims=keepdims)
                    continue
                same(ours(x.cuda(), axis=axis, keepdims=keepdims), on_cpu, (name, dtype, tuple(x.shape), axis))
                done += 1
    assert done > 20


@pytest.mark.parametrize("name", ["sum", "mean", "max", "argmax", "var", "count_nonzero"])
def test_masks_and_nan(name):
    for dtype in FLOATS:
        x, mask = values((30, 500), dtype), values((30, 500), torch.bool, 1)
        x[3, 7] = float("nan")
        ours = getattr(wf, name)
        for axis in (None, 0, 1):
            same(ours(x.cuda(), axis=axis, where=mask.cuda()), ours(x, axis=axis, where=mask))
            if name != "count_nonzero":
                same(ours(x.cuda(), axis=axis, nan="ignore"), ours(x, axis=axis, nan="ignore"))
        with pytest.raises(ValueError, match="where: it is on cpu, and x on cuda:0"):
            ours(x.cuda(), where=mask)


def test_sums_in_other_accuracies():
    for dtype in FLOATS:
        x = values((37, 5000), dtype)
        for axis, rounding in itertools.product((None, 0, 1), ("wide", "exact", "compensated")):
            if rounding != "wide" and dtype != torch.float32:
                continue
            same(wf.sum(x.cuda(), axis=axis, accuracy=rounding), wf.sum(x, axis=axis, accuracy=rounding))
        for axis in (None, 0, 1, (0, 1)):
            same(wf.sum(x.cuda(), axis=axis, dtype=torch.float64), wf.sum(x, axis=axis, dtype=torch.float64))
            same(wf.mean(x.cuda(), axis=axis, dtype=torch.float64), wf.mean(x, axis=axis, dtype=torch.float64))
    x = values((1000,), torch.int32)
    same(wf.sum(x.cuda(), dtype=torch.int32), wf.sum(x, dtype=torch.int32))


def test_two_arrays():
    x, y = values((30, 700), torch.float32), values((30, 700), torch.float32, 1)
    for name, axis in itertools.product(("dot", "cosine"), (None, 0, 1)):
        same(getattr(wf, name)(x.cuda(), y.cuda(), axis=axis), getattr(wf, name)(x, y, axis=axis))


@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_have_the_cpus_bits(dtype):
    for shape in [(7,), (5, 33), (3, 4, 1000), (2, 40_000)]:
        x, residual, weight, bias = values(shape, dtype), values(shape, dtype, 1), values(shape[-1:], dtype, 2), values(shape[-1:], dtype, 3)
        mask, targets = values(shape, torch.bool, 4), torch.randint(0, shape[-1], shape[:-1])
        calls = [
            lambda d: wf.softmax(d(x)),
            lambda d: wf.log_softmax(d(x), scale=0.7),
            lambda d: wf.softmax(d(x), mask=d(mask), all_masked="zero"),
            lambda d: wf.softmax(d(x), bias=d(residual)),
            lambda d: wf.softmax(d(x), dtype=torch.float32),
            lambda d: wf.rms_norm(d(x), d(weight)),
            lambda d: wf.rms_norm(d(x), d(weight), residual=d(residual), statistics=True),
            lambda d: wf.layer_norm(d(x), d(weight), d(bias), statistics=True),
        ]
        if len(shape) > 1:
            calls.append(lambda d: wf.softmax(d(x), causal=0))
            calls.append(lambda d: wf.softmax(d(x), axis=0))
        for number, call in enumerate(calls):
            same(call(lambda x: x.cuda()), call(lambda x: x), (dtype, shape, number))
        losses = [wf.cross_entropy(d(x), d(targets), label_smoothing=0.1) for d in (lambda x: x.cuda(), lambda x: x)]
        for part in ("loss", "lse", "log_prob", "entropy"):
            same(getattr(losses[0], part), getattr(losses[1], part), part)
    x = values((2, 8, 9, 5), dtype)
    same(wf.group_norm(x.cuda(), 4), wf.group_norm(x, 4))


def test_the_current_stream_is_launched_on():
    x = values((1 << 24,), torch.float32)
    expected, stream = bits(wf.sum(x)), torch.cuda.Stream()
    for _ in range(20):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(10_000_000)
            y = x.cuda(non_blocking=True) * 1
            got = wf.sum(y)
        stream.synchronize()
        assert bits(got) == expected


def test_graphs():
    x = values((1 << 20,), torch.float32).cuda()
    rows = values((64, 40_000), torch.float32).cuda()
    total, soft = wf.sum(x), wf.softmax(rows)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        in_graph = wf.sum(x), wf.mean(x), wf.softmax(rows)
    for seed in range(3):
        x.copy_(values((1 << 20,), torch.float32, seed))
        other = wf.max(values((1 << 18,), torch.float32).cuda())
        graph.replay()
        torch.cuda.synchronize()
        assert bits(in_graph[0]) == bits(wf.sum(x)) and bits(in_graph[1]) == bits(wf.mean(x))
        assert bits(in_graph[2]) == bits(soft)
    del total, other


def test_out():
    x = values((8, 300), torch.float32).cuda()
    out = torch.empty(8, device="cuda")
    assert wf.sum(x, axis=1, out=out) is out
    same(out, wf.sum(x.cpu(), axis=1))
    same(wf.softmax(x, out=x), wf.softmax(values((8, 300), torch.float32)))
    with pytest.raises(TypeError, match="out: it is of float32"):
        wf.argmax(x, axis=1, out=out)
    with pytest.raises(ValueError, match="out: its shape"):
        wf.sum(x, out=out)


def test_cupy():
    cupy = pytest.importorskip("cupy")
    x = np.random.default_rng(0).standard_normal((50, 300)).astype("float32")
    with cupy.cuda.Stream():
        on_gpu = cupy.asarray(x)
        for name, axis in itertools.product(("sum", "argmax", "std"), (None, 0, 1)):
            got = getattr(wf, name)(on_gpu, axis=axis)
            assert isinstance(got, cupy.ndarray)
            expected = np.asarray(getattr(wf, name)(x, axis=axis))
            assert (got.get().tobytes(), got.shape, got.dtype) == (expected.tobytes(), expected.shape, expected.dtype)
        assert wf.softmax(on_gpu).get().tobytes() == wf.softmax(x).tobytes()


def test_partials_are_of_the_host():
    x = values((10_000,), torch.float32)
    parts = [wf.partial("sum", part, first=first) for part, first in ((x[:777].cuda(), 0), (x[777:].cuda(), 777))]
    parts[0].merge(parts[1])
    assert np.asarray(parts[0].finish(len(x))).tobytes() == np.asarray(wf.sum(x.numpy())).tobytes()


def test_threads():
    from concurrent.futures import ThreadPoolExecutor

    x = values((1 << 20,), torch.float32).cuda()
    expected = bits(wf.sum(x))

    def one(_):
        with torch.cuda.stream(torch.cuda.Stream()):
            return bits(wf.sum(x))

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(one, range(64))) == {expected}


def test_a_gradient_that_is_wanted_is_refused():
    x = torch.ones(4, device="cuda", requires_grad=True)
    with pytest.raises(ValueError, match="x: it requires grad"):
        wf.sum(x)
    with torch.no_grad():
        assert wf.sum(x).item() == 4


def test_segments():
    x, offsets = values((100_000,), torch.float32), torch.tensor([0, 5, 5, 40_000, 99_999, 100_000])
    for name, options in [("sum", {}), ("argmax", {}), ("mean", {}), ("sum", {"accuracy": "exact"})]:
        if name == "argmax":
            offsets = offsets.unique()
        same(wf.segments(name, x.cuda(), offsets=offsets, **options), wf.segments(name, x, offsets=offsets, **options), name)


@pytest.mark.parametrize("name", ["sum", "mean", "argmax", "minmax", "var", "logsumexp", "count_nonzero", "norm", "bitwise_xor"])
def test_partials_have_the_cpus_bytes(name):
    done = 0
    for dtype in TYPES:
        for x, axes in layouts(dtype):
            for axis, first in itertools.product(axes, (0, 4096 - 64)):
                first = first if axis not in ((0, 2), (1, 2)) else first // 8 * 8 * x.shape[-1]
                try:
                    on_cpu = wf.partial(name, x, first=first, axis=axis)
                except TypeError:
                    continue
                assert bytes(wf.partial(name, x.cuda(), first=first, axis=axis)) == bytes(on_cpu), (name, dtype, tuple(x.shape), axis)
                done += 1
    assert done > 5
    x, mask = values((9000,), torch.float32), values((9000,), torch.bool, 1)
    assert bytes(wf.partial("sum", x.cuda(), where=mask.cuda())) == bytes(wf.partial("sum", x, where=mask))
    assert bytes(wf.partial("dot", x.cuda(), y=x.cuda() + 1)) == bytes(wf.partial("dot", x, y=x + 1))
    big = values((64, 30_000), torch.bfloat16)
    for part in (big[:, 3:20_000], big[1::2, ::2], big.flip(0)):
        assert bytes(wf.partial("sum", part.cuda(), axis=1, first=7)) == bytes(wf.partial("sum", part, axis=1, first=7))
    view = big.cuda()[5:, 100:1300]
    assert bytes(wf.partial("sum", view, axis=1)) == bytes(wf.partial("sum", big[5:, 100:1300], axis=1))


def test_partials_go_to_no_graph():
    x = torch.ones(10_000, device="cuda")
    wf.partial("sum", x)
    with pytest.raises(wf.DeviceError, match="partials wait for the GPU"), torch.cuda.graph(torch.cuda.CUDAGraph()):
        wf.partial("sum", x)


@pytest.mark.parametrize("ord", [1.0, 2.0, float("inf"), 3.0])
def test_norms_of_lists(ord):
    for types in ([torch.float32], [torch.bfloat16, torch.float16, torch.float32], [torch.float32, torch.float64]):
        shapes = [(300, 70), (11,), (100_003,), (0, 4), (8, 8)]
        arrays = [values(shape, dtype, seed) for seed, (shape, dtype) in enumerate(zip(shapes, types * 5))]
        on_gpu = [x.cuda() for x in arrays]
        same(wf.grad_norm(on_gpu, ord=ord), wf.grad_norm(arrays, ord=ord))
        same(wf.grad_norm([x.T.contiguous().T if x.dim() > 1 else x for x in on_gpu], ord=ord), wf.grad_norm(arrays, ord=ord))
    graph, x = torch.cuda.CUDAGraph(), on_gpu[0].clone()
    wf.grad_norm([x, x], ord=ord)
    with torch.cuda.graph(graph):
        norm = wf.grad_norm([x, x], ord=ord)
    x *= 2
    graph.replay()
    same(norm, wf.grad_norm([x.cpu(), x.cpu()], ord=ord))


def test_jax():
    jax = pytest.importorskip("jax")
    if jax.devices()[0].platform != "gpu":
        pytest.skip("JAX has no GPU here")
    x = np.random.default_rng(0).standard_normal((300, 700), "float32")
    on_gpu = jax.device_put(x)
    for name, axis in itertools.product(("sum", "max", "var", "logsumexp"), (None, 0, 1)):
        got = getattr(wf, name)(on_gpu * 2, axis=axis)
        assert isinstance(got, jax.Array) and got.devices() == on_gpu.devices()
        assert np.asarray(got).tobytes() == np.asarray(getattr(wf, name)(x * 2, axis=axis)).tobytes(), (name, axis)
    assert np.asarray(wf.softmax(on_gpu)).tobytes() == wf.softmax(x).tobytes()
    # It can be computed with, and what it was made of is as it was.
    assert float((wf.sum(on_gpu, axis=1) + 1).sum()) == pytest.approx(float(x.sum()) + 300, rel=1e-3)
    with pytest.raises(TypeError, match="jax_enable_x64"):
        wf.argmax(on_gpu)


def test_distinct_elements():
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool):
        x = (values((60, 500), torch.float32) * 20).to(dtype)
        for axis in (None, 0, 1):
            same(wf.n_unique(x.cuda(), axis=axis), wf.n_unique(x, axis=axis))
        same(wf.n_unique(x.T.cuda().T[::2], axis=1, keepdims=True), wf.n_unique(x[::2], axis=1, keepdims=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32, torch.bool])
def test_descriptions_have_the_bits_of_the_cpu(dtype):
    x = (values((60, 700), torch.float32, 9) * 5).to(dtype)
    if dtype.is_floating_point:
        x[3, 5:9] = torch.tensor([np.nan, np.inf, -np.inf, 0.0]).to(dtype)
    for view in (lambda t: t, lambda t: t.T[::3], lambda t: t[7:7]):
        for axis in (None, 0, 1):
            got, expected = (wf.describe(view(t), axis=axis, correction=1)._asdict() for t in (x.cuda(), x))
            for field, number in expected.items():
                same(got[field], number)


def test_calls_can_be_captured_that_were_not_made_before():
    # It opens the device, which allocates.
    wf.sum(torch.ones(3, device="cuda"))
    x, rows = values((1 << 20,), torch.float16, 7), values((13, 777), torch.float16, 8)
    a, b, graph = x.cuda(), rows.cuda(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        answers = wf.kurtosis(a), wf.skew(b, axis=0), wf.log_softmax(b, scale=0.3), wf.grad_norm([a, b, a[5:]], ord=1.0)
    graph.replay()
    same(answers, (wf.kurtosis(x), wf.skew(rows, axis=0), wf.log_softmax(rows, scale=0.3), wf.grad_norm([x, rows, x[5:]], ord=1.0)))
