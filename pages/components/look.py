"""The little that the theme in .streamlit/config.toml cannot say."""

import streamlit as st

# Streamlit writes white on the primary colour, which is unreadable on a dark page's light blue.
_STYLE = """
<style>
[data-testid="stBaseButton-primary"]:not(:disabled) { color: var(--ecv-on-primary, #fff); }
</style>
"""
_ON_PRIMARY = "<style>:root { --ecv-on-primary: #0b1620; }</style>"


def look() -> None:
    """Apply it; call once per run of the app."""
    st.html(_STYLE + (_ON_PRIMARY if st.context.theme.type == "dark" else ""))
