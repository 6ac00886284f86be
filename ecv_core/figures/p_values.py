"""Pairs of settings and their p values -> a curve per metric: which tells settings apart best."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import Looks, base_layout, lay_out, palette, plain_axis


def p_values_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Figure 1 of Anelli et al. (2019): a lower curve tells the settings apart better.

    Args:
        frame: Columns rank, metric, p and sd; in the order in which metrics are named.
        dark: Whether the page is dark.
    """
    colours = palette(dark)
    figure = go.Figure()
    for number, (metric, pairs) in enumerate(frame.groupby("metric", sort=False)):
        figure.add_scatter(
            x=pairs["rank"],
            y=pairs["p"],
            customdata=pairs[["sd"]],
            mode="lines",
            name=str(metric),
            line=colours.series_line(number),
            hovertemplate="%{y:.2g} ± %{customdata[0]:.2g}",
        )
    looks: Looks = {"linecolor": colours.muted, "fixedrange": True}
    rank_axis = looks | {"range": [0.5, float(frame["rank"].max()) + 0.5]}
    rank_axis |= {"showgrid": False, "showline": True}
    p_axis = looks | {"range": [0, 1], "gridcolor": colours.grid}
    return lay_out(
        figure,
        base_layout(colours, 460),
        xaxis=plain_axis("pair of settings, by p value", size=17, **rank_axis),
        yaxis=plain_axis("p value, mean of the folds", size=17, **p_axis),
        uirevision="p-values",
    )
