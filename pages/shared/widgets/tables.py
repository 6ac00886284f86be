"""The numbers behind a chart: a table on demand, and their CSV."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from ecv_core.records.frames import column_texts
from ecv_core.untrusted.disarming import csv_of

if TYPE_CHECKING:
    import pandas as pd


HIGHEST = 380
"""Pixels of the table; a longer one scrolls."""


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
    with st.container(horizontal=True, gap="small", key=f"chart-data-{key}"):
        box = st.expander(
            "Table",
            icon=":material/table:",
            type="compact",
            key=f"{key}-table",
            on_change="rerun",
        )
        st.download_button(
            "CSV",
            lambda: csv_of(make()),
            file_name=f"{file_name(name)}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
            key=f"{key}-csv",
            type="tertiary",
            help="The numbers behind this chart.",
        )

    def table() -> None:
        frame = make()
        st.dataframe(
            frame,
            hide_index=True,
            placeholder="",
            height="content" if len(frame) <= 9 else HIGHEST,
            column_config={
                name: st.column_config.Column(help=text)
                for name, text in column_texts(frame).items()
            },
            key=f"{key}-rows",
            alt=f"The numbers behind: {alt}",
        )

    if box.open:
        with box:
            (rows or (lambda draw: draw()))(table)


LONGEST = 120


def csv_button(label: str, frame: pd.DataFrame, name: str) -> None:
    """Saves a table as it is."""
    st.download_button(
        label,
        lambda: csv_of(frame),
        file_name=name,
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key=f"csv-{name}",
        type="tertiary",
    )


def file_name(words: str) -> str:
    """A file name, without an ending, that every system takes: 'e-fold-item-knn-on-ml-100k'."""
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", words).strip("-.")
    return "-".join(["e-fold", *([plain[:LONGEST]] if plain else [])])
