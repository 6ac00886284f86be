"""Every strategy in a list: what it does, whence it comes, whether the dataset can serve it."""

from __future__ import annotations

import streamlit as st

from ecv_core.analysis.split_tables.leakages import why_not
from ecv_core.fold import prepared
from ecv_core.splits import SPLITS, Need
from pages.components.shared.state import escaped, sentence

_NEEDS = {
    Need.NOTHING: "nothing but interactions",
    Need.HISTORY: "an order of each user's interactions",
    Need.BASKETS: "baskets",
    Need.TIMESTAMPS: "timestamps",
}


def strategy_list(dataset: str, ready: bool) -> None:
    """The list, closed at first; its label says how many the dataset can serve."""
    interactions = prepared(dataset) if ready else None
    reasons = {
        name: None if interactions is None else why_not(known, interactions)
        for name, known in SPLITS.items()
    }
    served = sum(reason is None for reason in reasons.values())
    label = f"All {len(SPLITS)} strategies"
    if interactions is not None:
        label += f": {served} can split {escaped(dataset)}"
    with st.expander(label, icon=":material/list:", key="split-strategies"):
        for name, known in SPLITS.items():
            reason = reasons[name]
            mark = (
                ":green[:material/check_circle:]" if reason is None else ":orange[:material/block:]"
            )
            st.markdown(
                f"{mark} **{name}** · {escaped(known.title)}. {escaped(known.help)} "
                f"Needs {_NEEDS[known.needs]}. *Source: {escaped(known.source)}.*"
                + (f"  \n:orange[{_one_line(reason)}]" if reason else "")
            )


def _one_line(reason: str) -> str:
    return sentence(ValueError(reason))
