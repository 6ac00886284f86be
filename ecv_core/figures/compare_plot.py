"""Frames of several runs -> their means, final and running, one panel per dataset and metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ecv_core.figures.compare import NamedRun
from ecv_core.figures.palette import Palette, base_layout, lay_out, note, palette
from ecv_core.figures.words import dataset_title, metric_label
from ecv_core.records.frames import with_columns

AT_STOP, WHOLE = "mean at the stop", "mean of all k folds"
BEST = "★"
"""Before the name of the run that tests find the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Panels below each other, one per dataset and metric; all sizes in pixels."""

    panel: Callable[[pd.DataFrame], int]
    """Height of the panel of these rows."""
    head: int = 34
    """Of a panel's title."""
    axis: int
    """Of what stands below a panel."""
    top: int
    right: int
    bottom: int

    def height(self, frame: pd.DataFrame) -> int:
        """Of the whole figure; room for one panel where there is no row."""
        panels = [rows for _, rows in frame.groupby(["dataset", "metric"])] or [frame]
        return self.top + self.bottom + sum(self.head + self.panel(p) + self.axis for p in panels)

    def inner(self, frame: pd.DataFrame) -> int:
        """Of the figure without its margins."""
        return self.height(frame) - self.top - self.bottom

    def figure(
        self, frame: pd.DataFrame, colours: Palette, after: str = ""
    ) -> tuple[go.Figure, list[pd.DataFrame]]:
        """Empty panels with their titles, and the rows of each; panel i is subplot row i + 1.

        Args:
            frame: with dataset and metric, at least one row.
            colours: of the page.
            after: what follows each title.
        """
        panels = list(frame.groupby(["dataset", "metric"], sort=False))
        inner, edge = self.inner(frame), 1.0
        figure = make_subplots(rows=len(panels), cols=1)
        for row, ((dataset, metric), rows) in enumerate(panels, start=1):
            edge -= self.head / inner
            end = edge - self.panel(rows) / inner
            figure.update_yaxes(
                row=row, col=1, domain=[max(end, 0.0), edge], zeroline=False, automargin=True
            )
            figure.add_annotation(
                note(
                    f"<b>{metric}</b>{_of(rows)} on <b>{dataset_title(str(dataset))}</b>{after}",
                    17,
                    colours.ink,
                    xref="paper",
                    yref="paper",
                    x=0,
                    y=edge,
                    xanchor="left",
                    yanchor="bottom",
                )
            )
            edge = end - self.axis / inner
        margin = {"l": 12, "r": self.right, "t": self.top, "b": self.bottom}
        lay_out(
            figure, base_layout(colours, self.height(frame)), hovermode="closest", margin=margin
        )
        return figure, [rows for _, rows in panels]


def _of(rows: pd.DataFrame) -> str:
    """' of ease' where all runs of a panel are of one algorithm and so are not named by it."""
    if "algorithm" not in rows:
        return ""
    first, *others = rows["algorithm"].unique()
    unnamed = not any(name.startswith(first) for name in rows["name"])
    return f" of {first}" if unnamed and not others else ""


_STACK = Stack(panel=lambda runs: 46 * len(runs), axis=40, top=64, right=60, bottom=12)
_LOOKS = (("diamond", "mean"), ("square", "width"), ("triangle-up", "ink"))
"""Of means with intervals made in different ways: mark, and name of the colour."""


