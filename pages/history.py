"""All runs: find one, open it, go on with it, or delete it."""

import streamlit as st

from pages.components.shared.glossary import glossary_link
from pages.components.shared.history_list import filtered, follow, history_list
from pages.components.shared.import_run import import_run
from pages.components.shared.link import copy_link
from pages.components.shared.navigation import through_app
from pages.components.shared.plot import preload_plots
from pages.components.shared.state import manager, sentences, store

through_app()
with sentences():
    manager()
    st.title("History", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        import_run()
        copy_link()
    runs = store().runs()
    if not runs:
        st.markdown(
            f"No runs yet. Every {glossary_link('run')} you start is kept here, finished or not."
        )
        st.page_link("pages/run.py", label="Start the first one", icon=":material/play_circle:")
    else:
        history_list(filtered(runs))
        follow(store().runs)
    preload_plots()  # for the page that is opened next
