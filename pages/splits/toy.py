"""The strategy at work on ten people: a picture that steps through the folds in the browser."""

from __future__ import annotations

import streamlit as st

from ecv_core.analysis.split_tables.toy import Leak, ToySplit
from ecv_core.figures.splits import timeline_figure, timeline_steps
from ecv_core.records.spec import RunSpec
from ecv_core.splits import SPLITS
from pages.shared.charts.plot import plot
from pages.shared.live.state import KEPT
from pages.shared.widgets.sliders import numbers, slider_watch
from pages.splits.computed import toy_of

SLIDER = "split-fold"
FOLD = "fold"
_BOX = "split-fold-box"
_MOST_STEPS = 50
"""More folds than this are not stepped through in the browser."""


def fold_slider(spec: RunSpec) -> int:
    """Which fold, repetition or window to look at; 0 where there is only one."""
    with st.container(key=_BOX):
        if spec.k == 1:
            slider_watch(SLIDER, container=_BOX, step=0)
            return 0
        if not 0 <= st.session_state.get(FOLD, 0) < spec.k:
            st.session_state[FOLD] = spec.k - 1
        word = SPLITS[spec.split].fold_word
        fold = st.slider(
            f"Which {word}, counted from 0",
            0,
            spec.k - 1,
            value=0,
            key=FOLD,
            **KEPT,
        )
        slider_watch(SLIDER, container=_BOX, step=fold)
        return fold


def toy_picture(spec: RunSpec) -> None:
    """The figure and its sentence.

    Raises: FoldsError if even the toy cannot be split so.
    """
    toy = toy_of(spec)
    folds = [min(index, toy.k - 1) for index in range(min(max(spec.k, 1), _MOST_STEPS))]
    sentences = [toy_sentence(toy, index) for index in folds]
    version = (spec.split, spec.k, spec.seed, spec.split_params)
    plot(
        lambda dark: timeline_figure(toy, dark=dark),
        version=version,
        key="split-toy",
        alt=sentences[0],
        slider=SLIDER,
        steps=lambda: timeline_steps(toy, sentences, folds),
        name=f"{spec.split} on a toy",
        table=lambda: toy.marks.drop(columns=["user", "level"]),
    )
    numbers(SLIDER, key="split-toy-words", sentences=sentences)
    if toy.k < spec.k:
        st.caption(
            f"The toy has room for {toy.k} of the {spec.k:,} folds; later ones show its last."
        )
    if dict(spec.split_params).get("time_point"):
        st.caption("The toy has a calendar of its own: it is cut where its last share begins.")


def toy_sentence(toy: ToySplit, index: int) -> str:
    """What the picture of a fold shows, in words."""
    here = toy.marks[toy.marks["fold"] == index]["part"].value_counts()
    learnt = int(here.get("training", 0) + here.get("fold-in", 0))
    tested = int(here.get("test", 0))
    text = (
        f"{learnt} interactions are learnt from, {tested} {'is' if tested == 1 else 'are'} tested."
    )
    if unknown := int(here.get("unknown", 0)):
        text += f" {unknown} more are of a person or an item that training does not know."
    leak = toy.leaks[index]
    if leak is not None:
        return f"{text} {_leak_words(toy, leak)}"
    if toy.periods[index] is not None:
        return f"{text} Nothing that is learnt from lies behind the line, so nothing leaks."
    return text


def _leak_words(toy: ToySplit, leak: Leak) -> str:
    names = toy.names
    return (
        f"The arrow goes back in time: {names[leak.learner]} takes {leak.item} on day "
        f"{leak.learnt_day}, and a model that has learnt this predicts that "
        f"{names[leak.tested]} takes it on day {leak.tested_day}."
    )
