"""The dashboard: page config and navigation, nothing else."""

import streamlit as st

st.set_page_config(page_title="e-fold", page_icon="pages/components/icon.svg", layout="wide")
st.navigation(
    [
        st.Page("pages/run.py", title="Run", icon=":material/play_circle:", default=True),
        st.Page("pages/history.py", title="History", icon=":material/history:"),
    ],
    position="top",
).run()
