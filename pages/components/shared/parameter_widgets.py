"""Widgets for anything with a type and a default: parameters of a model or a split, settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import streamlit as st

from ecv_core.parameters import Parameter
from ecv_core.records import ParamValue
from pages.components.shared.state import KEPT

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


def parameter_widgets(owner: str, parameters: Iterable[Parameter]) -> dict[str, ParamValue]:
    """One widget per parameter; gives their values by name. What differs is in the address.

    Args:
        owner: id of what they belong to, in the widgets' keys.
        parameters: what can be set.
    """
    return {parameter.name: _widget(owner, parameter) for parameter in parameters}


def parameter_key(owner: str, parameter: str) -> str:
    """The session's key of a parameter's widget."""
    return f"param-{owner}-{parameter}"


def typed_widget(
    kind: type,
    default: Any,  # noqa: ANN401 - of this type, or None
    place: DeltaGenerator | None = None,
    **about: Any,  # noqa: ANN401 - arguments of the widget
) -> Any:  # noqa: ANN401 - of this type, or None where that is the default
    """A toggle, a field for text or one for a number."""
    here = place or st
    if kind is bool:
        return here.toggle(value=bool(default), **about)
    if kind is str:
        return here.text_input(value=default, **about)
    value = here.number_input(value=default, **about)
    return value if value is None else kind(value)


def _widget(owner: str, parameter: Parameter) -> ParamValue:
    return parameter_widget(
        parameter,
        label=parameter.name.replace("_", " "),
        key=parameter_key(owner, parameter.name),
        help=parameter.help + (f" Default from: {parameter.source}." if parameter.source else ""),
        **KEPT,
    )


def parameter_widget(
    parameter: Parameter,
    place: DeltaGenerator | None = None,
    **about: Any,  # noqa: ANN401 - arguments of the widget
) -> ParamValue:
    """The widget that a parameter's type asks for.

    Args:
        parameter: type, range, choices and default.
        place: where to draw it, if not here.
        about: label, key, help and what else the widget takes.
    """
    default = parameter.default
    if parameter.choices:
        at = parameter.choices.index(str(default))
        here = place or st
        return str(here.selectbox(options=parameter.choices, index=at, width=200, **about))
    kind = type(default)
    if kind in (int, float):
        about |= {
            "min_value": None if parameter.low is None else kind(parameter.low),
            "max_value": None if parameter.high is None else kind(parameter.high),
            "width": 200,
        }
    if kind is float:
        about["format"] = "%g"
    value: ParamValue = typed_widget(kind, default, place, **about)
    return value
