"""mode.report(): each reduction of torch's own kernels is listed, and nothing else is."""

import warnings

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F

import warpfold.torch as wt
from test_torch import bits, values

aten = torch.ops.aten
X, Y, SQUARE = values(6, 70), values(6, 70, seed=1), values(6, 6, seed=2)
IMAGE = values(2, 3, 8, 8)
AT = torch.tensor([0, 3, 3, 1, 0, 5])
COLUMNS = AT.unsqueeze(1).expand(6, 70)
SEGMENTS = torch.tensor([2, 4])


def symmetric():
    return SQUARE @ SQUARE.T + torch.eye(6)


REDUCING = {
    "mkldnn_rnn_layer": lambda: torch.nn.LSTM(70, 5)(X),
    "addmv": lambda: torch.addmv(X[:, 0], X, Y[0]),
    "addbmm": lambda: torch.addbmm(SQUARE, X.unsqueeze(0), Y.T.unsqueeze(0)),
    "vdot": lambda: torch.vdot(X[0], Y[0]),
    "_trilinear": lambda: torch.nn.Bilinear(70, 70, 3)(X, Y),
    "_sparse_addmm": lambda: torch.sparse.mm(SQUARE.to_sparse(), X),
    "linalg_matrix_exp": lambda: torch.matrix_exp(SQUARE),
    "_linalg_solve_ex": lambda: torch.linalg.solve(symmetric(), X),
    "_linalg_det": lambda: torch.linalg.det(SQUARE),
    "scatter_reduce.two": lambda: X.scatter_reduce(0, COLUMNS, Y, "sum"),
    "scatter.reduce": lambda: torch.scatter(X, 0, COLUMNS, Y, reduce="add"),
    "index_reduce": lambda: X.index_reduce(0, AT, Y, "mean"),
    "segment_reduce": lambda: torch.segment_reduce(X, "mean", lengths=SEGMENTS),
    "put_": lambda: X.clone().put_(AT, Y[0, :6], accumulate=True),
    "index_put_": lambda: X.clone().index_put_((AT,), Y, accumulate=True),
    "_embedding_bag_forward_only": lambda: F.embedding_bag(AT.view(2, 3), X),
    "_masked_softmax": lambda: torch._masked_softmax(X, X > 0, -1),
    "_pdist_forward": lambda: F.pdist(X),
    "trace": lambda: torch.trace(SQUARE),
    "multilabel_margin_loss_forward": lambda: F.multilabel_margin_loss(SQUARE, AT.expand(6, 6), reduction="none"),
    "_upsample_bilinear2d_aa": lambda: F.interpolate(IMAGE, size=(3, 3), mode="bilinear", antialias=True),
    "_fft_r2c": lambda: torch.fft.rfft(X),
    "histc": lambda: torch.histc(X),
    "bincount": lambda: torch.bincount(AT, X[:, 0]),
    "_native_batch_norm_legit.no_stats": lambda: F.batch_norm(IMAGE, None, None, training=True),
    "mse_loss": lambda: F.mse_loss(X, Y),
    "sum.dim_IntList": lambda: AT.sum(0, dtype=torch.float32),
}

