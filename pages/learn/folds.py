"""Chapter 2: interactions dealt into folds like cards, in the browser."""

from __future__ import annotations

import streamlit as st

from pages.learn.material.dealing import MOST_K, small_deal
from pages.learn.parts import save_component
from pages.shared.base.component import component_parts, registered

_USUAL_K = 5

_DEALING_COMPONENT = component_parts(
    __file__, html='<div class="ecv-deal"></div>', css="folds.css", js=["folds.js"]
)
_draw_dealing = registered("ecv_deal", _DEALING_COMPONENT)
_kept_deal = st.cache_data(show_spinner=False, max_entries=1)(small_deal)


def show() -> None:
    """The board; its buttons and its slider belong to it."""
    # What folds.js draws: how many interactions each user has, and for every k the fold that each
    # interaction is dealt into.
    folds = _kept_deal()
    interactions_of_users = [len(folds_of_user) for folds_of_user in folds[_USUAL_K]]
    data = {"users": interactions_of_users, "folds": folds, "k": _USUAL_K, "max_k": MOST_K}
    _draw_dealing(key="learn-deal", data=data)
    save_component(
        "folds", _DEALING_COMPONENT, data, subtitle=f"Eight made-up users, k = 2 to {MOST_K}"
    )
    st.caption(
        "Eight made-up users, dealt by the very code that real runs use: each user's interactions "
        "are spread evenly, so that every fold knows every user. Where a user has fewer "
        "interactions than there are folds, it is random which folds get one."
    )
