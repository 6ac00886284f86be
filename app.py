"""The dashboard: page config and navigation, nothing else."""

import streamlit as st

from pages.components.look import look

st.set_page_config(page_title="e-fold", page_icon="pages/components/icon.svg", layout="wide")
look()
st.navigation(
    [
        st.Page("pages/run.py", title="Run", icon=":material/play_circle:", default=True),
        st.Page("pages/explore.py", title="Explore", icon=":material/tune:"),
        st.Page("pages/history.py", title="History", icon=":material/history:"),
    ],
    position="top",
).run()
