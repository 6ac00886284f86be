"""The list of runs: filter, one row each, with what can be done with it."""

from __future__ import annotations

import streamlit as st

from ecv_core.document import moments_of
from ecv_core.records import Run, RunState
from pages.components.run_actions import RESUMABLE, confirm_delete
from pages.components.state import manager, sentences
from pages.components.words import ago, metric_label, run_title, state_badge, watt_hours

ROWS = 20
WIDTHS = [1.15, 2.2, 1, 1.1, 1.6, 1.05, 1.05, 1.9]
HEADS = ["State", "Run", "alpha", "Stop", "Mean", "Energy", "When", ""]


def filtered(runs: list[Run]) -> list[Run]:
    """The runs that match what is picked above the list."""
    left, middle, right = st.columns([1.5, 1, 1])
    text = left.text_input(
        "Find", key="find", placeholder="dataset, algorithm or id", icon=":material/search:"
    )
    states = middle.multiselect(
        "State", list(RunState), format_func=lambda state: state.value, key="states"
    )
    datasets = right.multiselect("Dataset", sorted({r.spec.dataset for r in runs}), key="datasets")
    words = text.lower().split()
    return [
        run
        for run in runs
        if (not states or run.state in states)
        and (not datasets or run.spec.dataset in datasets)
        and all(word in f"{run_title(run)} {run.run_id}".lower() for word in words)
    ]


def history_list(runs: list[Run]) -> None:
    """One row per run, newest first, a page of them at a time."""
    if not runs:
        st.info("No run matches; clear the filter to see them all.", icon=":material/search_off:")
        return
    shown = int(st.session_state.get("rows", ROWS))
    for head, column in zip(HEADS, st.columns(WIDTHS), strict=True):
        column.caption(head)
    for run in runs[:shown]:
        with st.container(border=True):
            _row(run)
    if len(runs) > shown and st.button(f"Show more ({len(runs) - shown} left)", key="more"):
        st.session_state["rows"] = shown + ROWS
        st.rerun()


def _row(run: Run) -> None:
    k = len(run.spec.fold_order)
    cells = st.columns(WIDTHS, vertical_alignment="center")
    with cells[0]:
        state_badge(run.state)
    cells[1].markdown(f"**{run.spec.algorithm}** on {run.spec.dataset}", help=f"run {run.run_id}")
    cells[2].markdown(f"{run.spec.alpha:g}" if run.spec.rule == "e-fold" else run.spec.rule)
    stop = f"{run.stopped_at} of {k}" if run.stopped_at else f"{len(run.folds)} of {k} so far"
    cells[3].markdown(stop)
    cells[4].markdown(_mean(run))
    cells[5].markdown(watt_hours(sum(fold.energy.joules for fold in run.folds)))
    cells[6].markdown(ago(run.created_at), help=f"{run.created_at:%Y-%m-%d %H:%M} UTC")
    with cells[7].container(horizontal=True, horizontal_alignment="right"):
        _actions(run)


def _mean(run: Run) -> str:
    moments = moments_of(run)
    if not moments:
        return "-"
    at = moments[min(run.stopped_at or len(moments), len(moments)) - 1]
    return f"{at.mean:.4f} {metric_label(run.spec)}"


def _actions(run: Run) -> None:
    st.page_link(
        "pages/run.py",
        label="Open",
        icon=":material/open_in_full:",
        query_params={"run": run.run_id},
    )
    if run.state in RESUMABLE and st.button(
        "Resume", key=f"resume-{run.run_id}", icon=":material/resume:", type="tertiary"
    ):
        with sentences():
            manager().resume(run.run_id)
            st.switch_page("pages/run.py", query_params={"run": run.run_id})
    if not run.state.active and st.button(
        "Delete", key=f"delete-{run.run_id}", icon=":material/delete:", type="tertiary"
    ):
        confirm_delete(run)
