"""Runs -> their scores, as shares of the best on their dataset, against their energy."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import axis, base_layout, lay_out, palette

_HEIGHT = 260


def spent_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Each run with a score and metered energy; shares compare where scores themselves do not.

    Args:
        frame: columns name, of (what scores compare within), score, higher (whether a higher one
            is better), mwh and picked.
    Returns: those rows, with share: percent of the best score of its `of`, which has 100.
    """
    known = frame.dropna(subset=["score", "mwh"])
    known = known[(known["score"] > 0) & (known["mwh"] > 0)]
    scores = known.groupby("of")["score"]
    high, low = known["score"] / scores.transform("max"), scores.transform("min") / known["score"]
    return known.assign(share=100 * high.where(known["higher"].astype(bool), low))


def spent_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """A point per run, in the colour of its dataset and metric; picked ones are filled and ringed.

    Args:
        frame: from `spent_frame`, at least one row.
    """
    colours = palette(dark)
    figure = go.Figure()
    some = bool(frame["picked"].any())
    for place, (of, mine) in enumerate(frame.groupby("of", sort=False)):
        faint = [1.0 if picked or not some else 0.3 for picked in mine["picked"]]
        figure.add_scatter(
            x=mine["mwh"],
            y=mine["share"],
            mode="markers",
            name=str(of),
            text=mine["name"],
            customdata=mine[["score"]],
            marker={
                "size": 12,
                "color": colours.series[place % len(colours.series)],
                "opacity": faint,
                "line": {"width": 2 * mine["picked"].astype(int), "color": colours.ink},
            },
            hovertemplate="%{text}: %{customdata[0]:.4f}, %{y:.1f} %, %{x:.2g} mWh<extra></extra>",
        )
    return lay_out(
        figure,
        base_layout(colours, _HEIGHT),
        hovermode="closest",
        margin={"t": 8 if frame["of"].nunique() == 1 else 48},
        xaxis=axis("energy of all its folds, mWh", colours, type="log", dtick="D2"),
        yaxis=axis("score, % of the best", colours, ticksuffix=" %"),
    )
