"""A run's folds as a table, with its exports and the command line that repeats it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from ecv_core.energy.parts import WHOLE
from ecv_core.evaluation import column_title
from ecv_core.figures.efold import efold_frame
from ecv_core.figures.efold_plot import efold_figure
from ecv_core.figures.report.pictures import printed
from ecv_core.figures.report.run_report import run_report
from ecv_core.figures.words import metric_label, readings_words, run_name
from ecv_core.records.errors import InputError
from ecv_core.records.run import FoldResult, Run
from ecv_core.store.document import command_for, run_document, track_call
from ecv_core.store.environment import environment
from ecv_core.store.imports import origins
from ecv_core.untrusted.disarming import csv_of
from pages.shared.live.runs import imported_sentence
from pages.shared.live.state import sentence, store
from pages.shared.widgets.tables import file_name, number, table

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure


def fold_table(run: Run) -> None:
    """The table, newest fold last, and its downloads."""
    if not run.folds:
        st.caption("No fold is finished yet.")
        return
    frame = fold_rows(run)
    label = metric_label(run.spec)
    reals = {
        name: number(name, "%.4f")
        for name in frame.column_names
        if name not in ("n", "fold", "users", "samples", "used", "source")
    }
    estimates = {
        name: number(name, "%.2g")
        for name in frame.column_names
        if name.endswith(" Wh") or name == "grams CO2e"
    }
    table(
        frame,
        reals
        | estimates
        | {
            "n": st.column_config.NumberColumn("n", pinned=True, help="Folds seen so far."),
            "fold": st.column_config.NumberColumn("fold", pinned=True, help="Its index, from 0."),
            "used": st.column_config.CheckboxColumn("used", help="Up to the stop."),
            "score": st.column_config.NumberColumn(label, format="%.4f", pinned=True),
            "fit s": number("fit s", "%.2f"),
            "evaluate s": number("evaluate s", "%.2f"),
            "processor s": number("processor s", "%.2f", "Of all cores, of this fold alone."),
            "GPU s": number("GPU s", "%.2f", "Of all GPUs, of this fold alone."),
            "other work %": number(
                "other work %",
                "%.0f",
                "Of the machine, by other programs; above 5 % the energy is in no sum.",
            ),
        },
        placeholder="",
        key=f"folds-{run.run_id}",
        alt=f"{label}, all metrics, seconds and energy of each of {len(frame)} folds",
    )


def downloads(run: Run) -> None:
    """Buttons for report, folds as CSV, run as JSON, each as the run is when pressed."""
    if not run.folds:
        return
    name = file_name(f"{run_name(run)} {run.run_id}")
    with st.container(horizontal=True):
        st.download_button(
            "Report",
            partial(_report, run),
            file_name=f"{name}.html",
            mime="text/html",
            icon=":material/description:",
            key=f"report-{run.run_id}",
            on_click="ignore",
            help="One page to print or to send: settings, figure 1, results, energy, how to "
            "repeat it, what to cite.",
        )
        st.download_button(
            "Folds as CSV",
            lambda: csv_of(fold_frame(newest(run))),
            file_name=f"{name}.csv",
            mime="text/csv",
            icon=":material/download:",
            key=f"csv-{run.run_id}",
            on_click="ignore",
        )
        st.download_button(
            "Run as JSON",
            partial(_document, run),
            file_name=f"{name}.json",
            mime="application/json",
            icon=":material/download:",
            key=f"json-{run.run_id}",
            on_click="ignore",
            help=f"Everything but the scores of single {run.spec.task.unit}s; another e-fold can "
            "import it.",
        )


def figure_1(shown: Run) -> Callable[[], Figure]:
    """What draws it for print, as the run is then."""

    def draw() -> Figure:
        run = newest(shown)
        make = partial(
            efold_figure,
            so_far(run),
            k=run.k,
            metric=metric_label(run.spec),
            stopped_at=run.stopped_at,
            confidence=run.spec.confidence,
        )
        return printed(make)

    return draw


def _report(shown: Run) -> str:
    run = newest(shown)
    origin = origins(store()).get(run.run_id)
    made_with = origin.made_with if origin else None
    return run_report(run, made_with, origin=imported_sentence(run.run_id))


def _document(shown: Run) -> str:
    run = newest(shown)
    origin = origins(store()).get(run.run_id)
    made_with = origin.made_with if origin else environment()
    return json.dumps(run_document(run) | {"made_with": made_with}, indent=2)


def repeat_command(run: Run) -> None:
    """The command line that gives the same scores again."""
    if run.spec.tracked:
        st.markdown("Tracked again by your own code, in Python or on a command line:")
        st.code(f"cv = {track_call(run.spec)}", language="python", wrap_lines=True)
    else:
        st.markdown("The same run on a command line, with the same scores:")
    try:
        st.code(command_for(run.spec), language="bash", wrap_lines=True)
    except InputError as error:  # its rule or its split is of a package that is not here
        st.caption(f"This installation cannot repeat it: {sentence(error)}")


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
            **_gpu(run),
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


def _gpu(run: Run) -> dict[str, pd.Series]:
    """Where a GPU says for how long it computed for some fold."""
    seconds = pd.Series([fold.energy.gpu_seconds for fold in run.folds], dtype=float)
    return {"GPU s": seconds} if seconds.notna().any() else {}


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
