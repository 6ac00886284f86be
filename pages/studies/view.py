"""The study of datasets and algorithms: headline, figures 2 to 4, rules and datasets as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from ecv_core.analysis.orders.outcomes import Curve
from ecv_core.analysis.selection import Terms, play_orders
from ecv_core.analysis.selection.runs import contenders_of
from ecv_core.analysis.tradeoff.rules import Known
from ecv_core.evaluation import metric_of
from ecv_core.figures.report.describe import Description, describe_study
from ecv_core.figures.report.pictures import cells_picture, ranks_picture
from ecv_core.figures.report.provenance import provenance
from ecv_core.figures.report.study_report import study_report
from ecv_core.figures.scales import difference_scale, stop_scale
from ecv_core.figures.study_summary import (
    WITHIN_PERCENT,
    Summary,
    scores_frame,
    summary,
    systems_of,
)
from ecv_core.figures.words import counted
from ecv_core.records.run import Run, Scores
from ecv_core.stopping import RULES
from ecv_core.store.imports import Origin, origins
from pages.shared.address.link import chosen, copy_link, link_warnings_again
from pages.shared.charts.plot import print_figures
from pages.shared.charts.precision_curves import curves_of_users
from pages.shared.live.state import results, store
from pages.shared.widgets.cite import cite_and_describe, made_with
from pages.shared.widgets.sliders import KEY as ALPHA_KEY
from pages.shared.widgets.sliders import alpha_slider
from pages.shared.widgets.words import alpha_text
from pages.studies.choice import STUDIES, choose_runs, recorded_study, start_form
from pages.studies.figures import figures, headline, made_up, scores_section, usual_of
from pages.studies.tables import datasets_table, papers_table, rules_table

if TYPE_CHECKING:
    from streamlit.elements.lib.column_types import ColumnConfig


# Beside figure 4: winner and order found by selection, with its energy.


ORDERS = 100
"""Drawn per dataset."""


def by_selection(runs: Sequence[Run]) -> None:
    """A table per dataset; worked out when it is opened, since it takes seconds.

    Args:
        runs: of the study; datasets without at least two complete algorithms are left out.
    """
    box = st.expander(
        "The same question by selection: which is best, and in which order?",
        icon=":material/trophy:",
        key="study-selection",
        on_change="rerun",
    )
    if not box.open:
        return
    with box:
        complete = tuple(run.run_id for run in runs if len(run.folds) == run.spec.k)
        with st.spinner("Playing selections ..."):
            table = _table(complete, runs)
        if table.empty:
            st.caption("It needs a dataset with at least two complete algorithms.")
            return
        st.dataframe(
            table,
            hide_index=True,
            column_config={
                "dataset": "Dataset",
                "winner_energy": _percent("Energy for the winner", "Of the energy of all folds."),
                "winner_right": _percent("Right winner", "Best over all folds, or tied with it."),
                "order_energy": _percent("Energy for the order", "Of the energy of all folds."),
                "order_right": _percent("Right order", "That of all folds, but for named ties."),
            },
        )
        st.caption(
            f"All algorithms together, confidence 95 %, over {ORDERS} random orders of the folds "
            "per dataset; where no energy is known, the share of the folds. Alpha plays no part."
        )
        st.page_link("best/best.py", label="Watch one", icon=":material/trophy:")


def _percent(label: str, help_text: str) -> ColumnConfig:
    return st.column_config.NumberColumn(label, format="%.1f %%", help=help_text)


@st.cache_data(show_spinner=False, max_entries=8)
def _table(complete: tuple[str, ...], _runs: Sequence[Run]) -> pd.DataFrame:
    by_dataset: dict[str, dict[str, Run]] = {}
    for run in _runs:
        if run.run_id in complete:
            by_dataset.setdefault(run.spec.dataset, {})[run.spec.algorithm] = run
    rows = []
    for dataset, found in by_dataset.items():
        if len(found) < 2:
            continue
        contenders = contenders_of(list(found.values()), results())
        spec = next(iter(found.values())).spec
        better = metric_of(spec).higher_is_better
        winner, order = (
            play_orders(
                contenders,
                Terms(k=spec.k, until=until, higher_is_better=better),
                orders=ORDERS,
            )
            for until in ("winner", "order")
        )
        rows.append(
            {
                "dataset": dataset,
                "winner_energy": 100 * (winner.joules_share or winner.folds_share),
                "winner_right": 100 * winner.right,
                "order_energy": 100 * (order.joules_share or order.folds_share),
                "order_right": 100 * order.right_order,
            }
        )
    return pd.DataFrame(rows)


# What can be taken from the study: its report, its figures for print, a link, text to cite.


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


def study() -> None:
    """Everything below the title.

    Raises: EcvError for a study that cannot be shown.
    """
    link_warnings_again()
    recorded = recorded_study()
    study_id = STUDIES.pick()
    chosen = choose_runs(study_id, recorded)
    shown = [*chosen.whole, *chosen.early]
    scores = scores_frame(shown)
    if chosen.whole:
        done = studied(systems_of(chosen.whole))
        alpha_slider(done.alphas, usual_of(done), partial(take_away, done, chosen.whole))
        headline(done, chosen.papers)
        figures(done, scores)
        made_up(chosen.whole)
        by_selection(chosen.whole)
        cite(done, chosen.whole)
        if chosen.papers:
            papers_table(done, chosen.papers)
        rules_table(done, rules_of(done))
    if shown:
        scores_section(scores)
        datasets_table(list(dict.fromkeys(run.spec.dataset for run in shown)))
    with (
        st.container(key="new-study"),
        # Another study is another form, so that it closes when one has been started.
        st.expander("Start a study of your own", icon=":material/add:", key=f"new-{study_id}"),
    ):
        start_form(recorded)


def studied(systems: list[Scores]) -> Summary:
    """The study's figures as data.

    Args:
        systems: at least one, in the order in which rows and columns are to come.
    Raises: EcvError for scores that cannot be explored.
    """
    return _studied(tuple(system.content for system in systems), systems)


def rules_of(done: Summary) -> pd.DataFrame:
    """The comparison of rules; some only over the runs whose users' scores are known."""
    curves: defaultdict[str, dict[int, Curve]] = defaultdict(dict)
    with st.spinner("Working out the rules that look at users ..."):
        for number, system in enumerate(done.tradeoff.systems):
            for rule, curve in curves_of_users(system, WITHIN_PERCENT).items():
                curves[rule][number] = curve
    with_users = tuple((rule, tuple(found)) for rule, found in curves.items())
    return _rules(done.version, with_users, tuple(RULES), done, curves)


@st.cache_data(show_spinner="Walking through every order of the folds ...", max_entries=24)
def _studied(contents: tuple[str, ...], _systems: list[Scores]) -> Summary:
    return summary(_systems)


@st.cache_data(show_spinner="Comparing the rules ...", max_entries=24)
def _rules(
    version: str,
    with_users: tuple[tuple[str, tuple[int, ...]], ...],
    rules: tuple[str, ...],
    _done: Summary,
    _curves: Known,
) -> pd.DataFrame:
    return _done.rules(_curves)
