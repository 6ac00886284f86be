"""Which runs are compared: the recorded ones, or those of a study of one's own."""

from __future__ import annotations

import streamlit as st

from ecv_core.analysis.tradeoff import is_complete
from ecv_core.records import Run
from ecv_core.runs.recorded import recorded_under_splits
from ecv_core.store import StudyRecord
from ecv_core.words import counted
from pages.components.shared.state import sentences
from pages.components.study.live import cells_of, live_grid
from pages.components.study.picker import RECORDED, StudyPicker


def _counts(study: StudyRecord) -> str:
    datasets = ", ".join(dict.fromkeys(cell.spec.dataset for cell in study.cells))
    algorithms = len({cell.spec.algorithm for cell in study.cells})
    return f"{datasets} · {counted(algorithms, 'algorithm')} x {study.n_splits} splits"


STUDIES = StudyPicker(
    parameter="swaps_study",
    title="Runs",
    recorded="Recorded runs",
    help="The recorded ones come with e-fold; your own are those started below.",
    shows=lambda study: study.n_splits > 1,
    counts=_counts,
    elsewhere="this study has only one split, so no ranks can swap between splits. "
    "It is on the Study page.",
)


def source_runs() -> list[Run]:
    """The complete runs of the study that the address names, with a picker where there are more."""
    study_id = STUDIES.pick()
    if study_id == RECORDED:
        return recorded_split_runs()
    cells = cells_of(study_id)
    unfinished = any(cell.run is None or not is_complete(cell.run) for cell in cells)
    with st.expander("The runs of this study", icon=":material/grid_on:", expanded=unfinished):
        live_grid(study_id, cells, STUDIES)
    return [cell.run for cell in cells if cell.run is not None and is_complete(cell.run)]


def recorded_split_runs() -> list[Run]:
    """The complete recorded runs under every split; a damaged file is a sentence."""
    with sentences():
        return [run for run in recorded_under_splits() if is_complete(run)]
    return []
