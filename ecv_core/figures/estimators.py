"""The recorded study of scikit-learn's estimators: what each rule does in each cell."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ecv_core.records.frames import with_columns
from ecv_core.store.recorded import FOLDER

COLUMNS = {
    "dataset": "the table",
    "task": "classification or regression",
    "samples": "rows of the table",
    "algorithm": "the estimator",
    "rule": "when it stops",
    "folds": "folds used of ten, mean over 60 orders of the folds",
    "difference_percent": "to the mean of all ten, mean over these orders",
    "within_1_percent": "share of these orders that end within 1 % of that mean",
    "winner_percent": "share of the orders in which the best of all folds has the best mean at the "
    "stops, all estimators of the table together",
}


@with_columns(COLUMNS)
def estimators_frame(folder: Path = FOLDER) -> pd.DataFrame:
    """One row per table, estimator and rule, with the COLUMNS; ten estimators on 29 tables.

    Args: folder: with the file that `scripts/study_estimators.py` wrote.
    """
    return pd.read_csv(folder / "estimators-rules.csv").rename(columns={"table": "dataset"})


def by_rule(frame: pd.DataFrame) -> pd.DataFrame:
    """The means over all cells, a row per rule, in the order of the file."""
    numbers = list(COLUMNS)[5:]
    return frame.groupby("rule", sort=False)[numbers].mean().reset_index()


def estimators_words(frame: pd.DataFrame) -> str:
    """What each rule that stops uses and keeps, in one sentence."""
    means = by_rule(frame).set_index("rule")
    said = [
        f"**{rule}** uses {folds:.1f} of 10 folds, ends within 1 % of their mean in "
        f"{within:.1f} % of orders and picks the best in {right:.0f} %"
        for rule, (folds, _, within, right) in zip(means.index, means.to_numpy(), strict=True)
        if folds < 10
    ]
    tables = frame["dataset"].nunique()
    return f"Over ten estimators on {tables} tables: {'; '.join(said)}."
