"""warpfold.torch.nn: torch.nn's modules, with warpfold's bits."""

import copy
import inspect

import pytest

torch = pytest.importorskip("torch")
from test_torch import bits, values

import warpfold.torch as wt

X, IMAGE = values(6, 70), values(3, 8, 5, 4)
T = torch.tensor([0, 69, 3, -100, 7, 7])
EPS = torch.finfo(torch.float32).eps

# A module's arguments, its input, and the function that it is.
MODULES = [
    ("RMSNorm", (70,), {}, X, lambda m, x: wt.rms_norm(x, 70, m.weight, EPS)),
    ("RMSNorm", ((5, 4), 1e-3, False), {}, IMAGE, lambda m, x: wt.rms_norm(x, (5, 4), None, 1e-3)),
    ("LayerNorm", (70,), {}, X, lambda m, x: wt.layer_norm(x, 70, m.weight, m.bias)),
    ("LayerNorm", ([5, 4],), {"bias": False}, IMAGE, lambda m, x: wt.layer_norm(x, (5, 4), m.weight)),
    ("LayerNorm", (70,), {"elementwise_affine": False, "eps": 1e-3}, X, lambda m, x: wt.layer_norm(x, 70, eps=1e-3)),
    ("GroupNorm", (4, 8), {}, IMAGE, lambda m, x: wt.group_norm(x, 4, m.weight, m.bias)),
    ("GroupNorm", (2, 8), {"affine": False}, IMAGE, lambda m, x: wt.group_norm(x, 2)),
    ("Softmax", (1,), {}, IMAGE, lambda m, x: wt.softmax(x, 1)),
    ("LogSoftmax", (-1,), {}, X, lambda m, x: wt.log_softmax(x)),
    ("CrossEntropyLoss", (), {}, (X, T), lambda m, x, t: wt.cross_entropy(x, t)),
    ("CrossEntropyLoss", (), {"size_average": False}, (X, T), lambda m, x, t: wt.cross_entropy(x, t, reduction="sum")),
    ("CrossEntropyLoss", (), {"reduction": "none", "ignore_index": 7, "label_smoothing": 0.1}, (X, T.clamp(min=0)),
     lambda m, x, t: wt.cross_entropy(x, t, reduction="none", ignore_index=7, label_smoothing=0.1)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:size_average and reduce")
@pytest.mark.parametrize("name,arguments,options,inputs,function", MODULES)
def test_modules(name, arguments, options, inputs, function):
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    theirs = getattr(torch.nn, name)(*arguments, **options)
    for seed, parameter in enumerate(theirs.parameters()):
        parameter.data.copy_(values(*parameter.shape, seed=seed))
    ours = getattr(wt.nn, name)(*arguments, **options)
    assert ours.load_state_dict(theirs.state_dict(), strict=True) and repr(ours) == repr(theirs)
    answer = ours(*inputs)
    assert bits([answer]) == bits([function(ours, *inputs)]) == bits([copy.deepcopy(ours)(*inputs)])
    torch.testing.assert_close(answer, theirs(*inputs), rtol=1e-4, atol=1e-4)
    if ours.state_dict():
        answer.sum().backward()
        assert all(p.grad is not None for p in ours.parameters())


@pytest.mark.parametrize("name", wt.nn.__all__)
def test_signatures(name):
    ours, theirs = (inspect.signature(getattr(module, name)) for module in (wt.nn, torch.nn))
    assert [(p.name, p.kind, p.default) for p in ours.parameters.values()] == [
        (p.name, p.kind, p.default) for p in theirs.parameters.values()
    ]
    forwards = [list(inspect.signature(getattr(module, name).forward).parameters) for module in (wt.nn, torch.nn)]
    assert forwards[0] == forwards[1]


REFUSED = {
    "weight": lambda: wt.nn.CrossEntropyLoss(torch.ones(70)),
    "target": lambda: wt.nn.CrossEntropyLoss()(X, X.softmax(-1)),
    "dim": wt.nn.Softmax,
    "reduction": lambda: wt.nn.CrossEntropyLoss(reduction="max")(X, T),
    "normalized_shape": lambda: wt.nn.RMSNorm(6)(X),
}


@pytest.mark.parametrize("argument", REFUSED)
def test_what_is_refused(argument):
    with pytest.raises(ValueError, match=f"^{argument}: "):
        REFUSED[argument]()


def test_compiled_for_any_number_of_rows():
    torch._dynamo.reset()
    norm = wt.nn.RMSNorm(70)
    step = lambda x: wt.mean(wt.sum(norm(x), 0))
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager", dynamic=True)
    for rows in (6, 5):
        x = X[:rows].clone().requires_grad_()
        ours, traced = (bits([y, *torch.autograd.grad(y, [x, norm.weight])]) for y in (step(x), compiled(x)))
        assert ours == traced
