"""A value that one widget gives to another, kept although the browser does not know of it yet.

A preset sets a slider: the server does it at once, but until its answer is drawn the browser has
the slider's old value, and sends it along with whatever is pressed in the meantime. Streamlit
takes what the browser sends for what the user wants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

_KEY = "given-values"
_SIMPLE = (str, int, float, bool, list, tuple, type(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    value: Any
    outdated: tuple[Any, ...]
    """What the browser may still have of it."""
    others: dict[str, Any] = field(repr=False)
    """Every other choice and press when it was given."""
    drawn: bool
    """Whether a run of the page has sent it to the browser."""


def give(values: Mapping[str, Any], *, by: str = "", drawn: bool = False) -> None:
    """Set widgets, from the callback of another one or before they are drawn.

    Args:
        values: of the widgets, by key.
        by: key of the button whose callback this is; it will have been let go by the next run.
        drawn: this is no callback: the run of the page that calls this draws the widgets.
    """
    state = st.session_state
    given = _all()
    for key, value in values.items():
        outdated = given[key].outdated if key in given else ()
        if key in state and state[key] != value:
            outdated = (*outdated, state[key])
        others = {name: seen for name, seen in _choices().items() if name != key}
        if by:
            others[by] = False
        state[key] = value
        if outdated:
            given[key] = _Given(value=value, outdated=outdated, others=others, drawn=drawn)
    state[_KEY] = given


def keep_given() -> None:
    """Undo what the browser sent without knowing better; call before the widgets are drawn.

    The user may well want the old value back, but then it comes alone: whoever moves a slider
    presses nothing else in the same moment.
    """
    state, given = st.session_state, _all()
    now = _choices()
    for key, one in list(given.items()):
        if key not in now:
            continue
        if now[key] == one.value and not one.drawn:
            given[key] = replace(one, drawn=True)
        elif now[key] in one.outdated and any(
            now[name] != seen for name, seen in one.others.items() if name in now
        ):
            state[key] = one.value
            given[key] = replace(one, drawn=False)
        else:
            del given[key]  # the browser has it by now, or the user wants something else
    if given or _KEY in state:
        state[_KEY] = given


def _all() -> dict[str, _Given]:
    return dict(st.session_state.get(_KEY, {}))


def _choices() -> dict[str, Any]:
    return {
        str(key): value
        for key, value in st.session_state.items()
        if key != _KEY and isinstance(value, _SIMPLE)
    }
