"""The number that decides after each fold, falling to the line at which the rule stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ecv_core.figures.palette import (
    BIG,
    axis,
    fold_axis,
    lay_out,
    lecture_layout,
    palette,
)
from ecv_core.records.run import Moment
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import RULES

LINE, ABOVE, REACHED, LIMIT, STOP = range(5)
"""Numbers of the traces."""


def threshold_figure(
    moments: Sequence[Moment],
    spec: RunSpec,
    *,
    dark: bool = False,
    height: int = 400,
    span: Sequence[float] = (),
) -> go.Figure:
    """What decides after each fold, filled where the rule may stop, and the stop.

    Args:
        moments: of the run, as its rule told it.
        spec: of the run, or of its telling; its rule has an axis and says what is watched.
        span: numbers that the axis has room for; by default those that are shown.
    """
    rule, colours = RULES[spec.rule], palette(dark)
    assert rule.axis is not None
    assert rule.watched is not None
    logarithmic = rule.axis.scale == "logarithmic"
    limit = float(rule.values(spec)[rule.axis.name])
    decides = {
        moment.n: number
        for moment, number in zip(moments, rule.watched.of(moments), strict=True)
        if number is not None and (number > 0 or not logarithmic)
    }
    low, high = _range(span or [*decides.values(), limit], logarithmic)
    stop = next((moment.n for moment in moments if moment.decision.stop), None)
    figure = go.Figure()
    figure.add_scatter(
        x=list(decides),
        y=list(decides.values()),
        mode="lines",
        line={"color": colours.muted, "width": 2, "dash": "dot"},
        showlegend=False,
        hoverinfo="skip",
    )
    for name, symbol, reached in (
        ("above the line: go on", "circle-open", False),
        ("at most the line", "circle", True),
    ):
        some = {n: number for n, number in decides.items() if (number <= limit) is reached}
        figure.add_scatter(
            x=list(some),
            y=list(some.values()),
            mode="markers",
            marker={
                "size": 20,
                "symbol": symbol,
                "color": colours.width,
                "line": {"width": 4, "color": colours.width},
            },
            name=name,
            zorder=1,
            hovertemplate="after fold %{x}: %{y:.2e}<extra></extra>",
        )
    ends = [0.5, spec.max_folds + 0.5]
    text = rule.axis.in_words(limit)
    _named_line(figure, ends, [limit] * 2, text, "top left", colours.mean)
    if stop is not None and stop < spec.max_folds:
        figure.add_vrect(x0=stop, x1=ends[1], fillcolor=colours.saved, line_width=0, layer="below")
    if stop is not None:
        top = high / (high / low) ** 0.04 if logarithmic else high - 0.04 * (high - low)
        _named_line(
            figure, [stop] * 2, [low, top], f" stop after {stop}", "bottom right", colours.stop
        )
    looks: dict[str, Any] = {"range": [low, high]}
    if logarithmic:
        exponents = [float(np.log10(end)) for end in (low, high)]
        looks = {"type": "log", "exponentformat": "power", "dtick": 1, "range": exponents}
    elif rule.axis.scale == "percent":
        looks["tickformat"] = ".1%"
    return lay_out(
        figure,
        lecture_layout(colours, height),
        xaxis=fold_axis("folds seen (n)", spec.max_folds, colours),
        yaxis=axis(rule.watched.label.lower(), colours, **looks),
        uirevision="threshold",
    )


def _named_line(
    figure: go.Figure,
    x: Sequence[float],
    y: Sequence[float],
    text: str,
    where: str,
    colour: str,
) -> None:
    """A line with its name at its second end."""
    figure.add_scatter(
        x=x,
        y=y,
        text=["", text],
        mode="lines+text",
        textposition=where,
        textfont={"size": BIG, "color": colour},
        line={"color": colour, "width": 5},
        cliponaxis=False,
        name=text.strip(),
        showlegend=False,
        hoverinfo="skip",
    )


def _range(numbers: Sequence[float], logarithmic: bool) -> tuple[float, float]:
    """Whole powers of ten around the numbers, or from zero to above them."""
    if not logarithmic:
        return 0.0, 1.1 * max(numbers)
    low, high = np.log10(min(numbers)), np.log10(max(numbers))
    return float(10.0 ** np.floor(low)), float(10.0 ** np.ceil(high))


PICTURES: dict[str, Callable[..., go.Figure]] = {"threshold": threshold_figure}
"""What can explain the decisions of a rule, by the name that it says as its `picture`."""
