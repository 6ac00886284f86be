"""Pick one or several algorithms and set their parameters."""

from __future__ import annotations

import streamlit as st

from ecv_core.models import ALGORITHMS
from ecv_core.models.parameters import Algorithm, Parameter
from ecv_core.records import ParamValue

DEFAULT = "item-knn"

Chosen = dict[str, dict[str, ParamValue]]
"""Algorithm id -> its parameters."""


def algorithm_picker() -> list[str]:
    """Ids of the picked algorithms, in the registry's order; may be empty."""
    picked = st.pills(
        "Algorithms",
        list(ALGORITHMS),
        selection_mode="multi",
        default=[DEFAULT],
        key="algorithm",
        bind="query-params",
        persist_state="session",
        help="Each one is a run of its own; several run one after another and show together.\n\n"
        + "\n".join(f"- **{name}**: {known.summary}" for name, known in ALGORITHMS.items()),
    )
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
                _presets(algorithm)
                with st.container(horizontal=True):
                    chosen[name] = {p.name: _widget(algorithm, p) for p in algorithm.parameters}
    return chosen


def parameter_key(algorithm: str, parameter: str) -> str:
    """The session's key of a parameter's widget."""
    return f"param-{algorithm}-{parameter}"


def _presets(algorithm: Algorithm) -> None:
    """Buttons that fill in a named set of values; none where the paper's are ours."""
    if not algorithm.paper_default:
        return

    def fill(values: dict[str, ParamValue]) -> None:
        for name, value in values.items():
            st.session_state[parameter_key(algorithm.id, name)] = value

    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Fill in:", width="content")
        for name, values in algorithm.presets.items():
            st.button(
                name,
                key=f"preset-{algorithm.id}-{name}",
                type="tertiary",
                on_click=fill,
                args=(values,),
            )


def _widget(algorithm: Algorithm, parameter: Parameter) -> ParamValue:
    label = parameter.name.replace("_", " ")
    help_text = parameter.help + (f" Default from: {parameter.source}." if parameter.source else "")
    key = parameter_key(algorithm.id, parameter.name)
    default = parameter.default
    if isinstance(default, bool):
        return st.toggle(label, default, key=key, help=help_text, persist_state="session")
    if parameter.choices:
        return str(
            st.selectbox(
                label,
                parameter.choices,
                index=parameter.choices.index(str(default)),
                key=key,
                help=help_text,
                persist_state="session",
                width=200,
            )
        )
    if isinstance(default, str):
        return st.text_input(label, default, key=key, help=help_text, persist_state="session")
    if isinstance(default, int):
        return int(
            st.number_input(
                label,
                value=default,
                min_value=None if parameter.low is None else int(parameter.low),
                max_value=None if parameter.high is None else int(parameter.high),
                key=key,
                help=help_text,
                persist_state="session",
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
            persist_state="session",
            width=200,
        )
    )
