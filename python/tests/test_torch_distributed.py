"""warpfold.torch.distributed over gloo: 1 to 4 ranks have the bits of one."""

import socket

import pytest

torch = pytest.importorskip("torch")
import numpy as np
import torch.distributed as dist

import warpfold as wf
import warpfold.torch as wt
from test_torch import bits, values

VOCABULARY = 5003


def parts(length, ranks, seed):
    """Random parts; of seed 1 the first is empty, and of seed 3 the last."""
    cuts = sorted(np.random.default_rng(seed).integers(0, length + 1, ranks - 1).tolist())
    if cuts and seed in (1, 3):
        cuts = sorted([*cuts[1:], 0 if seed == 1 else length])
    return list(zip([0, *cuts], [*cuts, length]))


def reductions(rank, ranks, group, wtd):
    x = values(30_000)
    table = values(3, 4000, 2)
    for seed in range(4):
        first, end = parts(len(x), ranks, seed)[rank]
        for op, dtype in [
            ("sum", torch.float32),
            ("sum", torch.bfloat16),
            ("logsumexp", torch.float64),
            ("argmax", torch.float16),
            ("max", torch.float8_e5m2),
            ("var", torch.float32),
        ]:
            whole = x.to(dtype)
            got = wtd.reduce(op, whole[first:end], group=group, first=first, length=len(x))
            assert bits([got]) == bits([getattr(wf, op)(whole)]), (op, dtype, seed)
        assert bits(wtd.reduce("minmax", x[first:end], group=group, first=first, length=len(x))) == bits(wf.minmax(x))
        got = wtd.reduce("sum", x[first:end], group=group, first=first, length=len(x), accuracy="exact")
        assert bits([got]) == bits([wf.sum(x, accuracy="exact")])
        first, end = parts(4000, ranks, seed)[rank]
        got = wtd.reduce("mean", table[:, first:end], group=group, first=first, length=4000, axis=1)
        assert bits([got]) == bits([wf.mean(table, axis=1)])

    wanting = x.clone().requires_grad_()
    with pytest.raises(ValueError, match="x: it requires grad"):
        wtd.reduce("sum", wanting, group=group, first=0, length=len(x))
    with torch.no_grad():
        first, end = parts(len(x), ranks, 0)[rank]
        got = wtd.reduce("sum", wanting[first:end], group=group, first=first, length=len(x))
    assert bits([got]) == bits([wf.sum(x)])


def log_probs(rank, ranks, group, wtd):
    for seed, dtype in enumerate([torch.float32, torch.bfloat16, torch.float32]):
        logits = values(2, 3, VOCABULARY, seed=seed).to(dtype)
        targets = torch.tensor([[0, VOCABULARY - 1, -100], [7, 2500, 4999]])
        shares = wf.split(VOCABULARY, ranks, torch.float32) if seed == 2 else parts(VOCABULARY, ranks, seed)
        first, end = shares[rank]
        whole, shard = logits.clone().requires_grad_(), logits[..., first:end].clone().requires_grad_()
        expected = wt.token_log_probs(whole, targets)
        got = wtd.token_log_probs(shard, targets, group=group, first=first, whole=VOCABULARY)
        weights = values(2, 3, seed=9)
        (expected * weights).sum().backward()
        (got * weights).sum().backward()
        assert bits([got, shard.grad]) == bits([expected, whole.grad[..., first:end]]), seed
    with pytest.raises(ValueError, match="targets: one is in no rank's shard"):
        wtd.token_log_probs(shard, targets + 1, group=group, first=first, whole=VOCABULARY)
    for wrong, name in (((shard.double(), targets), "logits"), ((shard, targets.float()), "targets")):
        with pytest.raises(TypeError, match=f"^{name}: "):
            wtd.token_log_probs(*wrong, group=group, first=first, whole=VOCABULARY)
    with pytest.raises(RuntimeError, match="torch.func"):
        torch.func.grad(lambda shard: wtd.token_log_probs(shard, targets, group=group, first=first, whole=VOCABULARY).sum())(shard.detach())


