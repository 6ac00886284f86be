"""The dashboard: page config and navigation, nothing else."""

import streamlit as st

from pages.components.shared.look import look

st.set_page_config(page_title="e-fold", page_icon="pages/components/shared/icon.svg", layout="wide")
look()
st.navigation(
    [
        st.Page("pages/run.py", title="Run", icon=":material/play_circle:", default=True),
        st.Page("pages/study.py", title="Study", icon=":material/grid_on:"),
        st.Page("pages/explore.py", title="Explore", icon=":material/tune:"),
        st.Page("pages/compare.py", title="Compare", icon=":material/balance:"),
        st.Page("pages/splits.py", title="Splits", icon=":material/splitscreen:"),
        st.Page("pages/replay.py", title="Replay", icon=":material/replay:"),
        st.Page("pages/race.py", title="Race", icon=":material/flag:"),
        st.Page("pages/learn.py", title="Learn", icon=":material/school:"),
        st.Page("pages/history.py", title="History", icon=":material/history:"),
    ],
    position="top",
).run()
