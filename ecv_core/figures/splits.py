"""A toy under a split -> which part each interaction falls into, on a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from ecv_core.analysis.split_tables.toy import DAYS, ToySplit
from ecv_core.figures.palette import (
    LABEL,
    TEXT,
    Steps,
    axis,
    lay_out,
    lecture_layout,
    palette,
    part_styles,
    stepped,
)

STACK = 0.34
"""Rows between two items of one basket."""
MARK = 13
"""Pixels of a mark."""

PERIOD = 0
"""Number of the trace of the days that are held out; those of the parts come after the others."""
POINT_IN_TIME = 1
LEAK = 2


def timeline_figure(toy: ToySplit, *, dark: bool = False) -> go.Figure:
    """The figure of the first fold; `timeline_steps` moves it to the others."""
    colours = palette(dark)
    figure = go.Figure()
    looks: dict[str, Any] = {"hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(
        mode="none", fill="toself", fillcolor=colours.saved, name="held-out period", **looks
    )
    figure.add_scatter(
        mode="lines+text",
        line={"color": colours.ink, "width": 3, "dash": "dash"},
        textposition="top left",
        textfont={"size": LABEL, "color": colours.ink},
        cliponaxis=False,
        name="point in time",
        **looks,
    )
    arrow = {"symbol": "arrow", "angleref": "previous", "size": 17, "standoff": 7}
    figure.add_scatter(
        mode="lines+markers",
        line={"color": colours.stop, "width": 2.5},
        marker=arrow | {"color": colours.stop},
        name="leak",
        **looks,
    )
    parts = toy.marks["part"].unique()
    for part, (colour, symbol) in part_styles(colours).items():
        marker: dict[str, Any] = {"symbol": symbol, "color": colour, "size": MARK}
        marker["line"] = {"color": colours.ground, "width": 1.5}
        if symbol == "diamond":
            marker["size"] = MARK - 1  # it looks as large as the others
        if "open" in symbol:
            marker["line"]["color"] = colour
        figure.add_scatter(
            mode="markers",
            name=part,
            marker=marker,
            showlegend=part in parts,
            hovertemplate=f"%{{text}}<br>day %{{x}}<extra>{part}</extra>",
        )
    stepped(figure, Steps(patches=[_data_of_fold(toy, 0)]))
    names = toy.marks.drop_duplicates("user").sort_values("user")["name"].tolist()
    users = {
        "range": [len(names) - 0.4, -0.9],
        "tickvals": list(range(len(names))),
        "ticktext": names,
        "tickfont": {"size": TEXT},
    }
    return lay_out(
        figure,
        lecture_layout(colours, 560),
        xaxis=axis("day", colours, range=[-4, DAYS + 4], dtick=28, showgrid=False),
        yaxis=axis("", colours, **users),
    )


def timeline_steps(toy: ToySplit, sentences: Sequence[str], folds: Sequence[int]) -> Steps:
    """What each step of a slider changes in `timeline_figure`.

    Args:
        toy: as there.
        sentences: what each step shows, for those who do not see it.
        folds: the fold of each step.
    """
    return Steps(patches=[_data_of_fold(toy, fold) for fold in folds], alts=sentences)


def _data_of_fold(toy: ToySplit, fold: int) -> dict[int, dict[str, Any]]:
    """Trace number -> its data in one fold."""
    data: dict[int, dict[str, Any]] = {
        PERIOD: {"x": [], "y": []},
        POINT_IN_TIME: {"x": [], "y": []},
        LEAK: {"x": [], "y": []},
    }
    period = toy.periods[fold]
    if period is not None:
        first_day, last_day = period
        start = first_day - 0.5
        end = last_day + 0.5
        top = -0.62
        bottom = int(toy.marks["user"].max()) + 0.55
        data[PERIOD] = {"x": [start, end, end, start], "y": [top, top, bottom, bottom]}
        text = ["point in time ", ""]
        data[POINT_IN_TIME] = {"x": [start, start], "y": [top, bottom], "text": text}
    leak = toy.leaks[fold]
    if leak is not None:
        data[LEAK] = {"x": leak["day"].tolist(), "y": _heights(leak)}
    marks = toy.marks[toy.marks["fold"] == fold]
    texts = marks["name"] + ": item " + marks["item"].astype(str)
    for part in part_styles(palette(False)):
        rows = marks[marks["part"] == part]
        data[len(data)] = {
            "x": rows["day"].tolist(),
            "y": _heights(rows),
            "text": texts[rows.index].tolist(),
        }
    return data


def _heights(marks: pd.DataFrame) -> list[float]:
    """Where marks are upwards: in their user's row, those of one basket above each other."""
    heights: list[float] = (marks["user"] + STACK * marks["level"]).tolist()
    return heights
