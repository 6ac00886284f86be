"""What papers report of rating prediction, and what well-known methods give when run with care."""

import streamlit as st

from pages.baselines.view import (
    board_title,
    choose_dataset,
    entries_of,
    show_answer,
    show_board,
    show_curves,
    show_spread,
)
from pages.shared.address.navigation import page
from pages.shared.base.glossary import glossary_link
from pages.shared.charts.plot import preload_plots

with page():
    st.title("How good are the baselines?", anchor=False)
    preload_plots()
    dataset = choose_dataset()
    top = st.container()
    st.markdown(
        "Papers compare a new method with older ones that their authors run themselves, and say "
        "little about how. When Rendle, Zhang and Koren (2019) ran the older methods with care, by "
        f"{glossary_link('k-fold', 'k-fold')} cross-validation with ten folds, these beat "
        "every newer method. This page shows the published results beside what the same methods "
        "reach when they are run here."
    )
    entries = entries_of(dataset)
    st.header(board_title(entries), anchor=False)
    with top:
        show_answer(dataset, entries)
    show_board(dataset, entries)
    show_spread(dataset, entries)
    show_curves(dataset)
