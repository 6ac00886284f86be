"""The address of what is on a page: copied, read, put right."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from html import escape
from math import isclose, isfinite

import streamlit as st
from streamlit.errors import StreamlitAPIException

from ecv_core.records.parameters import listed
from pages.shared.base.component import component
from pages.shared.live.state import escaped

_button = component(
    __file__,
    "ecv_link",
    html="""
<div class="ecv-link">
  <button type="button">
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2"
      stroke-linecap="round" aria-hidden="true">
      <path d="M10 14a4.5 4.5 0 0 0 6.4 0l3-3a4.5 4.5 0 0 0-6.4-6.4l-1 1"/>
      <path d="M14 10a4.5 4.5 0 0 0-6.4 0l-3 3a4.5 4.5 0 0 0 6.4 6.4l1-1"/>
    </svg>
    <span class="ecv-link-label">Copy link</span>
  </button>
  <input type="text" readonly hidden aria-label="Link to this view">
  <span role="status" style="position:absolute;clip-path:inset(50%);width:1px;height:1px"></span>
</div>""",
    css="link.css",
    js=["link.js"],
)


_replace = component(__file__, "ecv_replace", html="", js=["replace.js"])


def replace_in_address(name: str, value: str) -> None:
    """Put a parameter into the address without a step for the browser's Back.

    `st.query_params` would make one. It has the new value from the next run of the script on.

    Args:
        name: The parameter, of which the address has at most one.
        value: Its value; an empty one takes it out.
    """
    _replace(key=f"replace-{name}", data={"name": name, "value": value})


def link_button() -> None:
    """In the head of every page: copies its address, and what `write_into_link` adds to it."""
    with st.container(key="copy-link"):
        _button(key="copy-link-button", data={})


def write_into_link(params: Mapping[str, str | Sequence[str]], *, left_out: str = "") -> None:
    """What the copied address of this page says beside what stands in it.

    Streamlit leaves a choice at its default out of the address. Where that default may be another
    one elsewhere or tomorrow (the newest run, all datasets), name it here.

    Args:
        params: Query parameter -> its value, or its values, for when the address leaves it out.
        left_out: What the page shows and no address can carry, such as 'the fold file'; it is said.
    """
    values_of: dict[str, list[str]] = {}
    for name, values in params.items():
        if isinstance(values, str):
            values_of[name] = [values]
        else:
            values_of[name] = list(values)
    # link.js reads these data: it copies the link, and says what of the page the link leaves out.
    data = json.dumps({"params": values_of, "without": left_out})
    st.html(f'<span hidden data-ecv-link="{escape(data)}"></span>')


def params_of_widgets(*keys: str) -> dict[str, list[str]]:
    """The values of these widgets as query parameters; those that are not on the page are left out.

    Args:
        keys: The keys of widgets with `bind="query-params"`.
    """
    params = {}
    for key in keys:
        value = st.session_state.get(key)
        if isinstance(value, list | tuple):
            params[key] = [str(choice) for choice in value]
        elif value is not None:
            params[key] = [str(value)]
    return params


_WARNINGS = "link-warnings"
"""In the session: the warnings about the link that were shown."""
_REPEATS_LINK_WARNINGS = "link-warnings-again"
"""In the session: whether these are to be shown once more."""
_MOST_NAMED = 6
"""Choices that a sentence names."""
_PARAMETERS_OF_TEXT = frozenset(
    {"run", "runs", "study", "selection", "file", "kept", "tag", "find"}
)
"""Parameters that hold ids and names, of which no widget makes a number."""


def drop_infinite_numbers() -> None:
    """Take numbers without end out of the address, before a widget reads it.

    Streamlit's fields for whole numbers fail on them, where other nonsense is the default. The id
    of a run may look like one and stays: 12e456789012.
    """
    infinite = []
    for name, text in st.query_params.items():
        if name not in _PARAMETERS_OF_TEXT and _is_infinite_or_nan(text):
            infinite.append(name)
    for name in infinite:
        del st.query_params[name]
    if infinite:
        # Widgets read the address as it was when this run of the app began, so another one begins.
        st.rerun()


def _is_infinite_or_nan(text: str) -> bool:
    """Whether a text is an infinite number, or NaN."""
    try:
        return not isfinite(float(text))
    except ValueError:
        return False


def link_warning(text: str) -> None:
    """One sentence, as Markdown, about the link that opened the page."""
    st.warning(f"From the link: {text}", icon=":material/link_off:")
    st.session_state[_WARNINGS] = [*st.session_state.get(_WARNINGS, []), text]


def repeat_link_warnings() -> None:
    """Call at the top of a page: says once more what the run before said, if it was cut short."""
    warnings = st.session_state.pop(_WARNINGS, [])
    if st.session_state.pop(_REPEATS_LINK_WARNINGS, False):
        for text in warnings:
            link_warning(text)


def step_from_link(
    key: str, steps: Sequence[float], text_of: Callable[[float], str], *, name: str = "alpha"
) -> None:
    """Call before the slider is drawn: '?alpha=0.001' is the step that the slider calls '1e-3'.

    Streamlit knows the steps of a slider by their texts alone, and drops everything else from the
    address without a word. A number that is no step is said so.

    Args:
        key: The key of the slider, and in the address.
        steps: The steps of the slider, in ascending order.
        text_of: How the slider writes a step.
        name: The name of the setting, for the sentence.
    """
    text = st.query_params.get(key)
    if text is None or text in map(text_of, steps):
        return
    with suppress(ValueError):  # a text that is no number gets the warning below
        number = float(text)
        for step in steps:
            if isclose(step, number, rel_tol=1e-6):
                _change_address_and_rerun(key, text_of(step), step)
                return
    link_warning(
        f"the slider has no {name} {escaped(text)}; its steps go from "
        f"{text_of(steps[0])} to {text_of(steps[-1])}."
    )


def translate_address(
    key: str, labels: Mapping[str, str], *, warns_of_unknown: bool = False, in_popover: bool = False
) -> None:
    """Call before the widget is drawn: '?metric=recall' is the choice that it calls 'Recall'.

    Args:
        key: The key of the widget, and in the address, where it may stand several times.
        labels: Id -> how the widget writes it, which is how Streamlit knows it in the address.
        warns_of_unknown: Whether a name that is none of them is said, and dropped.
        in_popover: Whether the widget is in a popover, so that `repeat_link_warnings` must say it.
    """
    # A link has ids, and Streamlit writes labels: either is taken, and the address gets labels.
    ids_or_labels = st.query_params.get_all(key)
    # Streamlit writes an empty name once everything has been taken out of a widget.
    choosable = {*labels, *labels.values(), ""}
    known_labels = []
    for name in ids_or_labels:
        if warns_of_unknown and name not in choosable:
            link_warning(escaped(_unknown_words(name, list(labels.values()))))
        else:
            known_labels.append(labels.get(name, name))
    if known_labels == ids_or_labels:
        return  # Streamlit understands an address of labels alone
    if not known_labels and not in_popover:
        # Streamlit drops what the widget does not know, and the warning above is in sight.
        return
    if len(known_labels) < len(ids_or_labels):
        # The rerun below removes the warnings from the page, so they are shown once more after it.
        st.session_state[_REPEATS_LINK_WARNINGS] = True
    if not known_labels:
        del st.query_params[key]
        st.rerun()
    # The session has the ids that a widget holds: a single one, or a list where several can be
    # picked.
    in_session: str | list[str] = ids_or_labels[0]
    if isinstance(st.session_state.get(key), list):
        in_session = ids_or_labels
    _change_address_and_rerun(key, known_labels, in_session)


def _unknown_words(name: str, choices: Sequence[str]) -> str:
    """That a link names what is none of the choices, and what there is."""
    listing = listed(choices)
    if len(choices) > _MOST_NAMED:
        listing = f"{', '.join(choices[:_MOST_NAMED])} and {len(choices) - _MOST_NAMED} more"
    return f"'{name}' is not known here; there is {listing}."


def _change_address_and_rerun(key: str, in_address: str | list[str], in_session: object) -> None:
    """Put the address right, and begin anew: a widget reads it as it was when the run began.

    Args:
        key: The key of the widget, and in the address.
        in_address: What the address is to say.
        in_session: What the session is to have instead, where the widget has been drawn already.
    """
    try:
        st.query_params[key] = in_address
    except StreamlitAPIException:
        # After the browser's Back the widget is drawn already, and its address cannot be written.
        st.session_state[key] = in_session
        return
    st.rerun()
