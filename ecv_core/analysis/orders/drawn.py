"""Fold scores and a rule -> what the rule does over random orders, with standard errors.

This is for rules that need the whole history of an order.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecv_core.analysis.orders.outcomes import QUANTILES, Outcome
from ecv_core.analysis.orders.subsets import checked_scores
from ecv_core.records.arrays import Floats, Indices
from ecv_core.records.errors import InputError
from ecv_core.stopping.interval import differences_percent, running_means_and_deviations, t_factors

StopsOfOrders = Callable[[Floats], NDArray[np.intp]]
"""A rule: scores in the order in which they come, shape (orders, k), -> the fold after which each
order stops, 1 to k; shape (orders,)."""


def sampled(
    scores: ArrayLike,
    stops_of_orders: StopsOfOrders,
    *,
    confidence: float = 0.95,
    orders: int = 5000,
    seed: int = 0,
    costs: ArrayLike | None = None,
    within_percent: float | None = None,
) -> Outcome:
    """Work out what a rule does over random orders of the folds.

    Args:
        scores: One per fold; shape (k,).
        stops_of_orders: The rule.
        confidence: The confidence of the interval at the stop, for the coverage.
        orders: How many to draw, each independent of the others; at least 2.
        seed: Same seed, same orders.
        costs: The costs of each fold, in any unit; shape (k,); by default all cost the same.
        within_percent: The difference to count as close enough.

    Returns:
        With `orders` and the standard errors of the means and probabilities.

    Raises:
        InputError: For bad scores or fewer than 2 orders.
    """
    values = checked_scores(scores)
    k = len(values)
    if orders < 2:
        raise InputError(f"at least 2 orders must be drawn, but got {orders}; the paper draws 5000")
    folds_in_order = drawn_orders(k, orders, seed)
    scores_in_order = values[folds_in_order]
    stops = stops_of_orders(scores_in_order)
    # After each fold of each order; what counts is the entry at the order's stop.
    means, deviations = running_means_and_deviations(scores_in_order)
    at_stop = (np.arange(orders), stops - 1)
    k_fold_mean = _k_fold_mean(values)
    half_widths = t_factors(k, confidence)[stops - 1] * deviations[at_stop]
    # An order that uses all folds has the k-fold mean itself, which sums may miss by a rounding.
    uses_all = stops == k
    differences = np.where(uses_all, 0.0, differences_percent(means[at_stop], k_fold_mean))
    covers_k_fold_mean = (np.abs(means[at_stop] - k_fold_mean) <= half_widths) | uses_all
    if costs is None:
        costs = np.ones(k)
    fold_costs = np.asarray(costs, dtype=np.float64)
    spent = np.cumsum(fold_costs[folds_in_order], axis=1)[at_stop]
    measures = {
        "mean_stop": stops.astype(np.float64),
        "mean_difference_percent": differences,
        "coverage": covers_k_fold_mean.astype(np.float64),
        "cost_percent": spent / fold_costs.sum() * 100,
    }
    if within_percent is not None:
        measures["within"] = (differences <= within_percent).astype(np.float64)
    means_over_orders = {}
    standard_errors = {}
    for name, measure in measures.items():
        means_over_orders[name] = float(measure.mean())
        standard_errors[name] = float(measure.std(ddof=1)) / math.sqrt(orders)
    shares = np.bincount(stops, minlength=k + 1) / orders
    quantiles = np.quantile(differences, QUANTILES, method="inverted_cdf")
    return Outcome(
        k=k,
        setting=None,
        stop_distribution=dict(enumerate(shares[1:].tolist(), start=1)),
        difference_quantiles=dict(zip(QUANTILES, quantiles.tolist(), strict=True)),
        orders=orders,
        standard_errors=standard_errors,
        **means_over_orders,
    )


def _k_fold_mean(values: Floats) -> float:
    """The mean of all scores, rounded as `running` rounds the means that it is compared with."""
    means, _ = running_means_and_deviations(values[np.newaxis, :])
    return float(means[0, -1])


def drawn_orders(k: int, orders: int, seed: int) -> Indices:
    """Draw the orders of k folds that `sampled` looks at; shape (orders, k)."""
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(k), (orders, 1)), axis=1)
