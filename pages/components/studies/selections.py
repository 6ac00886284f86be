"""Beside figure 4: winner and order found by selection, with its energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from ecv_core.evaluation import METRICS
from ecv_core.records import Run
from ecv_core.selection import Terms, play_orders
from ecv_core.selection.runs import contenders_of
from pages.components.shared.state import results

if TYPE_CHECKING:
    from streamlit.elements.lib.column_types import ColumnConfig

ORDERS = 100
"""Drawn per dataset."""


def by_selection(runs: Sequence[Run]) -> None:
    """A table per dataset; worked out when it is opened, since it takes seconds.

    Args:
        runs: of the study; datasets without at least two complete algorithms are left out.
    """
    box = st.expander(
        "The same question by selection: which is best, and in which order?",
        icon=":material/trophy:",
        key="study-selection",
        on_change="rerun",
    )
    if not box.open:
        return
    with box:
        complete = tuple(run.run_id for run in runs if len(run.folds) == run.spec.k)
        with st.spinner("Playing selections ..."):
            table = _table(complete, runs)
        if table.empty:
            st.caption("It needs a dataset with at least two complete algorithms.")
            return
        st.dataframe(
            table,
            hide_index=True,
            column_config={
                "dataset": "Dataset",
                "winner_energy": _percent("Energy for the winner", "Of the energy of all folds."),
                "winner_right": _percent("Right winner", "Best over all folds, or tied with it."),
                "order_energy": _percent("Energy for the order", "Of the energy of all folds."),
                "order_right": _percent("Right order", "That of all folds, but for named ties."),
            },
        )
        st.caption(
            f"All algorithms together, confidence 95 %, over {ORDERS} random orders of the folds "
            "per dataset; where no energy is known, the share of the folds. Alpha plays no part."
        )
        st.page_link("best.py", label="Watch one", icon=":material/trophy:")


def _percent(label: str, help_text: str) -> ColumnConfig:
    return st.column_config.NumberColumn(label, format="%.1f %%", help=help_text)


@st.cache_data(show_spinner=False, max_entries=8)
def _table(complete: tuple[str, ...], _runs: Sequence[Run]) -> pd.DataFrame:
    by_dataset: dict[str, dict[str, Run]] = {}
    for run in _runs:
        if run.run_id in complete:
            by_dataset.setdefault(run.spec.dataset, {})[run.spec.algorithm] = run
    rows = []
    for dataset, found in by_dataset.items():
        if len(found) < 2:
            continue
        contenders = contenders_of(list(found.values()), results())
        spec = next(iter(found.values())).spec
        better = METRICS[spec.metric].higher_is_better
        winner, order = (
            play_orders(
                contenders,
                Terms(k=spec.k, until=until, higher_is_better=better),
                orders=ORDERS,
            )
            for until in ("winner", "order")
        )
        rows.append(
            {
                "dataset": dataset,
                "winner_energy": 100 * (winner.joules_share or winner.folds_share),
                "winner_right": 100 * winner.right,
                "order_energy": 100 * (order.joules_share or order.folds_share),
                "order_right": 100 * order.right_order,
            }
        )
    return pd.DataFrame(rows)
