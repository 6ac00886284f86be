"""Which runs to compare: the address says it, the list changes it; examples where there is none."""

from __future__ import annotations

from importlib import import_module

import streamlit as st

from ecv_core.figures.report.describe import describe_runs
from ecv_core.figures.words import (
    counted,
    dataset_title,
    in_order,
    metric_label,
    rule_words,
    run_title,
)
from ecv_core.records.errors import EcvError
from ecv_core.records.run import RunRecord
from ecv_core.store.recorded import recorded_runs
from pages.shared.live.runs import COMPARED, Known, follow_runs, whole
from pages.shared.live.state import escaped, run_list, sentence
from pages.shared.widgets.cite import for_paper, made_with
from pages.shared.widgets.glossary import glossary_link

KEY = "compared"
MOST = 40
FAVOURITE = "ml-100k"


def comparison() -> None:
    """The runs that are picked, side by side."""
    runs = choose_runs()
    if not runs:
        empty_state()
        import_module("pages.runs.side_by_side")  # get ready what a click will need
        return
    from pages.runs.side_by_side import (
        better,
        means_pictures,
        named_runs,
        paired_tests,
        picture,
        settings,
        table,
    )

    named = named_runs(runs)
    if len(named) > 1:
        better(named)  # what a comparison is for
    else:
        st.info("Add a second run above to compare it with.", icon=":material/add:")
    picture(named)
    if len(named) > 1:
        paired_tests(named)
    table(named)
    if any(run.folds for run in runs):
        for_paper(
            lambda: describe_runs(runs, made_with(runs)),
            key="comparison",
            pictures=means_pictures(named),
            title=f"{counted(len(runs), 'run')} compared",
            specs=[run.spec for run in runs],
        )
    if len(named) > 1:
        settings(named)
    follow_runs([run.run_id for run in runs])


def choose_runs() -> list[RunRecord]:
    """The chosen runs, in the order chosen; unknown names in the address become a sentence."""
    known = _known()
    asked = [key for key in st.query_params.get(COMPARED, "").split(",") if key]
    found = list(dict.fromkeys(key for key in asked if key in known))
    if asked:
        st.session_state[KEY] = found[:MOST]
    elif st.session_state.get(KEY):  # back from another page
        st.session_state[KEY] = [key for key in st.session_state[KEY] if key in known]
        _to_address()
    picked = st.multiselect(
        "Runs",
        list(known),
        format_func=lambda key: _label(key, known[key]),
        key=KEY,
        on_change=_to_address,
        persist_state="session",
        max_selections=MOST,
        placeholder="Type a dataset or an algorithm",
        help="Your own runs, newest first, then the recorded ones that come with e-fold.",
    )
    _say_what_is_missing([key for key in asked if key not in known], len(found))
    return list(map(whole, {known[key].run_id: known[key] for key in picked}.values()))


def empty_state() -> None:
    """What the page is for, and one-click ways to fill it."""
    st.markdown(
        "Pick **two or more runs** above. They come into one picture and one table: score and "
        f"{glossary_link('confidence-interval', 'interval')}, folds used, energy spent and saved. "
        f"Where two runs share their {glossary_link('fold', 'folds')}, a "
        f"**{glossary_link('paired-test', 'paired test')}** says whether one is really better."
    )
    recorded = {key: run for key, run in _known().items() if isinstance(run, RunRecord)}
    datasets = in_order(run.spec.dataset for run in recorded.values())
    dataset = FAVOURITE if FAVOURITE in datasets else next(iter(datasets), "")
    keys = [key for key, run in recorded.items() if run.spec.dataset == dataset]
    if len(keys) > 1:
        st.button(
            f"Every algorithm on {dataset_title(dataset)}",
            key="example",
            icon=":material/balance:",
            help="Recorded runs: nothing is computed.",
            on_click=_open,
            args=(keys,),
        )
    st.page_link("run/run.py", label="Start runs of your own", icon=":material/play_circle:")


def _known() -> dict[str, Known]:
    """Every run that can be chosen, by what the address calls it."""
    known: dict[str, Known] = {row.run_id: row for row in run_list().rows()}
    try:
        recorded = recorded_runs()
    except EcvError as error:
        st.error(sentence(error), icon=":material/error:")
        recorded = []
    by_place = {(run.spec.dataset, run.spec.algorithm): run for run in recorded}
    algorithms = in_order(algorithm for _, algorithm in by_place)
    return known | {
        f"{dataset}--{algorithm}": by_place[dataset, algorithm]
        for dataset in in_order(dataset for dataset, _ in by_place)
        for algorithm in algorithms
        if (dataset, algorithm) in by_place
    }


def _label(key: str, run: Known) -> str:
    """Never changes and is never another run's: Streamlit knows a choice by its label."""
    if isinstance(run, RunRecord):
        return f"{run_title(run)} · recorded"
    return f"{run_title(run)} · {metric_label(run.spec)} · {rule_words(run.spec)} · {key}"


def _open(keys: list[str]) -> None:
    st.query_params[COMPARED] = ",".join(keys[:MOST])


def _to_address() -> None:
    picked = st.session_state.get(KEY)
    if picked:
        _open(picked)
    else:
        st.query_params.pop(COMPARED, None)


def _say_what_is_missing(unknown: list[str], found: int) -> None:
    if unknown:
        named = ", ".join(f"'{key}'" for key in unknown[:3])
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        are = "is no run" if len(unknown) == 1 else "are no runs"
        st.warning(
            escaped(f"There {are} {named}{more} here: pick from the list, or correct the address."),
            icon=":material/search_off:",
        )
    if found > MOST:
        st.warning(f"The address names {found} runs; the first {MOST} are shown.")
