"""The two halves of the page; only the chosen one is computed."""

from __future__ import annotations

import streamlit as st

SPLITTING = "How a strategy splits"
RANKING = "What it does to the ranking"


def chosen_view() -> str:
    """One of the two."""
    return (
        st.segmented_control(
            "View",
            [SPLITTING, RANKING],
            default=SPLITTING,
            required=True,
            key="view",
            bind="query-params",
            persist_state="session",
            label_visibility="collapsed",
        )
        or SPLITTING
    )
