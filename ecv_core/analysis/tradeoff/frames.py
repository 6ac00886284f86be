"""Curves over all orders -> one tidy frame of energy against difference, with everything else."""

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
)
from ecv_core.analysis.tradeoff.rules import RuleCurve
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
    if explored.baseline is not None:
        parts.append(_rows(FIXED, "", explored.baseline))
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
