"""Choose what to look at: recorded runs, own finished runs, or fold scores from a CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from ecv_core.analysis.score_files import with_varying_scores
from ecv_core.analysis.tradeoff.curves import explorable
from ecv_core.figures.study_summary import systems_of
from ecv_core.figures.words import counted, dataset_title, in_catalogue_order, run_title
from ecv_core.records.errors import EcvError
from ecv_core.records.run import RunRecord, Scores
from ecv_core.store.listing import ListedRun
from ecv_core.store.recorded import recorded_runs
from pages.shared.address.link import translate_address
from pages.shared.live.runs import folds_done, follow_runs
from pages.shared.live.state import (
    KEPT_IN_ADDRESS,
    errors_as_sentences,
    escaped,
    run_list,
    sentence,
    store,
)
from pages.shared.widgets.choices import pick_runs, picked_line, runs_words, scores_upload
from pages.shared.widgets.score_file import file_words, scores_of
from pages.shared.widgets.words import run_label

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

RECORDED = "Recorded"
OWN = "My runs"
FILE = "My file"
_SOURCES = {RECORDED: RECORDED, OWN: OWN, FILE: FILE}
"""As a link names them -> as the page does."""
SOURCE = "source"
RUNS = "runs"
"""Keys of the widgets, and names in the address."""
_AT_FIRST = 60
"""Runs that are looked at together unasked: about as many as are recorded."""
_LINK_HAS_NAMED_RUNS = "runs-by-link"
"""In the session, from then on."""
_FORM = (
    "One column per system, its name in the first line, and one row per fold; or one row per "
    "system and fold, such as Model,Fold,NDCG@10; or scikit-learn's `cv_results_`."
)


class ChosenSystems(NamedTuple):
    """The systems that are looked at."""

    systems: list[Scores]
    runs: list[RunRecord]
    """In the same order; none for a file."""
    whose: str
    """How a sentence about them begins."""


_NOTHING = ChosenSystems([], [], "")


def choose_systems() -> ChosenSystems:
    """What is chosen; without systems, and with a sentence on the page, while that is nothing."""
    recorded = _recorded()
    own = []
    for row in run_list().rows():
        if explorable(row):
            own.append(row)
    first = FILE
    if own:
        first = OWN
    elif recorded:
        first = RECORDED
    translate_address(SOURCE, _SOURCES, strict=True)
    line = st.container(horizontal=True, vertical_alignment="center", key="folds-source")
    source = line.segmented_control(
        "Fold scores from",
        list(_SOURCES),
        default=first,
        required=True,
        key=SOURCE,
        **KEPT_IN_ADDRESS,
        label_visibility="collapsed",
        width="content",
        help="**Recorded**: runs that come with e-fold. **My runs**: your own, with "
        "all k folds finished. **My file**: fold scores from any program, as a CSV file.",
    )
    if source == FILE:
        return _read_file()
    if source == RECORDED:
        return _choose_recorded(line, recorded)
    return _choose_own(line, own)


def _choose_recorded(line: DeltaGenerator, recorded: Sequence[RunRecord]) -> ChosenSystems:
    if not recorded:
        st.info("No recorded runs came with this copy; use your own runs or a file.")
        return _NOTHING
    runs = _pick_beside(line, partial(pick_runs, recorded), key="picked-recorded")
    if not runs:
        st.info("Pick at least one dataset and one algorithm that was recorded on it.")
        return _NOTHING
    return _systems(runs, "recorded runs")


def _choose_own(line: DeltaGenerator, own: Sequence[ListedRun]) -> ChosenSystems:
    linked = list(_linked_runs(run_list().rows()).values())
    active_ids = [run.run_id for run in linked if run.state.active]
    if active_ids:
        _show_folds_to_come(linked)
        follow_runs(active_ids)
        return _NOTHING
    if not own:
        st.info(
            "No run of yours has all its k folds yet. Start one with **Run all k folds, to check "
            "the stop**, or look at the recorded runs.",
            icon=":material/info:",
        )
        st.page_link("run/run.py", label="Start a run", icon=":material/play_circle:")
        return _NOTHING
    runs = _pick_beside(line, partial(_pick_own_runs, own), key="picked-own")
    if not runs:
        st.info("Pick at least one run.")
        return _NOTHING
    return _systems(runs, "runs of yours")


def _pick_beside(
    line: DeltaGenerator, pick: Callable[[], list[RunRecord]], *, key: str
) -> list[RunRecord]:
    """What is picked in a popover, with how many runs these are on the line beside it."""
    with line:
        words, widgets = picked_line(key=key)
    with widgets:
        runs = pick()
    words.markdown(runs_words(runs))
    return runs


def _systems(runs: list[RunRecord], kind: str) -> ChosenSystems:
    """The picked runs as systems, with the beginning of a sentence about them.

    That is 'For the 5 runs of yours on MovieLens 100K', or of one run its title.

    Args:
        runs: At least one.
        kind: What several of them are called.
    """
    whose = f"For {run_title(runs[0])}"
    if len(runs) > 1:
        datasets = in_catalogue_order(run.spec.dataset for run in runs)
        where = f"{len(datasets)} datasets"
        if len(datasets) == 1:
            where = dataset_title(datasets[0])
        whose = f"For the {len(runs)} {kind} on {where}"
    return ChosenSystems(_with_different_names(systems_of(runs)), runs, whose)


def _linked_runs(runs: Iterable[ListedRun]) -> dict[str, ListedRun]:
    """Label of a run in the address -> the run, of those of these runs that it names."""
    runs_by_id = {run.run_id: run for run in runs}
    linked = {}
    for label in st.query_params.get_all(RUNS):
        run_id = label.split(" · ")[-1]  # the end of a label, the same in every version of e-fold
        if run_id in runs_by_id:
            linked[label] = runs_by_id[run_id]
    return linked


def _show_folds_to_come(linked: Sequence[ListedRun]) -> None:
    """How many folds of the runs that the address names have run."""
    done = sum(map(folds_done, linked))
    expected = sum(run.spec.k for run in linked)
    whose = "the run"
    if len(linked) > 1:
        whose = f"the {len(linked)} runs"
    st.info(
        f"{done} of {expected} folds of {whose} have run. The answer appears with the last one.",
        icon=":material/hourglass_empty:",
    )


def _recorded() -> list[RunRecord]:
    """Without the recorded runs, own runs and files still work."""
    with errors_as_sentences():
        return [run for run in recorded_runs() if run.whole]
    return []


def _pick_own_runs(runs: Sequence[ListedRun]) -> list[RunRecord]:
    """All at first, each once however often it was run, or the newest where they are many.

    Args:
        runs: To pick among, the newest first.
    """
    by_id = {run.run_id: run for run in runs}
    labels_today = {label: run_label(run) for label, run in _linked_runs(runs).items()}
    translate_address(RUNS, labels_today)
    if st.query_params.get_all(RUNS):
        st.session_state[_LINK_HAS_NAMED_RUNS] = True
    picked_at_first = _newest_of_each(runs)
    if _LINK_HAS_NAMED_RUNS in st.session_state:
        # Streamlit takes a default out of the address, which the Back button then has to undo.
        # So there is no default once a link has named runs.
        picked_at_first = []
    picked = st.multiselect(
        "Runs",
        list(by_id),
        default=picked_at_first,
        format_func=lambda run_id: run_label(by_id[run_id]),
        key=RUNS,
        **KEPT_IN_ADDRESS,
        placeholder="Runs with all k folds finished",
    )
    return [store().run(run_id) for run_id in picked]


def _newest_of_each(runs: Sequence[ListedRun]) -> list[str]:
    """Ids of the newest runs, at most _AT_FIRST, and of several with the same scores only one."""
    newest: dict[str, str] = {}
    for run in runs:
        newest.setdefault(run.spec.score_key, run.run_id)
    return list(newest.values())[:_AT_FIRST]


def _with_different_names(systems: list[Scores]) -> list[Scores]:
    """Two runs of the same algorithm and dataset are told apart by their ids."""
    uses = Counter(system.name for system in systems)
    different = []
    for system in systems:
        if uses[system.name] > 1:
            system = replace(system, name=f"{system.name} ({system.run_id})")
        different.append(system)
    return different


def _read_file() -> ChosenSystems:
    """The systems of a file; nothing, with a sentence on the page, while there is no usable one."""
    file = scores_upload(_FORM, key="scores-file")
    if file is None:
        return _NOTHING
    try:
        scores = with_varying_scores(scores_of(file, key="scores-file"), f"the file {file.name}")
    except EcvError as error:
        st.error(sentence(error), icon=":material/error:")
        return _NOTHING
    metric = scores.metric or "score"
    systems = [replace(system, dataset=file.name, metric=metric) for system in scores.contenders]
    count = counted(len(systems), "system")
    names = ", ".join(system.name for system in systems)
    st.caption(
        f"{count} with {counted(systems[0].k, 'fold')} each: {escaped(names)}. {file_words(scores)}"
    )
    return ChosenSystems(systems, [], f"For the {count} of {file.name}")
