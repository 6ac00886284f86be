"""Start a selection: contenders from a list of algorithms, or from runs that are there."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from ecv_core.errors import EcvError, InputError
from ecv_core.evaluation import METRICS
from ecv_core.fold import check_needs
from ecv_core.models import algorithm
from ecv_core.records import Task
from ecv_core.rights import Action
from ecv_core.runs.recorded import recorded_runs
from ecv_core.selection.names import contender_name, parse_contender
from ecv_core.spec import make_spec
from ecv_core.stopping import NEVER_STOPS
from pages.components.best.choice import open_selection
from pages.components.best.settings import Asked
from pages.components.best.space_form import Named, space_contenders
from pages.components.run.algorithm_picker import algorithm_picker, parameter_settings
from pages.components.run.fold_settings import fold_settings, usual_of_task
from pages.components.shared.acting import acting, why_not
from pages.components.shared.dataset_picker import dataset_picker
from pages.components.shared.given import keep_given
from pages.components.shared.runs import Known, folds_done
from pages.components.shared.state import KEPT, run_list, sentence, sentences
from pages.components.shared.words import metric_label, run_title

_ALGORITHMS, _SPACE, _RUNS = "a list of algorithms", "a search space", "runs that are there"
_SOURCES = (_ALGORITHMS, _SPACE, _RUNS)
_USUAL = ("popular", "item-knn", "ease")
_BOX, _STARTED = "best-start", "best-started"


def start(asked: Asked) -> None:
    """The form, folded up; on Start, begin the selection and show it.

    Args:
        asked: what it is to find out.
    """
    if why := why_not(Action.START_MANY):
        st.caption(f":material/lock: {why}")
        return
    # What has started is above: a new box, closed. (One that is only told to close opens again.)
    key = f"{_BOX}-{st.session_state.get(_STARTED, 0)}"
    box = st.expander("Start one of your own", icon=":material/add:", key=key, on_change="rerun")
    if not box.open:
        return
    keep_given()
    with box:
        source = st.segmented_control(
            "Contenders from",
            _SOURCES,
            default=_ALGORITHMS,
            required=True,
            key="contenders_from",
            **KEPT,
        )
        try:
            named, ready = _CONTENDERS[source or _ALGORITHMS]()
        except EcvError as error:
            st.error(sentence(error), icon=":material/error:")
            return
        if st.button(
            "Start the selection",
            type="primary",
            icon=":material/play_arrow:",
            key="begin",
            disabled=not (ready and named),
        ):
            with sentences():
                _begin(named, asked)


def _begin(named: Named, asked: Asked) -> None:
    spec = named[0][1]
    terms = asked.terms(spec.k, higher_is_better=METRICS[spec.metric].higher_is_better)
    person = acting()
    selection_id = person.begin_selection(named, terms)
    with suppress(InputError):  # a tracked contender lacks a fold: the selection itself says so
        person.go_on_with_selection(selection_id)
    open_selection(selection_id)
    st.session_state[_STARTED] = st.session_state.get(_STARTED, 0) + 1
    st.rerun()


def _algorithms() -> tuple[Named, bool]:
    entry, ready = dataset_picker()
    names = algorithm_picker(
        key="contenders", default=_USUAL, what="Each is a contender, on the same folds."
    )
    more = st.text_area(
        "More contenders, one a line",
        key="more_contenders",
        **KEPT,
        height=90,
        placeholder="item-knn:neighbours=50\nitem-knn:neighbours=200,shrink=10",
        help="An algorithm with other parameters: `algorithm:name=value,name=value`.",
    )
    usual_of_task(names)
    task = algorithm(names[0]).task if names else Task.TOP_N
    picked, folds_ready = fold_settings(entry.id, ready, task)
    params = parameter_settings(names)
    wanted = [(name, params[name]) for name in names]
    wanted += [parse_contender(line.strip()) for line in (more or "").splitlines() if line.strip()]
    if not folds_ready:
        return [], False
    specs = [
        make_spec(dataset=entry.id, algorithm=name, params=values, rule=NEVER_STOPS, **picked)
        for name, values in wanted
    ]
    for spec in specs if ready else []:
        check_needs(spec)
    return [(contender_name(spec), spec) for spec in specs], ready


def _runs() -> tuple[Named, bool]:
    listed: list[Known] = [*run_list().rows(), *recorded_runs()]
    runs = {run.run_id: run for run in listed if folds_done(run)}
    chosen = st.multiselect(
        "Runs",
        list(runs),
        format_func=lambda run_id: _label(runs[run_id]),
        key="contender_runs",
        help="Their folds are used; only folds that they lack are computed. They must share "
        "dataset, split, seed, metric and protocol.",
    )
    some = [runs[run_id] for run_id in chosen]
    return [(contender_name(run.spec), run.spec) for run in some], True


def _label(run: Known) -> str:
    kind = f"{folds_done(run)} of {run.spec.k} folds, {metric_label(run.spec)}"
    return f"{run_title(run)}: {kind} ({run.run_id})"


_CONTENDERS = {_ALGORITHMS: _algorithms, _SPACE: space_contenders, _RUNS: _runs}
