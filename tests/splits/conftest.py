import numpy as np
import pytest

from ecv_core.records.interactions import Interactions


def _interactions(sizes, *, n_items=None, seed=0, times=None, baskets=None):
    """Users with the given numbers of interactions, sorted by user and item.

    `times` and `baskets` give one number per interaction, in that order.
    """
    rng = np.random.default_rng(seed)
    n_items = n_items or max([*sizes, 1]) + 3
    items = [np.sort(rng.choice(n_items, size, replace=False)) for size in sizes]
    return Interactions(
        dataset="tiny",
        users=np.repeat(np.arange(len(sizes)), sizes).astype(np.int32),
        items=np.concatenate([*items, np.empty(0)]).astype(np.int32),
        user_ids=np.array([f"u{10 - n}" for n in range(len(sizes))]),  # not in the codes' order
        item_ids=np.array([f"i{n}" for n in range(n_items)]),
        timestamps=None if times is None else np.array(times, dtype=np.int64),
        baskets=None if baskets is None else np.array(baskets, dtype=np.int32),
    )


@pytest.fixture(scope="session")
def make_interactions():
    return _interactions
