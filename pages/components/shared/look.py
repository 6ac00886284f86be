"""The little that the theme in .streamlit/config.toml and Streamlit's layout cannot say."""

import streamlit as st

# Streamlit writes white on the primary colour, which is unreadable on a dark page's light blue.
# A link in a caption would be paler than the caption, so it has the caption's own ink and its line.
# The CSV button of a chart sits in the line of "Table" and leaves the open table its whole width.
_STYLE = """
<style>
[data-testid="stBaseButton-primary"]:not(:disabled),
[data-testid="stMultiSelect"] [data-tag-index] :is(span, svg) { color: light-dark(#fff, #0b1620); }
[data-testid="stCaptionContainer"] a { color: inherit; }
[class*="st-key-chart-data-"] { position: relative; }
[class*="st-key-chart-data-"] > [data-testid="stLayoutWrapper"] { flex-basis: 100%; }
[class*="st-key-chart-data-"] > [data-testid="stElementContainer"] {
  position: absolute; top: 0; right: 0; z-index: 1;
}
</style>
"""


def look() -> None:
    """Apply it; call once per run of the app."""
    st.html(_STYLE)
