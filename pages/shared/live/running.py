"""What runs, on top of every page and in the tab's title, for as long as something runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import streamlit as st

from ecv_core.access.rights import Action
from ecv_core.figures.words import counted, duration, run_title
from ecv_core.records.errors import InputError, StoreError
from ecv_core.records.run import RunRecord, RunState
from pages.shared.live.acting import acting
from pages.shared.live.events import ALL, QUEUE, STEPS
from pages.shared.live.runs import act_and_rerun, elapsed_seconds, remaining_seconds
from pages.shared.live.state import escaped, manager, store
from pages.shared.live.watch import PAGE, follow, follow_server, shared, watch
from pages.shared.widgets.component import component
from pages.shared.widgets.words import STATES

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator
    from streamlit.navigation.page import StreamlitPage

_WATCHED, _ARRIVED = "watched-run", "page-arrived"
_KEPT = "kept-bar"
"""The run whose bar stays though it is over, so that nothing on its own page moves up."""
_LISTED = 8
"""Runs of the queue that are listed; more would not fit on a screen."""

_progress = component(
    __file__,
    "ecv_progress",
    html='<div class="ecv-progress"><p></p><div role="progressbar"><i></i></div></div>',
    css="running.css",
    js=["../widgets/duration.js", "shared.js", "running.js"],
)


def running_bar(page: StreamlitPage) -> None:
    """Draw the bar and set the tab's title; call once per run of the app, before the page.

    While nothing runs this is two indexed queries per run of the app, and nothing is asked again.
    The bar has a container even when there is none: what follows keeps its place in the tree, and
    is not drawn a second time below its old self when the bar comes or goes.
    """
    place = st.container(key="bar-place")
    state = st.session_state
    state[_ARRIVED] = state.get(PAGE) != page.url_path
    state[PAGE] = page.url_path
    name = f"{page.title} · e-fold"
    try:
        if watch().page_begins():
            manager()  # marks what an earlier dashboard left behind as interrupted
        active = watch().active()
    except StoreError:
        active = []  # the page that needs the database says so
    if active:
        with place:
            follow(_bar, name, key="running", of=[QUEUE])
            follow_server()
        return
    _done()
    with place:
        st.fragment(_over)()  # a fragment as well, which is a level of the tree
    st.set_page_config(page_title=name)


def just_arrived() -> bool:
    """Whether this run of the app is the first on its page: opened, not pressed on. Ask once."""
    return bool(st.session_state.pop(_ARRIVED, False))


def progress_of(run: RunRecord) -> tuple[float, str]:
    """How far an active run is, as a share of its folds and in words."""
    k, done = run.k, len(run.folds)
    if run.state is RunState.QUEUED:
        return done / k, "queued"
    part, words = 0.0, [f"fold {min(done + 1, k)} of {k}"]
    if run.progress is not None:
        words.append(run.progress.phase)
        if run.progress.steps:
            words[-1] += f" {run.progress.step} of {run.progress.steps}"
            part = min(run.progress.step / run.progress.steps, 1.0)
    else:
        words.append("preparing")
    return min((done + part) / k, 1.0), " · ".join(words)


def _bar(name: str) -> None:
    active = watch().active()
    if not active:
        st.rerun()  # the last look: the title says that it is done, and nothing is followed
    run, *waiting = active
    st.session_state[_WATCHED] = run.run_id
    st.set_page_config(page_title=f"{_tab_title(run)} · {name}")
    with _row():
        _progress_bar(name, shared("bar", [ALL, STEPS], _first))
        shown = st.query_params.get("run")
        if shown not in (run.run_id, run.group):
            st.page_link(
                "run/run.py",
                label="Open",
                icon=":material/open_in_full:",
                query_params={"run": run.group or run.run_id},
            )
        # On its own page only, which Run becomes: so that none is beside another's buttons.
        own = shown in (run.run_id, run.group, None) and st.session_state[PAGE] == "run"
        if own and _mine(run):
            asked = store().cancel_requested(run.run_id)  # its owner does it, in a moment or later
            if st.button(
                "Cancelling" if asked else "Cancel",
                icon=":material/stop:",
                key="cancel",
                help=f"Stops {escaped(run_title(run))}.",
                disabled=asked,
            ):
                act_and_rerun(lambda: acting().cancel(run.run_id))
        if waiting:
            _queue(waiting)
    if trouble := manager().trouble:
        st.warning(escaped(trouble), icon=":material/warning:")


def _progress_bar(name: str, data: Mapping[str, object]) -> None:
    """How far a run is, and the tab's title; its clock goes on in the browser while it computes."""
    with st.container(key="running-progress"):
        _progress(key="progress", data={**data, "name": name})


