"""Runs -> a frame with their means at the stop and what they cost, and a figure of the means."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ecv_core import stopping
from ecv_core.energy.savings import energy_of
from ecv_core.figures.palette import Looks, Palette, base_layout, lay_out, note, palette
from ecv_core.figures.words import algorithm_title, counted, dataset_title, metric_label
from ecv_core.records.frames import with_columns
from ecv_core.records.parameters import percent_text, score_text
from ecv_core.records.run import IntervalKind, RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.stopping.base import OwnInterval
from ecv_core.stopping.interval import difference_percent

COLUMNS = {
    "name": "the run's name among these: its algorithm, unless more is needed",
    "dataset": "its dataset",
    "algorithm": "its algorithm",
    "metric": "what the score is, such as nDCG@10",
    "state": "whether it is waiting, running or finished",
    "mean": "mean score at the stop, or so far",
    "low": "lower end of the confidence interval of that mean",
    "high": "upper end",
    "interval": "how it is computed, such as '95 %, t over folds'; empty where there is none",
    "folds_used": "number of folds in this mean",
    "k": "number of folds planned",
    "stop": "the fold after which the rule stopped; missing where it never did, or not yet",
    "folds_saved": "folds saved by the stop: k - e, 0 while there is no stop",
    "k_fold_mean": "mean of all k folds, where all have run",
    "difference_percent": "the paper's d between the mean at the stop and that of all k folds",
    "joules": "energy of the folds used; missing where none was measured",
    "grams_co2e": "their emissions",
    "seconds": "their computing time",
    "saved_joules": "energy of the folds that were not needed, at the mean of those that ran "
    "but the first where they did not run; missing while there is no stop",
    "saved_percent": "in percent of all k folds",
    "source": "how the energy was measured or estimated, as in Energy",
    "run_id": "the run",
}
"""The frame's columns and what they mean."""

_TEXTS = ("name", "dataset", "algorithm", "metric", "state", "interval", "source", "run_id")
_COUNTS = ("folds_used", "k", "folds_saved")


class NamedRun(NamedTuple):
    """A run, and what it is called among others on its dataset and metric."""

    name: str
    run: RunRecord


@with_columns(COLUMNS)
def compare_frame(runs: Sequence[NamedRun]) -> pd.DataFrame:
    """One row per run, in the given order, with the COLUMNS; missing where there is no fold yet."""
    rows = [_run_row(named.name, named.run) for named in runs]
    types = dict.fromkeys(COLUMNS, "float64")
    types |= dict.fromkeys(_COUNTS, "int64")
    types |= dict.fromkeys(_TEXTS, "object")
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(types)


def compare_alt_text(frame: pd.DataFrame) -> str:
    """A few sentences with the numbers, for those who do not see the figure."""
    sentences = []
    for (dataset, metric), runs in frame.groupby(["dataset", "metric"], sort=False):
        means = []
        for _, run in runs.iterrows():
            if run["folds_used"]:
                folds = counted(run["folds_used"], "fold")
                means.append(f"{run['name']} {score_text(run['mean'])} after {folds}")
            else:
                means.append(f"{run['name']} has no fold yet")
        subject = f"{metric} of {counted(len(runs), 'run')} on {dataset_title(str(dataset))}"
        sentences.append(f"{subject}: {'; '.join(means)}.")
    return " ".join(sentences)


