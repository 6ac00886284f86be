"""Published results and our own -> tidy frames -> figures of Rendle, Zhang, Koren (2019)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from ecv_core.evaluation import column_title
from ecv_core.figures.palette import Palette, base_layout, lay_out, palette, plain_axis
from ecv_core.figures.words import titled
from ecv_core.papers.published import Entry
from ecv_core.records.run import RunRecord

WHO = {
    "inventors": "its inventors",
    "others": "others, as a baseline",
    "rerun": "run again by Rendle et al.",
    "here": "run here",
    "yours": "your run",
}
"""Who ran it, in the words of the legend."""
_SYMBOLS = {
    "inventors": "x",
    "others": "triangle-up",
    "rerun": "diamond",
    "here": "circle",
    "yours": "star",
}
_RMSE = "RMSE (lower is better)"
ROW = 25
"""Height of one entry of the board, in pixels."""


def board_frame(entries: Sequence[Entry]) -> pd.DataFrame:
    """One row per entry, best first, with who ran it, protocol, folds, interval and source."""
    rows = [
        {
            "method": one.method,
            "rmse": one.rmse,
            "who": WHO[one.by],
            "by": one.by,
            "year": one.year,
            "protocol": titled(one.protocol) or "not confirmed",
            "folds": one.folds,
            "low": one.interval[0] if one.interval else math.nan,
            "high": one.interval[1] if one.interval else math.nan,
            "set-up": "defaults, not examined" if one.defaults else "",
            "source": one.source,
        }
        for one in sorted(entries, key=lambda one: one.rmse)
    ]
    return pd.DataFrame(rows)


def board_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Figures 1 and 2 as a list: every result at its RMSE, best on top, marked by who ran it."""
    colours = palette(dark)
    figure = go.Figure()
    for at, (by, symbol) in enumerate(_SYMBOLS.items()):
        rows = frame[frame["by"] == by]
        if rows.empty:
            continue
        high = (rows["high"] - rows["rmse"]).fillna(0).tolist()
        figure.add_scatter(
            x=rows["rmse"],
            y=rows.index.tolist(),
            mode="markers",
            name=WHO[by],
            marker={"symbol": symbol, "size": 11, "color": colours.series[at]},
            error_x={
                "type": "data",
                "array": high,
                "arrayminus": high,
                "color": colours.series[at],
                "visible": any(high),
                "thickness": 2,
            },
            customdata=rows[["method", "protocol", "source"]].to_numpy(),
            hovertemplate="%{customdata[0]}: RMSE %{x:.4f}<br>%{customdata[1]}<br>"
            "%{customdata[2]}<extra></extra>",
        )
    return lay_out(
        figure,
        _layout(colours, 130 + ROW * len(frame)),
        xaxis=plain_axis(_RMSE, gridcolor=colours.grid),
        yaxis={
            "tickvals": frame.index.tolist(),
            "ticktext": frame["method"].tolist(),
            "range": [len(frame) - 0.5, -0.5],
            "zeroline": False,
            "gridcolor": colours.grid,
            "automargin": True,
        },
    )


def _layout(colours: Palette, height: int) -> dict[str, Any]:
    return base_layout(colours, height) | {
        "margin": {"l": 12, "r": 20, "t": 40, "b": 12},
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom"},
    }


def dimension_frame(runs: Sequence[RunRecord], algorithms: Sequence[str]) -> pd.DataFrame:
    """One row per algorithm and dimension: the RMSE of the first fold, which all of them have."""
    rows = [
        {
            "algorithm": run.spec.algorithm,
            "dimension": int(dict(run.spec.params)["dimension"]),
            "rmse": result.score,
        }
        for run in runs
        if run.spec.algorithm in algorithms
        for result in run.folds
        if result.fold == 0
    ]
    frame = pd.DataFrame(rows, columns=["algorithm", "dimension", "rmse"])
    return frame.sort_values(["algorithm", "dimension"]).drop_duplicates(["algorithm", "dimension"])


def steps_frame(runs: Sequence[RunRecord]) -> pd.DataFrame:
    """One row per algorithm and step of its fit: the RMSE of the first fold after it."""
    rows = [
        {"algorithm": run.spec.algorithm, "step": step, "rmse": value}
        for run in runs
        for result in run.folds
        if result.fold == 0
        for step, value in enumerate(result.inner_curve, start=1)
    ]
    return pd.DataFrame(rows, columns=["algorithm", "step", "rmse"])


def curves_figure(frame: pd.DataFrame, *, across: str, dark: bool = False) -> go.Figure:
    """RMSE against dimension (figures 3 and 5) or steps (figure 4), one line per algorithm.

    Args:
        frame: from `dimension_frame` or `steps_frame`.
        across: its column for the x axis, on a logarithmic scale.
    """
    colours = palette(dark)
    figure = go.Figure()
    for at, (name, rows) in enumerate(frame.groupby("algorithm", sort=True)):
        figure.add_scatter(
            x=rows[across],
            y=rows["rmse"],
            mode="lines+markers" if across == "dimension" else "lines",
            name=str(name),
            line={
                "color": colours.series[at % len(colours.series)],
                "width": 2.5,
                "dash": ("solid", "dash", "dot", "dashdot")[at % 4],
            },
            hovertemplate=f"{name}, {across} %{{x}}: RMSE %{{y:.4f}}<extra></extra>",
        )
    return lay_out(
        figure,
        _layout(colours, 380),
        xaxis=plain_axis(
            across, type="log", gridcolor=colours.grid, tickvals=[2**power for power in range(10)]
        ),
        yaxis=plain_axis(_RMSE, gridcolor=colours.grid, tickformat=".3f"),
    )


def spaces_figure(recorded: Mapping[str, Any], *, dark: bool = False) -> go.Figure:
    """Figure 2 of Meng et al.: each configuration's score under the first split and the others.

    Args: recorded: a file of `store.recorded.SPACES`.
    """
    colours = palette(dark)
    figure = go.Figure()
    first, *others = recorded["scores"]
    taus = {tuple(one["splits"]): one["tau"] for one in recorded["agreements"]}
    for at, other in enumerate(others):
        figure.add_scatter(
            x=recorded["scores"][first],
            y=recorded["scores"][other],
            mode="markers",
            name=f"{other}, tau {taus[first, other]:.2f}",
            marker={"symbol": list(_SYMBOLS.values())[at], "size": 6, "color": colours.series[at]},
        )
    score = column_title(recorded["metric"])
    return lay_out(
        figure,
        _layout(colours, 380),
        xaxis=plain_axis(f"{score} under {first}", gridcolor=colours.grid),
        yaxis=plain_axis(f"{score} under {' or '.join(others)}", gridcolor=colours.grid),
    )
