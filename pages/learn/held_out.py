"""Chapter 1: the memoriser is best on what it has seen and worst on what was held out."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from ecv_core.records.frames import with_columns
from pages.learn.material.dealing import MEMORISER, Grades, grades
from pages.learn.material.drawings import GRADES_COLUMNS, grades_figure
from pages.learn.parts import takeaway
from pages.shared.charts.plot import plot
from pages.shared.widgets.choices import switch

SEEN, HELD_OUT = "what the model has seen", "what was held out"
NAMES = {
    MEMORISER: "memorises everything",
    "popular": "recommends what is popular",
    "item-knn": "looks for similar items",
    "ease": "learns item weights",
}


def show() -> None:
    """The switch, the bars, the lesson."""
    held_out = switch("Grade four models on", [SEEN, HELD_OUT], "graded") == HELD_OUT
    found = grades()
    frame = grades_frame(found)
    plot(
        partial(grades_figure, frame, held_out=held_out),
        version=(held_out, *frame.itertuples(index=False, name=None)),
        key="learn-grades",
        name="seen and held out",
        alt=grades_words(found, held_out=held_out),
    )
    memoriser = next(one for one in found if one.algorithm == MEMORISER)
    best = max(found, key=lambda one: one.held_out)
    if held_out:
        takeaway(
            f"The memoriser falls from {memoriser.seen:.2f} to **{memoriser.held_out:.2f}**. Only "
            f"held-out data tells who has learned: here the one that "
            f"{NAMES[best.algorithm]}, with **{best.held_out:.2f}**."
        )
    else:
        takeaway(
            f"The memoriser gets **{memoriser.seen:.2f}**, the best mark there is. Would you want "
            "its recommendations? Now switch to **what was held out**."
        )
    st.caption(
        "Computed on the made-up dataset that comes with e-fold: 943 users, fold 1 of 10 held out."
    )


@with_columns(GRADES_COLUMNS)
def grades_frame(found: list[Grades]) -> pd.DataFrame:
    """As `figures.grades` wants it."""
    return pd.DataFrame(
        [(NAMES[one.algorithm], one.seen, one.held_out) for one in found],
        columns=["model", "seen", "held_out"],
    )


def grades_words(found: list[Grades], *, held_out: bool) -> str:
    """The bars in a sentence."""
    grade = {one.algorithm: one.held_out if held_out else one.seen for one in found}
    said = ", ".join(
        f"{NAMES[name]} {grade[name]:.2f}" for name in sorted(grade, key=lambda name: -grade[name])
    )
    return f"nDCG@10 of four models on {HELD_OUT if held_out else SEEN}, best first: {said}."
