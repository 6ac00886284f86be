"""Tables: the numbers behind a chart and their CSV, and runs, one row each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from ecv_core.figures.words import algorithm_title, dataset_title
from ecv_core.records.frames import column_texts
from ecv_core.untrusted.disarming import csv_of

_ROWS = 12
"""Rows up to which a table is as high as they are."""
_HIGHEST = 460
"""Pixels of a table with more rows."""
_LEAST_SHOWN = 0.00005
"""Four decimals show what is smaller as 0."""
_ROUNDING = 1e-12
"""What is smaller, rounding has kept from being 0."""


def table(
    frame: Any,  # noqa: ANN401  what `st.dataframe` takes
    columns: Mapping[str, ColumnConfig | str | None] | None = None,
    *,
    key: str,
    alt: str,
    placeholder: str = "-",
    **more: Any,  # noqa: ANN401  arguments of `st.dataframe`
) -> None:
    """A table without its index, as high as its rows as far as there are few.

    Args:
        frame: What it holds; has a length.
        columns: Name -> head, or how it is shown; see `number`.
        key: The key of the table on the page.
        alt: What it holds, in a sentence.
        placeholder: For what is missing.
        more: Width and what else the table takes.
    """
    height: Literal["content"] | int = _HIGHEST
    if len(frame) <= _ROWS:
        height = "content"
    st.dataframe(
        frame,
        hide_index=True,
        column_config=columns,
        placeholder=placeholder,
        height=height,
        key=key,
        alt=alt,
        **more,
    )


def number(
    label: str | None,
    form: str = "localized",
    help: str | None = None,
    **more: Any,  # noqa: ANN401  arguments of the column
) -> ColumnConfig:
    """A column of numbers.

    Args:
        label: Its head; None for its name.
        form: Their format.
        help: What they are.
        more: Width and what else the column takes.
    """
    return st.column_config.NumberColumn(label, format=form, help=help, **more)


def with_folds_from_1(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame as people read it: its column 'fold', of indices from 0, counts from 1."""
    return frame.assign(fold=frame["fold"] + 1)


FOLD_HELP = "Counted from 1; files and commands count folds from 0."


def score_format(scores: pd.Series | pd.DataFrame) -> str:
    """The format of columns with these scores: four decimals.

    It is three digits where four decimals would show a score as 0 that is not.
    """
    sizes = scores.astype(float).abs().to_numpy()
    if ((sizes > _ROUNDING) & (sizes < _LEAST_SHOWN)).any():
        return "%.3g"
    return "%.4f"


def text(
    label: str | None,
    help: str | None = None,
    **more: Any,  # noqa: ANN401  arguments of the column
) -> ColumnConfig:
    """A column of texts; the arguments are those of `number`."""
    return st.column_config.TextColumn(label, help=help, **more)


def draw_chart_table(
    make: Callable[[], pd.DataFrame],
    *,
    key: str,
    name: str,
    alt: str,
    draw_open_table: Callable[[Callable[[], None]], None] | None = None,
) -> None:
    """Two small buttons: the table opens here, the CSV is saved; nothing is made before.

    Args:
        make: Gives the tidy frame.
        key: The key of the chart.
        name: The name of the file.
        alt: The chart's sentence; the table says that it holds the numbers of it.
        draw_open_table: As of `plot.draw_figure`.
    """

    def draw_numbers() -> None:
        frame = make()
        columns = {}
        for column, meaning in column_texts(frame).items():
            columns[column] = st.column_config.Column(help=meaning)
        if "fold" in frame:
            frame = with_folds_from_1(frame)
            columns["fold"] = st.column_config.Column(help=FOLD_HELP)
        table(
            frame,
            columns,
            key=f"{key}-rows",
            alt=f"The numbers behind: {alt}",
            placeholder="",
        )

    # A fragment of its own keeps the buttons: a press on a button that was just drawn anew is lost.
    @st.fragment
    def box() -> None:
        expander = st.expander(
            "Table", icon=":material/table:", type="compact", key=f"{key}-table", on_change="rerun"
        )
        if not expander.open:
            return
        with expander:
            if draw_open_table is None:
                draw_numbers()
            else:
                draw_open_table(draw_numbers)

    with st.container(horizontal=True, key=f"chart-data-{key}"):
        box()
        draw_csv_button(
            "CSV",
            make,
            f"{file_name(name)}.csv",
            key=f"{key}-csv",
            help_text="The numbers behind this chart.",
        )


