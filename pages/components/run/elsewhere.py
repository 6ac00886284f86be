"""Runs that the dashboard does not compute: whose folds they are, and how they go on."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from ecv_core.models import components, computed_here
from ecv_core.records import Run
from ecv_core.runs.document import command_for, track_call
from pages.components.shared.state import escaped
from pages.components.shared.words import ago, counted


def elsewhere_note(run: Run) -> None:
    """Says it, with what to type where the run can go on; nothing for a run of the dashboard."""
    if computed_here(run.spec):
        return
    st.caption(f":material/integration_instructions: {escaped(whose_folds(run))}")
    if said := how_to_go_on(run):
        st.info(escaped(said), icon=":material/terminal:")
        if run.spec.tracked:
            _calls(run)


def whose_folds(run: Run) -> str:
    """In a sentence, who computes its folds."""
    name = run.spec.algorithm
    if run.spec.tracked:
        said = f"Tracked: '{name}' is code outside e-fold, which reports the score of each fold."
        if run.state.active and not run.outside:
            said += " Cancel takes effect when it reports."
        return said
    if components.named(name):
        return f"Computed on the command line, where '{name}' names code of LensKit."
    return f"Its algorithm, '{name}', is of a plug-in that is not installed here."


def how_to_go_on(run: Run) -> str:
    """What to do where the run has folds left; empty where it has none, or is going on."""
    if run.outside and run.state.active:
        if run.progress is None:
            return f"It waits to be asked for its next fold: python -m ecv_core ask {run.run_id}"
        fold = run.progress.fold
        return (
            f"It waits for fold {fold}, asked for {ago(run.progress.started_at)}: "
            f"python -m ecv_core tell {run.run_id} {fold} --scores FILE"
        )
    if run.state.active or not (run.resumable or run.can_be_checked):
        return ""
    left = counted(run.k - len(run.folds), "fold")
    if not run.spec.tracked:
        if components.named(run.spec.algorithm):
            return "It cannot go on here; its command, below, computes it again."
        return "Install its package, and it can go on."
    if run.resumable:
        return f"To go on with the other {left}, start the program that tracked it again:"
    return f"To check the stop with the other {left}, track it with full, and it goes on:"


def _calls(run: Run) -> None:
    if run.state.active:
        return
    spec = run.spec if run.resumable else replace(run.spec, full=True)
    st.code(f"cv = {track_call(spec)}", language="python", wrap_lines=True)
    st.code(command_for(spec), language="bash", wrap_lines=True)
