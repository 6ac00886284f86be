"""Tables: the numbers behind a chart and their CSV, and runs, one row each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from ecv_core.figures.words import algorithm_title, dataset_title
from ecv_core.records.frames import column_texts
from ecv_core.untrusted.disarming import csv_of

if TYPE_CHECKING:
    from streamlit.elements.lib.column_types import ColumnConfig


ROWS, HIGHEST = 12, 460
"""Rows up to which a table is as high as they are, and the pixels of a longer one."""


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
        frame: what it holds; has a length.
        columns: name -> head, or how it is shown; see `number`.
        key: of the table on the page.
        alt: what it holds, in a sentence.
        placeholder: for what is missing.
        more: width and what else the table takes.
    """
    st.dataframe(
        frame,
        hide_index=True,
        column_config=columns,
        placeholder=placeholder,
        height="content" if len(frame) <= ROWS else HIGHEST,
        key=key,
        alt=alt,
        **more,
    )


def number(label: str | None, form: str = "localized", said: str | None = None) -> ColumnConfig:
    """A column of numbers: its head, or None for its name; their format; what they are."""
    return st.column_config.NumberColumn(label, format=form, help=said)


def chart_table(
    make: Callable[[], pd.DataFrame],
    *,
    key: str,
    name: str,
    alt: str,
    rows: Callable[[Callable[[], None]], None] | None = None,
) -> None:
    """Two small buttons: the table opens here, the CSV is saved; nothing is made before.

    Args:
        make: gives the tidy frame.
        key: of the chart.
        name: of the file.
        alt: the chart's sentence; the table says that it holds the numbers of it.
        rows: draws the part of the page with the table; by default it is drawn as it is.
    """

    def numbers() -> None:
        frame = make()
        said = column_texts(frame).items()
        table(
            frame,
            {name: st.column_config.Column(help=text) for name, text in said},
            key=f"{key}-rows",
            alt=f"The numbers behind: {alt}",
            placeholder="",
        )

    @st.fragment  # of its own: a button that is drawn anew fails those who press the one before
    def box() -> None:
        expander = st.expander(
            "Table", icon=":material/table:", type="compact", key=f"{key}-table", on_change="rerun"
        )
        if expander.open:
            with expander:
                (rows or (lambda draw: draw()))(numbers)

    with st.container(horizontal=True, gap="small", key=f"chart-data-{key}"):
        box()
        said = "The numbers behind this chart."
        csv_button("CSV", make, f"{file_name(name)}.csv", key=f"{key}-csv", help_text=said)


def csv_button(
    label: str,
    make: pd.DataFrame | Callable[[], pd.DataFrame],
    name: str,
    *,
    key: str = "",
    help_text: str | None = None,
) -> None:
    """Saves a table as it is, or one that is made when the button is pressed."""
    st.download_button(
        label,
        lambda: csv_of(make() if callable(make) else make),
        file_name=name,
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key=key or f"csv-{name}",
        type="tertiary",
        help=help_text,
    )


def file_name(words: str) -> str:
    """A file name, without an ending, that every system takes: 'e-fold-item-knn-on-ml-100k'."""
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", words).strip("-.")
    return "-".join(["e-fold", *([plain[:120]] if plain else [])])


def runs_table(frame: pd.DataFrame, *, algorithms: bool, key: str) -> None:
    """Runs, one row each, in the units and words of pages.

    Args:
        frame: from `figures.compare.compare_frame`.
        algorithms: whether they need a column of their own.
        key: of the table on the page.
    """
    text, holds = st.column_config.TextColumn, "of its interval: of the mean, or with the"
    holds += " precision rule of where the k-fold mean is."
    used = "Of the folds used."
    saved = (
        "Of the folds that were not needed; a forecast, the middle of a range, where they did "
        "not run."
    )
    apart = "Between the mean at the stop and the k-fold mean."
    folds = [f"{e} of {k}" for e, k in zip(frame["folds_used"], frame["k"], strict=True)]
    stops = ["-" if pd.isna(stop) else f"after {stop:.0f}" for stop in frame["stop"]]
    columns: dict[str, tuple[Any, ColumnConfig | None]] = {
        "dataset": (frame["dataset"].map(dataset_title), None),
        "algorithm": (frame["algorithm"].map(algorithm_title), None),
        "name": (frame["name"], text("run", pinned=True)),
        "metric": (frame["metric"], None),
        "mean": (frame["mean"], number("mean", "%.4f", "At the stop, or so far.")),
        "low": (frame["low"], number("from", "%.4f", f"Lower end {holds}")),
        "high": (frame["high"], number("to", "%.4f", f"Upper end {holds}")),
        "folds": (folds, text("folds used")),
        "stop": (stops, text("stop", help="The fold after which it stopped.")),
        "k-fold mean": (
            frame["k_fold_mean"],
            number(None, "%.4f", "Mean of all folds, where all have run."),
        ),
        "difference %": (
            frame["difference_percent"],
            number("difference to k-fold, %", "%.2f", apart),
        ),
        "energy Wh": (frame["joules"] / 3600, number(None, "%.2g", used)),
        "grams CO2e": (frame["grams_co2e"], number(None, "%.2g", used)),
        "seconds": (frame["seconds"], number(None, "%.1f", f"Computing time. {used}")),
        "saved Wh": (frame["saved_joules"] / 3600, number(None, "%.2g", saved)),
        "saved %": (frame["saved_percent"], number(None, "%.0f", "Of the energy of all k folds.")),
        "state": (frame["state"], None),
    }
    if not algorithms:
        del columns["algorithm"]
    table(
        pd.DataFrame({name: values for name, (values, _) in columns.items()}),
        {name: shown for name, (_, shown) in columns.items() if shown is not None},
        key=key,
        alt=f"{len(frame)} runs with their means, folds used and energy",
    )
