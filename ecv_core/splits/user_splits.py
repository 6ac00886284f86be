"""Splits that test on users of their own, of whom only a fold-in part is learnt from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import FoldsError
from ecv_core.records import Interactions, Part
from ecv_core.splits.histories import random_histories, share_of
from ecv_core.splits.strategies import Assignment, Draw, Settings


def user_fold_in(
    interactions: Interactions, k: int, seed: int, settings: Settings
) -> Assignment | Draw:
    """Users dealt evenly into k folds; of each, the same random part is held out in its fold."""
    sizes = _held_sizes(interactions, float(settings["fold_in"]))
    users = np.flatnonzero(sizes)
    if not 2 <= k <= len(users):
        raise FoldsError(_too_few(interactions, len(users), f"deal into {k:,} folds", settings))
    rng = np.random.default_rng(seed)
    held = _held_out(interactions, sizes, rng)
    dealt = np.resize(rng.permutation(k).astype(np.int16), len(users))
    rng.shuffle(dealt)
    fold_of_user = np.full(interactions.n_users, -1, dtype=np.int16)
    fold_of_user[users] = dealt
    assignment = np.where(held, fold_of_user[interactions.users], -1).astype(np.int16)
    if not settings["validation"]:
        return assignment
    if k < 3:
        raise FoldsError(
            f"the split 'user-fold-in' with validation takes the next fold's users for it and so "
            f"needs k of at least 3, but it is {k}; choose a larger k, or no validation"
        )

    def draw(index: int) -> NDArray[np.int8]:
        parts = np.where(assignment == index, Part.TEST, Part.TRAIN).astype(np.int8)
        parts[assignment == (index + 1) % k] = Part.VALIDATION
        return parts

    return draw


def user_split(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """A random share of the users is tested, drawn anew for each of k repetitions."""
    sizes = _held_sizes(interactions, float(settings["fold_in"]))
    users = np.flatnonzero(sizes)
    everyone = np.array([len(users)], dtype=np.int32)
    test = int(share_of(everyone, float(settings["test"]))[0])
    validation = int(share_of(everyone - test, float(settings["validation"]))[0])
    if test == 0:
        raise FoldsError(_too_few(interactions, len(users), "test on some of them", settings))

    def draw(index: int) -> NDArray[np.int8]:
        rng = np.random.default_rng([seed, index])
        held = _held_out(interactions, sizes, rng)
        of_user = np.full(interactions.n_users, Part.TRAIN, dtype=np.int8)
        chosen = rng.permutation(users)
        of_user[chosen[:test]] = Part.TEST
        of_user[chosen[test : test + validation]] = Part.VALIDATION
        return np.where(held, of_user[interactions.users], Part.TRAIN).astype(np.int8)

    return draw


def _held_sizes(interactions: Interactions, fold_in: float) -> NDArray[np.int32]:
    """How many are held out of each user who is tested: all but the fold-in part; shape (users,).

    With a fold-in part, a user with a single interaction is never tested.
    """
    sizes = np.bincount(interactions.users, minlength=interactions.n_users).astype(np.int32)
    return share_of(sizes, 1 - fold_in) if fold_in else sizes


def _held_out(
    interactions: Interactions, sizes: NDArray[np.int32], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which interactions are held out when their user is tested, at random."""
    of = random_histories(interactions, rng)
    out: NDArray[np.bool_] = of.from_end < sizes[of.users]
    return out


def _too_few(interactions: Interactions, users: int, wish: str, settings: Settings) -> str:
    two = " with at least two interactions" if settings["fold_in"] else ""
    return (
        f"{interactions.dataset} has {users:,} users{two}, too few to {wish}; "
        f"choose a smaller k or more data, or the split 'record-k-fold'"
    )
