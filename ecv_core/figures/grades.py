"""Models' grades on seen and on held-out data -> bars, one of the two lit."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.lecture import axis, bar_label, lecture_layout
from ecv_core.figures.palette import lay_out, palette

GRADES_COLUMNS = {
    "model": "as shown",
    "seen": "mean nDCG@10 with the training interactions as the right answers",
    "held_out": "mean nDCG@10 with the held-out interactions as the right answers",
}
"""The columns of the frame of grades."""


def grades_figure(
    frame: pd.DataFrame, *, held_out: bool, dark: bool = False, height: int = 380
) -> go.Figure:
    """Horizontal bars, the best on top.

    Args:
        frame: with the GRADES_COLUMNS.
        held_out: which of the two grades to show.
        dark: colours for a dark page.
        height: in pixels.
    """
    colours = palette(dark)
    column = "held_out" if held_out else "seen"
    rows = frame.sort_values(column)  # Plotly draws the first row at the bottom
    best = rows["model"].iloc[-1]
    figure = go.Figure()
    figure.add_bar(
        orientation="h",
        x=rows[column],
        y=rows["model"],
        marker={
            "color": [colours.mean if model == best else colours.muted for model in rows["model"]],
            "pattern": {"shape": ["" if model == best else "/" for model in rows["model"]]},
        },
        showlegend=False,
        hovertemplate="%{y}: %{x:.4f}<extra></extra>",
    )
    for model, value in zip(rows["model"], rows[column], strict=True):
        words = f"<b>{value:.2f}</b>  {model}" + (", <b>best</b>" if model == best else "")
        figure.add_annotation(**bar_label(model, words, colours))
    lay_out(
        figure,
        lecture_layout(colours, height)
        | {
            "margin": {"l": 12, "r": 12, "t": 30, "b": 12},
            "bargap": 0.55,
            "xaxis": axis("nDCG@10: 0 useless, 1 perfect", colours, range=[0, 1.02])
            | {"tickvals": [0, 0.25, 0.5, 0.75, 1]},
            "yaxis": axis("", colours, showticklabels=False, showgrid=False),
        },
    )
    return figure
