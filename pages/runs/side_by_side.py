"""The chosen runs in one figure and one table."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import pandas as pd
import streamlit as st

from ecv_core.analysis.comparison.spec_differences import differences, names
from ecv_core.energy.parts import left_out_words, with_own_joules
from ecv_core.evaluation import METRICS
from ecv_core.figures.compare import NamedRun, compare_alt_text, compare_frame
from ecv_core.figures.compare_plot import (
    compare_figure,
    compare_height,
    running_figure,
    running_frame,
    running_height,
)
from ecv_core.records.run import Run
from pages.shared.address.link import copy_link
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.plot import plot
from pages.shared.live.state import KEPT, escaped, run_list
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.runs_table import ALL_COLUMNS, runs_table
from pages.shared.widgets.tables import csv_button
from pages.shared.widgets.words import algorithm_title, dataset_title, metric_label

AT_STOP, FOLD_BY_FOLD = "At the stop", "Fold by fold"


def picture(runs: Sequence[NamedRun], best: Sequence[str]) -> None:
    """Means at the stop, or how they came about."""
    frame = compare_frame(runs, best)
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
            **KEPT,
            label_visibility="collapsed",
            width="content",
        )
        with st.container(horizontal=True, width="content"):
            _links(runs)
            copy_link()
    version = tuple(
        (name, run.run_id, len(run.folds), run.stopped_at) for name, run in runs
    ) + tuple(best)
    alt = compare_alt_text(frame)
    if how == FOLD_BY_FOLD:
        running = running_frame(runs)
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
        opens=_addresses(runs),
    )
    st.caption("A click on a mean opens its run.")


def _addresses(runs: Sequence[NamedRun]) -> dict[str, str]:
    """Where a click on a mean leads, by the axis of its panel and its place there."""
    own = {row.run_id for row in run_list().rows()}
    panels: dict[tuple[str, str], list[Run]] = {}
    for _, run in runs:
        panels.setdefault(_panel(run), []).append(run)
    return {
        f"y{number if number > 1 else ''}|{place}": (
            f"{'.' if run.run_id in own else 'replay'}?run={run.run_id}"
        )
        for number, panel in enumerate(panels.values(), start=1)
        for place, run in enumerate(panel)
    }


def _links(runs: Sequence[NamedRun]) -> None:
    """A way to each run that the picture stands for: an own one to its page, else to its replay."""
    own = {row.run_id for row in run_list().rows()}
    several = len({run.spec.dataset for _, run in runs}) > 1
    with st.popover("Open a run", icon=":material/open_in_full:"):
        for name, run in runs:
            st.page_link(
                "run/run.py" if run.run_id in own else "replay/replay.py",
                label=escaped(f"{name} on {run.spec.dataset}" if several else name),
                icon=":material/play_circle:" if run.run_id in own else ":material/replay:",
                query_params={"run": run.run_id},
            )


def table(runs: Sequence[NamedRun], best: Sequence[str]) -> None:
    """Score, folds, energy: one row per run, with its CSV."""
    st.header("Score, folds, energy", anchor=False)
    st.caption(
        f"Mean and {glossary_link('confidence-interval')} at the {glossary_link('stop')}, "
        f"{glossary_link('e', 'folds used')}, {glossary_link('energy', 'energy')} and what was "
        f"{glossary_link('energy-saved', 'saved')}. {_star_words(runs, best)}"
    )
    frame = compare_frame(runs, best)
    named = all(name.startswith(algorithm_title(run.spec.algorithm)) for name, run in runs)
    columns = [name for name in ALL_COLUMNS if name != "algorithm" or not named]
    runs_table(frame, columns, key="compare-runs")
    csv_button("Table as CSV", frame, "comparison.csv")
    unnamed = [run for _, run in runs]
    energy_bar(
        (fold for run in with_own_joules(unnamed) for fold in run.folds), left_out_words(unnamed)
    )
    if frame.groupby(["dataset", "metric"]).ngroups > 1:
        st.caption(
            "Scores on different datasets or metrics do not compare, so each has its "
            "own star; folds, savings in percent and the difference to the k-fold mean do compare."
        )


def _star_words(runs: Sequence[NamedRun], best: Sequence[str]) -> str:
    """What the star stands for, or why there is none."""
    if len(runs) < 2:
        return ""
    if best:
        return (
            "A star marks the best: a run that the paired test finds better than every other on "
            "its dataset and metric."
        )
    return "No star: the paired tests find no run better than every other."


DIFFERS, PARTIAL, SAME = "≠", "◦", "="
MARKED = "background-color: rgba(230, 159, 0, 0.22)"
"""Reads on a light and on a dark page."""


def settings_frame(runs: Sequence[NamedRun]) -> pd.DataFrame:
    """One row per setting: a sign, its name, and its value in every run."""
    fields = differences([run.spec for _, run in runs])
    datasets = {run.spec.dataset for _, run in runs}
    heads = [
        f"{name} on {dataset_title(run.spec.dataset)}" if len(datasets) > 1 else name
        for name, run in runs
    ]
    metrics = [metric_label(run.spec) for _, run in runs]
    if len(set(metrics)) > 1:
        heads = [f"{head}, {metric}" for head, metric in zip(heads, metrics, strict=True)]
    columns = {
        "": [DIFFERS if field.differs else PARTIAL if field.partial else SAME for field in fields],
        "setting": [field.name for field in fields],
    }
    return pd.DataFrame(
        columns | {head: [field.values[at] for field in fields] for at, head in enumerate(heads)}
    )


def settings(runs: Sequence[NamedRun]) -> None:
    """Draw the table and its CSV."""
    frame = settings_frame(runs)
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
        alt=f"Settings of {len(runs)} runs; {differ} differ and come first",
    )
    csv_button("Settings as CSV", frame, "settings.csv")


def named_runs(runs: Sequence[Run]) -> list[NamedRun]:
    """The runs under names that tell them apart; datasets as chosen, the best mean first."""
    named = list(zip(names(runs, algorithm_title), runs, strict=True))
    panels = list(dict.fromkeys(map(_panel, runs)))
    return sorted(named, key=lambda one: (panels.index(_panel(one[1])), _rank(one[1])))


def _panel(run: Run) -> tuple[str, str]:
    return run.spec.dataset, metric_label(run.spec)


def _rank(run: Run) -> float:
    """Lower comes first: the better mean, and last what has none yet."""
    at = run.at_stop
    if at is None:
        return inf
    return -at.mean if METRICS[run.spec.metric].higher_is_better else at.mean
