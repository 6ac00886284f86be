"""What is evaluated and when it stops: algorithms, folds, score, rule, with their widgets."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ecv_core import dataset as datasets
from ecv_core import models, splits
from ecv_core.access.roles import PersonRole
from ecv_core.energy.meter import countries
from ecv_core.energy.real_meters import device_from_text, meter_names, reading_now
from ecv_core.evaluation import METRICS, SAMPLED_WARNING
from ecv_core.models import ALGORITHMS
from ecv_core.models.base import Algorithm
from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Need
from ecv_core.records.parameters import Parameter, ParamValue
from ecv_core.records.spec import SCORE_ROLES, SETTINGS, Role, RunSpec
from ecv_core.records.tasks import Task
from ecv_core.splits import SPLITS
from ecv_core.stopping import NEVER_STOPS, RULES, Rule
from pages.shared.address.link import translate_address
from pages.shared.base.glossary import explained
from pages.shared.live.person import who
from pages.shared.live.state import KEPT_IN_ADDRESS, sentence
from pages.shared.widgets.dataset_picker import picked_dataset
from pages.shared.widgets.setting_widgets import (
    help_of,
    parameter_key,
    parameter_widgets,
    pick_other_settings,
    pick_parameter,
    pick_setting,
    pick_strategy,
    pick_strategy_parameters,
    picked_split,
    set_usual_k,
    split_advice,
    titles_in,
    widget_arguments,
)

# Algorithms and their parameters.


DEFAULT = "item-knn"


def _algorithm_label(algorithm: Algorithm) -> str:
    if algorithm.task.note:
        return f"{algorithm.title} ({algorithm.task.note})"
    return algorithm.title


ALGORITHM_LABELS = {name: _algorithm_label(algorithm) for name, algorithm in ALGORITHMS.items()}
"""Algorithm id -> how it is picked: with what it is for, where it does not rank items."""
_WORDS_ON_TASKS = (
    "Algorithms marked **(ratings)** predict ratings: they are scored by RMSE or MAE, on folds "
    "that are random parts of all ratings. All others rank items. A run does one or the other."
)

ParamsOfAlgorithms = dict[str, dict[str, ParamValue]]
"""Algorithm id -> its parameters."""


def pick_algorithms(
    tasks: Sequence[Task],
    key: str = "algorithm",
    default: Sequence[str] = (DEFAULT,),
    explanation: str = (
        "Each is a run of its own. Several run one after another and are shown together."
    ),
) -> list[str]:
    """Ids of the picked algorithms, in the registry's order; may be empty.

    Args:
        tasks: What they are to do.
        key: The key of the widget, and in the address.
        default: What is picked at first; the first of all where none of it does that.
        explanation: What becomes of several, for the help.
    """
    translate_address(key, ALGORITHM_LABELS)
    names = []
    lines = []
    for name, algorithm in ALGORITHMS.items():
        if algorithm.task in tasks:
            names.append(name)
            lines.append(f"- **{algorithm.title}** (`{name}`): {algorithm.summary}")
    listed = "\n".join(lines)
    first_picks = [name for name in names if name in default] or names[:1]
    _unpick_other_tasks(key, names, first_picks)
    picked = st.pills(
        "Algorithms",
        names,
        format_func=ALGORITHM_LABELS.__getitem__,
        selection_mode="multi",
        default=first_picks,
        key=key,
        **KEPT_IN_ADDRESS,
        help=f"{explanation}\n\n{listed}",
    )
    if len(tasks) > 1:
        st.caption(_WORDS_ON_TASKS)
    for name in picked:
        algorithm = ALGORITHMS[name]
        st.caption(f"**{algorithm.title}.** {algorithm.summary}")
    return sorted(picked, key=names.index)


def _unpick_other_tasks(key: str, names: Sequence[str], default: list[str]) -> None:
    """Leave out what was picked for a dataset of another task; pick the default where all was.

    Args:
        key: The key of the widget, which must not be drawn yet.
        names: The names of the algorithms that can be picked now.
        default: The default of these.
    """
    picked_before = st.session_state.get(key) or []
    if not set(picked_before) <= set(names):
        st.session_state[key] = [name for name in names if name in picked_before] or default


def pick_parameters_of_algorithms(names: list[str]) -> ParamsOfAlgorithms:
    """Widgets for the parameters of these algorithms, in an expander."""
    params: ParamsOfAlgorithms = {name: {} for name in names}
    if not any(ALGORITHMS[name].parameters for name in names):
        return params
    with st.expander("Model parameters", icon=":material/tune:"):
        for name in names:
            algorithm = ALGORITHMS[name]
            if algorithm.parameters:
                st.markdown(f"**{algorithm.title}** · {algorithm.paper}")
                with st.container(horizontal=True):
                    params[name] = parameter_widgets(name, algorithm.parameters)
    return params


# How the data is split and scored.


_PLACED_FOLD_SETTINGS = (
    "k",
    "seed",
    "split",
    "metric",
    "n",
    "candidates",
    "negatives",
    "negative_sampling",
)
"""Settings that have a place of their own on the form."""
FULL, SAMPLED = "full ranking", "sampled negatives"
NEGATIVES = 100
"""As many as most work that samples."""

_SYMBOLS_OF_SAMPLES = (
    r"$H$: the held-out samples; $y$: true value; $\hat{y}$: predicted value; $Y$: the classes."
)
_SYMBOLS = {
    Task.TOP_N: r"$H$: the user's held-out items; $C$: candidates; $i_r$: the item at rank $r$; "
    r"$rel_r$: 1 if it is held out; $s$: scores; $p$: probabilities.",
    Task.RATINGS: r"$H$: the held-out pairs of user and item; $r$: the rating given; $\hat{r}$: "
    "the rating predicted, clipped to the scale.",
    Task.CLASSES: _SYMBOLS_OF_SAMPLES,
    Task.NUMBERS: _SYMBOLS_OF_SAMPLES,
}

TASK_OF_METRIC = "task-of"
"""In the session: the task whose usual metric and split were offered."""


def set_usual_metric_and_split(names: list[str]) -> None:
    """Call before metric and split are drawn: each task brings its own, as algorithms change.

    Args:
        names: The names of the picked algorithms; nothing changes where there are none.
    """
    if not names:
        return
    state = st.session_state
    task = models.algorithm(names[0]).task
    task_before = state.get(TASK_OF_METRIC)
    state[TASK_OF_METRIC] = task
    if task_before is None:  # the form is drawn for the first time
        if {"metric", "split"} & {*state, *st.query_params}:  # a link or a filled form has chosen
            return
        task_before = Task.TOP_N  # the widgets begin with the usual choices for top-n
    if task == task_before:
        return
    state["metric"] = task.usual_metric
    state["split"] = task.usual_split


def pick_fold_settings(task: Task) -> dict[str, Any]:
    """Widgets of folds and score for a task; gives what was picked, as arguments of `make_spec`."""
    left_column, middle_column, right_column = st.columns(3)
    # The widget of the split is drawn further down, but the split decides which k is usual.
    split = picked_split()
    set_usual_k(split)
    k = pick_setting("k", left_column)
    metric = pick_metric(middle_column, task.tasks_on_same_data, **widget_arguments("metric"))
    n = SETTINGS["n"].default
    if METRICS[metric].task.ranks:
        n = pick_setting("n", right_column)
    settings_of_score = pick_score_settings(metric)
    first_split = next(iter(SPLITS))  # the form begins with the first split
    is_usual_split = split in (first_split, task.usual_split)
    with st.expander(
        "Fold strategy and seed",
        icon=":material/splitscreen:",
        expanded=not is_usual_split,  # a split that a link has picked is to be seen
    ):
        strategy = SPLITS[pick_strategy(splits.serving(task))]
        # `ecv` says how e-fold cross-validation applies to it.
        words = f"{strategy.help} *{strategy.ecv}*"
        if strategy.single and k != 1:
            k = 1
            words += " This strategy makes one split, so k is 1 here."
        entry = picked_dataset()
        if task.ranks and datasets.available(entry):
            words = f"{words}\n\n{split_advice(entry.id, strategy)}"
        st.caption(words)
        params = pick_strategy_parameters(strategy)
        seed = pick_setting("seed", width=200)
    return {
        "k": k,
        "seed": seed,
        "metric": metric,
        "n": n,
        "split": strategy.id,
        "split_params": params,
        **settings_of_score,
    }


def pick_metric(
    place: DeltaGenerator,
    tasks: Sequence[Task],
    **arguments: Any,  # noqa: ANN401
) -> str:
    """The metric's id, of some tasks; `arguments` has the label, the key and the help."""
    titles = {}
    lines = []
    for name, metric in METRICS.items():
        if metric.task in tasks and not metric.descriptive:
            titles[name] = metric.title
            lines.append(f"- **{metric.title}**: {metric.help}")
    listed = "\n".join(lines)
    arguments["help"] = f"{arguments['help']}\n\n{listed}"
    names = list(titles)
    picked = place.selectbox(options=names, format_func=titles.__getitem__, **arguments)
    return picked or names[0]


