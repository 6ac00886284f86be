"""Chapter 4: draw the folds of a recorded run in random order, and see the mean wander."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.learn.material.dealing import draws_frame
from pages.learn.material.drawings import wander_figure
from pages.learn.parts import guide, guide_note, takeaway
from pages.shared.charts.plot import plot

MOST_DRAWS = 60
PARAMETER = "draws"
"""In the address; the draws themselves are always the same."""


def show() -> None:
    """The button, the lines, the lesson."""
    run, scores, metric = guide()
    with st.container(horizontal=True):
        st.button(
            "Draw again",
            icon=":material/shuffle:",
            key="learn-draw",
            type="primary",
            on_click=_draw,
            args=(1,),
            shortcut="D",
        )
        st.button("Draw 20 times", key="learn-draw-20", on_click=_draw, args=(20,))
        st.button("Begin anew", key="learn-draw-0", type="tertiary", on_click=_draw, args=(0,))
    draws = asked_draws()
    frame = draws_frame(scores, draws)
    by_n = frame.groupby("n")["mean"]
    low, high = by_n.min(), by_n.max()
    newest = frame[frame["draw"] == draws]
    first, whole = float(newest["mean"].iloc[0]), float(scores.mean())
    half = len(scores) // 2
    plot(
        partial(wander_figure, frame, metric=metric),
        version=(run.run_id, draws),
        key="learn-wander",
        name="means of draws",
        alt=f"Mean {metric} so far against the number of folds drawn, {draws} draws. After one "
        f"fold it lies between {low[1]:.4f} and {high[1]:.4f}, after {half} between "
        f"{low[half]:.4f} and {high[half]:.4f}; all draws end at {whole:.4f}.",
    )
    off = 100 * abs(first - whole) / whole
    if draws == 1:
        takeaway(
            f"Had you stopped after the first fold, you would have reported **{first:.4f}**: "
            f"**{off:.1f} %** from the mean of all {len(scores)}. Draw again."
        )
    else:
        takeaway(
            f"This time the first fold says **{first:.4f}**, {off:.1f} % from the mean of "
            f"all. Over {draws} draws "
            f"**one** fold says anything from {low[1]:.4f} to {high[1]:.4f}, the mean of "
            f"**{half}** from {low[half]:.4f} to {high[half]:.4f}."
        )
    st.caption(
        f"{guide_note(run)} All draws meet in the end because by then all {len(scores)} folds are "
        "drawn; other data would give another mean."
    )


def asked_draws() -> int:
    """How many draws the address asks for, as far as there are so many; 1 if it does not say."""
    text = st.query_params.get(PARAMETER, "")
    return (
        max(1, min(int(text), MOST_DRAWS))
        if text.isascii() and text.isdigit() and len(text) < 9
        else 1
    )


def _draw(more: int) -> None:
    st.query_params[PARAMETER] = str(min(asked_draws() + more, MOST_DRAWS) if more else 1)
