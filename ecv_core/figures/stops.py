"""The frame of stops -> how often the rule stops after each fold, as bars that follow alpha."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import base_layout, lay_out, palette
from ecv_core.figures.steps import Steps

BARS, MEAN = 0, 1


def stops_figure(frame: pd.DataFrame, *, dark: bool = False, height: int = 520) -> go.Figure:
    """Bars over the folds 1 .. k and a mark at the mean; `stops_steps` fills them in.

    Args:
        frame: from `tradeoff.stops_frame`.
        dark: colours for a dark page.
        height: in pixels.
    """
    colours = palette(dark)
    k = int(frame["n"].max())
    figure = go.Figure()
    figure.add_bar(
        x=[],
        y=[],
        text=[],
        textposition="outside",
        textfont={"size": 15, "color": colours.ink},
        cliponaxis=False,
        marker={"color": colours.mean},
        name="orders that stop here",
        showlegend=False,
        hovertemplate="%{y:.1f} % stop after fold %{x}<extra></extra>",
    )
    figure.add_scatter(
        x=[],
        y=[],
        text=[],
        mode="lines+text",
        textposition="top center",
        textfont={"size": 18, "color": colours.stop},
        line={"color": colours.stop, "width": 4, "dash": "dash"},
        cliponaxis=False,
        name="mean stop",
        showlegend=False,
        hoverinfo="skip",
    )
    axis = {"zeroline": False, "linecolor": colours.muted}
    lay_out(
        figure,
        base_layout(colours, height)
        | {
            "margin": {"l": 90, "r": 12, "t": 56, "b": 60},
            "bargap": 0.18,
            "hovermode": "closest",
            "xaxis": axis
            | {
                "title": {"text": "stops after fold", "font": {"size": 17}},
                "range": [0.4, k + 0.6],
                "tickmode": "linear" if k <= 12 else "auto",
                "tick0": 1,
                "dtick": 1,
                "showgrid": False,
                "showline": True,
            },
            "yaxis": axis
            | {
                "title": {"text": "share of all orders", "font": {"size": 17}, "standoff": 8},
                "range": [0, 112],
                "tickvals": [0, 25, 50, 75, 100],
                "ticktext": ["0 %", "25 %", "50 %", "75 %", "100 %"],
                "gridcolor": colours.grid,
            },
            "uirevision": "stops",
        },
    )
    return figure


def stops_steps(frame: pd.DataFrame, alphas: Sequence[float], texts: Sequence[str]) -> Steps:
    """The bars at each alpha of a slider.

    Args:
        frame: from `tradeoff.stops_frame`.
        alphas: each one of the frame's.
        texts: each alpha as shown.
    """
    patches, alts = [], []
    by_alpha = frame.pivot(index="alpha", columns="n", values="percent")
    folds = [int(n) for n in by_alpha.columns]
    for alpha, text in zip(alphas, texts, strict=True):
        percent = by_alpha.loc[alpha].to_numpy()
        mean = float(percent @ np.array(folds)) / 100
        patches.append(
            {
                BARS: {
                    "x": folds,
                    "y": [round(float(share), 3) for share in percent],
                    "text": [_share(float(share)) for share in percent],
                },
                MEAN: {
                    "x": [mean, mean],
                    "y": [min(float(percent.max()) + 14, 104), 104],
                    "text": ["", f"<b>mean {mean:.1f}</b>"],
                },
            }
        )
        likely = int(np.argmax(percent))
        alts.append(
            f"Where the rule stops over all orders at alpha {text}: after {mean:.2f} folds on "
            f"average, most often after fold {folds[likely]} ({percent[likely]:.0f} % of orders)."
        )
    return Steps(patches=patches, alts=alts, notes=[f"alpha {text}" for text in texts])


def _share(percent: float) -> str:
    return f"{percent:.0f}%" if percent >= 1 else ""
