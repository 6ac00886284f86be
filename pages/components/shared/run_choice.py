"""Choose a run to look back at: a recorded one, or one of your own that has folds."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ecv_core.errors import EcvError, InputError
from ecv_core.records import Run
from ecv_core.runs.recorded import recorded_runs
from pages.components.shared.state import sentence, sentences, store
from pages.components.shared.words import metric_label, run_title

KEY = "run-choice"


def choose_run(
    default: Callable[[list[Run]], Run],
    *,
    active: bool = False,
    picked: Callable[[Run], None] = lambda run: None,
) -> Run | None:
    """The run that the address names or that is picked; None, with a sentence, if there is none.

    Args:
        default: which to begin with.
        active: whether a run that is still going can be chosen.
        picked: called when another run is picked, before the page is drawn anew.
    Raises: StoreError if the database cannot be read.
    """
    recorded: list[Run] = []
    with sentences():  # a damaged recorded file does not hide one's own runs
        recorded = recorded_runs()
    own = [run for run in store().runs() if _fits(run, active)]
    runs = {run.run_id: run for run in [*own, *recorded]}
    if not runs:
        st.info("There is no finished run yet; every run you start can be played here later.")
        st.page_link("pages/run.py", label="Start a run", icon=":material/play_circle:")
        return None
    asked = st.query_params.get("run")
    if asked and asked not in runs:
        try:
            _say_why_not(asked)
        except EcvError as error:
            st.warning(sentence(error), icon=":material/link_off:")
    begin = asked if asked in runs else default([*recorded, *own]).run_id
    if st.session_state.get(KEY) not in runs or asked in runs:
        st.session_state[KEY] = begin

    def opened() -> None:
        run = runs[st.session_state[KEY]]
        st.query_params["run"] = run.run_id
        st.query_params.pop("fold", None)
        picked(run)

    mine = {run.run_id for run in own}
    chosen = st.selectbox(
        "Run",
        list(runs),
        format_func=lambda run_id: _label(runs[run_id], run_id in mine),
        key=KEY,
        on_change=opened,
        help="Your own runs, newest first, then those recorded for this page.",
    )
    return runs[chosen or begin]


def _fits(run: Run, active: bool) -> bool:
    return active if run.state.active else bool(run.folds)


def _label(run: Run, mine: bool) -> str:
    """Never another run's: Streamlit knows a choice by its label."""
    whose = f"yours, {run.run_id}" if mine else "recorded"
    return f"{run_title(run)} · {metric_label(run.spec)} · {whose}"


def _say_why_not(run_id: str) -> None:
    """Raises: InputError with the reason why this run cannot be chosen."""
    try:
        run = store().run(run_id)
    except InputError:
        raise InputError(
            f"there is no run '{run_id}' here; it may have been deleted, so another one is shown"
        ) from None
    if run.state.active:
        raise InputError(
            f"run '{run_id}' is still going; come back when it is finished, or watch it on Run"
        )
    raise InputError(
        f"run '{run_id}' has no finished fold, so there is nothing to play; another one is shown"
    )
