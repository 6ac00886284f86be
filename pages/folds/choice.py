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
from pages.shared.address.link import link_warning, translate_address
from pages.shared.base.rows import row_container
from pages.shared.live.runs import folds_done, follow_runs
from pages.shared.live.state import (
    KEPT_IN_ADDRESS,
    errors_as_sentences,
    escaped,
    run_list,
    show_error,
    store,
)
from pages.shared.widgets.choices import ask_for_scores_file, pick_runs, picked_line, runs_words
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
_MOST_RUNS_AT_START = 60
"""Runs that are looked at together unasked: about as many as are recorded."""
_LINK_HAS_NAMED_RUNS = "runs-by-link"
"""In the session, from then on."""
_FORM = (
    "One column per run, its name in the first line, and one row per fold; or one row per run and "
    "fold, such as Model,Fold,NDCG@10; or scikit-learn's `cv_results_`."
)


class ChosenSystems(NamedTuple):
    """The systems that are looked at."""

    systems: list[Scores]
    runs: list[RunRecord]
    """In the same order; none for a file."""
    whose: str
    """How a sentence about them begins."""


_NO_SYSTEMS = ChosenSystems([], [], "")


def choose_systems() -> ChosenSystems:
    """What is chosen; without systems, and with a sentence on the page, while that is nothing."""
    recorded = _recorded()
    own = []
    for run in run_list().rows():
        if explorable(run):
            own.append(run)
    source_at_start = FILE
    if own:
        source_at_start = OWN
    elif recorded:
        source_at_start = RECORDED
    translate_address(SOURCE, _SOURCES, warns_of_unknown=True)
    line = row_container(key="folds-source")
    source = line.segmented_control(
        "Fold scores from",
        list(_SOURCES),
        default=source_at_start,
        required=True,
        key=SOURCE,
        **KEPT_IN_ADDRESS,
        label_visibility="collapsed",
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
        return _NO_SYSTEMS
    runs = _pick_in_popover(line, partial(pick_runs, recorded), key="picked-recorded")
    if not runs:
        st.info("Pick at least one dataset and one algorithm that was recorded on it.")
        return _NO_SYSTEMS
    return _systems(runs, "recorded runs")


def _choose_own(line: DeltaGenerator, own: Sequence[ListedRun]) -> ChosenSystems:
    runs_in_link = list(_runs_by_label_in_link(run_list().rows()).values())
    active_ids = [run.run_id for run in runs_in_link if run.state.active]
    if active_ids:
        _show_folds_to_come(runs_in_link)
        follow_runs(active_ids)
        return _NO_SYSTEMS
    if not own:
        st.info(
            "No run of yours has all its k folds yet. Start one with **Run all k folds, to check "
            "the stop**, or look at the recorded runs.",
            icon=":material/info:",
        )
        st.page_link("run/run.py", label="Start a run", icon=":material/play_circle:")
        return _NO_SYSTEMS
    _warn_of_missing_runs(own)
    runs = _pick_in_popover(line, partial(_pick_own_runs, own), key="picked-own")
    if not runs:
        st.info("Pick at least one run.")
        return _NO_SYSTEMS
    return _systems(runs, "runs of yours")


def _warn_of_missing_runs(own: Sequence[ListedRun]) -> None:
    """Say which runs the address names that have been deleted, or have not all their folds."""
    run_of_label = _runs_by_label_in_link(own)
    for label in st.query_params.get_all(RUNS):
        if label and label not in run_of_label:
            link_warning(escaped(f"no run of yours with all its folds is called '{label}'."))


def _pick_in_popover(
    line: DeltaGenerator, pick: Callable[[], list[RunRecord]], *, key: str
) -> list[RunRecord]:
    """What is picked in a popover, with how many runs these are on the line beside it."""
    with line:
        words_of_choice, popover = picked_line(key=key)
    with popover:
        runs = pick()
    if runs:
        words_of_choice.markdown(runs_words(runs))
    return runs


def _systems(runs: list[RunRecord], kind: str) -> ChosenSystems:
    """The picked runs as systems, with the beginning of a sentence about them.

    That is 'For the 5 runs of yours on MovieLens 100K', or of one run its title.

    Args:
        runs: At least one.
        kind: What several of them are called.
    """
    beginning = f"For {run_title(runs[0])}"
    if len(runs) > 1:
        datasets = in_catalogue_order(run.spec.dataset for run in runs)
        on_datasets = f"{len(datasets)} datasets"
        if len(datasets) == 1:
            on_datasets = dataset_title(datasets[0])
        beginning = f"For the {len(runs)} {kind} on {on_datasets}"
    return ChosenSystems(_with_different_names(systems_of(runs)), runs, beginning)


def _runs_by_label_in_link(runs: Iterable[ListedRun]) -> dict[str, ListedRun]:
    """Label of a run in the address -> the run, of those of these runs that it names."""
    run_of_id = {run.run_id: run for run in runs}
    run_of_label = {}
    for label in st.query_params.get_all(RUNS):
        # A label is 'TITLE · ... · ID'. Only its id counts, as an older e-fold may have written
        # another title.
        *_, run_id = label.split(" · ")
        if run_id in run_of_id:
            run_of_label[label] = run_of_id[run_id]
    return run_of_label


def _show_folds_to_come(runs_in_link: Sequence[ListedRun]) -> None:
    """How many folds of the runs that the address names have run."""
    done = sum(map(folds_done, runs_in_link))
    expected = sum(run.spec.k for run in runs_in_link)
    of_runs = "the run"
    if len(runs_in_link) > 1:
        of_runs = f"the {len(runs_in_link)} runs"
    st.info(
        f"{done} of {expected} folds of {of_runs} have run. The answer appears with the last one.",
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
    labels = {run.run_id: run_label(run) for run in runs}
    # Streamlit looks up the labels of the address among those of the box. A link that was copied
    # earlier may name a run by a label that has changed since.
    current_labels = {}
    for label_in_link, run in _runs_by_label_in_link(runs).items():
        current_labels[label_in_link] = run_label(run)
    translate_address(RUNS, current_labels)
    # Streamlit takes a choice that is the default out of the address, and the browser's Back would
    # have to undo that. So there is no default once the address has named runs in this session.
    if st.query_params.get_all(RUNS):
        st.session_state[_LINK_HAS_NAMED_RUNS] = True
    ids_at_start = []
    if _LINK_HAS_NAMED_RUNS not in st.session_state:
        ids_at_start = _newest_run_ids(runs)
    picked_ids = st.multiselect(
        "Runs",
        list(labels),
        default=ids_at_start,
        format_func=labels.__getitem__,
        key=RUNS,
        **KEPT_IN_ADDRESS,
        placeholder="Runs with all k folds finished",
    )
    return [store().run(run_id) for run_id in picked_ids]


def _newest_run_ids(runs: Sequence[ListedRun]) -> list[str]:
    """Ids of the newest runs, not too many; of several with the same scores only one."""
    newest: dict[str, str] = {}
    for run in runs:
        newest.setdefault(run.spec.score_key, run.run_id)
    return list(newest.values())[:_MOST_RUNS_AT_START]


def _with_different_names(systems: list[Scores]) -> list[Scores]:
    """Two runs of the same algorithm and dataset are told apart by their ids."""
    count_of_name = Counter(system.name for system in systems)
    systems_to_show = []
    for system in systems:
        if count_of_name[system.name] > 1:
            system = replace(system, name=f"{system.name} ({system.run_id})")
        systems_to_show.append(system)
    return systems_to_show


def _read_file() -> ChosenSystems:
    """The systems of a file; nothing, with a sentence on the page, while there is no usable one."""
    file = ask_for_scores_file(_FORM, key="scores-file")
    if file is None:
        return _NO_SYSTEMS
    try:
        scores = with_varying_scores(scores_of(file, key="scores-file"), f"the file {file.name}")
    except EcvError as error:
        show_error(error)
        return _NO_SYSTEMS
    metric = scores.metric or "score"
    systems = [replace(system, dataset=file.name, metric=metric) for system in scores.contenders]
    count = counted(len(systems), "run")
    names = ", ".join(system.name for system in systems)
    st.caption(
        f"{count} with {counted(systems[0].k, 'fold')} each: {escaped(names)}. {file_words(scores)}"
    )
    return ChosenSystems(systems, runs=[], whose=f"For the {count} of {file.name}")
