"""Tabs, of which the open one alone is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import streamlit as st


def draw_tabs(
    parts: Mapping[str, Callable[[], None]], *, key: str, in_address: bool = False
) -> None:
    """A tab for each part, which is drawn when it is opened.

    A button of a tab that is closed would be there as soon as the tab is pressed, but a download
    that the next drawing replaces is not found any more when it is pressed before that.

    Args:
        parts: What draws each, by the name of its tab.
        key: The key of the tabs.
        in_address: Whether the address says which is open.
    """
    bind: Literal["query-params"] | None = None
    if in_address:
        bind = "query-params"
    tabs = st.tabs(list(parts), key=key, bind=bind, on_change="rerun")
    for tab, draw in zip(tabs, parts.values(), strict=True):
        if tab.open:
            with tab:
                draw()
