"""Several runs: side by side, against their energy, and on the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ecv_core import stopping
from ecv_core.energy.savings import energy_of
from ecv_core.figures.palette import Palette, axis, base_layout, lay_out, note, palette
from ecv_core.figures.words import (
    algorithm_title,
    counted,
    dataset_title,
    duration,
    metric_label,
    run_title,
)
from ecv_core.records.frames import with_columns
from ecv_core.records.run import FoldResult, IntervalKind, RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.stopping.base import OwnInterval
from ecv_core.stopping.interval import difference_percent

COLUMNS = {
    "name": "the run's name among these: its algorithm, unless more is needed",
    "dataset": "its dataset",
    "algorithm": "its algorithm",
    "metric": "what the score is, such as nDCG@10",
    "state": "where it is in its life",
    "mean": "mean score at the stop, or so far",
    "low": "lower end of the confidence interval of that mean",
    "high": "upper end",
    "interval": "how it is made, such as '95 %, t over folds'; empty where there is none",
    "folds_used": "folds that this mean is of",
    "k": "folds that were planned",
    "stop": "the fold after which the rule stopped; missing where it never did, or not yet",
    "folds_saved": "folds never needed: k - e, 0 while there is no stop",
    "k_fold_mean": "mean of all k folds, where all have run",
    "difference_percent": "the paper's d between the mean at the stop and that of all k folds",
    "joules": "energy of the folds used; missing where none was measured",
    "grams_co2e": "their emissions",
    "seconds": "their computing time",
    "saved_joules": "energy of the folds that were not needed, at the mean of those that ran "
    "but the first where they did not run; missing while there is no stop",
    "saved_percent": "in percent of all k folds",
    "source": "how the energy is known, as in Energy",
    "run_id": "the run",
}
"""The frame's columns and what they mean."""

_TEXTS = ("name", "interval", "dataset", "algorithm", "metric", "state", "source", "run_id")
_COUNTS = ("folds_used", "k", "folds_saved")


NamedRun = tuple[str, RunRecord]
"""What a run is called among others on its dataset and metric, and the run."""


@with_columns(COLUMNS)
def compare_frame(runs: Sequence[NamedRun]) -> pd.DataFrame:
    """One row per run, in the given order, with the COLUMNS; missing where there is no fold yet."""
    frame = pd.DataFrame([_row(name, run) for name, run in runs], columns=list(COLUMNS))
    reals = [name for name in COLUMNS if name not in (*_TEXTS, *_COUNTS)]
    return frame.astype(dict.fromkeys(reals, "float64") | dict.fromkeys(_COUNTS, "int64"))


def compare_alt_text(frame: pd.DataFrame) -> str:
    """A few sentences with the numbers, for those who do not see the figure."""
    parts = []
    for (dataset, metric), rows in frame.groupby(["dataset", "metric"], sort=False):
        said = [
            f"{name} {mean:.4f} after {used} fold{'s' * (used > 1)}"
            if used
            else f"{name} has no fold yet"
            for name, mean, used in zip(rows["name"], rows["mean"], rows["folds_used"], strict=True)
        ]
        runs = "1 run" if len(rows) == 1 else f"{len(rows)} runs"
        on = dataset_title(str(dataset))
        parts.append(f"{metric} of {runs} on {on}: " + "; ".join(said) + ".")
    return " ".join(parts)


def interval_words(spec: RunSpec) -> str:
    """How a run's intervals are made: two that differ in this are not to be compared."""
    level = f"{100 * spec.confidence:g} %"
    if stopping.rule(spec.rule).interval is IntervalKind.K_FOLD_MEAN:
        return f"{level}, k-fold mean"
    if isinstance(stopping.rule_for(spec), OwnInterval):
        return f"{level}, {stopping.rule(spec.rule).title.lower()} rule"
    return f"{level}, t over folds"


def _row(name: str, run: RunRecord) -> dict[str, object]:
    at, whole = run.at_stop, run.k_fold_mean
    facts = energy_of(run)
    metered = facts.source != "none"
    return {
        "name": name,
        "dataset": run.spec.dataset,
        "algorithm": run.spec.algorithm,
        "metric": metric_label(run.spec),
        "state": run.state.value,
        "mean": at.mean if at else None,
        "low": at.interval.low if at and at.interval else None,
        "high": at.interval.high if at and at.interval else None,
        "interval": interval_words(run.spec) if at and at.interval else "",
        "folds_used": run.folds_used,
        "k": run.k,
        "stop": run.stopped_at if run.stopped_early else None,
        "folds_saved": run.k - run.stopped_at if run.stopped_at else 0,
        "k_fold_mean": whole,
        "difference_percent": (
            difference_percent(at.mean, whole) if at and whole is not None else None
        ),
        "saved_joules": facts.saved_joules if metered else None,
        "saved_percent": facts.saved_percent if metered else None,
        "source": facts.source,
        "run_id": run.run_id,
    } | _spent(run.folds[: run.folds_used], metered)


