"""Chapter 12: the glossary, searched as one types, every entry with an address."""

from __future__ import annotations

import streamlit as st

from pages.learn.course import CHAPTERS
from pages.shared.live.state import escaped
from pages.shared.widgets.component import component
from pages.shared.widgets.glossary import glossary_address, terms

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
    asked = st.query_params.get(PARAMETER, "")
    if asked and asked not in terms():
        st.warning(
            f"The glossary has no entry '{escaped(asked)}'; search for another word below.",
            icon=":material/link_off:",
        )
    _glossary(key="learn-glossary", data={"term": asked, "entries": entries()})


def entries() -> list[dict[str, str]]:
    """Every entry as the component shows it."""
    return [
        {
            "id": entry.id,
            "title": entry.title,
            "text": entry.text,
            "address": glossary_address(entry.id),
            "chapter": entry.chapter,
            "told": CHAPTERS[entry.chapter].question if entry.chapter else "",
        }
        for entry in terms().values()
    ]
