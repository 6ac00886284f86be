"""Curves and rankings over all orders -> tidy frames of the trade-off and of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ecv_core.analysis.orders.outcomes import QUANTILES, Curve
from ecv_core.analysis.tradeoff.curves import (
    PAPER_COST_PERCENT,
    PAPER_DIFFERENCE_PERCENT,
    PAPER_STOP,
    Tradeoff,
    joules_of,
)
from ecv_core.analysis.tradeoff.decision import fixed_folds
from ecv_core.analysis.tradeoff.rankings import Ranking
from ecv_core.analysis.tradeoff.rule_curves import RuleCurve
from ecv_core.energy.savings import processor_costs
from ecv_core.records.arrays import Floats
from ecv_core.records.frames import with_columns

SYSTEM = "system"
AVERAGE = "average"
FIXED = "fixed e"
PAPER = "paper"
RULE = "rule"
"""Kinds of rows of the trade-off frame."""

TRADEOFF_COLUMNS = {
    "kind": "'system' and 'average': the paper's rule; 'fixed e': always e folds, averaged; "
    "'rule': another registered rule, averaged; "
    "'paper': the averages that the paper reports",
    "system": "the system, or the other rule's id; empty for the other averages",
    "setting": "alpha; e for 'fixed e'; what another rule varies, shares as such",
    "folds": "expected folds used",
    "energy_percent": "expected energy used, of all k folds",
    "difference_percent": "expected difference to the k-fold mean",
    "difference_95_percent": "95 % of orders are at most this far off",
    "coverage": "probability that the interval at the stop holds the k-fold mean",
    "within": "probability that the difference is within the limit asked for",
}
"""The trade-off frame's columns and what they mean."""

STOPS_COLUMNS = {
    "alpha": "setting of the paper's rule",
    "n": "fold after which it stops, 1 .. k",
    "percent": "of all orders of the folds, averaged over systems",
}
"""The columns of the frame of stops."""


@with_columns(TRADEOFF_COLUMNS)
def tradeoff_frame(explored: Tradeoff, others: Sequence[RuleCurve]) -> pd.DataFrame:
    """One row for each curve and setting, with the TRADEOFF_COLUMNS.

    Args:
        explored: The paper's rule and the baseline.
        others: The other registered rules.
    """
    parts = [_curve_rows(AVERAGE, "", explored.average)]
    for system, curve in zip(explored.systems, explored.curves, strict=True):
        parts.append(_curve_rows(SYSTEM, system.name, curve))
    if len({system.k for system in explored.systems}) == 1:
        fixed = fixed_folds(explored.systems, within_percent=explored.within_percent)
        parts.append(_curve_rows(FIXED, "", fixed.average))
    for other in others:
        parts.append(_curve_rows(RULE, other.rule, other.average))
    paper = {
        "kind": PAPER,
        "system": "",
        "folds": PAPER_STOP,
        "energy_percent": PAPER_COST_PERCENT,
        "difference_percent": PAPER_DIFFERENCE_PERCENT,
    }
    parts.append(pd.DataFrame([paper], columns=list(TRADEOFF_COLUMNS)))
    return pd.concat(parts, ignore_index=True)


@with_columns(STOPS_COLUMNS)
def stops_frame(curve: Curve) -> pd.DataFrame:
    """One row for each alpha and fold, with the STOPS_COLUMNS."""
    return pd.DataFrame(
        {
            "alpha": np.repeat(curve.settings, curve.k),
            "n": np.tile(np.arange(1, curve.k + 1), len(curve.settings)),
            "percent": 100 * curve.stop_distribution.ravel(),
        }
    )


def _curve_rows(kind: str, system: str, curve: Curve) -> pd.DataFrame:
    """One row for each setting of a curve, with the TRADEOFF_COLUMNS."""
    within = curve.within
    if within is None:
        within = np.full(len(curve.settings), np.nan)
    return pd.DataFrame(
        {
            "kind": kind,
            "system": system,
            "setting": curve.settings,
            "folds": curve.mean_stop,
            "energy_percent": curve.cost_percent,
            "difference_percent": curve.mean_difference_percent,
            "difference_95_percent": curve.difference_quantiles[:, QUANTILES.index(0.95)],
            "coverage": curve.coverage,
            "within": within,
        }
    )


CELLS_COLUMNS = {
    "alpha": "setting of the paper's rule",
    "dataset": "evaluated on",
    "algorithm": "what was evaluated",
    "difference_percent": "figure 2: expected difference to the k-fold mean, exact",
    "mean_stop": "figure 3: expected folds used, exact",
    "energy_percent": "expected energy used, of all k folds, exact",
    "k_fold_mean": "the score of all k folds",
}
RANKS_COLUMNS = {
    "alpha": "setting of the paper's rule",
    "dataset": "ranked on",
    "algorithm": "what is ranked",
    "rank_k_fold": "rank by the k-fold mean, 1 is best",
    "rank_e_fold": "figure 4: mean rank by the scores at the stops",
}
STABILITY_COLUMNS = {
    "alpha": "setting of the paper's rule",
    "dataset": "ranked on",
    "algorithms": "how many are ranked",
    "same_order_percent": "of orders in which the algorithms rank exactly as under k folds",
    "same_winner_percent": "of orders in which the best one is the best under k folds",
    "orders": "how many orders were counted",
}
HEADLINE_COLUMNS = {
    "alpha": "setting of the paper's rule",
    "difference_percent": "mean over runs of the expected difference to the k-fold mean",
    "mean_stop": "mean over runs of the expected folds used",
    "energy_percent": "mean over runs of the energy used, of all k folds",
    "processor_percent": "of the sum of the runs' processor seconds; empty where none is known",
    "processor_runs": "runs in that sum; of recorded ones, one fold tells what each fold costs",
    "joules_percent": "of the sum of the runs' joules; empty where some have no energy",
    "joules_runs": "runs in that sum: without other work of the machine, or all where each had it",
}
"""The frames' columns and what they mean."""


