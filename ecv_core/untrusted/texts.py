"""Text of others, as pages, charts, reports, LaTeX and a terminal show it: nothing in it acts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go

_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters but the line break, and those that set the direction of writing."""
_FOREIGN_TAG = re.compile(r"<(?!/?(?:b|extra|span)>|br>|span style='font-size:\d+px'>)")
"""What Plotly may read as a tag, but those that our figures write: none of these leads anywhere."""


def blank_hidden_characters(text: str) -> str:
    """A text with a blank for each sign that nobody sees or that turns the order of what follows.

    Line breaks stay.
    """
    return _UNSEEN.sub(" ", text)


def disarm_chart_text(text: str) -> str:
    """A text as Plotly shows it without a link, an image or a style of others."""
    return _FOREIGN_TAG.sub("&lt;", blank_hidden_characters(text))


def disarm_figure(figure: go.Figure) -> None:
    """Make every text of a figure one that Plotly only shows, in place."""
    layout = figure.layout.to_plotly_json()
    if _has_text_to_disarm(layout):
        figure.layout = disarm_chart_texts(layout)
    for trace in figure.data:
        for name, value in trace.to_plotly_json().items():
            if _has_text_to_disarm(value):
                trace[name] = disarm_chart_texts(value)


def disarm_chart_texts(value: Any) -> Any:  # noqa: ANN401  of a figure, as Plotly has it
    """A value of a figure with each of its texts disarmed; the names of a mapping stay."""
    if isinstance(value, str):
        return disarm_chart_text(value)
    if isinstance(value, Mapping):
        return dict(zip(value, map(disarm_chart_texts, value.values()), strict=True))
    if _may_hold_texts(value):
        return list(map(disarm_chart_texts, value))
    return value


def _may_hold_texts(value: object) -> bool:
    """Whether it is a sequence that is not of numbers alone."""
    if hasattr(value, "dtype"):
        # Only arrays have a dtype. They are not asked for by their class, as NumPy would be loaded
        # for a line on a terminal.
        return value.dtype.kind in "OUT"
    return isinstance(value, list | tuple)


def _has_text_to_disarm(value: Any) -> bool:  # noqa: ANN401  of a figure, as Plotly has it
    """Whether `disarm_chart_texts` would change it; most figures have no such text."""
    if isinstance(value, str):
        return disarm_chart_text(value) != value
    if isinstance(value, Mapping):
        return any(map(_has_text_to_disarm, value.values()))
    if _may_hold_texts(value):
        return any(map(_has_text_to_disarm, value))
    return False
