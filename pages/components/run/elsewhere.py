"""Runs that the dashboard does not compute: whose folds they are, and how they go on."""

from __future__ import annotations

import streamlit as st

from ecv_core.models import components, computed_here
from ecv_core.records import Run
from ecv_core.runs.document import command_for, track_call
from pages.components.shared.state import escaped
from pages.components.shared.words import ago, counted

_ECV = "python -m ecv_core"


def elsewhere_note(run: Run) -> None:
    """Says it, with what to type where the run can go on; nothing for a run of the dashboard."""
    if computed_here(run.spec):
        return
    said, *typed = how_to_go_on(run)
    st.caption(f":material/integration_instructions: {escaped(whose_folds(run))}")
    if said:
        st.info(escaped(said), icon=":material/terminal:")
    for text in typed:
        language = "python" if text.startswith("cv =") else "bash"
        st.code(text, language=language, wrap_lines=True)


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


def how_to_go_on(run: Run) -> tuple[str, ...]:
    """A sentence on what to do where the run has folds left, and what to type, if anything.

    The sentence is empty where it has none, or is going on by itself.
    """
    if run.outside and run.state.active:
        if run.progress is None:
            return "It waits to be asked for its next fold:", f"{_ECV} ask {run.run_id}"
        fold = run.progress.fold
        said = f"It waits for fold {fold}, asked for {ago(run.progress.started_at)}:"
        return said, f"{_ECV} tell {run.run_id} {fold} --scores FILE"
    if run.state.active or not (run.resumable or run.can_be_checked):
        return ("",)
    left = counted(run.k - len(run.folds), "fold")
    if not run.spec.tracked:
        named = components.named(run.spec.algorithm)
        again = "It cannot go on here; its command, below, computes it again."
        return (again if named else "Install its package, and it can go on.",)
    if run.resumable:
        said = f"To go on with the other {left}, run its own program again; its call is:"
        return said, f"cv = {track_call(run.spec)}", command_for(run.spec)
    return (
        f"To check the stop with the other {left}, track it again with full=True (--full): it goes "
        "on where it stopped.",
    )
