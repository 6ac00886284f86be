"""A toy under a split -> which part each interaction falls into, on a timeline."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from ecv_core.analysis.split_tables.toy import DAYS, ToySplit
from ecv_core.figures.palette import (
    LABEL,
    TEXT,
    Looks,
    Step,
    axis,
    lay_out,
    lecture_layout,
    palette,
    part_styles,
)

STACK = 0.34
"""Rows between two items of one basket."""
MARK = 13
"""Pixels of a mark."""


def timeline_figure(toy: ToySplit, *, dark: bool = False) -> go.Figure:
    """The figure of the first fold; `timeline_steps` moves it to the others."""
    colours = palette(dark)
    figure = go.Figure()
    # The traces are empty at first: each fold fills all of them with its own data.
    looks: Looks = {"hoverinfo": "skip", "showlegend": False}
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
        marker: Looks = {"symbol": symbol, "color": colour, "size": MARK}
        marker["line"] = {"color": colours.ground, "width": 1.5}
        if symbol == "diamond":
            marker["size"] = MARK - 1  # with this size, it looks as large as the other symbols
        if "open" in symbol:
            marker["line"]["color"] = colour
        figure.add_scatter(
            mode="markers",
            name=part,
            marker=marker,
            showlegend=part in parts,
            hovertemplate=f"%{{text}}<br>day %{{x}}<extra>{part}</extra>",
        )
    for trace, data in zip(figure.data, _data_of_fold(toy, fold=0), strict=True):
        trace.update(data)
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


def timeline_steps(toy: ToySplit, sentences: Sequence[str], folds: Sequence[int]) -> list[Step]:
    """What each step of a slider changes in `timeline_figure`.

    Args:
        toy: As there.
        sentences: What each step shows, for those who do not see it.
        folds: The fold of each step.
    """
    steps = []
    for fold, sentence in zip(folds, sentences, strict=True):
        steps.append(Step(changes=dict(enumerate(_data_of_fold(toy, fold))), alt=sentence))
    return steps


def _data_of_fold(toy: ToySplit, fold: int) -> list[Looks]:
    """What each trace of `timeline_figure` has in one fold, in the order of the traces.

    A trace of nothing is emptied, as the fold that was shown before may have filled it.
    """
    held_out: Looks = {"x": [], "y": []}
    point_in_time: Looks = {"x": [], "y": []}
    period = toy.periods[fold]
    if period is not None:
        # Days and users are whole numbers, so that half a unit more to each side has room for their
        # marks.
        first_day, last_day = period
        start = first_day - 0.5
        end = last_day + 0.5
        top = -0.62
        bottom = int(toy.marks["user"].max()) + 0.55
        held_out = {"x": [start, end, end, start], "y": [top, top, bottom, bottom]}
        point_in_time = {"x": [start, start], "y": [top, bottom], "text": ["point in time ", ""]}
    leaked: Looks = {"x": [], "y": []}
    leak = toy.leaks[fold]
    if leak is not None:
        leaked = {"x": leak["day"].tolist(), "y": _heights(leak)}
    data = [held_out, point_in_time, leaked]
    marks = toy.marks[toy.marks["fold"] == fold]
    texts = marks["name"] + ": item " + marks["item"].astype(str)
    # The traces of the figure come in the order of these styles, whatever their colours.
    for part in part_styles(palette(False)):
        of_part = marks[marks["part"] == part]
        data.append(
            {
                "x": of_part["day"].tolist(),
                "y": _heights(of_part),
                "text": texts[of_part.index].tolist(),
            }
        )
    return data


def _heights(marks: pd.DataFrame) -> list[float]:
    """Where marks are upwards: in their user's row, those of one basket above each other."""
    return (marks["user"] + STACK * marks["level"]).tolist()
