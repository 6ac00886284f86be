"""How many folds are enough: every order of finished folds, exactly, for every alpha at once."""

from functools import partial

import streamlit as st

from pages.components.folds.adviser import adviser, limit_input
from pages.components.folds.choice import choose_systems
from pages.components.folds.curves import add_precision, explore_systems
from pages.components.folds.order import one_order
from pages.components.folds.view import charts, numbers_row, print_charts, view_link
from pages.components.shared.alpha_slider import alpha_slider
from pages.components.shared.glossary import glossary_link
from pages.components.shared.link import link_warnings_again
from pages.components.shared.navigation import page
from pages.components.shared.plot import preload_plots

with page():
    st.title("How many folds are enough?", anchor=False)
    st.markdown(
        f"The {glossary_link('fold', 'folds')} of these runs are all known. Move "
        f"**{glossary_link('alpha')}** and see what stopping early would have cost and given, over "
        f"**every {glossary_link('order', 'order')}** in which the folds could have come."
    )
    link_warnings_again()
    preload_plots()
    left, right = st.columns([3, 1], gap="medium")
    with left:
        systems = choose_systems()
    with right:
        limit = limit_input()
    if systems:
        explored = explore_systems(systems, limit)
        alpha_slider(explored.alphas, explored.usual, partial(print_charts, explored))
        with right:
            view_link(explored)
        numbers_row(explored)
        charts(explored)
        adviser(explored)
        one_order(explored)
        add_precision(explored)
