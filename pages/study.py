"""Datasets x algorithms as one study: the paper's figures, for every alpha; or one of your own."""

from functools import partial

import streamlit as st

from pages.components.shared.alpha_slider import alpha_slider
from pages.components.shared.glossary import glossary_link
from pages.components.shared.navigation import through_app
from pages.components.shared.plot import preload_plots
from pages.components.shared.state import sentences
from pages.components.study.analysis import as_systems, rules_of, studied
from pages.components.study.choice import choose_runs
from pages.components.study.datasets_table import datasets_table
from pages.components.study.figures import figures, headline
from pages.components.study.report import take_away
from pages.components.study.rules_table import rules_table
from pages.components.study.source import STUDIES, recorded_study
from pages.components.study.start import start_form

through_app()
with sentences():
    st.title("Does it hold everywhere? The study", anchor=False)
    st.markdown(
        "The paper's figures, computed here: every dataset with every algorithm. Move "
        f"**{glossary_link('alpha')}** and see what each cell would have saved and given."
    )
    preload_plots()
    recorded = recorded_study()
    study_id = STUDIES.pick()
    with (
        st.container(key="new-study"),
        # Another study is another form, so that it closes when one has been started.
        st.expander("Start a study of your own", icon=":material/add:", key=f"new-{study_id}"),
    ):
        start_form(recorded)
    chosen = choose_runs(study_id, recorded)
    if chosen:
        done = studied(as_systems(chosen))
        alpha_slider(done.alphas, done.usual, partial(take_away, done, chosen))
        headline(done)
        figures(done)
        rules_table(done, rules_of(done))
        datasets_table(list(dict.fromkeys(run.spec.dataset for run in chosen)))
