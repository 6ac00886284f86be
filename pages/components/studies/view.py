"""The study of datasets and algorithms: headline, figures 2 to 4, rules and datasets as tables."""

from __future__ import annotations

from functools import partial

import streamlit as st

from ecv_core.study.summary import systems_of
from pages.components.shared.alpha_slider import alpha_slider
from pages.components.studies.analysis import rules_of, studied
from pages.components.studies.choice import STUDIES, choose_runs, recorded_study
from pages.components.studies.figures import (
    cite,
    figures,
    headline,
    made_up,
    take_away,
    usual_of,
)
from pages.components.studies.form import start_form
from pages.components.studies.selections import by_selection
from pages.components.studies.tables import datasets_table, rules_table


def study() -> None:
    """Everything below the title.

    Raises: EcvError for a study that cannot be shown.
    """
    recorded = recorded_study()
    study_id = STUDIES.pick()
    chosen = choose_runs(study_id, recorded)
    if chosen:
        done = studied(systems_of(chosen))
        alpha_slider(done.alphas, usual_of(done), partial(take_away, done, chosen))
        headline(done)
        figures(done)
        made_up(chosen)
        by_selection(chosen)
        cite(done, chosen)
        rules_table(done, rules_of(done))
        datasets_table(list(dict.fromkeys(run.spec.dataset for run in chosen)))
    with (
        st.container(key="new-study"),
        # Another study is another form, so that it closes when one has been started.
        st.expander("Start a study of your own", icon=":material/add:", key=f"new-{study_id}"),
    ):
        start_form(recorded)
