"""Several runs fold by fold -> one line of running means each, named where it ends."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.compare import NamedRun
from ecv_core.figures.compare_plot import Stack
from ecv_core.figures.palette import Palette, palette
from ecv_core.figures.words import metric_label
from ecv_core.records.frames import with_columns

COLUMNS = {
    "name": "the run",
    "dataset": "its dataset",
    "metric": "what the score is",
    "n": "folds seen so far, 1 .. k",
    "score": "the newest fold's score",
    "mean": "mean of the n scores so far",
    "low": "lower end of the confidence interval of that mean; missing at n = 1",
    "high": "upper end; missing at n = 1",
    "used": "whether this fold counts: up to the stop, or while there is no stop",
    "stop": "whether the rule stopped here",
}
"""The frame's columns and what they mean."""

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "triangle-down")
_PANEL = 300
_STACK = Stack(panel=lambda _: _PANEL, axis=62, top=16, right=12, bottom=8)
_LABEL = 21
"""Pixels from one name to the next."""


@with_columns(COLUMNS)
def running_frame(runs: Sequence[NamedRun]) -> pd.DataFrame:
    """One row per run and fold with the COLUMNS, runs in the given order."""
    rows = [
        {
            "name": name,
            "dataset": run.spec.dataset,
            "metric": metric_label(run.spec),
            "n": moment.n,
            "score": moment.score,
            "mean": moment.mean,
            "low": moment.interval.low if moment.interval else None,
            "high": moment.interval.high if moment.interval else None,
            "used": run.stopped_at is None or moment.n <= run.stopped_at,
            "stop": run.stopped_early and moment.n == run.stopped_at,
        }
        for name, run in runs
        for moment in run.moments
    ]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    reals = dict.fromkeys(("score", "mean", "low", "high"), "float64")
    return frame.astype(reals | {"n": "int64", "used": "bool", "stop": "bool"})


def running_height(frame: pd.DataFrame) -> int:
    """Pixels that `running_figure` takes."""
    return _STACK.height(frame)


def running_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Running means of all runs, one panel per dataset and metric; a large mark is the stop.

    Lines differ in dash and mark as well as in colour. What was run after a stop, to check it, is
    faint.

    Args:
        frame: from `running_frame`, at least one row.
        dark: colours for a dark page.
    """
    colours = palette(dark)
    order = {name: at for at, name in enumerate(dict.fromkeys(frame["name"]))}
    figure, panels = _STACK.figure(frame, colours, ", mean so far")
    for row, rows in enumerate(panels, start=1):
        _panel(figure, rows, order, colours, row)
    return figure.update_layout(showlegend=False).update_yaxes(gridcolor=colours.grid, nticks=6)


def spread(values: Sequence[float], gap: float) -> list[float]:
    """The values moved apart by at least `gap`, each as little as possible, in their order.

    Least squares under the constraint: isotonic regression, by pooling neighbours that conflict.
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    pools: list[tuple[float, int]] = []
    for rank, at in enumerate(order):
        pools.append((values[at] - rank * gap, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (high, more), (low, size) = pools[-2:]
            pools[-2:] = [((high * more + low * size) / (more + size), more + size)]
    levels = [level for level, size in pools for _ in range(size)]
    placed = [0.0] * len(values)
    for rank, at in enumerate(order):
        placed[at] = levels[rank] + rank * gap
    return placed


def _panel(
    figure: go.Figure, rows: pd.DataFrame, order: dict[str, int], colours: Palette, row: int
) -> None:
    k = int(rows["n"].max())
    span = float(rows["mean"].max() - rows["mean"].min()) or abs(float(rows["mean"].max())) or 1.0
    runs = [(str(name), run) for name, run in rows.groupby("name", sort=False)]
    ends = [float(run["mean"].iloc[-1]) for _, run in runs]
    # The labels may need more room than the lines.
    reach = max(span * 1.15, span * len(runs) * _LABEL / _PANEL)
    labels = spread(ends, reach * _LABEL / _PANEL)
    for (name, run), label in zip(runs, labels, strict=True):
        _line(figure, name, run, order[name], colours, row)
        figure.add_scatter(
            row=row,
            col=1,
            x=[k + 0.35],
            y=[label],
            mode="text",
            text=[name],
            textposition="middle right",
            textfont={"color": colours.series[order[name] % len(colours.series)], "size": 16},
            cliponaxis=False,
            hoverinfo="skip",
        )
    low = min(float(rows["mean"].min()), *labels)
    high = max(float(rows["mean"].max()), *labels)
    middle, half = (low + high) / 2, max(reach, high - low) / 2 * 1.06
    figure.update_yaxes(row=row, col=1, range=[middle - half, middle + half])
    figure.update_xaxes(
        row=row,
        col=1,
        range=[0.6, k + 0.4 + 0.42 * k],
        tickmode="array",
        tickvals=list(range(1, k + 1, 1 + k // 20)),
        title={"text": "folds seen (n)"},
        showgrid=False,
        zeroline=False,
        automargin=True,
    )


def _line(
    figure: go.Figure, name: str, run: pd.DataFrame, at: int, colours: Palette, row: int
) -> None:
    colour = colours.series[at % len(colours.series)]
    dash, symbol = _DASHES[at % len(_DASHES)], _SYMBOLS[at % len(_SYMBOLS)]
    used, rest = run[run["used"]], run[~run["used"]]
    if not rest.empty:
        after = run[run["n"] >= used["n"].max()]
        figure.add_scatter(
            row=row,
            col=1,
            x=after["n"],
            y=after["mean"],
            mode="lines",
            line={"color": colour, "width": 2, "dash": dash},
            opacity=0.45,
            hovertemplate=f"{name}<br>fold %{{x}}, run to check<br>mean %{{y:.4f}}<extra></extra>",
        )
    figure.add_scatter(
        row=row,
        col=1,
        x=used["n"],
        y=used["mean"],
        mode="lines+markers",
        line={"color": colour, "width": 3, "dash": dash},
        marker={
            "color": colour,
            "symbol": symbol,
            "size": [18 if stop else 8 for stop in used["stop"]],
            "line": {"color": colours.ink, "width": [2 if stop else 0 for stop in used["stop"]]},
            "opacity": 1,
        },
        customdata=["stop here" if stop else "" for stop in used["stop"]],
        hovertemplate=f"{name}<br>fold %{{x}} %{{customdata}}<br>mean %{{y:.4f}}<extra></extra>",
    )
