"""Fold scores in running order -> what in them withdraws any promise: a fold far off, or a drift.

Each check asks the two-level variance (`fold_variance`): how likely is a fold so far from the mean
of the others, or so steep a slope, by what users explain and by what the other folds show? So a
model whose folds all differ much raises no alarm for a single one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy  # its parts load when they are used
from numpy.typing import ArrayLike, NDArray

from ecv_core.records.run import FoldResult, user_table
from ecv_core.stopping.fold_variance import tails, user_variance

FALSE_ALARM = 0.01
"""In at most this share of runs with ten alike folds a fold is called far off; likewise a drift."""
_LOOKS = 10
_WITHDRAWN = ". Until you have, no promise holds for the mean of all folds."


def far_off(scores: ArrayLike, users: ArrayLike) -> NDArray[np.float64]:
    """How likely each fold is so far from the mean of the others, were it one of them.

    Args:
        scores: of the folds so far; shape (..., folds), at least three.
        users: the variance of one fold's mean that users explain, in the unit of the score
            squared; NaN where it is not known, so that the other folds alone tell. Shape (...).
    Returns: shape (..., folds), each times the number of folds (Bonferroni).
    Source: deleted residuals, Cook and Weisberg (1982, section 2.2).
    """
    values = np.asarray(scores, dtype=np.float64)
    n = values.shape[-1]
    others = (values.sum(axis=-1, keepdims=True) - values) / (n - 1)
    squares = ((values - values.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1, keepdims=True)
    # Without one fold the sum of squares about the mean falls by its own share of it.
    rest = np.maximum(squares - (values - others) ** 2 * (n - 1) / n, 0) / (n - 2)
    off = np.abs(values - others) * math.sqrt((n - 1) / n)
    return n * _likely(off, rest, users, n - 1)


def drift(scores: ArrayLike, users: ArrayLike) -> NDArray[np.float64]:
    """How likely so steep a line through the fold scores is, were their order without meaning.

    Args:
        scores: in the order in which the folds ran; shape (..., folds), at least three.
        users: as for `far_off`.
    Returns: shape (...).
    """
    values = np.asarray(scores, dtype=np.float64)
    n = values.shape[-1]
    place = np.arange(n) - (n - 1) / 2
    slope = values @ place / (place @ place)
    about = values - values.mean(axis=-1, keepdims=True) - slope[..., None] * place
    rest = (about**2).sum(axis=-1, keepdims=True) / (n - 2)
    size = np.abs(slope) * math.sqrt(place @ place)
    return _likely(size[..., None], rest, users, n - 1)[..., 0]


def _likely(
    off: NDArray[np.float64], rest: NDArray[np.float64], users: ArrayLike, folds: int
) -> NDArray[np.float64]:
    """Of an effect whose variance is that of one fold's mean, beside the variance that is left."""
    u = np.asarray(users, dtype=np.float64)[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        told = tails(off / np.sqrt(u), rest / u, folds)
        alone = 2 * scipy.special.stdtr(folds - 1, -off / np.sqrt(rest))
    return np.where(u > 0, told, np.where(off > 0, alone, 1.0))


def doubt(results: Sequence[FoldResult], metric: str) -> str:
    """What makes these folds no base for a promise, in a sentence; empty where nothing does.

    Args:
        results: the folds so far in the order in which they ran.
        metric: the run's, as in UserScores.metrics; without users' scores the folds tell alone.
    """
    users = math.nan
    scores = [one.user_scores for one in results if one.user_scores is not None]
    known = len(scores) == len(results) and all(metric in one.metrics for one in scores)
    if len(results) >= 3 and known:
        values = user_table(scores, metric)[1]
        users = float(user_variance(values, np.ones((1, len(values)), dtype=np.bool_))[0][0])
    return doubt_of([one.score for one in results], users, [one.fold for one in results])


def doubt_of(scores: Sequence[float], users: float, folds: Sequence[int]) -> str:
    """`doubt` of fold scores.

    Args:
        scores: in the order in which the folds ran.
        users: as for `far_off`.
        folds: the index of each.
    """
    values = np.asarray(scores, dtype=np.float64)
    if len(values) < 3 or np.isin(values, (0, 1)).all():  # or single samples, right or wrong
        return ""
    level = FALSE_ALARM / _LOOKS
    likely = far_off(values, users)
    worst = int(likely.argmin())
    if likely[worst] < level:
        others = float(np.delete(values, worst).mean())
        off = float(values[worst]) - others
        size = f"{100 * abs(off / others):.0f} %" if others else f"{abs(off):.4g}"
        side = "below" if off < 0 else "above"
        return f"Fold {folds[worst]} scores {size} {side} the others: look at it{_WITHDRAWN}"
    if drift(values, users) < level:
        way = "fall" if values[-1] < values[0] else "rise"
        return (
            f"Scores {way} from fold to fold in the order in which they ran: look for what changes "
            f"between them{_WITHDRAWN}"
        )
    return ""
