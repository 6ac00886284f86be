"""Ways to split: who trains on what and from when; and what they do to the ranking."""

import streamlit as st

from pages.components.shared.glossary import glossary_link
from pages.components.shared.navigation import through_app
from pages.components.shared.plot import preload_plots
from pages.components.shared.state import sentences
from pages.components.splits.views import SPLITTING, chosen_view

through_app()
with sentences():
    st.title("Who trains on what, and from when?", anchor=False)
    st.markdown(
        f"A **{glossary_link('split')}** decides what a recommender learns from and what it is "
        "tested on, and so how good it looks, and which one looks best."
    )
    preload_plots()
    if chosen_view() == SPLITTING:
        from pages.components.splits.view import how_it_splits

        how_it_splits()
    else:
        from pages.components.rank_swaps import rank_swaps_section

        rank_swaps_section()
