"""The p-value curves of several metrics -> one line per metric over the ranks of the pairs."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import base_layout, lay_out, palette

HEIGHT = 460
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def p_values_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Figure 1 of Anelli et al. (2019): a lower curve tells the settings apart better.

    Args:
        frame: columns rank, metric, p and sd; in the order in which metrics are named.
        dark: colours for a dark page.
    """
    colours = palette(dark)
    figure = go.Figure()
    for place, (metric, mine) in enumerate(frame.groupby("metric", sort=False)):
        figure.add_scatter(
            x=mine["rank"],
            y=mine["p"],
            customdata=mine[["sd"]],
            mode="lines",
            name=str(metric),
            line={
                "color": colours.series[place % len(colours.series)],
                "dash": _DASHES[place % len(_DASHES)],
                "width": 3,
            },
            hovertemplate="%{y:.3f} ± %{customdata[0]:.3f}",
        )
    axis = {"zeroline": False, "automargin": True, "linecolor": colours.muted, "fixedrange": True}
    lay_out(
        figure,
        base_layout(colours, HEIGHT)
        | {
            "xaxis": axis
            | {
                "title": {"text": "pair of settings, by p value", "font": {"size": 17}},
                "range": [0.5, float(frame["rank"].max()) + 0.5],
                "showgrid": False,
                "showline": True,
            },
            "yaxis": axis
            | {
                "title": {"text": "p value, mean of the folds", "font": {"size": 17}},
                "range": [0, 1],
                "gridcolor": colours.grid,
            },
            "uirevision": "p-values",
        },
    )
    return figure
