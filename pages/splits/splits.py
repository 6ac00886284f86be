"""Ways to split: who trains on what and from when."""

import streamlit as st

from pages.shared.address.navigation import page
from pages.shared.base.glossary import glossary_link
from pages.shared.charts.plot import preload_plots

with page():
    st.title("Who trains on what, and from when?", anchor=False)
    st.markdown(
        f"A **{glossary_link('split')}** decides what a recommender learns from and what it is "
        "tested on, and so how good it looks, and which one looks best."
    )
    preload_plots()
    from pages.splits.view import show_splits

    show_splits()
