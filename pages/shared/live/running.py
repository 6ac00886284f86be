"""What runs, on top of every page and in the tab's title, for as long as something runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from ecv_core.access.roles import Action
from ecv_core.figures.words import counted, duration, run_title
from ecv_core.records.errors import InputError, StoreError
from ecv_core.records.run import RunRecord, RunState
from pages.shared.base.component import component
from pages.shared.base.rows import row_container, spread_row
from pages.shared.base.states import STATES
from pages.shared.live.events import ALL, QUEUE, STEPS
from pages.shared.live.person import run_actions
from pages.shared.live.runs import act_and_rerun, elapsed_seconds, remaining_seconds, share_done
from pages.shared.live.state import escaped, manager, show_trouble, store
from pages.shared.live.watch import (
    PAGE,
    draw_live,
    redraw_page_after_restart,
    shared_entries,
    watch,
)

_ID_OF_RUN_IN_BAR = "watched-run"
"""In the session: the id of the run whose bar was drawn last."""
_IS_FIRST_RUN_ON_PAGE = "page-arrived"
"""In the session: whether this run of the app is the first on its page."""
_ENDED_RUN_IN_BAR = "kept-bar"
"""In the session: the run whose bar stays though it is over, so that nothing on its own page moves
up."""
_LISTED = 8
"""Runs of the queue that are listed; more would not fit on a screen."""

_progress = component(
    __file__,
    "ecv_progress",
    html='<div class="ecv-progress"><p></p><div role="progressbar"><i></i></div></div>',
    css="running.css",
    js=["../base/duration.js", "shared.js", "running.js"],
)


def draw_running_bar(page: StreamlitPage) -> None:
    """Draw the bar and set the tab's title; call once per run of the app, before the page.

    While nothing runs this is two indexed queries per run of the app, and nothing is asked again.
    The bar has a container even when there is none: what follows keeps its place in the tree, and
    is not drawn a second time below its old self when the bar comes or goes.
    """
    place_of_bar = st.container(key="bar-place")
    page_before = st.session_state.get(PAGE)
    st.session_state[_IS_FIRST_RUN_ON_PAGE] = page_before != page.url_path
    st.session_state[PAGE] = page.url_path
    page_title = f"{page.title} · e-fold"
    if _begin_page_with_active_runs():
        with place_of_bar:
            draw_live(_draw_bar_of_active_runs, page_title, key="running", topics=[QUEUE])
            redraw_page_after_restart()
        return
    _keep_bar_or_toast_of_ended_run()
    with place_of_bar:
        # This bar is drawn in a fragment, as that of active runs is: then both have the same place
        # in the page's tree.
        st.fragment(_draw_bar_of_ended_run)()
    st.set_page_config(page_title=page_title)


def _begin_page_with_active_runs() -> bool:
    """Read once what all of the page is drawn from; whether any run is active."""
    try:
        activity = watch().begin_page()
        if activity.runs:
            # The first call of a dashboard marks the runs as interrupted that an earlier dashboard
            # left behind as active.
            manager()
        return bool(watch().active_runs())
    except StoreError:
        return False  # the page itself shows the error


def just_arrived() -> bool:
    """Whether this run of the app is the first on its page: opened, not pressed on. Ask once."""
    return bool(st.session_state.pop(_IS_FIRST_RUN_ON_PAGE, False))


def _progress_words(run: RunRecord) -> str:
    """How far an active run is: 'fold 3 of 10 · evaluating 2 of 5'."""
    if run.state is RunState.QUEUED:
        return "queued"
    fold = f"fold {_newest_fold(run)} of {run.k}"
    progress = run.progress
    if progress is None:
        return f"{fold} · preparing"
    words = f"{fold} · {progress.phase}"
    if progress.steps:
        words += f" {progress.step} of {progress.steps}"
    return words


def _newest_fold(run: RunRecord) -> int:
    """The number of the fold that is computed, counted from 1."""
    return min(len(run.folds) + 1, run.k)


def _draw_bar_of_active_runs(page_title: str) -> None:
    """The bar of the run that goes on, its buttons and the queue.

    Args:
        page_title: For the tab's title.
    """
    active_runs = watch().active_runs()
    if not active_runs:
        st.rerun()  # all runs have ended: the page, drawn anew, keeps the bar of the last one
    run, *waiting = active_runs
    st.session_state[_ID_OF_RUN_IN_BAR] = run.run_id
    st.set_page_config(page_title=f"{_tab_title(run)} · {page_title}")
    with row_container(key="running-bar"):
        progress = shared_entries("bar", [ALL, STEPS], _progress_of_active_run)
        _draw_progress(page_title, progress)
        id_in_address = st.query_params.get("run")
        is_opened = id_in_address in (run.run_id, run.group)
        if not is_opened:
            st.page_link(
                "run/run.py",
                label="Open",
                icon=":material/open_in_full:",
                query_params={"run": run.group or run.run_id},
            )
        # Cancel is offered only on the page Run, and not while another run is opened there.
        is_on_its_page = st.session_state[PAGE] == "run" and (is_opened or id_in_address is None)
        if is_on_its_page and _may_cancel(run):
            _draw_cancel_button(run)
        if waiting:
            _draw_queue(waiting)
    show_trouble()


def _draw_cancel_button(run: RunRecord) -> None:
    # The process that computes the run sees the request a little later.
    cancelling = store().cancel_requested(run.run_id)
    label = "Cancel"
    if cancelling:
        label = "Cancelling"
    if st.button(
        label,
        icon=":material/stop:",
        key="cancel",
        help=f"Stops {escaped(run_title(run))}.",
        disabled=cancelling,
    ):
        act_and_rerun(partial(run_actions().cancel, run.run_id))


def _draw_progress(page_title: str, data: Mapping[str, object]) -> None:
    """How far a run is, and the tab's title; its clock goes on in the browser while it computes."""
    with st.container(key="running-progress"):
        _progress(key="progress", data={**data, "name": page_title})


