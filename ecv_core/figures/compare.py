"""Several runs side by side -> one row each: mean, interval, folds used and saved, energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import base_layout, palette
from ecv_core.records import Moment, Run

COLUMNS = {
    "run_id": "the run",
    "algorithm": "its algorithm",
    "state": "where it is in its life",
    "mean": "mean score at the stop, or so far",
    "low": "lower end of the confidence interval of that mean",
    "high": "upper end",
    "folds_used": "folds that this mean is of",
    "folds_saved": "folds never needed: k - e, 0 while there is no stop",
    "joules": "energy of the folds used",
}
"""The frame's columns and what they mean."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A run with its moments."""

    run: Run
    moments: Sequence[Moment]


def compare_frame(entries: Sequence[Entry]) -> pd.DataFrame:
    """One row per run, in the given order, with the COLUMNS; missing where there is no fold yet."""
    rows = []
    for entry in entries:
        run, stopped_at = entry.run, entry.run.stopped_at
        used = min(stopped_at or len(run.folds), len(run.folds))
        at = entry.moments[used - 1] if used else None
        rows.append(
            {
                "run_id": run.run_id,
                "algorithm": run.spec.algorithm,
                "state": run.state.value,
                "mean": at.mean if at else None,
                "low": at.interval.low if at and at.interval else None,
                "high": at.interval.high if at and at.interval else None,
                "folds_used": used,
                "folds_saved": len(run.spec.fold_order) - stopped_at if stopped_at else 0,
                "joules": sum(fold.energy.joules for fold in run.folds[:used]),
            }
        )
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(("mean", "low", "high", "joules"), "float64"))


def compare_figure(frame: pd.DataFrame, *, metric: str, dark: bool = False) -> go.Figure:
    """Mean and interval of each run, one line per run, the first on top."""
    colours = palette(dark)
    known = frame.dropna(subset=["mean"])
    figure = go.Figure()
    figure.add_scatter(
        x=known["mean"],
        y=known["algorithm"],
        mode="markers+text",
        text=[f"{mean:.4f}" for mean in known["mean"]],
        textposition="top center",
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
        hovertemplate="%{x:.4f}<extra>%{y}</extra>",
    )
    layout = base_layout(colours, 110 + 58 * max(len(frame), 1))
    figure.update_layout(
        layout
        | {
            "hovermode": "closest",
            "showlegend": False,
            "margin": layout["margin"] | {"t": 12},
            "xaxis": {
                "title": {"text": f"{metric} at the stop, with its interval"},
                "gridcolor": colours.grid,
                "zeroline": False,
                "automargin": True,
                "nticks": 6,
            },
            "yaxis": {
                "categoryorder": "array",
                "categoryarray": list(frame["algorithm"])[::-1],
                "range": [-0.6, len(frame) - 0.4],
                "automargin": True,
                "showgrid": False,
            },
        }
    )
    return figure


def compare_alt_text(frame: pd.DataFrame, *, metric: str) -> str:
    """One sentence with the numbers, for those who do not see the figure."""
    columns = zip(frame["algorithm"], frame["mean"], frame["folds_used"], strict=True)
    parts = [
        f"{algorithm} {mean:.4f} after {used} fold{'s' * (used > 1)}"
        if used
        else f"{algorithm} has no fold yet"
        for algorithm, mean, used in columns
    ]
    return f"{metric} of {len(frame)} runs: " + "; ".join(parts) + "."
