"""The study of datasets and algorithms: headline, figures 2 to 4, rules and datasets as tables."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

import pandas as pd
import streamlit as st

from ecv_core.analysis.orders import Curve
from ecv_core.analysis.tradeoff.registered import Known
from ecv_core.records import Scores
from ecv_core.stopping import RULES
from ecv_core.study.summary import (
    WITHIN_PERCENT,
    Summary,
    scores_frame,
    summary,
    systems_of,
)
from pages.components.shared.alpha_slider import alpha_slider
from pages.components.shared.link import link_warnings_again
from pages.components.shared.precision_curves import curves_of_users
from pages.components.studies.choice import STUDIES, choose_runs, recorded_study
from pages.components.studies.figures import (
    figures,
    headline,
    made_up,
    usual_of,
)
from pages.components.studies.form import start_form
from pages.components.studies.scores_view import scores_section
from pages.components.studies.selections import by_selection
from pages.components.studies.tables import datasets_table, papers_table, rules_table
from pages.components.studies.take_away import cite, take_away


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
