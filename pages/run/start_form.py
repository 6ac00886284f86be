"""The form that starts runs: dataset, algorithms, folds, stop; one click with good defaults."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import streamlit as st

from ecv_core import dataset as datasets
from ecv_core.dataset import DatasetEntry
from ecv_core.evaluation import METRICS
from ecv_core.figures.words import (
    algorithm_title,
    counted,
    dataset_title,
    metric_label,
    rule_words,
    titled,
    titles_of,
)
from ecv_core.fold import check_needs
from ecv_core.fold.spec import make_spec
from ecv_core.models import ALGORITHMS, computed_here
from ecv_core.records.errors import EcvError, InputError
from ecv_core.records.parameters import ParamValue, listed
from ecv_core.records.spec import SETTINGS, RunSpec
from ecv_core.splits import SPLITS, exchangeable
from ecv_core.stopping import NEVER_STOPS, RULES
from ecv_core.store.results import Results
from pages.run.expectation import show_expected_cost
from pages.run.settings import (
    ALGORITHM_LABELS,
    DEFAULT,
    FULL,
    NEGATIVES,
    SAMPLED,
    TASK_OF_METRIC,
    ParamsOfAlgorithms,
    country_names,
    min_folds_key,
    pick_algorithms,
    pick_fold_settings,
    pick_parameters_of_algorithms,
    pick_stop_settings,
    rule_param_key,
    rule_values,
    set_usual_metric_and_split,
    slider_steps,
)
from pages.shared.address.link import link_warning, step_from_link, translate_address
from pages.shared.base.rows import row_container
from pages.shared.charts.plot import preload_plots
from pages.shared.live.person import run_actions
from pages.shared.live.state import errors_as_sentences, escaped, sentence, show_error, store
from pages.shared.widgets.choices import start_button
from pages.shared.widgets.dataset_picker import not_ready, pick_dataset, picked_dataset
from pages.shared.widgets.place import pick_where_to_compute
from pages.shared.widgets.setting_widgets import (
    SPLIT_OF_K,
    choice_labels,
    on_form,
    owner_of_split_parameters,
    parameter_key,
    titles_in,
)


def translate_address_of_form() -> None:
    """Make what the address asks for the choices of the form, and say what cannot be.

    Ids in the address become the labels that the widgets know, and what is none is dropped with a
    warning; numbers are only checked. Call it before the widgets are drawn, for they read the
    address themselves.
    """
    # Widgets read the address themselves. They know labels, while links may have ids, and they say
    # nothing of a text that they do not know. So ids become labels here, and other texts get a
    # warning.
    for rule in RULES.values():
        for parameter in rule.parameters:
            key = rule_param_key(rule, parameter)
            if parameter.steps:
                steps = slider_steps(parameter, key)
                step_from_link(key, steps, parameter.text, name=parameter.words)
            elif not parameter.ids:  # a list of ids is checked where the run is put together
                _warn_of_non_numbers(key, parameter.parse)
    labels_of_widgets: dict[str, Mapping[str, str]] = {
        "metric": titles_in(METRICS),
        "dataset": titles_of(datasets.catalogue(), dataset_title),
        "algorithm": ALGORITHM_LABELS,
        "rule": titles_in(RULES),
        "split": titles_in(SPLITS),
        "country": country_names(),
    }
    for setting in filter(on_form, SETTINGS.values()):
        if setting.choices:
            labels_of_widgets[setting.name] = choice_labels(setting)
        if setting.kind in (int, float):
            _warn_of_non_numbers(setting.name, float)
    for key, labels in labels_of_widgets.items():
        translate_address(key, labels, warns_of_unknown=True)


def _warn_of_non_numbers(key: str, parse: Callable[[str], object]) -> None:
    """Warn of what the address has for a field that takes numbers, and that is no number."""
    for value in st.query_params.get_all(key):
        try:
            parse(value)
        except EcvError as error:
            link_warning(sentence(error))
        except ValueError:
            link_warning(f"{key} must be a number, but is '{escaped(value)}'.")


def start_form() -> None:
    """Draw the form; on Start, queue the runs and open them."""
    translate_address_of_form()
    # What to do, the button and what a run will take stand above the settings, but follow from
    # them. So their containers are made first and filled last.
    with st.container(key="start-room"):
        way_place = st.container()
        start_place = st.container()
        expectation_place = st.container()
    left_column, right_column = st.columns(2, gap="medium")
    with left_column.container(border=True, height="stretch"):
        data = _pick_what_to_evaluate()
    with right_column.container(border=True, height="stretch"):
        picked_stop = _pick_when_to_stop(data.settings)
    specs = []
    error_in_settings: EcvError | None = None
    try:
        specs = _specs(data, picked_stop)
    except EcvError as error:
        error_in_settings = error
    refusal = run_actions().start_refusal(specs)
    can_start = bool(specs) and data.ready and refusal is None
    with way_place:
        st.markdown(_way_to_start(data, specs, error_in_settings, refusal))
    with start_place:
        summary = ""
        if can_start:
            summary = _summary(specs)
        pressed = start_button("Start", summary, key="start", disabled=not can_start)
    with expectation_place:
        # Below the settings, nobody would see it who does not scroll.
        if error_in_settings:
            show_error(InputError(_error_in_words_of_form(error_in_settings, data.entry)))
        if not data.ready:
            # Without the data nothing can start, so nothing is said of what it would take.
            specs = []
        show_expected_cost(specs)
        recompute = _offer_to_recompute(specs)
        compute_on = pick_where_to_compute()
    preload_plots()
    if pressed:
        with errors_as_sentences():
            # The run replaces all that the form had in the address, in one step of the browser's
            # history.
            st.query_params.from_dict(
                {"run": run_actions().start(specs, anew=recompute, compute_on=compute_on)}
            )
            st.rerun()


def _error_in_words_of_form(error: EcvError, entry: DatasetEntry) -> str:
    """The error with labels and titles of the form in place of names that a command has.

    Args:
        error: 'n must be at most the 943 items of synthetic, but is 1000'.
        entry: The entry of the picked dataset.
    """
    text = re.sub(rf"\b{re.escape(entry.id)}\b", entry.title, str(error))
    for setting in filter(on_form, SETTINGS.values()):
        if setting.label and text.startswith(f"{setting.name} must"):
            text = setting.label + text.removeprefix(setting.name)
    return _ID_IN_SENTENCE.sub(_title_of_match, text)


def _title_of_match(match: re.Match[str]) -> str:
    return titled(match.group())


_ID_IN_SENTENCE = re.compile(
    r"(?<=')[a-z][a-z0-9-]*(?=')"
    r"|(?<=choose )[a-z][\w+-]*|(?<=such as )[a-z][\w+-]*|(?<= or )[a-z][\w+-]*"
    r"|(?<=but )[a-z][\w+-]*(?= ranks| predicts| classifies)|(?<=which )[a-z][\w+-]*(?= does not)"
)
"""Where our errors name a model or a metric by its id: in quotes, or after such words; other words
stay as they are, as nothing has them for an id."""


class _PickedData(NamedTuple):
    """What is picked on the left: what to evaluate, and how it is split and scored."""

    entry: DatasetEntry
    ready: bool
    """Whether the dataset can be used as it is."""
    algorithms: list[str]
    params: ParamsOfAlgorithms
    settings: dict[str, Any]
    """Arguments of `make_spec`."""


def _pick_what_to_evaluate() -> _PickedData:
    st.header("What to evaluate", anchor=False)
    # The dataset stands above the algorithms, but they decide the task that its picker needs.
    dataset_place = st.container()
    dataset = picked_dataset()
    algorithms = pick_algorithms(dataset.tasks)
    set_usual_metric_and_split(algorithms)
    task = dataset.usual_task
    if algorithms:
        task = ALGORITHMS[algorithms[0]].task
    with dataset_place:
        entry, ready = pick_dataset(task, with_tables=True)
    settings = pick_fold_settings(task)
    return _PickedData(
        entry, ready, algorithms, pick_parameters_of_algorithms(algorithms), settings
    )


def _pick_when_to_stop(settings_of_folds: Mapping[str, Any]) -> dict[str, Any]:
    """What is picked on the right, as arguments of `make_spec`.

    Args:
        settings_of_folds: How the data is split, as picked on the left; arguments of `make_spec`.
    """
    st.header("When to stop", anchor=False)
    k = settings_of_folds["k"]
    picked = pick_stop_settings(k)
    is_ordered = not exchangeable(settings_of_folds["split"])
    if k == 1 or is_ordered:
        picked |= {"rule": NEVER_STOPS, "rule_params": {}, "min_folds": None}
    if is_ordered and k > 1:
        st.info(
            "The folds of this split follow one another in time, so their scores may drift and no "
            "rule may stop early. All folds run, and their trend is the result.",
            icon=":material/timeline:",
        )
    return picked


def _specs(data: _PickedData, picked_stop: dict[str, Any]) -> list[RunSpec]:
    """One for each algorithm.

    Args:
        data: What is picked on the left.
        picked_stop: What is picked on the right, as arguments of `make_spec`.

    Raises:
        EcvError: If what is picked does not go together, or not with the data.
    """
    specs = []
    for algorithm in data.algorithms:
        settings = data.settings | picked_stop
        settings["rule_params"] = _rule_params_for(algorithm, picked_stop)
        specs.append(
            make_spec(
                dataset=data.entry.id,
                algorithm=algorithm,
                params=data.params[algorithm],
                **settings,
            )
        )
    # What an algorithm or a split needs of the data, such as times, is looked up in the data.
    if data.ready:
        for spec in specs:
            check_needs(spec)
    return specs


def _rule_params_for(algorithm: str, stop: Mapping[str, Any]) -> dict[str, Any]:
    """The rule's parameters, without the algorithm among cheap models: none adjusts itself."""
    params = dict(stop["rule_params"])
    for parameter in RULES[stop["rule"]].parameters:
        if parameter.ids:
            params[parameter.name] = [name for name in params[parameter.name] if name != algorithm]
    return params


