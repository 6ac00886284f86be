"""The same split on the chosen dataset: how its parts are spread over time or users."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ecv_core.analysis.split_tables.parts import SOURCE, TA_FENG, beside_paper, parts_frame
from ecv_core.analysis.split_tables.roles import Axis
from ecv_core.figures.splits import spread_figure
from ecv_core.fold import prepared
from ecv_core.records.interactions import Part
from ecv_core.records.spec import RunSpec
from ecv_core.splits import FoldParts
from ecv_core.splits.part_counts import day
from ecv_core.untrusted.disarming import csv_of
from pages.shared.charts.plot import plot
from pages.shared.live.state import KEPT, escaped
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.tables import file_name
from pages.shared.widgets.words import counted
from pages.splits.computed import axes_of, parts_of, period_of, spread_of

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
        **KEPT,
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


_AT_ONCE = 1_500_000
"""Interactions times folds up to which every fold is counted without being asked."""
_MOST_FOLDS = 100


def parts_section(content: str, spec: RunSpec, fold: int) -> None:
    """Table, what training does not know, CSV; and Ta-Feng's comparison."""
    st.header("What is in each part", anchor=False)
    size = len(prepared(spec.dataset))
    every = spec.k == 1 or (size * spec.k <= _AT_ONCE and spec.k <= _MOST_FOLDS)
    frame = _frame(content, spec, range(spec.k) if every else (fold,))
    st.dataframe(
        frame,
        hide_index=True,
        column_config={
            "percent": st.column_config.NumberColumn("%", format="%.1f"),
            **{
                name: st.column_config.NumberColumn(name, format="localized")
                for name in ("users", "items", "interactions", "baskets")
            },
        },
        placeholder="",
        height="content" if len(frame) <= 12 else 420,
        key="split-parts",
        alt=f"Users, items and interactions of every part of {spec.split} on {spec.dataset}",
    )
    found = parts_of(content, spec, fold)
    st.markdown(_unknown_words(found, fold))
    st.caption(
        f"A {glossary_link('validation-part')} is for choosing settings. Training holds the "
        f"{glossary_link('fold-in')} of tested users, where the strategy has one; a user without "
        f"any training is a {glossary_link('cold-user')}."
    )
    st.download_button(
        "CSV" if every else f"CSV of all {min(spec.k, _MOST_FOLDS)} folds",
        lambda: csv_of(_frame(content, spec, range(min(spec.k, _MOST_FOLDS)))),
        file_name=f"{file_name(f'parts {spec.split} {spec.dataset}')}.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="split-parts-csv",
        type="tertiary",
    )
    if spec.dataset == TA_FENG:
        _paper(content, spec, fold)


def _unknown_words(found: FoldParts, fold: int) -> str:
    if not found.unknown_interactions and not found.dropped:
        return f"In fold {fold}, training knows every user and every item that is tested."
    return (
        f"In fold {fold}, training does not know **{counted(found.unknown_users, 'user')}** and "
        f"**{counted(found.unknown_items, 'item')}** of what is or would be tested: "
        f"{counted(found.unknown_interactions, 'test interaction')}. Dropped for it: "
        f"{counted(found.dropped, 'held-out interaction')}."
    )


def _frame(content: str, spec: RunSpec, folds: range | tuple[int, ...]) -> pd.DataFrame:
    return parts_frame({index: parts_of(content, spec, index) for index in folds})


def _paper(content: str, spec: RunSpec, fold: int) -> None:
    st.markdown(f"**Beside table 2 of Meng et al. (2020).** {SOURCE}")
    interactions = prepared(spec.dataset)
    frame = beside_paper(interactions, spec.split, parts_of(content, spec, fold))
    st.dataframe(
        frame,
        hide_index=True,
        column_config={
            name: st.column_config.NumberColumn(name, format="localized")
            for name in frame.columns[1:]
        },
        placeholder="",
        key="split-paper",
        alt="Table 2 of the paper for Ta-Feng and the split that is shown here",
    )
    st.caption(
        "None of the paper's numbers comes out of this copy and none can: the copy filters the raw "
        "file differently, and has places of baskets instead of dates, which the third row needs. "
        "The paper's splits have a validation part; switch it on above to compare."
    )
