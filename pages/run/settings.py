"""What is evaluated and when it stops: algorithms, folds, score, rule, with their widgets."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ecv_core import dataset as datasets
from ecv_core import models, splits
from ecv_core.access.rights import PersonRole
from ecv_core.energy.meter import countries
from ecv_core.energy.real_meters import device, named, reading_now
from ecv_core.evaluation import METRICS, SAMPLED_WARNING
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Need
from ecv_core.records.parameters import Parameter, ParamValue
from ecv_core.records.spec import SCORES, SETTINGS, Role, RunSpec
from ecv_core.records.tasks import Task
from ecv_core.splits import SPLITS
from ecv_core.stopping import NEVER_STOPS, RULES, Rule
from pages.shared.address.link import label_from_link
from pages.shared.live.acting import who
from pages.shared.live.state import KEPT, sentence
from pages.shared.widgets.dataset_picker import picked_dataset
from pages.shared.widgets.glossary import explained
from pages.shared.widgets.setting_widgets import (
    about,
    asked_split,
    other_settings,
    parameter_key,
    parameter_widget,
    parameter_widgets,
    setting_widget,
    split_advice,
    strategy_parameters,
    strategy_select,
    usual_k,
)

# Algorithms and their parameters.


DEFAULT = "item-knn"

ALGORITHM_LABELS = {
    name: f"{known.title} ({known.task.note})" if known.task.note else known.title
    for name, known in ALGORITHMS.items()
}
"""Algorithm id -> how it is picked: with what it is for, where it does not rank items."""
_TASKS = (
    "Those marked **(ratings)** predict ratings: with them the metric is RMSE or MAE and the folds "
    "are random tenths of all ratings. All others rank items. One run is one or the other."
)

Chosen = dict[str, dict[str, ParamValue]]
"""Algorithm id -> its parameters."""


def algorithm_picker(
    tasks: Sequence[Task] = Task.TOP_N.together,
    key: str = "algorithm",
    default: Sequence[str] = (DEFAULT,),
    what: str = "Each one is a run of its own; several run one after another and show together.",
) -> list[str]:
    """Ids of the picked algorithms, in the registry's order; may be empty.

    Args:
        tasks: what they are to do.
        key: of the widget, and in the address.
        default: what is picked at first; the first of all where none of it does that.
        what: becomes of several, for the help.
    """
    label_from_link(key, ALGORITHM_LABELS)
    names = [name for name, known in ALGORITHMS.items() if known.task in tasks]
    default = [name for name in default if name in names] or names[:1]
    before = st.session_state.get(key)
    if before and not set(before) <= set(names):  # of another dataset, for another task
        st.session_state[key] = [name for name in before if name in names] or list(default)
    picked = st.pills(
        "Algorithms",
        names,
        format_func=ALGORITHM_LABELS.__getitem__,
        selection_mode="multi",
        default=list(default),
        key=key,
        **KEPT,
        help=f"{what}\n\n"
        + "\n".join(
            f"- **{ALGORITHMS[name].title}** (`{name}`): {ALGORITHMS[name].summary}"
            for name in names
        ),
    )
    if len(tasks) > 1:
        st.caption(_TASKS)
    for name in picked:
        st.caption(f"**{ALGORITHMS[name].title}.** {ALGORITHMS[name].summary}")
    return [name for name in ALGORITHMS if name in picked]


def parameter_settings(names: list[str]) -> Chosen:
    """Widgets for the parameters of these algorithms, in an expander."""
    chosen: Chosen = {name: {} for name in names}
    if not any(ALGORITHMS[name].parameters for name in names):
        return chosen
    with st.expander("Model parameters", icon=":material/tune:"):
        for name in names:
            algorithm = ALGORITHMS[name]
            if algorithm.parameters:
                st.markdown(f"**{algorithm.title}** · {algorithm.paper}")
                with st.container(horizontal=True):
                    chosen[name] = parameter_widgets(name, algorithm.parameters)
    return chosen


# How the data is split and scored.


_PLACED_FOLDS = (
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
    r"$H$: the held-out samples; $y$: what is so; $\hat{y}$: what is predicted; $Y$: the classes."
)
_SYMBOLS = {
    Task.TOP_N: r"$H$: the user's held-out items; $C$: candidates; $i_r$: the item at rank $r$; "
    r"$rel_r$: 1 if it is held out; $s$: scores; $p$: probabilities.",
    Task.RATINGS: r"$H$: the held-out pairs of user and item; $r$: the rating given; $\hat{r}$: "
    "the rating predicted, clipped to the scale.",
    Task.CLASSES: _SYMBOLS_OF_SAMPLES,
    Task.NUMBERS: _SYMBOLS_OF_SAMPLES,
}

TASK_OF = "task-of"
"""In the session: the task whose usual metric and split were offered."""


def usual_of_task(names: list[str]) -> None:
    """Call before metric and split are drawn: each task brings its own, as algorithms change.

    Args: names: of the picked algorithms; nothing changes where there are none.
    """
    if not names:
        return
    state, task = st.session_state, models.algorithm(names[0]).task
    before = state.get(TASK_OF)
    state[TASK_OF] = task
    known = any(key in state or key in st.query_params for key in ("metric", "split"))
    if task == (before or Task.TOP_N) or (before is None and known):
        return
    state["metric"], state["split"] = task.usual_metric, task.usual_split


def fold_settings(task: Task = Task.TOP_N) -> dict[str, Any]:
    """Widgets of folds and score for a task; gives what was picked, as arguments of `make_spec`."""
    left, middle, right = st.columns(3)
    asked = asked_split()
    usual_k(asked)
    k = setting_widget("k", left)
    metric = metric_select(middle, task.together, **about("metric"))
    n = SETTINGS["n"].default
    if METRICS[metric].task.ranks:
        n = setting_widget("n", right)
    score = score_settings(metric)
    with st.expander(
        "Fold strategy and seed",
        icon=":material/splitscreen:",
        expanded=asked not in (next(iter(SPLITS)), task.usual_split),  # a link's split is seen
    ):
        strategy = SPLITS[strategy_select(splits.serving(task))]
        words = f"{strategy.help} *{strategy.ecv}*"
        if strategy.single and k != 1:
            k = 1
            words += " This strategy makes one split, so k is 1 here."
        entry = picked_dataset()
        if task.ranks and datasets.available(entry):
            words = f"{words}\n\n{split_advice(entry.id, strategy)}"
        st.caption(words)
        params = strategy_parameters(strategy)
        seed = setting_widget("seed", width=200)
    picked = {"k": k, "seed": seed, "metric": metric, "n": n}
    return picked | {"split": strategy.id, "split_params": params} | score


def metric_select(
    place: DeltaGenerator,
    tasks: Sequence[Task] = Task.TOP_N.together,
    **about: Any,  # noqa: ANN401
) -> str:
    """The metric's id, of some tasks; `about` is the widget's label, key and help."""
    names = [name for name in METRICS if METRICS[name].task in tasks]
    listed = "\n".join(f"- **{METRICS[name].title}**: {METRICS[name].help}" for name in names)
    about["help"] = f"{about['help']}\n\n{listed}"
    picked = place.selectbox(options=names, format_func=lambda name: METRICS[name].title, **about)
    return picked or names[0]


def score_settings(metric: str) -> dict[str, Any]:
    """The metric's definition and the widgets of the ranking protocol, folded away at first.

    What is predicted has no such protocol: every held-out rating or sample counts.

    Returns: what was picked, as arguments of `make_spec`.
    """
    if not METRICS[metric].task.ranks:
        with st.expander("How predictions are scored", icon=":material/leaderboard:"):
            _definition(metric)
        return {}
    sampled = SAMPLED in (st.session_state.get("ranking"), st.query_params.get("ranking"))
    with st.expander(
        "What is ranked, and how it is scored", icon=":material/leaderboard:", expanded=sampled
    ):
        _definition(metric)
        picked = {"candidates": setting_widget("candidates")}
        ranking = st.segmented_control(
            "Ranked against",
            [FULL, SAMPLED],
            default=FULL,
            required=True,
            key="ranking",
            **KEPT,
            help="Full ranking compares a held-out item with every candidate. With sampled "
            "negatives a few are drawn once for each user, and each held-out item is ranked alone "
            "against them; every algorithm meets the same ones.",
        )
        if ranking == SAMPLED:
            with st.container(horizontal=True):
                negatives = st.number_input(value=NEGATIVES, **about("negatives", width=160))
                picked["negatives"] = int(negatives)
                picked["negative_sampling"] = setting_widget("negative_sampling")
        picked |= other_settings(SCORES, _PLACED_FOLDS)
    if ranking == SAMPLED:
        st.warning(SAMPLED_WARNING, icon=":material/warning:")
    return picked


def _definition(metric: str) -> None:
    known = METRICS[metric]
    st.markdown(f"**{known.title}.** {known.help}")
    if not known.formula:
        return
    st.latex(known.formula)
    st.caption(f"{_SYMBOLS[known.task]} Source: {known.source}. {known.elsewhere}".rstrip())


# When to stop.


_PLACED_STOP = ("rule", "full", "confidence", "min_folds", "country")
"""Settings that have a place of their own on the form."""


def stop_settings(k: int) -> dict[str, Any]:
    """Widgets of the stopping rule for a cross-validation of k folds.

    Returns: what was picked, as arguments of `make_spec`.
    """
    rules = "\n\n".join(f"**{known.title}**: {known.help}" for known in RULES.values())
    rule = st.segmented_control(
        options=list(RULES),
        default=SETTINGS["rule"].default,
        required=True,
        format_func=rule_titles().__getitem__,
        **about("rule", help=explained(rules, "stopping-rule")),
    )
    chosen = RULES[rule]
    picked: dict[str, Any] = {
        "rule": chosen.id,
        "rule_params": {one.name: _rule_param(chosen, one) for one in chosen.parameters},
    }
    if not chosen.parameters:
        st.caption(chosen.help)
    # What the rule is about is not folded away.
    at_hand = chosen.axis is not None and chosen.axis.scale == "folds"
    if at_hand:
        picked["min_folds"] = _min_folds(chosen, k)
    if chosen.id != NEVER_STOPS:
        picked["full"] = setting_widget("full")
    folded = "Interval, energy" if at_hand else "Interval, minimum folds, energy"
    with st.expander(folded, icon=":material/straighten:"):
        left, right = st.columns(2)
        picked["confidence"] = setting_widget("confidence", left, step=0.01, format="%.3f")
        if not at_hand:
            with right:
                picked["min_folds"] = _min_folds(chosen, k)
        picked["country"] = _country()
        picked |= other_settings((Role.STOP, Role.REPORT), _PLACED_STOP, chosen.id)
        _meters()
    return picked


def rule_titles() -> dict[str, str]:
    """Id -> title of every rule."""
    return {name: known.title for name, known in RULES.items()}


def rule_param_key(rule: Rule, parameter: Parameter) -> str:
    """The session's key of a widget, and its name in the address."""
    return parameter.name if parameter.flag else parameter_key(f"rule-{rule.id}", parameter.name)


