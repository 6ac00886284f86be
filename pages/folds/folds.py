"""How many folds are enough: decided from every order of finished folds, with what it rests on."""

import streamlit as st

from ecv_core.stopping import RULES
from pages.folds.choice import choose_systems
from pages.folds.curves import explore_systems
from pages.folds.view import (
    advise,
    ask_promise,
    draw_stops,
    draw_tradeoff,
    offer_text_and_figures_for_paper,
    show_answer,
    show_numbers,
    show_options,
    write_link,
)
from pages.shared.address.link import repeat_link_warnings
from pages.shared.address.navigation import page
from pages.shared.base.glossary import glossary_link
from pages.shared.charts.cite import PAPER_LINK
from pages.shared.charts.plot import preload_plots
from pages.shared.widgets.sliders import draw_alpha_slider

with page():
    st.title("How many folds are enough?", anchor=False)
    repeat_link_warnings()
    preload_plots()
    choice = choose_systems()
    promise = ask_promise()
    if choice.systems:
        rules = tuple(RULES)
        explored = explore_systems(choice.systems, promise.within_percent, rules)
        advice = advise(explored, promise.share_of_orders, rules)
        show_answer(explored, advice, choice)
        write_link(explored)
        draw_alpha_slider(explored.alphas, explored.alpha_at_start)
        draw_tradeoff(explored, advice)
        offer_text_and_figures_for_paper(explored, advice, choice.runs)
        show_options(explored, advice)
        st.header("What every alpha costs and gives", anchor=False)
        st.markdown(
            f"By {glossary_link('e-fold', 'e-fold cross-validation')} ({PAPER_LINK}), at any "
            f"**{glossary_link('alpha')}** and over **every {glossary_link('order', 'order')}** of "
            f"the {glossary_link('fold', 'folds')}:"
        )
        show_numbers(explored)
        draw_stops(explored)
