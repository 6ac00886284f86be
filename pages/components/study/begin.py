"""Start a study: check that every dataset can be split so, and queue the cells."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ecv_core import splits
from ecv_core.errors import FoldsError
from ecv_core.fold import prepared
from ecv_core.records import Run, RunSpec
from ecv_core.study import grid
from ecv_core.study.recording import USUAL_SPLIT
from pages.components.shared.state import manager, store


def begin_study(specs: Sequence[RunSpec], recorded: Sequence[Run], *, anew: bool = False) -> str:
    """Queue what is not known yet; gives the study's id.

    Args: as for `grid.begin`.
    Raises: FoldsError if a dataset cannot be split in one of the ways, with the reason.
    """
    with st.spinner("Looking whether the data can be split so ..."):
        for dataset, split, k in dict.fromkeys((s.dataset, s.split, s.k) for s in specs):
            if split == USUAL_SPLIT:
                continue  # every prepared dataset can
            if (why := splits.obstacle(prepared(dataset), split, k)) is not None:
                raise FoldsError(why)
    return grid.begin(store(), manager(), specs, recorded=recorded, anew=anew)
