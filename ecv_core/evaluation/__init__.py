"""A fitted model and held-out interactions -> every ranking metric per user and on average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.errors import InputError
from ecv_core.evaluation.ranking import METRICS, Metric, per_user
from ecv_core.evaluation.topn import TopN, recommend
from ecv_core.records import Progress, no_progress

if TYPE_CHECKING:
    import torch

__all__ = [
    "METRICS",
    "Evaluation",
    "Metric",
    "TopN",
    "evaluate",
    "hits_of",
    "per_user",
    "recommend",
]

USERS_AT_ONCE = 8192
"""Users whose metrics are computed together, to bound the memory of long lists."""


class Scorer(Protocol):
    """The part of a recommender that evaluation needs."""

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        """Scores of all items for a block of users, as in `models.base.Recommender`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """Scores of the users who have something held out, per user and on average.

    `users` has shape (evaluated users,), row numbers of the training matrix. `values` has shape
    (evaluated users, len(metrics)); `metrics` names its columns, 'ndcg@10'.
    """

    users: NDArray[np.int32]
    metrics: tuple[str, ...]
    values: NDArray[np.float64]
    means: Mapping[str, float]

    def of(self, metric: str) -> NDArray[np.float64]:
        """One metric's values; shape (evaluated users,)."""
        return self.values[:, self.metrics.index(metric)]


def evaluate(
    model: Scorer,
    train: csr_array,
    held_out: csr_array,
    cutoffs: Sequence[int],
    progress: Progress = no_progress,
) -> Evaluation:
    """Rank all items but a user's training items, for each user with something held out.

    Args:
        model: fitted on `train`.
        train: shape (users, items), as the model got it.
        held_out: shape (users, items), nonzero where the user has the item held out.
        cutoffs: list lengths at which every metric is computed, in any order.
        progress: called with ("evaluate", users done, users).
    Raises: InputError for bad cut-offs or nothing held out; RunError for scores that are not
        finite; Cancelled from `progress`.
    """
    lengths = _checked(cutoffs, items=train.shape[1])
    held_counts = np.diff(held_out.indptr)
    users = np.flatnonzero(held_counts)
    if not len(users):
        raise InputError("no interaction is held out, so there is nothing to evaluate: use k folds")
    hits = np.zeros((len(users), max(lengths)), dtype=np.bool_)
    done = 0
    progress("evaluate", 0, len(users))
    for top in recommend(model.score, train, users, max(lengths)):
        hits[done : done + len(top.users)] = hits_of(top, held_out)
        done += len(top.users)
        progress("evaluate", done, len(users))
    names = tuple(f"{metric}@{n}" for n in lengths for metric in METRICS)
    values = np.empty((len(users), len(names)))
    for start in range(0, len(users), USERS_AT_ONCE):
        part = slice(start, start + USERS_AT_ONCE)
        scores = per_user(hits[part], held_counts[users[part]], lengths)
        values[part] = np.stack([scores[metric] for metric in METRICS], axis=2).reshape(
            -1, len(names)
        )
    means = dict(zip(names, values.mean(axis=0).tolist(), strict=True))
    return Evaluation(users=users.astype(np.int32), metrics=names, values=values, means=means)


def hits_of(top: TopN, held_out: csr_array) -> NDArray[np.bool_]:
    """Which of the recommended items are held out; shape as `top.items`."""
    items = held_out.shape[1]
    relevant = held_out[top.users]
    if not relevant.has_sorted_indices:
        relevant.sort_indices()
    row = np.arange(len(top.users))
    # One number per cell of the block, so that one sorted search looks all of them up.
    known = np.repeat(row, np.diff(relevant.indptr)) * items + relevant.indices
    wanted = np.where(top.items < 0, -1, row[:, None] * items + top.items)
    at = np.searchsorted(known, wanted)
    found: NDArray[np.bool_] = np.append(known, -2)[at] == wanted
    return found


def _checked(cutoffs: Sequence[int], *, items: int) -> tuple[int, ...]:
    if not cutoffs:
        raise InputError("no cut-off is given: name at least one list length, such as 10")
    for n in cutoffs:
        if n != int(n) or n < 1:
            raise InputError(f"a cut-off must be a whole number from 1 on, but is {n}")
        if n > items:
            raise InputError(f"cut-off {n} is more than the dataset's {items} items: use {items}")
    return tuple(sorted({int(n) for n in cutoffs}))
