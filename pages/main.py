"""The script of every page: page config and navigation, nothing else."""

import streamlit as st

from pages.components.shared.acting import admitted
from pages.components.shared.link import drop_endless
from pages.components.shared.navigation import account_page, look, old_pages
from pages.components.shared.running import running_bar

st.set_page_config(page_icon="pages/components/shared/icon.svg", layout="wide")
st.logo("pages/components/shared/logo.svg", size="large")
look()
drop_endless()
welcome = admitted()
page = st.navigation(
    [
        st.Page("learn.py", title="Learn", icon=":material/school:"),
        st.Page("data.py", title="Data", icon=":material/upload_file:"),
        st.Page("run.py", title="Run", icon=":material/play_circle:", default=True),
        st.Page("best.py", title="Which is best?", icon=":material/trophy:"),
        st.Page("folds.py", title="How many folds?", icon=":material/tune:"),
        st.Page("baselines.py", title="Baselines", icon=":material/flag:"),
        st.Page("splits.py", title="Splits", icon=":material/splitscreen:"),
        st.Page("runs.py", title="Runs", icon=":material/balance:"),
        st.Page("studies.py", title="Studies", icon=":material/grid_on:"),
        st.Page("replay.py", title="Replay", icon=":material/replay:"),
        *(account_page() if welcome else []),
        *old_pages(),
    ],
    position="top" if welcome else "hidden",
)
if welcome:
    running_bar(page)
    page.run()
