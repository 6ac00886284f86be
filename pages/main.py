"""The script of every page: page config and navigation, nothing else."""

from pathlib import Path

import streamlit as st

from pages.shared.address.link import drop_endless
from pages.shared.address.navigation import account_page, look
from pages.shared.live.acting import admitted
from pages.shared.live.running import running_bar

_PICTURES = Path(__file__).parent / "shared"


def main() -> None:
    """The page that is asked for."""
    st.set_page_config(page_icon=str(_PICTURES / "icon.svg"), layout="wide")
    st.logo(str(_PICTURES / "logo.svg"), size="large")
    look()
    drop_endless()
    welcome = admitted()
    page = st.navigation(
        {
            "": [
                st.Page("home/home.py", title="Home", icon=":material/home:", default=True),
                st.Page("learn/learn.py", title="Learn", icon=":material/school:"),
                st.Page("data/data.py", title="Data", icon=":material/upload_file:"),
            ],
            "Evaluate": [
                st.Page("run/run.py", title="Run", icon=":material/play_circle:"),
                st.Page("best/best.py", title="Which is best?", icon=":material/trophy:"),
                st.Page("folds/folds.py", title="How many folds?", icon=":material/tune:"),
            ],
            "Results": [
                st.Page("runs/runs.py", title="Runs", icon=":material/balance:"),
                st.Page("replay/replay.py", title="Replay", icon=":material/replay:"),
            ],
            "Studies": [
                st.Page("studies/studies.py", title="Studies", icon=":material/grid_on:"),
                st.Page("splits/splits.py", title="Splits", icon=":material/splitscreen:"),
                st.Page("baselines/baselines.py", title="Baselines", icon=":material/flag:"),
            ],
            "Account": account_page(),
        },
        position="top" if welcome else "hidden",
    )
    if welcome:
        running_bar(page)
        page.run()


if __name__ == "__main__":  # not in the workers that Dask starts while a page is drawn
    main()