def draw_csv_button(
    label: str,
    make: Callable[[], pd.DataFrame],
    name: str,
    *,
    key: str,
    help_text: str | None = None,
) -> None:
    """Saves a table that is made when the button is pressed."""

    def csv() -> str:
        return csv_of(make())

    st.download_button(
        label,
        csv,
        file_name=name,
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key=key,
        type="tertiary",
        help=help_text,
    )


def file_name(words: str) -> str:
    """A file name, without an ending, that every system takes: 'e-fold-item-knn-on-ml-100k'."""
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", words).strip("-.")
    if not plain:
        return "e-fold"
    return f"e-fold-{plain[:120]}"


_INTERVAL = "of the interval of these folds, or with the precision rule of the k-fold mean."
_USED = "Of the folds used."
HIGH_END = "Where it is an estimate, this is the high end of its range."
_SAVED = (
    "Of the folds that were not needed; a forecast, the middle of a range, where they did not run."
)
_COLUMNS: dict[str, ColumnConfig] = {
    "name": text("run", pinned=True),
    "new data": text(
        None,
        "Interval for new users, or rows of a table, of the same population. A dash where scores "
        "of each are not known.",
    ),
    "folds": text("folds used"),
    "stop": text(None, "The fold after which it stopped."),
    "difference %": number(
        "difference to k-fold, %", "%.2f", "Between the mean at the stop and the k-fold mean."
    ),
    "energy Wh": number(None, "%.2g", f"{_USED} {HIGH_END}"),
    "grams CO2e": number(None, "%.2g", f"{_USED} {HIGH_END}"),
    "seconds": number(None, "%.1f", f"Computing time. {_USED}"),
    "saved Wh": number(None, "%.2g", _SAVED),
    "saved %": number(None, "%.0f", "Of the energy of all k folds."),
}
"""Column of `runs_table` that is no score -> its head, format and meaning."""
_SCORE_COLUMNS = {
    "mean": (None, "At the stop, or so far."),
    "low": ("these folds from", f"Lower end {_INTERVAL}"),
    "high": ("these folds to", f"Upper end {_INTERVAL}"),
    "k-fold mean": (None, "Mean of all folds, where all have run."),
}
"""Column of `runs_table` that is a score -> its head and meaning."""


def runs_table(
    frame: pd.DataFrame, *, new_data: Sequence[str], with_algorithms: bool, key: str
) -> None:
    """Runs, one row each, in the units and words of pages.

    Args:
        frame: From `figures.compare.compare_frame`.
        new_data: For each row the interval for new data, as `figures.words.new_data_cell` has it.
        with_algorithms: Whether they need a column of their own.
        key: The key of the table on the page.
    """
    shown = pd.DataFrame({"dataset": frame["dataset"].map(dataset_title)})
    if with_algorithms:
        shown["algorithm"] = frame["algorithm"].map(algorithm_title)
    for name in ("name", "metric", "mean"):
        shown[name] = frame[name]
    shown["new data"] = new_data
    for name in ("low", "high"):
        shown[name] = frame[name]
    shown["folds"] = frame["folds_used"].astype(str) + " of " + frame["k"].astype(str)
    shown["stop"] = frame["stop"].map(_stop_words)
    shown["k-fold mean"] = frame["k_fold_mean"]
    shown["difference %"] = frame["difference_percent"]
    shown["energy Wh"] = frame["joules"] / 3600
    shown["grams CO2e"] = frame["grams_co2e"]
    shown["seconds"] = frame["seconds"]
    shown["saved Wh"] = frame["saved_joules"] / 3600
    shown["saved %"] = frame["saved_percent"]
    shown["state"] = frame["state"]
    columns = dict(_COLUMNS)
    form = score_format(shown[list(_SCORE_COLUMNS)])
    for name, (head, meaning) in _SCORE_COLUMNS.items():
        columns[name] = number(head, form, meaning)
    table(
        shown,
        columns,
        key=key,
        alt=f"{len(frame)} runs with their means, folds used and energy",
    )


def _stop_words(stop: float) -> str:
    if pd.isna(stop):
        return "-"
    return f"after {stop:.0f}"
