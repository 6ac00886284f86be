"""Fold scores -> how the mean wanders as folds are drawn, and what makes its interval narrow."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core.lessons.guide import CONFIDENCE
from ecv_core.records.frames import with_columns
from ecv_core.stopping.interval import mean_and_deviation, running, t_quantile

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
def draws_frame(scores: NDArray[np.float64], draws: int, seed: int = 0) -> pd.DataFrame:
    """Random orders of the folds and their running means; draw d is the same for every `draws`.

    Args:
        scores: shape (k,).
        draws: how many orders, at least 1.
        seed: same seed, same orders.
    Returns: draws * k rows with the DRAWS_COLUMNS.
    """
    k = len(scores)
    orders = np.stack([np.random.default_rng([seed, d]).permutation(k) for d in range(draws)])
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

    Args:
        scores: shape (k,), k at least 2.
    """
    rows = []
    for n in range(2, len(scores) + 1):
        mean, deviation = mean_and_deviation([float(score) for score in scores[:n]])
        t = t_quantile(n - 1, CONFIDENCE)
        half = t * deviation / math.sqrt(n)
        rows.append((n, mean, deviation, t, mean - half, mean + half, 2 * half))
    return pd.DataFrame(rows, columns=list(WIDTHS_COLUMNS))
