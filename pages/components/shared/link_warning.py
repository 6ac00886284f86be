"""What a link asks for and cannot have, said until the reader has had a chance to read it."""

from __future__ import annotations

import streamlit as st

_SAID, _AGAIN = "link-warnings", "link-warnings-again"


def link_warning(text: str) -> None:
    """One sentence, as Markdown, about the link that opened the page."""
    st.warning(f"From the link: {text}", icon=":material/link_off:")
    st.session_state[_SAID] = [*st.session_state.get(_SAID, []), text]


def link_warnings_again() -> None:
    """Call at the top of a page: says once more what the run before said, if it was cut short."""
    said = st.session_state.pop(_SAID, [])
    if st.session_state.pop(_AGAIN, False):
        for text in said:
            link_warning(text)


def keep_link_warnings() -> None:
    """Call before a rerun that nobody asked for: by then the address is put right."""
    st.session_state[_AGAIN] = True
