"""Folds on the nodes of a cluster as lanes: a node each, over time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import base_layout, lay_out, palette
from ecv_core.figures.words import counted, duration, run_title
from ecv_core.records.run import Run

LANE_HEIGHT, LEGEND_HEIGHT = 34, 130
"""Pixels."""
AFTER = "came after the stop"


def lanes_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """One row per fold of these runs that was computed and says where.

    Returns: node, run, fold, began (UTC), seconds, joules, kind ('fold', or AFTER), hardware; by
        node and time.
    """
    rows = [
        {
            "node": result.node.host,
            "run": run_title(run),
            "fold": result.fold,
            "began": result.node.began_at,
            "seconds": result.total_seconds,
            "joules": result.energy.joules,
            "kind": AFTER if _after(run, place) else "fold",
            "hardware": result.node.hardware,
        }
        for run in runs
        for place, result in enumerate((*run.folds, *run.ahead))
        if result.node is not None and not result.reused
    ]
    columns = ["node", "run", "fold", "began", "seconds", "joules", "kind", "hardware"]
    return pd.DataFrame(rows, columns=columns).sort_values(["node", "began"], ignore_index=True)


def _after(run: Run, place: int) -> bool:
    return run.stopped_at is not None and place >= run.stopped_at and not run.spec.full


def lanes_sentence(frame: pd.DataFrame) -> str:
    """How much time several nodes have saved, for whoever does not see the picture."""
    nodes, work = frame["node"].nunique(), float(frame["seconds"].sum())
    ends = frame["began"] + pd.to_timedelta(frame["seconds"], unit="s")
    took = (ends.max() - frame["began"].min()).total_seconds()
    late = int((frame["kind"] == AFTER).sum())
    text = (
        f"{counted(len(frame), 'fold')} on {counted(nodes, 'node')} took {duration(took)}; one "
        f"after the other they would have taken {duration(work)}."
    )
    return f"{text} {counted(late, 'fold')} of them {AFTER}." if late else text


def lanes_height(frame: pd.DataFrame) -> int:
    """In pixels."""
    return LEGEND_HEIGHT + LANE_HEIGHT * max(frame["node"].nunique(), 2)


def lanes_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """The lanes below each other on one axis of time, a colour per run, late folds hatched.

    Args:
        frame: as `lanes_frame` makes it; at least one row.
    """
    colours = palette(dark)
    begin = frame["began"].min()
    ends = frame["began"] + pd.to_timedelta(frame["seconds"], unit="s")
    short = ends.max() - begin < timedelta(minutes=2)
    unit, word, sign = (1, "seconds", "s") if short else (60, "minutes", "min")
    begun = (frame["began"] - begin) / timedelta(seconds=unit)
    figure = go.Figure()
    for at, run in enumerate(dict.fromkeys(frame["run"])):
        rows = frame[frame["run"] == run]
        late = rows["kind"] == AFTER
        figure.add_bar(
            name=run,
            orientation="h",
            y=rows["node"],
            x=rows["seconds"] / unit,
            base=begun[rows.index],
            text=rows["fold"].astype(str),
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": colours.ground},
            marker={
                "color": colours.series[at % len(colours.series)],
                "line": {"color": colours.ground, "width": 1},
                "pattern": {"shape": late.map({True: "/", False: ""}), "solidity": 0.4},
            },
            customdata=rows["kind"],
            hovertemplate=f"%{{y}}: {run}, fold %{{text}}, %{{x:.3g}} {sign}, %{{customdata}}"
            "<extra></extra>",
        )
    return lay_out(
        figure,
        base_layout(colours, lanes_height(frame)),
        barmode="overlay",
        hovermode="closest",
        showlegend=True,
        xaxis={
            "title": {"text": f"{word} since the first fold began"},
            "gridcolor": colours.grid,
            "automargin": True,
            "rangemode": "tozero",
        },
        yaxis={
            "type": "category",
            "categoryorder": "array",
            "categoryarray": sorted(frame["node"].unique())[::-1],
            "automargin": True,
        },
    )