def _way_to_start(
    data: _PickedData, specs: list[RunSpec], error_in_settings: EcvError | None, refusal: str | None
) -> str:
    """What to do, as Markdown: press Start, or what has to be done before that."""
    if refusal:
        return f":material/lock: {sentence(EcvError(refusal))}"
    if not data.ready:
        return not_ready(data.entry)
    if error_in_settings:
        return "Change the settings first, as the sentence below Start says."
    if not specs:
        return "Pick at least one algorithm first."
    return "Press **Start**, or change anything below first."


def _summary(specs: list[RunSpec]) -> str:
    """'**ItemKNN** on **MovieLens 1M**: nDCG@10, up to 10 folds, stopped by alpha 1e-4'."""
    spec = specs[0]
    titles = listed([algorithm_title(spec.algorithm) for spec in specs])
    dataset = escaped(dataset_title(spec.dataset))
    words = f"**{titles}** on **{dataset}**: {metric_label(spec)}, "
    folds = counted(spec.k, "fold")
    if spec.k == 1:
        return f"{words}{folds}"
    if spec.rule == NEVER_STOPS:
        return f"{words}all {folds}"
    if spec.full:
        return f"{words}all {folds}, to check the stop by {rule_words(spec)}"
    return f"{words}up to {folds}, stopped by {rule_words(spec)}"


