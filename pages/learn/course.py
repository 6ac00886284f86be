"""The way through the chapters: where one is, back, next, and the chapter itself."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import streamlit as st

from pages.shared.address.link import write_into_link
from pages.shared.base.component import component
from pages.shared.live.state import errors_as_sentences, escaped

_HERE = Path(__file__).parent
_STYLE = (_HERE / "learn.css").read_text("utf-8")


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """One idea."""

    id: str
    """In the address, `?chapter=`; also the name of its module, which has a function `show`."""
    short: str
    """For the table of contents."""
    question: str
    """The headline."""
    idea: str
    """The answer, in words that the last row understands."""


_ROWS = tomllib.loads((_HERE / "chapters.toml").read_text("utf-8"))["chapter"]
CHAPTERS = {row["id"]: Chapter(**row) for row in _ROWS}
"""Every chapter, by id."""
FIRST = next(iter(CHAPTERS))

PARAMETER = "chapter"
"""In the address."""
_CHAPTER = "learn-chapter"
"""Key of the control that says which chapter is open: of two quick picks the later one holds."""

_history = component(__file__, "ecv_history", html="", js=["history.js"])


def show_course() -> None:
    """The chapter that was picked, at first that of the address, with the way to its neighbours."""
    asked_chapter = st.query_params.get(PARAMETER, FIRST)
    st.html(f"<style>{_STYLE}</style>")
    chapter = _pick_chapter()
    if asked_chapter not in CHAPTERS:
        st.warning(
            f"There is no chapter '{escaped(asked_chapter)}'; this is the first. Pick another one "
            "above.",
            icon=":material/link_off:",
        )
    with st.container(key="learn"):
        st.title(chapter.question, anchor=False)
        st.markdown(chapter.idea)
        with errors_as_sentences():
            # A chapter is loaded when it is opened, because its figures take a while to load.
            import_module(f"pages.learn.{chapter.id}").show()
        write_into_link({PARAMETER: chapter.id})
    # The browser's back and forth change the address alone; this opens the chapter that it names.
    _history(key="learn-history", on_moved_change=_follow_the_address)


def _pick_chapter() -> Chapter:
    """Back, next and all chapters; gives the one that is open."""
    ids = list(CHAPTERS)
    labels = {}
    for number, chapter in enumerate(CHAPTERS.values(), start=1):
        labels[chapter.id] = f"{number} {chapter.short}"
    if _CHAPTER not in st.session_state:
        _follow_the_address()
    open_id = st.session_state[_CHAPTER]
    number = ids.index(open_id)
    last_number = len(ids) - 1
    with st.container(key="learn-way", horizontal=True, vertical_alignment="center"):
        st.button(
            "Back",
            key="learn-back",
            on_click=_open,
            args=(ids[max(number - 1, 0)],),
            disabled=number == 0,
            shortcut="Left",
        )
        st.button(
            "Next",
            type="primary",
            key="learn-next",
            on_click=_open,
            args=(ids[min(number + 1, last_number)],),
            disabled=number == last_number,
            shortcut="Right",
        )
        st.pills(
            "Chapter",
            ids,
            format_func=labels.__getitem__,
            key=_CHAPTER,
            required=True,
            on_change=_write_the_address,
            label_visibility="collapsed",
        )
    st.progress((number + 1) / len(ids))
    return CHAPTERS[open_id]


def _follow_the_address() -> None:
    """At first, and when the browser went back or forth: that changed its address, no press did."""
    asked_chapter = st.query_params.get(PARAMETER, FIRST)
    if asked_chapter not in CHAPTERS:
        asked_chapter = FIRST
    st.session_state[_CHAPTER] = asked_chapter


def _write_the_address() -> None:
    st.query_params.from_dict({PARAMETER: st.session_state[_CHAPTER]})


def _open(chapter_id: str) -> None:
    st.session_state[_CHAPTER] = chapter_id
    _write_the_address()
