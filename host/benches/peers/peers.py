"""What other libraries' reductions take on this GPU, how often their bits differ, and how far off they are.

    python3 host/benches/peers/peers.py [--only NAME,NAME] [--group GROUP,GROUP] [--quick]

Each line on stdout is a JSON object; remarks go to stderr. Each answer is checked before it is timed.
A time is the median of 15 replays of a CUDA graph, whose calls rotate over buffers of up to 4 GiB.

Numbers come from their index, by a hash of 32 bits; all arithmetic is modulo 2^32:

    h = i * 2654435761;  h ^= h >> 15;  h *= 2246822519;  h ^= h >> 13;  h *= 3266489917;  h ^= h >> 16

Timed and of "determinism":  x[i] = (h(i) >> 8) / 2^24 - 0.5, rounded to the type.
"1..2047", "power law":      lengths from the congruential generator of host/benches/gpu/segments.rs, see `drawn`.
"2^20 uniform":              x[i] = (h(i) >> 8) / 2^24.
"2^20 ill-conditioned":      x[i] is number k of the list below, where k is a permutation of i, modulo 2^20:

    k = i * 2654435761;  k ^= k >> 10;  k *= 2246822519;  k ^= k >> 7

    v(m) = (2^23 + (h(m) >> 9)) / 2^24, which is in [0.5, 1)
    number k = v(k >> 1) * 2^20 for even k < 2^19, -v(k >> 1) * 2^20 for odd k < 2^19, and v(k) from 2^19 on

All of these are exact in f32. The large numbers cancel in pairs, and sum|x| / |sum x| is about 2^20.
"""

import argparse
import copy
import ctypes
import functools
import importlib.metadata
import importlib.util
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("CUPY_ACCELERATORS", "cub")
try:
    import torch
except ImportError as error:
    torch, no_torch = None, str(error)
try:
    import triton
    import triton.language as tl
except ImportError as error:
    triton, no_triton = None, str(error)

GROUPS = ["whole", "operators", "types", "pairs", "rows", "columns", "segments", "maps", "vocabulary", "serving", "backward"]
GROUPS += ["gpt2", "gradients", "determinism", "accuracy"]
# "early": launches of "serving" whose blocks start while the launch before still runs, of who has them.
ALL_GROUPS = [*GROUPS, "early"]
# A peer that takes the first takes these.
LIKE = {"vocabulary": "maps", "serving": "maps"}
SIZES = {"f32": 4, "bf16": 2, "f64": 8, "i8": 1}
POOL_BYTES = 4 << 30
RUNS = 1000
MAPS = ["softmax", "log_softmax", "layer_norm", "rms_norm", "cross_entropy"]
MATRICES = [(1 << 20, 64), (32768, 256), (32768, 1024), (16384, 4096), (2048, 65536), (1024, 262144)]
MAP_SHAPES = [(32768, 256), (32768, 1024), (16384, 4096), (8192, 8192), (2048, 65536), (1024, 262144)]
SEGMENTS = ["2^4", "2^6", "2^8", "2^10", "2^12", "2^16", "2^20", "2^24", "1..2047", "power law"]
SEGMENTS += ["one huge among a million of 3"]


def transformer(layers, width):
    square, wide = width * width, width * width * 8 // 3
    return layers * [square, square, square, square, wide, wide, wide, width, width]


# Elements of each tensor of a list.
LISTS = {
    "12 layers of 768": transformer(12, 768),
    "16 layers of 2048": transformer(16, 2048),
    "one of 2^28": [1 << 28],
    "10000 of 4096": [4096] * 10000,
    "1000 of 1001": [1001] * 1000,
}


# What is measured


@dataclass(frozen=True)
class Case:
    group: str
    op: str
    dtype: str
    case: str
    shape: tuple

    @property
    def bytes(self):
        """Those of the input, and of an output if it is as large."""
        count = math.prod(self.shape)
        if self.kind in ("maps", "gpt2", "early") and self.op != "cross_entropy":
            count *= 2
        if self.group == "backward":
            count += count // 2
        return count * SIZES[self.dtype]

    @property
    def kind(self):
        return LIKE.get(self.group, self.group)


