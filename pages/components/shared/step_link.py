"""Choices in a link: any way to write a slider's number is that step, an id is its choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isclose

import streamlit as st
from streamlit.errors import StreamlitAPIException

from pages.components.shared.link_warning import link_warning
from pages.components.shared.state import escaped


def step_from_link(
    key: str, steps: Sequence[float], text_of: Callable[[float], str], *, name: str = "alpha"
) -> None:
    """Call before the slider is drawn: '?alpha=0.001' is the step that the slider calls '1e-3'.

    Streamlit knows the steps of a slider by their texts alone, and drops everything else from the
    address without a word. A number that is no step is said so.

    Args:
        key: of the slider, and in the address.
        steps: of the slider, in ascending order.
        text_of: how the slider writes a step.
        name: of the setting, for the sentence.
    """
    asked = st.query_params.get(key)
    if asked is None or asked in map(text_of, steps):
        return
    step = _step(asked, steps)
    if step is None:
        link_warning(
            f"the slider has no {name} {escaped(asked)}; its steps go from "
            f"{text_of(steps[0])} to {text_of(steps[-1])}."
        )
        return
    try:
        st.query_params[key] = text_of(step)
    except StreamlitAPIException:  # the way back in the browser: the slider is there already
        st.session_state[key] = step
        return
    st.rerun()  # a slider reads the address as it was when the run of the page began


def label_from_link(key: str, labels: Mapping[str, str]) -> None:
    """Call before the widget is drawn: '?metric=recall' is the choice that it calls 'Recall'.

    Args:
        key: of the widget, and in the address.
        labels: id -> how the widget writes it, which is how Streamlit knows it in the address.
    """
    asked = st.query_params.get(key, "")
    if asked not in labels or labels[asked] == asked:
        return
    try:
        st.query_params[key] = labels[asked]
    except StreamlitAPIException:  # the way back in the browser: the widget is there already
        st.session_state[key] = asked
        return
    st.rerun()


def _step(asked: str, steps: Sequence[float]) -> float | None:
    try:
        number = float(asked)
    except ValueError:
        return None
    return next((step for step in steps if isclose(step, number, rel_tol=1e-6)), None)