def pick_score_settings(metric: str) -> dict[str, Any]:
    """The metric's definition and the widgets of the ranking protocol, folded away at first.

    What is predicted has no such protocol: every held-out rating or sample counts.

    Returns:
        What was picked, as arguments of `make_spec`.
    """
    if not METRICS[metric].task.ranks:
        with st.expander("How predictions are scored", icon=":material/leaderboard:"):
            _show_definition(metric)
        return {}
    is_sampled = SAMPLED in (st.session_state.get("ranking"), st.query_params.get("ranking"))
    with st.expander(
        "What is ranked, and how it is scored",
        icon=":material/leaderboard:",
        expanded=is_sampled,  # sampling that a link or a run has picked is to be seen
    ):
        _show_definition(metric)
        picked = {"candidates": pick_setting("candidates")}
        ranking = st.segmented_control(
            "Ranked against",
            [FULL, SAMPLED],
            default=FULL,
            required=True,
            key="ranking",
            **KEPT_IN_ADDRESS,
            help="Full ranking compares each held-out item with every candidate. With sampled "
            "negatives, a few items are drawn once for each user, and each held-out item is ranked "
            "against these alone. These items are the same for every algorithm.",
        )
        if ranking == SAMPLED:
            with st.container(horizontal=True):
                negatives = st.number_input(
                    value=NEGATIVES, **widget_arguments("negatives", width=160)
                )
                picked["negatives"] = int(negatives)
                picked["negative_sampling"] = pick_setting("negative_sampling")
        # All other settings that change a score follow here.
        picked |= pick_other_settings(SCORE_ROLES, _PLACED_FOLD_SETTINGS)
    if ranking == SAMPLED:
        st.warning(SAMPLED_WARNING, icon=":material/warning:")
    return picked


