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


def test_wrong_arguments():
    with pytest.raises(ValueError, match="rows: 1"):
        check_batch_invariant(torch.exp, ROWS[:1])
    with pytest.raises(ValueError, match="the first axis is of rows"):
        check_batch_invariant(torch.sum, ROWS)
