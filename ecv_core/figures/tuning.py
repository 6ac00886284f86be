"""Search spaces with their scores -> score by parameter, and p values by metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import Palette, base_layout, lay_out, palette, plain_axis

_HEIGHT = 420


def by_parameter_figure(
    frame: pd.DataFrame, parameter: str, metric: str, *, dark: bool = False
) -> go.Figure:
    """Each configuration's score with its interval, at its value of a parameter.

    Configurations with the same value stand beside each other.

    Args:
        frame: a column per parameter, and score, low, high and folds; a row per configuration.
        parameter: the column that is one.
        metric: as people read it.
    """
    colours = palette(dark)
    values = _values(frame, parameter)
    places = np.array([values.index(one) for one in frame[parameter]], dtype=np.float64)
    for place in range(len(values)):
        mine = np.flatnonzero(places == place)
        places[mine] += np.linspace(-0.25, 0.25, len(mine)) if len(mine) > 1 else 0.0
    figure = go.Figure(
        go.Scatter(
            x=places,
            y=frame["score"],
            error_y={
                "type": "data",
                "symmetric": False,
                "array": frame["high"] - frame["score"],
                "arrayminus": frame["score"] - frame["low"],
                "color": colours.mean,
                "thickness": 2,
                "width": 4,
            },
            mode="markers",
            marker={"size": 10, "color": colours.mean},
            customdata=np.stack([_said(frame), frame["folds"].to_numpy(object)], axis=1),
            hovertemplate="%{customdata[0]}<br>%{y:.4f}, folds: %{customdata[1]}<extra></extra>",
        )
    )
    return lay_out(
        figure,
        base_layout(colours, _HEIGHT),
        hovermode="closest",
        showlegend=False,
        xaxis=_axis(
            parameter.replace("_", " "),
            colours,
            tickvals=list(range(len(values))),
            ticktext=[value_text(one) for one in values],
            showgrid=False,
            range=[-0.5, len(values) - 0.5],
        ),
        yaxis=_axis(metric, colours, gridcolor=colours.grid),
    )


def value_text(value: object) -> str:
    """A value of a parameter as people read it: 0.00001221, and 250 for 250.0."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _values(frame: pd.DataFrame, parameter: str) -> list[Any]:
    """In order of size, where they are numbers."""
    return sorted(frame[parameter].unique().tolist(), key=lambda one: (isinstance(one, str), one))


def _said(frame: pd.DataFrame) -> np.ndarray:
    names = [str(name) for name in frame if name not in ("score", "low", "high", "folds")]
    return np.array(
        [
            ", ".join(f"{name.replace('_', ' ')} {value_text(row[name])}" for name in names)
            for row in frame.to_dict("records")
        ],
        dtype=object,
    )


def _axis(title: str, colours: Palette, **more: Any) -> dict[str, Any]:  # noqa: ANN401  of layout.xaxis
    return plain_axis(title, size=17, linecolor=colours.muted, fixedrange=True, **more)


_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def p_values_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Figure 1 of Anelli et al. (2019): a lower curve tells the settings apart better.

    Args:
        frame: columns rank, metric, p and sd; in the order in which metrics are named.
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
    return lay_out(
        figure,
        base_layout(colours, 460),
        xaxis=_axis(
            "pair of settings, by p value",
            colours,
            range=[0.5, float(frame["rank"].max()) + 0.5],
            showgrid=False,
            showline=True,
        ),
        yaxis=_axis("p value, mean of the folds", colours, range=[0, 1], gridcolor=colours.grid),
        uirevision="p-values",
    )
