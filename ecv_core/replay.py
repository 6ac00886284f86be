"""Fold scores in a chosen order -> the moments of figure 1, and where each alpha would stop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ecv_core.records import Energy, FoldResult, Moment
from ecv_core.stopping import Never, moments, rule
from ecv_core.stopping.efold import EFold, least_alpha


def replayed(scores: NDArray[np.float64], order: Sequence[int], confidence: float) -> list[Moment]:
    """Where a run stood after each fold, had the folds come in this order.

    Args:
        scores: one per fold; shape (k,).
        order: fold indices.
        confidence: of the intervals.
    """
    return moments(Never(), [_result(fold, float(scores[fold])) for fold in order], confidence)


def stops_at(played: Sequence[Moment], alphas: NDArray[np.float64]) -> NDArray[np.intp]:
    """The fold after which the paper's rule stops at each alpha; k if it never does.

    Args:
        played: all k moments.
        alphas: shape (alphas,).
    """
    first = EFold(alpha=1.0, min_folds=rule("e-fold").least_folds).first
    k = len(played)
    least = np.full(k, np.inf)
    for n in range(first, k + 1):
        before, now = played[n - 2].interval, played[n - 1].interval
        assert before is not None
        assert now is not None
        least[n - 1] = least_alpha(before.width, now.width)
    fires = least[None, :] <= alphas[:, None]
    fires[:, -1] = True  # all folds are in
    stops: NDArray[np.intp] = np.argmax(fires, axis=1) + 1
    return stops


def _result(fold: int, score: float) -> FoldResult:
    return FoldResult(
        fold=fold,
        score=score,
        metrics={},
        users=0,
        fit_seconds=0.0,
        evaluate_seconds=0.0,
        total_seconds=0.0,
        energy=Energy.none(),
    )
