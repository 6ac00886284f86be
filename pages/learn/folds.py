"""Chapter 2: interactions dealt into folds like cards, in the browser."""

from __future__ import annotations

from dataclasses import asdict

import pandas as pd
import streamlit as st

from ecv_core.lessons.folds import MOST_K, Deal, small_deal
from pages.learn.parts import numbers_behind
from pages.shared.widgets.component import component

_USUAL = 5

_deal = component(
    __file__,
    "ecv_deal",
    html='<div class="ecv-deal"></div>',
    css="folds.css",
    js="folds.js",
)


def show() -> None:
    """The board; its buttons and its slider belong to it."""
    dealt = _small()
    _deal(key="learn-deal", data=asdict(dealt) | {"k": _USUAL, "most": MOST_K})
    st.caption(
        "Eight made-up users, dealt by the very code that real runs use: each user's interactions "
        "are spread evenly, so that every fold knows every user. A user with fewer interactions "
        "than folds gets random ones."
    )
    numbers_behind(_table(dealt), "folds")


@st.cache_data(show_spinner=False, max_entries=1)
def _small() -> Deal:
    return small_deal()


def _table(dealt: Deal) -> pd.DataFrame:
    """The fold of every interaction, for the k that the chapter begins with."""
    rows = [
        (user, number, fold + 1)
        for user, folds in enumerate(dealt.folds[_USUAL], start=1)
        for number, fold in enumerate(folds, start=1)
    ]
    return pd.DataFrame(rows, columns=["user", "interaction", f"fold_of_{_USUAL}"])
