"""The runs that a study's figures are drawn from: the complete ones of the cells picked."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ecv_core.analysis.tradeoff import is_complete
from ecv_core.records import Run
from pages.components.study.live import cells_of, live_grid
from pages.components.study.picker import RECORDED
from pages.components.study.source import STUDIES, in_order, missing_sentence, narrowed


def choose_runs(study_id: str, recorded: Sequence[Run]) -> list[Run]:
    """The study as it stands, and what of it to look at; empty while there is nothing.

    Raises: InputError if there is no such study.
    """
    if study_id == RECORDED:
        runs = list(recorded)
        specs = [run.spec for run in runs]
        if runs:
            st.caption(missing_sentence(runs))
        else:
            st.info("No recorded runs came with this copy; start a study of your own above.")
    else:
        cells = cells_of(study_id)
        live_grid(study_id, cells, STUDIES)
        runs = [cell.run for cell in cells if cell.run and is_complete(cell.run)]
        specs = [cell.spec for cell in cells]
        if not runs:
            st.info("The figures come as soon as a cell has all its folds.")
    if not runs:
        return []
    rows = in_order(spec.dataset for spec in specs)
    columns = in_order(spec.algorithm for spec in specs)
    chosen = narrowed(runs, rows, columns)
    if not chosen:
        st.info("Pick at least one dataset and one algorithm that has all its folds there.")
    return sorted(
        chosen, key=lambda run: (rows.index(run.spec.dataset), columns.index(run.spec.algorithm))
    )
