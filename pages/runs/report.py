"""One report about the runs that are picked, or shown: what is best, and what all of it cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from ecv_core.figures.words import counted
from ecv_core.records.run import RunRecord
from ecv_core.store.listing import ListedRun, groups_of
from pages.shared.live.acting import starter
from pages.shared.live.runs import whole
from pages.shared.live.state import results, store
from pages.shared.widgets.cite import made_with

if TYPE_CHECKING:
    from ecv_core.figures.report.runs_report import ReportContent

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
    kind = "picked" if picked else "shown"
    with st.popover("Report", icon=":material/summarize:"):
        st.markdown(
            f"**{counted(len(rows), f'{kind} run')}**: which is best, with p values, and what they "
            "used, saved and emitted together, by person and by tag."
        )
        if len(rows) == MOST:
            st.caption(f"The newest {MOST}; filter by time for others.")
        _download("Web page, A4 when printed", "html", "text/html", rows, _html)
        _download("PDF", "pdf", "application/pdf", rows, _pdf)
        _download("LaTeX table", "tex", "text/x-tex", rows, _latex)
        _download("CSV in SI units", "csv", "text/csv", rows, _csv)


def _download(
    label: str,
    ending: str,
    mime: str,
    rows: Sequence[ListedRun],
    make: Callable[[Sequence[RunRecord]], str | bytes],
) -> None:
    """A button that makes a file of these runs as it is pressed."""

    def make_now() -> str | bytes:
        return make([results().with_user_scores(whole(row)) for row in rows])

    st.download_button(
        label,
        make_now,
        file_name=f"e-fold-report.{ending}",
        mime=mime,
        icon=":material/download:",
        key=f"report-{ending}",
        on_click="ignore",
    )


def _html(runs: Sequence[RunRecord]) -> str:
    from ecv_core.figures.report.runs_report import runs_html

    return runs_html(_content(runs))


def _pdf(runs: Sequence[RunRecord]) -> bytes:
    from ecv_core.figures.report.runs_pdf import runs_pdf

    return runs_pdf(_content(runs))


def _content(runs: Sequence[RunRecord]) -> ReportContent:
    from ecv_core.figures.report.runs_report import runs_content

    groups = groups_of(store(), runs)
    if "person" in groups:
        groups["person"] = {run_id: starter(who) for run_id, who in groups["person"].items()}
    return runs_content(runs, groups=groups, made_with=made_with(runs))


def _latex(runs: Sequence[RunRecord]) -> str:
    from ecv_core.figures.report.runs_table import runs_latex

    return runs_latex(runs)


def _csv(runs: Sequence[RunRecord]) -> str:
    from ecv_core.figures.report.runs_report import runs_csv

    return runs_csv(runs)
