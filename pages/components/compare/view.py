"""The chosen runs in one figure and one table."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ecv_core.figures.compare import Entry, compare_alt_text, compare_frame
from ecv_core.figures.compare_plot import compare_figure, compare_height
from ecv_core.figures.compare_running import running_figure, running_frame, running_height
from pages.components.compare.runs_table import ALL_COLUMNS, runs_table
from pages.components.shared.glossary import glossary_link
from pages.components.shared.link import copy_link
from pages.components.shared.plot import plot

AT_STOP, FOLD_BY_FOLD = "At the stop", "Fold by fold"


def picture(entries: Sequence[Entry]) -> None:
    """Means at the stop, or how they came about."""
    frame = compare_frame(entries)
    if frame["mean"].isna().all():
        st.info("None of these runs has a finished fold yet.", icon=":material/hourglass_empty:")
        return
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        how = st.segmented_control(
            "Show",
            [AT_STOP, FOLD_BY_FOLD],
            default=AT_STOP,
            required=True,
            key="compare_view",
            bind="query-params",
            persist_state="session",
            label_visibility="collapsed",
            width="content",
        )
        copy_link()
    version = tuple(
        (entry.name, entry.run.run_id, len(entry.run.folds), entry.run.stopped_at)
        for entry in entries
    )
    alt = compare_alt_text(frame)
    if how == FOLD_BY_FOLD:
        running = running_frame(entries)
        plot(
            lambda dark: running_figure(running, dark=dark),
            version=version,
            key="compare-running",
            alt=f"Mean so far, fold by fold. {alt}",
            height=running_height(running),
            name="comparison fold by fold",
            table=lambda: running,
        )
        st.caption("A large mark is the stop; what was run after it, to check it, is faint.")
        return
    plot(
        lambda dark: compare_figure(frame, dark=dark),
        version=version,
        key="compare-means",
        alt=alt,
        height=compare_height(frame),
        name="comparison",
        table=lambda: frame,
    )


def table(entries: Sequence[Entry]) -> None:
    """Score, folds, energy: one row per run, with its CSV."""
    st.header("Score, folds, energy", anchor=False)
    st.caption(
        f"Mean and {glossary_link('confidence-interval')} at the {glossary_link('stop')}, "
        f"{glossary_link('e', 'folds used')}, {glossary_link('energy', 'energy')} and what was "
        f"{glossary_link('energy-saved', 'saved')}; a star marks the best of a dataset and metric."
    )
    frame = compare_frame(entries)
    runs_table(frame, ALL_COLUMNS, key="compare-runs")
    csv_button("Table as CSV", frame, "comparison.csv")
    if frame.groupby(["dataset", "metric"]).ngroups > 1:
        st.caption(
            "Scores on different datasets or metrics do not compare, so a star is for the best "
            "of each; folds, savings in percent and the difference to the k-fold mean do compare."
        )


def csv_button(label: str, frame: pd.DataFrame, name: str) -> None:
    """Saves a table as it is."""
    st.download_button(
        label,
        lambda: frame.to_csv(index=False),
        file_name=name,
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key=f"csv-{name}",
        type="tertiary",
    )
