"""What alpha buys: every order of finished folds, exactly, for every alpha at once."""

import streamlit as st

from pages.components.explore.adviser import adviser, limit_input
from pages.components.explore.choice import choose_systems
from pages.components.explore.curves import add_precision, explore_systems
from pages.components.explore.order import one_order
from pages.components.explore.view import charts, numbers_row, view_link
from pages.components.shared.alpha_slider import alpha_slider
from pages.components.shared.glossary import glossary_link
from pages.components.shared.link_warning import link_warnings_again
from pages.components.shared.navigation import through_app
from pages.components.shared.plot import preload_plots
from pages.components.shared.state import sentences

through_app()
with sentences():
    st.title("How much is enough? Explore alpha", anchor=False)
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
        alpha_slider(explored.alphas, explored.usual)
        with right:
            view_link(explored)
        numbers_row(explored)
        charts(explored)
        adviser(explored)
        one_order(explored)
        add_precision(explored)
