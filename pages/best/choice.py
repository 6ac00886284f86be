"""Which selection is shown: a recorded one, one's own, or a scores file; the address says which."""

from __future__ import annotations

import re
from collections import Counter

import streamlit as st

from ecv_core.figures.words import counted, dataset_title
from ecv_core.jobs.rights import Action
from ecv_core.models import ALGORITHMS
from ecv_core.store.plans import SELECTION as SELECTIONS
from ecv_core.store.plans import PlanRecord, stored_plans
from ecv_core.store.recorded import GRIDS, configuration_names, recorded_runs
from pages.shared.address.link import link_has, link_warning
from pages.shared.live.acting import why_not
from pages.shared.live.state import escaped, store

SELECTION = "selection"
"""In the address."""
FILE = "file"
FIRST = "ml-100k"
_CHOICE, _LAST = "selection-choice", "selection-last"


def choose() -> str:
    """What the address names, with the widget to change it.

    The usual one needs no name, so that opening the page is one step that Back goes back.
    """
    labels = _labels()
    newest = next(iter(labels))
    usual = newest if is_own(newest) or FIRST not in labels else FIRST
    asked = st.query_params.get(SELECTION)
    from_another_page = _CHOICE not in st.session_state  # not by Back to the bare address
    wanted = asked or str(st.session_state.get(_LAST, "") if from_another_page else usual)
    if wanted not in labels:
        if asked:
            link_warning(
                f"there is no selection '{escaped(asked)}' here; it may have been removed, or "
                "belongs to another installation. Pick one below, or start one."
            )
        wanted = usual
    st.session_state[_CHOICE] = wanted
    if asked or wanted != usual:
        open_selection(wanted)
    else:
        st.session_state[_LAST] = wanted
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Selection",
            list(labels),
            format_func=labels.__getitem__,
            key=_CHOICE,
            on_change=_picked,
            help="Recorded ones are played from folds that ran before; nothing is computed.",
        )
        if wanted != FILE and not why_not(Action.UPLOAD):
            st.button(
                "Your file of scores",
                icon=":material/upload_file:",
                key="best-own-file",
                on_click=open_selection,
                args=(FILE,),
                help="Scores of any program, by contender and fold.",
            )
        link_has({SELECTION: wanted})
    return wanted


def is_own(selection: str) -> bool:
    """Whether it is one that was started here."""
    return re.fullmatch(r"[0-9a-f]{12}", selection) is not None


def open_selection(selection: str) -> None:
    """Make the address name it; call it before the page is drawn anew."""
    if st.session_state.get(_LAST, selection) != selection:
        st.query_params.pop("fold", None)  # a moment of the one before
    st.session_state[_LAST] = selection
    st.query_params[SELECTION] = selection


def _picked() -> None:
    open_selection(st.session_state[_CHOICE])


def _labels() -> dict[str, str]:
    """What can be shown, by what names it in the address: own with newest first, recorded, file."""
    found = {one.plan_id: _label(one) for one in stored_plans(store(), SELECTIONS)}
    counts = Counter(run.spec.dataset for run in recorded_runs())
    found |= {
        dataset: f"Recorded: {counted(count, 'algorithm')} on {dataset_title(dataset)}"
        for dataset, count in counts.items()
        if count > 1
    }
    for name in configuration_names(GRIDS):
        dataset, algorithm, parameter = name.split("--")
        found[name] = (
            f"Recorded: {parameter} of {ALGORITHMS[algorithm].title} on {dataset_title(dataset)}"
        )
    return found | {FILE: "A file of scores, from any program"}


def _label(one: PlanRecord) -> str:
    """Never changes: Streamlit knows a choice by its label."""
    spec = one.content.runs[0].spec
    return (
        f"{one.created_at:%Y-%m-%d %H:%M}: {len(one.content.runs)} contenders on "
        f"{dataset_title(spec.dataset)} ({one.plan_id})"
    )