def panels_of(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of each dataset and metric that have a mean, by title: 'nDCG@10 on MovieLens 1M'."""
    panels = {}
    for (dataset, metric), runs in frame.groupby(["dataset", "metric"], sort=False):
        if runs["mean"].notna().any():
            panels[f"{metric} on {dataset_title(str(dataset))}"] = runs
    return panels


def _kind_of_interval(spec: RunSpec) -> str:
    """How a run's intervals are made: two that differ in this are not to be compared."""
    level = percent_text(spec.confidence, "g")
    rule = stopping.RULES.get(spec.rule)
    if rule is None:
        # Whether a rule whose plug-in is not here has an interval of its own, nobody can say.
        return f"{level}, {spec.rule} rule"
    if rule.interval is IntervalKind.K_FOLD_MEAN:
        return f"{level}, k-fold mean"
    # A rule that works out an interval of its own gives it its name.
    if isinstance(stopping.rule_for(spec), OwnInterval):
        return f"{level}, {rule.title.lower()} rule"
    return f"{level}, t over folds"


def _run_row(name: str, run: RunRecord) -> dict[str, object]:
    """A run's row of the frame; a column that it leaves out is missing."""
    spec = run.spec
    row: dict[str, object] = {
        "name": name,
        "dataset": spec.dataset,
        "algorithm": spec.algorithm,
        "metric": metric_label(spec),
        "state": run.state.value,
        "interval": "",
        "folds_used": run.folds_used,
        "k": run.k,
        "folds_saved": 0,
        "run_id": run.run_id,
    }
    if run.stopped_at is not None:  # a rule that let all folds run stopped at fold k
        row["folds_saved"] = run.k - run.stopped_at
    if run.stopped_early:
        row["stop"] = run.stopped_at
    return row | _mean_columns(run) | _cost_columns(run)


def _mean_columns(run: RunRecord) -> dict[str, object]:
    """The mean at the stop, its interval, and how far the mean is from that of all k folds."""
    at_stop = run.at_stop
    if at_stop is None:
        return {}
    columns: dict[str, object] = {"mean": at_stop.mean, "k_fold_mean": run.k_fold_mean}
    if at_stop.interval is not None:
        columns["low"] = at_stop.interval.low
        columns["high"] = at_stop.interval.high
        columns["interval"] = _kind_of_interval(run.spec)
    if run.k_fold_mean is not None:
        columns["difference_percent"] = difference_percent(at_stop.mean, run.k_fold_mean)
    return columns


def _cost_columns(run: RunRecord) -> dict[str, object]:
    """What the folds used have cost and what the stop saved, as far as it was measured."""
    energy = energy_of(run)
    columns: dict[str, object] = {"source": energy.source}
    folds = run.folds[: run.folds_used]
    if folds:
        columns["seconds"] = sum(fold.total_seconds for fold in folds)
    if energy.source != "none":
        columns["joules"] = sum(fold.energy.joules for fold in folds)
        columns["grams_co2e"] = sum(fold.energy.grams_co2e for fold in folds)
        columns["saved_joules"] = energy.saved_joules
        columns["saved_percent"] = energy.saved_percent
    return columns


# The figure of the means: one panel per dataset and metric.


_SCORE_COLUMNS = ["mean", "low", "high", "k_fold_mean"]
_HOVER_COLUMNS = ["name", "folds_used", "k", "interval", *_SCORE_COLUMNS]
"""Of the frame: what the words of a hover can show of a run."""
AT_STOP = "mean at the stop"
WHOLE = "mean of all k folds"

_RUN_HEIGHT = 46
"""Pixels of a run in its panel."""
_TITLE_HEIGHT = 34
"""Pixels of a panel's title."""
_AXIS_HEIGHT = 40
"""Pixels of the axis below a panel."""
_MARGIN = {"l": 12, "r": 60, "t": 64, "b": 12}


def compare_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Mean and interval of each run on a line of its own, the first of each panel on top.

    Intervals that are made in different ways differ in mark and colour, and are named.

    Args:
        frame: From `compare_frame`, at least one row.
        dark: Whether the page is dark.
    """
    colours = palette(dark)
    # If no run has an interval yet, there is one kind without a name, so that all means look
    # alike.
    interval_kinds = [kind for kind in frame["interval"].unique() if kind] or [""]
    panels = frame.groupby(["dataset", "metric"], sort=False)
    height = _RUN_HEIGHT * len(frame) + (_TITLE_HEIGHT + _AXIS_HEIGHT) * len(panels)
    figure = make_subplots(rows=len(panels), cols=1)
    # Panels lie below each other, each with its title above it and its axis below it; Plotly wants
    # heights as shares of the figure's, from below.
    title_top = 1.0
    for panel_number, (_, runs) in enumerate(panels, start=1):
        panel_top = title_top - _TITLE_HEIGHT / height
        panel_bottom = panel_top - _RUN_HEIGHT * len(runs) / height
        _add_panel(figure, panel_number, runs, interval_kinds, colours)
        domain = [max(panel_bottom, 0.0), panel_top]  # the last bottom may be rounded below 0
        _set_panel_axes(figure, panel_number, runs, colours, domain=domain)
        figure.add_annotation(_panel_title(runs, panel_top, colours))
        title_top = panel_bottom - _AXIS_HEIGHT / height
    layout = base_layout(colours, _MARGIN["t"] + height + _MARGIN["b"])
    # The legend is some pixels above the first panel, however tall the figure is.
    layout["legend"]["y"] = 1 + 6 / height
    return lay_out(figure, layout, hovermode="closest", margin=_MARGIN)


def _panel_title(runs: pd.DataFrame, top: float, colours: Palette) -> Looks:
    """Metric and dataset, and the algorithm where all runs are of one and are not named by it."""
    metric = f"<b>{runs['metric'].iloc[0]}</b>"
    dataset = f"<b>{dataset_title(runs['dataset'].iloc[0])}</b>"
    algorithms = runs["algorithm"].unique()
    title = algorithm_title(algorithms[0])
    # The names of runs may begin with their algorithm already, which need not be said twice.
    is_in_names = any(name.startswith((algorithms[0], title)) for name in runs["name"])
    if len(algorithms) == 1 and not is_in_names:
        metric += f" of {title}"
    place = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
    return note(f"{metric} on {dataset}", 17, colours.ink, x=0, y=top, **place)


def _set_panel_axes(
    figure: go.Figure, panel_number: int, runs: pd.DataFrame, colours: Palette, domain: list[float]
) -> None:
    """Scores across, runs from the top down, in this part of the figure's height."""
    figure.update_xaxes(
        row=panel_number,
        col=1,
        gridcolor=colours.grid,
        zeroline=False,
        nticks=6,
        tickfont={"size": 14},
        range=_score_range(runs),
    )
    # Names stand on two lines, because on a narrow page one line would leave no room for the marks.
    names = [name.replace(", ", ",<br>", 1) for name in runs["name"]]
    figure.update_yaxes(
        row=panel_number,
        col=1,
        domain=domain,
        tickmode="array",
        tickvals=list(range(len(runs))),
        ticktext=names,
        range=[len(runs) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
        automargin=True,
    )


def _add_panel(
    figure: go.Figure,
    panel_number: int,
    runs: pd.DataFrame,
    interval_kinds: Sequence[str],
    colours: Palette,
) -> None:
    """The marks of the runs of one panel; a run without a fold keeps its place.

    Args:
        figure: With panels below each other.
        panel_number: From 1.
        runs: Rows of the frame.
        interval_kinds: All ways in which intervals of the figure are made.
        colours: The colours of the page.
    """
    runs = runs.assign(place=range(len(runs)))
    _add_means_of_all_folds(figure, panel_number, runs.dropna(subset=["k_fold_mean"]), colours)
    scored_runs = runs.dropna(subset=["mean"])
    styles = [("diamond", colours.mean), ("square", colours.width), ("triangle-up", colours.ink)]
    # A mean without an interval is drawn like the first kind of interval.
    kind_of_run = scored_runs["interval"].replace("", interval_kinds[0])
    for kind, (symbol, colour) in zip(interval_kinds, cycle(styles), strict=False):
        _add_means_at_stop(
            figure, panel_number, scored_runs[kind_of_run == kind], kind, symbol, colour
        )
    right_ends = scored_runs[["mean", "high", "k_fold_mean"]].max(axis=1)
    figure.add_scatter(
        row=panel_number,
        col=1,
        x=right_ends,
        y=scored_runs["place"],
        mode="text",
        text=[f"   {score_text(mean)}" for mean in scored_runs["mean"]],
        textposition="middle right",
        cliponaxis=False,
        showlegend=False,
        hoverinfo="skip",
    )


def _add_means_of_all_folds(
    figure: go.Figure, panel_number: int, runs: pd.DataFrame, colours: Palette
) -> None:
    """A tick at the mean of all folds of each of these runs."""
    tick = {
        "size": 26,
        "symbol": "line-ns-open",
        "color": colours.stop,
        "line": {"width": 3, "color": colours.stop},
    }
    _add_marks(
        figure,
        panel_number,
        runs,
        x=runs["k_fold_mean"],
        name=WHOLE,
        marker=tick,
        hovertemplate=f"{_hover_value('name')}<br>mean of all {_hover_value('k')} folds "
        f"{_hover_value('k_fold_mean')}<extra></extra>",
    )


def _add_means_at_stop(
    figure: go.Figure, panel_number: int, runs: pd.DataFrame, kind: str, symbol: str, colour: str
) -> None:
    """A mark at the mean of each of these runs, and its interval, all made in one way."""
    if runs.empty:
        return
    name = AT_STOP
    if kind:
        name += f" and interval ({kind})"
    # A mean may lie outside its interval. Plotly draws no bars of negative length, so such a bar
    # gets the length 0.
    reach_above = (runs["high"] - runs["mean"]).clip(lower=0).fillna(0.0)
    reach_below = (runs["mean"] - runs["low"]).clip(lower=0).fillna(0.0)
    interval = {
        "type": "data",
        "symmetric": False,
        "array": reach_above,
        "arrayminus": reach_below,
        "color": colour,
        "thickness": 3,
        "width": 8,
    }
    mean = f"mean {_hover_value('mean')}"
    ends = f"{_hover_value('low')} to {_hover_value('high')}"
    interval_words = f", interval {ends} ({_hover_value('interval')})"
    folds = f"{_hover_value('folds_used')} of {_hover_value('k')} folds"
    hover = f"{_hover_value('name')}<br>{mean}{interval_words}<br>{folds}<extra></extra>"
    # The mean of a single fold has no interval.
    hover_of_single_fold = hover.replace(interval_words, "")
    _add_marks(
        figure,
        panel_number,
        runs,
        x=runs["mean"],
        name=name,
        marker={"size": 13, "color": colour, "symbol": symbol},
        error_x=interval,
        hovertemplate=np.where(runs["interval"] == "", hover_of_single_fold, hover).tolist(),
    )


def _hover_value(column: str) -> str:
    """What stands for a run's value of this column in the words of a hover, as Plotly has it."""
    return f"%{{customdata[{_HOVER_COLUMNS.index(column)}]}}"


def _add_marks(
    figure: go.Figure,
    panel_number: int,
    runs: pd.DataFrame,
    *,
    name: str,
    **looks: Any,  # noqa: ANN401  any attribute of a trace
) -> None:
    """A mark for each run in its row of a panel; the legend has each name once."""
    names_so_far = [trace.name for trace in figure.data]
    score_texts = runs[_SCORE_COLUMNS].map(score_text, na_action="ignore")
    figure.add_scatter(
        row=panel_number,
        col=1,
        y=runs["place"],
        mode="markers",
        name=name,
        legendgroup=name,
        showlegend=not runs.empty and name not in names_so_far,
        customdata=runs.assign(**score_texts)[_HOVER_COLUMNS],
        **looks,
    )


def _score_range(runs: pd.DataFrame) -> list[float] | None:
    """From the lowest to the highest mark, with room for a number at its right.

    None where no run has a mark.
    """
    marks = runs[_SCORE_COLUMNS].to_numpy(dtype=np.float64)
    if np.isnan(marks).all():
        return None
    low = float(np.nanmin(marks))
    high = float(np.nanmax(marks))
    # If all marks are the same number, the axis spans a tenth of that number, or 0.1 if it is 0.
    width = high - low or abs(high) * 0.1 or 0.1
    return [low - 0.05 * width, high + 0.08 * width]