def cases(quick):
    def of(group, op, dtype, shape):
        return Case(group, op, dtype, "x".join(map(str, shape)), shape)

    for k in (20, 28) if quick else range(10, 31, 2):
        for op in ("sum", "max", "argmax"):
            yield Case("whole", op, "f32", f"2^{k}", (1 << k,))
    for k in (20, 28):
        for op in ("mean", "prod", "l2", "std", "logsumexp"):
            yield Case("operators", op, "f32", f"2^{k}", (1 << k,))
    for dtype in ("bf16", "f64", "i8"):
        for op in ("sum", "max", "argmax"):
            yield Case("types", op, dtype, "1 GiB", ((1 << 30) // SIZES[dtype],))
    for dtype in ("f32", "bf16"):
        for k in (20, 28) if quick else (16, 20, 24, 28):
            yield Case("pairs", "dot", dtype, f"2^{k}", (2, 1 << k))
    for dtype in ("f32", "bf16"):
        for group in ("rows", "columns"):
            for shape in MATRICES[::3] if quick else MATRICES:
                for op in ("sum", "max", "argmax") + ("logsumexp",) * (dtype == "f32"):
                    yield of(group, op, dtype, shape)
    for dtype in ("f32", "bf16"):
        for kind in SEGMENTS[2::7] if quick else SEGMENTS:
            for op in ("sum", "max", "argmax") if dtype == "f32" else ("sum",):
                yield Case("segments", op, dtype, kind, (1 << 28,))
    for dtype in ("f32", "bf16"):
        for shape in [MAP_SHAPES[0], MAP_SHAPES[4]] if quick else MAP_SHAPES:
            for op in MAPS:
                yield of("maps", op, dtype, shape)
    for rows, columns in [MAP_SHAPES[0], MAP_SHAPES[4]] if quick else MAP_SHAPES:
        for op in ("softmax_gradient", "layer_norm_gradient", "rms_norm_gradient"):
            yield Case("backward", op, "bf16", f"{rows}x{columns}", (2, rows, columns))
    for rows in (1, 1024) if quick else (1, 16, 256, 1024):
        for op in ("softmax", "log_softmax", "cross_entropy"):
            yield of("vocabulary", op, "bf16", (rows, 152064))
    for rows in (1, 4096) if quick else (1, 16, 256, 4096):
        for columns in (128, 1024, 4096, 16384):
            yield of("serving", "rms_norm", "bf16", (rows, columns))
            yield of("early", "rms_norm", "bf16", (rows, columns))
    for dtype in ("f32", "bf16"):
        for name in list(LISTS)[:2] if quick else LISTS:
            for op in ("norm L2", "norm Inf"):
                # Each tensor begins at a multiple of 256 bytes.
                yield Case("gradients", op, dtype, name, (sum(padded(LISTS[name], SIZES[dtype])),))
    yield of("gpt2", "layer_norm", "f32", (4096, 768))
    yield of("gpt2", "causal_softmax", "f32", (48, 1024, 1024))
    yield Case("determinism", "sum", "f32", "2^24", (1 << 24,))
    yield Case("accuracy", "sum", "f32", "2^20 uniform", (1 << 20,))
    yield Case("accuracy", "sum", "f32", "2^20 ill-conditioned", (1 << 20,))


def padded(lens, size):
    return [-(-n * size // 256) * 256 // size for n in lens]


# Numbers


def hashed(i):
    """The hash of indices. Products wrap around at 64 bits, which leaves their lower 32 right."""
    h = i * 2654435761 & 0xFFFFFFFF
    h ^= h >> 15
    h = h * 2246822519 & 0xFFFFFFFF
    h ^= h >> 13
    h = h * 3266489917 & 0xFFFFFFFF
    return h ^ h >> 16


def indices(first, end):
    return torch.arange(first, end, device="cuda")


@functools.lru_cache(1)
def pool(dtype):
    """As many elements of a type as fit 4 GiB, in [-0.5, 0.5)."""
    numbers = torch.empty(POOL_BYTES // dtype.itemsize, dtype=dtype, device="cuda")
    for first in range(0, len(numbers), 1 << 24):
        end = min(first + (1 << 24), len(numbers))
        drawn = (hashed(indices(first, end)) >> 8).double() / 2**24 - 0.5
        numbers[first:end] = drawn if dtype.is_floating_point else drawn * 256
    return numbers


def signed(word):
    """The 64 bits of an integer, as torch has them."""
    word &= (1 << 64) - 1
    return word - (word >> 63 << 64)


@functools.lru_cache(1)
def uniform():
    """2^23 numbers in [0, 1) of a congruential generator: the first so many states, then as many behind them, and so on."""
    factor, addend = 6364136223846793005, 1442695040888963407
    states = torch.tensor([signed(factor + addend)], device="cuda")
    while len(states) < 1 << 23:
        states = torch.cat([states, states * signed(factor) + signed(addend)])
        factor, addend = factor * factor % 2**64, (factor + 1) * addend % 2**64
    return (states >> 40 & 0xFFFFFF).double() / 2**24


def offsets_of(kind, count):
    """Where segments begin, and the end of the last."""
    if kind.startswith("2^"):
        return torch.arange(0, count + 1, 1 << int(kind[2:]), device="cuda")
    if kind == "one huge among a million of 3":
        lens = torch.full((1_000_001,), 3, device="cuda")
        lens[1_000_000 // 3] = count - 3_000_000
    elif kind == "1..2047":
        lens = 1 + (uniform() * 2047).long()
    else:
        lens = (8 / (uniform() + 1e-9)).clamp(max=1e7).long()
    ends = lens.cumsum(0)
    return torch.cat([indices(0, 1), ends[ends < count], indices(count, count + 1)])


def accurate(case):
    i = indices(0, 1 << 20)
    if case == "2^20 uniform":
        return (hashed(i) >> 8).float() / 2**24
    k = i * 2654435761 % 2**20
    k ^= k >> 10
    k = k * 2246822519 % 2**20
    k ^= k >> 7
    large = k < 1 << 19
    v = ((1 << 23) + (hashed(torch.where(large, k >> 1, k)) >> 9)).float() / 2**24
    return torch.where(large, v * (1 - 2 * (k & 1)) * 2**20, v)


class Given:
    """What the functions of a case read, and what they should answer for the first buffer."""

    def __init__(self, case):
        self.case = case
        self.weight = self.bias = self.targets = self.mask = self.offsets = None
        dtypes = {"f32": torch.float32, "bf16": torch.bfloat16, "f64": torch.float64, "i8": torch.int8}
        dtype = dtypes[case.dtype]
        count, n = math.prod(case.shape), case.shape[-1]
        if case.group == "accuracy":
            self.buffers = [accurate(case.case)]
        else:
            numbers = pool(dtype)
            each = min(64, len(numbers) // count)
            self.buffers = [numbers[i * count : (i + 1) * count].view(case.shape) for i in range(each)]
        if case.op.startswith(("layer_norm", "rms_norm")):
            self.weight = 1 + pool(dtype)[:n]
        if case.group == "gpt2" and case.op == "layer_norm":
            self.bias = pool(dtype)[n : 2 * n].clone()
        if case.op == "cross_entropy":
            self.targets = indices(0, case.shape[0]) * 7919 % n
        if case.op == "causal_softmax":
            self.mask = torch.ones(n, n, dtype=torch.bool, device="cuda").triu(1)
        if case.group == "segments":
            self.offsets = offsets_of(case.case, count)
        self.bytes = case.bytes
        if self.offsets is not None:
            self.bytes += 12 * (len(self.offsets) - 1)
        if case.group != "accuracy":
            self.expected, self.relative, self.absolute = self.answer(dtype)

    def answer(self, dtype):
        """The answer in float64, and how far off another may be.

        A sum may be off by 1024 roundings of the norm of its elements, many times what a tree of them comes to.
        Where one slot takes all, one after the other, sums stray further.
        A map may be off by 64 roundings in f32, and by two in bf16.
        """
        x, case, double = self.buffers[0], self.case, torch.float64
        rounding = torch.finfo(dtype).eps if dtype.is_floating_point else 0
        if case.group == "segments" and case.op != "sum":
            return torch.segment_reduce(x, "max", offsets=self.offsets, unsafe=True).double(), 0, 0
        if case.group == "segments":
            ends = [torch.cat([x.new_zeros(1, dtype=double), y.cumsum(0)]) for y in (x.double(), x.double().square())]
            sums, squares = (y[self.offsets[1:]] - y[self.offsets[:-1]] for y in ends)
            return sums, rounding, 1024 * rounding * squares.clamp(min=0).sqrt() + 1e-9
        if case.op == "sum" and not dtype.is_floating_point:
            return x.sum(self.axis).double(), 0, 0
        if case.op == "sum":
            norm = torch.linalg.vector_norm(x, dim=self.axis, dtype=double)
            roundings = 16384 if case.group == "determinism" else 1024
            return x.sum(self.axis, dtype=double), rounding, roundings * min(rounding, 2**-23) * norm
        if case.op in ("max", "argmax"):
            return torch.amax(x, self.axis).double(), 0, 0
        if case.op == "dot":
            products = x[0].double() * x[1].double()
            return products.sum(), 2 * rounding, 1024 * 2**-23 * torch.linalg.vector_norm(products)
        if case.group in ("operators", "rows", "columns"):
            # Some of them add up all elements first.
            return plain(self)(x.double()), 1024 * rounding, 1024 * rounding
        if case.group == "gradients":
            order = 2 if case.op == "norm L2" else math.inf
            norms = torch.stack([torch.linalg.vector_norm(tensor.double(), order) for tensor in tensors_of(case, x)])
            return torch.linalg.vector_norm(norms, order), 4 * rounding + 1024 * 2**-23, 0
        if case.group == "backward":
            # Each element takes a sum over its row, in f32. Who rounds its terms to 16 bits, as PyTorch's softmax does, fails.
            return backward(self)(x.double()), 2 * rounding, 64 * 2**-23 * math.sqrt(case.shape[-1])
        wide = copy.copy(self)
        wide.weight = None if self.weight is None else self.weight.double()
        wide.bias = None if self.bias is None else self.bias.double()
        relative = 64 * 2**-23 + (2 * rounding if dtype is torch.bfloat16 else 0)
        absolute = 0 if case.op in ("softmax", "causal_softmax") else 64 * 2**-23
        return plain(wide)(x.double()), relative, absolute

    @property
    def axis(self):
        return 0 if self.case.group == "columns" else -1

    def check(self, y):
        """Raises unless y is the answer for the first buffer."""
        y, x = as_tensor(y), self.buffers[0]
        if self.case.group == "segments" and self.case.op == "argmax":
            starts, lens = self.offsets[:-1], self.offsets.diff()
            y = torch.where((y >= 0) & (y < lens), x[(starts + y).clamp(0, len(x) - 1)], math.nan)
        elif self.case.op == "argmax":
            inside = (y >= 0) & (y < x.shape[self.axis])
            places = torch.where(inside, y, 0).long().unsqueeze(self.axis)
            y = torch.where(inside, x.gather(self.axis, places).squeeze(self.axis).double(), math.nan)
        if y.shape != self.expected.shape:
            raise ValueError(f"shape {tuple(y.shape)} instead of {tuple(self.expected.shape)}")
        y = y.double()
        right = (y - self.expected).abs() <= self.relative * self.expected.abs() + self.absolute
        if not right.all():
            got, wanted = y[~right].flatten()[0].item(), self.expected[~right].flatten()[0].item()
            raise ValueError(f"{(~right).sum().item()} of {y.numel()} answers are wrong: one is {got}, not {wanted}")


def as_tensor(y):
    return y if isinstance(y, torch.Tensor) else torch.as_tensor(y, device="cuda")


# How it is measured


def measure_time(function, given):
    # Memory of an output that is not written all over holds NaN: the allocator hands out again what is freed last.
    itemsize = 8 if given.case.op == "argmax" else SIZES[given.case.dtype]
    torch.full((given.expected.numel() * itemsize,), 0xFF, dtype=torch.uint8, device="cuda")
    given.check(function(given.buffers[0]))
    size = given.buffers[0].nbytes
    inner = 32 if size <= 1 << 27 else 8 if size <= 1 << 28 else 4
    inputs = [given.buffers[i % len(given.buffers)] for i in range(inner)]

    def calls():
        # All outputs live until the last, so that each call writes to its own.
        return [function(x) for x in inputs]

    calls()
    torch.cuda.synchronize()
    more = {}
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
            calls()
        run = graph.replay
    except Exception as error:
        print(f"# no graph: {brief(error)}", file=sys.stderr)
        run, more = calls, {"note": "launches, not a graph"}
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for _ in range(18):
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / inner)
    return {"metric": "us", "value": round(statistics.median(times[3:]), 3), "bytes": given.bytes} | more


def measure_distinct(function, given):
    answers = torch.stack([as_tensor(function(given.buffers[0])).reshape(()) for _ in range(RUNS)])
    for answer in answers.unique():
        given.check(answer)
    return {"metric": "distinct", "value": len(set(answers.view(torch.int32).tolist())), "note": f"{RUNS} runs"}


def measure_ulp(function, given):
    x = given.buffers[0]
    exact = math.fsum(x.tolist())
    answer = as_tensor(function(x)).item()
    if not math.isfinite(answer):
        raise ValueError(f"the answer is {answer}")
    ulp = 2.0 ** (math.frexp(torch.tensor(exact, dtype=torch.float32).item())[1] - 24)
    return {"metric": "ulp", "value": round(abs(answer - exact) / ulp, 3)}


MEASURES = {"determinism": measure_distinct, "accuracy": measure_ulp}


# Peers. Each has a version, raises ImportError where it is absent, and makes a case's function, or None.


def plain(given):
    """The operation as PyTorch has it."""
    case, n, F = given.case, given.case.shape[-1:], torch.nn.functional
    if case.group == "segments":
        # Unsafe: it does not wait for the device to check the offsets. It has no argmax.
        fold = lambda x: torch.segment_reduce(x, case.op, offsets=given.offsets, unsafe=True)
        return None if case.op == "argmax" else fold
    if case.group == "gradients":
        order = 2.0 if case.op == "norm L2" else math.inf
        return lambda x: torch.nn.utils.get_total_norm(tensors_of(case, x), order)
    if case.op in OPERATORS:
        return lambda x: OPERATORS[case.op](x, given.axis)
    if case.op == "dot":
        return lambda x: torch.dot(x[0], x[1])
    if case.group == "backward":
        return backward_of_torch(given)
    if case.op in ("sum", "max", "argmax"):
        fold, axis = {"sum": torch.sum, "max": torch.amax, "argmax": torch.argmax}[case.op], given.axis
        return lambda x: fold(x, axis)
    weight, bias, targets, mask = given.weight, given.bias, given.targets, given.mask
    return {
        "softmax": lambda x: F.softmax(x, -1),
        "log_softmax": lambda x: F.log_softmax(x, -1),
        "layer_norm": lambda x: F.layer_norm(x, n, weight, bias, 1e-5),
        "rms_norm": lambda x: F.rms_norm(x, n, weight, 1e-6),
        "cross_entropy": lambda x: F.cross_entropy(x, targets, reduction="none"),
        "causal_softmax": lambda x: F.softmax((x * 0.125).masked_fill(mask, -math.inf), -1),
    }[case.op]


# Operators that PyTorch has under other names.
OPERATORS = {
    "mean": lambda x, axis: x.mean(axis),
    "prod": lambda x, axis: x.prod(axis),
    "l2": lambda x, axis: torch.linalg.vector_norm(x, dim=axis),
    "std": lambda x, axis: x.std(axis),
    "logsumexp": lambda x, axis: x.logsumexp(axis),
}


def tensors_of(case, x):
    """The tensors of a list, one behind the other."""
    lens = LISTS[case.case]
    return [part[:n] for part, n in zip(x.split(padded(lens, x.element_size())), lens)]


def backward(given):
    """The gradients of a row operation's inputs, by its formula. Of x the first half is the input, of softmax the output; the second is the
    gradient of the output. Means are 0, and the reciprocals of deviations 1."""
    weight, op = given.weight, given.case.op

    def function(x):
        wide = x.dtype if x.dtype is torch.float64 else torch.float32
        y, dy = x[0].to(wide), x[1].to(wide)
        if op == "softmax_gradient":
            return (y * (dy - (y * dy).sum(-1, keepdim=True))).to(x.dtype)
        dy = dy * weight.to(wide)
        dx = dy - y * (y * dy).mean(-1, keepdim=True)
        return (dx - dy.mean(-1, keepdim=True) if op == "layer_norm_gradient" else dx).to(x.dtype)

    return function


def backward_of_torch(given):
    """The same by what PyTorch's own backward passes call."""
    case, aten = given.case, torch.ops.aten
    rows, n = case.shape[1:]
    means, reciprocals = (make(rows, 1, device="cuda") for make in (torch.zeros, torch.ones))
    weight, bias = given.weight, None if given.weight is None else torch.zeros_like(given.weight)
    return {
        "softmax_gradient": lambda x: aten._softmax_backward_data(x[1], x[0], -1, x.dtype),
        "layer_norm_gradient": lambda x: aten.native_layer_norm_backward(
            x[1], x[0], [n], means, reciprocals, weight, bias, [True, False, False]
        )[0],
        "rms_norm_gradient": lambda x: aten._fused_rms_norm_backward(x[1], x[0], [n], reciprocals, weight, [True, False])[0],
    }[case.op]


class PyTorch:
    name = "PyTorch"
    groups = GROUPS

    def __init__(self):
        self.version = torch.__version__

    def make(self, given):
        return plain(given)


class Compiled(PyTorch):
    name = "torch.compile"
    groups = [group for group in GROUPS if group not in ("segments", "gradients")]

    def make(self, given):
        if given.case.group in ("whole", "types") and given.case.op == "argmax":
            return None
        torch.compiler.reset()
        return torch.compile((backward if given.case.group == "backward" else plain)(given), dynamic=False)


class IndexAdd(PyTorch):
    name = "PyTorch index_add"
    groups = ["determinism"]

    def make(self, given):
        slot = torch.zeros(given.case.shape, dtype=torch.int64, device="cuda")
        return lambda x: torch.zeros(1, device="cuda").index_add_(0, slot, x)[0]


class Wide(PyTorch):
    name = "f64 accumulation"
    groups = ["accuracy"]

    def make(self, given):
        return lambda x: x.sum(dtype=torch.float64).float()


def built_by_nvcc(name, includes=()):
    """The library that nvcc makes of a source beside this file."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        raise ImportError("no nvcc")
    major, minor = torch.cuda.get_device_capability()
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / f"{name}.so"
        flags = ["-O3", "-std=c++17", f"-arch=sm_{major}{minor}", "-shared", "-Xcompiler", "-fPIC"]
        flags += [f"-I{include}" for include in includes]
        source = Path(__file__).with_name(f"{name}.cu")
        done = subprocess.run([nvcc, *flags, "-o", built, source], capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stderr, file=sys.stderr)
            raise ImportError("nvcc failed")
        return ctypes.CDLL(str(built))


class Cub:
    name = "CUB"
    groups = ["whole", "types", "segments", "determinism", "accuracy"]

    def __init__(self):
        self.library = built_by_nvcc("cub")
        pointer, size = ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)
        length = ctypes.c_longlong
        self.library.reduce.argtypes = [ctypes.c_char_p, pointer, size, pointer, pointer, length, pointer, pointer]
        cub, cuda = self.library.cub_version(), self.library.cuda_version()
        self.version = f"{cub // 100000}.{cub // 100 % 1000} (CUDA {cuda // 1000}.{cuda // 10 % 100})"

    def make(self, given):
        case, offsets = given.case, given.offsets
        if case.op != "sum" and case.dtype != "f32":
            return None
        name = ("segments " * (case.group == "segments") + f"{case.op} {case.dtype}").encode()
        n, shape = given.buffers[0].numel(), ()
        dtype = {"f64": torch.float64, "i8": torch.int32}.get(case.dtype, torch.float32)
        if offsets is not None:
            n, shape = len(offsets) - 1, (len(offsets) - 1,)
        if case.op == "argmax":
            # Pairs of an index and its element: the latter in 8 bytes of a whole array, and in 4 of a segment.
            shape, dtype = ((2,), torch.int64) if offsets is None else ((n, 2), torch.int32)
        scratch_bytes = ctypes.c_size_t(0)

        def enqueue(scratch, x, answer):
            stream = torch.cuda.current_stream().cuda_stream
            ends = None if offsets is None else offsets.data_ptr()
            code = self.library.reduce(name, scratch, scratch_bytes, x, answer, n, ends, stream)
            if code != 0:
                raise RuntimeError(f"CUDA error {code}")

        enqueue(None, None, None)
        scratch = torch.empty(max(1, scratch_bytes.value), dtype=torch.uint8, device="cuda")

        def function(x):
            answer = torch.empty(shape, dtype=dtype, device="cuda")
            enqueue(scratch.data_ptr(), x.data_ptr(), answer.data_ptr())
            return answer[..., 0] if case.op == "argmax" else answer

        return function


class CuPy:
    name = "CuPy"
    groups = ["whole", "accuracy"]

    def __init__(self):
        import cupy

        self.cupy, self.version = cupy, cupy.__version__
        self.stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)

    def make(self, given):
        cupy = self.cupy
        if given.case.dtype == "bf16":
            return None
        fold = {"sum": cupy.sum, "max": cupy.max, "argmax": cupy.argmax}[given.case.op]

        def function(x):
            with self.stream:
                return fold(cupy.asarray(x))

        return function


class Quack:
    name = "QuACK"
    groups = ["maps"]
    LIBRARY = "sm_90a.so"

    def __init__(self):
        self.kernels = None
        try:
            from quack import cross_entropy, rmsnorm, softmax

            self.cross_entropy, self.norm, self.softmax = cross_entropy, rmsnorm, softmax
        except ImportError:
            # Where its compiler is missing, its kernels may be there, as carry.py compiles them.
            quack = importlib.util.find_spec("quack")
            library = quack and Path(quack.origin).with_name(self.LIBRARY)
            if not library or not library.exists():
                raise
            import tvm_ffi

            self.kernels = tvm_ffi.load_module(library)
        self.version = importlib.metadata.version("quack-kernels")

    @staticmethod
    def kernel(op, dtype, n):
        """The name of a kernel compiled ahead."""
        return f"{op}_{dtype}_{n}"

    def make(self, given):
        targets = given.targets
        # Its layer norm takes weights of f32 alone.
        weight = None if given.weight is None else given.weight.float()
        if self.kernels is not None:
            return self.make_ahead(given.case, weight, targets)
        return {
            "softmax": self.softmax.softmax_fwd,
            "layer_norm": lambda x: self.norm.layernorm_fwd(x, weight, eps=1e-5),
            "rms_norm": lambda x: self.norm.rmsnorm_fwd(x, weight, eps=1e-6)[0],
            "cross_entropy": lambda x: self.cross_entropy.cross_entropy_fwd(x, targets),
        }.get(given.case.op)

    def make_ahead(self, case, weight, targets):
        """What the functions above do, less their choice of a kernel."""
        rows, n = case.shape
        launches = {
            "softmax": lambda kernel, x, y: kernel(x, y),
            "layer_norm": lambda kernel, x, y: kernel(x, weight, None, None, y, None, None, None, 1e-5),
            "rms_norm": lambda kernel, x, y: kernel(x, weight, None, None, y, None, None, None, 1e-6),
            "cross_entropy": lambda kernel, x, y: kernel(x, targets, None, y, None, None, None, -100),
        }
        if case.op not in launches:
            return None
        kernel, launch = self.kernels[self.kernel(case.op, case.dtype, n)], launches[case.op]
        losses = case.op == "cross_entropy"

        def function(x):
            y = torch.empty(rows, device=x.device) if losses else torch.empty_like(x)
            launch(kernel, x, y)
            return y

        return function


class Liger:
    name = "Liger"
    groups = ["maps"]

    def __init__(self):
        from liger_kernel.ops import cross_entropy, layer_norm, rms_norm, softmax

        self.cross_entropy, self.layer_norm, self.rms_norm, self.softmax = cross_entropy, layer_norm, rms_norm, softmax
        self.version = importlib.metadata.version("liger-kernel")

    def make(self, given):
        weight = given.weight
        bias = None if weight is None else torch.zeros_like(weight)
        return {
            "softmax": lambda x: self.softmax._softmax_forward(x)[0],
            "layer_norm": lambda x: self.layer_norm.layer_norm_forward(x, weight, bias, 1e-5)[0],
            "rms_norm": lambda x: self.rms_norm.rms_norm_forward(x, weight, 1e-6, 0.0, "llama", None)[0],
            "cross_entropy": lambda x: self.losses(x, given.targets),
        }.get(given.case.op)

    def losses(self, x, targets):
        """Its kernel as its wrapper launches it. The wrapper itself waits for the device, which no graph can hold."""
        (rows, columns), ops = x.shape, self.cross_entropy
        losses = torch.zeros(rows, dtype=x.dtype, device=x.device)
        ops.liger_cross_entropy_kernel[(rows,)](
            X_ptr=x,
            X_stride=x.stride(0),
            Y_ptr=targets,
            Y_stride=1,
            weight_ptr=None,
            loss_ptr=losses,
            z_loss_ptr=None,
            loss_stride=1,
            token_accuracy_ptr=None,
            token_accuracy_stride=0,
            predicted_tokens_ptr=None,
            predicted_tokens_stride=0,
            n_cols=columns,
            n_non_ignore=rows,
            sum_non_ignore_weight=rows,
            weight_sum=0.0,
            ignore_index=-100,
            lse_square_scale=0.0,
            label_smoothing=0.0,
            reduction="none",
            softcap=None,
            RETURN_Z_LOSS=False,
            RETURN_TOKEN_ACCURACY=False,
            RETURN_PREDICTED_TOKENS=False,
            BLOCK_SIZE=min(ops.MAX_FUSED_SIZE, triton.next_power_of_2(columns)),
            HAS_WEIGHT=False,
            HAS_SOFTCAPPING=False,
            HAS_GRADIENTS=False,
            num_warps=32,
        )
        return losses


class FlashInfer:
    name = "FlashInfer"
    groups = ["serving", "early"]
    HEADERS = ["include", "csrc/nv_internal", "csrc/nv_internal/include"]

    def __init__(self):
        package = importlib.util.find_spec("flashinfer")
        if package is None:
            raise ImportError("no module named flashinfer")
        data = Path(package.submodule_search_locations[0]) / "data"
        self.library = built_by_nvcc("flashinfer", [data / headers for headers in self.HEADERS])
        pointer, number = ctypes.c_void_p, ctypes.c_uint
        self.library.rms_norm.argtypes = [pointer] * 3 + [number] * 2 + [ctypes.c_float, ctypes.c_bool, pointer]
        self.version = importlib.metadata.version("flashinfer-python")

    def make(self, given):
        (rows, columns), early = given.case.shape, given.case.group == "early"

        def function(x):
            y = torch.empty_like(x)
            stream = torch.cuda.current_stream().cuda_stream
            pointers = x.data_ptr(), given.weight.data_ptr(), y.data_ptr()
            code = self.library.rms_norm(*pointers, rows, columns, 1e-6, early, stream)
            if code != 0:
                raise RuntimeError(f"CUDA error {code}")
            return y

        return function


# Triton's kernels are our own, written as its tutorials write theirs.

if triton is not None:

    @triton.jit
    def block_sums(x, sums, n, steps, ACC: tl.constexpr, BLOCK: tl.constexpr):
        first = tl.program_id(0).to(tl.int64) * steps * BLOCK
        acc = tl.zeros((BLOCK,), ACC)
        for step in range(steps):
            at = first + step * BLOCK + tl.arange(0, BLOCK)
            acc += tl.load(x + at, mask=at < n, other=0).to(ACC)
        tl.store(sums + tl.program_id(0), tl.sum(acc))

    @triton.jit
    def atomic_sum(x, y, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(y, tl.sum(tl.load(x + at, mask=at < n, other=0)))

    @triton.jit
    def row_sums(x, y, n, BLOCK: tl.constexpr):
        row = x + tl.program_id(0).to(tl.int64) * n
        acc = tl.zeros((BLOCK,), tl.float32)
        for first in range(0, n, BLOCK):
            at = first + tl.arange(0, BLOCK)
            acc += tl.load(row + at, mask=at < n, other=0).to(tl.float32)
        tl.store(y + tl.program_id(0), tl.sum(acc))

    @triton.jit
    def softmax_of_short_rows(x, y, n, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * n
        at = tl.arange(0, BLOCK)
        exps = tl.load(x + row + at, mask=at < n, other=-float("inf")).to(tl.float32)
        exps = tl.exp(exps - tl.max(exps))
        tl.store(y + row + at, exps / tl.sum(exps), mask=at < n)

    @triton.jit
    def softmax_of_long_rows(x, y, n, BLOCK: tl.constexpr):
        """In two passes, of rows of a multiple of BLOCK elements."""
        row = tl.program_id(0).to(tl.int64) * n
        at = row + tl.arange(0, BLOCK)
        tops = tl.full((BLOCK,), -float("inf"), tl.float32)
        sums = tl.zeros((BLOCK,), tl.float32)
        for first in range(0, n, BLOCK):
            numbers = tl.load(x + at + first).to(tl.float32)
            higher = tl.maximum(tops, numbers)
            sums = sums * tl.exp(tops - higher) + tl.exp(numbers - higher)
            tops = higher
        top = tl.max(tops)
        scale = 1 / tl.sum(sums * tl.exp(tops - top))
        for first in range(0, n, BLOCK):
            numbers = tl.load(x + at + first).to(tl.float32)
            tl.store(y + at + first, tl.exp(numbers - top) * scale)


class Triton:
    name = "Triton"
    groups = ["whole", "rows", "maps"]

    def __init__(self):
        if triton is None:
            raise ImportError(no_triton)
        self.version = triton.__version__

    def make(self, given):
        case = given.case
        if case.op == "sum":
            return self.sum if case.group == "whole" else self.sum_rows
        # Its kernel of long rows takes whole blocks alone.
        is_taken = case.shape[-1] <= 16384 or case.shape[-1] % 8192 == 0
        return self.softmax if case.op == "softmax" and is_taken else None

    @staticmethod
    def sum(x):
        n, block = x.numel(), 4096
        wide, acc = (torch.float64, tl.float64) if x.dtype is torch.float64 else (torch.float32, tl.float32)
        blocks = min(2048, triton.cdiv(n, block))
        y = torch.empty((), dtype=x.dtype, device=x.device)
        if blocks > 1:
            sums = torch.empty(blocks, dtype=wide, device=x.device)
            block_sums[(blocks,)](x, sums, n, triton.cdiv(n, blocks * block), acc, block, num_warps=8)
            x, n = sums, blocks
        block_sums[(1,)](x, y, n, 1, acc, block, num_warps=8)
        return y

    @staticmethod
    def sum_rows(x):
        rows, n = x.shape
        y = torch.empty(rows, dtype=x.dtype, device=x.device)
        row_sums[(rows,)](x, y, n, min(4096, triton.next_power_of_2(n)), num_warps=1 if n <= 256 else 8)
        return y

    @staticmethod
    def softmax(x):
        rows, n = x.shape
        y = torch.empty_like(x)
        if n <= 16384:
            block = triton.next_power_of_2(n)
            softmax_of_short_rows[(rows,)](x, y, n, block, num_warps=max(1, min(16, block // 512)))
        else:
            softmax_of_long_rows[(rows,)](x, y, n, 8192, num_warps=16)
        return y


class TritonAtomic(Triton):
    name = "Triton atomic"
    groups = ["determinism"]

    def make(self, given):
        def function(x):
            y = torch.zeros((), device=x.device)
            atomic_sum[(triton.cdiv(x.numel(), 4096),)](x, y, x.numel(), 4096, num_warps=8)
            return y

        return function


PEERS = [Cub, PyTorch, Compiled, Triton, TritonAtomic, IndexAdd, CuPy, Quack, Liger, FlashInfer, Wide]


def brief(error):
    text = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {text[0]}"[:300]


def main():
    # What libraries print goes to stderr.
    stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(**line):
        print(json.dumps(line), file=stdout, flush=True)

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(peer.name for peer in PEERS))
    parser.add_argument("--group", default=",".join(ALL_GROUPS))
    parser.add_argument("--quick", action="store_true", help="two sizes of each group")
    args = parser.parse_args()
    names, groups = args.only.lower().split(","), args.group.split(",")
    if unknown := set(names) - {peer.name.lower() for peer in PEERS} | set(groups) - set(ALL_GROUPS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")

    wanted = [peer for peer in PEERS if peer.name.lower() in names and set(peer.groups) & {of for group in groups for of in (group, LIKE.get(group))}]
    missing = no_torch if torch is None else None if torch.cuda.is_available() else "no CUDA device"
    if missing is None:
        print(f"# {torch.cuda.get_device_name()}", file=sys.stderr)
        # A graph can't be captured on the default stream.
        torch.cuda.set_stream(torch.cuda.Stream())
    peers = []
    for kind in wanted:
        try:
            if missing is not None:
                raise ImportError(missing)
            peers.append(kind())
        except Exception as error:
            say(who=kind.name, absent=str(error) if isinstance(error, ImportError) else brief(error))
    for case in cases(args.quick):
        takers = [peer for peer in peers if {case.group, case.kind} & set(peer.groups) and case.group in groups]
        of = {"group": case.group, "op": case.op, "dtype": case.dtype, "case": case.case}
        given = None
        for peer in takers:
            try:
                given = given or Given(case)
                function = peer.make(given)
                if function is not None:
                    measured = MEASURES.get(case.group, measure_time)(function, given)
                    say(who=peer.name, version=peer.version, **of, **measured)
            except Exception as error:
                say(who=peer.name, **of, failed=brief(error))


if __name__ == "__main__":
    main()
