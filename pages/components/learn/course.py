"""The way through the chapters: where one is, back, next, and the chapter itself."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import streamlit as st

from pages.components.learn.chapters import CHAPTERS, FIRST, Chapter
from pages.components.share.link import copy_link
from pages.components.state import escaped, sentences

PARAMETER = "chapter"
_STYLE = (Path(__file__).parent / "learn.css").read_text(encoding="utf-8")


def course() -> None:
    """The chapter that the address names, with the way to its neighbours."""
    st.html(f"<style>{_STYLE}</style>")
    asked = st.query_params.get(PARAMETER, FIRST)
    chapter = CHAPTERS.get(asked, CHAPTERS[FIRST])
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
                key=f"learn-to-{one.id}" + ("-here" if one is chapter else ""),
                type="tertiary",
                on_click=_open,
                args=(one.id,),
            )
    st.progress((at + 1) / len(order))


def _open(chapter_id: str) -> None:
    st.query_params.from_dict({PARAMETER: chapter_id})
