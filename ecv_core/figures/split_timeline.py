"""The toy under a strategy -> every interaction on a timeline, one figure that steps by fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.lecture import LABEL, TEXT, axis, lecture_layout
from ecv_core.figures.palette import palette, part_styles
from ecv_core.figures.steps import Steps

STACK = 0.34
"""Rows between two items of one basket."""
MARK = 13


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldLines:
    """What is drawn besides the marks of one fold, in days and rows; None is not drawn."""

    cut: float | None = None
    """Where training ends and the future begins."""
    end: float | None = None
    """Where what is held out ends."""
    arrow: tuple[float, float, float, float] | None = None
    """From (day, row) of a training interaction back to (day, row) of a test one."""


def timeline_figure(
    marks: pd.DataFrame,
    line: FoldLines,
    *,
    days: int,
    dark: bool = False,
    height: int = 560,
    fold: int = 0,
) -> go.Figure:
    """The figure of one fold; `timeline_steps` moves it to the others.

    Args:
        marks: columns fold, user (row from 0), name, day, level (place in its basket), item, part.
        line: what else is drawn in the fold.
        days: length of the timeline.
        dark: colours for a dark page.
        height: in pixels.
        fold: which is shown.
    """
    colours = palette(dark)
    red = colours.stop
    figure = go.Figure(layout=lecture_layout(colours, height))
    shared: dict[str, Any] = {"hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(
        mode="none", fill="toself", fillcolor=colours.saved, name="held-out period", **shared
    )
    figure.add_scatter(
        mode="lines+text",
        line={"color": colours.ink, "width": 3, "dash": "dash"},
        textposition="top left",
        textfont={"size": LABEL, "color": colours.ink},
        cliponaxis=False,
        name="point in time",
        **shared,
    )
    figure.add_scatter(
        mode="lines+markers",
        line={"color": red, "width": 2.5},
        marker={"symbol": "arrow", "angleref": "previous", "size": 17, "standoff": 7, "color": red},
        name="leak",
        **shared,
    )
    for word, style in part_styles(colours).items():
        figure.add_scatter(
            mode="markers",
            name=word,
            marker={
                "symbol": style.symbol,
                "color": style.colour,
                "size": MARK - (1 if style.symbol == "diamond" else 0),
                "line": {
                    "color": colours.ground if "open" not in style.symbol else style.colour,
                    "width": 1.5,
                },
            },
            showlegend=bool((marks["part"] == word).any()),
            hovertemplate="%{text}<br>day %{x}<extra>" + word + "</extra>",
        )
    for at, patch in _patch(marks, line, fold).items():
        figure.data[at].update(patch)
    names = marks.drop_duplicates("user").sort_values("user")["name"].tolist()
    figure.update_xaxes(**axis("day", colours, range=[-4, days + 4], dtick=28, showgrid=False))
    figure.update_yaxes(
        **axis(
            "",
            colours,
            range=[len(names) - 0.4, -0.9],
            tickvals=list(range(len(names))),
            ticktext=names,
            tickfont={"size": TEXT},
        )
    )
    return figure


def timeline_steps(
    marks: pd.DataFrame,
    lines: Sequence[FoldLines],
    sentences: Sequence[str],
    folds: Sequence[int],
) -> Steps:
    """What each step of a slider changes in `timeline_figure`.

    Args:
        marks: as there.
        lines: one per step.
        sentences: what each step shows, for those who do not see it.
        folds: the fold of each step.
    """
    patches = [_patch(marks, line, fold) for line, fold in zip(lines, folds, strict=True)]
    return Steps(patches=patches, alts=sentences)


def _patch(marks: pd.DataFrame, line: FoldLines, fold: int) -> dict[int, dict[str, Any]]:
    """Trace number -> its data in one fold."""
    rows = int(marks["user"].max()) + 1
    top, bottom = -0.62, rows - 0.45
    patch: dict[int, dict[str, Any]] = {at: {"x": [], "y": []} for at in range(3)}
    if line.cut is not None:
        if line.end is not None:
            ends = [line.cut, line.end, line.end, line.cut]
            patch[0] = {"x": ends, "y": [top, top, bottom, bottom]}
        patch[1] = {"x": [line.cut] * 2, "y": [top, bottom], "text": ["point in time ", ""]}
    if line.arrow is not None:
        x0, y0, x1, y1 = line.arrow
        patch[2] = {"x": [x0, x1], "y": [y0, y1]}
    here = marks[marks["fold"] == fold]
    for at, word in enumerate(part_styles(palette(False)), start=3):
        one = here[here["part"] == word]
        patch[at] = {
            "x": one["day"].tolist(),
            "y": (one["user"] + STACK * one["level"]).tolist(),
            "text": [
                f"{name}: item {item}" for name, item in zip(one["name"], one["item"], strict=True)
            ],
        }
    return patch
