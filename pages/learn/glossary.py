"""Chapter 12: the glossary, searched as one types, every entry with an address."""

from __future__ import annotations

import streamlit as st

from pages.learn.course import CHAPTERS
from pages.shared.base.component import component
from pages.shared.base.glossary import glossary_address, terms
from pages.shared.live.state import escaped

PARAMETER = "term"

_glossary = component(
    __file__,
    "ecv_glossary",
    html='<div class="ecv-glossary"></div>',
    css="glossary.css",
    js=["glossary.js"],
)


def show() -> None:
    """The search and the entries; the one that the address names is brought into view."""
    asked_term = st.query_params.get(PARAMETER, "")
    if asked_term and asked_term not in terms():
        st.warning(
            f"The glossary has no entry '{escaped(asked_term)}'; search for another word below.",
            icon=":material/link_off:",
        )
    _glossary(key="learn-glossary", data={"term": asked_term, "entries": entries()})


def entries() -> list[dict[str, str]]:
    """Every entry as the component shows it, with the question of the chapter that tells it."""
    rows = []
    for term in terms().values():
        question = ""
        if term.chapter:
            question = CHAPTERS[term.chapter].question
        rows.append(
            {
                "id": term.id,
                "title": term.title,
                "text": term.text,
                "address": glossary_address(term.id),
                "chapter": term.chapter,
                "told": question,
            }
        )
    return rows
