"""Start a selection: contenders from a list of algorithms, or from runs that are there."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import streamlit as st

from ecv_core.access.roles import Action
from ecv_core.figures.words import algorithm_title, counted, dataset_title
from ecv_core.fold import check_needs, data_of
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.plans.select import NamedSpecs, terms_for
from ecv_core.models import ALGORITHMS, serving
from ecv_core.models.base import Algorithm
from ecv_core.records.errors import InputError
from ecv_core.records.spec import SETTINGS, RunSpec
from ecv_core.records.tasks import Task
from ecv_core.selection.contenders import contender_name
from ecv_core.selection.tuning.spaces import (
    Space,
    allowed_by,
    sampled,
    size_of,
    space_of,
)
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store.configurations import contender_word, specs_of
from ecv_core.store.recorded import recorded_runs
from pages.best.choice import Question, open_selection, pick_purpose, pick_question
from pages.run.expectation import show_expected_cost
from pages.run.settings import (
    pick_algorithms,
    pick_fold_settings,
    pick_parameters_of_algorithms,
    set_usual_metric_and_split,
)
from pages.shared.live.person import run_actions, why_not
from pages.shared.live.runs import ChoosableRun, folds_done
from pages.shared.live.state import KEPT_IN_ADDRESS, errors_as_sentences, escaped, run_list
from pages.shared.widgets.choices import pick_one, start_button, switch
from pages.shared.widgets.dataset_picker import not_ready, pick_dataset
from pages.shared.widgets.place import pick_where_to_compute
from pages.shared.widgets.words import choice_label


class PickedContenders(NamedTuple):
    """What is picked in a form."""

    named_specs: NamedSpecs
    """What each is called, and its spec."""
    missing_sentence: str = ""
    """Says what has to be done before they can start; empty where nothing has."""


MOST_CONFIGURATIONS = 64
"""Configurations that a page starts; more are drawn, or left to the command line."""
_NO_SPACE = "none"


def _pick_from_space() -> PickedContenders:
    """The configurations of one algorithm in a search space; with their widgets.

    Raises:
        InputError: If a value is not allowed, or the space has fewer than two configurations.
    """
    entry, ready = pick_dataset(with_tables=True)
    task = entry.usual_task
    names = [name for name in serving(task) if ALGORITHMS[name].parameters]  # others have no space
    set_usual_metric_and_split(names)
    with st.container(horizontal=True):
        algorithm_id = pick_one(
            "Algorithm",
            names,
            "space_algorithm",
            usual=task.usual_algorithm,
            words=algorithm_title,
            width=240,
        )
        algorithm = ALGORITHMS[algorithm_id]
        picked_space = pick_one(
            "Space",
            [*algorithm.spaces, _NO_SPACE],
            f"space_of_{algorithm.id}",
            width=160,
            help="The values declared with the model; `paper` has those of Anelli et al. (2019). "
            "Your own values replace them.",
        )
    parameters = ", ".join(parameter.name for parameter in algorithm.parameters)
    text = st.text_area(
        "Your own values, one parameter per line",
        key="space_own",
        **KEPT_IN_ADDRESS,
        height=90,
        placeholder="neighbours=20,50,100,200\nshrink=0,10",
        help=f"Write each line as `name=v1,v2`. The parameters are {parameters}.",
    )
    settings_of_folds = pick_fold_settings(task)
    values_of_parameter = _parse_values(text or "")
    declared_space = None
    if picked_space != _NO_SPACE:
        declared_space = picked_space
    elif not values_of_parameter:
        return PickedContenders([], "Enter values of your own, or pick a declared space.")
    space = space_of(algorithm, declared_space, values_of_parameter)
    if not ready:
        return PickedContenders([], not_ready(entry))
    spec = make_spec(
        dataset=entry.id, algorithm=algorithm.id, rule=NEVER_STOPS, **settings_of_folds
    )
    check_needs(spec)
    return PickedContenders(_configurations(algorithm, space, spec))


def _configurations(algorithm: Algorithm, space: Space, spec: RunSpec) -> NamedSpecs:
    """As many configurations of the space as a page starts; says how many, and what is left out.

    Args:
        algorithm: Whose parameters they are.
        space: The values to try.
        spec: All other settings.
    """
    allowed_space, left_out = allowed_by(space, algorithm, data_of(spec))
    for name, values in left_out.items():
        title = dataset_title(spec.dataset)
        values_text = ", ".join(map(str, values))
        st.caption(f"{name} {values_text} is left out, because {title} does not allow so many.")
    size = size_of(allowed_space)
    configurations = list(
        sampled(allowed_space, "grid", min(size, MOST_CONFIGURATIONS), seed=spec.seed)
    )
    words = counted(len(configurations), "configuration")
    if size > MOST_CONFIGURATIONS:
        words += f", drawn from {size:,}; `tune` runs all of them"
    values_to_try = "; ".join(
        f"{name} {', '.join(map(str, values))}" for name, values in allowed_space.items()
    )
    st.caption(f"{words}: {escaped(values_to_try)}. Work that several of them share is done once.")
    names = [contender_word(algorithm.id, configuration) for configuration in configurations]
    return list(zip(names, specs_of(spec, configurations), strict=True))


def _parse_values(text: str) -> dict[str, list[str]]:
    """Parameter -> its values, of lines such as 'neighbours=20,50,100'.

    Raises:
        InputError: If a line has no '='.
    """
    values_of = {}
    for line in map(str.strip, text.splitlines()):
        if not line:
            continue
        name, equals, values = line.partition("=")
        if not equals:
            raise InputError(
                f"'{line}' is not of the form name=v1,v2; write for example neighbours=20,50,100"
            )
        values_of[name.strip()] = [value.strip() for value in values.split(",") if value.strip()]
    return values_of


SENSIBLE = {
    Task.TOP_N: ("popular", "item-knn", "ease", "implicit-mf", "rp3beta"),
    Task.CLASSES: ("logistic-regression", "k-nn", "naive-bayes", "random-forest", "hist-boosting"),
    Task.NUMBERS: ("ridge", "k-nn-regressor", "random-forest-regressor", "hist-boosting-regressor"),
}
"""What to begin with: quick, of several kinds, and something simple that each has to beat."""
_MOST_ITEMS_OF_EASE = 10_000
_STARTED = "best-started"
"""In the session: how many selections it has started."""


def draw_start(*, for_claim: bool | None) -> Question:
    """The form, folded up; on Start, begin the selection and show it.

    Args:
        for_claim: Whether one wants to claim that the winner is the best; None to ask it here.

    Returns:
        What a selection is to find out, which holds for recorded ones too.
    """
    refusal = why_not(Action.START_MANY)
    title = "Start one of your own"
    if refusal:  # the box then has only the question, which holds for recorded ones too
        title = "When it is decided"
    # Each start makes another key, and so a new box, which is closed. A box that is only told to
    # close is opened again by Streamlit.
    key = f"best-start-{st.session_state.get(_STARTED, 0)}"
    with st.expander(title, icon=":material/add:", key=key, on_change="rerun") as box:
        if for_claim is None:
            for_claim = pick_purpose()
        question = pick_question(for_claim=for_claim)
        if refusal:
            st.caption(f":material/lock: {refusal}")
        elif box.open:
            with errors_as_sentences():
                _draw_form(question)
    return question


def _draw_form(question: Question) -> None:
    source = switch("Contenders from", list(_PICKERS), "contenders_from")
    pick_contenders = _PICKERS[source]
    contenders = pick_contenders()
    missing_sentence = contenders.missing_sentence
    if not missing_sentence and len(contenders.named_specs) < 2:
        missing_sentence = "Pick at least two contenders first."
    if not missing_sentence:
        show_expected_cost([spec for _, spec in contenders.named_specs], as_contenders=True)
    compute_on = pick_where_to_compute()
    if start_button(
        "Start the selection", missing_sentence, key="begin", disabled=bool(missing_sentence)
    ):
        open_selection(begin_selection(contenders.named_specs, question, compute_on))
        # The key of the box holds this number: the next drawing has a new box, which is closed.
        st.session_state[_STARTED] = st.session_state.get(_STARTED, 0) + 1
        st.rerun()


def begin_selection(named_specs: NamedSpecs, question: Question, compute_on: str = "") -> str:
    """Begin a selection, its first fold too.

    Args:
        named_specs: What each contender is called, and its spec.
        question: What the selection is to find out.
        compute_on: Where its folds are computed, as `--on` takes it; by default here.

    Returns:
        The id of the selection.

    Raises:
        InputError: If the contenders cannot be compared.
    """
    person = run_actions()
    _, first_spec = named_specs[0]
    terms = terms_for(first_spec, **question)
    selection_id = person.begin_selection(named_specs, terms, compute_on=compute_on)
    with suppress(InputError):  # a tracked contender lacks a fold: the selection itself says so
        person.go_on_with_selection(selection_id)
    return selection_id


def sensible_contenders(dataset: str, task: Task, items: int) -> NamedSpecs:
    """Those of SENSIBLE that fit into memory.

    Args:
        dataset: Its id.
        task: What it is for.
        items: How many it has, 0 of a table; EASE needs three matrices of items x items.
    """
    n = SETTINGS["n"].default
    if items:  # a table has no items, and no list of them
        n = min(n, items)
    contenders = []
    for algorithm_id in SENSIBLE[task]:
        if algorithm_id == "ease" and items > _MOST_ITEMS_OF_EASE:
            continue
        spec = make_spec(dataset=dataset, algorithm=algorithm_id, n=n, rule=NEVER_STOPS)
        contenders.append((contender_name(spec), spec))
    return contenders


def _pick_algorithms() -> PickedContenders:
    entry, ready = pick_dataset(with_tables=True)
    names = pick_algorithms(
        entry.tasks,
        key="contenders",
        default=SENSIBLE[entry.usual_task],
        explanation="Each algorithm is a contender. All are evaluated on the same folds.",
    )
    set_usual_metric_and_split(names)
    # A dataset may serve several tasks: the algorithms that are picked say which of them it is.
    task = entry.usual_task
    if names:
        task = ALGORITHMS[names[0]].task
    settings_of_folds = pick_fold_settings(task)
    params = pick_parameters_of_algorithms(names)
    contenders = []
    for name in names:
        spec = make_spec(
            dataset=entry.id,
            algorithm=name,
            params=params[name],
            rule=NEVER_STOPS,
            **settings_of_folds,
        )
        if ready:
            check_needs(spec)
        contenders.append((contender_name(spec), spec))
    if not ready:
        return PickedContenders(contenders, not_ready(entry))
    return PickedContenders(contenders)


def _pick_runs() -> PickedContenders:
    listed: list[ChoosableRun] = [*run_list().rows(), *recorded_runs()]
    runs = {run.run_id: run for run in listed if folds_done(run)}
    labels = {run_id: choice_label(run) for run_id, run in runs.items()}
    picked = st.multiselect(
        "Runs",
        list(labels),
        format_func=labels.__getitem__,
        key="contender_runs",
        help="Folds that have run are used, and only missing ones are computed. The runs must "
        "share dataset, split, seed, metric and protocol.",
    )
    contenders = []
    for run_id in picked:
        spec = runs[run_id].spec
        contenders.append((contender_name(spec), spec))
    return PickedContenders(contenders)


_PICKERS = {
    "a list of algorithms": _pick_algorithms,
    "a search space": _pick_from_space,
    "existing runs": _pick_runs,
}
