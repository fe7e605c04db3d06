"""check_batch_invariant: passes what is invariant, and catches what is not."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import warpfold as wf
import warpfold.torch as wt
from test_torch import values
from warpfold.testing import BatchVariant, Vacuous, check_batch_invariant, shows_order

ROWS = values(9, 700)
SIZES = (1, 2, 8, 33)


def by_batch(change):
    """A row sum that changes with the batch."""

    def f(x):
        halves = x[..., ::2].sum(-1) + x[..., 1::2].sum(-1)
        return torch.where(torch.tensor(change(x)), halves, wt.sum(x, -1))

    return f


WRONG = {
    "batch of 8": by_batch(lambda x: [len(x) == 8] * len(x)),
    "position": by_batch(lambda x: [i == 1 for i in range(len(x))]),
    "strides": by_batch(lambda x: [not x.is_contiguous()] * len(x)),
    "alignment": by_batch(lambda x: [x.storage_offset() % 4 > 0] * len(x)),
    "neighbours": lambda x: wt.sum(x, -1) + x.mean(),
}


@pytest.mark.parametrize("name,terms", [("softmax", np.exp), ("log_softmax", np.exp), ("logsumexp", np.exp), ("norm", np.square)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_warpfold_passes(name, terms, dtype):
    ours = getattr(wt, name)
    check_batch_invariant(lambda x: ours(x, dim=-1), ROWS.to(dtype), batches=SIZES, terms=terms)


def test_several_answers_and_compilation():
    def f(x):
        y = wt.rms_norm(x, 700)
        return y, wt.var(y, -1)

    check_batch_invariant(f, ROWS, batches=(1, 3), compiled=True)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_caught(name):
    with pytest.raises(BatchVariant, match="are not those of the row alone"):
        check_batch_invariant(WRONG[name], ROWS, batches=SIZES)


def test_padding_is_caught():
    # Only beside a row of zeros.
    f = by_batch(lambda x: [bool((x == 0).all(-1).any())] * len(x))
    with pytest.raises(BatchVariant, match="padded with zeros"):
        check_batch_invariant(f, ROWS, batches=SIZES)


def test_numpy():
    rows = ROWS.numpy()
    check_batch_invariant(lambda x: wf.softmax(x), rows, batches=SIZES)
    with pytest.raises(BatchVariant):
        check_batch_invariant(lambda x: x.T.copy().sum(0) if len(x) > 3 else x.sum(1), rows, batches=SIZES)


def test_data_that_shows_nothing_is_refused():
    ones = torch.ones(4, 700)
    assert not shows_order(ones[0]) and shows_order(ROWS[0])
    with pytest.raises(Vacuous, match="rows \\[0, 1, 2, 3\\]"):
        check_batch_invariant(lambda x: x.sum(-1), ones)
    with pytest.raises(Vacuous, match="rows \\[1\\]"):
        check_batch_invariant(lambda x: x.sum(-1), torch.stack([ROWS[0], ones[0]]))
    check_batch_invariant(lambda x: wt.sum(x, -1), ROWS, batches=(1, 2), reordered=lambda x: wt.sum(x.flip(-1), -1))
    with pytest.raises(Vacuous, match="reordered has the bits of f"):
        exact = lambda x: wt.sum(x, -1, accuracy="exact")
        check_batch_invariant(exact, ROWS, batches=(1, 2), reordered=lambda x: exact(x.flip(-1)))


FORMS = {
    "type": (lambda x: x.view(torch.int32) if len(x) > 1 else x, "f answers torch.int32 .2, 700., where .* torch.float32 .2, 700."),
    "shape": (lambda x: x.unsqueeze(1) if len(x) > 1 else x.unsqueeze(2), "answers torch.float32 .2, 1, 700., where .* .2, 700, 1."),
    "width": (lambda x: x[:, : len(x)], "answers torch.float32 .2, 2., where .* .2, 1."),
    "item size": (lambda x: x.double() if len(x) > 1 else x, "answers torch.float64"),
    "number": (lambda x: (x, x) if len(x) > 1 else x, "answers torch.float32 .2, 700., torch.float32 .2, 700., where"),
    "rows": (lambda x: x[:1], "answers torch.float32 .1, 700., where .* .2, 700."),
    "library": (lambda x: x.numpy() if len(x) > 1 else x, "answers float32 .2, 700., where .* torch.float32"),
    "a row's contents": (lambda x: x[:, : 1 + int(x[0, 0] > 0)], "row . alone: f answers .*, and .* of row 0 alone"),
}


@pytest.mark.parametrize("name", FORMS)
def test_other_forms_are_caught(name):
    f, message = FORMS[name]
    with pytest.raises(BatchVariant, match=message):
        check_batch_invariant(f, ROWS, batches=(1, 2))


@pytest.mark.parametrize("row", [0, 299, 300, 767, 768, 1500, 1999])
def test_each_row_is_tried(row):
    rows = np.stack([x for x in values(2400, 300).numpy() if shows_order(x)][:2000])

    def f(x):
        at = (x == rows[row]).all(-1)
        return x.sum(-1) + at * np.float32(len(x) > 1)

    with pytest.raises(BatchVariant, match=f"row {row} at"):
        check_batch_invariant(f, rows, strides=False)


@pytest.mark.parametrize("rows", [ROWS, ROWS.numpy()], ids=["torch", "numpy"])
def test_f_may_change_its_batch(rows):
    def clamp(x):
        x *= x > 0
        return x

    before = rows.tobytes() if isinstance(rows, np.ndarray) else rows.numpy().tobytes()
    check_batch_invariant(clamp, rows, batches=SIZES, reordered=lambda x: -clamp(x))
    assert np.asarray(rows).tobytes() == before


def test_f_may_answer_any_layout():
    memory = torch.empty(64, 700)
    for f in (
        lambda x: torch.tensor(1.0).expand(len(x)),
        lambda x: np.broadcast_to(np.float32(1), len(x)),
        lambda x: torch.mul(x, 2, out=memory[: len(x)]),
        lambda x: x[:, :0],
        lambda x: torch.complex(x, x).conj(),
    ):
        check_batch_invariant(f, ROWS, batches=SIZES)


WRONG_ARGUMENTS = {
    "one row": ({"rows": ROWS[:1]}, ValueError, "rows: shape \\(1, 700\\)"),
    "no columns": ({"rows": ROWS[:, :0]}, ValueError, "rows: shape \\(9, 0\\)"),
    "no rows": ({"rows": ROWS[0, 0]}, ValueError, "rows: shape \\(\\)"),
    "a list": ({"rows": ROWS.tolist()}, TypeError, "rows: list"),
    "no batch": ({"batches": ()}, ValueError, "batches: \\(\\)"),
    "a batch of 0": ({"batches": (0,)}, ValueError, "batches: \\(0,\\)"),
    "a batch below 0": ({"batches": (2, -1)}, ValueError, "batches"),
    "batches of 1": ({"batches": (1,)}, ValueError, "batches: \\(1,\\); .* at least one of them above 1"),
    "a batch of 1.5": ({"batches": (1.5, 2)}, ValueError, "batches"),
    "batches, a number": ({"batches": 8}, ValueError, "batches: 8"),
    "another form": ({"reordered": lambda x: x.sum(-1)}, ValueError, "reordered: it answers torch.float32 .9. .* and f torch"),
    "another number": ({"reordered": lambda x: (x, x)}, ValueError, "reordered: it answers"),
    "no axis of rows": ({"f": torch.sum}, ValueError, "the first axis is of rows"),
    "a dict": ({"f": lambda x: {"y": x}}, TypeError, "f answered dict"),
    "none": ({"f": lambda x: None}, TypeError, "f answered NoneType"),
    "a float": ({"f": lambda x: (x, 1.0)}, TypeError, "f answered float"),
    "nothing": ({"f": lambda x: ()}, TypeError, "f answered an empty tuple"),
}


@pytest.mark.parametrize("name", WRONG_ARGUMENTS)
def test_wrong_arguments(name):
    arguments, error, message = WRONG_ARGUMENTS[name]
    with pytest.raises(error, match=message):
        check_batch_invariant(**{"f": torch.exp, "rows": ROWS, "batches": (1, 2)} | arguments)


def test_an_empty_row_shows_no_order():
    assert not shows_order(np.zeros(0, np.float32))
