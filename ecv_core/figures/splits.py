"""Splits: on a timeline, and what they do to the ranks of algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.analysis.split_tables import DAYS, ToySplit
from ecv_core.figures.heatmap import ABOVE, ROW_HEIGHT, cells_layout, cells_trace
from ecv_core.figures.palette import (
    LABEL,
    TEXT,
    CellScale,
    Steps,
    axis,
    base_layout,
    error_bars,
    lay_out,
    lecture_layout,
    note,
    palette,
    part_styles,
    plain_axis,
)

STACK = 0.34
"""Rows between two items of one basket."""
MARK = 13


def timeline_figure(toy: ToySplit, *, dark: bool = False) -> go.Figure:
    """The figure of the first fold; `timeline_steps` moves it to the others."""
    colours = palette(dark)
    red = colours.stop
    figure = go.Figure(layout=lecture_layout(colours, 560))
    shared: dict[str, Any] = {"hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(
        mode="none", fill="toself", fillcolor=colours.saved, name="held-out period", **shared
    )
    figure.add_scatter(
        mode="lines+text",
        line={"color": colours.ink, "width": 3, "dash": "dash"},
        textposition="top left",
        textfont={"size": LABEL, "color": colours.ink},
        cliponaxis=False,
        name="point in time",
        **shared,
    )
    figure.add_scatter(
        mode="lines+markers",
        line={"color": red, "width": 2.5},
        marker={"symbol": "arrow", "angleref": "previous", "size": 17, "standoff": 7, "color": red},
        name="leak",
        **shared,
    )
    for word, style in part_styles(colours).items():
        figure.add_scatter(
            mode="markers",
            name=word,
            marker={
                "symbol": style.symbol,
                "color": style.colour,
                "size": MARK - (1 if style.symbol == "diamond" else 0),
                "line": {
                    "color": colours.ground if "open" not in style.symbol else style.colour,
                    "width": 1.5,
                },
            },
            showlegend=bool((toy.marks["part"] == word).any()),
            hovertemplate="%{text}<br>day %{x}<extra>" + word + "</extra>",
        )
    for at, patch in _patch(toy, 0).items():
        figure.data[at].update(patch)
    names = toy.marks.drop_duplicates("user").sort_values("user")["name"].tolist()
    figure.update_xaxes(**axis("day", colours, range=[-4, DAYS + 4], dtick=28, showgrid=False))
    figure.update_yaxes(
        **axis(
            "",
            colours,
            range=[len(names) - 0.4, -0.9],
            tickvals=list(range(len(names))),
            ticktext=names,
            tickfont={"size": TEXT},
        )
    )
    return figure


def timeline_steps(toy: ToySplit, sentences: Sequence[str], folds: Sequence[int]) -> Steps:
    """What each step of a slider changes in `timeline_figure`.

    Args:
        toy: as there.
        sentences: what each step shows, for those who do not see it.
        folds: the fold of each step.
    """
    return Steps(patches=[_patch(toy, fold) for fold in folds], alts=sentences)


def _patch(toy: ToySplit, fold: int) -> dict[int, dict[str, Any]]:
    """Trace number -> its data in one fold."""
    marks, period, leak = toy.marks, toy.periods[fold], toy.leaks[fold]
    top, bottom = -0.62, int(marks["user"].max()) + 0.55
    patch: dict[int, dict[str, Any]] = {at: {"x": [], "y": []} for at in range(3)}
    if period is not None:
        cut, end = period.test_from - 0.5, period.test_to + 0.5
        patch[0] = {"x": [cut, end, end, cut], "y": [top, top, bottom, bottom]}
        patch[1] = {"x": [cut] * 2, "y": [top, bottom], "text": ["point in time ", ""]}
    if leak is not None:
        later = leak.learner + STACK * leak.learnt_level
        earlier = leak.tested + STACK * leak.tested_level
        patch[2] = {"x": [leak.learnt_day, leak.tested_day], "y": [later, earlier]}
    here = marks[marks["fold"] == fold]
    for at, word in enumerate(part_styles(palette(False)), start=3):
        one = here[here["part"] == word]
        patch[at] = {
            "x": one["day"].tolist(),
            "y": (one["user"] + STACK * one["level"]).tolist(),
            "text": [
                f"{name}: item {item}" for name, item in zip(one["name"], one["item"], strict=True)
            ],
        }
    return patch


# Scores under two splits -> one point per algorithm, as figure 2 of Meng et al. (2020).


WIDTH = 640
"""Pixels; on a narrower page the figure scrolls sideways."""


def rank_scatter_figure(
    points: pd.DataFrame, metric: str, tau: str, *, dark: bool = False
) -> go.Figure:
    """Each algorithm by its scores under both splits, with intervals, name and both ranks.

    Args:
        points: as `rank_swaps.points_frame` makes it.
        metric: its name as shown.
        tau: Kendall's tau between both, as shown.
    """
    colours = palette(dark)
    across, upwards = points["split"].iloc[0], points["other"].iloc[0]
    # Neighbours from left to right take turns, so that few names meet; hovering tells the rest.
    above = points["score"].rank(method="first") % 2 == 0
    figure = go.Figure(
        go.Scatter(
            x=points["score"],
            y=points["other_score"],
            mode="markers+text",
            text=points["algorithm"],
            textposition=["top center" if one else "bottom center" for one in above],
            textfont={"size": 15, "color": colours.ink},
            marker={"size": 12, "color": colours.mean, "line": {"width": 0}},
            error_x=_bars(points, "", colours.muted),
            error_y=_bars(points, "other_", colours.muted),
            customdata=points[["algorithm", "rank", "other_rank"]].to_numpy(),
            hovertemplate=(
                f"<b>%{{customdata[0]}}</b><br>{across}: %{{x:.4f}}, rank %{{customdata[1]}}"
                f"<br>{upwards}: %{{y:.4f}}, rank %{{customdata[2]}}<extra></extra>"
            ),
            cliponaxis=False,
        )
    )
    looks: dict[str, Any] = {"standoff": 8, "gridcolor": colours.grid, "fixedrange": True}
    lay_out(
        figure,
        base_layout(colours, 540),
        hovermode="closest",
        showlegend=False,
        margin={"l": 12, "r": 12, "t": 44, "b": 12},
        xaxis=plain_axis(f"{metric} under {across}", range=_range(points, ""), **looks),
        yaxis=plain_axis(f"{metric} under {upwards}", range=_range(points, "other_"), **looks),
    )
    figure.add_annotation(
        note(
            f"Kendall's tau {tau}",
            18,
            colours.ink,
            xref="paper",
            yref="paper",
            x=0,
            y=1.02,
            xanchor="left",
            yanchor="bottom",
        )
    )
    return figure


def rank_scatter_words(points: pd.DataFrame, metric: str, tau: str) -> str:
    """What the points show, in a sentence."""
    parts = [
        f"{row['algorithm']} {row['score']:.4f} and {row['other_score']:.4f} (rank {row['rank']:g} "
        f"and {row['other_rank']:g})"
        for _, row in points.iterrows()
    ]
    return (
        f"{metric} under {points['split'].iloc[0]} and under {points['other'].iloc[0]}, Kendall's "
        f"tau {tau}: {'; '.join(parts)}."
    )


def _bars(points: pd.DataFrame, which: str, colour: str) -> dict[str, object]:
    # The recorded score and the middle of its samples differ in digits that are not kept per user.
    score, low, high = (points[f"{which}{name}"] for name in ("score", "low", "high"))
    return error_bars(score, low, high, colour, thickness=1.5, width=4)


def _range(points: pd.DataFrame, which: str) -> list[float]:
    """With room for labels beside the outermost points."""
    ends = points[[f"{which}low", f"{which}score", f"{which}high"]].to_numpy(dtype=np.float64)
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    room = 0.14 * ((high - low) or abs(high) or 1.0)
    return [low - room, high + room]


# Ranks under several splits: the table with arrows (table 3 of Meng et al.).


# Lost, kept, gained: the arrow says it too. Ink is easy to read on each of them.
_LIGHT = [[0.0, "#F4B183"], [0.5, "#F1F5F7"], [1.0, "#7FBCE6"]]
_DARK = [[0.0, "#8A4A20"], [0.5, "#1C2833"], [1.0, "#1B6699"]]
_SMALL = 13
_MOST_SHOWN = 3
"""Ranks moved from which on the colour is the strongest."""


def rank_table_figure(ranks: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Algorithms by splits: rank, arrow against the reference, score.

    Args:
        ranks: as `rank_swaps.ranks_frame` makes it: the reference first.
    """
    splits, algorithms = list(ranks["split"].unique()), list(ranks["algorithm"].unique())
    shape = (len(splits), len(algorithms))
    moved = ranks["up"].to_numpy().reshape(shape).T
    words = np.array([_cell(row, row["split"] == splits[0]) for _, row in ranks.iterrows()])
    about = np.array([_score_words(row) for _, row in ranks.iterrows()])
    figure = go.Figure(
        cells_trace(
            algorithms,
            splits,
            moved,
            CellScale(best=-_MOST_SHOWN, worst=_MOST_SHOWN, best_words="", worst_words=""),
            "",
            dark,
            text=words.reshape(shape).T.tolist(),
            customdata=about.reshape(shape).T.tolist(),
            colorscale=_DARK if dark else _LIGHT,
            hovertemplate="%{y} under %{x}<br>%{customdata}<extra></extra>",
        )
    )
    return lay_out(
        figure,
        cells_layout(algorithms, splits, palette(dark), ABOVE + 20 + ROW_HEIGHT * len(algorithms)),
    )


