"""Frames of curves -> energy against difference, and where the rule stops; both follow alpha."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.analysis.tradeoff.frames import AVERAGE, FIXED, PAPER, RULE, SYSTEM
from ecv_core.figures.palette import (
    Palette,
    Steps,
    base_layout,
    fold_ticks,
    lay_out,
    palette,
    plain_axis,
    stepped,
)
from ecv_core.figures.words import alpha_text, setting_words, titled

HERE = 0
"""Number of the trace that moves; it is drawn in `zorder`, not in this order."""
FINE = 20
"""Settings of a rule from which on its line has no marks."""


def highest_difference(frame: pd.DataFrame) -> float:
    """End of the trade-off's upward axis: one wild system does not flatten all others.

    Args: frame: from `tradeoff.tradeoff_frame`.
    """
    alphas = frame[frame["kind"].isin([AVERAGE, PAPER])]["difference_percent"].max()
    systems = frame[frame["kind"] == SYSTEM]["difference_percent"]
    fixed = frame[(frame["kind"] == FIXED) & (frame["setting"] >= 2)]["difference_percent"]
    known = [float(alphas) * 1.35, float(systems.quantile(0.97)) * 1.1]
    if len(fixed):
        known.append(float(fixed.max()) * 1.1)
    return max(known)


def tradeoff_figure(frame: pd.DataFrame, *, cost: str = "energy", dark: bool = False) -> go.Figure:
    """What is spent against how far off it is, for every alpha.

    Args:
        frame: from `tradeoff.tradeoff_frame`.
        cost: what is counted: 'energy', or 'folds' where there is no energy.
    """
    colours = palette(dark)
    average, fixed = frame[frame["kind"] == AVERAGE], frame[frame["kind"] == FIXED]
    systems = frame[frame["kind"] == SYSTEM]
    figure = go.Figure()
    figure.add_scatter(  # HERE
        x=[],
        y=[],
        text=[],
        mode="markers+text",
        textposition="top right",
        textfont={"size": 19, "color": colours.stop},
        marker={"size": 20, "color": colours.stop, "line": {"width": 3, "color": colours.ink}},
        cliponaxis=False,
        zorder=9,
        showlegend=False,
        hovertemplate="%{x:.1f} % spent, difference %{y:.2f} %<extra>alpha picked</extra>",
    )
    if systems["system"].nunique() > 1:
        _systems(figure, systems, colours)
    _fixed(figure, fixed, colours)
    _others(figure, frame[frame["kind"] == RULE], colours)
    figure.add_scatter(
        x=average["energy_percent"],
        y=average["difference_percent"],
        customdata=average["setting"],
        mode="lines",
        line={"color": colours.mean, "width": 5},
        zorder=6,
        showlegend=False,  # the moving point names it
        hovertemplate="alpha %{customdata:.1e}: %{x:.1f} % spent, "
        "difference %{y:.2f} %<extra></extra>",
    )
    _paper(figure, frame[frame["kind"] == PAPER], colours)
    return lay_out(
        figure,
        base_layout(colours, 500),
        margin={"l": 84, "r": 24, "t": 64, "b": 60},
        hovermode="closest",
        xaxis=_axis(f"{cost} used (% of all folds)", [0, 104], colours),
        yaxis=_axis("difference to k-fold mean (%)", [0, highest_difference(frame)], colours),
        uirevision="tradeoff",
    )


def tradeoff_steps(frame: pd.DataFrame, alphas: Sequence[float], texts: Sequence[str]) -> Steps:
    """Where the moving point is at each alpha of a slider.

    Args:
        frame: from `tradeoff.tradeoff_frame`.
        alphas: each one a setting of the frame.
        texts: each alpha as shown.
    """
    at = ["energy_percent", "difference_percent"]
    average = frame[frame["kind"] == AVERAGE].set_index("setting")[at]
    patches, alts = [], []
    for alpha, text in zip(alphas, texts, strict=True):
        x, y = average.loc[alpha].to_numpy(dtype="float64").tolist()
        patches.append({HERE: {"x": [x], "y": [y], "text": [f"<b>e-fold<br>alpha {text}</b>"]}})
        alts.append(
            f"Cost against difference to the k-fold mean, for every alpha. At alpha {text}: "
            f"{x:.1f} % of the cost, difference {y:.2f} %. The paper reports 41.5 % and 1.81 %."
        )
    return Steps(patches=patches, alts=alts, notes=[f"alpha {text}" for text in texts])


def tradeoff_at(frame: pd.DataFrame, alpha: float, *, cost: str = "energy") -> go.Figure:
    """The trade-off at one alpha."""
    steps = tradeoff_steps(frame, [alpha], [alpha_text(alpha)])
    return stepped(tradeoff_figure(frame, cost=cost), steps)


def _systems(figure: go.Figure, systems: pd.DataFrame, colours: Palette) -> None:
    for name, rows in systems.groupby("system", sort=False):
        figure.add_scatter(
            x=rows["energy_percent"].round(3),
            y=rows["difference_percent"].round(4),
            mode="lines",
            line={"color": colours.mean, "width": 1.5},
            opacity=0.4,
            zorder=1,
            showlegend=False,
            name=str(name),
            hovertemplate="%{x:.1f} % spent, difference %{y:.2f} %",
        )
    highest = systems[systems["energy_percent"] >= 60].nlargest(1, "difference_percent")
    figure.add_scatter(  # names them where nothing is above
        x=highest["energy_percent"],
        y=highest["difference_percent"],
        text=["each run"] * len(highest),
        mode="text",
        textposition="top right",
        textfont={"size": 15, "color": colours.muted},
        showlegend=False,
        hoverinfo="skip",
    )


def _fixed(figure: go.Figure, fixed: pd.DataFrame, colours: Palette) -> None:
    figure.add_scatter(
        x=fixed["energy_percent"],
        y=fixed["difference_percent"],
        text=[f"always {e:.0f} folds" if e == 2 else f"{e:.0f}" for e in fixed["setting"]],
        mode="lines+markers+text",
        textposition=["top right" if e == 2 else "bottom left" for e in fixed["setting"]],
        textfont={"size": 15, "color": colours.muted},
        line={"color": colours.muted, "width": 2, "dash": "dot"},
        marker={"size": 9, "symbol": "square", "color": colours.muted},
        zorder=3,
        showlegend=False,
        customdata=fixed["setting"],
        hovertemplate="always %{customdata:.0f} folds: %{x:.1f} % spent, "
        "difference %{y:.2f} %<extra></extra>",
    )


def _others(figure: go.Figure, rows: pd.DataFrame, colours: Palette) -> None:
    """The other rules: a dashed line of one that is worked out at many settings, else marks."""
    symbols = ("diamond", "cross", "triangle-up", "x", "pentagon")
    for place, (name, rule) in enumerate(rows.groupby("system", sort=False)):
        fine = len(rule) > FINE
        line = {"color": colours.width if fine else colours.ink, "width": 4 if fine else 1.5}
        figure.add_scatter(
            x=rule["energy_percent"],
            y=rule["difference_percent"],
            text=[setting_words(str(name), setting) for setting in rule["setting"]],
            mode="lines" if fine else "lines+markers",
            line=line | {"dash": "dash" if fine else "dashdot"},
            marker={"size": 8, "symbol": symbols[place % len(symbols)], "color": colours.ink},
            opacity=1 if fine else 0.75,
            zorder=5 if fine else 2,
            name=titled(str(name)),
            hovertemplate=f"{titled(str(name))}, %{{text}}: %{{x:.1f}} % spent, "
            "difference %{y:.2f} %<extra></extra>",
        )


def _paper(figure: go.Figure, rows: pd.DataFrame, colours: Palette) -> None:
    figure.add_scatter(
        x=rows["energy_percent"],
        y=rows["difference_percent"],
        text=["the paper's average"] * len(rows),
        mode="markers+text",
        textposition="top center",
        textfont={"size": 15, "color": colours.ink},
        showlegend=False,
        marker={
            "size": 19,
            "symbol": "star",
            "color": colours.ground,
            "line": {"width": 2.5, "color": colours.ink},
        },
        zorder=7,
        hovertemplate="the paper: %{x:.1f} % of the energy, difference %{y:.2f} %<extra></extra>",
    )


def _axis(title: str, span: list[float], colours: Palette) -> dict[str, object]:
    looks = {"gridcolor": colours.grid, "linecolor": colours.muted, "automargin": False}
    return plain_axis(
        title, size=17, standoff=8, range=span, showline=True, nticks=7, ticksuffix=" %", **looks
    )


BARS, MEAN = 0, 1


def stops_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Bars over the folds 1 .. k and a mark at the mean; `stops_steps` fills them in.

    Args: frame: from `tradeoff.stops_frame`.
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
    looks: dict[str, Any] = {
        "linecolor": colours.muted,
        "automargin": False,
    }  # which would draw it twice
    return lay_out(
        figure,
        base_layout(colours, 500),
        margin={"l": 90, "r": 12, "t": 56, "b": 60},
        bargap=0.18,
        hovermode="closest",
        xaxis=plain_axis(
            "stops after fold", size=17, **looks | fold_ticks(k, 12) | {"range": [0.4, k + 0.6]}
        ),
        yaxis=plain_axis(
            "share of all orders",
            size=17,
            standoff=8,
            range=[0, 112],
            tickvals=[0, 25, 50, 75, 100],
            ticktext=["0 %", "25 %", "50 %", "75 %", "100 %"],
            gridcolor=colours.grid,
            **looks,
        ),
        uirevision="stops",
    )


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
                    "text": [f"{share:.0f}%" if share >= 1 else "" for share in percent],
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


def stops_at(frame: pd.DataFrame, alpha: float) -> go.Figure:
    """The bars at one alpha."""
    return stepped(stops_figure(frame), stops_steps(frame, [alpha], [alpha_text(alpha)]))
