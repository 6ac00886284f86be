"""Moments of a run -> the number that decides after each fold, falling to the line of the stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import (
    BIG,
    Looks,
    Palette,
    Span,
    axis,
    fold_axis,
    lay_out,
    lecture_layout,
    palette,
)
from ecv_core.records.run import Moment
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import RULES


def threshold_figure(
    moments: Sequence[Moment],
    spec: RunSpec,
    *,
    dark: bool = False,
    height: int = 400,
    numbers_on_axis: Sequence[float] = (),
) -> go.Figure:
    """What decides after each fold, filled where the rule may stop, and the stop.

    Args:
        moments: The moments of the run, as its rule told it.
        spec: The spec of the run, or of its telling; its rule has an axis and says what is watched.
        dark: Whether the page is dark.
        height: In pixels.
        numbers_on_axis: The axis has room for them; by default for those that are shown.
    """
    # The figure compares a watched number with the parameter that decides how early the rule stops,
    # its axis. Rules that have no such number or no axis do not name this picture.
    rule = RULES[spec.rule]
    assert rule.axis is not None
    assert rule.watched is not None
    colours = palette(dark)
    settings = rule.values(spec)
    limit = float(settings[rule.axis.name])
    # Before there is a number to compare with the limit, it is None.
    numbers = rule.watched.after_folds(moments, settings)
    frame = pd.DataFrame({"n": [moment.n for moment in moments], "number": numbers}).dropna()
    logarithmic = rule.axis.scale == "logarithmic"
    if logarithmic:
        frame = frame[frame["number"] > 0]
    figure = go.Figure()
    _add_numbers(figure, frame, limit, colours)
    right_end = spec.max_folds + 0.5
    limit_words = rule.axis.in_words(limit)
    _add_named_line(figure, [0.5, right_end], [limit, limit], limit_words, "top left", colours.mean)
    if not numbers_on_axis:
        numbers_on_axis = [*frame["number"], limit]
    low, high = _value_range(numbers_on_axis, logarithmic)
    stops = [moment.n for moment in moments if moment.decision.stop]
    if stops:
        line_top = _just_below_top(low, high, logarithmic)
        _add_stop(figure, stops[0], colours, right=right_end, bottom=low, top=line_top)
    looks: Looks = {"range": [low, high]}
    if logarithmic:
        # Plotly takes the ends of a logarithmic axis as exponents of ten.
        exponents = [float(np.log10(low)), float(np.log10(high))]
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


def _add_numbers(figure: go.Figure, frame: pd.DataFrame, limit: float, colours: Palette) -> None:
    """The number after each fold, filled where it is at most the limit: there the rule may stop."""
    figure.add_scatter(
        x=frame["n"],
        y=frame["number"],
        mode="lines",
        line={"color": colours.muted, "width": 2, "dash": "dot"},
        showlegend=False,
        hoverinfo="skip",
    )
    is_reached = frame["number"] <= limit
    _add_marks(figure, frame[~is_reached], "above the line: go on", "circle-open", colours)
    _add_marks(figure, frame[is_reached], "at most the line", "circle", colours)


def _add_marks(
    figure: go.Figure, rows: pd.DataFrame, name: str, symbol: str, colours: Palette
) -> None:
    """A mark for each number; the legend names them even where there is none."""
    marker = {
        "size": 20,
        "symbol": symbol,
        "color": colours.width,
        "line": {"width": 4, "color": colours.width},
    }
    figure.add_scatter(
        x=rows["n"],
        y=rows["number"],
        mode="markers",
        marker=marker,
        name=name,
        zorder=1,
        hovertemplate="after fold %{x}: %{y:.2e}<extra></extra>",
    )


def _add_stop(
    figure: go.Figure, stop: int, colours: Palette, *, right: float, bottom: float, top: float
) -> None:
    """A line at the stop, and the folds behind it shaded."""
    if stop < right - 0.5:
        figure.add_vrect(x0=stop, x1=right, fillcolor=colours.saved, line_width=0, layer="below")
    words = f" stop after {stop}"
    _add_named_line(figure, [stop, stop], [bottom, top], words, "bottom right", colours.stop)


def _add_named_line(
    figure: go.Figure, x: Sequence[float], y: Sequence[float], name: str, where: str, colour: str
) -> None:
    """A line with its name at its second end, where Plotly's `textposition` says."""
    figure.add_scatter(
        x=x,
        y=y,
        text=["", name],
        mode="lines+text",
        textposition=where,
        textfont={"size": BIG, "color": colour},
        line={"color": colour, "width": 5},
        cliponaxis=False,
        name=name.strip(),
        showlegend=False,
        hoverinfo="skip",
    )


def _value_range(numbers: Sequence[float], logarithmic: bool) -> Span:
    """Whole powers of ten around the numbers, or from zero to above them."""
    if not logarithmic:
        return 0.0, 1.1 * max(numbers)
    low = 10.0 ** np.floor(np.log10(min(numbers)))
    high = 10.0 ** np.ceil(np.log10(max(numbers)))
    return float(low), float(high)


def _just_below_top(low: float, high: float, logarithmic: bool) -> float:
    """Where a line ends upwards that leaves 4 % of the axis free."""
    if logarithmic:
        return high / (high / low) ** 0.04  # On a logarithmic axis that is a power of the ratio.
    return high - 0.04 * (high - low)


PICTURES: dict[str, Callable[..., go.Figure]] = {"threshold": threshold_figure}
"""What can explain the decisions of a rule, by the name that it says as its `picture`."""
