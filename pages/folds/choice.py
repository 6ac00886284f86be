"""Choose what to look at: recorded runs, own finished runs, or fold scores from a CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from ecv_core.analysis.score_files import with_varying_scores
from ecv_core.analysis.tradeoff.curves import explorable
from ecv_core.figures.study_summary import systems_of
from ecv_core.figures.words import counted, dataset_title, in_order, run_title
from ecv_core.records.errors import EcvError
from ecv_core.records.run import RunRecord, Scores
from ecv_core.store.listing import ListedRun
from ecv_core.store.recorded import recorded_runs
from pages.shared.address.link import label_from_link
from pages.shared.live.runs import folds_done, follow_runs
from pages.shared.live.state import KEPT, escaped, run_list, sentence, sentences, store
from pages.shared.widgets.choices import pick_runs, picked_line, runs_words, scores_upload
from pages.shared.widgets.score_file import file_words, scores_of
from pages.shared.widgets.words import run_label

RECORDED, OWN, FILE = "Recorded", "My runs", "My file"
SOURCE, RUNS = "source", "runs"
"""Keys of the widgets, and names in the address."""
_AT_FIRST = 60
"""Runs that are looked at together unasked: about as many as are recorded."""
_BY_LINK = "runs-by-link"
"""Key of the session state: a link has named runs."""
_FORM = (
    "One column per system, its name in the first line, and one row per fold; or one row per "
    "system and fold, such as Model,Fold,NDCG@10; or scikit-learn's `cv_results_`."
)


Chosen = tuple[list[Scores], list[RunRecord], str]
"""Systems; their runs, in the same order, none for a file; and how a sentence about them begins."""
_NOTHING: Chosen = ([], [], "")


def choose_systems() -> Chosen:
    """What is chosen; without systems, and with a sentence on the page, while that is nothing."""
    recorded = _recorded()
    own = [row for row in run_list().rows() if explorable(row)]
    with st.container(horizontal=True, vertical_alignment="center", key="folds-source"):
        source = st.segmented_control(
            "Fold scores from",
            [RECORDED, OWN, FILE],
            default=OWN if own else RECORDED if recorded else FILE,
            required=True,
            key=SOURCE,
            **KEPT,
            label_visibility="collapsed",
            width="content",
            help="**Recorded**: runs that come with e-fold. **My runs**: yours in which all k "
            "folds are in. **My file**: fold scores from anything, as a CSV.",
        )
        if source == RECORDED and recorded:
            words, widgets = picked_line("Choose", key="picked-recorded")
        elif source == OWN and own:
            words, widgets = picked_line("Choose", key="picked-own")
    if source == FILE:
        return _read_file()
    if source == RECORDED:
        if not recorded:
            st.info("No recorded runs came with this copy; use your own runs or a file.")
            return _NOTHING
        with widgets:
            runs = pick_runs(recorded)
    else:
        if _wait_for_folds():
            return _NOTHING
        if not own:
            _no_own()
            return _NOTHING
        with widgets:
            runs = _pick_own(own)
    words.markdown(runs_words(runs))
    if not runs:
        st.info(
            "Pick at least one dataset and one algorithm that was recorded on it."
            if source == RECORDED
            else "Pick at least one run."
        )
        return _NOTHING
    systems = systems_of(runs)
    whose = _whose(runs, "recorded runs" if source == RECORDED else "runs of yours")
    return _with_different_names(systems), runs, whose


def _whose(runs: Sequence[RunRecord], kind: str) -> str:
    """'For the 5 runs of yours on MovieLens 100K'; of one run its title."""
    if len(runs) == 1:
        return f"For {run_title(runs[0])}"
    datasets = in_order(run.spec.dataset for run in runs)
    on = dataset_title(datasets[0]) if len(datasets) == 1 else f"{len(datasets)} datasets"
    return f"For the {len(runs)} {kind} on {on}"


def _wait_for_folds() -> bool:
    """Whether a run that the address names still lacks folds, which the page says and follows."""
    named = [one.rsplit(" · ")[-1] for one in st.query_params.get_all(RUNS)]
    rows = {row.run_id: row for row in run_list().rows()}
    asked = [rows[run_id] for run_id in named if run_id in rows]
    going = [row.run_id for row in asked if row.state.active]
    if going:
        done = sum(folds_done(row) for row in asked)
        st.info(
            f"{done} of {sum(row.spec.k for row in asked)} folds of these "
            f"{counted(len(asked), 'run')} are in; the answer comes with the last one.",
            icon=":material/hourglass_empty:",
        )
        follow_runs(going)
    return bool(going)


def _recorded() -> list[RunRecord]:
    """Without the recorded runs, own runs and files still work."""
    with sentences():
        return [run for run in recorded_runs() if run.whole]
    return []


def _no_own() -> None:
    st.info(
        "No run of yours has all its k folds yet. Start one with **Go on to k after the "
        "stop**, or look at the recorded ones.",
        icon=":material/info:",
    )
    st.page_link("run/run.py", label="Start a run", icon=":material/play_circle:")


def _pick_own(runs: Sequence[ListedRun]) -> list[RunRecord]:
    """All at first, each once however often it was run, or the newest where they are many."""
    by_id = {run.run_id: run for run in runs}
    every = {run.spec.score_key: run.run_id for run in reversed(runs)}
    newest = [run_id for run_id in by_id if run_id in every.values()][:_AT_FIRST]
    asked = st.query_params.get_all(RUNS)  # a label of another version ends with the id too
    ids = {one: one.rsplit(" · ")[-1] for one in asked}
    label_from_link(RUNS, {one: run_label(by_id[ids[one]]) for one in asked if ids[one] in by_id})
    if asked:
        st.session_state[_BY_LINK] = True
    picked = st.multiselect(
        "Runs",
        list(by_id),
        # What is the default is taken out of the address, a step of its own for Back: so what a
        # link has named is not it.
        default=[] if _BY_LINK in st.session_state else newest,
        format_func=lambda run_id: run_label(by_id[run_id]),
        key=RUNS,
        **KEPT,
        placeholder="Runs in which all k folds are in",
    )
    return [store().run(run_id) for run_id in picked]


def _with_different_names(systems: list[Scores]) -> list[Scores]:
    """Two runs of the same algorithm and dataset are told apart by their ids."""
    names = [system.name for system in systems]
    return [
        one if names.count(one.name) == 1 else replace(one, name=f"{one.name} ({one.run_id})")
        for one in systems
    ]


def _read_file() -> Chosen:
    file = scores_upload(_FORM, ["csv", "gz", "parquet"], key="scores-file")
    if file is None:
        return _NOTHING
    try:
        scores = with_varying_scores(scores_of(file, key="scores-file"), f"the file {file.name}")
    except EcvError as error:
        st.error(sentence(error), icon=":material/error:")
        return _NOTHING
    systems = [
        replace(system, dataset=file.name, metric=scores.metric or "score")
        for system in scores.contenders
    ]
    names = ", ".join(system.name for system in systems)
    st.caption(
        f"{counted(len(systems), 'system')} with {counted(systems[0].k, 'fold')} each: "
        f"{escaped(names)}. {file_words(scores)}"
    )
    whose = f"For the {counted(len(systems), 'system')} of {file.name}"
    return systems, [], whose
