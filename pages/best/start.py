"""Start a selection: contenders from a list of algorithms, or from runs that are there."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from ecv_core.access.roles import Action
from ecv_core.figures.words import counted
from ecv_core.fold import check_needs, data_of
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.plans.select import terms_for
from ecv_core.models import ALGORITHMS, algorithm, serving
from ecv_core.records.errors import InputError
from ecv_core.records.spec import SETTINGS, RunSpec
from ecv_core.records.tasks import Task
from ecv_core.selection.contenders import contender_name
from ecv_core.selection.tuning.spaces import contender_word, sampled, size_of, space_of, within
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store.recorded import recorded_runs, specs_of
from pages.best.choice import Asked, open_selection, settings
from pages.run.expectation import expectation
from pages.run.settings import (
    algorithm_picker,
    fold_settings,
    offer_usual_of_task,
    parameter_settings,
)
from pages.shared.live.acting import acting, why_not
from pages.shared.live.runs import Known, folds_done
from pages.shared.live.state import KEPT, escaped, run_list, sentences
from pages.shared.widgets.choices import switch
from pages.shared.widgets.dataset_picker import dataset_picker
from pages.shared.widgets.place import place_picker
from pages.shared.widgets.words import choice_label

Named = list[tuple[str, RunSpec]]
MOST = 64
"""Configurations that a page starts; more are drawn, or left to the command line."""


def space_contenders() -> tuple[Named, bool]:
    """The widgets; gives contenders, and whether they can start.

    Raises: InputError for a value that cannot be, or a space of fewer than two configurations.
    """
    entry, ready = dataset_picker(tables=True)
    task = entry.tasks[0]
    names = [name for name in serving(task) if ALGORITHMS[name].parameters]
    offer_usual_of_task(names)
    usual = task.usual_algorithm
    if st.session_state.get("space_algorithm", usual) not in names:
        del st.session_state["space_algorithm"]
    with st.container(horizontal=True):
        picked = st.selectbox(
            "Algorithm",
            names,
            index=names.index(usual),
            format_func=lambda name: ALGORITHMS[name].title,
            key="space_algorithm",
            **KEPT,
            width=240,
        )
        algorithm = ALGORITHMS[picked or usual]
        declared = [*algorithm.spaces, "none"]
        key = f"space_of_{algorithm.id}"
        choice = st.selectbox(
            "Space",
            declared,
            key=key,
            **KEPT,
            width=160,
            help="Values that are declared beside the model; `paper` are those of Anelli et al. "
            "(2019). Your own take their place.",
        )
    own = st.text_area(
        "Own values, a parameter a line",
        key="space_own",
        **KEPT,
        height=90,
        placeholder="neighbours=20,50,100,200\nshrink=0,10",
        help="`name=v1,v2`, of: " + ", ".join(one.name for one in algorithm.parameters),
    )
    settings = fold_settings(task)
    given = dict(_line(line) for line in (own or "").splitlines() if line.strip())
    if choice == "none" and not given:
        st.caption("Give values of your own, or take a declared space.")
        return [], False
    wanted = space_of(algorithm, None if choice == "none" else choice, given)
    if not ready:
        return [], False
    spec = make_spec(dataset=entry.id, algorithm=algorithm.id, rule=NEVER_STOPS, **settings)
    check_needs(spec)
    kept, left_out = within(wanted, algorithm, data_of(spec))
    for name, values in left_out.items():
        st.caption(f"Left out, for {entry.title} has fewer: {name} {', '.join(map(str, values))}.")
    size = size_of(kept)
    drawn = list(sampled(kept, "grid", min(size, MOST), seed=spec.seed))
    tried = "; ".join(f"{name} {', '.join(map(str, values))}" for name, values in kept.items())
    st.caption(
        f"{counted(len(drawn), 'configuration')}"
        + (f", drawn from {size:,}; `tune` runs all of them" if size > MOST else "")
        + f": {escaped(tried)}. What their fits share is computed once."
    )
    named = [
        (contender_word(algorithm.id, one), own_spec)
        for one, own_spec in zip(drawn, specs_of(spec, drawn), strict=True)
    ]
    return named, True


def _line(text: str) -> tuple[str, list[str]]:
    name, equals, values = text.strip().partition("=")
    if not equals:
        raise InputError(f"'{text.strip()}' is no name=v1,v2; write it as neighbours=20,50,100")
    return name.strip(), [one.strip() for one in values.split(",") if one.strip()]


SENSIBLE = {
    Task.TOP_N: ("popular", "item-knn", "ease", "implicit-mf", "rp3beta"),
    Task.CLASSES: ("logistic-regression", "k-nn", "naive-bayes", "random-forest", "hist-boosting"),
    Task.NUMBERS: ("ridge", "k-nn-regressor", "random-forest-regressor", "hist-boosting-regressor"),
}
"""What to begin with: quick, of several kinds, and something simple that each has to beat."""
_MOST_ITEMS_OF_EASE = 10_000
_BOX, _STARTED = "best-start", "best-started"


def start(*, claim: bool) -> Asked:
    """The form, folded up; on Start, begin the selection and show it.

    Args: claim: whether it is asked what one may claim.
    Returns: what a selection is to find out, which holds for recorded ones too.
    """
    refused = why_not(Action.START_MANY)
    # What has started is below: a new box, closed. (One that is only told to close opens again.)
    key = f"{_BOX}-{st.session_state.get(_STARTED, 0)}"
    title = "When it is decided" if refused else "Start one of your own"
    with st.expander(title, icon=":material/add:", key=key, on_change="rerun") as box:
        asked = settings(claim=claim)
        if refused:
            st.caption(f":material/lock: {refused}")
        elif box.open:
            with sentences():
                _form(asked)
    return asked


def _form(asked: Asked) -> None:
    source = switch("Contenders from", list(_CONTENDERS), "contenders_from")
    named, ready = _CONTENDERS[source]()
    if ready:
        expectation([spec for _, spec in named], select=True)
    place = place_picker()
    if st.button(
        "Start the selection",
        type="primary",
        icon=":material/play_arrow:",
        key="begin",
        disabled=not (ready and named),
    ):
        open_selection(begin(named, asked, place))
        st.session_state[_STARTED] = st.session_state.get(_STARTED, 0) + 1
        st.rerun()


def begin(named: Named, asked: Asked, place: str = "") -> str:
    """Begin a selection, its first fold too; gives its id.

    Raises: InputError for contenders that cannot be compared.
    """
    person = acting()
    selection_id = person.begin_selection(named, terms_for(named[0][1], **asked), place=place)
    with suppress(InputError):  # a tracked contender lacks a fold: the selection itself says so
        person.go_on_with_selection(selection_id)
    return selection_id


def sensible_contenders(dataset: str, task: Task, items: int) -> Named:
    """Those of SENSIBLE that fit into memory.

    Args:
        dataset: its id.
        task: what it is for.
        items: that it has, 0 of a table; EASE needs three matrices of items x items.
    """
    names = [name for name in SENSIBLE[task] if name != "ease" or items <= _MOST_ITEMS_OF_EASE]
    n = min(SETTINGS["n"].default, items or SETTINGS["n"].default)
    specs = [make_spec(dataset=dataset, algorithm=name, n=n, rule=NEVER_STOPS) for name in names]
    return [(contender_name(spec), spec) for spec in specs]


def _algorithms() -> tuple[Named, bool]:
    entry, ready = dataset_picker(tables=True)
    names = algorithm_picker(
        entry.tasks,
        key="contenders",
        default=SENSIBLE[entry.tasks[0]],
        what="Each is a contender, on the same folds.",
    )
    offer_usual_of_task(names)
    task = algorithm(names[0]).task if names else entry.tasks[0]
    picked = fold_settings(task)
    params = parameter_settings(names)
    specs = [
        make_spec(dataset=entry.id, algorithm=name, params=params[name], rule=NEVER_STOPS, **picked)
        for name in names
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
        format_func=lambda run_id: choice_label(runs[run_id]),
        key="contender_runs",
        help="Their folds are used; only folds that they lack are computed. They must share "
        "dataset, split, seed, metric and protocol.",
    )
    some = [runs[run_id] for run_id in chosen]
    return [(contender_name(run.spec), run.spec) for run in some], True


_CONTENDERS = {
    "a list of algorithms": _algorithms,
    "a search space": space_contenders,
    "runs that are there": _runs,
}
