"""Folds as Learn tells them: seen and held out, dealt, drawn in any order, how sure they are."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core import splits
from ecv_core.dataset import synthetic
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.places import SHIPPED
from ecv_core.stopping.interval import mean_and_deviation, running_means_and_deviations, t_quantile
from pages.learn.material.recorded_runs import CONFIDENCE

RECORDED = SHIPPED / "lessons" / "seen-and-held-out.json"
"""Of the first of ten folds of the made-up dataset; the tests work it out again."""
MEMORISER = "memoriser"
"""Knows who took what, and nothing else: the worst way to be perfect on the training data."""


@dataclass(frozen=True, kw_only=True)
class Grades:
    """One model's mean nDCG@10 over all users, both ways; in [0, 1]."""

    algorithm: str
    seen: float
    """Ranking all items, with the training interactions as the right answers."""
    held_out: float
    """As everywhere else: ranking what is not in training, held-out ones are the answers."""


def grades() -> list[Grades]:
    """The recorded grades, of the memoriser and three models.

    Raises:
        InputError: If the file is missing or damaged.
    """
    try:
        rows = json.loads(RECORDED.read_text(encoding="utf-8"))["grades"]
        return [Grades(**row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"the recorded grades {RECORDED.name} cannot be read ({type(error).__name__}: "
            f"{error}); restore the file from the project"
        ) from error


def draws_frame(scores: Floats, draws: int) -> pd.DataFrame:
    """Random orders of the folds and their running means; draw d is the same for every `draws`.

    Args:
        scores: One per fold; shape (k,).
        draws: How many orders, at least 1.

    Returns:
        A row for each fold of each draw: `draw` from 1, `n` folds drawn so far, index of the
        newest `fold`, its `score`, and the `mean` of the n scores.
    """
    k = len(scores)
    orders = np.empty((draws, k), dtype=np.intp)
    # Each draw has a seed of its own, so that it stays the same when more are drawn.
    for draw in range(draws):
        orders[draw] = np.random.default_rng([0, draw]).permutation(k)
    shuffled = scores[orders]  # a row for each draw, and a column for each place in its order
    means, _ = running_means_and_deviations(shuffled)
    return pd.DataFrame(
        {
            "draw": np.repeat(np.arange(1, draws + 1), k),
            "n": np.tile(np.arange(1, k + 1), draws),
            "fold": orders.ravel(),
            "score": shuffled.ravel(),
            "mean": means.ravel(),
        }
    )


class MeanInterval(NamedTuple):
    """The 95 % interval of the mean of the first scores, and what it is made of."""

    n: int
    """Folds seen."""
    mean: float
    deviation: float
    """Standard deviation of the scores, n-1 in the denominator."""
    t: float
    """How many standard errors the interval reaches: Student's t, n-1 degrees of freedom."""

    @property
    def width(self) -> float:
        """c_n = 2 t s / sqrt(n)."""
        return 2 * self.t * self.deviation / math.sqrt(self.n)

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.width / 2

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.width / 2


def mean_intervals(scores: Floats) -> list[MeanInterval]:
    """The interval after each number of folds from 2 on, in their order.

    Args:
        scores: One per fold; shape (k,), k at least 2.
    """
    intervals = []
    for n in range(2, len(scores) + 1):
        mean, deviation = mean_and_deviation(scores[:n].tolist())
        intervals.append(MeanInterval(n, mean, deviation, t_quantile(n - 1, CONFIDENCE)))
    return intervals


MOST_K = 10
SEED = 7
SMALL = synthetic.Parameters(
    users=8, items=60, median_activity=15, activity_sigma=0.35, least_activity=8, most_activity=20
)


def small_deal() -> dict[int, list[list[int]]]:
    """The paper's split of the small users, for every k from 2 to MOST_K; always the same.

    Returns:
        k -> per user, the fold 0 .. k-1 of each interaction.
    """
    interactions = synthetic.generate(SEED, SMALL)
    folds = {}
    for k in range(2, MOST_K + 1):
        fold_of_interaction = splits.split(interactions, "user-k-fold", k, SEED).assignment
        assert fold_of_interaction is not None  # every interaction is in one of the k folds
        folds_of_users = []
        for user in range(interactions.n_users):
            folds_of_users.append(fold_of_interaction[interactions.users == user].tolist())
        folds[k] = folds_of_users
    return folds


NORMAL_QUANTILE = 1.96
"""Standard errors to each side of a 95 % interval of a mean over many users."""


class HalfWidthsPercent(NamedTuple):
    """Half widths of 95 % intervals over users, in percent of a model's mean."""

    of_mean: float
    of_difference: float
    """To another model, user by user."""


def half_widths_percent(
    scores: NDArray[np.floating], other_scores: NDArray[np.floating]
) -> HalfWidthsPercent:
    """How well one fold knows a model's mean, and its difference to another, user by user.

    Args:
        scores: One per user, of the first model; shape (users,), at least two; NaN where the user
            has nothing held out.
        other_scores: The other scores of the second, of the same users.
    """
    is_tested = ~np.isnan(scores)
    tested_scores = scores[is_tested].astype(np.float64)
    differences = tested_scores - other_scores[is_tested]
    mean = abs(tested_scores.mean())
    # A half width is the normal quantile times the standard error, which is deviation / √users.
    percent_of_deviation = 100 * NORMAL_QUANTILE / math.sqrt(len(tested_scores)) / mean
    return HalfWidthsPercent(
        of_mean=float(percent_of_deviation * tested_scores.std(ddof=1)),
        of_difference=float(percent_of_deviation * differences.std(ddof=1)),
    )
