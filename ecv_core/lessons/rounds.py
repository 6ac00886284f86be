"""Recorded runs -> rounds of 'predict the stop': a hidden run, an order of its folds, an alpha."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ecv_core.analysis.replay import replayed, stops_at
from ecv_core.errors import InputError
from ecv_core.lessons.guide import CONFIDENCE, scores_of
from ecv_core.records import Moment, Run
from ecv_core.stopping import EFold, moments, stop_of

MAX_ROUND = 9999
FIRST_VOTE = 3
"""The first fold after which the rule can stop."""
_TRIES = 50
_ALPHAS = np.array([a * 10.0**b for b in range(-8, -1) for a in (1, 2, 5)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
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

    @property
    def never(self) -> bool:
        """Whether all folds were used although the rule never said stop."""
        return not any(moment.decision.stop for moment in self.moments)


def round_of(runs: Sequence[Run], number: int) -> Round:
    """The round with this number: the same for the same runs.

    The fold to stop at is drawn first, each as likely as any other, and then an alpha that stops
    there: otherwise most rounds would end at fold 3, and one would learn to say stop.

    Args:
        runs: with all their folds, at least 4 each.
        number: from 1 to MAX_ROUND.
    Raises: InputError for a number out of range.
    """
    if not 1 <= number <= MAX_ROUND:
        raise InputError(f"rounds are numbered from 1 to {MAX_ROUND}, but this is {number}")
    rng = np.random.default_rng([number])
    for _ in range(_TRIES):
        run = runs[int(rng.integers(len(runs)))]
        k = len(run.folds)
        order = [int(fold) for fold in rng.permutation(k)]
        target = int(rng.integers(FIRST_VOTE, k + 1))
        alpha = _alpha_for(run, order, target, rng)
        if alpha is not None:
            by_fold = {fold.fold: fold for fold in run.folds}
            played = moments(EFold(alpha=alpha), [by_fold[fold] for fold in order], CONFIDENCE)
            stop = stop_of(played, k)
            assert stop is not None  # all k folds are in
            return Round(number=number, run=run, alpha=alpha, moments=tuple(played), stop=stop)
    raise InputError(f"no recorded run makes round {number}; try another number")


def _alpha_for(
    run: Run, order: Sequence[int], target: int, rng: np.random.Generator
) -> float | None:
    """An alpha at which the run stops after `target` folds; None where no round one does."""
    scores = scores_of(run)
    stops = stops_at(replayed(scores, order, CONFIDENCE), _ALPHAS)
    fitting = _ALPHAS[stops == target]
    if not len(fitting):
        return None
    # Where nothing fires, the largest alpha that does not: a tiny one would give it away.
    chosen = fitting[-1] if target == len(scores) else rng.choice(fitting)
    return float(f"{chosen:.0e}")
