"""Chapter 1: the memoriser is best on what it has seen and worst on what was held out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pages.learn.material.dealing import MEMORISER, Grades, grades
from pages.learn.material.drawings import grades_figure
from pages.learn.parts import save_chart, show_takeaway
from pages.shared.charts.plot import plot
from pages.shared.widgets.choices import switch

SEEN = "what the model has seen"
HELD_OUT = "what was held out"
MODEL_WORDS = {
    MEMORISER: "memorises everything",
    "popular": "recommends what is popular",
    "item-knn": "looks for similar items",
    "ease": "learns item weights",
}


def show() -> None:
    """The switch, the bars, the lesson."""
    graded_data = switch("Grade four models on", [SEEN, HELD_OUT], "graded")
    models = grades()
    frame = grades_frame(models)
    plot(
        partial(grades_figure, frame, graded_data),
        cache_key=(graded_data, *frame.itertuples(index=False, name=None)),
        key="learn-grades",
        name="seen and held out",
        alt=grades_words(frame, graded_data),
    )
    _draw_save_menu(frame, graded_data)
    by_algorithm = {model.algorithm: model for model in models}
    memoriser = by_algorithm[MEMORISER]
    if graded_data == HELD_OUT:
        best = max(models, key=lambda model: model.held_out)
        show_takeaway(
            f"The memoriser falls from {memoriser.seen:.2f} to **{memoriser.held_out:.2f}**. Only "
            f"held-out data shows which model has learned: here the one that "
            f"{MODEL_WORDS[best.algorithm]}, with **{best.held_out:.2f}**."
        )
    else:
        show_takeaway(
            f"The memoriser gets **{memoriser.seen:.2f}**, the best mark there is. Would you want "
            "its recommendations? Now switch to **what was held out**."
        )
    st.caption(
        "Computed on the made-up dataset that comes with e-fold: 943 users, fold 1 of 10 held out."
    )


def _draw_save_menu(frame: pd.DataFrame, graded_data: str) -> None:
    """The menu that saves both pictures, as steps; the one that is graded on now comes first."""

    def draw(*, dark: bool) -> list[go.Figure]:
        return [
            grades_figure(frame, SEEN, dark=dark),
            grades_figure(frame, HELD_OUT, dark=dark),
        ]

    save_chart(
        "held_out",
        draw,
        subtitle="Four models on a made-up dataset, fold 1 of k = 10 held out",
        sentences=[grades_words(frame, SEEN), grades_words(frame, HELD_OUT)],
        step_names=[SEEN, HELD_OUT],
        initial_step=[SEEN, HELD_OUT].index(graded_data),
        animated=False,
    )


def grades_frame(models: Sequence[Grades]) -> pd.DataFrame:
    """A row for each `model`: what it does, and its grades on what is SEEN and on HELD_OUT."""
    rows = [(MODEL_WORDS[model.algorithm], model.seen, model.held_out) for model in models]
    return pd.DataFrame(rows, columns=["model", SEEN, HELD_OUT])


def grades_words(frame: pd.DataFrame, graded_data: str) -> str:
    """The bars in a sentence.

    Args:
        frame: As of `grades_frame`.
        graded_data: The column of the grades that are shown, and what they are of.
    """
    best_first = frame.sort_values(graded_data, ascending=False, kind="stable")
    models = []
    for model, grade in zip(best_first["model"], best_first[graded_data], strict=True):
        models.append(f"{model} {grade:.2f}")
    return f"nDCG@10 of four models on {graded_data}, best first: {', '.join(models)}."
