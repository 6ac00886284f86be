"""Cite and describe: text for a paper, ready to be copied; made when it is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from ecv_core.figures.report.describe import Description
from ecv_core.figures.report.latex import PAPER_NAMES, PAPER_URL
from ecv_core.records.run import Run
from ecv_core.store.environment import environment
from ecv_core.store.imports import origins
from ecv_core.store.recorded import recorded_environment
from pages.shared.live.state import sentences, store

PAPER_LINK = f"[{PAPER_NAMES}]({PAPER_URL})"
"""The paper whose method this is, as Markdown."""


def cite_and_describe(make: Callable[[], Description], *, key: str) -> None:
    """A closed panel with a methods paragraph, a table and BibTeX.

    Args:
        make: gives the text; called when the panel is open.
        key: of the panel.
    """
    box = st.expander(
        "Cite and describe", icon=":material/format_quote:", key=f"cite-{key}", on_change="rerun"
    )
    if not box.open:
        return
    with box, sentences():
        known = make()
        st.caption("Text for a paper; each block has a button that copies it.")
        plain, latex, references = st.tabs(["Methods", "LaTeX", "BibTeX"], key=f"cite-tabs-{key}")
        with plain:
            st.code(known.methods, language=None, wrap_lines=True)
        with latex:
            st.code(known.latex, language="latex", wrap_lines=True)
            if known.table:
                st.code(known.table, language="latex")
        with references:
            st.code(known.bibtex, language="bibtex")


def made_with(runs: Sequence[Run]) -> Mapping[str, Any]:
    """The environment that all these runs share; where they differ it says so instead."""
    imported = origins(store())
    found: list[Mapping[str, Any]] = []
    for run in runs:
        if run.run_id in imported:
            here: Mapping[str, Any] = imported[run.run_id].made_with
        else:
            here = recorded_environment(run.run_id) or environment()
        if here not in found:
            found.append(here)
    if len(found) == 1:
        return found[0]
    if not found:
        return environment()
    return {"machine": f"{len(found)} different ones, named in each run's JSON"}
