"""Which study is shown: the recorded one, or one of the user's own; the address says which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from ecv_core import datasets
from ecv_core.errors import InputError
from ecv_core.models import ALGORITHMS
from ecv_core.recorded import recorded_runs
from ecv_core.records import Run
from ecv_core.store import StudyRecord, stored_studies, stored_study
from ecv_core.tradeoff import is_complete
from pages.components.state import sentence, sentences, store

RECORDED = "recorded"
PARAMETER = "study"
_CHOICE = "study-choice"
_LAST = "study-last"
PAPER_ALGORITHMS = ("popular", "item-knn", "implicit-mf", "multi-vae", "neu-mf")
PAPER_DATASETS = (
    *("amazon-cell-phones", "amazon-apps", "amazon-instant-video"),
    *("hetrec-lastfm", "ml-100k", "ml-1m"),
)


def recorded_study() -> list[Run]:
    """The complete recorded runs; a damaged file is a sentence, and the others still count."""
    with sentences():
        return [run for run in recorded_runs() if is_complete(run)]
    return []


def study_picker() -> str:
    """RECORDED or the id of the study that the address names."""
    own = [study for study in stored_studies(store()) if study.n_splits == 1]
    labels = {RECORDED: "The recorded study"} | {one.study_id: _label(one) for one in own}
    wanted = st.query_params.get(PARAMETER) or str(st.session_state.get(_LAST, RECORDED))
    if wanted not in labels:
        with sentences():
            if st.query_params.get(PARAMETER):
                _unknown(wanted)
        wanted = RECORDED
    st.session_state[_CHOICE] = wanted
    show_study(wanted)
    if not own:
        return wanted
    st.selectbox(
        "Study",
        list(labels),
        format_func=labels.__getitem__,
        key=_CHOICE,
        on_change=lambda: show_study(st.session_state[_CHOICE]),
        help="The recorded study comes with e-fold; your own are those started on this page.",
    )
    return wanted


def missing_sentence(runs: Sequence[Run]) -> str:
    """What of the recorded grid is there and what is not, said in full."""
    there = {(run.spec.dataset, run.spec.algorithm) for run in runs}
    nowhere = [a for a in ALGORITHMS if not any((d, a) in there for d in PAPER_DATASETS)]
    gaps = [f"**{', '.join(nowhere)}** on every dataset"] if nowhere else []
    for dataset in PAPER_DATASETS:
        absent = [a for a in ALGORITHMS if (dataset, a) not in there and a not in nowhere]
        if absent:
            gaps.append(f"**{', '.join(absent)}** on {dataset}")
    cells = len(PAPER_DATASETS) * len(ALGORITHMS)
    paper = sum((d, a) in there for d in PAPER_DATASETS for a in PAPER_ALGORITHMS)
    have = sum((d, a) in there for d in PAPER_DATASETS for a in ALGORITHMS)
    text = (
        f"**{have} of {cells} cells** are recorded, {paper} of them among the paper's "
        f"{len(PAPER_DATASETS) * len(PAPER_ALGORITHMS)}."
    )
    return f"{text} Not recorded yet: {'; '.join(gaps)}." if gaps else text


def in_order(names: Iterable[str]) -> list[str]:
    """Each once, as rows and columns come: as the catalogue and the registry have them."""
    known = [*datasets.catalogue(), *ALGORITHMS]
    return sorted(set(names), key=lambda name: (known.index(name) if name in known else 99, name))


def narrowed(
    runs: Sequence[Run], datasets_of: Sequence[str], algorithms_of: Sequence[str]
) -> list[Run]:
    """The runs of the datasets and algorithms that are picked; all of them at first.

    Args:
        runs: the complete ones, in order.
        datasets_of, algorithms_of: of the whole study, so that the choice stays as cells come in.
    """
    chosen = _pills("Datasets", "study_datasets", datasets_of)
    picked = _pills("Algorithms", "study_algorithms", algorithms_of)
    papers = [name for name in algorithms_of if name in PAPER_ALGORITHMS]
    if 0 < len(papers) < len(algorithms_of) and set(picked) != set(papers):
        st.button(
            "Only the paper's algorithms",
            key="papers-only",
            type="tertiary",
            icon=":material/filter_alt:",
            on_click=lambda: st.session_state.update(study_algorithms=papers),
        )
    return [r for r in runs if r.spec.dataset in chosen and r.spec.algorithm in picked]


def _pills(label: str, key: str, options: Sequence[str]) -> list[str]:
    if not set(st.session_state.get(key, options)) <= set(options):
        del st.session_state[key]  # another study's choice
    return st.pills(
        label,
        options,
        selection_mode="multi",
        default=list(options),
        key=key,
        bind="query-params",
        persist_state="session",
    )


def _label(one: StudyRecord) -> str:
    """Never changes and is never another study's: Streamlit knows a choice by its label."""
    rows = {cell.spec.dataset for cell in one.cells}
    columns = {cell.spec.algorithm for cell in one.cells}
    sets = "1 dataset" if len(rows) == 1 else f"{len(rows)} datasets"
    models = "1 algorithm" if len(columns) == 1 else f"{len(columns)} algorithms"
    return f"{one.created_at:%Y-%m-%d %H:%M} · {sets} x {models} · {one.study_id}"


def _unknown(study_id: str) -> None:
    try:
        stored_study(store(), study_id)
    except InputError as error:
        st.warning(f"From the link: {sentence(error)}", icon=":material/link_off:")
    else:
        st.warning(
            "From the link: this study compares splits; it is shown on the Splits page.",
            icon=":material/link_off:",
        )


def show_study(study_id: str) -> None:
    """Make the address name this study; call it in a callback, or before a rerun."""
    if st.session_state.get(_LAST, study_id) != study_id:  # every study starts with all its cells
        for key in ("study_datasets", "study_algorithms"):
            st.session_state.pop(key, None)
            st.query_params.pop(key, None)
    st.session_state[_LAST] = study_id
    if study_id == RECORDED:
        st.query_params.pop(PARAMETER, None)
    else:
        st.query_params[PARAMETER] = study_id