def _spent(folds: Sequence[FoldResult], metered: bool) -> dict[str, object]:
    return {
        "joules": sum(fold.energy.joules for fold in folds) if metered else None,
        "grams_co2e": sum(fold.energy.grams_co2e for fold in folds) if metered else None,
        "seconds": sum(fold.total_seconds for fold in folds) if folds else None,
    }


# Their means, one panel per dataset and metric.


AT_STOP, WHOLE = "mean at the stop", "mean of all k folds"

_RUN, _TITLE, _AXIS = 46, 34, 40
"""Pixels of a run in its panel, of the panel's title, and of the axis below it."""
_TOP, _RIGHT, _BOTTOM = 64, 60, 12
"""Margins of the whole figure, in pixels."""
_LOOKS = (("diamond", "mean"), ("square", "width"), ("triangle-up", "ink"))
"""Of means with intervals made in different ways: mark, and name of the colour."""


def compare_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Mean and interval of each run on a line of its own, the first of each panel on top.

    Intervals that are made in different ways differ in mark and colour, and are named.

    Args: frame: from `compare.compare_frame`, at least one row.
    """
    colours = palette(dark)
    panels = list(frame.groupby(["dataset", "metric"], sort=False))
    inner = _RUN * len(frame) + (_TITLE + _AXIS) * len(panels)
    figure = make_subplots(rows=len(panels), cols=1)
    kinds = [kind for kind in dict.fromkeys(frame["interval"]) if kind] or [""]
    edge = 1.0
    for row, ((dataset, metric), runs) in enumerate(panels, start=1):
        edge -= _TITLE / inner
        end = edge - _RUN * len(runs) / inner
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
            domain=[max(end, 0.0), edge],
            tickmode="array",
            tickvals=list(range(len(runs))),
            ticktext=list(map(_wrapped, runs["name"])),
            range=[len(runs) - 0.5, -0.5],
            showgrid=False,
            zeroline=False,
            automargin=True,
        )
        title = f"<b>{metric}</b>{_of(runs)} on <b>{dataset_title(str(dataset))}</b>"
        place = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
        figure.add_annotation(note(title, 17, colours.ink, x=0, y=edge, **place))
        edge = end - _AXIS / inner
    layout = base_layout(colours, _TOP + inner + _BOTTOM)
    return lay_out(
        figure,
        layout,
        hovermode="closest",
        margin={"l": 12, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        # A legend in pixels above the first panel, however tall the figure.
        legend=layout["legend"] | {"y": 1 + 6 / inner},
    )


def _of(rows: pd.DataFrame) -> str:
    """' of EASE' where all runs of a panel are of one algorithm and are not named by it."""
    first, *others = rows["algorithm"].unique()
    title = algorithm_title(first)
    unnamed = not any(name.startswith((first, title)) for name in rows["name"])
    return f" of {title}" if unnamed and not others else ""


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
            "array": (runs["high"] - runs["mean"]).clip(lower=0).fillna(0.0),
            "arrayminus": (runs["mean"] - runs["low"]).clip(lower=0).fillna(0.0),
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


# Their scores, as shares of the best on their dataset, against their energy.


_HEIGHT = 260


def spent_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Each run with a score and metered energy; shares compare where scores themselves do not.

    Args: frame: columns name, of (what scores compare within), score, higher (whether a higher one
        is better), mwh and picked.
    Returns: those rows, with share: percent of the best score of its `of`, which has 100.
    """
    known = frame.dropna(subset=["score", "mwh"])
    known = known[(known["score"] > 0) & (known["mwh"] > 0)]
    scores = known.groupby("of")["score"]
    high, low = known["score"] / scores.transform("max"), scores.transform("min") / known["score"]
    return known.assign(share=100 * high.where(known["higher"].astype(bool), low))


