"""The tables of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from ecv_core.energy.parts import WHOLE
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
            **_readings(run),
            "processor Wh": pd.Series([_part(f, "cpu_joules") for f in run.folds], dtype=float),
            "GPU Wh": pd.Series([_part(f, "gpu_joules") for f in run.folds], dtype=float),
            "memory Wh": pd.Series([_part(f, "ram_joules") for f in run.folds], dtype=float),
            "above idle Wh": pd.Series([_above_idle(f) for f in run.folds], dtype=float),
            "other work %": pd.Series([_others(f) for f in run.folds], dtype=float),
            "grams CO2e": [fold.energy.grams_co2e for fold in run.folds],
            "source": [fold.energy.source for fold in run.folds],
            f"{run.spec.task.unit}s": [fold.users for fold in run.folds],
        }
    )
    metrics = pd.DataFrame([dict(fold.metrics) for fold in run.folds])
    metrics.columns = [column_title(name) for name in metrics.columns]
    head = so_far(run)[["n", "fold", "used", "score", "mean", "low", "high", "width"]]
    return pd.concat([head, costs, metrics], axis=1)


def _readings(run: Run) -> dict[str, list[str] | list[float]]:
    """What each meter said, and for how long the one that counts said nothing."""
    if not any(fold.energy.readings for fold in run.folds):
        return {}
    return {
        "meters": [readings_words([fold]) for fold in run.folds],
        "gaps s": [sum(one.gap_seconds for one in f.energy.readings[:1]) for f in run.folds],
    }


def _part(fold: FoldResult, name: str) -> float | None:
    """None where nothing is known of parts."""
    return None if fold.energy.source in WHOLE else float(getattr(fold.energy, name)) / 3600


def _above_idle(fold: FoldResult) -> float | None:
    above = fold.energy.above_idle_joules
    return None if above is None else above / 3600


def _others(fold: FoldResult) -> float | None:
    return None if fold.energy.other_work is None else 100 * fold.energy.other_work