def rule_values(spec: RunSpec) -> dict[str, Any]:
    """What the widgets show of a run's rule, by their keys."""
    if (rule := RULES.get(spec.rule)) is None:
        return {}
    values = rule.values(spec)
    found: dict[str, Any] = {}
    for one in rule.parameters:
        value = values[one.name]
        if one.ids:
            value = [word for word in str(value).split(",") if word]
        found[rule_param_key(rule, one)] = as_shown(one, float(value)) if one.steps else value
    return found


def slider_steps(known: Parameter, key: str) -> list[float]:
    """Its steps, and between them the value that the address or an opened run has.

    Args:
        known: a parameter with steps.
        key: of its slider, and in the address.
    """
    steps = set(known.steps)
    for given in (st.session_state.get(key), *st.query_params.get_all(key)):
        with suppress(InputError, ValueError):
            number = _number(str(known.default if given is None else given))
            steps.add(as_shown(known, float(known.parse(number))))
    return sorted(steps)


def as_shown(known: Parameter, value: float) -> float:
    """The value that its text stands for, which is how the slider and the address know it."""
    text = known.text(value)
    return next((step for step in known.steps if known.text(step) == text), _number(text))


def _number(text: str) -> float:
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def _rule_param(rule: Rule, known: Parameter) -> Any:  # noqa: ANN401 - of the parameter's type
    how: dict[str, Any] = {
        "label": known.label or known.words.capitalize(),
        "key": rule_param_key(rule, known),
        "help": explained(known.help, *known.terms) if known.terms else known.help,
        **KEPT,
    }
    if known.ids:
        return st.multiselect(options=_cheap(), placeholder="none", **how)
    picked: Any
    if not known.steps:
        picked = parameter_widget(known, **how)
    else:
        steps = slider_steps(known, how["key"])
        picked = st.select_slider(options=steps, value=known.default, format_func=known.text, **how)
    if known.meaning:
        named = ", ".join(f"{name.lower()} {known.text(step)}" for name, step in known.presets)
        st.caption(known.meaning(float(picked)) + (f" Usual: {named}." if named else ""))
    return picked


