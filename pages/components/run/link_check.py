"""A link's choices that this installation does not have, said before the form drops them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

import ecv_core.datasets as datasets
from ecv_core import models, splits, stopping
from ecv_core.energy import country
from ecv_core.errors import EcvError, InputError, UnknownName
from ecv_core.evaluation import METRICS, check_metric
from ecv_core.records import SETTINGS, Setting
from ecv_core.splits import IMPORTED
from pages.components.run.algorithm_picker import ALGORITHM_LABELS
from pages.components.run.score_settings import CHOICES
from pages.components.run.stop_settings import rule_param_key, rule_titles
from pages.components.shared.link import label_from_link, step_from_link
from pages.components.shared.setting_widgets import choice_labels, on_form
from pages.components.shared.state import sentence
from pages.components.shared.words import dataset_title, titles_of


def _number(key: str, text: str) -> object:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"the link's {key} must be a number, but is '{text}'") from None


def _choice(known: Setting, label: str) -> object:
    if label not in (labels := choice_labels(known).values()):
        raise UnknownName(known.said or known.words, label, labels)
    return label


def _split(name: str) -> object:
    return name == IMPORTED or splits.strategy(name)


def _metric(title: str) -> object:
    for known in METRICS.values():
        if title in (known.title, known.id) and known.id not in CHOICES:
            check_metric(known.id, sampled=False, log_odds=True)
    if title not in (titles := [METRICS[name].title for name in CHOICES]):
        raise UnknownName("metric", title, titles)
    return title


def _dataset(title: str) -> object:
    return title in titles_of(datasets.catalogue(), dataset_title).values() or datasets.entry(title)


def _algorithm(label: str) -> object:
    return label in ALGORITHM_LABELS.values() or models.algorithm(label)


def _rule(title: str) -> object:
    return title in rule_titles().values() or stopping.rule(title)


_ON_FORM = [known for known in SETTINGS.values() if on_form(known)]
CHECKS: dict[str, Callable[[str], object]] = {
    "dataset": _dataset,
    "algorithm": _algorithm,
    "rule": _rule,
    "split": _split,
    "metric": _metric,
    "country": country,
}
"""Of a value in the address, by key; sliders and other settings come with theirs."""
CHECKS |= {one.name: partial(_choice, one) for one in _ON_FORM if one.choices}
CHECKS |= {one.name: partial(_number, one.name) for one in _ON_FORM if one.kind in (int, float)}


def link_check() -> None:
    """Say what the address asks for that cannot be; call before the widgets read it."""
    checks = dict(CHECKS)
    for rule in stopping.RULES.values():
        for one in rule.parameters:
            key = rule_param_key(rule, one)
            if one.steps:
                step_from_link(key, one.steps, one.text, name=one.words)
            elif not one.ids:
                checks[key] = one.parse
    label_from_link("metric", {name: METRICS[name].title for name in CHOICES})
    label_from_link("dataset", titles_of(datasets.catalogue(), dataset_title))
    label_from_link("algorithm", ALGORITHM_LABELS)
    label_from_link("rule", rule_titles())
    for known in _ON_FORM:
        label_from_link(known.name, choice_labels(known))
    for key, check in checks.items():
        for value in st.query_params.get_all(key):
            try:
                check(value)
            except EcvError as error:
                st.warning(f"From the link: {sentence(error)}", icon=":material/link_off:")
