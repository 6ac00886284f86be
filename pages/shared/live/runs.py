"""What several pages ask of runs: which are open, how far they are, their origin, deletion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial

import streamlit as st

from ecv_core.access.roles import Action
from ecv_core.energy.meter import SOURCES
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.store.listing import ListedRun
from pages.shared.base.glossary import glossary_link
from pages.shared.live.events import RUNS, topic
from pages.shared.live.person import run_actions
from pages.shared.live.state import errors_as_sentences, escaped, store
from pages.shared.live.watch import draw_live, watch

COMPARED = "runs"
"""In the address: ids of own runs and `<dataset>--<algorithm>` of recorded ones, with commas."""
COMPARED_BOX = "compared"
"""Key of the box of the runs that are compared, each as the address calls it."""

ChoosableRun = ListedRun | RunRecord
"""A run that one chooses: own ones are rows of the list, recorded ones have their folds."""


def opened_runs() -> list[RunRecord]:
    """The runs that the address names, in the order of their start; none without a name.

    `?run=` holds a group's id, or any run's.

    Raises:
        InputError: If nothing has this id.
        StoreError: If the database cannot be read.
    """
    run_id = st.query_params.get("run")
    if not run_id:
        return []
    runs = watch().runs_of_group(run_id)
    if not runs:
        try:
            runs = [store().run(run_id)]
        except InputError:
            raise InputError(
                f"there is no run '{run_id}' here; it may have been deleted: pick one on the page "
                "Runs, or start a new one below"
            ) from None
    return runs


def ids_of(runs: Iterable[ChoosableRun]) -> list[str]:
    """The ids of runs, in their order."""
    return [run.run_id for run in runs]


def with_folds(run: ChoosableRun) -> RunRecord:
    """The run with its folds. Raises: InputError if it was deleted meanwhile; StoreError."""
    if isinstance(run, RunRecord):
        return run
    return store().run(run.run_id)


def folds_done(run: ChoosableRun) -> int:
    """How many folds it has so far."""
    if isinstance(run, RunRecord):
        return len(run.folds)
    return len(run.scores)


def share_done(run: RunRecord) -> float:
    """How far a run is, from 0 to 1: by its folds, and by the steps of the one that is computed."""
    done = float(len(run.folds))
    progress = run.progress
    if progress is not None and progress.steps:
        done += min(progress.step / progress.steps, 1.0)
    return min(done / run.k, 1.0)


def elapsed_seconds(run: RunRecord) -> float:
    """Computing time: that of the finished folds and of the one that is running."""
    done = run.seconds
    if run.progress is not None:
        done += max((datetime.now(UTC) - run.progress.started_at).total_seconds(), 0.0)
    return done


def remaining_seconds(run: RunRecord) -> float | None:
    """About this long to the last fold, at the mean pace so far; a stop comes sooner.

    None before the first fold, and while it waits: for a fold of others, a quiet machine, a node.
    """
    if not run.folds:
        return None
    if run.state is RunState.RUNNING:
        progress = run.progress
        if progress is None or progress.phase.startswith("wait"):
            return None
    return run.seconds / len(run.folds) * (run.k - len(run.folds))


def source_sentence(source: str) -> str:
    """How the energy is known, said honestly, as Markdown."""
    return f"{glossary_link('energy', 'Energy')}: {SOURCES.get(source, source)}."


def show_damaged_folds(runs: Iterable[ChoosableRun]) -> None:
    """Folds that cannot be read, each with its sentence and a button that deletes it."""
    for run in runs:
        for fold, what_is_wrong in run.damaged.items():
            _show_damaged_fold(run.run_id, fold, what_is_wrong)


def _show_damaged_fold(run_id: str, fold: int, what_is_wrong: str) -> None:
    with st.container(border=True, horizontal=True, key=f"damaged-{run_id}-{fold}"):
        words = f"Fold {fold + 1} of run {run_id} {what_is_wrong}."
        st.warning(escaped(words), icon=":material/error:")
        if not run_actions().refusal(Action.DELETE, run_id) and st.button(
            f"Delete fold {fold + 1}", icon=":material/delete:", key=f"delete-{run_id}-{fold}"
        ):
            act_and_rerun(partial(run_actions().delete_fold, run_id, fold))


def act_and_rerun(act: Callable[[], object]) -> None:
    """Do what a press asked for and draw the page anew; an error stays as its sentence."""
    with errors_as_sentences():
        act()
        st.rerun()


def offer_to_forget(kind: str, plan_id: str, then: Callable[[], None]) -> None:
    """A button that takes a study or a selection from the list.

    Args:
        kind: STUDY or SELECTION.
        plan_id: The plan id of the study or selection.
        then: Has another one shown; called before the page is drawn anew.
    """

    def forget() -> None:
        with errors_as_sentences():
            run_actions().forget_plan(kind, plan_id)
            then()

    st.button(
        "Remove from the list",
        icon=":material/playlist_remove:",
        key=f"forget-{kind}",
        type="tertiary",
        help="Its runs stay on the page Runs.",
        on_click=forget,
    )


def follow_runs(run_ids: Sequence[str]) -> None:
    """Draw the page anew when one of these runs goes on; nothing is asked while none is active.

    It has gone on where it is not as it was when the page began, whatever was read since.
    """

    def active() -> object:
        return watch().drawn_activity().of(run_ids)

    rerun_on_change(active, key="runs", topics=[topic(RUNS, run_ids)])


def rerun_on_change(look: Callable[[], object], *, key: str, topics: Sequence[str]) -> None:
    """Draw the page anew when what a look shows has changed; not while that is nothing.

    Args:
        look: Gives what goes on, as it is now.
        key: The key of this part of the page; no other has it.
        topics: The topics that the look shows.
    """
    shown_before = look()

    def compare() -> None:
        if look() != shown_before:
            st.rerun()

    if shown_before:
        draw_live(compare, key=key, topics=topics)
