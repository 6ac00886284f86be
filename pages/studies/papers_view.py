"""A table or figure of a paper, cell by cell, beside what is recorded here."""

from __future__ import annotations

import streamlit as st

from ecv_core.figures.papers import markdown, papers, reproduced, tables
from pages.shared.widgets.choices import pick_one
from pages.shared.widgets.words import large


def papers_beside_ours() -> None:
    """Everything below the title."""
    with st.container(horizontal=True):
        paper = pick_one("Paper", list(papers()), "paper", width=340)
        table = pick_one("Table or figure", tables(paper), "table")
        having = st.text_input("Rows with", key="having", placeholder="temporal-user, Tafeng, ...")
    answer, _, rest = _shown(paper, table, having).partition("\n")
    large(answer)
    with st.container(key="papers"):  # a wide table scrolls, the page does not
        st.markdown(rest)


@st.cache_data(show_spinner="Reading what is recorded ...", max_entries=30)
def _shown(paper: str, table: str, having: str) -> str:
    return markdown(reproduced(paper, table, having=having))
