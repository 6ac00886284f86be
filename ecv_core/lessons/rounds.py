"""Recorded runs -> the one that the chapters follow, and rounds of "predict the stop"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis.replay import replayed, stops_at
from ecv_core.records.errors import InputError
from ecv_core.records.run import Moment, Run
from ecv_core.stopping import EFold, moments, stop_of
from ecv_core.stopping.efold import products
from ecv_core.store.recorded import recorded_runs

GUIDE = ("hetrec-lastfm", "user-knn")
"""Its fold scores differ enough to be seen from the last row."""
CONFIDENCE = 0.95


def complete_runs() -> list[Run]:
    """The recorded runs of which every fold is in, ordered by name.

    Raises: InputError if there is none, or for a damaged file.
    """
    runs = [run for run in recorded_runs() if run.whole and run.k >= 4]
    if not runs:
        raise InputError(
            "no recorded run came with this copy, and this chapter is told with one; restore "
            "data/recorded, or record runs with: python -m ecv_core study --folder data/recorded"
        )
    return runs


def guide_run(runs: Sequence[Run]) -> Run:
    """The run GUIDE; the first one where it is missing."""
    for run in runs:
        if (run.spec.dataset, run.spec.algorithm) == GUIDE:
            return run
    return runs[0]


def scores_of(run: Run) -> NDArray[np.float64]:
    """The fold scores by fold index; shape (k,)."""
    return np.array([fold.score for fold in run.folds_in_order])


MAX_ROUND = 9999
FIRST_VOTE = 3
"""The first fold after which the rule can stop."""
_TRIES = 400
_ALPHAS = np.array([a * 10.0**b for b in range(-8, -1) for a in (1, 2, 3, 5, 7)])
NEAR = (1.3, 10.0)
"""Width x change and alpha differ by a factor in this range where a vote is neither impossible
nor obvious for one who works it out in the head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GameRound:
    """One round; what players may see is up to the page."""

    number: int
    run: Run
    alpha: float
    moments: tuple[Moment, ...]
    """One per fold, in the order drawn, each with what the rule says there."""
    stop: int
    """Folds used; k if the rule never says stop."""

    @property
    def k(self) -> int:
        """Number of folds."""
        return len(self.moments)


def round_of(runs: Sequence[Run], number: int) -> GameRound:
    """The round with this number: the same for the same runs.

    The fold to stop at is drawn first, each as likely as any other, and then an alpha that stops
    there: otherwise most rounds would end at fold 3, and one would learn to say stop. At the first
    vote and at the stop the product is NEAR alpha, if any run and order have such an alpha.

    Args:
        runs: with all their folds, at least 4 each.
        number: from 1 to MAX_ROUND.
    Raises: InputError for a number out of range.
    """
    if not 1 <= number <= MAX_ROUND:
        raise InputError(f"rounds are numbered from 1 to {MAX_ROUND}, but this is {number}")
    rng = np.random.default_rng([number])
    wanted = int(rng.integers(FIRST_VOTE, max(len(run.folds) for run in runs) + 1))
    for at in range(_TRIES):
        if at >= _TRIES // 2:  # these runs have no such round
            wanted = int(rng.integers(FIRST_VOTE, len(runs[0].folds) + 1))
        run = runs[int(rng.integers(len(runs)))]
        k = len(run.folds)
        order = [int(fold) for fold in rng.permutation(k)]
        target = min(wanted, k)
        alpha = _alpha_for(run, order, target, rng, near=at < _TRIES // 2)
        if alpha is not None:
            by_fold = {fold.fold: fold for fold in run.folds}
            played = moments(EFold(alpha=alpha), [by_fold[fold] for fold in order], CONFIDENCE)
            stop = stop_of(played, k)
            assert stop is not None  # all k folds are in
            return GameRound(number=number, run=run, alpha=alpha, moments=tuple(played), stop=stop)
    raise InputError(f"no recorded run makes round {number}; try another number")


def _alpha_for(
    run: Run, order: Sequence[int], target: int, rng: np.random.Generator, *, near: bool
) -> float | None:
    """An alpha at which the run stops after `target` folds; None where no round one does.

    Args:
        run: with all its folds.
        order: of the folds.
        target: the stop.
        rng: draws among several.
        near: whether only an alpha NEAR the product of the first vote and of the stop will do.
    """
    played = replayed(scores_of(run), order, CONFIDENCE)
    fitting = _ALPHAS[stops_at(played, _ALPHAS) == target]
    if near:
        widths = np.array(products(played), dtype=np.float64)  # NaN before the third fold
        last = widths[target - 1] if target < len(widths) else np.nanmin(widths)
        votes = np.array([widths[FIRST_VOTE - 1], last])
        ratio = np.maximum(votes / fitting[:, None], fitting[:, None] / np.maximum(votes, 1e-300))
        fitting = fitting[((ratio >= NEAR[0]) & (ratio <= NEAR[1])).all(axis=1)]
    if not len(fitting):
        return None
    return float(f"{rng.choice(fitting):.0e}")
