"""Contenders as lanes, each with its distance to the leader; p values of pairs of settings."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import Palette, Steps, base_layout, lay_out, note, palette, plain_axis

_Row = dict[Hashable, Any]
_Trace = dict[str, Any]

_LANE = 46
"""Pixels."""
_AROUND = 118
"""Pixels above and below the lanes: the legend, and the axis with its title."""
_OUT = ("out", "worse", "placed", "waiting")
_KINDS = {
    "leader": ("leader", "diamond"),
    "in": ("can still win", "circle"),
    "tied": ("no difference found", "square"),
    "behind": ("behind after all folds", "triangle-up"),
    "placed": ("place is known", "triangle-right"),
    "out": ("out: no difference shown on new data", "x"),
    "worse": ("out: worse on new data too", "cross"),
}


def axis_range(lanes: pd.DataFrame) -> tuple[float, float]:
    """Percent behind the leader that the axis shows, the same at every step.

    It shows the contenders near the leader; whoever is far behind is an arrow at its end.

    Args: lanes: as `selection.document.lanes` makes them.
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
        lanes: as `selection.document.lanes` makes them: step, contender, state, behind,
        low, high
            (percent of the leader's mean), says.
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
    """All traces in one call: Plotly takes much longer to add one after the other."""
    drawn = [row | {"at": -place} for place, row in enumerate(rows.to_dict("records"))]
    layout = base_layout(colours, _AROUND + _LANE * len(drawn))
    figure = go.Figure([*_bars(drawn, span, colours), *_marks(drawn, span, colours)])
    return lay_out(
        figure,
        layout,
        hovermode="closest",
        showlegend=True,
        legend=layout["legend"] | {"itemclick": False, "itemdoubleclick": False},
        annotations=[_words(row, colours) for row in drawn],
        shapes=[
            {
                "type": "line",
                "xref": "x",
                "x0": 0,
                "x1": 0,
                "yref": "y domain",
                "y0": 0,
                "y1": 1,
                "line": {"color": colours.mean, "width": 2, "dash": "dot"},
            }
        ],
        xaxis=plain_axis(
            "behind the leader, % of its mean",
            standoff=8,
            range=list(span),
            gridcolor=colours.grid,
            fixedrange=True,
        ),
        yaxis={"range": [-len(drawn) + 0.5, 0.75], "visible": False, "fixedrange": True},
    )


def _bars(rows: list[_Row], span: tuple[float, float], colours: Palette) -> Iterator[_Trace]:
    """The intervals of those behind the leader."""
    for row in rows:
        if row["state"] == "leader" or math.isnan(row["low"]):
            continue
        out = row["state"] in _OUT
        yield {
            "type": "scatter",
            "x": [_within(row["low"], span), _within(row["high"], span)],
            "y": [row["at"]] * 2,
            "mode": "lines",
            "line": {"color": _colour(row["state"], colours), "width": 3 if out else 9},
            "opacity": 0.75 if out else 0.45,
            "hoverinfo": "skip",
            "showlegend": False,
        }


def _marks(rows: list[_Row], span: tuple[float, float], colours: Palette) -> Iterator[_Trace]:
    """Where contenders are; of each state those on the axis, then those beyond it, as arrows."""
    for state, (name, symbol) in _KINDS.items():
        some = [row for row in rows if row["state"] == state and not math.isnan(row["behind"])]
        near = [row for row in some if row["behind"] <= span[1]]
        far = [row for row in some if row["behind"] > span[1]]
        for those, mark in ((near, symbol), (far, "arrow-right")):
            yield {
                "type": "scatter",
                # A point that is nowhere, so that the legend has the state of an arrow too.
                "x": [_within(row["behind"], span) for row in those] or [math.nan],
                "y": [row["at"] for row in those] or [math.nan],
                "mode": "markers",
                "name": name,
                "marker": {
                    "color": _colour(state, colours),
                    "size": 13,
                    "symbol": mark,
                    "line": {"color": colours.ground, "width": 1},
                },
                "customdata": [[row["contender"], row["says"], row["behind"]] for row in those],
                "hovertemplate": "%{customdata[0]}: %{customdata[1]}<br>"
                "%{customdata[2]:.2f} % behind<extra></extra>",
                "showlegend": mark == symbol and bool(some),
            }


def _words(row: Mapping[Hashable, Any], colours: Palette) -> dict[str, Any]:
    """Name and state of a contender, above its lane; a phone has no room for more than a clause."""
    grey = row["state"] in _OUT
    name = row["contender"] if grey else f"<b>{row['contender']}</b>"
    return note(
        f"{name} · {row['says'].partition(';')[0]}",
        15,
        colours.muted if grey else colours.ink,
        xref="paper",
        yref="y",
        x=0,
        y=row["at"],
        yshift=17,
        xanchor="left",
        align="left",
        bgcolor=colours.ground,
        borderpad=0,
    )


def _colour(state: str, colours: Palette) -> str:
    return {"leader": colours.mean, "in": colours.mean, "tied": colours.width}.get(
        state, colours.muted
    )


def _within(value: float, span: tuple[float, float]) -> float:
    """On the axis; an end that is not known, or lies beyond, is the end of the axis."""
    if math.isnan(value):
        return span[0]
    return min(max(value, span[0]), span[1] - 0.02 * (span[1] - span[0]))


# Search spaces: p values by metric.


def _axis(title: str, colours: Palette, **more: Any) -> dict[str, Any]:  # noqa: ANN401  of layout.xaxis
    return plain_axis(title, size=17, linecolor=colours.muted, fixedrange=True, **more)


_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def p_values_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Figure 1 of Anelli et al. (2019): a lower curve tells the settings apart better.

    Args: frame: columns rank, metric, p and sd; in the order in which metrics are named.
    """
    colours = palette(dark)
    figure = go.Figure()
    for place, (metric, mine) in enumerate(frame.groupby("metric", sort=False)):
        figure.add_scatter(
            x=mine["rank"],
            y=mine["p"],
            customdata=mine[["sd"]],
            mode="lines",
            name=str(metric),
            line={
                "color": colours.series[place % len(colours.series)],
                "dash": _DASHES[place % len(_DASHES)],
                "width": 3,
            },
            hovertemplate="%{y:.3f} ± %{customdata[0]:.3f}",
        )
    return lay_out(
        figure,
        base_layout(colours, 460),
        xaxis=_axis(
            "pair of settings, by p value",
            colours,
            range=[0.5, float(frame["rank"].max()) + 0.5],
            showgrid=False,
            showline=True,
        ),
        yaxis=_axis("p value, mean of the folds", colours, range=[0, 1], gridcolor=colours.grid),
        uirevision="p-values",
    )
