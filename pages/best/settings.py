"""What a selection is to find out, and how sure it has to be."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from ecv_core.analysis.selection import Terms
from ecv_core.analysis.selection.rounds import Until
from pages.shared.live.state import KEPT

_UNTIL: dict[str, Until] = {"the winner is known": "winner", "the whole order is known": "order"}
_CONFIDENCES = [0.8, 0.9, 0.95, 0.99, 0.999]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionSettings:
    """What the settings say."""

    until: Until
    indifference: float
    confidence: float

    def terms(self, k: int, *, higher_is_better: bool = True) -> Terms:
        """For a selection of k folds. Raises: InputError, as Terms do."""
        return Terms(
            k=k,
            confidence=self.confidence,
            indifference=self.indifference,
            until=self.until,
            higher_is_better=higher_is_better,
        )


def settings() -> SelectionSettings:
    """The widgets."""
    with st.container(border=True):
        st.subheader("When it is decided", anchor=False)
        left, middle, right = st.columns(3)
        until = left.segmented_control(
            "Go on until",
            list(_UNTIL),
            default=next(iter(_UNTIL)),
            required=True,
            key="until",
            **KEPT,
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
            help="Contenders closer than this are as good as each other; with 0, only the best is.",
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
            "For recorded selections and files, and for those that you start; one that was "
            "started keeps what it was started with."
        )
    return SelectionSettings(
        until=_UNTIL[until or next(iter(_UNTIL))],
        indifference=indifference / 100,
        confidence=float(confidence),
    )