def _show_definition(name: str) -> None:
    metric = METRICS[name]
    st.markdown(f"**{metric.title}.** {metric.help}")
    if not metric.formula:
        return
    st.latex(metric.formula)
    # `elsewhere` says how other libraries define the metric differently, and is mostly empty.
    st.caption(f"{_SYMBOLS[metric.task]} Source: {metric.source}. {metric.elsewhere}".rstrip())


# When to stop.


_PLACED_STOP_SETTINGS = ("rule", "full", "confidence", "min_folds", "country")
"""Settings that have a place of their own on the form."""


def pick_stop_settings(k: int) -> dict[str, Any]:
    """Widgets of the stopping rule for a cross-validation of k folds; of one fold, none decides.

    Returns:
        What was picked, as arguments of `make_spec`.
    """
    rules = "\n\n".join(f"**{rule.title}**: {rule.help}" for rule in RULES.values())
    rule_id = st.segmented_control(
        options=list(RULES),
        default=SETTINGS["rule"].default,
        required=True,
        format_func=titles_in(RULES).__getitem__,
        disabled=k == 1,
        **widget_arguments("rule", help=explained(rules, "stopping-rule")),
    )
    rule = RULES[rule_id]
    picked: dict[str, Any] = {"rule": rule.id}
    # The minimum of folds is in sight where it decides how early the rule stops. Otherwise it is in
    # the expander.
    min_folds_is_folded_away = k > 1 and not _stops_by_min_folds(rule)
    if k == 1:
        st.caption("No rule applies: after one fold there is none to save.")
    else:
        picked["rule_params"] = {
            parameter.name: _pick_rule_parameter(rule, parameter) for parameter in rule.parameters
        }
        if not rule.parameters:
            st.caption(rule.help)
        if _stops_by_min_folds(rule):
            picked["min_folds"] = _pick_min_folds(rule, k)
        if rule.id != NEVER_STOPS:
            picked["full"] = pick_setting("full")
    label = "Interval, energy"
    if min_folds_is_folded_away:
        label = "Interval, minimum folds, energy"
    with st.expander(label, icon=":material/straighten:"):
        left_column, right_column = st.columns(2)
        picked["confidence"] = pick_setting("confidence", left_column, step=0.01, format="%.3f")
        if min_folds_is_folded_away:
            with right_column:
                picked["min_folds"] = _pick_min_folds(rule, k)
        picked["country"] = _pick_country()
        # All other settings that change the stop, or what is reported, follow here.
        picked |= pick_other_settings((Role.STOP, Role.REPORT), _PLACED_STOP_SETTINGS, rule.id)
        _offer_reading_of_meters()
    return picked