def _progress_of_active_run() -> dict[str, object] | None:
    """What the bar and the tab's title say of the run that goes on; None where none does."""
    for run in watch().active_runs():
        data = _progress_data(run, share_done(run), _progress_words(run))
        return {**data, "tab": _tab_title(run)}
    return None


def _progress_data(run: RunRecord, share: float, words: str) -> dict[str, object]:
    """What running.js shows of a run.

    Args:
        run: The run.
        share: How far it is, from 0 to 1.
        words: The same in words.
    """
    data = {
        "title": run_title(run),
        "part": share,
        "words": words,
        "elapsed": None,
        "ticks": False,
        "rest": "",
    }
    if run.state is RunState.RUNNING:
        data["elapsed"] = elapsed_seconds(run)
        data["ticks"] = run.progress is not None
        remaining = remaining_seconds(run)
        if remaining is not None:
            data["rest"] = f"at most about {duration(remaining)} remaining"
    return data


def _tab_title(run: RunRecord) -> str:
    if run.state is RunState.QUEUED:
        return f"▶ queued {run_title(run)}"
    return f"▶ {_newest_fold(run)}/{run.k} {run_title(run)}"


def _ended_run() -> RunRecord | None:
    """The run that was watched to its end, for as long as the page that shows it is open."""
    run: RunRecord | None = st.session_state.get(_ENDED_RUN_IN_BAR)
    if run is not None and st.query_params.get("run") in (run.run_id, run.group):
        with suppress(StoreError, InputError):  # the run may have been deleted meanwhile
            return store().run(run.run_id)
    # Its page has been left, or the run is gone: the bar does not come back.
    st.session_state.pop(_ENDED_RUN_IN_BAR, None)
    return None


def _draw_bar_of_ended_run() -> None:
    """The bar of a run that is over, as high as it was."""
    run = _ended_run()
    if run is None:
        return
    share = len(run.folds) / run.k
    if run.state is RunState.FINISHED:  # a run that its rule stopped lacks folds, but is done
        share = 1.0
    words = f"{len(run.folds)} of {run.k} folds"  # the state of the run stands beside its title
    if run.folds:
        words = f"{words} · {duration(run.seconds)} of computing"
    with row_container(key="running-bar"):
        _draw_progress("", _progress_data(run, share, words))


def _draw_queue(waiting: list[RunRecord]) -> None:
    with st.popover(f"{len(waiting)} waiting", icon=":material/hourglass_empty:", key="queue"):
        for run in waiting[:_LISTED]:
            with spread_row():
                st.markdown(escaped(run_title(run)), width="content")
                if _may_cancel(run) and st.button(
                    "Remove", key=f"unqueue-{run.run_id}", type="tertiary"
                ):
                    act_and_rerun(partial(run_actions().cancel, run.run_id))
        if len(waiting) > _LISTED:
            st.caption(f"and {counted(len(waiting) - _LISTED, 'more run')}")


def _may_cancel(run: RunRecord) -> bool:
    return run_actions().may(Action.CANCEL, run.started_by)


def _keep_bar_or_toast_of_ended_run() -> None:
    """Once a watched run is over, keep its bar on its own page, and say so once on any other."""
    run_id = st.session_state.pop(_ID_OF_RUN_IN_BAR, None)
    if run_id is None:
        return
    try:
        run = store().run(run_id)
    except (StoreError, InputError):  # the run may have been deleted meanwhile
        return
    if st.query_params.get("run") in (run.run_id, run.group):
        st.session_state[_ENDED_RUN_IN_BAR] = run
    else:
        st.toast(
            f"**{escaped(run_title(run))}** is {run.state.value}.", icon=STATES[run.state].icon
        )
