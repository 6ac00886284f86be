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
from ecv_core.figures.efold_plot import run_figure
from ecv_core.figures.report.pictures import printed
from ecv_core.figures.report.run_report import run_report
from ecv_core.figures.words import metric_label, readings_words, run_name
from ecv_core.records.errors import InputError
from ecv_core.records.run import FoldResult, RunRecord
from ecv_core.store.document import command_for, run_document
from ecv_core.store.environment import environment
from ecv_core.store.imports import origins
from ecv_core.untrusted.disarming import csv_of
from pages.shared.live.runs import imported_sentence
from pages.shared.live.state import sentence, store
from pages.shared.widgets.tables import file_name, number, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def fold_table(run: RunRecord) -> None:
    """The table, newest fold last."""
    if not run.folds:
        st.caption("No fold is finished yet.")
        return
    frame, label = fold_frame(run), metric_label(run.spec)
    pinned = st.column_config.NumberColumn
    said = {
        "used": "Up to the stop.",
        "processor s": "Of all cores, of this fold alone.",
        "GPU s": "Of all GPUs, of this fold alone.",
        "other work %": "Of the machine, by other programs; above 5 % the energy is in no sum.",
    }
    table(
        frame,
        {
            name: number(None, _form(name), said.get(name))
            for name in frame.select_dtypes("float").columns
        }
        | {
            "n": pinned("n", pinned=True, help="Folds seen so far."),
            "fold": pinned("fold", pinned=True, help="Its index, from 0."),
            "used": st.column_config.CheckboxColumn("used", help="Up to the stop."),
            "score": pinned(label, format="%.4f", pinned=True),
        },
        placeholder="",
        key=f"folds-{run.run_id}",
        alt=f"{label}, all metrics, seconds and energy of each of {len(frame)} folds",
    )


def _form(name: str) -> str:
    if name.endswith(" Wh") or name == "grams CO2e":
        return "%.2g"
    return {"s": "%.2f", "%": "%.0f"}.get(name.rpartition(" ")[2], "%.4f")


def downloads(run: RunRecord) -> None:
    """Buttons for report, folds as CSV, run as JSON, each as the run is when pressed."""
    if not run.folds:
        return
    name = file_name(f"{run_name(run)} {run.run_id}")
    kinds: list[tuple[str, Callable[[RunRecord], str | bytes], str, str, str | None]] = [
        (
            "Report",
            _report,
            "html",
            "text/html",
            "One page to print or to send: settings, figure 1, results, energy, how to repeat it, "
            "what to cite.",
        ),
        ("Folds as CSV", lambda run: csv_of(fold_frame(run)), "csv", "text/csv", None),
        (
            "Run as JSON",
            _document,
            "json",
            "application/json",
            f"Everything but the scores of single {run.spec.task.unit}s; another e-fold can "
            "import it.",
        ),
    ]
    with st.container(horizontal=True):
        for label, make, ending, mime, said in kinds:
            st.download_button(
                label,
                partial(_now, make, run),
                file_name=f"{name}.{ending}",
                mime=mime,
                icon=":material/download:",
                key=f"{ending}-{run.run_id}",
                on_click="ignore",
                help=said,
            )


def figure_1(shown: RunRecord) -> Callable[[], Figure]:
    """What draws it for print, as the run is then."""

    return lambda: printed(partial(run_figure, newest(shown)))


def _now(make: Callable[[RunRecord], str | bytes], run: RunRecord) -> str | bytes:
    return make(newest(run))


def _report(run: RunRecord) -> str:
    origin = origins(store()).get(run.run_id)
    made_with = origin.made_with if origin else None
    return run_report(run, made_with, origin=imported_sentence(run.run_id))


def _document(run: RunRecord) -> str:
    origin = origins(store()).get(run.run_id)
    made_with = origin.made_with if origin else environment()
    return json.dumps(run_document(run) | {"made_with": made_with}, indent=2)


def repeat_command(run: RunRecord) -> None:
    """The command line that gives the same scores again."""
    if run.spec.tracked:
        st.markdown("Tracked again by your own code; by hand on a command line:")
    else:
        st.markdown("The same run on a command line, with the same scores:")
    try:
        st.code(command_for(run.spec), language="bash", wrap_lines=True)
    except InputError as error:  # its rule or its split is of a package that is not here
        st.caption(f"This installation cannot repeat it: {sentence(error)}")


def newest(run: RunRecord) -> RunRecord:
    """The run as it is now: for what is made when a button is pressed, folds after it was drawn.

    Raises: StoreError; InputError if it has been deleted.
    """
    return store().run(run.run_id)


def so_far(run: RunRecord) -> pd.DataFrame:
    """Its folds as `efold_frame` has them."""
    return efold_frame(run.moments, run.stopped_at, checked=run.checked)


def fold_frame(run: RunRecord) -> pd.DataFrame:
    """One row per finished fold: score, mean and width so far, cost, and all metrics.

    What is known of no fold, such as the energy of GPUs, has no column.
    """
    costs = pd.DataFrame([_costs(fold) for fold in run.folds]).dropna(axis="columns", how="all")
    users = [fold.users for fold in run.folds]
    metrics = pd.DataFrame(
        [{column_title(name): one for name, one in fold.metrics.items()} for fold in run.folds]
    )
    head = so_far(run)[["n", "fold", "used", "score", "mean", "low", "high", "width"]]
    counts = costs.assign(**{f"{run.spec.task.unit}s": users})
    return pd.concat([head, counts, metrics], axis="columns")


def _costs(fold: FoldResult) -> dict[str, str | float | None]:
    """What a fold took, what its meters said, and for how long the one that counts said nothing."""
    energy = fold.energy
    cpu, gpu, ram = (
        None if energy.source in WHOLE else joules / 3600  # nothing is known of parts
        for joules in (energy.cpu_joules, energy.gpu_joules, energy.ram_joules)
    )
    above, others = energy.above_idle_joules, energy.other_work
    return {
        "fit s": fold.fit_seconds,
        "evaluate s": fold.evaluate_seconds,
        "processor s": fold.processor_seconds,
        "energy Wh": energy.watt_hours,
        "GPU s": energy.gpu_seconds,
        "meters": readings_words([fold]) if energy.readings else None,
        "gaps s": energy.readings[0].gap_seconds if energy.readings else None,
        "processor Wh": cpu,
        "GPU Wh": gpu,
        "memory Wh": ram,
        "above idle Wh": None if above is None else above / 3600,
        "other work %": None if others is None else 100 * others,
        "grams CO2e": energy.grams_co2e,
        "source": energy.source,
    }