def rule_param_key(rule: Rule, parameter: Parameter) -> str:
    """The session's key of a widget, and its name in the address."""
    if parameter.flag:
        return parameter.name
    return parameter_key(f"rule-{rule.id}", parameter.name)


def rule_values(spec: RunSpec) -> dict[str, Any]:
    """What the widgets show of a run's rule, by their keys."""
    rule = RULES.get(spec.rule)
    if rule is None:
        return {}
    values = rule.values(spec)
    shown: dict[str, Any] = {}
    for parameter in rule.parameters:
        value = values[parameter.name]
        if parameter.ids:  # a text like 'popular,item-knn' becomes a list of ids
            value = [name for name in str(value).split(",") if name]
        elif parameter.steps:  # the slider knows a value as its text rounds it
            value = value_as_shown(parameter, float(value))
        shown[rule_param_key(rule, parameter)] = value
    return shown


def slider_steps(parameter: Parameter, key: str) -> list[float]:
    """Its steps, and between them the value that the address or an opened run has.

    Args:
        parameter: One with steps.
        key: The key of its slider, and in the address.
    """
    steps = set(parameter.steps)
    picked = st.session_state.get(key, parameter.default)
    for value in (picked, *st.query_params.get_all(key)):
        # A value that a link or a run has put into the form becomes one more step.
        with suppress(InputError, ValueError):  # the form has warned of a text that is no value
            number = _number_of_text(str(value))
            steps.add(value_as_shown(parameter, float(parameter.parse(number))))
    return sorted(steps)


def value_as_shown(parameter: Parameter, value: float) -> float:
    """The value that its text stands for, which is how the slider and the address know it."""
    text = parameter.text(value)
    for step in parameter.steps:
        if parameter.text(step) == text:
            return step
    return _number_of_text(text)


def _number_of_text(text: str) -> float:
    if text.endswith("%"):
        return float(text[:-1]) / 100
    return float(text)


