"""Contenders of a selection -> lanes, each with its distance to the leader, step by step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import (
    Looks,
    Palette,
    Span,
    Step,
    base_layout,
    lay_out,
    note,
    palette,
    plain_axis,
)

_LANE_HEIGHT = 46
"""Pixels."""
_TITLE_SIZE = 15
"""Pixels of the type of a lane's title."""
_LEGEND_AND_AXIS_HEIGHT = 118
"""Pixels above and below the lanes: the legend, and the axis with its title."""
_STATES_NOT_EVALUATED = ("close", "out", "worse", "placed", "waiting")
"""States of contenders that are not evaluated any more, or not yet."""
_KINDS = {
    "leader": ("leader", "diamond"),
    "in": ("still evaluated", "circle"),
    "tied": ("no difference found", "square"),
    "behind": ("behind after all folds", "triangle-up"),
    "placed": ("place is known", "triangle-right"),
    "close": ("close: a small difference, if any", "circle-open"),
    "out": ("dropped: behind on these folds", "x"),
    "worse": ("worse: behind on new data too", "cross"),
}
"""State of a contender -> what the legend calls it, and its mark."""


def axis_range(lanes: pd.DataFrame) -> Span:
    """Percent behind the leader that the axis shows, the same at every step.

    It shows the contenders near the leader; whoever is far behind is an arrow at its end.

    Args:
        lanes: As `selection.document.lanes` makes them.
    """
    last_step = lanes[lanes["step"] == lanes["step"].max()]
    distances = last_step.loc[last_step["state"] != "leader", "behind"].dropna()
    if distances.empty:  # where nobody is behind the leader, the axis may have any length
        return -10.0, 30.0
    # The leader is at 0. The axis has room for three of four contenders with their intervals, and
    # for the nearest one in its first half.
    end_for_most = 1.35 * float(distances.quantile(0.75, interpolation="lower"))
    end_for_nearest = 2.5 * float(distances.min())
    right_end = max(end_for_most, end_for_nearest, 1.0)
    return -0.35 * right_end, right_end


def selection_figures(lanes: pd.DataFrame, *, dark: bool = False) -> list[go.Figure]:
    """One figure per step, on one axis.

    Args:
        lanes: As `selection.document.lanes` makes them: step, contender, state, behind, low, high
            (percent of the leader's mean), says.
        dark: Whether the page is dark.
    """
    span = axis_range(lanes)
    colours = palette(dark)
    return [_figure_of_step(rows, span, colours) for _, rows in lanes.groupby("step")]


def selection_steps(lanes: pd.DataFrame, sentences: Sequence[str]) -> list[Step]:
    """Which of `selection_figures` each step shows, and what it says.

    Args:
        lanes: As there.
        sentences: Per step, what happened.
    """
    steps: list[Step] = []
    for (_, rows), sentence in zip(lanes.groupby("step"), sentences, strict=True):
        states = rows["contender"] + ": " + rows["says"]
        steps.append(Step(figure=len(steps), alt=f"{sentence} {'; '.join(states)}."))
    return steps


def _figure_of_step(rows: pd.DataFrame, span: Span, colours: Palette) -> go.Figure:
    """A lane for each contender, the first on top."""
    rows = rows.assign(height=range(0, -len(rows), -1))
    traces = _interval_traces(rows, span, colours) + _mark_traces(rows, span, colours)
    # Plotly takes all traces in one call much faster than one after the other.
    figure = go.Figure(traces)
    layout = base_layout(colours, _LEGEND_AND_AXIS_HEIGHT + _LANE_HEIGHT * len(rows))
    # This line is at the leader, from whom all distances are counted.
    figure.add_vline(x=0, line={"color": colours.mean, "width": 2, "dash": "dot"})
    distance_axis = plain_axis(
        "behind the leader, % of its mean",
        standoff=8,
        range=list(span),
        gridcolor=colours.grid,
        fixedrange=True,
    )
    lane_axis = {"range": [-len(rows) + 0.5, 0.75], "visible": False, "fixedrange": True}
    layout["legend"] |= {"itemclick": False, "itemdoubleclick": False}
    titles = [_lane_title(row, colours) for _, row in rows.iterrows()]
    return lay_out(
        figure,
        layout,
        hovermode="closest",
        showlegend=True,
        annotations=titles,
        xaxis=distance_axis,
        yaxis=lane_axis,
    )


