"""The front page: a race that plays by itself, and four doors."""

import streamlit as st

from pages.home.view import doors, shown_race, shown_words
from pages.shared.address.navigation import lead_to, page
from pages.shared.live.state import manager
from pages.shared.widgets.glossary import glossary_link

_OF_THE_RACE = {"fold", "speed"}
"""What the race's player keeps in the address."""

with page():
    if set(st.query_params) - _OF_THE_RACE:  # a link from when Run was the front page
        lead_to("run", {})
        st.stop()
    st.title("Know when you have evaluated enough", anchor=False)
    st.markdown(
        f"{glossary_link('e-fold', 'e-fold cross-validation')} evaluates a recommender "
        f"{glossary_link('fold')} by fold, like {glossary_link('k-fold', 'k-fold')} "
        "cross-validation, but stops as soon as the score is trustworthy, and so "
        f"{glossary_link('energy-saved', 'saves energy')}. {shown_words()}"
    )
    shown_race()
    doors()
    manager()  # the worker is ready before anybody presses
