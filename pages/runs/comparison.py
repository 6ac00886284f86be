"""Which runs to compare: the address says it, the list changes it; examples where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import streamlit as st

from ecv_core.figures.report.describe import Description, describe_runs
from ecv_core.figures.words import counted, dataset_title, runs_in_catalogue_order
from ecv_core.records.run import RunRecord
from ecv_core.store.recorded import recorded_runs
from pages.shared.address.link import replace_in_address
from pages.shared.base.glossary import glossary_link
from pages.shared.charts.cite import draw_paper_panel, machine_and_versions
from pages.shared.live.running import just_arrived
from pages.shared.live.runs import (
    COMPARED,
    COMPARED_BOX,
    ChoosableRun,
    follow_runs,
    ids_of,
    with_folds,
)
from pages.shared.live.state import errors_as_sentences, escaped, results, run_list
from pages.shared.widgets.words import choice_label

_OUTDATED = "compared-before"
"""In the session: what the address had of runs when others were picked in the box."""
MOST = 40
"""Runs that are compared at once."""
FAVOURITE = "ml-100k"
"""The dataset of the example, if there are runs on it."""


_MOST_NAMED = 3
"""Runs that a sentence names, of those that are missing."""


def show_comparison() -> None:
    """The runs that are picked, side by side."""
    runs = choose_runs()
    if not runs:
        show_empty_state()
        import_module("pages.runs.side_by_side")  # loads what a click will need
        return
    from pages.runs.side_by_side import (
        means_pictures,
        named_runs,
        show_answer,
        show_differing_settings,
        show_means,
        show_paired_tests,
        show_scores_and_energy,
    )

    def describe() -> Description:
        return describe_runs(
            list(map(results().with_user_scores, runs)), machine_and_versions(runs)
        )

    named = named_runs(runs)
    if len(named) > 1:
        show_answer(named)  # the answer comes first
    else:
        st.info("Add a second run above to compare it with.", icon=":material/add:")
    show_means(named)
    if len(named) > 1:
        show_paired_tests(named)
    show_scores_and_energy(named)
    if any(run.folds for run in runs):
        draw_paper_panel(
            describe,
            key="comparison",
            pictures=means_pictures(named),
            title=f"{counted(len(runs), 'run')} compared",
            specs=[run.spec for run in runs],
        )
    if len(named) > 1:
        show_differing_settings(named)
    follow_runs(ids_of(runs))


def choose_runs() -> list[RunRecord]:
    """The chosen runs, in the order chosen; unknown names in the address become a sentence."""
    # A key is what the address calls a run: the id of one's own, 'ml-100k--ease' of a recorded one.
    runs = _runs_by_key()
    address = st.query_params.get(COMPARED, "")
    if _box_decides(address):
        keys = [key for key in st.session_state.get(COMPARED_BOX, []) if key in runs]
        address = ",".join(keys[:MOST])
    else:
        keys = list(dict.fromkeys(filter(None, address.split(","))))  # each name once
    st.session_state[COMPARED_BOX] = [key for key in keys if key in runs][:MOST]
    replace_in_address(COMPARED, address)
    labels = {key: choice_label(run) for key, run in runs.items()}
    picked = st.multiselect(
        "Runs",
        list(labels),
        format_func=labels.__getitem__,
        key=COMPARED_BOX,
        on_change=_outdate_address,
        persist_state="session",
        max_selections=MOST,
        placeholder="Type a dataset or an algorithm",
        help="Your own runs, newest first, then the recorded ones that come with e-fold.",
    )
    _say_what_is_missing(keys, runs)
    # A recorded run that is also among one's own has two keys, but is compared only once.
    picked_by_id = {runs[key].run_id: runs[key] for key in picked}
    return [with_folds(run) for run in picked_by_id.values()]


def show_empty_state() -> None:
    """What the page is for, and one-click ways to fill it."""
    st.markdown(
        "Pick **two or more runs** above. One picture and one table compare their scores and "
        f"{glossary_link('confidence-interval', 'intervals')}, folds used, energy spent and saved. "
        f"Where two runs share their {glossary_link('fold', 'folds')}, a "
        f"**{glossary_link('paired-test', 'paired test')}** says whether a difference is shown."
    )
    by_dataset: dict[str, list[str]] = {}
    for key, run in _recorded_runs_by_key().items():
        by_dataset.setdefault(run.spec.dataset, []).append(key)
    dataset = next(iter(by_dataset), FAVOURITE)
    if FAVOURITE in by_dataset:
        dataset = FAVOURITE
    keys = by_dataset.get(dataset, [])
    if len(keys) > 1:
        st.button(
            f"Every algorithm on {dataset_title(dataset)}",
            key="example",
            icon=":material/balance:",
            help="These runs are recorded, so nothing is computed.",
            on_click=_address_runs,
            args=(keys,),
        )
    st.page_link("run/run.py", label="Start runs of your own", icon=":material/play_circle:")


def _runs_by_key() -> dict[str, ChoosableRun]:
    """Every run that can be chosen, by what the address calls it."""
    own = {row.run_id: row for row in run_list().rows()}
    return own | _recorded_runs_by_key()


def _recorded_runs_by_key() -> dict[str, RunRecord]:
    """The recorded runs, as `_runs_by_key` has them."""
    runs = []
    with errors_as_sentences():  # own runs are shown even if a recorded file is damaged
        runs = runs_in_catalogue_order(recorded_runs())
    return {f"{run.spec.dataset}--{run.spec.algorithm}": run for run in runs}


def _address_runs(keys: list[str]) -> None:
    st.session_state.pop(_OUTDATED, None)
    st.query_params[COMPARED] = ",".join(keys[:MOST])


def _box_decides(address: str) -> bool:
    """Whether the runs in the box are compared, and not those of the address.

    The menu leads here without runs: then those are compared that were picked before another page
    was opened, here or in the table of all runs, unless they have been deleted meanwhile.
    """
    # A link that leads here from another page may have the runs that the address had before.
    if address == st.session_state.get(_OUTDATED) and not just_arrived():
        return True
    st.session_state.pop(_OUTDATED, None)
    return not address.strip(",")


def _outdate_address() -> None:
    """The box decides until the browser has its runs in the address, in place of these."""
    st.session_state[_OUTDATED] = st.query_params.get(COMPARED, "")


def _say_what_is_missing(keys: list[str], runs: Mapping[str, ChoosableRun]) -> None:
    """Say which runs the address names that are not here, and whether it names too many.

    Args:
        keys: What the address calls them, each once.
        runs: Every run that can be chosen.
    """
    missing = [key for key in keys if key not in runs]
    if missing:
        names = ", ".join(f"'{key}'" for key in missing[:_MOST_NAMED])
        if len(missing) > _MOST_NAMED:
            names = f"{names} and {len(missing) - _MOST_NAMED} more"
        st.warning(
            escaped(f"No run is called {names} here: pick from the list, or correct the address."),
            icon=":material/search_off:",
        )
    run_count = len(keys) - len(missing)
    if run_count > MOST:
        st.warning(f"{run_count} runs are picked. Only the first {MOST} are shown.")
