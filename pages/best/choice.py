"""Which selection is shown, as the address says, and what one is to find out, how sure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import streamlit as st

from ecv_core.access.roles import Action
from ecv_core.figures.words import counted, dataset_title
from ecv_core.models import ALGORITHMS
from ecv_core.records.parameters import percent_text
from ecv_core.selection.rounds import USUAL_LOSS, Budget
from ecv_core.store.configurations import GRIDS, configuration_names
from ecv_core.store.plans import SELECTION as SELECTIONS
from ecv_core.store.plans import stored_plans
from ecv_core.store.recorded import recorded_runs
from pages.shared.address.link import link_warning, write_into_link
from pages.shared.live.person import why_not
from pages.shared.live.state import KEPT_IN_ADDRESS, errors_as_sentences, escaped, store
from pages.shared.widgets.choices import switch
from pages.shared.widgets.words import plan_label

SELECTION = "selection"
"""In the address."""
FILE = "file"
"""Stands in the place of a selection's name where one of a file of scores is shown."""
FIRST_RECORDED = "ml-100k"
"""The recorded selection that is shown where there is none of one's own."""
_PICKED_IN_BOX = "selection-choice"
"""In the session: what is picked in the box."""
_LAST_SHOWN = "selection-last"
"""In the session: what was shown last, whatever page was open since."""


class Choice(NamedTuple):
    """What is shown, and how its question is asked."""

    selection: str
    """Id of a selection of one's own, name of a recorded one, or FILE."""
    for_claim: bool | None
    """Whether one wants to claim that it is the best, not only to use it; None for a selection of
    one's own, which keeps the question with which it was started."""


def pick_selection() -> Choice:
    """What the address names, and the question that is picked for it; with their widgets.

    The usual one needs no name, so that opening the page is one step that Back goes back.
    """
    labels = _labels_of_selections()
    selection = _set_box_from_address(labels)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Selection",
            list(labels),
            format_func=labels.__getitem__,
            key=_PICKED_IN_BOX,
            on_change=_open_picked,
            help="Recorded selections are replayed from folds that ran before. Nothing is "
            "computed.",
        )
        if selection != FILE and not why_not(Action.UPLOAD):
            st.button(
                "Your file of scores",
                icon=":material/upload_file:",
                key="best-own-file",
                on_click=open_selection,
                args=(FILE,),
                help="Scores of any program, by contender and fold.",
            )
        # Recorded selections and files are replayed for either question: whether to claim that
        # the winner is the best, or only to use it. One's own was started with one of them.
        for_claim = None
        if not is_own(selection):
            for_claim = pick_purpose()
        write_into_link({SELECTION: selection})
    return Choice(selection, for_claim)


def pick_purpose() -> bool:
    """Whether one wants to claim that the winner is the best; with its widget."""
    purpose = switch(
        "Question",
        [_USE, _CLAIM],
        "question",
        label_visibility="collapsed",
        help="To use a contender, it is enough that almost nothing is lost by choosing it. "
        "To claim that it is the best, no other may be able to catch up, which takes more "
        "folds where some are close.",
    )
    return purpose == _CLAIM


def _set_box_from_address(labels: Mapping[str, str]) -> str:
    """Pick the selection that the address names in the box, and give it back.

    Without a name it is the usual one, or the last one where another page was open in between.

    Args:
        labels: Selection -> its label; first the newest of one's own, where there is one.
    """
    usual = _usual_selection(labels)
    name_in_address = st.query_params.get(SELECTION)
    selection = name_in_address or _selection_without_name(usual)
    if selection not in labels:
        selection = usual
        if name_in_address:
            link_warning(
                f"there is no selection '{escaped(name_in_address)}' here; it may have been "
                "removed, or belongs to another installation. Pick one below, or start one."
            )
    st.session_state[_PICKED_IN_BOX] = selection
    # An address without a name stands for the usual selection. So the name of the usual one is not
    # written into it, and the session alone remembers what is shown. `open_selection` writes any
    # other selection into both.
    if name_in_address or selection != usual:
        open_selection(selection)
    else:
        st.session_state[_LAST_SHOWN] = selection
    return selection


def _usual_selection(labels: Mapping[str, str]) -> str:
    """The newest of one's own, or else a recorded one."""
    first = next(iter(labels))
    if not is_own(first) and FIRST_RECORDED in labels:
        return FIRST_RECORDED
    return first


def _selection_without_name(usual: str) -> str:
    """What an address shows that names no selection."""
    if _PICKED_IN_BOX in st.session_state:
        # The page was open before, so the browser's Back led to the address without a name.
        return usual
    # Streamlit forgets a box while another page is open. What was shown before is shown again.
    return str(st.session_state.get(_LAST_SHOWN, usual))


