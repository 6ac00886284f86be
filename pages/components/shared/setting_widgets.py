"""Widgets of the settings of a run: label, help, default and type as `RunSpec` declares them."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from ecv_core.records import SETTINGS, Role, Setting
from ecv_core.stopping import RULES
from pages.components.shared.glossary import explained
from pages.components.shared.parameter_widgets import typed_widget
from pages.components.shared.state import KEPT

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_TERMS = {
    "k": ("k", "fold"),
    "n": ("top-n",),
    "rule": ("stopping-rule",),
    "confidence": ("confidence", "confidence-interval"),
    "min_folds": ("min-folds",),
}
"""Entries of the glossary that explain a setting."""

_CHOICES = {
    "candidates": {"all": "all items", "train": "items in training"},
    "negative_sampling": {"uniform": "uniformly", "popularity": "by popularity"},
}
"""What the form calls a choice, where that is not its id."""


def on_form(known: Setting) -> bool:
    """Whether the Run page asks for it; which folds to run is for the command line."""
    return known.option is not None and known.kind is not tuple


def choice_labels(known: Setting) -> Mapping[str, str]:
    """What can be chosen of a setting -> what the form calls it; in the address too."""
    return _CHOICES.get(known.name) or {one: one for one in known.choices}


def about(name: str, **changed: Any) -> dict[str, Any]:  # noqa: ANN401 - arguments of a widget
    """Label, key, help and place in the address of a setting's widget, as its arguments.

    Args:
        name: of the setting.
        changed: what is otherwise on this page.
    """
    known = SETTINGS[name]
    terms = _TERMS.get(name, ())
    lines = [known.help, *(f"**{one}**: {text}" for one, text in known.choices.items())]
    words = "\n\n".join(line for line in lines if line)
    return {
        "label": known.label or known.words.capitalize(),
        "key": name,
        **KEPT,
        "help": explained(words, *terms) if terms else words or None,
    } | changed


def setting_widget(
    name: str,
    place: DeltaGenerator | None = None,
    **changed: Any,  # noqa: ANN401 - arguments of a widget
) -> Any:  # noqa: ANN401 - of the setting's type
    """The widget that the setting's type asks for; gives what is picked, unchecked.

    Args:
        name: of the setting.
        place: where to draw it, if not here.
        changed: what is otherwise on this page.
    """
    known = SETTINGS[name]
    if known.choices:
        labels = choice_labels(known)
        return (place or st).segmented_control(
            options=list(labels),
            default=known.default,
            required=True,
            format_func=lambda one: labels[one],
            **about(name, **changed),
        )
    return typed_widget(known.kind, known.default, place, **about(name, **changed))


def other_settings(
    roles: Container[Role], placed: Container[str], rule: str | None = None
) -> dict[str, Any]:
    """Widgets of the settings that have no place of their own on the form; gives what is picked.

    Args:
        roles: which of them.
        placed: names of those that are drawn elsewhere.
        rule: the id of the stopping rule; settings that it does not look at are left out.
    """
    looked_at = RULES[rule].told if rule else ()
    return {
        name: setting_widget(name)
        for name, known in SETTINGS.items()
        if on_form(known)
        and known.role in roles
        and name not in placed
        and (not known.of_rule or name in looked_at)
    }
