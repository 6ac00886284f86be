"""The study of datasets and algorithms: headline, figures 2 to 4, the rules as a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from ecv_core.analysis.tradeoff.rules import Known, by_rule
from ecv_core.figures.report.describe import describe_study
from ecv_core.figures.report.pictures import cells_picture, ranks_picture
from ecv_core.figures.scales import difference_scale, stop_scale
from ecv_core.figures.study_summary import (
    WITHIN_PERCENT,
    Summary,
    scores_frame,
    summary,
    systems_of,
)
from ecv_core.figures.words import alpha_text, counted
from ecv_core.records.run import Run, Scores
from ecv_core.stopping import RULES
from pages.shared.address.link import chosen, copy_link, link_warnings_again
from pages.shared.charts.precision_curves import curves_of_users
from pages.shared.widgets.cite import for_paper, made_with
from pages.shared.widgets.sliders import KEY as ALPHA_KEY
from pages.shared.widgets.sliders import alpha_slider
from pages.studies.choice import STUDIES, choose_runs, recorded_study, start_form
from pages.studies.figures import figures, headline, made_up, scores_section, usual_of
from pages.studies.tables import rules_table


def take_away(done: Summary, runs: Sequence[Run], alpha: float) -> None:
    """What a paper takes at this alpha, and a link to what is chosen.

    The link has what is at its default too: another place has other cells.
    """
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
    copy_link(
        chosen("study_datasets", "study_algorithms") | {ALPHA_KEY: [alpha_text(usual_of(done))]}
    )
    for_paper(
        lambda: describe_study(done.cells, runs, made_with(runs), alpha=alpha),
        key="study",
        pictures=pictures,
        title=title,
        specs=[run.spec for run in runs],
    )


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
        rules_table(done, rules_of(done))
    if shown:
        scores_section(scores)
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
    with st.spinner("Working out the rules that look at users ..."):
        curves = by_rule(
            curves_of_users(system, WITHIN_PERCENT) for system in done.tradeoff.systems
        )
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
