"""Chapter 4: draw the folds of a recorded run in random order, and see the mean wander."""

from __future__ import annotations

from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from ecv_core.records.parameters import percent_text, score_text
from ecv_core.stopping.interval import difference_percent
from pages.learn.material.dealing import draws_frame
from pages.learn.material.drawings import wander_figure
from pages.learn.parts import Guide, guide, save_chart, show_takeaway
from pages.shared.charts.plot import plot

MOST_DRAWS = 60
_SAVED_DRAWS = 20
"""That a saved picture has at least."""
PARAMETER = "draws"
"""In the address; the draws themselves are always the same."""


def show() -> None:
    """The button, the lines, the lesson."""
    guide_run = guide()
    k = guide_run.k
    with st.container(horizontal=True):
        st.button(
            "Draw again",
            icon=":material/shuffle:",
            key="learn-draw",
            type="primary",
            on_click=_draw_more,
            args=(1,),
            shortcut="D",
        )
        st.button("Draw 20 times", key="learn-draw-20", on_click=_draw_more, args=(20,))
        st.button("Start again", key="learn-draw-0", type="tertiary", on_click=_begin_anew)
    draws = asked_draws()
    frame = draws_frame(guide_run.scores, draws)
    half_of_k = k // 2
    low_of_one, high_of_one = _lowest_and_highest_mean(frame, 1)
    low_of_half, high_of_half = _lowest_and_highest_mean(frame, half_of_k)
    newest_draw = frame[frame["draw"] == draws]
    first_score = float(newest_draw["score"].iloc[0])
    k_fold_mean = float(guide_run.scores.mean())
    alt = (
        f"Mean {guide_run.metric} so far against the number of folds drawn, {draws} draws. "
        f"After one fold it lies between {low_of_one} and {high_of_one}, after {half_of_k} between "
        f"{low_of_half} and {high_of_half}; all draws end at {score_text(k_fold_mean)}."
    )
    plot(
        partial(wander_figure, frame, metric=guide_run.metric),
        cache_key=(guide_run.run.run_id, draws),
        key="learn-wander",
        name="means of draws",
        alt=alt,
    )
    _draw_save_menu(guide_run, draws)
    difference = _difference_words(first_score, k_fold_mean)
    if draws == 1:
        show_takeaway(
            "Had you stopped after the first fold, you would have reported "
            f"**{score_text(first_score)}**: a difference of **{difference}** from the mean of all "
            f"{k}. Draw again."
        )
    else:
        show_takeaway(
            f"This time the first fold says **{score_text(first_score)}**, a difference of "
            f"{difference} from the mean of all. Over {draws} draws **one** fold says anything "
            f"from {low_of_one} to {high_of_one}, the mean of **{half_of_k}** from "
            f"{low_of_half} to {high_of_half}."
        )
    st.caption(
        f"{guide_run.note} All draws meet in the end because by then all {k} folds are "
        "drawn; other data would give another mean."
    )


def _draw_save_menu(guide_run: Guide, draws: int) -> None:
    """The menu that saves the draws, one after the other, as steps.

    Args:
        guide_run: The run whose folds are drawn.
        draws: How many are on the page; each draw takes all folds in a random order.
    """
    saved_draws = max(draws, _SAVED_DRAWS)
    # It has a row for each fold of each draw: `mean` is that of the first `n` folds of the draw.
    frame = draws_frame(guide_run.scores, saved_draws)
    k_fold_mean = float(guide_run.scores.mean())
    first_means = frame.loc[frame["n"] == 1, "mean"]
    step_names = []
    sentences = []
    for draw, first_mean in enumerate(first_means, start=1):
        difference = _difference_words(first_mean, k_fold_mean)
        step_names.append(f"draw {draw}")
        sentences.append(
            f"Draw {draw}: the first fold says {score_text(first_mean)}, a difference of "
            f"{difference} from the mean of all {guide_run.k}, {score_text(k_fold_mean)}."
        )

    def draw_all(*, dark: bool) -> list[go.Figure]:
        figures = []
        for draw in range(1, saved_draws + 1):
            draws_so_far = frame[frame["draw"] <= draw]
            figures.append(wander_figure(draws_so_far, metric=guide_run.metric, dark=dark))
        return figures

    save_chart(
        "one_fold",
        draw_all,
        subtitle=f"{guide_run.note} {guide_run.metric}, k = {guide_run.k}",
        sentences=sentences,
        step_names=step_names,
        initial_step=draws - 1,
    )


def _difference_words(mean: float, k_fold_mean: float) -> str:
    """The paper's difference of a mean to that of all folds: '3.1 %'."""
    return percent_text(difference_percent(mean, k_fold_mean) / 100, ".1f")


def _lowest_and_highest_mean(frame: pd.DataFrame, n: int) -> tuple[str, str]:
    """The lowest and the highest mean of n folds over all draws, as they are written."""
    means = frame.loc[frame["n"] == n, "mean"]
    return score_text(means.min()), score_text(means.max())


def asked_draws() -> int:
    """How many draws the address asks for, as far as there are so many; 1 if it does not say."""
    text = st.query_params.get(PARAMETER, "")
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        return 1
    return max(1, min(int(text), MOST_DRAWS))


def _draw_more(draws: int) -> None:
    st.query_params[PARAMETER] = str(min(asked_draws() + draws, MOST_DRAWS))


def _begin_anew() -> None:
    st.query_params[PARAMETER] = "1"
