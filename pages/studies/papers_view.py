"""A table or figure of a paper, cell by cell, beside what is recorded here."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ecv_core.figures.papers import Cell, answer, papers, reproduced, tables
from pages.shared.widgets.choices import pick_one
from pages.shared.widgets.tables import csv_button, table
from pages.shared.widgets.words import large


def papers_beside_ours() -> None:
    """Everything below the title."""
    titles = papers()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        paper = pick_one("Paper", list(titles), "paper", words=titles.__getitem__, width=420)
        picked = pick_one("Table or figure", tables(paper), "table")
    cells = _reproduced(paper)
    chosen = [cell for cell in cells if cell.table == picked]
    large(answer(chosen))
    for part in dict.fromkeys(cell.part for cell in chosen):
        st.subheader(part, anchor=False)
        here = [cell for cell in chosen if cell.part == part]
        table(
            _frame(here).drop(columns="part"),
            {"why": st.column_config.TextColumn("why", width="large")},
            key=f"papers-{picked}-{part}",
            alt=f"{picked} of {titles[paper]}, {part}: {answer(here)}",
            placeholder="",
        )
        st.caption(f"Here: {here[0].source}.")
    st.caption(f"All of this paper: {answer(cells)} `python -m ecv_core reproduce` prints it all.")
    csv_button("CSV", lambda: _frame(cells), f"{paper}.csv", help_text="Every cell of this paper.")


def _frame(cells: list[Cell]) -> pd.DataFrame:
    rows = [
        {
            "part": f"{cell.table}: {cell.part}",
            "row": cell.row,
            "column": cell.column,
            "paper": cell.published or "picture",
            "here": cell.shown,
            "label": cell.label,
            "by": cell.by.removeprefix("by "),
            "why": cell.why,
        }
        for cell in cells
    ]
    return pd.DataFrame(rows)


@st.cache_resource(show_spinner="Reading what is recorded ...", max_entries=5)
def _reproduced(paper: str) -> list[Cell]:
    return reproduced(paper)