def _cheap() -> list[str]:
    """The models that draw no random numbers: their folds are the quick ones."""
    return [
        known.id
        for known in ALGORITHMS.values()
        if not known.random and known.needs is Need.NOTHING and known.task in picked_dataset().tasks
    ]


def _min_folds(chosen: Rule, k: int) -> int:
    """The minimum number of folds, which is what some rules are about."""
    axis = chosen.axis
    label = axis.label if axis and axis.name == "min_folds" else ""
    return int(
        st.number_input(
            value=min(chosen.default_folds, k),
            disabled="min_folds" not in chosen.told,
            width=200,
            **about("min_folds", key=min_folds_key(chosen.id), bind=None)
            | ({"label": label} if label else {}),
        )
    )


def min_folds_key(rule: str) -> str:
    """The session's key of the minimum: each rule has a default and a least one of its own."""
    return f"min_folds-{rule}"


def _country() -> str:
    known = countries()
    codes = list(known)
    code: str = st.selectbox(
        options=codes,
        index=codes.index(SETTINGS["country"].default),
        format_func=lambda code: known[code].name,
        **about("country"),
    )
    st.caption(f"{known[code].grams_co2e_per_kwh:.0f} g CO2e per kWh ({known[code].year}).")
    return code


def _meters() -> None:
    """For those who may start runs of any kind; visitors see nothing of this machine's network."""
    if who().role not in (PersonRole.OWNER, PersonRole.EDITOR):
        return
    names = named()
    if not names:
        st.caption(
            "No meter is named, so energy comes from the machine's own counters, or is estimated. "
            "A plug, SLURM or a command measures every fold once the dashboard is started with "
            "`ECV_METER=shelly:192.168.1.20` or the like (docs/energy.md)."
        )
    elif st.toggle(f"Read {', '.join(names)} now", key="read-meters"):
        _live(names)


@st.fragment(run_every="2s")
def _live(names: list[str]) -> None:
    """What each says, every two seconds."""
    for name in names:
        try:
            value, unit = reading_now(device(name))
        except InputError as error:
            st.error(f"`{name}`: {sentence(error)}", icon=":material/power_off:")
        else:
            what = "now" if unit == "W" else "counted so far"
            st.metric(name, f"{value:,.1f} {unit}", help=f"{what}; read every two seconds")
