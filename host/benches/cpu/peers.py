"""A peer on a CPU, in a process of its own: `peers.py NAME THREADS`, which benches/cpu/peers.rs starts.

Prints its version. Then it answers each line of stdin, `OP TYPE COUNT NUMBER...` or `OP TYPE ROWSxLEN NUMBER...`: by the shortest time of a call in seconds, `-`
where it has no such operator or type, or `wrong` and a number of its own. The array is that of our side; the numbers are our answer, or as many numbers of it at
equal distances. No answer is timed before it agrees.
"""
import os
import sys
import time

name, threads = sys.argv[1:3]
os.environ.update(OMP_NUM_THREADS=threads, OPENBLAS_NUM_THREADS=threads, MKL_NUM_THREADS=threads)


class NumPy:
    """The plain formulae."""

    types = dict(f16="float16", f32="float32", f64="float64", i32="int32", i64="int64", u8="uint8")

    def __init__(self):
        import numpy as np

        def l2(a):
            return np.sqrt(np.dot(a, a))

        def logsumexp(a):
            m = a.max()
            return m + np.log(np.exp(a - m).sum())

        def softmax(a):
            e = np.exp(a - a.max(1, keepdims=True))
            return e / e.sum(1, keepdims=True)

        def log_softmax(a):
            a = a - a.max(1, keepdims=True)
            return a - np.log(np.exp(a).sum(1, keepdims=True))

        def normed(a, squares, epsilon):
            return a / np.sqrt(squares.mean(1, keepdims=True) + epsilon)

        def layer_norm(a):
            a = a - a.mean(1, keepdims=True)
            return normed(a, a * a, 1e-5) * self.weights + self.weights

        self.np, self.version = np, np.__version__
        self.calls = {
            "sum": np.sum, "min": np.min, "max": np.max, "mean": np.mean, "argmax": np.argmax, "std": lambda a: np.std(a, ddof=1), "l2": l2,
            "logsumexp": logsumexp, "count-nonzero": np.count_nonzero, "any": np.any, "all": np.all,
            "softmax": softmax, "log-softmax": log_softmax, "layer-norm": layer_norm,
            "rms-norm": lambda a: normed(a, a * a, 1e-6) * self.weights,
            "cross-entropy": lambda a: -np.take_along_axis(log_softmax(a), self.targets, 1),
            "softmax-gradient": lambda a: a * (self.gradients - (a * self.gradients).sum(1, keepdims=True)),
        }

    def array(self, element, lowest, shape):
        np = self.np
        a = (np.arange(np.prod(shape)) % 251 + lowest).astype(self.types[element]).reshape(shape)
        if len(shape) == 2:
            a = a / a.dtype.type(32)
            self.weights = np.full(shape[1], 1.5, a.dtype)
            self.targets = np.arange(shape[0])[:, None] * 37 % shape[1]
            self.gradients = a.copy()
        return a

    def numbers(self, answer, at):
        flat = self.np.ravel(answer)
        return [float(flat[i]) for i in at(flat.size)]


class PyTorch:
    """Eager."""

    types = dict(f16="float16", bf16="bfloat16", f32="float32", f64="float64", i32="int32", i64="int64", u8="uint8")

    def __init__(self):
        import torch
        import torch.nn.functional as F

        torch.set_num_threads(int(threads))
        self.torch, self.version = torch, torch.__version__
        self.calls = {
            "sum": torch.sum, "min": torch.amin, "max": torch.amax, "mean": torch.mean, "argmax": torch.argmax, "std": torch.std,
            "l2": torch.linalg.vector_norm, "logsumexp": lambda a: a.logsumexp(0), "count-nonzero": torch.count_nonzero, "any": torch.any,
            "all": torch.all, "l1": lambda a: torch.linalg.vector_norm(a, 1), "prod": torch.prod,
            "softmax": lambda a: a.softmax(-1), "log-softmax": lambda a: a.log_softmax(-1),
            "layer-norm": lambda a: F.layer_norm(a, a.shape[1:], self.weights, self.weights),
            "rms-norm": lambda a: F.rms_norm(a, a.shape[1:], self.weights, 1e-6),
            "cross-entropy": lambda a: F.cross_entropy(a, self.targets, reduction="none"),
            "softmax-gradient": lambda a: torch._softmax_backward_data(self.gradients, a, -1, a.dtype),
            "softmax into": lambda a: torch.softmax(a, -1, out=self.answers),
            "log-softmax into": lambda a: torch.log_softmax(a, -1, out=self.answers),
        }

    def array(self, element, lowest, shape):
        torch = self.torch
        a = (torch.arange(shape[0] * (shape[1] if len(shape) == 2 else 1)) % 251 + lowest).reshape(shape)
        if len(shape) == 1:
            return a.to(getattr(torch, self.types[element]))
        a = (a / 32).to(getattr(torch, self.types[element]))
        self.weights = torch.full(shape[1:], 1.5, dtype=a.dtype)
        self.targets = torch.arange(shape[0]) * 37 % shape[1]
        self.gradients, self.answers = a.clone(), torch.empty_like(a)
        return a

    def numbers(self, answer, at):
        flat = answer.reshape(-1)
        return [float(flat[i]) for i in at(flat.numel())]


def agree(theirs, ours, element):
    within = 2e-2 if element in ("bf16", "f16") else 1e-3
    return abs(theirs - ours) <= within * max(abs(ours), abs(theirs)) + within / 100 or theirs == ours or (theirs != theirs and ours != ours)


def shortest(call, a):
    repeats, best, spent = 1, float("inf"), 0.0
    while spent < 0.15:
        start = time.perf_counter()
        for _ in range(repeats):
            call(a)
        took = time.perf_counter() - start
        best, spent = min(best, took / repeats), spent + took
        if took < 1e-3:
            repeats *= 2
    return best


def main():
    peer = {"NumPy": NumPy, "PyTorch": PyTorch}[name]()
    print(peer.version, flush=True)
    array = (None, None)
    for line in sys.stdin:
        op, element, count, *ours = line.rstrip("\n").split("\t")
        if op not in peer.calls or element not in peer.types:
            print("-", flush=True)
            continue
        if array[0] != (element, count):
            array = None, None
            array = (element, count), peer.array(element, 0 if element[0] == "u" else -125, tuple(map(int, count.split("x"))))
        call, a = peer.calls[op], array[1]
        try:
            at = lambda size: [i * (size - 1) // max(len(ours) - 1, 1) for i in range(len(ours))]
            theirs = peer.numbers(call(a), at)
        except (RuntimeError, TypeError):
            print("-", flush=True)
            continue
        wrong = [pair for pair in zip(theirs, map(float, ours)) if not agree(*pair, element)]
        print(f"wrong: {wrong[0][0]}, not {wrong[0][1]}" if wrong else shortest(call, a), flush=True)


main()