def _interval_traces(rows: pd.DataFrame, span: Span, colours: Palette) -> list[Looks]:
    """The intervals of those behind the leader."""
    traces = []
    rows_behind = rows[(rows["state"] != "leader") & rows["low"].notna()]
    for _, row in rows_behind.iterrows():
        width = 9
        opacity = 0.45
        if row["state"] in _STATES_NOT_EVALUATED:
            width = 3
            opacity = 0.75
        ends = [_clipped_to_axis(row["low"], span), _clipped_to_axis(row["high"], span)]
        colour = _state_colour(row["state"], colours)
        trace = {
            "type": "scatter",
            "x": ends,
            "y": [row["height"], row["height"]],
            "mode": "lines",
            "line": {"color": colour, "width": width},
            "opacity": opacity,
            "hoverinfo": "skip",
            "showlegend": False,
        }
        traces.append(trace)
    return traces


def _mark_traces(rows: pd.DataFrame, span: Span, colours: Palette) -> list[Looks]:
    """Where contenders are; of each state those on the axis, then those beyond it, as arrows."""
    traces = []
    _, axis_end = span
    for state, (name, symbol) in _KINDS.items():
        contenders = rows[(rows["state"] == state) & rows["behind"].notna()]
        is_beyond_axis = contenders["behind"] > axis_end
        look = {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "hovertemplate": "%{customdata[0]}: %{customdata[1]}<br>"
            "%{customdata[2]:.2f} % behind<extra></extra>",
        }
        marker = {
            "color": _state_colour(state, colours),
            "size": 13,
            "line": {"color": colours.ground, "width": 1},
        }
        mark = {"marker": marker | {"symbol": symbol}, "showlegend": not contenders.empty}
        arrow = {"marker": marker | {"symbol": "arrow-right"}, "showlegend": False}
        traces.append(look | mark | _mark_data(contenders[~is_beyond_axis], span))
        traces.append(look | arrow | _mark_data(contenders[is_beyond_axis], span))
    return traces


def _mark_data(contenders: pd.DataFrame, span: Span) -> Looks:
    if contenders.empty:
        # A point without a place is not drawn, but its state is still named in the legend.
        return {"x": [math.nan], "y": [math.nan], "customdata": []}
    return {
        "x": [_clipped_to_axis(behind, span) for behind in contenders["behind"]],
        "y": contenders["height"].tolist(),
        "customdata": contenders[["contender", "says", "behind"]].to_numpy().tolist(),
    }


def _lane_title(row: pd.Series[Any], colours: Palette) -> Looks:
    """Name and state of a contender, above its lane; a phone has no room for more than a clause."""
    # What is said of a contender, such as 'close after 1 fold: ...; not shown for new data', may be
    # too long for a phone, so that only its first clause stands here.
    first_clause, _, _further_clauses = row["says"].partition(";")
    text = f"<b>{row['contender']}</b> · {first_clause}"
    colour = colours.ink
    if row["state"] in _STATES_NOT_EVALUATED:
        text = f"{row['contender']} · {first_clause}"
        colour = colours.muted
    return note(
        text,
        _TITLE_SIZE,
        colour,
        bgcolor=colours.ground,
        borderpad=0,
        xref="paper",
        x=0,
        xanchor="left",
        align="left",
        yref="y",
        y=row["height"],
        yshift=17,
    )


def _state_colour(state: str, colours: Palette) -> str:
    if state in ("leader", "in"):
        return colours.mean
    if state == "tied":
        return colours.width
    return colours.muted


def _clipped_to_axis(value: float, span: Span) -> float:
    """On the axis; what lies beyond it is put at its end."""
    low, high = span
    return min(max(value, low), high - 0.02 * (high - low))
