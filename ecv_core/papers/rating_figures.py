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
from ecv_core.papers.published import Entry, recorded
from ecv_core.records.run import FoldResult, RunRecord

WORDS_OF_RUNNER = {
    "inventors": "its inventors",
    "others": "others, as a baseline",
    "rerun": "run again by Rendle et al.",
    "here": "run here",
    "yours": "your run",
}
"""Who ran it, in the words of the legend."""
_SYMBOL_OF_RUNNER = {
    "inventors": "x",
    "others": "triangle-up",
    "rerun": "diamond",
    "here": "circle",
    "yours": "star",
}
_RMSE = "RMSE (lower is better)"
_HEIGHT_WITHOUT_ROWS = 130
"""Of the board: its legend and axis, in pixels."""
ROW = 25
"""Height of one entry of the board, in pixels."""


def board_frame(entries: Sequence[Entry]) -> pd.DataFrame:
    """One row per entry, best first, with who ran it, protocol, folds, interval and source."""
    rows = []
    for entry in entries:
        set_up = ""
        if entry.defaults:
            set_up = "defaults, not examined"
        low, high = entry.interval or (math.nan, math.nan)
        rows.append(
            {
                "method": entry.method,
                "rmse": entry.rmse,
                "who": WORDS_OF_RUNNER[entry.runner],
                "by": entry.runner,
                "year": entry.year,
                "protocol": titled(entry.protocol) or "not confirmed",
                "folds": entry.folds,
                "low": low,
                "high": high,
                "set-up": set_up,
                "source": entry.source,
            }
        )
    return pd.DataFrame(rows).sort_values("rmse", kind="stable", ignore_index=True)


def board_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Figures 1 and 2 as a list: every result at its RMSE, best on top, marked by who ran it."""
    colours = palette(dark)
    figure = go.Figure()
    for (runner, symbol), colour in zip(_SYMBOL_OF_RUNNER.items(), colours.series, strict=False):
        rows = frame[frame["by"] == runner]
        if rows.empty:
            continue
        half_widths = (rows["high"] - rows["rmse"]).fillna(0).tolist()
        figure.add_scatter(
            x=rows["rmse"],
            y=rows.index.tolist(),
            mode="markers",
            name=WORDS_OF_RUNNER[runner],
            marker={"symbol": symbol, "size": 11, "color": colour},
            error_x={
                "type": "data",
                "array": half_widths,
                "arrayminus": half_widths,  # pictures for print need both ends to be given
                "color": colour,
                "visible": any(half_widths),
                "thickness": 2,
            },
            customdata=rows[["method", "protocol", "source"]].to_numpy(),
            hovertemplate="%{customdata[0]}: RMSE %{x:.4f}<br>%{customdata[1]}<br>"
            "%{customdata[2]}<extra></extra>",
        )
    return lay_out(
        figure,
        _layout(colours, _HEIGHT_WITHOUT_ROWS + ROW * len(frame)),
        xaxis=plain_axis(_RMSE, gridcolor=colours.grid),
        yaxis=plain_axis(
            "",
            tickvals=frame.index.tolist(),
            ticktext=frame["method"].tolist(),
            range=[len(frame) - 0.5, -0.5],  # a descending range puts the first row at the top
            gridcolor=colours.grid,
        ),
    )


def _layout(colours: Palette, height: int) -> dict[str, Any]:
    return base_layout(colours, height) | {
        "margin": {"l": 12, "r": 20, "t": 40, "b": 12},
        "showlegend": True,
    }


def factor_runs(dataset: str) -> list[RunRecord]:
    """The recorded runs of factor models: those of rating models that have a dimension."""
    return [run for run in recorded(dataset) if "dimension" in dict(run.spec.params)]


def dimension_of(run: RunRecord) -> int:
    """How many dimensions the factors of a factor model have."""
    return int(dict(run.spec.params)["dimension"])


def dimension_frame(runs: Sequence[RunRecord], algorithms: Sequence[str]) -> pd.DataFrame:
    """One row per algorithm and dimension: the RMSE of the first fold, which all of them have."""
    rows = []
    for run in runs:
        first_fold = _first_fold(run)
        if run.spec.algorithm in algorithms and first_fold is not None:
            rows.append((run.spec.algorithm, dimension_of(run), first_fold.score))
    frame = pd.DataFrame(rows, columns=["algorithm", "dimension", "rmse"])
    return frame.sort_values(["algorithm", "dimension"])


def _first_fold(run: RunRecord) -> FoldResult | None:
    """The fold that every recorded run has, where it is finished."""
    for fold in run.folds:
        if fold.fold == 0:
            return fold
    return None


def steps_frame(runs: Sequence[RunRecord]) -> pd.DataFrame:
    """One row per algorithm and step of its fit: the RMSE of the first fold after it."""
    rows = []
    for run in runs:
        first_fold = _first_fold(run)
        if first_fold is not None:
            for step, rmse in enumerate(first_fold.inner_curve, start=1):
                rows.append((run.spec.algorithm, step, rmse))
    return pd.DataFrame(rows, columns=["algorithm", "step", "rmse"])


def curves_figure(frame: pd.DataFrame, *, x_column: str, dark: bool = False) -> go.Figure:
    """RMSE against dimension (figures 3 and 5) or steps (figure 4), one line per algorithm.

    Args:
        frame: From `dimension_frame` or `steps_frame`.
        x_column: Its column for the x axis, on a logarithmic scale.
    """
    colours = palette(dark)
    figure = go.Figure()
    mode = "lines"
    if x_column == "dimension":  # there are so few dimensions that each has a mark
        mode = "lines+markers"
    for number, (name, rows) in enumerate(frame.groupby("algorithm")):
        figure.add_scatter(
            x=rows[x_column],
            y=rows["rmse"],
            mode=mode,
            name=str(name),
            line=colours.series_line(number),
            hovertemplate=f"{name}, {x_column} %{{x}}: RMSE %{{y:.4f}}<extra></extra>",
        )
    return lay_out(
        figure,
        _layout(colours, 380),
        xaxis=plain_axis(
            x_column, type="log", gridcolor=colours.grid, tickvals=[2**power for power in range(10)]
        ),
        yaxis=plain_axis(_RMSE, gridcolor=colours.grid, tickformat=".3f"),
    )


def spaces_figure(space: Mapping[str, Any], *, dark: bool = False) -> go.Figure:
    """Figure 2 of Meng et al.: each configuration's score under the first split and the others.

    Args:
        space: A file of `store.recorded.SPACES`.
    """
    colours = palette(dark)
    figure = go.Figure()
    # Split -> the score of each configuration under it.
    scores_by_split = space["scores"]
    first, *others = scores_by_split
    # Two splits -> Kendall's tau between their scores of the configurations.
    tau_of_splits = {}
    for agreement in space["agreements"]:
        tau_of_splits[tuple(agreement["splits"])] = agreement["tau"]
    # The symbols are those of the board's runners. There are more of them than splits.
    symbols = _SYMBOL_OF_RUNNER.values()
    for other, symbol, colour in zip(others, symbols, colours.series, strict=False):
        figure.add_scatter(
            x=scores_by_split[first],
            y=scores_by_split[other],
            mode="markers",
            name=f"{other}, tau {tau_of_splits[first, other]:.2f}",
            marker={"symbol": symbol, "size": 6, "color": colour},
        )
    score = column_title(space["metric"])
    return lay_out(
        figure,
        _layout(colours, 380),
        xaxis=plain_axis(f"{score} under {first}", gridcolor=colours.grid),
        yaxis=plain_axis(f"{score} under {' or '.join(others)}", gridcolor=colours.grid),
    )
