"""What can be done with a run: resume, check the stop, start another; the bar cancels it."""

from __future__ import annotations

import streamlit as st

from ecv_core.jobs.rights import Action
from ecv_core.models import computed_here
from ecv_core.records.errors import EcvError
from ecv_core.records.run import Run
from pages.run.start_form import fill_form
from pages.shared.address.navigation import RACE, VIEW
from pages.shared.live.acting import acting
from pages.shared.live.runs import act_and_rerun
from pages.shared.live.state import sentence
from pages.shared.widgets.words import run_label


def run_actions(run: Run, group: list[Run]) -> None:
    """The buttons that make sense now; a press acts and draws the page anew."""
    if computed_here(run.spec) and (run.resumable or run.can_be_checked):
        _go_on(run)
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


def _go_on(run: Run) -> None:
    """Nothing where it is somebody else's run; disabled, with the reason, at a limit."""
    if not acting().may(Action.GO_ON, run.started_by):
        return
    why_not = acting().go_on_refusal(run)
    said = why_not and sentence(EcvError(why_not))
    if run.resumable and st.button(
        "Resume",
        icon=":material/resume:",
        type="primary",
        key="resume",
        disabled=bool(said),
        help=said,
    ):
        act_and_rerun(lambda: acting().resume(run.run_id))
    if run.can_be_checked and st.button(
        "Run the remaining folds to check",
        icon=":material/fact_check:",
        key="check",
        disabled=bool(said),
        help=said,
    ):
        act_and_rerun(lambda: acting().resume(run.run_id, full=True))


def _look_back(run: Run) -> None:
    """Ways to see the run told again, or raced against k-fold while it goes on."""
    if run.folds and not run.state.active:
        st.page_link(
            "replay/replay.py",
            label="Replay",
            icon=":material/replay:",
            query_params={"run": run.run_id},
        )
    if run.spec.full and (run.folds or run.state.active):
        st.page_link(
            "replay/replay.py",
            label="Race",
            icon=":material/flag:",
            query_params={VIEW: RACE, "run": run.run_id},
        )


def _how_many_folds(group: list[Run]) -> None:
    """Where all folds of any run of the batch are in: what stopping them early would have given."""
    done = [run for run in group if run.whole]
    if done and not any(run.state.active for run in group):
        st.page_link(
            "folds/folds.py",
            label="How many folds?",
            icon=":material/tune:",
            query_params=[("source", "My runs"), *(("runs", run_label(run)) for run in done)],
            help="How few of these folds would have been enough.",
        )


def _new_run(run: Run, algorithms: list[str]) -> None:
    st.query_params.pop("run", None)
    fill_form(run.spec, algorithms)
