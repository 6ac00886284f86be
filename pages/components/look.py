"""The little that the theme in .streamlit/config.toml cannot say."""

import streamlit as st

# Streamlit writes white on the primary colour, which is unreadable on a dark page's light blue.
_STYLE = """
<style>
[data-testid="stBaseButton-primary"]:not(:disabled) { color: light-dark(#fff, #0b1620); }
</style>
"""


def look() -> None:
    """Apply it; call once per run of the app."""
    st.html(_STYLE)
