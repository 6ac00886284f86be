"""The study as one page to print or to send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from ecv_core.records import Run
from ecv_core.report import provenance, study_report
from ecv_core.runs.recorded import recorded_surroundings
from ecv_core.runs.surroundings import surroundings
from ecv_core.store import Origin, origins
from pages.components.shared.state import store
from pages.components.shared.words import alpha_text
from pages.components.study.analysis import Studied
from pages.components.study.figures import view_link


def take_away(done: Studied, runs: Sequence[Run], alpha: float) -> None:
    """What can be taken from the page: the report at this alpha, and a link to the view."""
    with st.container(horizontal=True):
        report_button(done, runs, alpha)
        view_link(done)


def report_button(done: Studied, runs: Sequence[Run], alpha: float) -> None:
    """A download of the report at this alpha; it is made when the button is pressed."""
    st.download_button(
        f"Report at alpha {alpha_text(alpha)}",
        partial(_report, done, runs, alpha, origins(store())),
        file_name="e-fold-study.html",
        mime="text/html",
        icon=":material/description:",
        key="study-report",
        on_click="ignore",
        help="One page to print or to send: headline, figures 2 and 3 at this alpha, energy, how "
        "to repeat every run, what to cite.",
    )


def _report(
    done: Studied, runs: Sequence[Run], alpha: float, imported: Mapping[str, Origin]
) -> str:
    """Made away from the page, so everything of the session comes as an argument."""
    known = provenance((run.spec.dataset for run in runs), made_with(runs, imported))
    return study_report(done.cells, runs, known, alpha=alpha, title="e-fold study")


def made_with(runs: Sequence[Run], imported: Mapping[str, Origin]) -> Mapping[str, Any]:
    """The surroundings that all these runs share; where they differ it says so instead."""
    found: list[Mapping[str, Any]] = []
    for run in runs:
        if run.run_id in imported:
            here: Mapping[str, Any] = imported[run.run_id].made_with
        else:
            here = recorded_surroundings(run.run_id) or surroundings()
        if here not in found:
            found.append(here)
    if len(found) == 1:
        return found[0]
    return {"machine": f"{len(found)} different ones, named in each run's JSON"}
