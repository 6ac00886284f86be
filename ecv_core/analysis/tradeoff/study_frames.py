"""A study's curves and rankings -> the tidy frames of figures 2, 3 and 4 and of the headline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ecv_core.analysis.tradeoff.curves import Tradeoff, joules_of
from ecv_core.analysis.tradeoff.ranks import Ranking
from ecv_core.energy.savings import processor_costs
from ecv_core.records.frames import with_columns

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
    "same_order_error": "its standard error; 0 where all orders were counted",
    "same_winner_percent": "of orders in which the best one is the best under k folds",
    "same_winner_error": "its standard error",
    "orders": "how many orders were counted",
}
HEADLINE_COLUMNS = {
    "alpha": "setting of the paper's rule",
    "difference_percent": "mean over runs of the expected difference to the k-fold mean",
    "mean_stop": "mean over runs of the expected folds used",
    "energy_percent": "mean over runs of the energy used, of all k folds",
    "folds_percent": "the same by fold count",
    "processor_percent": "of the sum of the runs' processor seconds; empty where none is known",
    "processor_runs": "runs in that sum; of recorded ones, one fold tells what each fold costs",
    "joules_percent": "of the sum of the runs' joules; empty where some have no energy",
    "joules_runs": "runs in that sum: without other work of the machine, or all where each had it",
}
"""The frames' columns and what they mean."""


@with_columns(CELLS_COLUMNS)
def cells_frame(explored: Tradeoff, alphas: Sequence[float]) -> pd.DataFrame:
    """One row per alpha and run, with the CELLS_COLUMNS."""
    parts = []
    for system, curve in zip(explored.systems, explored.curves, strict=True):
        rows = explored.average.rows(alphas)
        parts.append(
            pd.DataFrame(
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
        )
    frame = pd.concat(parts, ignore_index=True)[list(CELLS_COLUMNS)]
    return frame.sort_values("alpha", kind="stable", ignore_index=True)


@with_columns(RANKS_COLUMNS)
def ranks_frame(ranked: Sequence[Ranking]) -> pd.DataFrame:
    """One row per alpha, dataset and algorithm, with the RANKS_COLUMNS."""
    rows = [
        (float(alpha), one.dataset, name, float(one.whole[place]), float(one.stopped[row, place]))
        for one in ranked
        for row, alpha in enumerate(one.alphas)
        for place, name in enumerate(one.algorithms)
    ]
    frame = pd.DataFrame(rows, columns=list(RANKS_COLUMNS))
    return frame.sort_values("alpha", kind="stable", ignore_index=True)


@with_columns(STABILITY_COLUMNS)
def stability_frame(ranked: Sequence[Ranking]) -> pd.DataFrame:
    """One row per alpha and dataset, with the STABILITY_COLUMNS."""
    parts = [
        pd.DataFrame(
            {
                "alpha": one.alphas,
                "dataset": one.dataset,
                "algorithms": len(one.algorithms),
                "same_order_percent": 100 * one.same_order,
                "same_order_error": 100 * one.standard_errors(one.same_order),
                "same_winner_percent": 100 * one.same_winner,
                "same_winner_error": 100 * one.standard_errors(one.same_winner),
                "orders": one.orders,
            }
        )
        for one in ranked
    ]
    if not parts:
        return pd.DataFrame(columns=list(STABILITY_COLUMNS))
    frame = pd.concat(parts, ignore_index=True)
    return frame.sort_values("alpha", kind="stable", ignore_index=True)


@with_columns(HEADLINE_COLUMNS)
def headline_frame(explored: Tradeoff, alphas: Sequence[float]) -> pd.DataFrame:
    """One row per alpha, with the HEADLINE_COLUMNS."""
    rows = explored.average.rows(alphas)
    average = explored.average
    shares = np.array(
        [curve.mean_stop[rows] / curve.k for curve in explored.curves], dtype=np.float64
    )
    costs = [processor_costs(one.results or ()) for one in explored.systems]
    seconds = np.array([sum(one, 0.0) for one in costs])
    timed = int(np.count_nonzero(seconds))
    bill, billed = np.full(len(rows), np.nan), 0
    if (joules := joules_of(explored.systems)) is not None:
        used = np.array([curve.cost_percent[rows] for curve in explored.curves])
        bill = joules @ used / joules.sum()
        billed = int(np.count_nonzero(joules))
    return pd.DataFrame(
        {
            "alpha": list(alphas),
            "difference_percent": average.mean_difference_percent[rows],
            "mean_stop": average.mean_stop[rows],
            "energy_percent": average.cost_percent[rows],
            "folds_percent": 100 * shares.mean(axis=0),
            "processor_percent": 100 * seconds @ shares / seconds.sum() if timed else np.nan,
            "processor_runs": timed,
            "joules_percent": bill,
            "joules_runs": billed,
        }
    )
