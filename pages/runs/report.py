"""One report about the runs that are picked, or shown: what is best, and what all of it cost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from ecv_core.figures.words import counted
from ecv_core.store.listing import ListedRun, groups_of_runs
from pages.shared.charts.cite import machine_and_versions
from pages.shared.live.person import name_of_starter
from pages.shared.live.runs import with_folds
from pages.shared.live.state import results, store

MOST = 500
"""More runs are not reported at once."""


def report_popover(picked: Sequence[ListedRun], shown: Sequence[ListedRun]) -> None:
    """A popover with the report as HTML, PDF, LaTeX or CSV, made when it is asked for.

    Args:
        picked: The runs that are picked.
        shown: Those that are shown, which are reported where none is picked.
    """
    rows = list(picked or shown)[:MOST]
    if not rows:
        return
    kind = "shown"
    if picked:
        kind = "picked"
    with st.popover("Report", icon=":material/summarize:"):
        st.markdown(
            f"**{counted(len(rows), f'{kind} run')}**: which is best, with p values, and what they "
            "used, saved and emitted together, by person and by tag."
        )
        if len(rows) == MOST:
            st.caption(f"The newest {MOST}; filter by time for others.")
        _download(rows, "html", "Web page, A4 when printed", "text/html")
        _download(rows, "pdf", "PDF", "application/pdf")
        _download(rows, "tex", "LaTeX table", "text/x-tex")
        _download(rows, "csv", "CSV in SI units", "text/csv")


def _download(rows: Sequence[ListedRun], file_format: str, label: str, mime: str) -> None:
    """A button that makes a file of these runs, in a format of `runs_report`, as it is pressed."""
    st.download_button(
        label,
        partial(_report_file, rows, file_format),
        file_name=f"e-fold-report.{file_format}",
        mime=mime,
        icon=":material/download:",
        key=f"report-{file_format}",
        on_click="ignore",
    )


def _report_file(rows: Sequence[ListedRun], file_format: str) -> str | bytes:
    from ecv_core.figures.report.runs_report import runs_report

    runs = [results().with_user_scores(with_folds(row)) for row in rows]
    groups = groups_of_runs(store(), runs)
    if "person" in groups:  # runs have the ids of people, and the report has their names
        groups["person"] = {
            run_id: name_of_starter(person_id) for run_id, person_id in groups["person"].items()
        }
    return runs_report(runs, file_format, groups=groups, made_with=machine_and_versions(runs))
