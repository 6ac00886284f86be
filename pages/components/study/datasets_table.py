"""Table 1 of the paper: the datasets of a study after preparation."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

import ecv_core.datasets as datasets


def datasets_frame(names: Sequence[str]) -> pd.DataFrame:
    """One row per dataset; missing numbers where only reading the file would tell."""
    known = datasets.catalogue()
    rows = []
    for name in names:
        entry = known.get(name)
        users, items, interactions = (
            (entry.users, entry.items, entry.interactions) if entry else (None, None, None)
        )
        full = users * items if users and items else None
        rows.append(
            {
                "dataset": name,
                "users": users,
                "items": items,
                "interactions": interactions,
                "density_percent": 100 * interactions / full if interactions and full else None,
            }
        )
    return pd.DataFrame(rows)


def datasets_table(names: Sequence[str]) -> None:
    """The table with its CSV."""
    st.header("The datasets", anchor=False)
    st.caption(
        "Table 1 of the paper: users and items with fewer than five interactions are pruned "
        "(5-core), and every rating counts as positive feedback."
    )
    frame = datasets_frame(names)
    whole = st.column_config.NumberColumn(format="localized")
    st.dataframe(
        frame,
        hide_index=True,
        column_config={
            "users": whole,
            "items": whole,
            "interactions": whole,
            "density_percent": st.column_config.NumberColumn("density", format="%.4f %%"),
        },
        key="study-datasets",
        alt="Users, items, interactions and density of each dataset.",
    )
    st.download_button(
        "CSV",
        frame.to_csv(index=False),
        file_name="study-datasets.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="csv-study-datasets",
        type="tertiary",
    )
