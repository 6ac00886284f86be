"""Several runs side by side: one figure, one table, paired tests, and what differs in settings."""

from importlib import import_module

import streamlit as st

from pages.components.compare.choice import choose_runs, empty_state, still_there
from pages.components.shared.navigation import through_app
from pages.components.shared.plot import preload_plots
from pages.components.shared.state import sentences

through_app()
with sentences():
    st.title("Compare runs", anchor=False)
    preload_plots()
    runs = choose_runs()
    if not runs:
        empty_state()
        import_module("pages.components.compare.view")  # get ready what a click will need
    else:
        from pages.components.compare.entries import entries_of
        from pages.components.compare.settings import settings
        from pages.components.compare.verdicts import paired_tests
        from pages.components.compare.view import picture, table
        from pages.components.shared.history_list import follow

        entries = entries_of(runs)
        picture(entries)
        if len(entries) > 1:
            paired_tests(entries)  # what a comparison is for, so before the numbers
        table(entries)
        if len(entries) > 1:
            settings(entries)
        else:
            st.info("Add a second run above to compare it with.", icon=":material/add:")
        follow(lambda: still_there(runs))
