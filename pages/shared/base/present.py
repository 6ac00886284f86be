"""A page for the hall: what stands in containers whose keys begin with 'presented', and no more."""

from __future__ import annotations

import streamlit as st

from pages.shared.base.component import component, ignore

_STYLE = """
<style>
:root header,
main *:not(
  :has([class*="st-key-presented"], [role="alert"]),
  [class*="st-key-presented"], [class*="st-key-presented"] *, [role="alert"], [role="alert"] *),
[class*="st-key-presented"] :has(> [class*="st-key-chart-data-"]) {
  display: none;
}
:root main > div { padding: 0.75rem 1.5rem 0; zoom: var(--ecv-zoom, 1); }
[class*="st-key-presented"] .legend .scrollbox { clip-path: none; } /* zoomed words are wider */
:root main { overflow: hidden; }
main > div :has([class*="st-key-presented"]) { flex: 1 1 100%; width: 100%; }
[class*="st-key-presented"] .ecv-sentence {
  font-size: 1.9rem; line-height: 1.3; min-height: 2.6em; margin: 0; font-weight: 500;
}
[class*="st-key-presented"] p { font-size: 1.5rem; line-height: 1.3; margin: 0; }
[class*="st-key-presented"] .ecv-words .ecv-answer { font-size: 2.2rem; }
[class*="st-key-presented"] .ecv-main table { font-size: 1.25rem; }
[class*="st-key-presented"] .ecv-told > details { display: none; }
.ecv-phones-offer { inset: auto 1rem 1rem auto !important; }
[class*="st-key-presented"] :is(.ecv-lane-head strong, .ecv-lane-says, .ecv-verdict) {
  font-size: 1.6rem;
}
</style>
"""

_keys = component(__file__, "ecv_present", html="", js=["present.js"])


def presenting() -> bool:
    """Whether the address asks for the presentation."""
    return st.query_params.get("present", "") not in ("", "0", "false")


def draw_present_button() -> None:
    """Leads to the presentation of this page."""
    if st.button("Present", icon=":material/present_to_all:", key="present"):
        st.query_params["present"] = "1"
        # The whole page is drawn anew, since the button may be in a part that is drawn by itself.
        st.rerun()


def presentation() -> None:
    """Hide all else where the address asks for it; call once per run of the app."""
    if presenting():
        st.html(_STYLE)
        with st.container(key="present-keys"):
            if _keys(key="present-pressed", data={}, on_leave_change=ignore).leave:
                st.query_params.pop("present", None)
                st.rerun()