@with_columns(CELLS_COLUMNS)
def cells_frame(explored: Tradeoff, alphas: Sequence[float]) -> pd.DataFrame:
    """One row for each alpha and run, with the CELLS_COLUMNS."""
    rows = explored.average.rows(alphas)
    parts = []
    for system, curve in zip(explored.systems, explored.curves, strict=True):
        part = pd.DataFrame(
            {
                "alpha": list(alphas),
                "dataset": system.dataset,
                "algorithm": system.algorithm or system.name,
                "difference_percent": curve.mean_difference_percent[rows],
                "mean_stop": curve.mean_stop[rows],
                "energy_percent": curve.cost_percent[rows],
                "k_fold_mean": float(np.mean(system.folds)),
            }
        )
        parts.append(part)
    return _by_alpha(parts, CELLS_COLUMNS)


@with_columns(RANKS_COLUMNS)
def ranks_frame(rankings: Sequence[Ranking]) -> pd.DataFrame:
    """One row for each alpha, dataset and algorithm, with the RANKS_COLUMNS."""
    parts = []
    for ranking in rankings:
        count = len(ranking.algorithms)
        part = pd.DataFrame(
            {
                "alpha": np.repeat(ranking.alphas, count),
                "dataset": ranking.dataset,
                "algorithm": list(ranking.algorithms) * len(ranking.alphas),
                "rank_k_fold": np.tile(ranking.k_fold_ranks, len(ranking.alphas)),
                "rank_e_fold": ranking.mean_ranks_at_stop.ravel(),
            }
        )
        parts.append(part)
    return _by_alpha(parts, RANKS_COLUMNS)


@with_columns(STABILITY_COLUMNS)
def stability_frame(rankings: Sequence[Ranking]) -> pd.DataFrame:
    """One row for each alpha and dataset, with the STABILITY_COLUMNS."""
    parts = []
    for ranking in rankings:
        part = pd.DataFrame(
            {
                "alpha": ranking.alphas,
                "dataset": ranking.dataset,
                "algorithms": len(ranking.algorithms),
                "same_order_percent": 100 * ranking.same_order,
                "same_winner_percent": 100 * ranking.same_winner,
                "orders": ranking.orders,
            }
        )
        parts.append(part)
    return _by_alpha(parts, STABILITY_COLUMNS)


def _by_alpha(parts: Sequence[pd.DataFrame], columns: Mapping[str, str]) -> pd.DataFrame:
    """Put the parts of a frame together, rows of the same alpha beside each other."""
    if not parts:
        return pd.DataFrame(columns=list(columns))
    frame = pd.concat(parts, ignore_index=True)
    return frame.sort_values("alpha", kind="stable", ignore_index=True)


@with_columns(HEADLINE_COLUMNS)
def headline_frame(explored: Tradeoff, alphas: Sequence[float]) -> pd.DataFrame:
    """One row for each alpha, with the HEADLINE_COLUMNS."""
    average = explored.average
    rows = average.rows(alphas)  # The alphas have the same rows in every curve.
    # 'energy_percent' is the plain mean over runs. In the two other shares a long run counts for
    # more: each run is weighted by the processor seconds, or by the joules, of all its folds. Of
    # the seconds every fold of a run has an equal share; joules are known of each fold.
    used_folds_percent = []
    used_joules_percent = []
    seconds_of_runs = []
    for system, curve in zip(explored.systems, explored.curves, strict=True):
        used_folds_percent.append(100 * curve.mean_stop[rows] / curve.k)
        used_joules_percent.append(curve.cost_percent[rows])
        # A run that was not timed has no costs: it adds 0 seconds, and so weighs nothing.
        seconds_of_runs.append(sum(processor_costs(system.results or ()), 0.0))
    # None is returned where the joules of some run are not known.
    joules_of_runs = joules_of(explored.systems)
    if joules_of_runs is None:
        joules_of_runs = np.zeros(len(explored.systems))
    processor_percent = _percent_of_sum(used_folds_percent, seconds_of_runs)
    joules_percent = _percent_of_sum(used_joules_percent, joules_of_runs)
    return pd.DataFrame(
        {
            "alpha": list(alphas),
            "difference_percent": average.mean_difference_percent[rows],
            "mean_stop": average.mean_stop[rows],
            "energy_percent": average.cost_percent[rows],
            "processor_percent": processor_percent,
            "processor_runs": np.count_nonzero(seconds_of_runs),
            "joules_percent": joules_percent,
            "joules_runs": np.count_nonzero(joules_of_runs),
        }
    )


def _percent_of_sum(used_percent: Sequence[Floats], costs: ArrayLike) -> Floats | float:
    """How many percent of the cost of all runs is used until the stop.

    Args:
        used_percent: How much of the cost of each run is used, in percent; shape (runs, alphas).
        costs: The costs of all folds of each run, in any unit; shape (runs,).

    Returns:
        Shape (alphas,); NaN where no cost is known.
    """
    total = np.sum(costs)
    if not total:
        return np.nan
    return np.asarray(costs) @ np.array(used_percent) / total
