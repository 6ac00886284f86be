"""The way through the chapters: where one is, back, next, and the chapter itself."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import streamlit as st

from pages.shared.address.link import write_into_link
from pages.shared.live.state import escaped, sentences
from pages.shared.widgets.component import component

# The chapters in their order: what each is called, and which module shows it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One idea."""

    id: str
    """In the address, `?chapter=`; also the name of its module."""
    short: str
    """For the table of contents."""
    question: str
    """The headline."""
    idea: str
    """The answer, in words that the last row understands."""

    @property
    def module(self) -> str:
        """Has a function `show`; loaded when it is opened, because figures take a while to load."""
        return f"pages.learn.{self.id}"


CHAPTERS: dict[str, Chapter] = {
    chapter.id: chapter
    for chapter in (
        Chapter(
            id="held_out",
            short="Held out",
            question="Why hide part of the data?",
            idea="A model that only memorises gets full marks, if you ask what it has already "
            "seen. Hide some interactions, and ask for those.",
        ),
        Chapter(
            id="folds",
            short="Folds",
            question="What is a fold?",
            idea="Deal every user's interactions into k piles, like cards. Each pile is a fold, "
            "and each is held out once while the model learns from the others.",
        ),
        Chapter(
            id="ndcg",
            short="nDCG",
            question="What makes a ranked list good?",
            idea="Finding what the user really took, and putting it on top. Move the items: the "
            "higher a hit, the more it counts.",
        ),
        Chapter(
            id="one_fold",
            short="One fold?",
            question="Why is one fold not enough?",
            idea="Every fold holds out other interactions, and so gives another score. Draw the "
            "folds in another order, and the first tells another story; their mean is steadier.",
        ),
        Chapter(
            id="interval",
            short="Interval",
            question="How sure is the mean?",
            idea="The interval says where the mean may still go. It narrows with every fold: "
            "quickly at first, then hardly.",
        ),
        Chapter(
            id="rule",
            short="Rule",
            question="When is it enough?",
            idea="When the interval is narrow and has stopped changing. The rule multiplies the "
            "two, and stops as soon as the product is at most alpha.",
        ),
        Chapter(
            id="misleading",
            short="Traps",
            question="When does stopping mislead?",
            idea="Four ways in which a stop looks more certain than it is.",
        ),
        Chapter(
            id="savings",
            short="Savings",
            question="What does it save?",
            idea="Every fold after the stop is training that need not happen. Move alpha, and see "
            "what recorded runs would have spared.",
        ),
        Chapter(
            id="choosing",
            short="Choosing",
            question="Which one is best?",
            idea="Choosing needs less than knowing. All meet on the same folds and users, and "
            "whoever can no longer win is evaluated no further.",
        ),
        Chapter(
            id="classifiers",
            short="Origin",
            question="It began with classifiers",
            idea="Stopping a cross-validation early was first shown on tables: rows to classify, "
            "or numbers to predict. The same folds, the same question, another kind of score.",
        ),
        Chapter(
            id="predict",
            short="Game",
            question="Predict the stop",
            idea="Three folds of a real run are in. Bet: after which fold does the rule stop, and "
            "how far from the mean of all will it be?",
        ),
        Chapter(
            id="glossary",
            short="Glossary",
            question="What does that word mean?",
            idea="Every word that these pages use, in one or two sentences.",
        ),
    )
}
"""Every chapter, by id."""

FIRST = next(iter(CHAPTERS))


PARAMETER = "chapter"
_CHAPTER = "learn-chapter"
"""Key of the control that says which chapter is open: of two quick picks the later one holds."""
_STYLE = (Path(__file__).parent / "learn.css").read_text(encoding="utf-8")


_history = component(__file__, "ecv_history", html="", js=["history.js"])


def course() -> None:
    """The chapter that was picked, at first that of the address, with the way to its neighbours."""
    asked = st.query_params.get(PARAMETER, FIRST)
    st.html(f"<style>{_STYLE}</style>")
    chapter = _way()
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
        write_into_link({PARAMETER: chapter.id})
    _history(key="learn-history", on_moved_change=_follow_the_address)


def _way() -> Chapter:
    """Back, next and all chapters.

    Returns: the one that is open.
    """
    order = list(CHAPTERS)
    if _CHAPTER not in st.session_state:
        _follow_the_address()
    at = order.index(st.session_state[_CHAPTER])
    with st.container(key="learn-way", horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            "Back",
            key="learn-back",
            on_click=_open,
            args=(order[max(at - 1, 0)],),
            disabled=at == 0,
            shortcut="Left",
        )
        st.button(
            "Next",
            type="primary",
            key="learn-next",
            on_click=_open,
            args=(order[min(at + 1, len(order) - 1)],),
            disabled=at == len(order) - 1,
            shortcut="Right",
        )
        st.pills(
            "Chapter",
            order,
            format_func=lambda id: f"{order.index(id) + 1} {CHAPTERS[id].short}",
            key=_CHAPTER,
            required=True,
            on_change=_tell_the_address,
            label_visibility="collapsed",
            width="content",
        )
    st.progress((at + 1) / len(order))
    return CHAPTERS[order[at]]


def _follow_the_address() -> None:
    """At first, and when the browser went back or forth: that changed its address, no press did."""
    asked = st.query_params.get(PARAMETER, FIRST)
    st.session_state[_CHAPTER] = asked if asked in CHAPTERS else FIRST


def _tell_the_address() -> None:
    st.query_params.from_dict({PARAMETER: st.session_state[_CHAPTER]})


def _open(chapter_id: str) -> None:
    st.session_state[_CHAPTER] = chapter_id
    _tell_the_address()
