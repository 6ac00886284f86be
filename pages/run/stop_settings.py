"""When to stop: the rule with its parameters and what they mean, interval, minimum folds."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ecv_core.energy.meter import countries
from ecv_core.jobs.metering import asked, device, named
from ecv_core.jobs.rights import PersonRole
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Need
from ecv_core.records.parameters import Parameter
from ecv_core.records.spec import SETTINGS, Role, RunSpec
from ecv_core.stopping import NEVER_STOPS, RULES, Rule
from pages.shared.live.acting import who
from pages.shared.live.state import KEPT, sentence
from pages.shared.widgets.dataset_picker import picked_dataset
from pages.shared.widgets.glossary import explained
from pages.shared.widgets.setting_widgets import (
    about,
    other_settings,
    parameter_key,
    parameter_widget,
    setting_widget,
)

_PLACED = ("rule", "full", "confidence", "min_folds", "country")
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
    picked: dict[str, Any] = {"rule": chosen.id, "rule_params": rule_params(chosen)}
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
        picked |= other_settings((Role.STOP, Role.REPORT), _PLACED, chosen.id)
        _meters()
    return picked


def rule_titles() -> dict[str, str]:
    """Id -> title of every rule."""
    return {name: known.title for name, known in RULES.items()}


def rule_params(
    rule: Rule,
    place: DeltaGenerator | None = None,
    *,
    prefix: str = "",
    **changed: Any,  # noqa: ANN401 - arguments of a widget
) -> dict[str, Any]:
    """Widgets of a rule's parameters; gives what is picked, by name.

    Args:
        rule: whose.
        place: where to draw them, if not here.
        prefix: of their keys, where a page has a second form; that one asks for no cheap models.
        changed: what is otherwise on this page.
    """
    return {
        one.name: _rule_param(rule, one, place or st, prefix, changed)
        for one in rule.parameters
        if not (one.ids and prefix)
    }


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
            text = str(known.default if given is None else given)
            number = float(text[:-1]) / 100 if text.endswith("%") else float(text)
            steps.add(as_shown(known, float(known.parse(number))))
    return sorted(steps)


def as_shown(known: Parameter, value: float) -> float:
    """The value that its text stands for, which is how the slider and the address know it."""
    text = known.text(value)
    number = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    return next((step for step in known.steps if known.text(step) == text), number)


def _rule_param(
    rule: Rule,
    known: Parameter,
    place: Any,  # noqa: ANN401 - the page, or a part of it
    prefix: str,
    changed: dict[str, Any],
) -> Any:  # noqa: ANN401 - of the parameter's type
    how: dict[str, Any] = {
        "label": known.label or known.words.capitalize(),
        "key": prefix + rule_param_key(rule, known),
        "help": explained(known.help, *known.terms) if known.terms else known.help,
        **KEPT,
    } | changed
    if known.ids:
        return place.multiselect(options=_cheap(), placeholder="none", **how)
    if not known.steps:
        picked = parameter_widget(known, place, **how)
    else:
        picked = place.select_slider(
            options=slider_steps(known, how["key"]),
            value=known.default,
            format_func=known.text,
            **how,
        )
    if known.meaning and not prefix:
        named = ", ".join(f"{name.lower()} {known.text(step)}" for name, step in known.presets)
        place.caption(known.meaning(float(picked)) + (f" Usual: {named}." if named else ""))
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
    label = {"label": chosen.axis.label} if chosen.axis and chosen.axis.name == "min_folds" else {}
    label = {key: text for key, text in label.items() if text}
    return int(
        st.number_input(
            value=min(chosen.default_folds, k),
            disabled="min_folds" not in chosen.told,
            width=200,
            **about("min_folds", key=min_folds_key(chosen.id), bind=None, **label),
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
            value, unit = asked(device(name))
        except InputError as error:
            st.error(f"`{name}`: {sentence(error)}", icon=":material/power_off:")
        else:
            what = "now" if unit == "W" else "counted so far"
            st.metric(name, f"{value:,.1f} {unit}", help=f"{what}; read every two seconds")
