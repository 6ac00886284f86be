"""A few made-up users, small enough for a picture, and the fold of each of their interactions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ecv_core import splits
from ecv_core.dataset import synthetic
from ecv_core.records.interactions import Interactions

MOST_K, SEED = 10, 7
SMALL = synthetic.Parameters(
    users=8, items=60, median_activity=15, activity_sigma=0.35, least_activity=8, most_activity=20
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deal:
    """Who has how many interactions, and where each goes."""

    users: list[int]
    """Interactions of each user."""
    folds: dict[int, list[list[int]]]
    """k -> per user, the fold 0 .. k-1 of each interaction; k from 2 to MOST_K."""


def small_deal() -> Deal:
    """The paper's split of the small users, for every k; always the same."""
    interactions = synthetic.generate(SEED, SMALL)
    order = np.argsort(interactions.users, kind="stable")
    users = interactions.users[order]
    return Deal(
        users=np.bincount(users, minlength=interactions.n_users).tolist(),
        folds={k: _dealt(interactions, k, order) for k in range(2, MOST_K + 1)},
    )


def _dealt(interactions: Interactions, k: int, order: np.ndarray) -> list[list[int]]:
    assignment = splits.split(interactions, "user-k-fold", k, SEED).assignment
    assert assignment is not None
    ends = np.cumsum(np.bincount(interactions.users[order]))[:-1]
    return [part.tolist() for part in np.split(assignment[order], ends)]
