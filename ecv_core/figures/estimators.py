"""The recorded study of scikit-learn's estimators: every fold of it, and what was found with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ecv_core.records.frames import with_columns
from ecv_core.records.run import Scores
from ecv_core.store.recorded import FOLDER

RULES_COLUMNS = {
    "dataset": "the table",
    "task": "classification or regression",
    "samples": "rows of the table",
    "algorithm": "the estimator",
    "rule": "when it stops",
    "folds": "folds used of ten, mean over 1,000 orders of the folds",
    "seconds_percent": "seconds of these folds, of those of all ten",
    "difference_percent": "to the mean of all ten, mean over these orders",
    "within_1_percent": "share of these orders that end within 1 % of that mean",
    "winner_percent": "share of the orders in which the best of all folds has the best mean at the "
    "stops, all estimators of the table together",
}
SEARCH_COLUMNS = {
    "dataset": "the table",
    "task": "classification or regression",
    "samples": "rows of the table",
    "way": "how the best of ten estimators is searched for",
    "orders": "of the folds, drawn by chance; of HalvingGridSearchCV seeds",
    "folds_percent": "folds used, of all; of HalvingGridSearchCV samples in place of folds",
    "seconds_percent": "seconds of these folds, of those of all; empty where they are not known",
    "loss_percent": "how far the chosen one's mean of all folds is below the best, mean",
    "right_percent": "share of the orders in which the one with the best mean of all is chosen",
}


@with_columns(RULES_COLUMNS)
def estimators_frame(folder: Path = FOLDER) -> pd.DataFrame:
    """One row per table, estimator and rule, with the RULES_COLUMNS; ten estimators on 29 tables.

    Args: folder: with the file that `scripts/study_estimators.py` wrote.
    """
    return pd.read_csv(folder / "estimators-rules.csv")


@with_columns(SEARCH_COLUMNS)
def searches_frame(folder: Path = FOLDER) -> pd.DataFrame:
    """One row per table and way to search, with the SEARCH_COLUMNS. Args: as above."""
    return pd.read_csv(folder / "estimators-search.csv")


def estimators_scores(folder: Path = FOLDER) -> dict[str, list[Scores]]:
    """Table -> its estimators, each with all ten folds; of numbers the error has a minus.

    Their costs are seconds. Args: folder: with the file that `scripts/record_estimators.py` wrote.
    """
    kept = np.load(folder / "estimators.npz")
    found: dict[str, list[Scores]] = {}
    for table in dict.fromkeys(key.partition("/")[0] for key in kept):
        fold = kept[f"{table}/fold"]
        if f"{table}/right" in kept:
            samples = np.unpackbits(kept[f"{table}/right"], axis=1)[:, : len(fold)]
        else:
            samples = -kept[f"{table}/error"]
        names, seconds = kept[f"{table}/estimators"].tolist(), kept[f"{table}/seconds"]
        found[table] = []
        for name, own, spent in zip(names, samples, seconds.astype(np.float64), strict=True):
            users = np.full((len(spent), len(fold)), np.nan, np.float32)
            users[fold, np.arange(len(fold))] = own
            found[table].append(
                Scores(
                    name=name,
                    dataset=table,
                    algorithm=name,
                    folds=np.nanmean(users.astype(np.float64), axis=1),
                    users=users,
                    joules=spent,
                    source="seconds",
                )
            )
    return found


def means_by(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """The means over all cells of every share and number of folds, a row per rule or way."""
    shares = [name for name in frame.columns if name == "folds" or name.endswith("_percent")]
    return frame.groupby(column, sort=False)[shares].mean().reset_index()


def estimators_words(frame: pd.DataFrame) -> str:
    """What each rule that stops uses and keeps, in one sentence."""
    said = [
        f"**{row['rule']}** uses {row['folds']:.1f} of 10 folds, ends within 1 % of their mean in "
        f"{row['within_1_percent']:.1f} % of orders and picks the best in "
        f"{row['winner_percent']:.0f} %"
        for row in means_by(frame, "rule").to_dict("records")
        if row["folds"] < 10
    ]
    tables = frame["dataset"].nunique()
    return f"Over ten estimators on {tables} tables: {'; '.join(said)}."