def _offer_to_recompute(specs: list[RunSpec]) -> bool:
    """Whether to compute every fold; asked only where some are there already."""
    results = Results(store(), with_recorded=False)
    parts = []
    for spec in specs:
        finished = len(results.folds(spec, computed_here=True))
        if finished:
            folds = counted(spec.k, "fold")
            parts.append(f"{finished} of {folds} of {algorithm_title(spec.algorithm)}")
    if not parts:
        return False
    with row_container():
        st.markdown(f":material/recycling: Computed before, and used again: {listed(parts)}.")
        return st.toggle(
            "Compute them again",
            key="anew",
            persist_state="session",
            help="Trains and evaluates every fold once more, to watch the run or to measure its "
            "energy. The scores will be the same.",
        )


def fill_form(spec: RunSpec, algorithms: list[str]) -> None:
    """Put a run's settings into the form; call it from a callback, before the form is drawn."""
    state = st.session_state
    for setting in filter(on_form, SETTINGS.values()):
        state[setting.name] = getattr(spec, setting.name)
    if spec.dataset in datasets.catalogue():  # an imported run may have another one
        state["dataset"] = spec.dataset
    installed = [name for name in algorithms if name in ALGORITHMS]  # a plug-in may be missing
    state["algorithm"] = installed or [DEFAULT]
    state["ranking"] = FULL
    state["negatives"] = NEGATIVES
    if spec.negatives is not None:
        state["ranking"] = SAMPLED
        state["negatives"] = spec.negatives
    state[min_folds_key(spec.rule)] = spec.min_folds
    # Without these, the form would take the task and the split for newly picked, and replace the
    # run's metric, split and number of folds by their usual ones.
    state[SPLIT_OF_K] = spec.split
    state[TASK_OF_METRIC] = spec.task
    state.update(rule_values(spec))
    if computed_here(spec):  # it is not tracked, and its algorithm is installed
        _fill_parameters(spec.algorithm, ALGORITHMS[spec.algorithm].with_defaults(spec.params))
    _fill_parameters(owner_of_split_parameters(spec.split), dict(spec.split_params))


def _fill_parameters(owner: str, values: Mapping[str, ParamValue]) -> None:
    """Put the parameters of an algorithm or a split into the form."""
    for name, value in values.items():
        st.session_state[parameter_key(owner, name)] = value
