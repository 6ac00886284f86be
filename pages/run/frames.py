"""The tables of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from ecv_core.evaluation import column_title
from ecv_core.figures.efold import efold_frame
from ecv_core.figures.words import readings_words
from ecv_core.records.run import FoldResult, Run
from pages.shared.live.state import store

if TYPE_CHECKING:
    import pyarrow as pa


def newest(run: Run) -> Run:
    """The run as it is now: for what is made when a button is pressed, folds after it was drawn.

    Raises: StoreError; InputError if it has been deleted.
    """
    return store().run(run.run_id)


def so_far(run: Run) -> pd.DataFrame:
    """As `efold_frame`."""
    return efold_frame(run.moments, run.stopped_at)


def fold_rows(run: Run) -> pa.Table:
    """`fold_frame` as it is sent to a page, made once for each fold."""
    return _fold_rows((run.run_id, run.spec.to_json(), run.stopped_at, len(run.folds)), run)


@st.cache_resource(show_spinner=False, max_entries=64)
def _fold_rows(version: tuple[object, ...], _run: Run) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pandas(fold_frame(_run), preserve_index=False)


def fold_frame(run: Run) -> pd.DataFrame:
    """One row per finished fold: score, mean and width so far, cost, and all metrics."""
    costs = pd.DataFrame(
        {
            "fit s": [fold.fit_seconds for fold in run.folds],
            "evaluate s": [fold.evaluate_seconds for fold in run.folds],
            "processor s": pd.Series([f.processor_seconds for f in run.folds], dtype=float),
            "energy Wh": [fold.energy.watt_hours for fold in run.folds],
            "processor Wh": [fold.energy.cpu_joules / 3600 for fold in run.folds],
            "GPU Wh": [fold.energy.gpu_joules / 3600 for fold in run.folds],
            "memory Wh": [fold.energy.ram_joules / 3600 for fold in run.folds],
            "above idle Wh": pd.Series([_above_idle(f) for f in run.folds], dtype=float),
            "other work %": pd.Series([_others(f) for f in run.folds], dtype=float),
            "grams CO2e": [fold.energy.grams_co2e for fold in run.folds],
            "source": [fold.energy.source for fold in run.folds],
            "users": [fold.users for fold in run.folds],
        }
    )
    if any(fold.energy.readings for fold in run.folds):
        costs["meters"] = [readings_words(fold.energy) for fold in run.folds]
        costs["gaps s"] = [sum(r.gap_seconds for r in f.energy.readings[:1]) for f in run.folds]
    metrics = pd.DataFrame([dict(fold.metrics) for fold in run.folds])
    metrics.columns = [column_title(name) for name in metrics.columns]
    head = so_far(run)[["n", "fold", "used", "score", "mean", "low", "high", "width"]]
    return pd.concat([head, costs, metrics], axis=1)


def _above_idle(fold: FoldResult) -> float | None:
    above = fold.energy.above_idle_joules
    return None if above is None else above / 3600


def _others(fold: FoldResult) -> float | None:
    return None if fold.energy.other_work is None else 100 * fold.energy.other_work