def spent_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """A point per run, in the colour of its dataset and metric; picked ones are filled and ringed.

    Args: frame: from `spent_frame`, at least one row.
    """
    colours = palette(dark)
    figure = go.Figure()
    some = bool(frame["picked"].any())
    ticks = [step * 10.0**power for power in range(-3, 9) for step in (1, 2, 5)]  # else 5 is 50
    for place, (of, mine) in enumerate(frame.groupby("of", sort=False)):
        faint = [1.0 if picked or not some else 0.3 for picked in mine["picked"]]
        figure.add_scatter(
            x=mine["mwh"],
            y=mine["share"],
            mode="markers",
            name=str(of),
            text=mine["name"],
            customdata=mine[["score"]],
            marker={
                "size": 12,
                "color": colours.series[place % len(colours.series)],
                "opacity": faint,
                "line": {"width": 2 * mine["picked"].astype(int), "color": colours.ink},
            },
            hovertemplate="%{text}: %{customdata[0]:.4f}, %{y:.1f} %, %{x:.2g} mWh<extra></extra>",
        )
    return lay_out(
        figure,
        base_layout(colours, _HEIGHT),
        hovermode="closest",
        margin={"t": 8 if frame["of"].nunique() == 1 else 48},
        xaxis=axis("energy of all its folds, mWh", colours, type="log", tickvals=ticks),
        yaxis=axis("score, % of the best", colours, ticksuffix=" %"),
    )


# Their folds on the nodes of a cluster as lanes: a node each, over time.


LANE_HEIGHT, LEGEND_HEIGHT = 34, 130
"""Pixels."""
AFTER = "came after the stop"


def lanes_frame(runs: Iterable[RunRecord]) -> pd.DataFrame:
    """One row per fold of these runs that was computed and says where.

    Returns: node, run, fold, began (UTC), seconds, joules, kind ('fold', or AFTER), hardware; by
        node and time.
    """
    rows = [
        {
            "node": result.node.host,
            "run": run_title(run),
            "fold": result.fold,
            "began": result.node.began_at,
            "seconds": result.total_seconds,
            "joules": result.energy.joules,
            "kind": AFTER if _after(run, place) else "fold",
            "hardware": result.node.hardware,
        }
        for run in runs
        for place, result in enumerate((*run.folds, *run.ahead))
        if result.node is not None and not result.reused
    ]
    columns = ["node", "run", "fold", "began", "seconds", "joules", "kind", "hardware"]
    return pd.DataFrame(rows, columns=columns).sort_values(["node", "began"], ignore_index=True)


def _after(run: RunRecord, place: int) -> bool:
    return run.stopped_at is not None and place >= run.stopped_at and not run.spec.full


def lanes_sentence(frame: pd.DataFrame) -> str:
    """How much time several nodes have saved, for whoever does not see the picture."""
    nodes, work = frame["node"].nunique(), float(frame["seconds"].sum())
    ends = frame["began"] + pd.to_timedelta(frame["seconds"], unit="s")
    took = (ends.max() - frame["began"].min()).total_seconds()
    late = int((frame["kind"] == AFTER).sum())
    text = (
        f"{counted(len(frame), 'fold')} on {counted(nodes, 'node')} took {duration(took)}; one "
        f"after the other they would have taken {duration(work)}."
    )
    return f"{text} {counted(late, 'fold')} of them {AFTER}." if late else text


def lanes_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """The lanes below each other on one axis of time, a colour per run, late folds hatched.

    Args: frame: as `lanes_frame` makes it; at least one row.
    """
    colours = palette(dark)
    begin = frame["began"].min()
    ends = frame["began"] + pd.to_timedelta(frame["seconds"], unit="s")
    short = ends.max() - begin < timedelta(minutes=2)
    unit, word, sign = (1, "seconds", "s") if short else (60, "minutes", "min")
    begun = (frame["began"] - begin) / timedelta(seconds=unit)
    figure = go.Figure()
    for at, run in enumerate(dict.fromkeys(frame["run"])):
        rows = frame[frame["run"] == run]
        late = rows["kind"] == AFTER
        figure.add_bar(
            name=run,
            orientation="h",
            y=rows["node"],
            x=rows["seconds"] / unit,
            base=begun[rows.index],
            text=rows["fold"].astype(str),
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": colours.ground},
            marker={
                "color": colours.series[at % len(colours.series)],
                "line": {"color": colours.ground, "width": 1},
                "pattern": {"shape": late.map({True: "/", False: ""}), "solidity": 0.4},
            },
            customdata=rows["kind"],
            hovertemplate=f"%{{y}}: {run}, fold %{{text}}, %{{x:.3g}} {sign}, %{{customdata}}"
            "<extra></extra>",
        )
    return lay_out(
        figure,
        base_layout(colours, LEGEND_HEIGHT + LANE_HEIGHT * max(frame["node"].nunique(), 2)),
        barmode="overlay",
        hovermode="closest",
        showlegend=True,
        xaxis={
            "title": {"text": f"{word} since the first fold began"},
            "gridcolor": colours.grid,
            "automargin": True,
            "rangemode": "tozero",
        },
        yaxis={
            "type": "category",
            "categoryorder": "array",
            "categoryarray": sorted(frame["node"].unique())[::-1],
            "automargin": True,
        },
    )
