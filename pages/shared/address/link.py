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
from pages.shared.live.state import escaped
from pages.shared.widgets.component import component

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


def link_button() -> None:
    """In the head of every page: copies its address, and what `write_into_link` adds to it."""
    with st.container(key="copy-link"):
        _button(key="copy-link-button", data={})


def write_into_link(
    params: Mapping[str, str | Sequence[str]] | None = None, *, without: str = ""
) -> None:
    """What the copied address of this page says beside what stands in it.

    Streamlit leaves a choice at its default out of the address. Where that default may be another
    one elsewhere or tomorrow (the newest run, all datasets), name it here.

    Args:
        params: query parameter -> its value, or its values, for when the address leaves it out.
        without: what the page shows and no address can carry, such as 'the fold file'; it is said.
    """
    written = {}
    for name, value in (params or {}).items():
        written[name] = [value] if isinstance(value, str) else list(value)
    data = json.dumps({"params": written, "without": without})
    st.html(f'<span hidden data-ecv-link="{escape(data)}"></span>')


def chosen(*keys: str) -> dict[str, list[str]]:
    """The values of these widgets as query parameters; those that are not on the page are left out.

    Args: keys: of widgets with `bind="query-params"`.
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
"""In the session: what was said about the link."""
_AGAIN = "link-warnings-again"
"""In the session: whether it is to be said once more."""
_NAMED = 6
"""Choices that a sentence names."""
_IDS = frozenset({"run", "runs", "study", "selection", "file", "kept", "tag", "find"})
"""Parameters that hold ids and names, of which no widget makes a number."""


def drop_endless() -> None:
    """Take numbers without end out of the address, before a widget reads it.

    Streamlit's fields for whole numbers fail on them, where other nonsense is the default. The id
    of a run may look like one and stays: 12e456789012.
    """
    params = st.query_params.to_dict()
    finite = {name: text for name, text in params.items() if name in _IDS or not _endless(text)}
    if len(finite) < len(params):
        st.query_params.from_dict(finite)
        st.rerun()  # what the address was when this began is what widgets read


def _endless(text: str) -> bool:
    try:
        return not isfinite(float(text))
    except ValueError:
        return False


def link_warning(text: str) -> None:
    """One sentence, as Markdown, about the link that opened the page."""
    st.warning(f"From the link: {text}", icon=":material/link_off:")
    st.session_state[_WARNINGS] = [*st.session_state.get(_WARNINGS, []), text]


def link_warnings_again() -> None:
    """Call at the top of a page: says once more what the run before said, if it was cut short."""
    warnings = st.session_state.pop(_WARNINGS, [])
    if st.session_state.pop(_AGAIN, False):
        for text in warnings:
            link_warning(text)


def keep_link_warnings() -> None:
    """Call before a rerun that nobody asked for: by then the address is put right."""
    st.session_state[_AGAIN] = True


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
    text = st.query_params.get(key)
    if text is None or text in map(text_of, steps):
        return
    with suppress(ValueError):
        for step in steps:
            if isclose(step, float(text), rel_tol=1e-6):
                _rewrite(key, text_of(step), step)
                return
    link_warning(
        f"the slider has no {name} {escaped(text)}; its steps go from "
        f"{text_of(steps[0])} to {text_of(steps[-1])}."
    )


def label_from_link(
    key: str, labels: Mapping[str, str], *, strict: bool = False, hidden: bool = False
) -> None:
    """Call before the widget is drawn: '?metric=recall' is the choice that it calls 'Recall'.

    Args:
        key: of the widget, and in the address, where it may stand several times.
        labels: id -> how the widget writes it, which is how Streamlit knows it in the address.
        strict: whether a name that is none of them is said, and dropped.
        hidden: whether the widget is in a popover, so that `link_warnings_again` has to say it.
    """
    values = st.query_params.get_all(key)
    choosable = {*labels, *labels.values()}
    choices = []
    for value in values:
        if strict and value not in choosable:
            link_warning(escaped(_unknown_words(value, list(labels.values()))))
        else:
            choices.append(labels.get(value, value))
    if choices == values or not (choices or hidden):
        return
    if len(choices) < len(values):
        keep_link_warnings()
    if not choices:
        del st.query_params[key]
        st.rerun()
    several = isinstance(st.session_state.get(key), list)
    _rewrite(key, choices, values if several else values[0])


def _unknown_words(value: str, choices: list[str]) -> str:
    """That a link asks for what is none of the choices, and what there is."""
    words = f"'{value}' is not known here; there is {listed(choices[:_NAMED])}"
    if len(choices) > _NAMED:
        words += f" and {len(choices) - _NAMED} more"
    return f"{words}."


def _rewrite(key: str, text: str | list[str], value: object) -> None:
    """Put the address right, and begin anew: a widget reads it as it was when the run began."""
    try:
        st.query_params[key] = text
    except StreamlitAPIException:  # the way back in the browser: the widget is there already
        st.session_state[key] = value
        return
    st.rerun()
