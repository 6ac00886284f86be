"""Fold scores and where a rule stops -> what it does over random orders, with standard errors.

This is for rules that need the whole history of an order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis.orders.outcomes import QUANTILES, Outcome
from ecv_core.records.arrays import Floats, Indices
from ecv_core.records.errors import InputError
from ecv_core.stopping.interval import differences_percent, running_means_and_deviations, t_factors


def drawn_orders(k: int, count: int, seed: int) -> Indices:
    """Draw orders of k folds, each independent of the others; shape (orders, k).

    Args:
        k: The number of folds.
        count: How many orders; at least 2.
        seed: Same seed, same orders.

    Raises:
        InputError: For fewer than 2 orders.
    """
    if count < 2:
        raise InputError(f"at least 2 orders must be drawn, but got {count}; the paper draws 5000")
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(k), (count, 1)), axis=1)


def outcome_of_drawn_orders(
    scores: Floats,
    orders: Indices,
    stops: NDArray[np.intp],
    *,
    confidence: float,
    costs: Floats | None,
    within_percent: float | None,
) -> Outcome:
    """Work out what a rule does over drawn orders of the folds.

    Args:
        scores: The score of each fold; shape (k,).
        orders: From `drawn_orders`.
        stops: The fold after which the rule stops each order, 1 to k; shape (orders,).
        confidence: The confidence of the interval at the stop, for the coverage.
        costs: The cost of each fold, in any unit; shape (k,); None where all cost the same.
        within_percent: The difference to count as close enough; None for none.

    Returns:
        With `orders` and the standard errors of the means and probabilities.
    """
    order_count, k = orders.shape
    # Rows are orders, and columns are folds. In each row the entry at the order's stop counts.
    means, deviations = running_means_and_deviations(scores[orders])
    at_stop = (np.arange(order_count), stops - 1)
    means_at_stop = means[at_stop]
    k_fold_mean = _k_fold_mean(scores)
    half_widths = t_factors(k, confidence)[stops - 1] * deviations[at_stop]
    # An order that uses all folds has the k-fold mean itself, which sums may miss by a rounding.
    uses_all = stops == k
    differences = np.where(uses_all, 0.0, differences_percent(means_at_stop, k_fold_mean))
    covers_k_fold_mean = (np.abs(means_at_stop - k_fold_mean) <= half_widths) | uses_all
    if costs is None:
        costs = np.ones(k)
    costs_until_stop = np.cumsum(costs[orders], axis=1)[at_stop]
    measures = {
        "mean_stop": stops.astype(np.float64),
        "mean_difference_percent": differences,
        "coverage": covers_k_fold_mean.astype(np.float64),
        "cost_percent": costs_until_stop / costs.sum() * 100,
    }
    if within_percent is not None:
        measures["within"] = (differences <= within_percent).astype(np.float64)
    means_over_orders = {}
    standard_errors = {}
    for name, measure in measures.items():
        means_over_orders[name] = float(measure.mean())
        standard_errors[name] = float(measure.std(ddof=1)) / math.sqrt(order_count)
    # Entry n is the share of orders that stop after fold n. No order stops after fold 0.
    shares = np.bincount(stops, minlength=k + 1) / order_count
    quantiles = np.quantile(differences, QUANTILES, method="inverted_cdf")
    return Outcome(
        k=k,
        setting=None,
        stop_distribution=dict(enumerate(shares[1:].tolist(), start=1)),
        difference_quantiles=dict(zip(QUANTILES, quantiles.tolist(), strict=True)),
        orders=order_count,
        standard_errors=standard_errors,
        **means_over_orders,
    )


def _k_fold_mean(values: Floats) -> float:
    """The mean of all scores, rounded as the means are that it is compared with."""
    means, _ = running_means_and_deviations(values[np.newaxis, :])
    return float(means[0, -1])
