"""What each part of each fold holds, as a table; for Ta-Feng beside the paper's."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ecv_core.analysis.split_tables.paper_table import SOURCE, TA_FENG, beside_paper
from ecv_core.analysis.split_tables.parts import parts_frame
from ecv_core.fold import prepared
from ecv_core.records import RunSpec
from ecv_core.splits import FoldParts
from pages.components.shared.glossary import glossary_link
from pages.components.shared.names import file_name
from pages.components.shared.words import counted
from pages.components.splits.computed import parts_of

_AT_ONCE = 1_500_000
"""Interactions times folds up to which every fold is counted without being asked."""
_MOST_FOLDS = 100


def parts_section(content: str, spec: RunSpec, fold: int) -> None:
    """Table, what training does not know, CSV; and Ta-Feng's comparison."""
    st.header("What is in each part", anchor=False)
    size = len(prepared(spec.dataset))
    every = spec.k == 1 or (size * spec.k <= _AT_ONCE and spec.k <= _MOST_FOLDS)
    frame = _frame(content, spec, range(spec.k) if every else (fold,))
    st.dataframe(
        frame,
        hide_index=True,
        column_config={
            "percent": st.column_config.NumberColumn("%", format="%.1f"),
            **{
                name: st.column_config.NumberColumn(name, format="localized")
                for name in ("users", "items", "interactions", "baskets")
            },
        },
        placeholder="",
        height="content" if len(frame) <= 12 else 420,
        key="split-parts",
        alt=f"Users, items and interactions of every part of {spec.split} on {spec.dataset}",
    )
    found = parts_of(content, spec, fold)
    st.markdown(_unknown_words(found, fold))
    st.caption(
        f"A {glossary_link('validation-part')} is for choosing settings. Training holds the "
        f"{glossary_link('fold-in')} of tested users, where the strategy has one; a user without "
        f"any training is a {glossary_link('cold-user')}."
    )
    st.download_button(
        "CSV" if every else f"CSV of all {min(spec.k, _MOST_FOLDS)} folds",
        lambda: _frame(content, spec, range(min(spec.k, _MOST_FOLDS))).to_csv(index=False),
        file_name=f"{file_name(f'parts {spec.split} {spec.dataset}')}.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="split-parts-csv",
        type="tertiary",
    )
    if spec.dataset == TA_FENG:
        _paper(content, spec, fold)


def _unknown_words(found: FoldParts, fold: int) -> str:
    if not found.unknown_interactions and not found.dropped:
        return f"In fold {fold}, training knows every user and every item that is tested."
    return (
        f"In fold {fold}, training does not know **{counted(found.unknown_users, 'user')}** and "
        f"**{counted(found.unknown_items, 'item')}** of what is or would be tested: "
        f"{counted(found.unknown_interactions, 'test interaction')}. Dropped for it: "
        f"{counted(found.dropped, 'held-out interaction')}."
    )


def _frame(content: str, spec: RunSpec, folds: range | tuple[int, ...]) -> pd.DataFrame:
    return parts_frame({index: parts_of(content, spec, index) for index in folds})


def _paper(content: str, spec: RunSpec, fold: int) -> None:
    st.markdown(f"**Beside table 2 of the paper.** {SOURCE}")
    interactions = prepared(spec.dataset)
    frame = beside_paper(interactions, spec.split, parts_of(content, spec, fold))
    st.dataframe(
        frame,
        hide_index=True,
        column_config={
            name: st.column_config.NumberColumn(name, format="localized")
            for name in frame.columns[1:]
        },
        placeholder="",
        key="split-paper",
        alt="Table 2 of the paper for Ta-Feng and the split that is shown here",
    )
    st.caption(
        "None of the paper's numbers comes out of this copy and none can: the copy filters the raw "
        "file differently, and has places of baskets instead of dates, which the third row needs. "
        "The paper's splits have a validation part; switch it on above to compare."
    )
