"""The numbers behind a chart: a table on demand, and their CSV."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from pages.components.shared.names import file_name

if TYPE_CHECKING:
    import pandas as pd

HIGHEST = 380
"""Pixels of the table; a longer one scrolls."""


def chart_table(make: Callable[[], pd.DataFrame], *, key: str, name: str, alt: str) -> None:
    """Two small buttons: the table opens here, the CSV is saved; nothing is made before.

    Args:
        make: gives the tidy frame.
        key: of the chart.
        name: of the file.
        alt: the chart's sentence; the table says that it holds the numbers of it.
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
            lambda: make().to_csv(index=False),
            file_name=f"{file_name(name)}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
            key=f"{key}-csv",
            type="tertiary",
            help="The numbers behind this chart.",
        )
    if box.open:
        with box:
            frame = make()
            st.dataframe(
                frame,
                hide_index=True,
                placeholder="",
                height="content" if len(frame) <= 9 else HIGHEST,
                key=f"{key}-rows",
                alt=f"The numbers behind: {alt}",
            )
