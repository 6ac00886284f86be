"""Scores frame -> datasets x algorithms with every score in its cell: which model is best where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.heatmap import (
    cells_layout,
    cells_trace,
    height_of,
    legend,
    missing_cells,
    number_size,
)
from ecv_core.figures.palette import lay_out, palette
from ecv_core.figures.scales import CellScale

EARLY = "†"
"""Behind the score of a run that ended at its stop."""

_SCALE = CellScale(
    best=0.0, worst=50.0, best_words="as good as the best", worst_words="half of it or less"
)
"""Of how far behind the best, in percent."""


def scores_figure(scores: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """A heatmap: the fainter the colour, the nearer to the dataset's best; the best is bold.

    Args:
        scores: as `figures.study_summary.scores_frame` makes it.
        dark: colours for a dark page.
    """
    datasets, algorithms = list(scores["dataset"].unique()), list(scores["algorithm"].unique())
    shape = (len(datasets), len(algorithms))
    values = np.full(shape, np.nan)
    words, about = (np.full(shape, "", dtype=object) for _ in range(2))
    for row in scores.to_dict("records"):
        at = datasets.index(row["dataset"]), algorithms.index(row["algorithm"])
        values[at] = 100 - row["of_best_percent"]
        words[at], about[at] = _cell(row), score_words(row)
    figure = go.Figure(
        cells_trace(
            datasets,
            algorithms,
            values,
            _SCALE,
            "",
            dark,
            **legend(_SCALE),
            text=words.tolist(),
            customdata=about.tolist(),
            hovertemplate="%{x} on %{y}<br>%{customdata}<extra></extra>",
            textfont={"size": number_size(len(algorithms), 13), "color": palette(dark).ink},
        )
    )
    missing_cells(figure, datasets, algorithms, values, palette(dark))
    lay_out(figure, cells_layout(datasets, algorithms, palette(dark), height_of(scores)))
    return figure


def scores_words(scores: pd.DataFrame) -> str:
    """Which algorithm is best on which dataset, those that win most first, as a sentence.

    Empty where there is one algorithm.
    """
    count = scores["algorithm"].nunique()
    if count < 2:
        return ""
    best = scores[scores["of_best_percent"] == 100.0].drop_duplicates("dataset")
    wins = best.groupby("algorithm", sort=False)["dataset"].agg(list)
    parts = [
        f"{algorithm} on {', '.join(datasets)}"
        for algorithm, datasets in sorted(wins.items(), key=lambda one: -len(one[1]))
    ]
    return f"Best of {count} algorithms by {scores['metric'].iloc[0]}: {'; '.join(parts)}."


def score_words(row: Mapping[Any, Any]) -> str:
    """'nDCG@10 0.0702, all 10 folds', or after how many which rule ended it, and what it knew."""
    text = f"{row['metric']} {row['score']:.4f}"
    if row["folds"] == row["k"]:
        return f"{text}, all {row['k']} folds"
    text = f"{text}, ended by its rule ({row['rule']}) after {row['folds']} of {row['k']} folds"
    if row["low"] == row["low"]:
        between = f"between {row['low']:.4f} and {row['high']:.4f}"
        sure = f"with {100 * row['confidence']:g} % confidence"
        text += f";<br>the mean of all {row['k']} is {between} {sure}"
    return text


def _cell(row: Mapping[Any, Any]) -> str:
    text = f"{row['score']:.4f}" + (EARLY if row["folds"] != row["k"] else "")
    return f"<b>{text}</b>" if row["of_best_percent"] == 100.0 else text
