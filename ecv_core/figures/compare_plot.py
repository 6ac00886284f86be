"""The frame of several runs -> their means, one panel per dataset and metric."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ecv_core.figures.palette import Palette, base_layout, lay_out, note, palette
from ecv_core.figures.words import dataset_title

AT_STOP, WHOLE = "mean at the stop", "mean of all k folds"
BEST = "★"
"""Before the name of the run that tests find the best."""


_RUN, _TITLE, _AXIS = 46, 34, 40
"""Pixels of a run in its panel, of the panel's title, and of the axis below it."""
_TOP, _RIGHT, _BOTTOM = 64, 60, 12
"""Margins of the whole figure, in pixels."""
_LOOKS = (("diamond", "mean"), ("square", "width"), ("triangle-up", "ink"))
"""Of means with intervals made in different ways: mark, and name of the colour."""


def compare_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Mean and interval of each run on a line of its own, the first of each panel on top.

    Intervals that are made in different ways differ in mark and colour, and are named.

    Args:
        frame: from `compare.compare_frame`, at least one row.
    """
    colours = palette(dark)
    panels = list(frame.groupby(["dataset", "metric"], sort=False))
    inner = _RUN * len(frame) + (_TITLE + _AXIS) * len(panels)
    figure = make_subplots(rows=len(panels), cols=1)
    kinds = [kind for kind in dict.fromkeys(frame["interval"]) if kind] or [""]
    edge = 1.0
    for row, ((dataset, metric), runs) in enumerate(panels, start=1):
        edge -= _TITLE / inner
        end = edge - _RUN * len(runs) / inner
        _panel(figure, runs, kinds, colours, row)
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
            domain=[max(end, 0.0), edge],
            tickmode="array",
            tickvals=list(range(len(runs))),
            ticktext=[
                f"{BEST} {_wrapped(name)}" if best else _wrapped(name)
                for name, best in zip(runs["name"], runs["best"], strict=True)
            ],
            range=[len(runs) - 0.5, -0.5],
            showgrid=False,
            zeroline=False,
            automargin=True,
        )
        title = f"<b>{metric}</b>{_of(runs)} on <b>{dataset_title(str(dataset))}</b>"
        place = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
        figure.add_annotation(note(title, 17, colours.ink, x=0, y=edge, **place))
        edge = end - _AXIS / inner
    layout = base_layout(colours, _TOP + inner + _BOTTOM)
    return lay_out(
        figure,
        layout,
        hovermode="closest",
        margin={"l": 12, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        # A legend in pixels above the first panel, however tall the figure.
        legend=layout["legend"] | {"y": 1 + 6 / inner},
    )


def _of(rows: pd.DataFrame) -> str:
    """' of ease' where all runs of a panel are of one algorithm and so are not named by it."""
    first, *others = rows["algorithm"].unique()
    unnamed = not any(name.startswith(first) for name in rows["name"])
    return f" of {first}" if unnamed and not others else ""


def _panel(
    figure: go.Figure, runs: pd.DataFrame, kinds: list[str], colours: Palette, row: int
) -> None:
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
    for number, kind in enumerate(kinds):
        # A mean without an interval belongs to the first kind: there is nothing to tell apart.
        of_kind = known["interval"].isin([kind, ""] if number == 0 else [kind])
        _means(figure, known[of_kind], kind, _LOOKS[number % len(_LOOKS)], colours, row)
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


def _means(
    figure: go.Figure,
    runs: pd.DataFrame,
    kind: str,
    look: tuple[str, str],
    colours: Palette,
    row: int,
) -> None:
    """Means with intervals that are all made in one way."""
    if runs.empty:
        return
    symbol, colour = look[0], getattr(colours, look[1])
    name = f"{AT_STOP} and interval ({kind})" if kind else AT_STOP
    figure.add_scatter(
        row=row,
        col=1,
        x=runs["mean"],
        y=runs["place"],
        mode="markers",
        name=name,
        legendgroup=name,
        showlegend=not any(trace.name == name for trace in figure.data),
        marker={"size": 13, "color": colour, "symbol": symbol},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": (runs["high"] - runs["mean"]).fillna(0.0),
            "arrayminus": (runs["mean"] - runs["low"]).fillna(0.0),
            "color": colour,
            "thickness": 3,
            "width": 8,
        },
        customdata=runs[["name", "folds_used", "k", "low", "high", "interval"]],
        hovertemplate="%{customdata[0]}<br>mean %{x:.4f}, interval %{customdata[3]:.4f} to "
        "%{customdata[4]:.4f} (%{customdata[5]})<br>%{customdata[1]} of %{customdata[2]} folds"
        "<extra></extra>",
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
