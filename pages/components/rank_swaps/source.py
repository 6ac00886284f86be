"""Which runs are compared: the recorded ones, or those of a study of one's own."""

from __future__ import annotations

import streamlit as st

from ecv_core.errors import InputError
from ecv_core.recorded import recorded_under_splits
from ecv_core.records import Run
from ecv_core.store import StudyRecord, stored_studies, stored_study
from ecv_core.tradeoff import is_complete
from pages.components.state import sentence, sentences, store
from pages.components.study.live import cells_of, live_grid

RECORDED = "recorded"
PARAMETER = "swaps_study"
_CHOICE = "swaps-study-choice"
_LAST = "swaps-study-last"


def source_runs() -> list[Run]:
    """The complete runs of the study that the address names, with a picker where there are more."""
    study_id = _study_picker()
    if study_id == RECORDED:
        return recorded_split_runs()
    cells = cells_of(study_id)
    unfinished = any(cell.run is None or not is_complete(cell.run) for cell in cells)
    with st.expander("The runs of this study", icon=":material/grid_on:", expanded=unfinished):
        live_grid(study_id, cells)
    return [cell.run for cell in cells if cell.run is not None and is_complete(cell.run)]


def recorded_split_runs() -> list[Run]:
    """The complete recorded runs under every split; a damaged file is a sentence."""
    with sentences():
        return [run for run in recorded_under_splits() if is_complete(run)]
    return []


def show_study(study_id: str) -> None:
    """Make the address name this study; call it in a callback, or before a rerun."""
    st.session_state[_LAST] = study_id
    if study_id == RECORDED:
        st.query_params.pop(PARAMETER, None)
    else:
        st.query_params[PARAMETER] = study_id


def _study_picker() -> str:
    own = [study for study in stored_studies(store()) if study.n_splits > 1]
    labels = {RECORDED: "Recorded runs"} | {study.study_id: _label(study) for study in own}
    wanted = st.query_params.get(PARAMETER) or str(st.session_state.get(_LAST, RECORDED))
    if wanted not in labels:
        if st.query_params.get(PARAMETER):
            _unknown(wanted)
        wanted = RECORDED
    st.session_state[_CHOICE] = wanted
    show_study(wanted)
    if own:
        st.selectbox(
            "Runs",
            list(labels),
            format_func=labels.__getitem__,
            key=_CHOICE,
            on_change=lambda: show_study(st.session_state[_CHOICE]),
            help="The recorded ones come with e-fold; your own are those started below.",
        )
    return wanted


def _label(study: StudyRecord) -> str:
    """Never changes and is never another study's: Streamlit knows a choice by its label."""
    datasets = ", ".join(dict.fromkeys(cell.spec.dataset for cell in study.cells))
    algorithms = len({cell.spec.algorithm for cell in study.cells})
    models = "1 algorithm" if algorithms == 1 else f"{algorithms} algorithms"
    return (
        f"{study.created_at:%Y-%m-%d %H:%M} · {datasets} · {models} x {study.n_splits} splits · "
        f"{study.study_id}"
    )


def _unknown(study_id: str) -> None:
    try:
        stored_study(store(), study_id)
    except InputError as error:
        st.warning(f"From the link: {sentence(error)}", icon=":material/link_off:")
    else:
        st.warning(
            "From the link: this study has only one split, so no ranks can swap between splits. "
            "It is on the Study page.",
            icon=":material/link_off:",
        )
