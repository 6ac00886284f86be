"""The frame of several runs -> means with intervals, one panel per dataset and metric."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ecv_core.figures.palette import Palette, base_layout, palette

AT_STOP, WHOLE = "mean at the stop, with its interval", "mean of all k folds"
BEST = "★"
"""Before the name of the run with the best mean: a sign beside the order."""

_ROW, _HEAD, _AXIS, _TOP, _BOTTOM = 46, 34, 40, 64, 12
"""Pixels: of a run, of a panel's title and its axis, and of the figure's margins."""


def compare_height(frame: pd.DataFrame) -> int:
    """Pixels that `compare_figure` takes."""
    panels = frame.groupby(["dataset", "metric"]).ngroups
    return _TOP + _BOTTOM + len(frame) * _ROW + panels * (_HEAD + _AXIS)


def compare_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Mean and interval of each run on a line of its own, the first of each panel on top.

    Args:
        frame: from `compare.compare_frame`, at least one row.
        dark: colours for a dark page.
    """
    colours = palette(dark)
    panels = list(frame.groupby(["dataset", "metric"], sort=False))
    height = compare_height(frame)
    inner = height - _TOP - _BOTTOM
    figure = make_subplots(rows=len(panels), cols=1)
    top = 1.0
    for row, ((dataset, metric), runs) in enumerate(panels, start=1):
        top -= _HEAD / inner
        bottom = top - len(runs) * _ROW / inner
        _panel(figure, runs, colours, row)
        figure.update_xaxes(
            row=row,
            col=1,
            gridcolor=colours.grid,
            zeroline=False,
            nticks=6,
            tickfont={"size": 14},
            range=_span(runs),
        )
        figure.update_yaxes(
            row=row,
            col=1,
            domain=[max(bottom, 0.0), top],
            tickmode="array",
            tickvals=list(range(len(runs))),
            ticktext=[
                f"{BEST} {_wrapped(name)}" if best else _wrapped(name)
                for name, best in zip(runs["name"], runs["best"], strict=True)
            ],
            range=[len(runs) - 0.5, -0.5],
            automargin=True,
            showgrid=False,
            zeroline=False,
        )
        figure.add_annotation(
            text=f"<b>{metric}</b> on <b>{dataset}</b>",
            xref="paper",
            yref="paper",
            x=0,
            y=top,
            xanchor="left",
            yanchor="bottom",
            showarrow=False,
            font={"size": 17, "color": colours.ink},
        )
        top = bottom - _AXIS / inner
    figure.update_layout(
        base_layout(colours, height)
        | {"hovermode": "closest", "margin": {"l": 12, "r": 60, "t": _TOP, "b": _BOTTOM}}
    )
    # A legend in pixels above the first panel, however tall the figure.
    figure.update_layout(legend={"y": 1 + 6 / inner})
    return figure


def _panel(figure: go.Figure, runs: pd.DataFrame, colours: Palette, row: int) -> None:
    places = runs.assign(place=range(len(runs)))
    known = places.dropna(subset=["mean"])
    whole = places.dropna(subset=["k_fold_mean"])
    figure.add_scatter(
        row=row,
        col=1,
        x=whole["k_fold_mean"],
        y=whole["place"],
        mode="markers",
        name=WHOLE,
        legendgroup=WHOLE,
        showlegend=not any(trace.name == WHOLE for trace in figure.data) and not whole.empty,
        marker={
            "size": 26,
            "symbol": "line-ns-open",
            "color": colours.stop,
            "line": {"width": 3, "color": colours.stop},
        },
        customdata=whole[["name", "k"]],
        hovertemplate="%{customdata[0]}<br>mean of all %{customdata[1]} folds %{x:.4f}"
        "<extra></extra>",
    )
    figure.add_scatter(
        row=row,
        col=1,
        x=known["mean"],
        y=known["place"],
        mode="markers",
        name=AT_STOP,
        legendgroup=AT_STOP,
        showlegend=not any(trace.name == AT_STOP for trace in figure.data) and not known.empty,
        marker={"size": 13, "color": colours.mean, "symbol": "diamond"},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": (known["high"] - known["mean"]).fillna(0.0),
            "arrayminus": (known["mean"] - known["low"]).fillna(0.0),
            "color": colours.mean,
            "thickness": 3,
            "width": 8,
        },
        customdata=known[["name", "folds_used", "k", "low", "high"]],
        hovertemplate="%{customdata[0]}<br>mean %{x:.4f}, interval %{customdata[3]:.4f} to "
        "%{customdata[4]:.4f}<br>%{customdata[1]} of %{customdata[2]} folds<extra></extra>",
    )
    figure.add_scatter(
        row=row,
        col=1,
        x=known[["mean", "high", "k_fold_mean"]].max(axis=1),
        y=known["place"],
        mode="text",
        text=[f"   {mean:.4f}" for mean in known["mean"]],
        textposition="middle right",
        cliponaxis=False,
        showlegend=False,
        hoverinfo="skip",
    )


def _span(runs: pd.DataFrame) -> list[float] | None:
    """From the lowest to the highest mark, with room for a number at its right."""
    marks = runs[["mean", "low", "high", "k_fold_mean"]]
    low, high = float(marks.min().min()), float(marks.max().max())
    if low != low:
        return None
    width = high - low or abs(high) * 0.1 or 0.1
    return [low - 0.05 * width, high + 0.08 * width]


def _wrapped(name: str) -> str:
    """On two lines where a narrow page would have no room for the marks."""
    head, comma, rest = name.partition(", ")
    return f"{head},<br>{rest}" if comma else name
