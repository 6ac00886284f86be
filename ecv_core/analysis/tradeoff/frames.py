"""Curves and rankings over all orders -> tidy frames of the trade-off and of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ecv_core.analysis.orders.outcomes import QUANTILES, Curve
from ecv_core.analysis.tradeoff.curves import (
    PAPER_COST_PERCENT,
    PAPER_DIFFERENCE_PERCENT,
    PAPER_STOP,
    Tradeoff,
    joules_of,
)
from ecv_core.analysis.tradeoff.rankings import Ranking
from ecv_core.analysis.tradeoff.rule_curves import RuleCurve
from ecv_core.energy.savings import processor_costs
from ecv_core.records.frames import with_columns

SYSTEM, AVERAGE, FIXED, PAPER, RULE = "system", "average", "fixed e", "paper", "rule"
"""Kinds of rows of the frame."""

Columns = dict[str, NDArray[Any]]

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
def tradeoff_frame(explored: Tradeoff, others: Sequence[RuleCurve] = ()) -> pd.DataFrame:
    """One row per curve and setting, with the TRADEOFF_COLUMNS.

    Args:
        explored: the paper's rule and the baseline.
        others: the other registered rules.
    """
    parts = [_rows(AVERAGE, "", explored.average)]
    parts += [
        _rows(SYSTEM, system.name, curve)
        for system, curve in zip(explored.systems, explored.curves, strict=True)
    ]
    if (baseline := explored.baseline) is not None:
        parts.append(_rows(FIXED, "", baseline))
    parts += [_rows(RULE, other.rule, other.average) for other in others]
    parts.append(
        _filled(
            kind=[PAPER],
            system=[""],
            folds=[PAPER_STOP],
            energy_percent=[PAPER_COST_PERCENT],
            difference_percent=[PAPER_DIFFERENCE_PERCENT],
        )
    )
    return pd.DataFrame(
        {name: np.concatenate([part[name] for part in parts]) for name in TRADEOFF_COLUMNS}
    )


@with_columns(STOPS_COLUMNS)
def stops_frame(curve: Curve) -> pd.DataFrame:
    """One row per alpha and fold, with the STOPS_COLUMNS."""
    return pd.DataFrame(
        {
            "alpha": np.repeat(curve.settings, curve.k),
            "n": np.tile(np.arange(1, curve.k + 1), len(curve.settings)),
            "percent": 100 * curve.stop_distribution.ravel(),
        }
    )


def _rows(kind: str, system: str, curve: Curve) -> Columns:
    rows = len(curve.settings)
    return _filled(
        kind=[kind] * rows,
        system=[system] * rows,
        setting=curve.settings,
        folds=curve.mean_stop,
        energy_percent=curve.cost_percent,
        difference_percent=curve.mean_difference_percent,
        difference_95_percent=curve.difference_quantiles[:, QUANTILES.index(0.95)],
        coverage=curve.coverage,
        within=curve.within,
    )


def _filled(kind: list[str], **known: ArrayLike | None) -> Columns:
    """All columns; NaN where nothing is known."""
    unknown = np.full(len(kind), np.nan)
    columns: Columns = {"kind": np.array(kind, dtype=object)}
    for name in list(TRADEOFF_COLUMNS)[1:]:
        values = known.get(name)
        columns[name] = unknown if values is None else np.asarray(values)
    return columns


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
                "same_winner_percent": 100 * one.same_winner,
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
            "processor_percent": 100 * seconds @ shares / seconds.sum() if timed else np.nan,
            "processor_runs": timed,
            "joules_percent": bill,
            "joules_runs": billed,
        }
    )
