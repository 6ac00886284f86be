"""What a selection is to find out, and how sure it has to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from ecv_core.analysis.selection.rounds import Budget, Until
from pages.shared.live.state import KEPT, sentences
from pages.shared.widgets.choices import switch

_UNTIL: dict[str, Until] = {"the winner is known": "winner", "the whole order is known": "order"}
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
        "Within, if anything",
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
    left, middle, right = st.columns(3)
    with left:
        until = switch(
            "Go on until",
            list(_UNTIL),
            "until",
            help="For the whole order every two contenders must be told apart.",
        )
    indifference = middle.number_input(
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
    return {
        "until": _UNTIL[until],
        "indifference": indifference / 100,
        "confidence": float(confidence),
    }
