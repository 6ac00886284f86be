"""What can be done with a run: resume, check the stop, start another; the bar cancels it."""

from __future__ import annotations

import streamlit as st

from ecv_core.models import computed_here
from ecv_core.records import Run, RunState
from pages.components.run.start_form import fill_form
from pages.components.shared.navigation import RACE, VIEW
from pages.components.shared.runs import act_and_rerun
from pages.components.shared.state import manager
from pages.components.shared.words import run_label


def run_actions(run: Run, group: list[Run]) -> None:
    """The buttons that make sense now; a press acts and draws the page anew."""
    active = [one for one in group if one.state.active]
    if run.state is RunState.QUEUED and st.button(
        "Remove from the queue", icon=":material/playlist_remove:", key="unqueue"
    ):
        act_and_rerun(lambda: manager().cancel(run.run_id))
    if len(active) > 1 and st.button("Cancel all", icon=":material/cancel:", key="cancel-all"):
        act_and_rerun(lambda: _cancel_all(active))
    here = computed_here(run.spec)
    if (
        here
        and run.resumable
        and st.button("Resume", icon=":material/resume:", type="primary", key="resume")
    ):
        act_and_rerun(lambda: manager().resume(run.run_id))
    if (
        here
        and run.can_be_checked
        and st.button("Run the remaining folds to check", icon=":material/fact_check:", key="check")
    ):
        act_and_rerun(lambda: manager().resume(run.run_id, full=True))
    _look_back(run)
    _how_many_folds(group or [run])
    st.button(
        "New run",
        icon=":material/add:",
        key="new",
        help="Back to the form, with this run's settings filled in.",
        on_click=_new_run,
        args=(run, [one.spec.algorithm for one in group]),
    )


def _look_back(run: Run) -> None:
    """Ways to see the run told again, or raced against k-fold while it goes on."""
    if run.folds and not run.state.active:
        st.page_link(
            "pages/replay.py",
            label="Replay",
            icon=":material/replay:",
            query_params={"run": run.run_id},
        )
    if run.spec.full and (run.folds or run.state.active):
        st.page_link(
            "pages/replay.py",
            label="Race",
            icon=":material/flag:",
            query_params={VIEW: RACE, "run": run.run_id},
        )


def _how_many_folds(group: list[Run]) -> None:
    """Where all folds of any run of the batch are in: what stopping them early would have given."""
    done = [run for run in group if run.whole]
    if done and not any(run.state.active for run in group):
        st.page_link(
            "pages/folds.py",
            label="How many folds?",
            icon=":material/tune:",
            query_params=[("source", "My runs"), *(("runs", run_label(run)) for run in done)],
            help="How few of these folds would have been enough.",
        )


def _new_run(run: Run, algorithms: list[str]) -> None:
    st.query_params.pop("run", None)
    fill_form(run.spec, algorithms)


def _cancel_all(runs: list[Run]) -> None:
    for run in reversed(runs):  # the queue first, or the next one would start
        manager().cancel(run.run_id)
