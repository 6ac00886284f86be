"""A run's folds as a table, with its exports and the command line that repeats it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from ecv_core.energy.parts import UNDIVIDED
from ecv_core.evaluation import column_title
from ecv_core.figures.efold import frame_of_run
from ecv_core.figures.report.run_report import run_report
from ecv_core.figures.words import metric_label, readings_words, run_name
from ecv_core.records.errors import InputError
from ecv_core.records.run import FoldResult, RunRecord
from ecv_core.store.document import command_of, run_document
from ecv_core.store.made_with import imported_sentence
from ecv_core.untrusted.disarming import csv_of
from pages.shared.charts.cite import machine_and_versions
from pages.shared.live.state import results, sentence, store
from pages.shared.widgets.tables import (
    FOLD_HELP,
    HIGH_END,
    file_name,
    number,
    score_format,
    table,
    with_folds_from_1,
)

if TYPE_CHECKING:
    from streamlit.elements.lib.column_types import ColumnConfig


def draw_fold_table(run: RunRecord) -> None:
    """The table, newest fold last."""
    if not run.folds:
        if run.state.active:
            st.caption("No fold is finished yet.")
        else:
            st.caption("No fold was finished.")
        return
    frame = fold_frame(run)
    label = metric_label(run.spec)
    columns: dict[str, ColumnConfig | str | None] = {}
    for name in frame.select_dtypes("float").columns:
        _, _, unit = name.rpartition(" ")  # the unit is the last word of the name: 's' of 'fit s'
        form = _FORMAT_OF_UNIT.get(unit) or score_format(frame[name])
        columns[name] = number(None, form, _HELP_OF_COLUMN.get(name))
    columns["n"] = number("n", help="Folds seen so far.", pinned=True)
    columns["fold"] = number("fold", help=FOLD_HELP, pinned=True)
    columns["used"] = st.column_config.CheckboxColumn("used", help="Up to the stop.")
    columns["score"] = number(label, score_format(frame["score"]), pinned=True)
    table(
        with_folds_from_1(frame),
        columns,
        placeholder="",
        key=f"folds-{run.run_id}",
        alt=f"{label}, all metrics, seconds and energy of each of {len(frame)} folds",
    )


_HELP_OF_COLUMN = {
    "energy Wh": HIGH_END,
    "grams CO2e": HIGH_END,
    "processor s": "Of all cores, of this fold alone.",
    "GPU s": "Of all GPUs, of this fold alone.",
    "other work %": "By other programs; above 5 %, the energy is left out of all sums.",
}
"""What a column's name does not say."""
_FORMAT_OF_UNIT = {"Wh": "%.2g", "CO2e": "%.2g", "s": "%.2f", "%": "%.0f"}
"""Unit -> the format of its numbers."""


def offer_downloads(run: RunRecord) -> None:
    """Buttons for report, folds as CSV, run as JSON, each as the run is when pressed."""
    if not run.folds:
        return
    with st.container(horizontal=True):
        _download(
            run,
            "Report",
            _report,
            ending="html",
            mime="text/html",
            help="One page to print or to send: settings, figure 1, results, energy, how to "
            "repeat it, what to cite.",
        )
        _download(run, "Folds as CSV", _csv, ending="csv", mime="text/csv")
        _download(
            run,
            "Run as JSON",
            _document,
            ending="json",
            mime="application/json",
            help=f"Everything but the scores of individual {run.spec.task.unit}s; another e-fold "
            "can import it.",
        )


def _download(
    run: RunRecord,
    label: str,
    make: Callable[[RunRecord], str],
    *,
    ending: str,
    mime: str,
    help: str | None = None,
) -> None:
    """A button that makes a file of the run as it is when it is pressed."""

    def make_now() -> str:
        return make(newest(run))

    st.download_button(
        label,
        make_now,
        file_name=f"{file_name(f'{run_name(run)} {run.run_id}')}.{ending}",
        mime=mime,
        icon=":material/download:",
        key=f"{ending}-{run.run_id}",
        on_click="ignore",
        help=help,
    )


def _report(run: RunRecord) -> str:
    with_scores = results().with_user_scores(run)
    return run_report(
        with_scores, machine_and_versions([run]), origin=imported_sentence(run.run_id, store())
    )


def _csv(run: RunRecord) -> str:
    return csv_of(fold_frame(run))


def _document(run: RunRecord) -> str:
    document = run_document(run, results().user_scores(run))
    return json.dumps(document | {"made_with": machine_and_versions([run])}, indent=2)


def repeat_command(run: RunRecord) -> None:
    """The command line that gives the same scores again."""
    if run.spec.tracked:
        st.markdown("Your own code can track it again; by hand, on a command line:")
    else:
        st.markdown("The same run on a command line, with the same scores:")
    try:
        st.code(command_of(run), language="bash", wrap_lines=True)
    except InputError as error:
        # The package of its rule or its split may not be installed here.
        st.caption(f"This installation cannot repeat it: {sentence(error)}")


def newest(run: RunRecord) -> RunRecord:
    """The run as it is now: for what is made when a button is pressed, folds after it was drawn.

    Raises:
        StoreError.
        InputError: If it has been deleted.
    """
    return store().run(run.run_id)


def fold_frame(run: RunRecord) -> pd.DataFrame:
    """One row per finished fold: score, mean and width so far, cost, and all metrics.

    What is known of no fold, such as the energy of GPUs, has no column.
    """
    costs = pd.DataFrame([_costs(fold) for fold in run.folds]).dropna(axis="columns", how="all")
    # `fold.users` counts what is scored: the samples of a table, and users otherwise.
    costs[f"{run.spec.task.unit}s"] = [fold.users for fold in run.folds]
    metrics = pd.DataFrame([fold.metrics for fold in run.folds]).rename(columns=column_title)
    scores = frame_of_run(run)[["n", "fold", "used", "score", "mean", "low", "high", "width"]]
    return pd.concat([scores, costs, metrics], axis="columns")


def _costs(fold: FoldResult) -> dict[str, str | float | None]:
    """What a fold took, what its meters said, and for how long the one that counts said nothing."""
    energy = fold.energy
    costs: dict[str, str | float | None] = dict.fromkeys(_COSTS)
    costs["fit s"] = fold.fit_seconds
    costs["evaluate s"] = fold.evaluate_seconds
    costs["processor s"] = fold.processor_seconds
    costs["energy Wh"] = energy.watt_hours
    costs["GPU s"] = energy.gpu_seconds
    if energy.readings:  # the first reading is that of the meter that counts
        costs["meters"] = readings_words([fold])
        costs["gaps s"] = energy.readings[0].gap_seconds
    # Meters of undivided sources measure the whole machine, and not its parts.
    if energy.source not in UNDIVIDED:
        costs["processor Wh"] = energy.cpu_joules / 3600
        costs["GPU Wh"] = energy.gpu_joules / 3600
        costs["memory Wh"] = energy.ram_joules / 3600
    if energy.above_idle_joules is not None:
        costs["above idle Wh"] = energy.above_idle_joules / 3600
    if energy.other_work is not None:
        costs["other work %"] = 100 * energy.other_work
    if fold.reused:
        costs["computed"] = "before"
    costs["grams CO2e"] = energy.grams_co2e
    costs["source"] = energy.source
    return costs


_COSTS = (
    *("fit s", "evaluate s", "processor s", "energy Wh", "GPU s", "meters", "gaps s"),
    *("processor Wh", "GPU Wh", "memory Wh", "above idle Wh", "other work %", "grams CO2e"),
    *("computed", "source"),
)
"""Columns of what a fold took, in this order."""
