"""Where stopping misleads -> one figure each: misses, the unit of the score, shared training."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.lecture import LABEL, axis, bar_label, fold_axis, lecture_layout
from ecv_core.figures.palette import lay_out, palette


def misses_figure(
    frame: pd.DataFrame, *, k: int, promised: float = 5.0, dark: bool = False, height: int = 420
) -> go.Figure:
    """How often the interval misses, by folds used: looking each time against a fixed plan.

    Args:
        frame: from `lessons.traps.misses_frame`.
        k: folds of a whole cross-validation.
        promised: percent of misses that the interval's confidence allows.
        dark: colours for a dark page.
        height: in pixels.
    """
    colours = palette(dark)
    rule, plan = frame[frame["kind"] == "rule"], frame[frame["kind"] == "plan"]
    figure = go.Figure()
    for place, (name, rows) in enumerate(rule[rule["system"] != ""].groupby("system", sort=False)):
        figure.add_scatter(
            x=rows["folds"],
            y=rows["misses_percent"],
            mode="lines",
            line={"color": colours.stop, "width": 1.5},
            opacity=0.3,
            name="each run",
            legendgroup="systems",
            showlegend=place == 0,
            hovertemplate=f"{name}<br>%{{x:.1f}} folds: %{{y:.1f}} % miss<extra></extra>",
        )
    average = rule[rule["system"] == ""]
    figure.add_scatter(
        x=average["folds"],
        y=average["misses_percent"],
        mode="lines",
        line={"color": colours.stop, "width": 6},
        name="look after every fold",
        hovertemplate="%{x:.1f} folds: %{y:.1f} % miss<extra>look after every fold</extra>",
    )
    figure.add_scatter(
        x=plan["folds"],
        y=plan["misses_percent"],
        mode="lines+markers",
        line={"color": colours.mean, "width": 4, "dash": "dot"},
        marker={"size": 12, "symbol": "square"},
        name="number of folds fixed before",
        hovertemplate="%{x:.0f} folds: %{y:.1f} % miss<extra>fixed before</extra>",
    )
    figure.add_hline(y=promised, line={"color": colours.ink, "width": 2, "dash": "dash"})
    figure.add_annotation(
        x=1,
        xref="paper",
        xanchor="right",
        y=promised,
        yanchor="bottom",
        text=f"{promised:g} % is what the interval promises",
        showarrow=False,
        font={"size": LABEL, "color": colours.ink},
    )
    top = float(rule["misses_percent"].max()) * 1.05
    lay_out(
        figure,
        lecture_layout(colours, height)
        | {
            "xaxis": fold_axis("folds used, on average", k, colours) | {"range": [1.8, k + 0.2]},
            "yaxis": axis("intervals that miss", colours, range=[0, top], ticksuffix=" %"),
        },
    )
    return figure


def units_figure(
    units: Sequence[str],
    stops: Sequence[int],
    *,
    k: int,
    dark: bool = False,
    height: int = 420,
) -> go.Figure:
    """Folds used when the same scores are written in different units.

    Args:
        units: as shown, one bar each.
        stops: folds used in each.
        k: folds of a whole cross-validation.
        dark: colours for a dark page.
        height: in pixels.
    """
    colours = palette(dark)
    figure = go.Figure()
    figure.add_bar(
        orientation="h",
        x=list(stops),
        y=list(units),
        marker={"color": [colours.muted if stop == k else colours.mean for stop in stops]},
        hovertemplate="%{y}: %{x} folds used<extra></extra>",
    )
    for unit, stop in zip(units, stops, strict=True):
        words = f"{unit}: <b>{'all ' if stop == k else ''}{stop} folds</b>"
        figure.add_annotation(**bar_label(unit, words, colours))
    lay_out(
        figure,
        lecture_layout(colours, height)
        | {
            "margin": {"l": 12, "r": 12, "t": 30, "b": 12},
            "bargap": 0.55,
            "xaxis": axis("folds used", colours, range=[0, k * 1.02])
            | {"tickvals": list(range(k + 1))},
            "yaxis": axis("", colours, showticklabels=False, showgrid=False, autorange="reversed"),
        },
    )
    return figure


def shared_figure(k: int, *, dark: bool = False, height: int = 420) -> go.Figure:
    """What each fold trains on: two rows lit, with what both have.

    Args:
        k: number of folds.
        dark: colours for a dark page.
        height: in pixels.
    """
    colours = palette(dark)
    figure = go.Figure()
    # 0: held out, 1: trained on by one of the two lit folds only, 2: by both, 3: other folds
    kinds = [[_kind(row, part) for part in range(k)] for row in range(k)]
    shades = [colours.stop, colours.band, colours.mean, colours.saved]
    scale = [[step / 4 + edge / 4, shades[step]] for step in range(4) for edge in (0, 0.999)]
    scale[-1][0] = 1
    figure.add_heatmap(
        z=kinds,
        x=list(range(1, k + 1)),
        y=list(range(1, k + 1)),
        zmin=0,
        zmax=3,
        xgap=4,
        ygap=4,
        showscale=False,
        colorscale=scale,
        text=[["held out" if row == part else "" for part in range(k)] for row in range(k)],
        texttemplate="%{text}",
        textfont={"size": 13},
        hovertemplate="fold %{y}, part %{x}<extra></extra>",
    )
    lay_out(
        figure,
        lecture_layout(colours, height)
        | {
            "margin": {"l": 12, "r": 12, "t": 12, "b": 12},
            "xaxis": axis("parts of the data", colours, dtick=1, showgrid=False),
            "yaxis": axis(
                "training set of fold", colours, dtick=1, showgrid=False, autorange="reversed"
            ),
        },
    )
    return figure


def _kind(row: int, part: int) -> int:
    if row == part:
        return 0
    if row > 1:
        return 3
    return 1 if part <= 1 else 2
