"""A selection -> its contenders as lanes, each with the interval of its distance to the leader."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import Palette, base_layout, palette
from ecv_core.figures.steps import Steps

_LANE = 46
"""Pixels."""
_AROUND = 118
"""Pixels above and below the lanes: the legend, and the axis with its title."""
_OUT = ("out", "placed", "waiting")
_KINDS = {
    "leader": ("leader", "diamond"),
    "in": ("can still win", "circle"),
    "tied": ("no difference found", "square"),
    "behind": ("behind after all folds", "triangle-up"),
    "placed": ("place is known", "triangle-right"),
    "out": ("out: cannot win any more", "x"),
}


def height_of(contenders: int) -> int:
    """Pixels of the figure with so many lanes."""
    return _AROUND + _LANE * contenders


def axis_range(lanes: pd.DataFrame) -> tuple[float, float]:
    """Percent behind the leader that the axis shows, the same at every step.

    It shows the contenders near the leader; whoever is far behind is an arrow at its end.

    Args:
        lanes: as `selection.story.lanes` makes them.
    """
    last = lanes[lanes["step"] == lanes["step"].max()]
    behind = last.loc[last["state"] != "leader", "behind"].dropna()
    if behind.empty:
        return -10.0, 30.0
    most = 1.35 * float(behind.quantile(0.75, interpolation="lower"))
    most = max(most, 2.5 * float(behind.min()), 1.0)
    return -0.35 * most, most


def selection_figures(lanes: pd.DataFrame, *, dark: bool = False) -> list[go.Figure]:
    """One figure per step, on one axis.

    Args:
        lanes: as `selection.story.lanes` makes them: step, contender, state, behind, low, high
            (percent of the leader's mean), says.
        dark: colours for a dark page.
    """
    colours = palette(dark)
    span = axis_range(lanes)
    return [
        _figure(rows.reset_index(drop=True), span, colours)
        for _, rows in lanes.groupby("step", sort=True)
    ]


def selection_steps(lanes: pd.DataFrame, sentences: Sequence[str]) -> Steps:
    """Which of `selection_figures` each step shows, and what it says.

    Args:
        lanes: as there.
        sentences: per step, what happened.
    """
    alts = []
    for (_, rows), sentence in zip(lanes.groupby("step", sort=True), sentences, strict=True):
        each = (f"{row.contender}: {row.says}" for row in rows.itertuples())
        alts.append(f"{sentence} {'; '.join(each)}.")
    return Steps(variants=range(len(alts)), alts=alts)


def _figure(rows: pd.DataFrame, span: tuple[float, float], colours: Palette) -> go.Figure:
    figure = go.Figure()
    at = [-place for place in range(len(rows))]
    drawn = rows.assign(at=at, colour=[_colour(state, colours) for state in rows["state"]])
    bars = drawn[drawn["low"].notna() & (drawn["state"] != "leader")]
    for row in bars.to_dict("records"):
        out = row["state"] in _OUT
        figure.add_scatter(
            x=[_within(row["low"], span), _within(row["high"], span)],
            y=[row["at"]] * 2,
            mode="lines",
            line={"color": row["colour"], "width": 3 if out else 9},
            opacity=0.75 if out else 0.45,
            hoverinfo="skip",
            showlegend=False,
        )
    for state, (name, symbol) in _KINDS.items():
        some = drawn[(drawn["state"] == state) & drawn["behind"].notna()]
        far = some["behind"] > span[1]
        for one, mark in ((some[~far], symbol), (some[far], "arrow-right")):
            legend = mark == symbol and not some.empty
            figure.add_scatter(
                # A point that is nowhere, so that the legend has the state of an arrow too.
                x=[_within(value, span) for value in one["behind"]] or [math.nan],
                y=list(one["at"]) or [math.nan],
                mode="markers",
                name=name,
                marker={
                    "color": _colour(state, colours),
                    "size": 13,
                    "symbol": mark,
                    "line": {"color": colours.ground, "width": 1},
                },
                customdata=one[["contender", "says", "behind"]].to_numpy(),
                hovertemplate="%{customdata[0]}: %{customdata[1]}<br>"
                "%{customdata[2]:.2f} % behind<extra></extra>",
                showlegend=legend,
            )
    figure.add_vline(x=0, line={"color": colours.mean, "width": 2, "dash": "dot"})
    layout = base_layout(colours, height_of(len(rows)))
    figure.update_layout(
        layout
        | {
            "hovermode": "closest",
            "showlegend": True,
            "legend": layout["legend"] | {"itemclick": False, "itemdoubleclick": False},
            "annotations": [_words(row, colours) for row in drawn.to_dict("records")],
            "xaxis": {
                "title": {"text": "behind the leader, % of its mean", "standoff": 8},
                "range": list(span),
                "gridcolor": colours.grid,
                "zeroline": False,
                "automargin": True,
                "fixedrange": True,
            },
            "yaxis": {
                "range": [-len(rows) + 0.5, 0.75],
                "visible": False,
                "fixedrange": True,
            },
        }
    )
    return figure


def _words(row: Mapping[Hashable, Any], colours: Palette) -> dict[str, Any]:
    """Name and state of a contender, above its lane."""
    grey = row["state"] in _OUT
    name = row["contender"] if grey else f"<b>{row['contender']}</b>"
    return {
        "xref": "paper",
        "yref": "y",
        "x": 0,
        "y": row["at"],
        "yshift": 17,
        "xanchor": "left",
        "align": "left",
        "showarrow": False,
        "bgcolor": colours.ground,
        "borderpad": 0,
        "text": f"{name} · {row['says']}",
        "font": {"size": 15, "color": colours.muted if grey else colours.ink},
    }


def _colour(state: str, colours: Palette) -> str:
    return {"leader": colours.mean, "in": colours.mean, "tied": colours.width}.get(
        state, colours.muted
    )


def _within(value: float, span: tuple[float, float]) -> float:
    """On the axis; an end that is not known, or lies beyond, is the end of the axis."""
    if math.isnan(value):
        return span[0]
    return min(max(value, span[0]), span[1] - 0.02 * (span[1] - span[0]))