def arrow(up: float) -> str:
    """'↑2' for two ranks gained, '↓1' for one lost, '=' for none."""
    return "=" if up == 0 else f"{'↑' if up > 0 else '↓'}{abs(up):g}"


def rank_table_words(ranks: pd.DataFrame) -> str:
    """What the table shows, in a sentence."""
    splits = list(ranks["split"].unique())
    order = ", ".join(ranks.loc[ranks["split"] == splits[0], "algorithm"])
    moved = ranks[ranks["up"] != 0]
    parts = [
        f"{split}: "
        + ", ".join(f"{row['algorithm']} {arrow(row['up'])}" for _, row in of.iterrows())
        for split, of in moved.groupby("split", sort=False)
    ]
    rest = f"Against that, {'; '.join(parts)}." if parts else "No other split changes a rank."
    return f"Ranks by {ranks['metric'].iloc[0]}. Under {splits[0]}, best first: {order}. {rest}"


def tau_text(row: pd.Series[float]) -> str:
    """'0.80, interval 0.60 to 1.00'; 'not defined' where one split ranks all alike."""
    if pd.isna(row["tau"]):
        return "not defined"
    has_interval = pd.notna(row["low"])
    return f"{row['tau']:.2f}" + (f", interval {_ends(row, '.2f')}" if has_interval else "")


def _cell(row: pd.Series[float], reference: bool) -> str:
    sign = "" if reference else f" {arrow(row['up'])}"
    score = _small(f"{row['score']:.4f}")
    return f"<b>{row['rank']:g}</b>{sign}<br>{score}"


def _score_words(row: pd.Series[float]) -> str:
    has_interval = pd.notna(row["low"])
    about = f", interval {_ends(row, '.4f')}" if has_interval else ", users' scores are not known"
    return f"{row['metric']} {row['score']:.4f}{about}"


def _ends(row: pd.Series[float], digits: str) -> str:
    return f"{row['low']:{digits}} to {row['high']:{digits}}"


def _small(text: str) -> str:
    return f"<span style='font-size:{_SMALL}px'>{text}</span>"
