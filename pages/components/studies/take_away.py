"""What can be taken from the study: its report, its figures for print, a link, text to cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from ecv_core.figures.scales import difference_scale, stop_scale
from ecv_core.records import Run
from ecv_core.report import provenance, study_report
from ecv_core.report.describe import Description, describe_study
from ecv_core.report.table_pictures import cells_picture, ranks_picture
from ecv_core.store import Origin, origins
from ecv_core.study.summary import Summary
from ecv_core.words import counted
from pages.components.shared.alpha_slider import KEY as ALPHA_KEY
from pages.components.shared.cite import cite_and_describe, made_with
from pages.components.shared.link import chosen, copy_link
from pages.components.shared.print_figure import print_figures
from pages.components.shared.state import store
from pages.components.shared.words import alpha_text
from pages.components.studies.figures import usual_of


def view_link(done: Summary) -> None:
    """Copies the link to what is chosen, defaults too: another place has other cells."""
    copy_link(
        chosen("study_datasets", "study_algorithms") | {ALPHA_KEY: [alpha_text(usual_of(done))]}
    )


def take_away(done: Summary, runs: Sequence[Run], alpha: float) -> None:
    """What can be taken from the page: the report at this alpha, and a link to the view."""
    with st.container(horizontal=True):
        report_button(done, runs, alpha)
        _print(done, alpha)
        view_link(done)


def _print(done: Summary, alpha: float) -> None:
    """Figures 2, 3 and 4 at this alpha, for a paper."""
    cells = done.cells[done.cells["alpha"] == alpha]
    pictures = {
        "Difference": partial(
            cells_picture, cells, "difference_percent", scale=difference_scale(cells)
        ),
        "Folds used": partial(cells_picture, cells, "mean_stop", scale=stop_scale(done.k)),
    }
    if not done.ranks.empty:
        ranks, kept = (one[one["alpha"] == alpha] for one in (done.ranks, done.stability))
        pictures["Ranks"] = partial(ranks_picture, ranks, kept)
    title = f"{counted(len(done.tradeoff.systems), 'run')}, alpha {alpha_text(alpha)}"
    print_figures(pictures, key="study", title=title)


def report_button(done: Summary, runs: Sequence[Run], alpha: float) -> None:
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
    done: Summary, runs: Sequence[Run], alpha: float, imported: Mapping[str, Origin]
) -> str:
    """Made away from the page, so everything of the session comes as an argument."""
    known = provenance((run.spec.dataset for run in runs), made_with(runs, imported))
    return study_report(done.cells, runs, known, alpha=alpha, title="e-fold study")


def cite(done: Summary, runs: Sequence[Run]) -> None:
    """Text for a paper, at the alpha that is picked when it is opened."""

    def make() -> Description:
        alpha = float(st.session_state.get(ALPHA_KEY, usual_of(done)))
        return describe_study(done.cells, runs, made_with(runs), alpha=alpha)

    cite_and_describe(make, key="study")
