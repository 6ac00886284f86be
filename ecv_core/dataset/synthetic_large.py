"""A size and a seed -> made-up interactions of any size, to see how cost grows with the data.

Every item is of one genre, and every user has two genres that they like. A user draws as many
items as a log-normal activity says, most of them from the genres that they like, by Zipf's
popularity; of an item drawn twice one interaction is left. So popularity explains part of what is
held out, tastes explain more, and the work is linear in the interactions, in blocks of users.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Interactions

NAME = "synthetic-large"
SIZE = 1_000_000
"""Interactions where the id says no other number."""
LEAST, MOST = 10_000, 1_000_000_000

ACTIVITY = 47
"""Interactions of a user, on average."""
DRAWS = 1.12
"""Draws for each interaction: the others are of what the user has already."""
ACTIVITY_SIGMA = 1.0
"""Standard deviation of the logarithm of activity."""
ITEMS_BY_ROOT = 6.5
"""Items for each square root of the interactions, as catalogues grow more slowly than their use."""
GENRES = 20
LIKED_SHARE = 0.6
"""Of the draws, those from a genre that the user likes."""
ZIPF_EXPONENT, ZIPF_SHIFT = 1.0, 50
DRAWS_AT_ONCE = 4_000_000


def size_of(dataset_id: str) -> int | None:
    """The interactions that an id asks for, 'synthetic-large-20000000'; None for other datasets.

    Raises: InputError for a size that is not offered.
    """
    name, _, size = dataset_id.rpartition("-")
    if dataset_id == NAME or name != NAME or not size.isdecimal():
        return SIZE if dataset_id == NAME else None
    if not LEAST <= int(size) <= MOST:
        raise InputError(f"{NAME} has from {LEAST:,} to {MOST:,} interactions, not {int(size):,}")
    return int(size)


def generate(size: int, seed: int = 20_261_123) -> Interactions:
    """About `size` interactions, sorted by user and then item, without ratings or times.

    The same size and seed give the same data under the same numpy version.
    """
    rng = np.random.default_rng(seed)
    n_users, n_items = max(size // ACTIVITY, 50), int(ITEMS_BY_ROOT * size**0.5)
    genres = np.sort(rng.integers(GENRES, size=n_items))
    popularity = (rng.permutation(n_items) + 1.0 + ZIPF_SHIFT) ** -ZIPF_EXPONENT
    upto = np.concatenate([[0.0], np.cumsum(popularity)])
    bounds = upto[np.searchsorted(genres, np.arange(GENRES + 1))]
    # The mean of a log-normal distribution is that of its logarithm plus half of its variance.
    logs = rng.normal(np.log(ACTIVITY * DRAWS) - ACTIVITY_SIGMA**2 / 2, ACTIVITY_SIGMA, n_users)
    draws = np.clip(np.exp(logs), 6, n_items // 4).astype(np.int64)
    liked = rng.integers(GENRES, size=(n_users, 2))
    parts: list[NDArray[np.int64]] = []
    for block in np.split(
        np.arange(n_users), np.flatnonzero(np.diff(np.cumsum(draws) // DRAWS_AT_ONCE)) + 1
    ):
        users = np.repeat(block, draws[block])
        genre = liked[users, rng.integers(2, size=len(users))]
        likes = rng.random(len(users)) < LIKED_SHARE
        low, high = (
            np.where(likes, bounds[genre], 0.0),
            np.where(likes, bounds[genre + 1], upto[-1]),
        )
        items = np.searchsorted(upto, low + rng.random(len(users)) * (high - low), "right") - 1
        drawn = np.sort(users * n_items + np.minimum(items, n_items - 1))
        parts.append(drawn[np.diff(drawn, prepend=-1) > 0])
    cells = np.concatenate(parts)
    return Interactions(
        dataset=NAME if size == SIZE else f"{NAME}-{size}",
        users=(cells // n_items).astype(np.int32),
        items=(cells % n_items).astype(np.int32),
        user_ids=np.char.zfill(np.arange(n_users).astype(str), 8),
        item_ids=np.char.zfill(np.arange(n_items).astype(str), 8),
    )
