"""Splits: on a timeline, and what they do to the ranks of algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.analysis.split_tables import DAYS, ToySplit
from ecv_core.figures.heatmap import ABOVE, BELOW, ROW_HEIGHT, cells_layout, cells_trace, legend
from ecv_core.figures.palette import (
    LABEL,
    TEXT,
    CellScale,
    Steps,
    axis,
    lay_out,
    lecture_layout,
    palette,
    part_styles,
    stepped,
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
    for word, (colour, symbol) in part_styles(colours).items():
        figure.add_scatter(
            mode="markers",
            name=word,
            marker={
                "symbol": symbol,
                "color": colour,
                "size": MARK - (1 if symbol == "diamond" else 0),
                "line": {"color": colour if "open" in symbol else colours.ground, "width": 1.5},
            },
            showlegend=bool((toy.marks["part"] == word).any()),
            hovertemplate="%{text}<br>day %{x}<extra>" + word + "</extra>",
        )
    stepped(figure, Steps(patches=[_patch(toy, 0)]))
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
        cut, end = period[0] - 0.5, period[1] + 0.5
        patch[0] = {"x": [cut, end, end, cut], "y": [top, top, bottom, bottom]}
        patch[1] = {"x": [cut] * 2, "y": [top, bottom], "text": ["point in time ", ""]}
    if leak is not None:
        rows = leak["user"] + STACK * leak["level"]
        patch[2] = {"x": leak["day"].tolist(), "y": rows.tolist()}
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


# Ranks under several splits: the table with arrows (table 3 of Meng et al.), and Kendall's tau.


_SMALL = 13
_MOST_SHOWN = 3
"""Ranks moved from which on the colour is the strongest."""


def rank_table_figure(ranks: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Algorithms by splits: rank, arrow against the reference, score.

    Args: ranks: as `rank_swaps.ranks_frame` makes it: the reference first.
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
            colorscale=palette(dark).moved,  # the arrow says it too
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


def tau_figure(taus: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Kendall's tau between every two splits, with its interval, as a triangle.

    Args: taus: as `rank_swaps.taus_frame` makes it.
    """
    columns, rows = list(taus["split"].unique()), list(taus["other"].unique())
    wide = (
        taus.pivot(index="other", columns="split", values="tau")
        .reindex(index=rows, columns=columns)
        .to_numpy(dtype=np.float64)
    )
    words = {(row["other"], row["split"]): _tau_cell(row) for _, row in taus.iterrows()}
    about = {
        (row["other"], row["split"]): f"{row['swaps']} of {row['pairs']} pairs swap"
        for _, row in taus.iterrows()
    }
    least = min(0.0, float(taus["tau"].min(skipna=True)))
    scale = CellScale(best=1.0, worst=least, best_words="same ranks", worst_words=f"{least:.2g}")
    figure = go.Figure(
        cells_trace(
            rows,
            columns,
            wide,
            scale,
            "",
            dark,
            **legend(scale),
            text=[[words.get((row, column), "") for column in columns] for row in rows],
            customdata=[[about.get((row, column), "") for column in columns] for row in rows],
            hovertemplate="%{y} and %{x}<br>%{customdata}<extra></extra>",
        )
    )
    height = ABOVE + 20 + ROW_HEIGHT * len(rows) + BELOW
    return lay_out(figure, cells_layout(rows, columns, palette(dark), height))


def tau_words(taus: pd.DataFrame) -> str:
    """What the triangle shows, in a sentence."""
    of_pairs = taus.dropna(subset=["tau"]).sort_values("tau", kind="stable")
    if of_pairs.empty:
        return "Kendall's tau is not defined between any two splits: they rank all alike."
    low, high = of_pairs.iloc[0], of_pairs.iloc[-1]
    return (
        f"Kendall's tau between {len(of_pairs)} pairs of splits: from {low['tau']:.2f} "
        f"({low['split']} and {low['other']}) to {high['tau']:.2f} ({high['split']} and "
        f"{high['other']})."
    )


def _cell(row: pd.Series[float], reference: bool) -> str:
    sign = "" if reference else f" {arrow(row['up'])}"
    score = _small(f"{row['score']:.4f}")
    return f"<b>{row['rank']:g}</b>{sign}<br>{score}"


def _score_words(row: pd.Series[float]) -> str:
    has_interval = pd.notna(row["low"])
    about = f", interval {_ends(row, '.4f')}" if has_interval else ", users' scores are not known"
    return f"{row['metric']} {row['score']:.4f}{about}"


def _tau_cell(row: pd.Series[float]) -> str:
    if pd.isna(row["tau"]):
        return "-"
    has_interval = pd.notna(row["low"])
    return f"<b>{row['tau']:.2f}</b>" + (f"<br>{_small(_ends(row, '.2f'))}" if has_interval else "")


def _ends(row: pd.Series[float], digits: str) -> str:
    return f"{row['low']:{digits}} to {row['high']:{digits}}"


def _small(text: str) -> str:
    return f"<span style='font-size:{_SMALL}px'>{text}</span>"
