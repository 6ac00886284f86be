"""Random orders of the folds, for rules that need the whole history; with standard errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecv_core.analysis.orders.outcome import QUANTILES, Outcome
from ecv_core.analysis.orders.subsets import checked_scores
from ecv_core.errors import InputError
from ecv_core.stopping.interval import differences_percent, running, t_factors

Stops = Callable[[NDArray[np.float64]], NDArray[np.intp]]
"""Scores in the order in which they come, shape (orders, k), -> the fold after which each order
stops, 1 to k; shape (orders,)."""


def sampled(
    scores: ArrayLike | Sequence[float],
    stops: Stops,
    *,
    confidence: float = 0.95,
    orders: int = 5000,
    seed: int = 0,
    costs: ArrayLike | None = None,
    within_percent: float | None = None,
) -> Outcome:
    """What a rule does over random orders of the folds.

    Args:
        scores: one per fold; shape (k,).
        stops: the rule.
        confidence: of the interval at the stop, for the coverage.
        orders: how many to draw, each independent of the others; at least 2.
        seed: same seed, same orders.
        costs: of each fold, in any unit; shape (k,); by default all cost the same.
        within_percent: the difference to count as close enough.
    Returns: with `orders` and the standard errors of the means and probabilities.
    Raises: InputError for bad scores or fewer than 2 orders.
    """
    values = checked_scores(scores)
    k = len(values)
    if orders < 2:
        raise InputError(f"at least 2 orders must be drawn, not {orders}; the paper draws 5000")
    drawn = drawn_orders(k, orders, seed)
    shuffled = values[drawn]
    stop = stops(shuffled)
    at_stop = (np.arange(orders), stop - 1)
    means, deviations = (array[at_stop] for array in running(shuffled))
    goal = float(running(values[None, :])[0][0, -1])
    half = t_factors(k, confidence)[stop - 1] * deviations
    differences = np.where(stop == k, 0.0, differences_percent(means, goal))
    covered = (np.abs(means - goal) <= half) | (stop == k)
    costs = np.ones(k) if costs is None else np.asarray(costs, dtype=np.float64)
    spent = np.cumsum(costs[drawn], axis=1)[at_stop] / costs.sum() * 100
    columns = {
        "mean_stop": stop.astype(np.float64),
        "mean_difference_percent": differences,
        "coverage": covered.astype(np.float64),
        "cost_percent": spent,
    }
    if within_percent is not None:
        columns["within"] = (differences <= within_percent).astype(np.float64)
    shares = np.bincount(stop, minlength=k + 1) / orders
    return Outcome(
        k=k,
        setting=None,
        stop_distribution={n: float(shares[n]) for n in range(1, k + 1)},
        difference_quantiles={
            share: float(np.quantile(differences, share, method="inverted_cdf"))
            for share in QUANTILES
        },
        orders=orders,
        standard_errors={
            name: float(column.std(ddof=1)) / math.sqrt(orders) for name, column in columns.items()
        },
        **{name: float(column.mean()) for name, column in columns.items()},
    )


def drawn_orders(k: int, orders: int, seed: int) -> NDArray[np.intp]:
    """The orders of k folds that `sampled` draws; shape (orders, k)."""
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(k), (orders, 1)), axis=1)
