"""Choose what to explore: recorded runs, own finished runs, or fold scores from a CSV."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ecv_core.analysis.exploration import Scores
from ecv_core.analysis.orders import read_scores
from ecv_core.analysis.tradeoff import System, system_of
from ecv_core.errors import EcvError
from ecv_core.records import Run
from ecv_core.runs.recorded import recorded_runs
from pages.components.shared.state import KEPT, escaped, sentence, sentences, store
from pages.components.shared.words import metric_label, run_title

RECORDED, OWN, FILE = "Recorded", "My runs", "My file"
_EXAMPLE = "model-a,model-b\n0.301,0.284\n0.317,0.279\n0.309,0.291\n0.312,0.283\n0.296,0.288\n"


def choose_systems() -> list[System]:
    """The chosen systems; empty, with a sentence on the page, while there is nothing to explore."""
    recorded = _recorded()
    own = [run for run in store().runs() if run.whole]
    source = st.segmented_control(
        "Fold scores from",
        [RECORDED, OWN, FILE],
        default=RECORDED if recorded else OWN if own else FILE,
        required=True,
        key="source",
        **KEPT,
        help="**Recorded**: runs that come with e-fold. **My runs**: yours in which all k folds "
        "are in. **My file**: fold scores from anything, as a CSV.",
    )
    if source == RECORDED:
        return _pick_recorded(recorded)
    if source == OWN:
        return _pick_own(own)
    return _read_file()


def _recorded() -> list[Run]:
    """Without the recorded runs, own runs and files still work."""
    with sentences():
        return [run for run in recorded_runs() if run.whole]
    return []


def _pick_recorded(runs: Sequence[Run]) -> list[System]:
    if not runs:
        st.info("No recorded runs came with this copy; explore your own runs or a file.")
        return []
    offered = {
        "datasets": sorted({run.spec.dataset for run in runs}),
        "algorithms": sorted({run.spec.algorithm for run in runs}),
    }
    datasets, algorithms = (
        _pills(key.capitalize(), key, options) for key, options in offered.items()
    )
    everything = len(datasets) + len(algorithms) == sum(map(len, offered.values()))
    st.button(
        "Unpick all" if everything else "Pick all",
        type="tertiary",
        icon=":material/deselect:" if everything else ":material/select_all:",
        key="pick-all",
        on_click=_pick,
        args=({key: [] for key in offered} if everything else offered,),
    )
    chosen = [r for r in runs if r.spec.dataset in datasets and r.spec.algorithm in algorithms]
    if not chosen:
        st.info("Pick at least one dataset and one algorithm that was recorded on it.")
    missing = len(datasets) * len(algorithms) - len(chosen)
    if chosen and missing:
        pairs = {(run.spec.dataset, run.spec.algorithm) for run in chosen}
        names = [f"{a} on {d}" for d in datasets for a in algorithms if (d, a) not in pairs]
        st.caption(f"Not recorded yet: {escaped(', '.join(names))}.")
    return [system_of(run, metric_label(run.spec)) for run in chosen]


def _pick(choice: dict[str, list[str]]) -> None:
    st.session_state.update(choice)


def _pills(label: str, key: str, options: list[str]) -> list[str]:
    return st.pills(
        label,
        options,
        selection_mode="multi",
        default=options,
        key=key,
        **KEPT,
        wrap=True,
    )


def _pick_own(runs: Sequence[Run]) -> list[System]:
    if not runs:
        st.info(
            "No run of yours has all its k folds yet. Start one with **Go on to k after the "
            "stop**, or explore the recorded ones.",
            icon=":material/info:",
        )
        st.page_link("pages/run.py", label="Start a run", icon=":material/play_circle:")
        return []
    by_id = {run.run_id: run for run in runs}
    picked = st.multiselect(
        "Runs",
        list(by_id),
        default=[runs[0].run_id],
        format_func=lambda run_id: run_label(by_id[run_id]),
        key="runs",
        **KEPT,
        placeholder="Runs in which all k folds are in",
    )
    if not picked:
        st.info("Pick at least one run.")
    systems = [system_of(by_id[run_id], metric_label(by_id[run_id].spec)) for run_id in picked]
    return _with_different_names(systems)


def run_label(run: Run) -> str:
    """How the choice of own runs, and so the address, names a run.

    Never changes and is never another run's: Streamlit knows a choice by its label.
    """
    return f"{run_title(run)} · {metric_label(run.spec)} · k = {run.spec.k} · {run.run_id}"


def _with_different_names(systems: list[System]) -> list[System]:
    """Two runs of the same algorithm and dataset are told apart by their ids."""
    names = [system.name for system in systems]
    return [
        one if names.count(one.name) == 1 else one.renamed(f"{one.name} ({one.run_id})")
        for one in systems
    ]


def _read_file() -> list[System]:
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    file = left.file_uploader(
        "Fold scores as CSV",
        type=["csv"],
        key="scores-file",
        help="One column per system, its name in the first line, and one row per fold.",
    )
    right.download_button(
        "An example file",
        _EXAMPLE,
        file_name="fold-scores.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )
    if file is None:
        st.caption("One column per system, its name in the first line, and one row per fold.")
        return []
    try:
        columns = read_scores(file.getvalue())
    except EcvError as error:
        st.error(sentence(error), icon=":material/error:")
        return []
    return [
        System(name=name, dataset=file.name, metric="score", scores=Scores(folds=scores))
        for name, scores in columns.items()
    ]
