"""Chapter 2: interactions dealt into folds like cards, in the browser."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import streamlit as st

from pages.learn.material.dealing import MOST_K, small_deal
from pages.learn.parts import save_component
from pages.shared.widgets.component import component, component_parts

_USUAL = 5

_HTML = '<div class="ecv-deal"></div>'
_STYLE = "folds.css"
_SCRIPTS = ["folds.js"]
_deal = component(__file__, "ecv_deal", html=_HTML, css=_STYLE, js=_SCRIPTS)


def show() -> None:
    """The board; its buttons and its slider belong to it."""
    data = {**_dealt(), "k": _USUAL, "most": MOST_K}
    _deal(key="learn-deal", data=data)
    save_component(
        "folds",
        component_parts(__file__, html=_HTML, css=_STYLE, js=_SCRIPTS),
        data,
        under=f"Eight made-up users, k = 2 to {MOST_K}",
    )
    st.caption(
        "Eight made-up users, dealt by the very code that real runs use: each user's interactions "
        "are spread evenly, so that every fold knows every user. A user with fewer interactions "
        "than folds gets random ones."
    )


@st.cache_data(show_spinner=False, max_entries=1)
def _dealt() -> dict[str, Any]:
    return asdict(small_deal())
