"""The same split on the chosen dataset: how its parts are spread over time or users."""

from __future__ import annotations

import streamlit as st

from ecv_core.analysis.split_tables.parts import day
from ecv_core.analysis.split_tables.spread import Axis
from ecv_core.figures.split_spread import spread_figure
from ecv_core.records import Part, RunSpec
from pages.components.shared.plot import plot
from pages.components.shared.state import escaped
from pages.components.splits.computed import axes_of, parts_of, period_of, spread_of

_HEIGHT = 400
_LABELS = {
    Axis.TIME: "Over time",
    Axis.HISTORY: "Within each history",
    Axis.ACTIVITY: "By how active users are",
}


def on_data(content: str, spec: RunSpec, fold: int) -> None:
    """Heading, choice of the axis, sentence and figure."""
    st.header(f"On {escaped(spec.dataset)}", anchor=False)
    axis = _axis(content, spec.dataset)
    frame = spread_of(content, spec, fold, axis)
    found = period_of(content, spec, fold)
    words = _sentence(content, spec, fold)
    st.markdown(words)
    plot(
        lambda dark: spread_figure(
            frame,
            over=axis.value,
            cut=None if found is None else found.test_from,
            dark=dark,
            height=_HEIGHT,
        ),
        version=(content, spec.to_json(), fold, axis.value),
        key="split-spread",
        alt=f"{_LABELS[axis]}: {words.replace('**', '')}",
        height=_HEIGHT,
        name=f"{spec.split} on {spec.dataset}, fold {fold}, {axis.value}",
        table=lambda: frame,
    )


def _axis(content: str, dataset: str) -> Axis:
    labels = {_LABELS[axis]: axis for axis in axes_of(content, dataset)}
    if st.session_state.get("over") not in labels:
        st.session_state.pop("over", None)
    picked = st.segmented_control(
        "Show the parts",
        list(labels),
        default=next(iter(labels)),
        required=True,
        key="over",
        bind="query-params",
        persist_state="session",
        label_visibility="collapsed",
    )
    if Axis.TIME not in labels.values():
        st.caption(f"{escaped(dataset)} has no timestamps, so there is no picture over time.")
    return labels.get(picked or "", next(iter(labels.values())))


def _sentence(content: str, spec: RunSpec, fold: int) -> str:
    counts = parts_of(content, spec, fold).counts
    train, test = counts[Part.TRAIN], counts[Part.TEST]
    words = (
        f"A model learns from **{train.interactions:,}** interactions of {train.users:,} users and "
        f"is tested on **{test.interactions:,}** of {test.users:,} users."
    )
    if train.first is None or test.first is None:
        return words
    return (
        f"{words} Training goes from {day(train.first)} to {day(train.last)}, "
        f"what is tested from {day(test.first)} to {day(test.last)}."
    )
