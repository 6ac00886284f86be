"""What can be done with the runs that are picked in the table."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ecv_core.access.rights import Action
from ecv_core.figures.words import counted
from ecv_core.models import computed_here
from ecv_core.records.run import RunState
from ecv_core.store.listing import NAME_LENGTH, NOTE_LENGTH, Label, ListedRun, checked_label
from ecv_core.store.schema import UNDO_MINUTES
from pages.shared.address.navigation import COMPARE, go, show_view
from pages.shared.live.acting import acting, why_not
from pages.shared.live.runs import COMPARED
from pages.shared.live.state import sentences, store

REMOVED = "runs-removed"
"""In the session: ids of the runs that were deleted last."""
_THEIRS = "What somebody else has started is left as it is."


def actions(picked: Sequence[ListedRun], rows: Sequence[ListedRun]) -> None:
    """A row of buttons; those that would do nothing are disabled.

    Args:
        picked: the runs that are picked, newest first.
        rows: all runs, for the tags that there are.
    """
    person = acting()

    def mine(action: Action, rows: Sequence[ListedRun]) -> list[str]:
        return [row.run_id for row in rows if person.may(action, row.started_by)]

    ids = [row.run_id for row in picked]
    active = mine(Action.CANCEL, [row for row in picked if row.state.active])
    resumable = mine(
        Action.GO_ON, [row for row in picked if _cut_off(row) and computed_here(row.spec)]
    )
    idle = mine(Action.DELETE, [row for row in picked if not row.state.active])
    labelled = [row for row in picked if person.may(Action.ANNOTATE, row.started_by)]
    theirs = len(labelled) < len(picked)
    several = len(ids) > 1
    st.button(
        f"Compare {len(ids)} runs" if several else "Compare",
        key="compare-picked",
        icon=":material/balance:",
        type="primary" if several else "secondary",
        disabled=not several,
        help=None if several else "Pick two or more runs by the boxes at the left of their rows.",
        on_click=_compare,
        args=(ids,),
    )
    if len(ids) == 1 and st.button("Open", key="open-picked", icon=":material/open_in_full:"):
        go("run/run.py", {"run": ids[0]})
    if not why_not(Action.ANNOTATE):
        with st.popover(
            "Name, tags, note" if len(labelled) < 2 else "Tags",
            icon=":material/label:",
            disabled=not labelled,
            help=_THEIRS if theirs else None,
        ):
            if labelled:
                _label_form(labelled, sorted({tag for row in rows for tag in row.label.tags}))
    for word, some, act in (("Cancel", active, _cancel), ("Resume", resumable, _resume)):
        if some:
            st.button(
                f"{word} {_count(some)}".strip(),
                key=f"{word.lower()}-picked",
                icon=f":material/{word.lower()}:",
                on_click=act,
                args=(some,),
            )
    if why_not(Action.DELETE):
        return
    st.button(
        f"Delete {_count(idle)}".strip(),
        key="delete-picked",
        icon=":material/delete:",
        disabled=not idle,
        on_click=_delete,
        args=(idle,),
        help=f"Can be undone for {UNDO_MINUTES} minutes. A run that is going on is cancelled "
        f"before it can be deleted.{' ' + _THEIRS if theirs else ''}",
    )


def undo() -> None:
    """What was deleted last, with the way back, where a toast would be; nothing before."""
    removed = st.session_state.get(REMOVED, [])
    if not removed:
        return
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="undo-toast"):
        st.markdown(f"Deleted {counted(len(removed), 'run')}.", width="content")
        st.button("Undo", key="undo-delete", icon=":material/undo:", on_click=_bring_back)
        st.button(
            "",
            key="undo-close",
            icon=":material/close:",
            type="tertiary",
            help="Close",
            on_click=lambda: st.session_state.pop(REMOVED, None),
        )


def retagged(label: Label, common: Sequence[str], chosen: Sequence[str]) -> Label:
    """A run's label after an edit of several runs' tags.

    Args:
        label: what is on the run; name and note stay.
        common: the tags that all of those runs had.
        chosen: the tags that all of them shall have instead.
    Raises: InputError for too many tags, or one that is too long.
    """
    own = [tag for tag in label.tags if tag not in common]
    return checked_label(label.name, [*chosen, *own], label.note)


def _label_form(picked: Sequence[ListedRun], known: Sequence[str]) -> None:
    """Tags are kept as they are picked, a name and a note on Enter or Save."""
    first = picked[0].label
    common = [tag for tag in first.tags if all(tag in row.label.tags for row in picked)]
    which = "-".join(row.run_id for row in picked[:40])
    st.multiselect(
        "Tags" if len(picked) == 1 else f"Tags of all {len(picked)} runs",
        list(dict.fromkeys([*common, *known])),
        default=common,
        key=f"tags-{which}",
        accept_new_options=True,
        placeholder="Type a new one and press Enter, or pick",
        on_change=_tag,
        args=(picked, common, f"tags-{which}"),
    )
    if len(picked) > 1:
        return
    with st.form(f"label-{which}", border=False, enter_to_submit=True):
        name = st.text_input("Name", first.name, key=f"name-{which}", max_chars=NAME_LENGTH)
        note = st.text_area("Note", first.note, key=f"note-{which}", max_chars=NOTE_LENGTH)
        if st.form_submit_button("Save", icon=":material/save:", key=f"save-{which}"):
            with sentences():
                acting().label({picked[0].run_id: checked_label(name, first.tags, note)})
                st.rerun()


def _tag(picked: Sequence[ListedRun], common: Sequence[str], key: str) -> None:
    with sentences():
        chosen = st.session_state[key]
        acting().label({row.run_id: retagged(row.label, common, chosen) for row in picked})


def _cut_off(row: ListedRun) -> bool:
    return row.state.resumable or (row.state is RunState.FINISHED and bool(row.damaged))


def _count(ids: Sequence[str]) -> str:
    return f"{len(ids)} runs" if len(ids) > 1 else ""


def _compare(run_ids: Sequence[str]) -> None:
    show_view(COMPARE)
    st.query_params[COMPARED] = ",".join(run_ids)


def _cancel(run_ids: Sequence[str]) -> None:
    with sentences():
        for run_id in run_ids:
            acting().cancel(run_id)


def _resume(run_ids: Sequence[str]) -> None:
    with sentences():
        for run_id in run_ids:
            if store().run(run_id).state is not RunState.QUEUED:
                acting().resume(run_id)


def _delete(run_ids: Sequence[str]) -> None:
    with sentences():
        removed = acting().remove(run_ids)
        if removed:
            st.session_state[REMOVED] = removed


def _bring_back() -> None:
    with sentences():
        run_ids = st.session_state.pop(REMOVED, [])
        back = acting().bring_back(run_ids)
        if back < len(run_ids):
            gone = counted(len(run_ids) - back, "run")
            st.toast(f"{gone} cannot be brought back: the time for it is over.")
