"""What can be done with the runs that are picked in the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import Any

import streamlit as st

from ecv_core.access.roles import Action
from ecv_core.figures.words import counted
from ecv_core.models import computed_here
from ecv_core.records.run import RunState
from ecv_core.store.listing import NAME_LENGTH, NOTE_LENGTH, Label, ListedRun, checked_label
from ecv_core.store.schema import UNDO_MINUTES
from pages.shared.address.navigation import COMPARE, open_page, show_view
from pages.shared.base.rows import row_container
from pages.shared.live.person import run_actions, why_not
from pages.shared.live.runs import COMPARED, COMPARED_BOX, ids_of
from pages.shared.live.state import errors_as_sentences, store

REMOVED = "runs-removed"
"""In the session: ids of the runs that were deleted last."""
_NOTE_ON_RUNS_OF_OTHERS = "What somebody else has started is left as it is."


def draw_actions(picked: Sequence[ListedRun], rows: Sequence[ListedRun]) -> None:
    """A row of buttons; those that would do nothing are disabled.

    Args:
        picked: The runs that are picked, newest first.
        rows: All runs, for the tags that there are.
    """
    ids = ids_of(picked)
    _draw_compare_button(ids)
    if len(ids) == 1 and st.button("Open", key="open-picked", icon=":material/open_in_full:"):
        open_page("run/run.py", {"run": ids[0]})
    if not why_not(Action.ANNOTATE):
        _draw_label_popover(picked, rows)
    _draw_buttons_of_computing(picked)
    if not why_not(Action.DELETE):
        _draw_delete_button(picked)


def _draw_buttons_of_computing(picked: Sequence[ListedRun]) -> None:
    """Buttons that cancel runs, resume them, or compute the folds after their stop."""
    active_runs = [row for row in picked if row.state.active]
    _draw_button_for_all("cancel", "Cancel", _allowed_runs(Action.CANCEL, active_runs), _cancel)
    resumable_runs = [row for row in picked if _can_be_resumed(row)]
    _draw_button_for_all("resume", "Resume", _allowed_runs(Action.GO_ON, resumable_runs), _resume)
    # A run that its rule has stopped can compute its remaining folds, to check the stop.
    stopped_runs = [row for row in picked if row.can_be_checked and computed_here(row.spec)]
    _draw_button_for_all(  # such as 'Run the remaining folds of 3 runs'
        "fact_check",
        "Run the remaining folds",
        _allowed_runs(Action.GO_ON, stopped_runs),
        check_stops,
        preposition=" of",
    )


def all_tags(rows: Sequence[ListedRun]) -> list[str]:
    """Every tag that is on any of the runs, each once, in the order of the alphabet."""
    tags: set[str] = set()
    for row in rows:
        tags.update(row.label.tags)
    return sorted(tags)


def _allowed_runs(action: Action, rows: Sequence[ListedRun]) -> list[ListedRun]:
    """The runs to which whoever looks may do this."""
    person = run_actions()
    return [row for row in rows if person.may(action, row.started_by)]


def _draw_compare_button(ids: Sequence[str]) -> None:
    look: dict[str, Any] = {
        "disabled": True,
        "help": "Pick two or more runs by the boxes at the left of their rows.",
    }
    if len(ids) > 1:
        look = {"type": "primary"}
    st.button(
        _for_several("Compare", ids),
        key="compare-picked",
        icon=":material/balance:",
        on_click=_compare,
        args=(ids,),
        **look,
    )


def _draw_label_popover(picked: Sequence[ListedRun], rows: Sequence[ListedRun]) -> None:
    """What people write on the runs of their own among those picked."""
    own_runs = _allowed_runs(Action.ANNOTATE, picked)
    title = "Name, tags, note"
    if len(own_runs) > 1:
        title = "Tags"
    note = None
    if len(own_runs) < len(picked):
        note = _NOTE_ON_RUNS_OF_OTHERS
    with st.popover(title, icon=":material/label:", disabled=not own_runs, help=note):
        if own_runs:
            _draw_label_form(own_runs, all_tags(rows))


def _draw_button_for_all(
    icon: str,
    verb: str,
    rows: Sequence[ListedRun],
    act_on_ids: Callable[[Sequence[str]], None],
    *,
    preposition: str = "",
) -> None:
    """A button that does this to all of the runs; none where there are no runs.

    Args:
        icon: The icon of the button, and a part of its key.
        verb: What it does to one run.
        rows: The runs.
        act_on_ids: Does it to runs of these ids.
        preposition: What follows the verb before the number of several runs.
    """
    if rows:
        st.button(
            _for_several(verb, rows, preposition),
            key=f"{icon}-picked",
            icon=f":material/{icon}:",
            on_click=act_on_ids,
            args=(ids_of(rows),),
        )


def _draw_delete_button(picked: Sequence[ListedRun]) -> None:
    own_runs = _allowed_runs(Action.DELETE, picked)
    idle = [row for row in own_runs if not row.state.active]
    note = (
        f"Can be undone for {UNDO_MINUTES} minutes. A run that is going on has to be cancelled "
        "first."
    )
    if len(own_runs) < len(picked):
        note = f"{note} {_NOTE_ON_RUNS_OF_OTHERS}"
    st.button(
        _for_several("Delete", idle),
        key="delete-picked",
        icon=":material/delete:",
        disabled=not idle,
        on_click=_delete,
        args=(ids_of(idle),),
        help=note,
    )


def _for_several(verb: str, runs: Sized, preposition: str = "") -> str:
    """'Delete', or 'Delete 3 runs'."""
    if len(runs) > 1:
        return f"{verb}{preposition} {len(runs)} runs"
    return verb


def offer_undo() -> None:
    """What was deleted last, with the way back, where a toast would be; nothing before."""
    removed = st.session_state.get(REMOVED, [])
    if not removed:
        return
    with row_container(border=True, key="undo-toast"):
        st.markdown(f"Deleted {counted(len(removed), 'run')}.", width="content")
        st.button("Undo", key="undo-delete", icon=":material/undo:", on_click=_bring_back)
        st.button(
            "",
            key="undo-close",
            icon=":material/close:",
            type="tertiary",
            help="Close",
            on_click=st.session_state.pop,
            args=(REMOVED,),
        )


def retagged(label: Label, common_tags: Sequence[str], chosen_tags: Sequence[str]) -> Label:
    """A run's label after an edit of several runs' tags.

    Args:
        label: What is on the run; name and note stay.
        common_tags: The tags that all of those runs had.
        chosen_tags: The tags that all of them shall have instead.

    Raises:
        InputError: For too many tags, or one that is too long.
    """
    own = [tag for tag in label.tags if tag not in common_tags]
    return checked_label(label.name, [*chosen_tags, *own], label.note)


_IDS_IN_KEYS = 40
"""Runs that the keys of the form name; more would make them endless."""


def _draw_label_form(picked: Sequence[ListedRun], every_tag: Sequence[str]) -> None:
    """Tags are kept as they are picked, a name and a note on Enter or Save."""
    first_label = picked[0].label
    common_tags = [tag for tag in first_label.tags if all(tag in row.label.tags for row in picked)]
    # The ids are in the widgets' keys, so that a form of other runs does not keep what was typed
    # here.
    ids = "-".join(ids_of(picked[:_IDS_IN_KEYS]))
    title = "Tags"
    if len(picked) > 1:
        title = f"Tags of all {len(picked)} runs"
    st.multiselect(
        title,
        list(dict.fromkeys([*common_tags, *every_tag])),
        default=common_tags,
        key=f"tags-{ids}",
        accept_new_options=True,
        placeholder="Type a new one and press Enter, or pick",
        on_change=_tag,
        args=(picked, common_tags, f"tags-{ids}"),
    )
    if len(picked) > 1:
        return
    with st.form(f"label-{ids}", border=False):
        name = st.text_input("Name", first_label.name, key=f"name-{ids}", max_chars=NAME_LENGTH)
        note = st.text_area("Note", first_label.note, key=f"note-{ids}", max_chars=NOTE_LENGTH)
        if st.form_submit_button("Save", icon=":material/save:", key=f"save-{ids}"):
            with errors_as_sentences():
                run_actions().label({picked[0].run_id: checked_label(name, first_label.tags, note)})
                st.rerun()


def _tag(picked: Sequence[ListedRun], common_tags: Sequence[str], key: str) -> None:
    with errors_as_sentences():
        chosen_tags = st.session_state[key]
        run_actions().label(
            {row.run_id: retagged(row.label, common_tags, chosen_tags) for row in picked}
        )


def _can_be_resumed(row: ListedRun) -> bool:
    """Whether there are folds to go on with, and this installation can compute them."""
    damaged = row.state is RunState.FINISHED and bool(row.damaged)
    return (row.state.resumable or damaged) and computed_here(row.spec)


def _compare(run_ids: Sequence[str]) -> None:
    show_view(COMPARE)
    st.session_state[COMPARED_BOX] = list(run_ids)
    st.query_params[COMPARED] = ",".join(run_ids)


def _cancel(run_ids: Sequence[str]) -> None:
    with errors_as_sentences():
        for run_id in run_ids:
            run_actions().cancel(run_id)


def _resume(run_ids: Sequence[str]) -> None:
    with errors_as_sentences():
        for run_id in run_ids:
            if store().run(run_id).state is not RunState.QUEUED:
                run_actions().resume(run_id)


def check_stops(run_ids: Sequence[str]) -> None:
    """Run the folds after the stop of each run, which show how good the stop was."""
    with errors_as_sentences():
        for run_id in run_ids:
            if store().run(run_id).can_be_checked:
                run_actions().resume(run_id, full=True)


def _delete(run_ids: Sequence[str]) -> None:
    with errors_as_sentences():
        removed = run_actions().remove(run_ids)
        if removed:
            st.session_state[REMOVED] = removed


def _bring_back() -> None:
    with errors_as_sentences():
        run_ids = st.session_state.pop(REMOVED, [])
        back_count = run_actions().bring_back(run_ids)
        if back_count < len(run_ids):
            gone_runs = counted(len(run_ids) - back_count, "run")
            st.toast(f"{gone_runs} cannot be brought back: the time for it is over.")
