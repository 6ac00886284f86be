"""Widgets for anything that has parameters: a model, a split strategy."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from ecv_core.parameters import Parameter
from ecv_core.records import ParamValue
from pages.components.shared.state import KEPT


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


def _widget(owner: str, parameter: Parameter) -> ParamValue:
    label = parameter.name.replace("_", " ")
    help_text = parameter.help + (f" Default from: {parameter.source}." if parameter.source else "")
    key = parameter_key(owner, parameter.name)
    default = parameter.default
    if isinstance(default, bool):
        return st.toggle(
            label,
            default,
            key=key,
            help=help_text,
            **KEPT,
        )
    if parameter.choices:
        return str(
            st.selectbox(
                label,
                parameter.choices,
                index=parameter.choices.index(str(default)),
                key=key,
                help=help_text,
                **KEPT,
                width=200,
            )
        )
    if isinstance(default, str):
        return st.text_input(
            label,
            default,
            key=key,
            help=help_text,
            **KEPT,
        )
    if isinstance(default, int):
        return int(
            st.number_input(
                label,
                value=default,
                min_value=None if parameter.low is None else int(parameter.low),
                max_value=None if parameter.high is None else int(parameter.high),
                key=key,
                help=help_text,
                **KEPT,
                width=200,
            )
        )
    return float(
        st.number_input(
            label,
            value=default,
            min_value=None if parameter.low is None else float(parameter.low),
            max_value=None if parameter.high is None else float(parameter.high),
            format="%g",
            key=key,
            help=help_text,
            **KEPT,
            width=200,
        )
    )
