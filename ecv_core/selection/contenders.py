"""What a selection chooses from: contenders with their scores on the same folds and users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import InputError
from ecv_core.records import FoldResult, UserScores


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contender:
    """One of several runs of which the best is wanted, with what is known of it so far."""

    name: str
    scores: NDArray[np.float64]
    """Mean of each fold, by fold index; shape (k,); NaN where it has not been run."""
    values: NDArray[np.floating] | None
    """A score per fold and user, the same users for all contenders; shape (k, users); NaN where a
    user has nothing held out, or the fold has not been run. None for a metric without any."""
    joules: NDArray[np.float64]
    """Of each fold; shape (k,); NaN where it is not known."""
    random: bool = True
    """Whether its scores depend on random numbers; True where that is not known."""

    @property
    def folds(self) -> int:
        """Bits of the folds that it has run."""
        return sum(1 << int(index) for index in np.flatnonzero(~np.isnan(self.scores)))


def contender_of(
    name: str,
    results: Sequence[FoldResult],
    users: Mapping[int, UserScores],
    everybody: NDArray[np.integer],
    *,
    k: int,
    metric: str,
    random: bool,
) -> Contender:
    """A contender from the folds of its run.

    Args:
        name: what it is called.
        results: its folds so far, in any order.
        users: fold -> per-user scores; empty for a metric that has none.
        everybody: sorted, every user that any contender has a score of.
        k: folds in all.
        metric: as in UserScores.metrics: 'ndcg@10'.
        random: whether its model draws random numbers.
    """
    scores, joules = np.full(k, np.nan), np.full(k, np.nan)
    known = bool(results) and all(
        result.fold in users and metric in users[result.fold].metrics for result in results
    )
    values = np.full((k, len(everybody)), np.nan, dtype=np.float32) if known else None
    for result in results:
        scores[result.fold] = result.score
        if result.energy.source != "none":
            joules[result.fold] = result.energy.joules
        if values is not None:
            one = users[result.fold]
            values[result.fold, np.searchsorted(everybody, one.users)] = one.of(metric)
    return Contender(name=name, scores=scores, values=values, joules=joules, random=random)


def check_contenders(contenders: Sequence[Contender]) -> None:
    """Refuse contenders that cannot be told apart or were not scored on the same users.

    Raises: InputError with which, and the way out.
    """
    names = [one.name for one in contenders]
    if len(set(names)) < 2:
        raise InputError(
            f"a selection needs at least two contenders, but has {len(set(names))}; name another"
        )
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"the contender '{twice[0]}' is there twice; leave one out")
    first = contenders[0]
    for one in contenders[1:]:
        if first.values is None or one.values is None:
            continue
        both = np.flatnonzero(~np.isnan(first.scores) & ~np.isnan(one.scores))
        apart = np.isnan(first.values[both]) != np.isnan(one.values[both])
        if apart.any():
            fold = int(both[np.flatnonzero(apart.any(axis=1))[0]])
            raise InputError(
                f"fold {fold} of '{one.name}' has other users than that of '{first.name}' "
                f"({int(apart.sum()):,} differ); contenders must be scored on the same users, so "
                "run both on the same folds"
            )
