"""The alpha slider that pages with curves share: what listens to SLIDER follows it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ecv_core.analysis.orders.outcomes import Curve
from ecv_core.analysis.tradeoff.curves import PAPER_COST_PERCENT
from pages.shared.address.link import step_from_link
from pages.shared.live.state import KEPT
from pages.shared.widgets.glossary import explained
from pages.shared.widgets.slider_watch import slider_watch
from pages.shared.widgets.words import alpha_text

KEY = "explore_alpha"
SLIDER = "alpha"
USUAL_ALPHA = 1e-4
_BOX = "explore-slider"
_STICKY = f"""
<style>
[data-testid="stLayoutWrapper"]:has(> .st-key-{_BOX}) {{
  position: sticky; top: 3.25rem; z-index: 20; padding: 0.25rem 0 0.75rem;
  background: light-dark(#FBFBF9, #12181F);
}}
</style>
"""


def alpha_slider(
    alphas: list[float], usual: float, below: Callable[[float], None] | None = None
) -> None:
    """The slider; it stays in sight while the page is scrolled.

    Args:
        alphas: its steps.
        usual: the one to start with.
        below: draws what is to be there at each alpha; it is called again when the slider moves.
    """
    st.html(_STICKY)
    step_from_link(KEY, alphas, alpha_text)
    _slider(alphas, usual, below)


def usual_alpha(alphas: list[float], average: Curve) -> float:
    """The step to start with: the usual one, or on another scale what spends as the paper."""
    if alphas[0] <= USUAL_ALPHA <= alphas[-1]:
        return min(alphas, key=lambda alpha: abs(alpha - USUAL_ALPHA))
    return min(alphas, key=lambda alpha: abs(average.at(alpha).cost_percent - PAPER_COST_PERCENT))


def nearest(alphas: list[float], value: float) -> float:
    """The step that is closest on the logarithmic scale."""
    return min(alphas, key=lambda step: max(step / value, value / step))


@st.fragment
def _slider(
    alphas: list[float], usual: float, below: Callable[[float], None] | None = None
) -> None:
    if KEY in st.session_state and st.session_state[KEY] not in alphas:
        before = float(st.session_state[KEY])
        same_scale = alphas[0] <= before <= alphas[-1]
        st.session_state[KEY] = nearest(alphas, before) if same_scale else usual
    with st.container(key=_BOX):
        alpha = st.select_slider(
            "alpha: left spends more and is more certain, right saves more",
            alphas,
            value=usual,
            format_func=alpha_text,
            key=KEY,
            **KEPT,
            help=explained(
                "The paper's rule stops when the interval's width times its last change is at "
                "most alpha. It has the unit of the score squared, so its scale is logarithmic.",
                "alpha",
                "interval-width",
            ),
        )
        slider_watch(SLIDER, container=_BOX, step=alphas.index(float(alpha)))
    if below is not None:
        below(float(alpha))