def is_own(selection: str) -> bool:
    """Whether it is one that was started here."""
    return re.fullmatch(r"[0-9a-f]{12}", selection) is not None


def open_selection(selection: str) -> None:
    """Have the address name it and the session remember it; call it before the page is drawn."""
    if st.session_state.get(_LAST_SHOWN, selection) != selection:
        st.query_params.pop("fold", None)  # it names a round of the selection that was shown before
    st.session_state[_LAST_SHOWN] = selection
    st.query_params[SELECTION] = selection


def _open_picked() -> None:
    open_selection(st.session_state[_PICKED_IN_BOX])


def _labels_of_selections() -> dict[str, str]:
    """What can be shown, by its name in the address: own with newest first, recorded, file."""
    labels = {}
    for plan in stored_plans(store(), SELECTIONS):
        runs = plan.content.runs
        dataset = dataset_title(runs[0].spec.dataset)
        labels[plan.plan_id] = plan_label(plan, f"{len(runs)} contenders on {dataset}")
    counts = Counter(run.spec.dataset for run in recorded_runs())
    for dataset, count in counts.items():
        if count > 1:
            algorithms = counted(count, "algorithm")
            labels[dataset] = f"Recorded: {algorithms} on {dataset_title(dataset)}"
    for name in configuration_names(GRIDS):
        dataset, algorithm, parameter = name.split("--")
        title = ALGORITHMS[algorithm].title
        labels[name] = f"Recorded: {parameter} of {title} on {dataset_title(dataset)}"
    labels[FILE] = "A file of scores, from any program"
    return labels


_CONFIDENCES = [0.8, 0.9, 0.95, 0.99, 0.999]
_USE = "Which shall I use?"
_CLAIM = "What may I claim?"

Question = Mapping[str, Any]
"""What a selection is to find out, as fields of Terms."""
_LOSSES = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02]
USUAL_QUESTION: Question = {"expected_loss": USUAL_LOSS}


def pick_question(*, for_claim: bool) -> Question:
    """The widgets of what decides it."""
    if for_claim:
        question = _pick_certainty()
    else:
        question = _pick_loss_and_budget()
    st.caption(
        "This applies to recorded selections and files too. A selection that was started keeps "
        "its settings."
    )
    return question


def _pick_loss_and_budget() -> Question:
    left_column, right_column = st.columns(2)
    loss = left_column.select_slider(
        "Expected loss",
        _LOSSES,
        value=USUAL_LOSS,
        key="expected_loss",
        **KEPT_IN_ADDRESS,
        format_func=_loss_text,
        help="The selection ends once no more than this is expected to be lost by taking the "
        "leader instead of whichever contender is best over all folds.",
    )
    text = right_column.text_input(
        "Budget (optional)",
        key="budget",
        **KEPT_IN_ADDRESS,
        placeholder="50 Wh, 20 min or 30 folds",
        help="Each fold is given to the contender where it lowers the expected loss most for its "
        "cost, until the loss is low enough or the budget is spent.",
    )
    budget = None
    if text and text.strip():
        with errors_as_sentences():  # a budget that cannot be read is reported, and none is set
            budget = Budget.parse(text)
    return {"expected_loss": float(loss), "budget": budget}


def _loss_text(share: float) -> str:
    return f"{percent_text(share, 'g')} of the score"


def _pick_certainty() -> Question:
    left_column, right_column = st.columns(2)
    indifference = left_column.number_input(
        "Indifference, % of the leader's mean",
        min_value=0.0,
        max_value=50.0,
        value=0.0,
        step=0.5,
        format="%g",
        key="indifference",
        **KEPT_IN_ADDRESS,
        help="The selection ends once no contender can be ahead of the leader by more than this.",
    )
    confidence = right_column.select_slider(
        "Confidence of the selection",
        _CONFIDENCES,
        value=0.95,
        key="sure",
        **KEPT_IN_ADDRESS,
        format_func=percent_text,
        help="The winner is the one that all folds would show with at least this probability, over "
        "all contenders and all looks together.",
    )
    if indifference:
        st.caption(
            f"Taking the winner may lose up to {indifference:g} % of its mean. Only contenders "
            "shown to be within that margin, in either direction, count as equally good."
        )
    else:
        st.caption(
            "Contenders are told apart however close they are, if the folds allow it. With an "
            "indifference the selection ends sooner."
        )
    return {"indifference": indifference / 100, "confidence": float(confidence)}