def compare_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Mean and interval of each run on a line of its own, the first of each panel on top.

    Intervals that are made in different ways differ in mark and colour, and are named.

    Args:
        frame: from `compare.compare_frame`, at least one row.
    """
    colours = palette(dark)
    figure, panels = _STACK.figure(frame, colours)
    kinds = [kind for kind in dict.fromkeys(frame["interval"]) if kind] or [""]
    for row, runs in enumerate(panels, start=1):
        _panel(figure, runs, kinds, colours, row)
        figure.update_xaxes(
            row=row,
            col=1,
            gridcolor=colours.grid,
            zeroline=False,
            nticks=6,
            tickfont={"size": 14},
            range=_span(runs),
        )
        figure.update_yaxes(
            row=row,
            col=1,
            tickmode="array",
            tickvals=list(range(len(runs))),
            ticktext=[
                f"{BEST} {_wrapped(name)}" if best else _wrapped(name)
                for name, best in zip(runs["name"], runs["best"], strict=True)
            ],
            range=[len(runs) - 0.5, -0.5],
            showgrid=False,
        )
    # A legend in pixels above the first panel, however tall the figure.
    figure.update_layout(legend={"y": 1 + 6 / _STACK.inner(frame)})
    return figure


def _panel(
    figure: go.Figure, runs: pd.DataFrame, kinds: list[str], colours: Palette, row: int
) -> None:
    places = runs.assign(place=range(len(runs)))
    known = places.dropna(subset=["mean"])
    whole = places.dropna(subset=["k_fold_mean"])
    figure.add_scatter(
        row=row,
        col=1,
        x=whole["k_fold_mean"],
        y=whole["place"],
        mode="markers",
        name=WHOLE,
        legendgroup=WHOLE,
        showlegend=not any(trace.name == WHOLE for trace in figure.data) and not whole.empty,
        marker={
            "size": 26,
            "symbol": "line-ns-open",
            "color": colours.stop,
            "line": {"width": 3, "color": colours.stop},
        },
        customdata=whole[["name", "k"]],
        hovertemplate="%{customdata[0]}<br>mean of all %{customdata[1]} folds %{x:.4f}"
        "<extra></extra>",
    )
    for number, kind in enumerate(kinds):
        # A mean without an interval belongs to the first kind: there is nothing to tell apart.
        of_kind = known["interval"].isin([kind, ""] if number == 0 else [kind])
        _means(figure, known[of_kind], kind, _LOOKS[number % len(_LOOKS)], colours, row)
    figure.add_scatter(
        row=row,
        col=1,
        x=known[["mean", "high", "k_fold_mean"]].max(axis=1),
        y=known["place"],
        mode="text",
        text=[f"   {mean:.4f}" for mean in known["mean"]],
        textposition="middle right",
        cliponaxis=False,
        showlegend=False,
        hoverinfo="skip",
    )


def _means(
    figure: go.Figure,
    runs: pd.DataFrame,
    kind: str,
    look: tuple[str, str],
    colours: Palette,
    row: int,
) -> None:
    """Means with intervals that are all made in one way."""
    if runs.empty:
        return
    symbol, colour = look[0], getattr(colours, look[1])
    name = f"{AT_STOP} and interval ({kind})" if kind else AT_STOP
    figure.add_scatter(
        row=row,
        col=1,
        x=runs["mean"],
        y=runs["place"],
        mode="markers",
        name=name,
        legendgroup=name,
        showlegend=not any(trace.name == name for trace in figure.data),
        marker={"size": 13, "color": colour, "symbol": symbol},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": (runs["high"] - runs["mean"]).fillna(0.0),
            "arrayminus": (runs["mean"] - runs["low"]).fillna(0.0),
            "color": colour,
            "thickness": 3,
            "width": 8,
        },
        customdata=runs[["name", "folds_used", "k", "low", "high", "interval"]],
        hovertemplate="%{customdata[0]}<br>mean %{x:.4f}, interval %{customdata[3]:.4f} to "
        "%{customdata[4]:.4f} (%{customdata[5]})<br>%{customdata[1]} of %{customdata[2]} folds"
        "<extra></extra>",
    )


def _span(runs: pd.DataFrame) -> list[float] | None:
    """From the lowest to the highest mark, with room for a number at its right."""
    marks = runs[["mean", "low", "high", "k_fold_mean"]]
    low, high = float(marks.min().min()), float(marks.max().max())
    if low != low:
        return None
    width = high - low or abs(high) * 0.1 or 0.1
    return [low - 0.05 * width, high + 0.08 * width]


def _wrapped(name: str) -> str:
    """On two lines where a narrow page would have no room for the marks."""
    head, comma, rest = name.partition(", ")
    return f"{head},<br>{rest}" if comma else name


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
_RUNNING = Stack(panel=lambda _: _PANEL, axis=62, top=16, right=12, bottom=8)
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


def running_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Running means of all runs, one panel per dataset and metric; a large mark is the stop.

    Lines differ in dash and mark as well as in colour. What was run after a stop, to check it, is
    faint.

    Args:
        frame: from `running_frame`, at least one row.
    """
    colours = palette(dark)
    order = {name: at for at, name in enumerate(dict.fromkeys(frame["name"]))}
    figure, panels = _RUNNING.figure(frame, colours, ", mean so far")
    for row, rows in enumerate(panels, start=1):
        _running_panel(figure, rows, order, colours, row)
    return figure.update_layout(showlegend=False).update_yaxes(gridcolor=colours.grid, nticks=6)


def spread(values: Sequence[float], gap: float) -> list[float]:
    """The values moved apart by at least `gap`, each as little as possible, in their order.

    Least squares under the constraint: isotonic regression.
    """
    from scipy.optimize import isotonic_regression  # takes a while to load

    order = np.argsort(values, kind="stable")
    room = gap * np.arange(len(values))
    placed = np.empty(len(values))
    placed[order] = isotonic_regression(np.asarray(values)[order] - room).x + room
    return [float(one) for one in placed]


def _running_panel(
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
