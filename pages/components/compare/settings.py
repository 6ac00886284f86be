"""The settings of all runs side by side: what differs comes first, with a sign."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ecv_core.analysis.comparison.spec_differences import differences
from ecv_core.figures.compare import Entry
from pages.components.compare.view import csv_button

DIFFERS, PARTIAL, SAME = "≠", "◦", "="
MARKED = "background-color: rgba(230, 159, 0, 0.22)"
"""Reads on a light and on a dark page."""


def settings_frame(entries: Sequence[Entry]) -> pd.DataFrame:
    """One row per setting: a sign, its name, and its value in every run."""
    fields = differences([entry.run.spec for entry in entries])
    datasets = {entry.run.spec.dataset for entry in entries}
    heads = [
        f"{entry.name} on {entry.run.spec.dataset}" if len(datasets) > 1 else entry.name
        for entry in entries
    ]
    metrics = {entry.metric for entry in entries}
    if len(metrics) > 1:
        heads = [f"{head}, {entry.metric}" for head, entry in zip(heads, entries, strict=True)]
    columns = {
        "": [DIFFERS if field.differs else PARTIAL if field.partial else SAME for field in fields],
        "setting": [field.name for field in fields],
    }
    return pd.DataFrame(
        columns | {head: [field.values[at] for field in fields] for at, head in enumerate(heads)}
    )


def settings(entries: Sequence[Entry]) -> None:
    """Draw the table and its CSV."""
    frame = settings_frame(entries)
    differ = int((frame[""] == DIFFERS).sum())
    st.header("Settings", anchor=False)
    partial, same = int((frame[""] == PARTIAL).sum()), int((frame[""] == SAME).sum())
    if differ + partial:
        words = [f"{DIFFERS} **{differ} differ{'s' * (differ == 1)}**, on top"]
        words += [f"{PARTIAL} {partial} only some runs have"] if partial else []
        st.markdown(" · ".join([*words, f"{SAME} {same} are the same"]))
    else:
        st.markdown("**All settings are the same**: such runs should have the same scores.")

    def ground(row: pd.Series) -> list[str]:
        return [MARKED if row[""] == DIFFERS else ""] * len(row)

    st.dataframe(
        frame.style.apply(ground, axis=1),
        hide_index=True,
        column_config={
            "": st.column_config.TextColumn("", pinned=True, width=36),
            "setting": st.column_config.TextColumn("setting", pinned=True),
        },
        height="content" if len(frame) <= 12 else 460,
        key="compare-settings",
        alt=f"Settings of {len(entries)} runs; {differ} differ and come first",
    )
    csv_button("Settings as CSV", frame, "settings.csv")