def _pick_rule_parameter(rule: Rule, parameter: Parameter) -> Any:  # noqa: ANN401 - of the parameter's type
    """The widget of a rule's parameter, and what its value means."""
    key = rule_param_key(rule, parameter)
    arguments: dict[str, Any] = {
        "label": parameter.label or parameter.words.capitalize(),
        "key": key,
        "help": help_of(parameter.help, parameter.terms),
        **KEPT_IN_ADDRESS,
    }
    # The parameter lists cheap models: quick ones, by whose scores the rule adjusts those of the
    # run.
    if parameter.ids:
        return st.multiselect(options=_cheap_models(), placeholder="none", **arguments)
    value: Any
    if parameter.steps:
        value = st.select_slider(
            options=slider_steps(parameter, key),
            value=parameter.default,
            format_func=parameter.text,
            **arguments,
        )
    else:
        value = pick_parameter(parameter, **arguments)
    if parameter.meaning:
        meaning = parameter.meaning(float(value))
        usual_values = [
            f"{name.lower()} {parameter.text(step)}" for name, step in parameter.presets
        ]
        if usual_values:
            meaning = f"{meaning} Usual values: {', '.join(usual_values)}."
        st.caption(meaning)
    return value


def _cheap_models() -> list[str]:
    """The models that draw no random numbers: their folds are the quick ones."""
    tasks = picked_dataset().tasks
    names = []
    for name, algorithm in ALGORITHMS.items():
        # A model that uses no seed and needs no further data is quick to fit.
        if not algorithm.random and algorithm.needs is Need.NOTHING and algorithm.task in tasks:
            names.append(name)
    return names


def _stops_by_min_folds(rule: Rule) -> bool:
    """Whether the minimum of folds is the setting that has the rule stop sooner or later."""
    # The axis of a rule is the parameter that decides how early it stops.
    return rule.axis is not None and rule.axis.scale == "folds"


def _pick_min_folds(rule: Rule, k: int) -> int:
    """The minimum number of folds, which is what some rules are about."""
    # Each rule has a minimum of its own, so its id is in the key. `bind=None` keeps the minimum out
    # of the page's address.
    arguments = widget_arguments("min_folds", key=min_folds_key(rule.id), bind=None)
    # The axis of a rule decides how early it stops; where that is the minimum, the rule names it.
    if rule.axis is not None and rule.axis.name == "min_folds":
        arguments["label"] = rule.axis.label
    folds = st.number_input(
        value=min(rule.default_folds, k),
        disabled="min_folds" not in rule.run_settings,
        width=200,
        **arguments,
    )
    return int(folds)


def min_folds_key(rule: str) -> str:
    """The session's key of the minimum: each rule has a default and a least one of its own."""
    return f"min_folds-{rule}"


def country_names() -> dict[str, str]:
    """The code of each country -> its name."""
    return {code: country.name for code, country in countries().items()}


def _pick_country() -> str:
    """The code of the country whose electricity is used."""
    names = country_names()
    codes = list(names)
    code: str = st.selectbox(
        options=codes,
        index=codes.index(SETTINGS["country"].default),
        format_func=names.__getitem__,
        **widget_arguments("country"),
    )
    country = countries()[code]
    st.caption(f"{country.grams_co2e_per_kwh:.0f} g CO2e per kWh ({country.year}).")
    return code


def _offer_reading_of_meters() -> None:
    """For those who may start runs of any kind; visitors see nothing of this machine's network."""
    if not _may_see_meters():
        return
    names = meter_names()
    if not names:
        st.caption(
            "No meter is set up, so energy is read from the machine's own counters, or estimated. "
            "To have every fold measured by a plug, SLURM or a command, start the dashboard with a "
            "setting such as `ECV_METER=shelly:192.168.1.20` (docs/energy.md)."
        )
    elif st.toggle(f"Read {', '.join(names)} now", key="read-meters"):
        _draw_readings(names)


def _may_see_meters() -> bool:
    return who().role in (PersonRole.OWNER, PersonRole.EDITOR)


@st.fragment(run_every="2s")
def _draw_readings(names: list[str]) -> None:
    """What each says, every two seconds, for as long as whoever looks may see it."""
    if not _may_see_meters():
        st.rerun()
    for name in names:
        try:
            value, unit = reading_now(device_from_text(name))
        except InputError as error:
            st.error(f"`{name}`: {sentence(error)}", icon=":material/power_off:")
        else:
            quantity = "Energy counted so far"
            if unit == "W":
                quantity = "Power now"
            st.metric(name, f"{value:,.1f} {unit}", help=f"{quantity}, read every two seconds.")
