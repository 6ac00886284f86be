"""All runs: find one, open it, go on with it, or delete it."""

import streamlit as st

from pages.components.history_list import filtered, follow, history_list
from pages.components.navigation import through_app
from pages.components.share.import_run import import_run
from pages.components.state import manager, sentences, store

through_app()
with sentences():
    manager()
    st.title("History", anchor=False)
    import_run()
    runs = store().runs()
    if not runs:
        st.markdown("No runs yet. Every run you start is kept here, finished or not.")
        st.page_link("pages/run.py", label="Start the first one", icon=":material/play_circle:")
    else:
        history_list(filtered(runs))
        follow(store().runs)
