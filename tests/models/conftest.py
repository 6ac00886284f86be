"""Small training matrices with known answers."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ecv_core.records.interactions import History


@pytest.fixture
def on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models compute there, as what a test works out by hand does, though there may be a GPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def checkerboard() -> csr_array:
    """20 users x 50 items; a user likes the items of its own parity, less item number `user`.

    Row u misses exactly one item of its kind: item u. All others of u's kind have it, so that it
    is the right recommendation. More items than users: a transposed input cannot pass.
    """
    users, items = np.arange(20)[:, None], np.arange(50)[None]
    return csr_array(((users % 2 == items % 2) & (users != items)).astype(np.float32))


@pytest.fixture
def lopsided() -> csr_array:
    """13 users x 41 items at random, with an empty user (3) and an item nobody has (7)."""
    rng = np.random.default_rng(5)
    dense = (rng.random((13, 41)) < 0.25).astype(np.float32)
    dense[3] = 0
    dense[:, 7] = 0
    return csr_array(dense)


@pytest.fixture
def one_basket_each():
    """Training matrix -> its history, in which every user bought everything at once."""

    def history(train: csr_array) -> History:
        return History(baskets=np.zeros(train.nnz, dtype=np.int64))

    return history
