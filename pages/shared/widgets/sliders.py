"""Sliders that move figures and numbers in the browser, without asking the server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from ecv_core.analysis.orders.outcomes import Curve
from ecv_core.analysis.tradeoff.curves import PAPER_COST_PERCENT
from ecv_core.figures.words import alpha_text
from pages.shared.address.link import step_from_link
from pages.shared.base.component import component
from pages.shared.base.glossary import explained
from pages.shared.live.state import KEPT_IN_ADDRESS

_watch = component(
    __file__, "ecv_slider_watch", html='<span class="ecv-watch"></span>', js=["slider_watch.js"]
)

_numbers = component(
    __file__,
    "ecv_numbers",
    html='<div class="ecv-numbers"></div>',
    css="numbers.css",
    js=["numbers.js"],
)


def watch_slider(name: str, *, container: str, step: int) -> None:
    """Tell figures and numbers of every move of a slider, while it moves.

    Args:
        name: What `plot` and `show_numbers_of_slider` know the slider by.
        container: Key of the container that holds the slider.
        step: Where it is now, counted from 0; true also if the browser's slider is not found.
    """
    _watch(key=f"watch-{name}", data={"slider": name, "container": container, "step": step})


def show_numbers_of_slider(
    name: str,
    *,
    key: str,
    labels: Sequence[tuple[str, str]] = (),
    values: Sequence[Sequence[str]] = (),
    notes: Sequence[Sequence[str]] = (),
    sentences: Sequence[str] = (),
) -> None:
    """A sentence and a row of numbers that follow a slider; either may be left out.

    Args:
        name: The name of the slider.
        key: The same key is the same row on the page.
        labels: The labels of each number, with what it means.
        values: Per step, one text per number.
        notes: Per step, a smaller line below each number.
        sentences: Per step, what the numbers say.
    """
    data = {
        "slider": name,
        "sentences": list(sentences) or [""] * len(values),
        "labels": list(labels),
        "values": list(values),
        "notes": list(notes),
    }
    _numbers(key=key, data=data)


KEY = "explore_alpha"
SLIDER = "alpha"
USUAL_ALPHA = 1e-4


def draw_alpha_slider(
    alphas: list[float],
    usual: float,
    below: Callable[[float], None] | None = None,
    *,
    key: str = KEY,
    name: str = SLIDER,
) -> None:
    """The slider; where one explores it stays in sight while the page is scrolled.

    Args:
        alphas: Its steps.
        usual: The one to start with.
        below: Draws what is to be there at each alpha; it is called again when the slider moves.
        key: The key of the widget, and in the address.
        name: What figures and numbers know it by.
    """
    step_from_link(key, alphas, alpha_text)
    _draw_slider(alphas, usual, key, name, below)


def usual_alpha(alphas: list[float], average: Curve) -> float:
    """The step to start with: the usual one, or on another scale what spends as the paper."""

    def distance_to_papers_cost(alpha: float) -> float:
        return abs(average.at(alpha).cost_percent - PAPER_COST_PERCENT)

    if alphas[0] <= USUAL_ALPHA <= alphas[-1]:
        return nearest_step(alphas, USUAL_ALPHA)
    return min(alphas, key=distance_to_papers_cost)


def nearest_step(alphas: list[float], alpha: float) -> float:
    """The step of the slider that is closest to an alpha on the logarithmic scale."""

    def ratio_to_alpha(step: float) -> float:
        return max(step / alpha, alpha / step)

    return min(alphas, key=ratio_to_alpha)


@st.fragment
def _draw_slider(
    alphas: list[float],
    first_alpha: float,
    key: str,
    name: str,
    draw_below: Callable[[float], None] | None,
) -> None:
    # The slider may have had other steps for other scores, and its value may be none of the new
    # ones.
    if key in st.session_state and st.session_state[key] not in alphas:
        earlier_alpha = float(st.session_state[key])
        st.session_state[key] = first_alpha
        if alphas[0] <= earlier_alpha <= alphas[-1]:
            st.session_state[key] = nearest_step(alphas, earlier_alpha)
    container_key = f"{name}-box"
    if key == KEY:  # look.css keeps this container in sight
        container_key = "explore-slider"
    with st.container(key=container_key):
        alpha = st.select_slider(
            "alpha: smaller is more certain, larger saves more",
            alphas,
            value=first_alpha,
            format_func=alpha_text,
            key=key,
            **KEPT_IN_ADDRESS,
            help=explained(
                "The paper's rule stops when the interval's width times its last change is at "
                "most alpha. Alpha has the unit of the score squared, so its scale is "
                "logarithmic; 1e-4 is 0.0001.",
                "alpha",
                "interval-width",
            ),
        )
        # Figures and numbers follow each move in the browser, without waiting for the server.
        watch_slider(name, container=container_key, step=alphas.index(float(alpha)))
    if draw_below is not None:
        draw_below(float(alpha))
