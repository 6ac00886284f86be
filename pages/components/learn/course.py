"""The way through the chapters: where one is, back, next, and the chapter itself."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from time import monotonic

import streamlit as st

from pages.components.learn.chapters import CHAPTERS, FIRST, Chapter
from pages.components.shared.component import component
from pages.components.shared.link import copy_link
from pages.components.shared.state import escaped, sentences

PARAMETER = "chapter"
_LEFT = "learn-left"
"""In the session: the chapter that is open, those just left for it, and when."""
_SECONDS_BEHIND = 10.0
"""How long a browser may take to change its address."""
_STYLE = (Path(__file__).parent / "learn.css").read_text(encoding="utf-8")
_STYLE_HERE = """
.st-key-learn-to-CHAPTER button { border-bottom: 3px solid currentColor; border-radius: 0; }
.st-key-learn-to-CHAPTER button p { font-weight: 700; }
"""
"""A button that is marked by its style keeps its key, and a press on it while the page is drawn."""


_history = component(__file__, "ecv_history", html="", js="history.js")


def course() -> None:
    """The chapter that the address names, with the way to its neighbours."""
    asked = _asked()
    chapter = CHAPTERS.get(asked, CHAPTERS[FIRST])
    here = _STYLE_HERE.replace("CHAPTER", chapter.id)
    st.html(f"<style>{_STYLE}{here}</style>")
    _way(chapter)
    if asked not in CHAPTERS:
        st.warning(
            f"There is no chapter '{escaped(asked)}'; this is the first. Pick another one above.",
            icon=":material/link_off:",
        )
    with st.container(key="learn"):
        st.title(chapter.question, anchor=False)
        st.markdown(chapter.idea)
        with sentences():
            import_module(chapter.module).show()
        copy_link({PARAMETER: chapter.id})
    _history(key="learn-history", on_moved_change=_believe_the_address)


def _way(chapter: Chapter) -> None:
    order = list(CHAPTERS)
    at = order.index(chapter.id)
    with st.container(key="learn-way", horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            "Back",
            icon=":material/arrow_back:",
            key="learn-back",
            on_click=_open,
            args=(order[max(at - 1, 0)],),
            disabled=at == 0,
            shortcut="Left",
        )
        st.button(
            "Next",
            icon=":material/arrow_forward:",
            icon_position="right",
            type="primary",
            key="learn-next",
            on_click=_open,
            args=(order[min(at + 1, len(order) - 1)],),
            disabled=at == len(order) - 1,
            shortcut="Right",
        )
        st.markdown(f"**{at + 1} of {len(order)}**", width="content")
        for number, one in enumerate(CHAPTERS.values(), start=1):
            st.button(
                f"{number} {one.short}",
                key=f"learn-to-{one.id}",
                type="tertiary",
                on_click=_open,
                args=(one.id,),
            )
    st.progress((at + 1) / len(order))


def _asked() -> str:
    """The chapter in the address, unless the browser has not yet put the one opened last there.

    What is pressed or moved while a chapter is drawn comes with the address of the one before.
    """
    asked = st.query_params.get(PARAMETER, FIRST)
    opened, left, at = st.session_state.get(_LEFT, ("", (), 0.0))
    behind = asked in left and monotonic() - at < _SECONDS_BEHIND
    return str(opened) if behind else asked


def _believe_the_address() -> None:
    """The browser went back or forth: that changed its address, and no press did."""
    st.session_state.pop(_LEFT, None)


def _open(chapter_id: str) -> None:
    asked = st.query_params.get(PARAMETER, FIRST)
    _, left, at = st.session_state.get(_LEFT, ("", (), 0.0))
    if monotonic() - at >= _SECONDS_BEHIND:
        left = ()
    left = tuple(one for one in (*left, asked) if one != chapter_id)
    st.session_state[_LEFT] = (chapter_id, left, monotonic())
    st.query_params.from_dict({PARAMETER: chapter_id})
