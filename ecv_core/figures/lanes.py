"""Folds of runs on the nodes of a cluster -> a lane per node, over time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import base_layout, lay_out, palette
from ecv_core.figures.words import counted, duration, run_title
from ecv_core.records.run import RunRecord

LANE_HEIGHT = 34
"""Pixels of a node."""
LEGEND_HEIGHT = 130
"""Pixels of the legend above and the axis below."""
FINISHED_AFTER_STOP = "finished after the stop"


def lanes_frame(runs: Iterable[RunRecord]) -> pd.DataFrame:
    """One row per fold of these runs that was computed and says where.

    Returns:
        Node, run, fold, began (UTC), seconds, joules, kind ('fold', or FINISHED_AFTER_STOP),
        hardware; by node and time.
    """
    columns = ["node", "run", "fold", "began", "seconds", "joules", "kind", "hardware"]
    rows = []
    for run in runs:
        # A fold of `ahead` finished while an earlier fold was still running.
        folds = (*run.folds, *run.ahead)
        # Folds after the stop are superfluous, unless they run to check the stop.
        folds_wanted = len(folds)
        if run.stopped_at is not None and not run.spec.full:
            folds_wanted = run.stopped_at
        for position, fold in enumerate(folds, start=1):
            # Only a fold that a node of a cluster has computed for this run is in a lane.
            if fold.node is None or fold.reused:
                continue
            kind = "fold"
            if position > folds_wanted:
                kind = FINISHED_AFTER_STOP
            row = {
                "node": fold.node.host,
                "run": run_title(run),
                "fold": fold.fold,
                "began": fold.node.began_at,
                "seconds": fold.total_seconds,
                "joules": fold.energy.joules,
                "kind": kind,
                "hardware": fold.node.hardware,
            }
            rows.append(row)
    return pd.DataFrame(rows, columns=columns).sort_values(["node", "began"], ignore_index=True)


def _ends(frame: pd.DataFrame) -> pd.Series[pd.Timestamp]:
    """When each fold ended."""
    return frame["began"] + pd.to_timedelta(frame["seconds"], unit="s")


def lanes_sentence(frame: pd.DataFrame) -> str:
    """How much time several nodes have saved, for whoever does not see the picture."""
    folds = counted(len(frame), "fold")
    nodes = counted(frame["node"].nunique(), "node")
    seconds_taken = (_ends(frame).max() - frame["began"].min()).total_seconds()
    seconds_in_all = float(frame["seconds"].sum())
    text = (
        f"{folds} on {nodes} took {duration(seconds_taken)}; one after another, they would have "
        f"taken {duration(seconds_in_all)}."
    )
    late_folds = int((frame["kind"] == FINISHED_AFTER_STOP).sum())
    if late_folds:
        text += f" {counted(late_folds, 'fold')} of them {FINISHED_AFTER_STOP}."
    return text


def lanes_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """The lanes below each other on one axis of time, a colour per run, late folds hatched.

    Args:
        frame: As `lanes_frame` makes it; at least one row.
        dark: Whether the page is dark.
    """
    colours = palette(dark)
    begin = frame["began"].min()
    if _ends(frame).max() - begin < timedelta(minutes=2):
        unit = timedelta(seconds=1)
        unit_name = "seconds"
        sign = "s"
    else:
        unit = timedelta(minutes=1)
        unit_name = "minutes"
        sign = "min"
    frame = frame.assign(
        base=(frame["began"] - begin) / unit,
        length=frame["seconds"] / unit.total_seconds(),
        hatch=frame["kind"].map({FINISHED_AFTER_STOP: "/", "fold": ""}),
    )
    figure = go.Figure()
    for number, (run, folds) in enumerate(frame.groupby("run", sort=False)):
        marker = {
            "color": colours.series_colour(number),
            "line": {"color": colours.ground, "width": 1},
            "pattern": {"shape": folds["hatch"], "solidity": 0.4},
        }
        hover = f"%{{y}}: {run}, fold %{{text}}, %{{x:.3g}} {sign}, %{{customdata}}<extra></extra>"
        figure.add_bar(
            name=str(run),
            orientation="h",
            y=folds["node"],
            x=folds["length"],
            base=folds["base"],
            text=(folds["fold"] + 1).astype(str),
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": colours.ground},
            marker=marker,
            customdata=folds["kind"],
            hovertemplate=hover,
        )
    nodes = sorted(frame["node"].unique(), reverse=True)
    time_axis = {
        "title": {"text": f"{unit_name} since the first fold began"},
        "gridcolor": colours.grid,
        "automargin": True,
        "rangemode": "tozero",
    }
    node_axis = {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": nodes,
        "automargin": True,
    }
    return lay_out(
        figure,
        base_layout(colours, LEGEND_HEIGHT + LANE_HEIGHT * max(len(nodes), 2)),
        barmode="overlay",
        hovermode="closest",
        showlegend=True,
        xaxis=time_axis,
        yaxis=node_axis,
    )
