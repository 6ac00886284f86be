"""Recorded runs -> the one that the chapters follow, and rounds of "predict the stop"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis.replay import result_of
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.run import Moment, RunRecord
from ecv_core.stopping import EFold, Never, moments
from ecv_core.stopping.efold import least_alpha_after_folds
from ecv_core.stopping.interval import difference_percent
from ecv_core.store.recorded import recorded_runs

GUIDE = ("hetrec-lastfm", "user-knn")
"""Its fold scores differ enough to be seen from the last row."""
CONFIDENCE = 0.95
FIRST_STOP = 3
"""The first fold after which the rule can stop."""


def complete_runs() -> list[RunRecord]:
    """The recorded runs of which every fold is in, ordered by name.

    Raises:
        InputError: If there is none, or for a damaged file.
    """
    runs = [run for run in recorded_runs() if run.whole and run.k > FIRST_STOP]
    if not runs:
        raise InputError(
            "no recorded run came with this copy, and this chapter is told with one; restore "
            "data/recorded, or record runs with: python -m ecv_core study --folder data/recorded"
        )
    return runs


def guide_run(runs: Sequence[RunRecord]) -> RunRecord:
    """The run GUIDE; the first one where it is missing."""
    for run in runs:
        if (run.spec.dataset, run.spec.algorithm) == GUIDE:
            return run
    return runs[0]


def scores_of(run: RunRecord) -> Floats:
    """The fold scores by fold index; shape (k,)."""
    return np.array([fold.score for fold in run.folds_in_order])


def moments_in_order(scores: Floats, order: Sequence[int]) -> list[Moment]:
    """Where a run stood after each fold, had the folds come in this order; intervals are of 95 %.

    Args:
        scores: One per fold; shape (k,).
        order: Fold indices.
    """
    folds = [result_of(fold, float(scores[fold])) for fold in order]
    return moments(Never(), folds, CONFIDENCE)


def stops_at(all_moments: Sequence[Moment], alphas: Floats) -> NDArray[np.intp]:
    """The fold after which the paper's rule stops at each alpha; k if it never does.

    Args:
        all_moments: All k moments.
        alphas: Shape (alphas,).
    """
    # The array has NaN where the rule stops at no alpha, and no alpha is at least NaN.
    least_alphas = np.array(least_alpha_after_folds(all_moments), dtype=np.float64)
    # `may_stop` has a row for each alpha, and a column for each fold.
    may_stop = least_alphas[None, :] <= alphas[:, None]
    may_stop[:, -1] = True  # every run ends after its last fold
    return np.argmax(may_stop, axis=1) + 1


MAX_ROUND = 9999
_POWERS = range(-8, -1)
_DIGITS = (1, 2, 3, 5, 7)
_TRIES = 400
"""Runs and orders that are drawn until one can stop where a round wants it."""
_ALPHAS = np.array([float(f"{digit}e{power}") for power, digit in product(_POWERS, _DIGITS)])


@dataclass(frozen=True, kw_only=True)
class GameRound:
    """One round; what players may see is up to the page."""

    number: int
    run: RunRecord
    alpha: float
    moments: tuple[Moment, ...]
    """One per fold, in the order drawn, each with what the rule says there."""
    stop: int
    """Folds used; k if the rule never says stop."""

    @property
    def k(self) -> int:
        """Number of folds."""
        return len(self.moments)

    @property
    def at_stop(self) -> Moment:
        """The moment after the last fold used."""
        return self.moments[self.stop - 1]

    @property
    def k_fold_mean(self) -> float:
        """Mean of all folds."""
        return self.moments[-1].mean

    @property
    def difference_percent(self) -> float:
        """From the mean at the stop to that of all folds."""
        return difference_percent(self.at_stop.mean, self.k_fold_mean)


def round_of(runs: Sequence[RunRecord], number: int) -> GameRound:
    """The round with this number: the same for the same runs.

    The fold to stop at is drawn first, each as likely as any other, and then an alpha that stops
    there: otherwise most rounds would end at fold 3, and one would learn to say stop.

    Args:
        runs: With all their folds, at least 4 each.
        number: From 1 to MAX_ROUND.

    Raises:
        InputError: For a number out of range.
    """
    if not 1 <= number <= MAX_ROUND:
        raise InputError(f"rounds are numbered from 1 to {MAX_ROUND}, but this is {number}")
    rng = np.random.default_rng([number])
    most_folds = max(run.k for run in runs)
    wanted_stop = int(rng.integers(FIRST_STOP, most_folds + 1))
    # The stop is drawn first, and then an alpha that stops there. Otherwise most rounds would end
    # at fold 3. A run cannot stop after every fold in every order, so several are tried.
    for _ in range(_TRIES):
        run = runs[int(rng.integers(len(runs)))]
        order = rng.permutation(run.k).tolist()
        stop = min(wanted_stop, run.k)
        stop_of_alpha = stops_at(moments_in_order(scores_of(run), order), _ALPHAS)
        alphas_that_stop_there = _ALPHAS[stop_of_alpha == stop]
        if alphas_that_stop_there.size:
            alpha = float(rng.choice(alphas_that_stop_there))
            folds = [run.folds_in_order[fold] for fold in order]
            all_moments = moments(EFold(alpha=alpha), folds, CONFIDENCE)
            return GameRound(
                number=number, run=run, alpha=alpha, moments=tuple(all_moments), stop=stop
            )
    raise InputError(f"no recorded run makes round {number}; try another number")
