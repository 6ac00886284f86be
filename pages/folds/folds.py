"""How many folds are enough: decided from every order of finished folds, with what it rests on."""

import streamlit as st

from pages.folds.choice import choose_systems
from pages.folds.curves import explore_systems
from pages.folds.view import (
    answer,
    decision_of,
    numbers_row,
    options,
    promise_input,
    run_button,
    stops,
    take_away,
    tradeoff,
    view_link,
)
from pages.shared.address.link import link_warnings_again
from pages.shared.address.navigation import page
from pages.shared.charts.plot import preload_plots
from pages.shared.widgets.cite import PAPER_LINK
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.sliders import alpha_slider

with page():
    st.title("How many folds are enough?", anchor=False)
    link_warnings_again()
    preload_plots()
    systems, runs, whose = choose_systems()
    left, right = st.columns([1, 1.3], gap="medium")
    with left:
        limit, share = promise_input()
    if systems:
        explored = explore_systems(systems, limit)
        found = decision_of(explored, share)
        with left:
            answer(explored, found, whose)
            run_button(found, runs)
            view_link(explored)
            alpha_slider(explored.alphas, explored.usual)
        with right:
            tradeoff(explored)
        take_away(explored, found, runs)
        options(explored, found)
        st.header("What every alpha costs and gives", anchor=False)
        st.markdown(
            f"The {glossary_link('fold', 'folds')} of these runs are all known. Move "
            f"**{glossary_link('alpha')}** of {glossary_link('e-fold', 'e-fold cross-validation')} "
            f"({PAPER_LINK}) and see what stopping early would have cost and given, over **every "
            f"{glossary_link('order', 'order')}** in which the folds could have come."
        )
        numbers_row(explored)
        stops(explored)
