"""Folds as Learn tells them: seen and held out, dealt, drawn in any order, how sure they are."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core import splits
from ecv_core.dataset import synthetic
from ecv_core.records.errors import InputError
from ecv_core.records.frames import with_columns
from ecv_core.records.interactions import Interactions
from ecv_core.records.places import SHIPPED
from ecv_core.stopping.interval import mean_and_deviation, running, t_quantile
from pages.learn.material.recorded_runs import CONFIDENCE

RECORDED = SHIPPED / "lessons" / "seen-and-held-out.json"
"""Of the first of ten folds of the made-up dataset; the tests work it out again."""
MEMORISER = "memoriser"
"""Knows who took what, and nothing else: the worst way to be perfect on the training data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grades:
    """One model's mean nDCG@10 over all users, both ways; in [0, 1]."""

    algorithm: str
    seen: float
    """Ranking all items, with the training interactions as the right answers."""
    held_out: float
    """As everywhere else: ranking what is not in training, held-out ones are the answers."""


def grades() -> list[Grades]:
    """The recorded grades, of the memoriser and three models.

    Raises: InputError if the file is missing or damaged.
    """
    try:
        rows = json.loads(RECORDED.read_text(encoding="utf-8"))["grades"]
        return [Grades(**row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"the recorded grades {RECORDED.name} cannot be read ({type(error).__name__}: "
            f"{error}); restore the file from the project"
        ) from error


DRAWS_COLUMNS = {
    "draw": "1, 2, ...: each an order in which the folds were drawn",
    "n": "folds drawn so far, 1 .. k",
    "fold": "index of the newest fold",
    "score": "its score",
    "mean": "of the n scores so far",
}
"""The columns of the frame of draws."""

WIDTHS_COLUMNS = {
    "n": "folds seen, 2 .. k",
    "mean": "of the n scores",
    "deviation": "standard deviation of the n scores, n-1 in the denominator",
    "t": "how many standard errors a 95 % interval reaches: Student's t, n-1 degrees of freedom",
    "low": "lower end of the interval",
    "high": "upper end",
    "width": "c_n = 2 t s / sqrt(n)",
}
"""The columns of the frame of widths."""


@with_columns(DRAWS_COLUMNS)
def draws_frame(scores: NDArray[np.float64], draws: int) -> pd.DataFrame:
    """Random orders of the folds and their running means; draw d is the same for every `draws`.

    Args:
        scores: shape (k,).
        draws: how many orders, at least 1.
    Returns: draws * k rows with the DRAWS_COLUMNS.
    """
    k = len(scores)
    orders = np.stack([np.random.default_rng([0, d]).permutation(k) for d in range(draws)])
    shuffled = scores[orders]
    return pd.DataFrame(
        {
            "draw": np.repeat(np.arange(1, draws + 1), k),
            "n": np.tile(np.arange(1, k + 1), draws),
            "fold": orders.ravel(),
            "score": shuffled.ravel(),
            "mean": running(shuffled)[0].ravel(),
        }
    )


@with_columns(WIDTHS_COLUMNS)
def widths_frame(scores: NDArray[np.float64]) -> pd.DataFrame:
    """One row per number of folds, in their order, with the WIDTHS_COLUMNS.

    Args: scores: shape (k,), k at least 2.
    """
    rows = []
    for n in range(2, len(scores) + 1):
        mean, deviation = mean_and_deviation([float(score) for score in scores[:n]])
        t = t_quantile(n - 1, CONFIDENCE)
        half = t * deviation / math.sqrt(n)
        rows.append((n, mean, deviation, t, mean - half, mean + half, 2 * half))
    return pd.DataFrame(rows, columns=list(WIDTHS_COLUMNS))


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


TIMES = 1.96
"""Standard errors to each side of a 95 % interval of a mean over many users."""


def sureness(one: NDArray[np.floating], other: NDArray[np.floating]) -> tuple[float, float]:
    """How well one fold knows a model's mean, and its difference to another, user by user.

    Args:
        one: score per user of the first model; shape (users,), at least two; NaN where the user has
            nothing held out.
        other: of the second, of the same users.
    Returns: half widths of 95 % intervals over users, of both in percent of the first mean.
    """
    seen = ~np.isnan(one)
    first = one[seen].astype(np.float64)
    apart = first - other[seen]
    percent = 100 * TIMES / np.sqrt(seen.sum()) / abs(first.mean())
    return float(percent * first.std(ddof=1)), float(percent * apart.std(ddof=1))
