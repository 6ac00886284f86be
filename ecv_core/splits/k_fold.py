"""k folds that hold out every interaction once: dealt user by user, or all together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import FoldsError
from ecv_core.records import Interactions

MAX_K = int(np.iinfo(np.int16).max)
"""Folds are numbered in 16 bits."""


def by_users(interactions: Interactions, k: int, seed: int, _: object) -> NDArray[np.int16]:
    """`deal_users`, checked. Raises: FoldsError if k does not fit or a fold stays empty."""
    check_k(interactions, k)
    return filled(deal_users(interactions, k, seed), k)


def by_records(interactions: Interactions, k: int, seed: int, _: object) -> NDArray[np.int16]:
    """`deal_records`, checked. Raises: FoldsError if k does not fit."""
    check_k(interactions, k)
    return deal_records(interactions, k, seed)


def deal_users(interactions: Interactions, k: int, seed: int) -> NDArray[np.int16]:
    """Each user's interactions, shuffled and dealt evenly over the k folds.

    A user's fold sizes differ by at most one, and which folds get the extra one is random. A user
    with fewer than k interactions has each put into an independent random fold.

    Args: interactions; k >= 2; seed.
    Returns: shape (interactions,), in 0 .. k-1.
    Source: papers/e-fold-cross-validation, protocol: "each user is equally represented".
    """
    rng = np.random.default_rng(seed)
    count = len(interactions)
    shuffled = rng.permutation(count)
    by_user = shuffled[np.argsort(interactions.users[shuffled], kind="stable")]
    users = interactions.users[by_user]
    sizes = np.bincount(users, minlength=interactions.n_users)
    rank = np.arange(count) - (np.cumsum(sizes) - sizes)[users]

    deals = sizes >= k
    # Each such user gets an own order of the folds, so that no fold is favoured with the extras.
    orders = rng.permuted(np.tile(np.arange(k, dtype=np.int16), (int(deals.sum()), 1)), axis=1)
    row = np.cumsum(deals) - 1
    dealt = deals[users]

    assignment = np.empty(count, dtype=np.int16)
    assignment[by_user[dealt]] = orders[row[users[dealt]], rank[dealt] % k]
    assignment[by_user[~dealt]] = rng.integers(k, size=count - int(dealt.sum()), dtype=np.int16)
    return assignment


def deal_records(interactions: Interactions, k: int, seed: int) -> NDArray[np.int16]:
    """All interactions, shuffled and dealt evenly; which folds get one more is random.

    Args: interactions; k >= 2; seed.
    Returns: shape (interactions,), in 0 .. k-1.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(k).astype(np.int16)
    dealt = np.resize(order, len(interactions))
    rng.shuffle(dealt)
    return dealt


def check_k(interactions: Interactions, k: int) -> None:
    """Refuse a number of folds that these interactions cannot fill.

    Raises: FoldsError for k below 2, above the number of interactions, or above MAX_K.
    """
    most = min(len(interactions), MAX_K)
    if most < 2:
        raise FoldsError(
            f"{interactions.dataset} has {len(interactions)} interactions, too few to make folds; "
            "choose a dataset with at least 2"
        )
    if not 2 <= k <= most:
        raise FoldsError(
            f"cannot make {k} folds of {interactions.dataset}; choose k from 2 to {most}"
        )


def filled(assignment: NDArray[np.int16], k: int) -> NDArray[np.int16]:
    """The assignment, if every fold holds something out. Raises: FoldsError for an empty one."""
    empty = np.flatnonzero(np.bincount(assignment, minlength=k) == 0)
    if len(empty):
        raise FoldsError(
            f"{len(empty)} of {k} folds stayed empty (fold {empty[0]} is the first), because "
            "too few users have that many interactions; choose a smaller k than "
            f"{k}, or the split 'record-k-fold', which fills every fold"
        )
    return assignment
