"""Width times change after every fold -> points that must fall to a line called alpha."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import (
    BIG,
    LABEL,
    axis,
    fold_axis,
    lay_out,
    lecture_layout,
    note,
    palette,
)
from ecv_core.figures.steps import Steps
from ecv_core.records.run import Moment
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import RULES

ABOVE, BELOW, SKIPPED, ALPHA, STOP = 1, 2, 3, 4, 5

PRODUCTS_COLUMNS = {
    "n": "folds seen, 1 .. k",
    "before": "c_(n-1), the interval width before this fold; missing below n = 3",
    "width": "c_n; missing below n = 2",
    "product": "c_n * |c_(n-1) - c_n|, the least alpha that stops here; missing below n = 3",
}
"""The columns of the frame of products."""


def products_figure(
    frame: pd.DataFrame,
    *,
    dark: bool = False,
    height: int = 420,
) -> go.Figure:
    """The products on a logarithmic scale; `products_steps` moves alpha.

    Args:
        frame: with the PRODUCTS_COLUMNS.
    """
    colours = palette(dark)
    k = int(frame["n"].max())
    rows = frame[frame["product"] > 0]
    low, high = _range(frame)
    figure = go.Figure()
    figure.add_scatter(
        x=rows["n"],
        y=rows["product"],
        mode="lines",
        line={"color": colours.muted, "width": 2, "dash": "dot"},
        showlegend=False,
        hoverinfo="skip",
    )
    for name, symbol in (("above alpha: go on", "circle-open"), ("at most alpha", "circle")):
        figure.add_scatter(
            x=[],
            y=[],
            mode="markers",
            marker={
                "size": 20,
                "symbol": symbol,
                "color": colours.width,
                "line": {"width": 4, "color": colours.width},
            },
            name=name,
            hovertemplate="after fold %{x}: %{y:.2e}<extra></extra>",
        )
    figure.add_scatter(
        x=[],
        y=[],
        mode="lines",
        fill="toself",
        fillcolor=colours.saved,
        line={"width": 0},
        name="folds saved",
        showlegend=False,
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=[],
        y=[],
        text=[],
        mode="lines+text",
        textposition="top left",
        textfont={"size": BIG, "color": colours.mean},
        line={"color": colours.mean, "width": 5},
        cliponaxis=False,
        name="alpha",
        showlegend=False,
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=[],
        y=[],
        text=[],
        mode="lines+text",
        textposition="bottom right",
        textfont={"size": BIG, "color": colours.stop},
        line={"color": colours.stop, "width": 4, "dash": "dash"},
        cliponaxis=False,
        name="stop",
        showlegend=False,
        hoverinfo="skip",
    )
    figure.add_annotation(
        note("too early", LABEL, colours.muted, x=1.5, y=0.06, yref="paper", yanchor="bottom")
    )
    return lay_out(
        figure,
        lecture_layout(colours, height),
        xaxis=fold_axis("folds seen (n)", k, colours),
        yaxis=axis("width x change", colours, type="log", range=[low, high])
        | {"exponentformat": "power", "dtick": 1},
        uirevision="products",
    )


def products_steps(
    frame: pd.DataFrame, alphas: Sequence[float], texts: Sequence[str], stops: Sequence[int]
) -> Steps:
    """The line, the points below it and the stop at each alpha of a slider.

    Args:
        frame: as for `products_figure`.
        alphas: ascending.
        texts: each alpha as shown.
        stops: folds used at each alpha.
    """
    k = int(frame["n"].max())
    rows = frame[frame["product"] > 0]
    low, high = (10.0**end for end in _range(frame))
    fires = {int(n): float(product) for n, product in zip(rows["n"], rows["product"], strict=True)}
    patches: list[dict[int, dict[str, Any]]] = []
    alts = []
    for alpha, text, stop in zip(alphas, texts, stops, strict=True):
        below = [n for n, product in fires.items() if product <= alpha]
        above = [n for n in fires if n not in below]
        rule_stops = stop in below
        line_ends = [stop, stop] if rule_stops else []
        patches.append(
            {
                ABOVE: {"x": above, "y": [fires[n] for n in above]},
                BELOW: {"x": below, "y": [fires[n] for n in below]},
                ALPHA: {"x": [0.5, k + 0.5], "y": [alpha, alpha], "text": ["", f"alpha {text}"]},
                STOP: {
                    "x": line_ends,
                    "y": [low, high * 0.8] if rule_stops else [],
                    "text": ["", f" stop after {stop}"] if rule_stops else [],
                },
                SKIPPED: {
                    "x": [stop, k + 0.5, k + 0.5, stop],
                    "y": [low, low, high, high],
                },
            }
        )
        end = f"the rule stops after fold {stop}" if rule_stops else "the rule never says stop"
        alts.append(
            f"Interval width times its last change after each fold, on a logarithmic scale, "
            f"against the line alpha {text}: {end}."
        )
    return Steps(patches=patches, alts=alts, notes=[f"alpha {text}" for text in texts])


def _range(frame: pd.DataFrame) -> tuple[float, float]:
    """Whole powers of ten around the products, as exponents."""
    products = frame["product"][frame["product"] > 0]
    return float(np.floor(np.log10(products.min()))), float(np.ceil(np.log10(products.max())))


def threshold_figure(moments: Sequence[Moment], spec: RunSpec, *, dark: bool = False) -> go.Figure:
    """The number that decides after each fold, and the line at which the rule stops.

    Args:
        moments: of the run, as its rule told it.
        spec: of the run, or of its telling; its rule has an axis and says what is watched.
    """
    rule, colours = RULES[spec.rule], palette(dark)
    assert rule.axis is not None
    assert rule.watched is not None
    limit = rule.values(spec)[rule.axis.name]
    numbers = list(rule.watched.of(moments))
    figure = go.Figure()
    figure.add_scatter(
        x=[moment.n for moment in moments],
        y=numbers,
        mode="lines+markers",
        line={"color": colours.width, "width": 2, "dash": "dot"},
        marker={"size": 14, "color": colours.width},
        showlegend=False,
        hovertemplate="after fold %{x}: %{y:.2e}<extra></extra>",
    )
    figure.add_hline(
        y=limit,
        line={"color": colours.mean, "width": 4},
        annotation={
            "text": rule.axis.in_words(limit),
            "font": {"size": LABEL, "color": colours.mean},
        },
    )
    log = {"type": "log", "exponentformat": "power"} if rule.axis.scale == "logarithmic" else {}
    percent = {"tickformat": ".1%"} if rule.axis.scale == "percent" else {}
    return lay_out(
        figure,
        lecture_layout(colours, 400),
        xaxis=fold_axis("folds seen (n)", spec.max_folds, colours),
        yaxis=axis(rule.watched.label.lower(), colours) | log | percent,
        uirevision="threshold",
    )


PICTURES: dict[str, Callable[..., go.Figure]] = {"threshold": threshold_figure}
"""What can explain the decisions of a rule, by the name that it says as its `picture`."""
