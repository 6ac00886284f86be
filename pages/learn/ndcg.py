"""Chapter 3: a ranked list to rearrange; nDCG follows in the browser."""

from __future__ import annotations

import streamlit as st

from pages.learn.parts import save_component
from pages.shared.base.component import component_parts, registered

N = 5
ITEMS = (
    ("Northern Lights", False),
    ("Paper Boats", True),
    ("The Long Winter", False),
    ("Blue Harbour", False),
    ("Second Violin", True),
    ("City of Bridges", False),
    ("Salt and Honey", True),
)
"""Made-up titles in the order in which the list begins, and whether the user took them."""

_RANKING_COMPONENT = component_parts(
    __file__, html='<div class="ecv-rank-list"></div>', css="ndcg.css", js=["ndcg.js"]
)
_draw_ranked_list = registered("ecv_ranked", _RANKING_COMPONENT)


def show() -> None:
    """The list with its own buttons, and the score beside it."""
    data = {"n": N, "items": [{"name": name, "hit": hit} for name, hit in ITEMS]}
    _draw_ranked_list(key="learn-ranked", data=data)
    save_component(
        "ndcg",
        _RANKING_COMPONENT,
        data,
        subtitle=f"nDCG@{N}: a hit at rank r counts 1 / log2(r + 1), the ideal has all hits on top",
    )
    st.caption(
        "Drag an item, or move it with its arrow buttons. A hit at rank r counts 1 / log2(r + 1); "
        "the ideal has all held-out items on top. This is the formula of every run here "
        "(Järvelin and Kekäläinen 2002)."
    )