def clipping(rank, ranks, group, wtd):
    shapes = [(50, 40), (7,), (9000,), (3, 3)]
    for norm_type in (2.0, 1.0, float("inf")):
        whole = [torch.nn.Parameter(torch.zeros(shape)) for shape in shapes]
        mine = []
        for seed, p in enumerate(whole):
            first, end = parts(p.numel(), ranks, seed)[rank]
            mine.append(torch.nn.Parameter(torch.zeros(end - first)))
            if p is not whole[3]:
                p.grad = values(*p.shape, seed=seed)
                mine[-1].grad = p.grad.flatten()[first:end].clone()
            if seed == 1 and first == end:
                mine[-1].grad = None
        got, expected = wtd.clip_grad_norm_(mine, 2.5, norm_type, group=group), wt.clip_grad_norm_(whole, 2.5, norm_type)
        assert bits([got]) == bits([expected]), norm_type
        for seed, (p, q) in enumerate(zip(whole[:3], mine)):
            first, end = parts(p.numel(), ranks, seed)[rank]
            assert q.grad is None or bits([q.grad]) == bits([p.grad.flatten()[first:end]])
        assert mine[3].grad is None
    got, expected = wtd.clip_grad_norm_(mine, 2.5, "inf", group=group), wt.clip_grad_norm_(whole, 2.5, "inf")
    assert bits([got]) == bits([expected])
    with pytest.raises(ValueError, match="^norm_type: -1"):
        wtd.clip_grad_norm_(mine, 2.5, -1, group=group)
    if ranks > 1:
        with pytest.raises(ValueError, match="params: ranks have different numbers of them"):
            wtd.clip_grad_norm_(mine[: 2 + (rank == 0)], 2.5, group=group)


def sharded_tensors(rank, ranks, group, wtd):
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    mesh = DeviceMesh.from_group(group, "cpu")
    whole = torch.nn.Parameter(values(10, 700))
    whole.grad = values(10, 700, seed=1)
    mine = torch.nn.Parameter(distribute_tensor(whole.detach(), mesh, [Shard(0)]))
    mine.grad = distribute_tensor(whole.grad.clone(), mesh, [Shard(0)])
    got, expected = wtd.clip_grad_norm_(mine, 1.5, group=group), wt.clip_grad_norm_(whole, 1.5)
    assert bits([got, mine.grad.full_tensor()]) == bits([expected, whole.grad])
    mine.grad = distribute_tensor(whole.grad.clone(), mesh, [Replicate()]).redistribute(mesh, [Replicate()])
    with pytest.raises(ValueError, match="a gradient is placed as"):
        wtd.clip_grad_norm_(mine, 1.5, group=group)


def plain_addition_differs(rank, ranks, group):
    """The data show an order: ranks that add their sums get other bits for some split."""
    x = values(30_000)
    found = set()
    for seed in range(4):
        first, end = parts(len(x), ranks, seed)[rank]
        total = x[first:end].sum()
        dist.all_reduce(total, group=group)
        found.add(total.item())
    assert len(found) > 1


def run(rank, port):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=4)
    import warpfold.torch.distributed as wtd

    for ranks in (1, 2, 3, 4):
        group = dist.new_group(range(ranks))
        if rank >= ranks:
            continue
        assert wtd.all_gather_bytes(b"x" * rank, group=group) == [b"x" * other for other in range(ranks)]
        for check in (reductions, log_probs, clipping, sharded_tensors):
            check(rank, ranks, group, wtd)
        if ranks > 1:
            plain_addition_differs(rank, ranks, group)
    dist.destroy_process_group()


def test_ranks_have_the_bits_of_one():
    """Groups of the first 1, 2, 3 and 4 of four processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(run, (port,), nprocs=4)
