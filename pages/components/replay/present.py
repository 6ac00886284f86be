"""The presentation: large type, only the figure and the sentence; keys do the rest."""

from __future__ import annotations

import streamlit as st

from pages.components.replay.settings import Chosen
from pages.components.replay.view import controls, figure, moment_sentence
from pages.components.shared.state import escaped
from pages.components.shared.words import metric_label, rule_words, run_title

_HEIGHT = 488
_TYPE_SCALE = 1.35
_STYLE = """
<style>
[data-testid="stHeader"] { display: none; }
.st-key-replay-settings:not(:has([data-testid="stAlert"])) { display: none; }
[data-testid="stMainBlockContainer"] { padding: 0.75rem 1.5rem 0; zoom: var(--ecv-zoom, 1); }
[data-testid="stMainBlockContainer"] .ecv-sentence {
  font-size: 1.9rem; line-height: 1.3; min-height: 3.9em; margin: 0; font-weight: 500;
}
.st-key-replay-told p { font-size: 1.35rem; line-height: 1.3; margin: 0 0 0.5rem; }
</style>
"""


def presenting() -> bool:
    """Whether the address asks for the presentation."""
    return st.query_params.get("present", "") not in ("", "0", "false")


def presentation(chosen: Chosen) -> None:
    """Draw it; goes back to the page when someone leaves it."""
    st.html(_STYLE)
    spec = chosen.spec
    with st.container(key="replay-told"):  # whoever comes late sees what is shown
        st.markdown(
            f"**{escaped(run_title(chosen.run))}**, {escaped(metric_label(spec))}, "
            f"{rule_words(spec)}"
        )
    moment_sentence(chosen)
    figure(chosen, height=_HEIGHT, type_scale=_TYPE_SCALE)
    if controls(chosen, present=True):
        st.query_params.pop("present", None)
        st.rerun()
