"""The recorded study of scikit-learn's estimators -> its frames, its scores, and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core.records.frames import with_columns
from ecv_core.records.parameters import percent_text
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
def estimators_frame() -> pd.DataFrame:
    """One row per table, estimator and rule, with the RULES_COLUMNS; ten estimators on 29 tables.

    `scripts/study_estimators.py` wrote the file.
    """
    return pd.read_csv(FOLDER / "estimators-rules.csv")


@with_columns(SEARCH_COLUMNS)
def searches_frame() -> pd.DataFrame:
    """One row per table and way to search, with the SEARCH_COLUMNS; as `estimators_frame`."""
    return pd.read_csv(FOLDER / "estimators-search.csv")


def estimators_scores() -> dict[str, list[Scores]]:
    """Table -> its estimators, each with all ten folds; of numbers the error has a minus.

    Their costs are seconds. `scripts/record_estimators.py` wrote the file.
    """
    arrays = np.load(FOLDER / "estimators.npz")
    tables = dict.fromkeys(key.partition("/")[0] for key in arrays)
    return {table: _scores_of_table(arrays, table) for table in tables}


def _scores_of_table(arrays: Mapping[str, NDArray[Any]], table: str) -> list[Scores]:
    """The estimators of one table.

    Args:
        arrays: The arrays of all tables, by 'table/name': fold, of each sample; estimators, their
            names; seconds, shape (estimators, folds); of each estimator and sample whether it was
            right, packed into bits, or its error.
        table: The id.
    """
    fold_of_sample = arrays[f"{table}/fold"]
    samples = np.arange(len(fold_of_sample))
    # Scores of samples have a row per estimator and a column per sample.
    if f"{table}/right" in arrays:
        # Each bit says whether an estimator predicted a sample right. The last byte of an estimator
        # may have unused bits, which are cut off.
        bits = np.unpackbits(arrays[f"{table}/right"], axis=1)
        scores_of_samples = bits[:, : len(samples)]
    else:
        scores_of_samples = -arrays[f"{table}/error"]
    estimators = []
    for number, name in enumerate(arrays[f"{table}/estimators"].tolist()):
        seconds = arrays[f"{table}/seconds"][number].astype(np.float64)
        # The array has a row per fold and a column per sample. Each sample is held out in one fold
        # only.
        by_fold = np.full((len(seconds), len(samples)), np.nan, np.float32)
        by_fold[fold_of_sample, samples] = scores_of_samples[number]
        # This study has samples in place of users, and seconds in place of joules, as `source`
        # says.
        estimator = Scores(
            name=name,
            dataset=table,
            algorithm=name,
            folds=np.nanmean(by_fold.astype(np.float64), axis=1),
            users=by_fold,
            joules=seconds,
            source="seconds",
        )
        estimators.append(estimator)
    return estimators


def means_by(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """The means over all cells of every share and number of folds, a row per rule or way."""
    shares = frame.filter(regex="^folds$|_percent$").columns
    return frame.groupby(column, sort=False)[list(shares)].mean().reset_index()


def estimators_words(frame: pd.DataFrame) -> str:
    """What each rule that stops uses and keeps, in one sentence."""
    means = means_by(frame, "rule")
    clauses = []
    # A rule that uses all ten folds never stops, so it is left out.
    stopping_rules = means[means["folds"] < 10]
    for _, rule in stopping_rules.iterrows():
        clauses.append(
            f"**{rule['rule']}** uses {rule['folds']:.1f} of 10 folds, ends within 1 % of their "
            f"mean in {percent_text(rule['within_1_percent'] / 100, '.1f')} of orders and picks "
            f"the best in {percent_text(rule['winner_percent'] / 100, '.0f')}"
        )
    return f"Over ten estimators on {frame['dataset'].nunique()} tables: {'; '.join(clauses)}."