def _first() -> dict[str, object] | None:
    """Of the run that goes on, all that the bar and the tab's title say."""
    run = next(iter(watch().active()), None)
    return {**_data(run, *progress_of(run)), "tab": _tab_title(run)} if run else None


def _data(run: RunRecord, part: float, words: str) -> dict[str, object]:
    computes = run.state is RunState.RUNNING
    remaining = remaining_seconds(run) if computes else None
    return {
        "title": run_title(run),
        "part": part,
        "words": words,
        "elapsed": elapsed_seconds(run) if computes else None,
        "ticks": computes and run.progress is not None,
        "rest": "" if remaining is None else f"at most {duration(remaining)} remaining",
    }


def _tab_title(run: RunRecord) -> str:
    at = f"{min(len(run.folds) + 1, run.k)}/{run.k}"
    return f"▶ {'queued' if run.state is RunState.QUEUED else at} {run_title(run)}"


def _row() -> DeltaGenerator:
    return st.container(
        horizontal=True, vertical_alignment="center", key="running-bar", gap="small"
    )


def _kept() -> RunRecord | None:
    """The run that was watched to its end, for as long as the page that shows it is open."""
    kept: RunRecord | None = st.session_state.get(_KEPT)
    if kept and st.query_params.get("run") in (kept.run_id, kept.group):
        with suppress(StoreError, InputError):  # deleted meanwhile
            return store().run(kept.run_id)
    st.session_state.pop(_KEPT, None)
    return None


def _over() -> None:
    """The bar of a run that is over, as high as it was."""
    if (run := _kept()) is None:
        return
    done, finished = len(run.folds), run.state is RunState.FINISHED
    words = [f"{done} of {run.k} folds"]  # its state stands beside its title
    if run.folds:
        words.append(f"{duration(run.seconds)} of computing")
    with _row():
        part = 1.0 if finished else done / run.k
        _progress_bar("", _data(run, part, " · ".join(words)))


def _queue(waiting: list[RunRecord]) -> None:
    with st.popover(f"{len(waiting)} waiting", icon=":material/hourglass_empty:", key="queue"):
        for run in waiting[:_LISTED]:
            with st.container(
                horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
            ):
                st.markdown(escaped(run_title(run)), width="content")
                if _mine(run) and st.button("Remove", key=f"unqueue-{run.run_id}", type="tertiary"):
                    act_and_rerun(lambda run=run: acting().cancel(run.run_id))  # type: ignore[misc]
        if len(waiting) > _LISTED:
            st.caption(f"and {counted(len(waiting) - _LISTED, 'more run')}")


def _mine(run: RunRecord) -> bool:
    """Whether whoever looks may cancel it."""
    return acting().may(Action.CANCEL, run.started_by)


def _done() -> None:
    """Say once, beside the page, that what was watched is over."""
    run_id = st.session_state.pop(_WATCHED, None)
    if run_id is None:
        return
    try:
        run = store().run(run_id)
    except (StoreError, InputError):  # deleted meanwhile
        return
    if st.query_params.get("run") in (run.run_id, run.group):
        st.session_state[_KEPT] = run
    else:
        st.toast(
            f"**{escaped(run_title(run))}** is {run.state.value}.", icon=STATES[run.state].icon
        )
