"""The race of e-fold and k-fold as a still picture: two lanes of folds, as wide as their time."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import base_layout, lay_out, palette

_UNITS = ((7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))
"""From so many seconds on: seconds per unit, and its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    name: str
    colour: str
    pattern: str


def race_lanes(race: pd.DataFrame) -> pd.DataFrame:
    """One row per lane and fold.

    Args:
        race: from before the first fold (n = 0) to the k-th: n, `e-fold goes on` after n folds,
            `ran`, and `seconds` until then.
    Returns: lane, fold (from 1), start and seconds (of this fold), kind: 'run', 'estimated' (it
        never ran) or 'saved' (behind the stop, in the lane of e-fold).
    """
    after, before = race.iloc[1:].reset_index(drop=True), race.iloc[:-1].reset_index(drop=True)
    k = len(after)
    lanes = []
    for lane in ("e-fold", f"{k}-fold"):
        kind = after["ran"].map({True: "run", False: "estimated"})
        if lane == "e-fold":
            kind = kind.where(before["e-fold goes on"], "saved")
        lanes.append(
            pd.DataFrame(
                {
                    "lane": lane,
                    "fold": after["n"],
                    "start": before["seconds"],
                    "seconds": after["seconds"] - before["seconds"],
                    "kind": kind,
                }
            )
        )
    return pd.concat(lanes, ignore_index=True)


def race_figure(lanes: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """The lanes below each other on one axis of time.

    Args:
        lanes: as `race_lanes` makes them.
    """
    colours = palette(dark)
    kinds = {
        "run": _Kind(name="run", colour=colours.mean, pattern=""),
        "estimated": _Kind(name="never ran, estimated", colour=colours.muted, pattern="."),
        "saved": _Kind(name="saved", colour=colours.width, pattern="/"),
    }
    total = float((lanes["start"] + lanes["seconds"]).max())
    per, unit = next((per, unit) for least, per, unit in _UNITS if total >= least)
    figure = go.Figure()
    for kind, style in kinds.items():
        rows = lanes[lanes["kind"] == kind]
        if rows.empty:
            continue
        figure.add_bar(
            name=style.name,
            orientation="h",
            y=rows["lane"],
            x=rows["seconds"] / per,
            base=rows["start"] / per,
            text=rows["fold"],
            textposition="inside",
            insidetextanchor="middle",
            insidetextfont={"color": colours.ground if kind == "run" else colours.ink},
            textangle=0,
            constraintext="none",
            marker={
                "color": style.colour,
                "line": {"color": colours.ground, "width": 2},
                "pattern": {
                    "shape": style.pattern,
                    "fillmode": "replace",
                    "size": 12,
                    "solidity": 0.12,
                },
            },
            hovertemplate=f"%{{y}}, fold %{{text}}: %{{x:.3g}} {unit}, {style.name}<extra></extra>",
        )
    return lay_out(
        figure,
        base_layout(colours, 340),
        barmode="overlay",
        hovermode="closest",
        showlegend=True,
        xaxis={
            "title": {"text": f"{unit} of computing"},
            "gridcolor": colours.grid,
            "range": [0, 1.01 * total / per],
            "automargin": True,
        },
        yaxis={
            "categoryorder": "array",
            "categoryarray": list(lanes["lane"].unique())[::-1],
            "automargin": True,
            "tickfont": {"size": 20},
        },
    )
