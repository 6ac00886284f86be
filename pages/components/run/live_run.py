"""A run as it goes on: the figure follows completed folds, the clock ticks on its own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import plotly.graph_objects as go
import streamlit as st

from ecv_core.errors import InputError
from ecv_core.figures.compare import compare_alt_text, compare_frame
from ecv_core.figures.compare_plot import compare_figure, compare_height
from ecv_core.figures.efold import alt_text, efold_frame
from ecv_core.figures.efold_plot import efold_figure
from ecv_core.records import Moment, Run, RunState
from pages.components.run.details import downloads, fold_table, repeat_command, training
from pages.components.run.facts import check_sentence, fact_panel
from pages.components.run.run_actions import run_actions
from pages.components.shared.link import copy_link
from pages.components.shared.plot import plot
from pages.components.shared.runs import (
    comparison_of,
    elapsed_seconds,
    imported_note,
    opened_runs,
    remaining_seconds,
)
from pages.components.shared.runs_table import RUN_COLUMNS, entry_of, runs_table
from pages.components.shared.state import escaped, manager, sentences
from pages.components.shared.words import duration, metric_label, rule_words, run_title, state_badge

FIGURE_HEIGHT = 440
SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_BETWEEN_GLANCES = 5.0
"""At runs that are over: someone else may resume one."""
FOLLOW = "follow"


def live_run(runs: list[Run]) -> None:
    """Everything about the opened runs; it follows them while any is active."""
    tick = SECONDS_BETWEEN_LOOKS if any(run.state.active for run in runs) else None
    names = [run.spec.algorithm for run in runs]
    if len(runs) > 1:
        st.segmented_control(
            "Show",
            [FOLLOW, *names],
            format_func=lambda name: "Follow the queue" if name == FOLLOW else name,
            default=FOLLOW,
            required=True,
            key="show",
            bind="query-params",
            label_visibility="collapsed",
        )
    st.fragment(_clock, run_every=tick)(tick is not None)
    st.fragment(_run, run_every=tick)(tick is not None)
    if tick is None:
        st.fragment(_glance, run_every=SECONDS_BETWEEN_GLANCES)([run.state for run in runs])


def shown_run(runs: list[Run]) -> Run:
    """The run whose algorithm is picked, else the one that is going, else the last."""
    picked = st.session_state.get("show")
    chosen = [run for run in runs if run.spec.algorithm == picked]
    going = [run for run in runs if run.state is RunState.RUNNING]
    waiting = [run for run in runs if run.state is RunState.QUEUED]
    return (chosen or going or waiting or runs[-1:])[0]


def headline(run: Run, moments: Sequence[Moment]) -> tuple[str, str]:
    """What explains this moment: its kind ('info', 'success', 'warning', 'error') and sentence."""
    k, last = run.k, run.at_stop
    finished = f"{len(moments)} of {k} folds are finished and kept"
    match run.state:
        case RunState.QUEUED:
            before = run.queue_position or 0
            runs = "1 run is" if before == 1 else f"{before} runs are"
            return "info", f"Queued: {runs} before this one." if before else "About to start."
        case RunState.FAILED:
            return "error", f"Failed: {run.error or 'for an unknown reason'}. {finished}."
        case RunState.CANCELLED:
            return "warning", f"Cancelled: {finished}."
        case RunState.INTERRUPTED:
            return "warning", f"Interrupted: {run.error or 'the program ended'}. {finished}."
    if last is None:
        return "info", "The first fold is on its way; the first interval comes with the second."
    if run.stopped_early:
        return "success", " ".join([last.decision.reason, check_sentence(run)])
    if run.state is RunState.FINISHED:
        folds = "The one fold that was asked for is" if k == 1 else f"All {k} folds are"
        if last.decision.stop:
            return "info", f"{folds} in: only then did the rule stop. {last.decision.reason}"
        said = last.decision.reason.removesuffix(": go on.")
        return "info", f"{folds} in, and the rule never said stop. {said}."
    return "info", last.decision.reason


def _clock(following: bool) -> None:
    with sentences():
        runs = _still_there()
        run = shown_run(runs)
        if trouble := manager().trouble:
            st.warning(escaped(trouble), icon=":material/warning:")
        if not run.state.active:
            return
        k, done = run.k, len(run.folds)
        words, part = [], 0.0
        if run.progress is not None:
            step = run.progress
            words = [f"fold {done + 1} of {k}", step.phase]
            if step.steps:
                words[-1] += f" {step.step} of {step.steps}"
                part = min(step.step / step.steps, 1.0)
        elif run.state is RunState.RUNNING:
            words = [f"fold {min(done + 1, k)} of {k}", "preparing"]
        else:
            words = ["queued"]
        if run.state is RunState.RUNNING:
            words.append(f"{duration(elapsed_seconds(run, datetime.now(UTC)))} elapsed")
            remaining = remaining_seconds(run)
            if remaining is not None:
                words.append(f"at most {duration(remaining)} remaining")
        st.progress(min((done + part) / k, 1.0), text=" · ".join(words))


def _still_there() -> list[Run]:
    """The opened runs; the whole page is drawn anew, with its sentence, if they were deleted."""
    try:
        runs = opened_runs()
    except InputError:
        runs = []
    if not runs:
        st.rerun()
    return runs


def _glance(states: list[RunState]) -> None:
    with sentences():
        if [run.state for run in _still_there()] != states:
            st.rerun()


def _run(following: bool) -> None:
    with sentences():
        runs = _still_there()
        if following and not any(run.state.active for run in runs):
            st.rerun()  # the last look: stop following
        run = shown_run(runs)
        moments = run.moments
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
        ):
            with st.container(horizontal=True, vertical_alignment="center", width="content"):
                st.title(run_title(run), anchor=False, width="content")
                state_badge(run.state)
            with st.container(horizontal=True, vertical_alignment="center", width="content"):
                run_actions(run, runs)
                copy_link()
        kind, text = headline(run, moments)
        boxes = {"info": st.info, "success": st.success, "warning": st.warning, "error": st.error}
        icons = {"info": "info", "success": "check_circle", "warning": "warning", "error": "error"}
        boxes[kind](escaped(text), icon=f":material/{icons[kind]}:")
        if note := imported_note(run.run_id):
            st.caption(note)
        left, right = st.columns([3, 1.2], gap="medium")
        with left:
            _figure(run, moments)
        with right:
            fact_panel(run, moments)
        if len(runs) > 1:
            _compare(runs)
        training(run)
        _details(run, moments)


def _figure(run: Run, moments: Sequence[Moment]) -> None:
    k, stopped_at, metric = run.k, run.stopped_at, metric_label(run.spec)
    frame = efold_frame(moments, stopped_at)

    def make(dark: bool) -> go.Figure:
        return efold_figure(
            frame,
            k=k,
            metric=metric,
            stopped_at=stopped_at,
            confidence=run.spec.confidence,
            dark=dark,
            height=FIGURE_HEIGHT,
        )

    alt = alt_text(frame, k=k, metric=metric, stopped_at=stopped_at, title=run_title(run))
    version = (run.run_id, len(moments), stopped_at, run.spec.to_json())
    plot(
        make,
        version=version,
        key="figure-1",
        alt=alt,
        height=FIGURE_HEIGHT,
        top=run.run_id,
        name=f"{run_title(run)} figure 1",
        caption=f"{run_title(run)}, {rule_words(run.spec)}, run {run.run_id}",
        table=lambda: frame,
    )


def _compare(runs: list[Run]) -> None:
    frame = compare_frame([entry_of(run) for run in runs])
    if frame["mean"].isna().all():
        return
    st.header("All runs started together", anchor=False)
    left, right = st.columns([1.2, 1], gap="medium")
    with left:
        plot(
            lambda dark: compare_figure(frame, dark=dark),
            version=tuple((run.run_id, len(run.folds), run.stopped_at) for run in runs),
            key="compare",
            alt=compare_alt_text(frame),
            height=compare_height(frame),
            name=f"comparison on {runs[0].spec.dataset}",
            table=lambda: frame,
        )
    with right:
        runs_table(frame, RUN_COLUMNS, key="together")
        st.page_link(
            "pages/runs.py",
            label="Compare them: tests and settings",
            icon=":material/balance:",
            query_params=comparison_of([run.run_id for run in runs]),
        )


def _details(run: Run, moments: Sequence[Moment]) -> None:
    folds, again, export = st.tabs(
        ["Folds", "Repeat this run", "Export"],
        key="details",
        bind="query-params",
        on_change="rerun",
    )
    with folds:
        fold_table(run, moments)
    with again:
        repeat_command(run)
    with export:
        downloads(run, moments)
