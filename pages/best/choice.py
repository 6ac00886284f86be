"""Which selection is shown, as the address says, and what one is to find out, how sure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import streamlit as st

from ecv_core.access.roles import Action
from ecv_core.figures.words import counted, dataset_title
from ecv_core.models import ALGORITHMS
from ecv_core.selection.rounds import Budget
from ecv_core.store.plans import SELECTION as SELECTIONS
from ecv_core.store.plans import PlanRecord, stored_plans
from ecv_core.store.recorded import GRIDS, configuration_names, recorded_runs
from pages.shared.address.link import link_warning, write_into_link
from pages.shared.live.acting import why_not
from pages.shared.live.state import KEPT, escaped, sentences, store
from pages.shared.widgets.choices import switch
from pages.shared.widgets.words import plan_label

SELECTION = "selection"
"""In the address."""
FILE = "file"
FIRST = "ml-100k"
_CHOICE, _LAST = "selection-choice", "selection-last"


def choose() -> tuple[str, bool]:
    """What the address names, and whether it is asked what one may claim; with their widgets.

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
        claim = question()
        write_into_link({SELECTION: wanted})
    return wanted, claim


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
    runs = one.content.runs
    dataset = dataset_title(runs[0].spec.dataset)
    return plan_label(one, f"{len(runs)} contenders on {dataset}")


_CONFIDENCES = [0.8, 0.9, 0.95, 0.99, 0.999]


_USE, _CLAIM = "Which shall I use?", "What may I claim?"
USUAL_LOSS = 0.001
_LOSSES = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02]


Asked = Mapping[str, Any]
"""What a selection is to find out, as fields of Terms."""
USUAL: Asked = {"expected_loss": USUAL_LOSS}


def question() -> bool:
    """What is asked, which comes before every setting; whether it is what one may claim."""
    return (
        switch(
            "Question",
            [_USE, _CLAIM],
            "question",
            label_visibility="collapsed",
            help="To use one, it is enough to lose next to nothing by it. To claim that it is the "
            "best, no other may be able to catch up, which takes more folds where some are close.",
        )
        == _CLAIM
    )


def settings(*, claim: bool) -> Asked:
    """The widgets of what decides it. Raises: InputError for a budget that cannot be."""
    asked = _certain() if claim else _good_enough()
    st.caption(
        "For recorded selections and files too; one that was started keeps what it was started "
        "with."
    )
    return asked


def _good_enough() -> dict[str, Any]:
    left, right = st.columns(2)
    loss = left.select_slider(
        "Expected loss",
        _LOSSES,
        value=USUAL_LOSS,
        key="expected_loss",
        **KEPT,
        format_func=lambda share: f"{100 * share:g} % of the score",
        help="It ends once no more than this is expected to be lost by taking the leader instead "
        "of whoever is best over all folds.",
    )
    budget = right.text_input(
        "Budget (optional)",
        key="budget",
        **KEPT,
        placeholder="50 Wh, 20 min or 30 folds",
        help="Folds go where they lower the expected loss most for what they cost, until it is "
        "low enough or this is used up.",
    )
    found = None
    with sentences():
        found = Budget.parse(budget) if budget and budget.strip() else None
    return {"expected_loss": float(loss), "budget": found}


def _certain() -> dict[str, Any]:
    left, right = st.columns(2)
    indifference = left.number_input(
        "Indifference, % of the leader's mean",
        min_value=0.0,
        max_value=50.0,
        value=0.0,
        step=0.5,
        format="%g",
        key="indifference",
        **KEPT,
        help="Contenders closer than this are as good as each other.",
    )
    confidence = right.select_slider(
        "Confidence of the selection",
        _CONFIDENCES,
        value=0.95,
        key="sure",
        **KEPT,
        format_func=lambda share: f"{100 * share:g} %",
        help="How likely, at least, the winner is the one that all folds would show: over all "
        "contenders and all looks together.",
    )
    st.caption(
        f"Whoever is within {indifference:g} % of the leader's mean counts as equally good."
        if indifference
        else "However close two contenders are, they are told apart if the folds allow it: give an "
        "indifference to be done sooner."
    )
    return {"indifference": indifference / 100, "confidence": float(confidence)}