NOTHING = {
    "elements": lambda: F.hardswish(torch.nn.GELU()(X * 2 + Y).clamp_(0), inplace=True),
    "gradients of elements": lambda: torch.autograd.grad(F.silu(F.leaky_relu(F.glu(LEAF))), LEAF, torch.ones(6, 35)),
    "lists of tensors": lambda: torch._foreach_add_([X.clone()], 1),
    "copies": lambda: torch.cat([X[AT].T.contiguous().half().float(), Y.T.flip(0)]).view(-1).repeat(2).zero_(),
    "an optimizer": lambda: aten._fused_adam_([X.clone()], [Y], [Y.clone()], [Y * Y], [], [X[0, 0]], lr=0.1, beta1=0.9, beta2=0.9,
                                              weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False),
    "random numbers": lambda: F.dropout(torch.rand_like(X).normal_()).bernoulli(0.5),
    "an order": lambda: (X.sort(), X.topk(3), X.median(), X.max(), X.amax(0), X.cummax(0), F.max_pool2d(IMAGE, 2), X.unique()),
    "integers": lambda: (AT.sum(), AT.cumsum(0), AT.view(2, 3) @ AT.view(3, 2), torch.bincount(AT)),
    "integers of elements": lambda: (X.nonzero(), torch.searchsorted(X[0].sort()[0], Y), torch.equal(X, Y), X[0, 0].item()),
    "one element": lambda: X[:1, 0].cumsum(0),
    "no element": lambda: X[:0].softmax(-1),
    "stores": lambda: (X.clone().index_put_((AT,), Y), X.scatter(0, COLUMNS, Y), X.put(AT, Y[0, :6])),
    "extrema": lambda: (X.scatter_reduce(0, COLUMNS, Y, "amax"), torch.segment_reduce(X, "max", lengths=SEGMENTS)),
    "losses of elements": lambda: (F.mse_loss(X, Y, reduction="none"), F.nll_loss(SQUARE, AT, reduction="none")),
    "batch norm as it was trained": lambda: torch.nn.BatchNorm2d(3).eval()(IMAGE),
}  # fmt: skip
LEAF = values(6, 70).requires_grad_()

TAKEN = {
    "huber_loss": lambda: F.huber_loss(X, Y),
    "binary_cross_entropy_with_logits": lambda: F.binary_cross_entropy_with_logits(X, Y.sigmoid()),
    "renorm": lambda: X.renorm(2, 0, 1.0),
    "sum": lambda: X.sum(),
    "_fused_rms_norm": lambda: F.rms_norm(X, (70,)),
}


def listed(call, enabled=True):
    """The operators that a report lists, and those that were taken."""
    with warnings.catch_warnings(), wt.set_batch_invariant_mode(enabled):
        warnings.simplefilter("ignore")
        with torch.no_grad() if call is not NOTHING["gradients of elements"] else torch.enable_grad(), wt.mode.report() as elsewhere:
            call()
    return {call.op for call in elsewhere.calls}, set(elsewhere.taken)


@pytest.mark.parametrize("name", REDUCING)
def test_what_torch_reduces_is_listed(name):
    assert name in listed(REDUCING[name])[0]


@pytest.mark.parametrize("name", NOTHING)
@pytest.mark.parametrize("enabled", [True, False])
def test_what_reduces_nothing_is_not(name, enabled):
    assert listed(NOTHING[name], enabled) == (set(), set())


@pytest.mark.parametrize("name", TAKEN)
def test_what_calls_an_override_is_taken(name):
    assert listed(TAKEN[name]) == (set(), {name})
    assert listed(TAKEN[name], enabled=False)[0]


@pytest.mark.filterwarnings("ignore")
def test_operators_of_inference_mode():
    model = torch.nn.Sequential(torch.nn.Linear(70, 70), torch.nn.LayerNorm(70), torch.nn.RMSNorm(70), torch.nn.Softmax(-1))
    with torch.inference_mode(), wt.set_batch_invariant_mode():
        expected = model(X)
        with wt.mode.report() as elsewhere:
            got = model(X)
    assert bits([got]) == bits([expected])
    assert [call.op for call in elsewhere.calls] == ["addmm"]
    assert set(elsewhere.taken) == {"native_layer_norm", "_fused_rms_norm", "_softmax"}


def test_another_librarys_operators_are_listed():
    with torch.library._scoped_library("reporting", "DEF") as library:
        library.define("whatever(Tensor x) -> Tensor")
        library.define("twice(Tensor x) -> Tensor", tags=torch.Tag.pointwise)
        library.impl("whatever", lambda x: x.sum(0), "CPU")
        library.impl("twice", lambda x: x * 2, "CPU")
        operators = torch.ops.reporting
        assert listed(lambda: operators.whatever(operators.twice(X)), enabled=False)[0] == {"reporting::whatever"}
