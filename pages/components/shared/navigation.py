"""Every page is reached through app.py, also the first one after the server started."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager


def through_app() -> None:
    """Call first in a page file: hands over to app.py if the page was run on its own.

    Until app.py has run once, Streamlit takes a folder called pages for an app without navigation
    and runs its files directly, so that a tab that was open on /history when the server restarted
    would come back without navigation.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()
