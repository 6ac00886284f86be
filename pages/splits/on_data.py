"""The split on the chosen dataset: how its parts are spread, what leaks, what each part has."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ecv_core.analysis.split_tables.parts import parts_frame
from ecv_core.figures.splits import spread_figure
from ecv_core.figures.words import counted, dataset_title
from ecv_core.fold import prepared
from ecv_core.records.interactions import Part
from ecv_core.records.spec import RunSpec
from ecv_core.splits import FoldParts
from ecv_core.splits.parts import day
from pages.shared.charts.plot import plot
from pages.shared.live.state import escaped
from pages.shared.widgets.glossary import explained, glossary_link
from pages.shared.widgets.tables import csv_button, file_name, number, table
from pages.splits.computed import leakage_of, parts_of, period_of, spread_of


def on_data(content: str, spec: RunSpec, fold: int) -> None:
    """Heading, sentence, and the parts over time where the dataset has timestamps."""
    st.header(f"On {escaped(dataset_title(spec.dataset))}", anchor=False)
    words = _sentence(content, spec, fold)
    st.markdown(words)
    if prepared(spec.dataset).timestamps is None:
        st.caption(f"{escaped(spec.dataset)} has no timestamps, so there is no picture over time.")
        return
    frame = spread_of(content, spec, fold)
    found = period_of(content, spec, fold)
    plot(
        lambda dark: spread_figure(
            frame, cut=None if found is None else found.test_from, dark=dark
        ),
        version=(content, spec.to_json(), fold),
        key="split-spread",
        alt=f"Over time: {words.replace('**', '')}",
        name=f"{spec.split} on {spec.dataset}, fold {fold}, time",
        table=lambda: frame,
    )


def _sentence(content: str, spec: RunSpec, fold: int) -> str:
    counts = parts_of(content, spec, fold).counts
    train, test = counts[Part.TRAIN], counts[Part.TEST]
    words = (
        f"A model learns from {counted(train.interactions, 'interaction')} of "
        f"{counted(train.users, 'user')} and is tested on {counted(test.interactions, 'other')} of "
        f"{counted(test.users, 'user')}."
    )
    if train.first is None or test.first is None:
        return words
    return (
        f"{words} Training goes from {day(train.first)} to {day(train.last)}, "
        f"what is tested from {day(test.first)} to {day(test.last)}."
    )


_MOST_FOLDS = 100
"""In a file; each takes some seconds for large data."""


def parts_section(content: str, spec: RunSpec, fold: int) -> None:
    """Table, what training does not know, CSV."""
    st.header("What is in each part", anchor=False)
    counts = {name: number(name) for name in ("users", "items", "interactions", "baskets")}
    table(
        _frame(content, spec, (fold,)),
        counts | {"percent": number("%", "%.1f")},
        placeholder="",
        key="split-parts",
        alt=f"Users, items and interactions of every part of {spec.split} on {spec.dataset}",
    )
    st.markdown(_unknown_words(parts_of(content, spec, fold), fold))
    st.caption(
        f"A {glossary_link('validation-part')} is for choosing settings. Training holds the "
        f"{glossary_link('fold-in')} of tested users, where the strategy has one; a user without "
        f"any training is a {glossary_link('cold-user')}."
    )
    folds = range(min(spec.k, _MOST_FOLDS))
    csv_button(
        "CSV" if spec.k == 1 else f"CSV of all {len(folds)} folds",
        lambda: _frame(content, spec, folds),
        f"{file_name(f'parts {spec.split} {spec.dataset}')}.csv",
        key="split-parts-csv",
    )


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


def leakage_section(content: str, spec: RunSpec, fold: int) -> None:
    """The number with its sentence."""
    st.header("Does the future leak into training?", anchor=False)
    found = leakage_of(content, spec, fold)
    if found is None:
        st.info(
            escaped(spec.dataset) + " has neither timestamps nor any other order, so it is not "
            "known what came later; pick a dataset with timestamps, such as synthetic or ml-1m.",
            icon=":material/schedule:",
        )
        return
    share, whose = (
        (found.anyone, "of any user")
        if found.anyone is not None
        else (found.own, "of the same user")
    )
    st.metric(
        f"Training that lies later ({whose})",
        _percent(share),
        help=explained(
            "A pair is a training interaction and a test interaction that it helps to predict; "
            "it leaks where the training interaction is strictly later.",
            "leakage",
            "interaction",
        ),
    )
    if share:
        st.markdown(
            f"Of every 100 pairs of a training and a test interaction {whose}, "
            f"**{100 * share:.0f}** have the training interaction later: the model is told what "
            "it could not have known then."
        )
    else:
        st.markdown(
            f"**Nothing leaks**: no training interaction {whose} lies after what it helps to "
            "predict."
        )
    if found.anyone is None:
        st.caption(
            "Times do not compare between users here, so what others did later is not known."
        )
        return
    rest = (
        ("pairs of the same item", found.item),
        ("pairs of the same user", found.own),
        ("test interactions with any leak", found.tests),
    )
    said = (f"{_percent(value)} of {name}" for name, value in rest if value is not None)
    st.caption(f"It is {', '.join(said)}.")


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f}\u00a0%"
