"""Each user's interactions in an order, and per-user holdouts counted from the end of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecv_core.records import Interactions, Part

Keys = NDArray[np.int64] | NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Histories:
    """Where each interaction stands in its user's history, and how long that is.

    What is counted are interactions or, for baskets, whole baskets. Arrays `users`, `from_start`
    and `from_end` (0 is the first and the last) have shape (interactions,); `sizes` (users,).
    """

    users: NDArray[np.int32]
    from_start: NDArray[np.int32]
    from_end: NDArray[np.int32]
    sizes: NDArray[np.int32]


def random_histories(interactions: Interactions, rng: np.random.Generator) -> Histories:
    """Each user's interactions in a random order."""
    return _histories(interactions, by_user(interactions, None, rng))


def timed_histories(interactions: Interactions, seed: int) -> Histories:
    """Each user's interactions in the order of time, equal times in a random order.

    Args: interactions with a `history`; seed of that random order.
    """
    rng = np.random.default_rng(seed)
    return _histories(interactions, by_user(interactions, interactions.history, rng))


def basket_histories(interactions: Interactions) -> Histories:
    """Each user's baskets in order; every interaction stands where its basket does.

    Args: interactions with `baskets`.
    """
    baskets = np.asarray(interactions.baskets)
    order = by_user(interactions, baskets, np.random.default_rng(0))
    users, baskets = interactions.users[order], baskets[order]
    new_user = np.ones(len(order), dtype=np.bool_)
    new_user[1:] = users[1:] != users[:-1]
    new = new_user.copy()
    new[1:] |= baskets[1:] != baskets[:-1]
    number = np.cumsum(new) - 1
    sizes = np.bincount(users[new], minlength=interactions.n_users)
    return _placed(interactions, order, number, sizes)


def by_user(
    interactions: Interactions, keys: Keys | None, rng: np.random.Generator
) -> NDArray[np.intp]:
    """The order that sorts by user, then by key, and at random within equal keys.

    Returns: indices, shape (interactions,).
    """
    shuffled = rng.permutation(len(interactions))
    users = interactions.users[shuffled]
    if keys is None or not len(keys):
        return shuffled[np.argsort(users, kind="stable")]
    low, high = int(keys.min()), int(keys.max())
    span = high - low + 1
    if span * interactions.n_users < 2**62:  # one sort of one number is several times faster
        joint = users.astype(np.int64) * span + (keys[shuffled].astype(np.int64) - low)
        return shuffled[np.argsort(joint, kind="stable")]
    return shuffled[np.lexsort((keys[shuffled], users))]


def _histories(interactions: Interactions, order: NDArray[np.intp]) -> Histories:
    sizes = np.bincount(interactions.users, minlength=interactions.n_users)
    return _placed(interactions, order, np.arange(len(order)), sizes)


def _placed(
    interactions: Interactions,
    order: NDArray[np.intp],
    number: NDArray[np.intp],
    sizes: NDArray[np.intp],
) -> Histories:
    """Places from running numbers of all users' units, one after the other."""
    users = interactions.users[order]
    from_start = np.empty(len(order), dtype=np.int32)
    from_start[order] = number - (np.cumsum(sizes) - sizes)[users]
    return Histories(
        users=interactions.users,
        from_start=from_start,
        from_end=(sizes[interactions.users] - 1 - from_start).astype(np.int32),
        sizes=sizes.astype(np.int32),
    )


def share_of(sizes: NDArray[np.int32], share: float) -> NDArray[np.int32]:
    """How many of each are `share` of them, rounded down, yet at least 1 and never all.

    None of fewer than 2, and none for a share of 0. Source: RecBole's ratio-based splitting.
    """
    if not share:
        return np.zeros_like(sizes)
    # The tiny addend keeps 0.29 * 100 at 29.
    wanted = np.floor(sizes * share + 1e-9).astype(np.int32)
    return np.where(sizes >= 2, np.clip(wanted, 1, np.maximum(sizes - 1, 1)), 0).astype(np.int32)


def hold_out(
    of: Histories,
    test: NDArray[np.int32],
    validation: NDArray[np.int32],
    skip: NDArray[np.int32] | int = 0,
) -> NDArray[np.int8]:
    """The end of each user's history held out, what is before it for validation, the rest learnt.

    A user who would be left without training is not tested: all is learnt from. What is skipped at
    the very end is unused, but for the first of a history, so that every user has some training.

    Args:
        of: histories in the order that counts.
        test: how many are held out of each user; shape (users,).
        validation: how many before those are for validation; shape (users,).
        skip: how many at the very end of each history are left out; shape (users,) or a number.
    Returns: the Part of each interaction; shape (interactions,).
    """
    skip = np.broadcast_to(np.asarray(skip, dtype=np.int32), of.sizes.shape)
    tested = (test > 0) & (of.sizes - skip - test - validation >= 1)
    test_end = skip + np.where(tested, test, 0)
    learnt_from = test_end + np.where(tested, validation, 0)
    place, users = of.from_end, of.users
    parts = np.full(len(users), Part.TRAIN, dtype=np.int8)
    parts[place < learnt_from[users]] = Part.VALIDATION
    parts[place < test_end[users]] = Part.TEST
    parts[(place < skip[users]) & (of.from_start > 0)] = Part.UNUSED
    # The only way to be before the skipped end and first is a history shorter than what is skipped.
    parts[(place < skip[users]) & (of.from_start == 0)] = Part.TRAIN
    return parts
