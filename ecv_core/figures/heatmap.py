"""Datasets x algorithms -> heatmaps of numbers, of ranks and of scores (figures 2, 3 and 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import (
    KEPT_SCALE,
    CellScale,
    Looks,
    Palette,
    Step,
    base_layout,
    changed_by,
    lay_out,
    palette,
    plain_axis,
    rank_scale,
)
from ecv_core.figures.words import alpha_text, counted
from ecv_core.records.parameters import percent_text, score_text

ROW_HEIGHT = 44
"""Pixels of a row."""
_LOW_ROW_HEIGHT = 24
"""Pixels of a row where there are many."""
COLUMN_NAMES_HEIGHT = 108
"""Pixels above the cells, for the names of the columns."""
LEGEND_HEIGHT = 46
"""Pixels below the cells, for the legend."""

_COLUMNS_OF_LITTLE_TILT = 6
"""Columns up to which their names need little tilt."""

_LEAST_NUMBER_SIZE = 14
"""Pixels of numbers of at most four signs, which fit into the narrowest column."""


def _number_font(table: pd.DataFrame, colour: str, least: int = 11) -> Looks:
    """The type of the numbers in the cells: two of them side by side must not touch.

    Args:
        table: The numbers.
        colour: Their colour.
        least: Pixels that they have in many columns; longer numbers less than short ones.
    """
    # Eight columns have room for type of 16 pixels, and more columns for smaller type.
    fitting = 128 // len(table.columns)
    return {"size": min(16, max(least, fitting)), "color": colour}


# A tidy frame -> tables, whose rows and columns are those of the heatmap.


def table_of(frame: pd.DataFrame, rows: str, columns: str, value: str) -> pd.DataFrame:
    """A tidy frame as a table.

    Args:
        frame: One row per cell.
        rows: The column that has the names of the table's rows.
        columns: The column that has the names of the table's columns.
        value: The column that is shown.

    Returns:
        Rows and columns in the order in which they come; NaN where there is no cell. Of several
        in one cell, the last is shown.
    """
    table = frame.groupby([rows, columns])[value].last().unstack()
    return table.reindex(index=frame[rows].unique(), columns=frame[columns].unique())


def table_at_alpha(frame: pd.DataFrame, value: str, alpha: float) -> pd.DataFrame:
    """A table of datasets x algorithms, of the same shape at each alpha.

    Args:
        frame: With the columns alpha, dataset, algorithm and `value`.
        value: The column to show.
        alpha: Which rows of the frame to show.
    """
    cells = frame[frame["alpha"] == alpha]
    table = cells.pivot(index="dataset", columns="algorithm", values=value)
    return table.reindex(index=frame["dataset"].unique(), columns=frame["algorithm"].unique())


def texts_in_cells(frame: pd.DataFrame, rows: str, columns: str) -> dict[str, list[list[str]]]:
    """Attributes of a trace of cells: what is written in each, and what is said about it.

    Args:
        frame: One row per cell, with the columns text and about; a cell without a row has neither.
        rows: As of `table_of`.
        columns: As of `table_of`.

    Returns:
        The latter as `customdata`, for a hover.
    """
    return {
        "text": _texts(table_of(frame, rows, columns, "text")),
        "customdata": _texts(table_of(frame, rows, columns, "about")),
    }


def _rounded(table: pd.DataFrame) -> list[list[float | None]]:
    """As JSON can hold it, with None where there is no cell."""
    values = table.round(4).astype(object)
    return values.where(table.notna(), None).to_numpy().tolist()


def _texts(table: pd.DataFrame) -> list[list[str]]:
    """The texts of cells; empty where there is none."""
    return table.fillna("").to_numpy().tolist()


# Numbers: figures 2 and 3.


CELLS = 0
"""Number of the trace that has the cells."""


def heatmap_figure(
    frame: pd.DataFrame, *, value: str, scale: CellScale, hover: str, dark: bool = False
) -> go.Figure:
    """The colours of the frame at its first alpha; a stronger one is worse.

    Args:
        frame: See `table_at_alpha`.
        value: The column to show.
        scale: The scale of the colours; the same for all alphas.
        hover: What the number is, with `%{text}` for it.
        dark: Whether the page is dark.
    """
    table = table_at_alpha(frame, value, frame["alpha"].iloc[0])
    # The cells have no numbers at first: each step of the slider writes its own.
    return _heatmap(table, scale, palette(dark), hovertemplate=_hover(hover))


def _hover(text: str) -> str:
    return f"%{{x}} on %{{y}}<br>{text}<extra></extra>"


def _heatmap(
    table: pd.DataFrame,
    scale: CellScale,
    colours: Palette,
    **looks: Any,  # noqa: ANN401  any attribute of a trace
) -> go.Figure:
    """Cells with their legend, and dashes where there is none."""
    font = _number_font(table, colours.ink, _LEAST_NUMBER_SIZE)
    usual_looks = {"textfont": font} | legend(scale)
    figure = go.Figure(cells_trace(table, scale, colours, **usual_looks | looks))
    _add_dashes(figure, table, colours)
    return lay_out(figure, cells_layout(table, colours, _height(table)))


def _height(table: pd.DataFrame) -> int:
    """Pixels of the figure: twenty datasets are seen at once too, in lower rows."""
    rows = len(table)
    row_height = max(_LOW_ROW_HEIGHT, min(ROW_HEIGHT, 480 // rows))
    return COLUMN_NAMES_HEIGHT + rows * row_height + LEGEND_HEIGHT


def heatmap_steps(
    frame: pd.DataFrame, alphas: Sequence[float], *, value: str, digits: int, title: str
) -> list[Step]:
    """What the cells show at each alpha of a slider.

    Args:
        frame: See `table_at_alpha`.
        alphas: Each one in the frame.
        value: The column to show.
        digits: The digits of the numbers below ten, after the point; others have at most one.
        title: What the numbers are, for those who do not see the figure.
    """
    label = partial(_number_text, digits=digits)
    steps = []
    for alpha in alphas:
        table = table_at_alpha(frame, value, alpha)
        text = f"alpha {alpha_text(alpha)}"
        alt = f"{title} at {text}, {_summary(table, label)}."
        steps.append(Step(changes={CELLS: _numbers_in_cells(table, label)}, alt=alt, note=text))
    return steps


def _numbers_in_cells(table: pd.DataFrame, label: Callable[[float], str]) -> Looks:
    """What of a trace of cells depends on their numbers: their colours, and the numbers written."""
    return {"z": _rounded(table), "text": _texts(table.map(label, na_action="ignore"))}


def _summary(table: pd.DataFrame, label: Callable[[float], str]) -> str:
    """How many cells a table has, its least and greatest number with their cells, and the mean.

    Args:
        table: Datasets as rows, algorithms as columns; NaN where there is no cell.
        label: Writes a number.
    """
    cells = []
    for dataset, row in table.iterrows():
        for algorithm, number in row.dropna().items():
            cells.append((float(number), f"{algorithm} on {dataset}"))
    cells.sort()
    least, least_cell = cells[0]
    greatest, greatest_cell = cells[-1]
    mean = fmean(number for number, _ in cells)
    return (
        f"{counted(len(cells), 'cell')}: from {label(least)} ({least_cell}) to {label(greatest)} "
        f"({greatest_cell}), mean {label(mean)}"
    )


def _number_text(number: float, digits: int) -> str:
    if number >= 9.95:  # it is rounded to 10 or more
        digits = min(digits, 1)
    return f"{number:.{digits}f}"


def heatmap_at(
    frame: pd.DataFrame, alpha: float, *, value: str, scale: CellScale, dark: bool = False
) -> go.Figure:
    """The frame at one alpha, with its numbers; arguments as above."""
    table = table_at_alpha(frame, value, alpha)
    numbers = table.map(partial(_number_text, digits=scale.digits), na_action="ignore")
    return _heatmap(
        table,
        scale,
        palette(dark),
        text=_texts(numbers),
        hovertemplate=_hover("%{text}"),
    )


def cells_trace(
    table: pd.DataFrame,
    scale: CellScale,
    colours: Palette,
    **looks: Any,  # noqa: ANN401  any attribute of a trace
) -> go.Heatmap:
    """The coloured cells of a table, without text unless `looks` has it.

    Args:
        table: Numbers, NaN where there is no cell.
        scale: What the colours span.
        colours: The colours of the page.
        looks: Attributes of the trace, over the usual ones.
    """
    usual = {
        "text": np.full(table.shape, "").tolist(),
        "texttemplate": "%{text}",
        "textfont": _number_font(table, colours.ink),
        "colorscale": colours.cells,
        "showscale": False,
        "xgap": 3,
        "ygap": 3,
        "hoverongaps": False,
    }
    return go.Heatmap(
        x=table.columns.tolist(),
        y=table.index.tolist(),
        z=_rounded(table),
        zmin=min(scale.best, scale.worst),
        zmax=max(scale.best, scale.worst),
        reversescale=scale.best > scale.worst,
        **usual | looks,
    )


def legend(scale: CellScale) -> Looks:
    """Attributes of a trace of cells: below them, what their colours mean."""
    words = {
        "tickvals": [scale.best, scale.worst],
        "ticktext": [f"better: {scale.best_words}", f"worse: {scale.worst_words}"],
        "ticks": "",
        "tickfont": {"size": 13},
    }
    # The words are centred below the ends of the bar, which leaves them room at both sides.
    place = {"x": 0.5, "xanchor": "center", "y": 0, "yanchor": "top", "ypad": 8, "len": 0.5}
    bar = {"orientation": "h", "thickness": 10, "outlinewidth": 0}
    return {"showscale": True, "colorbar": bar | place | words}


def _add_dashes(figure: go.Figure, table: pd.DataFrame, colours: Palette) -> None:
    """A dash where there is no run."""
    rows, columns = np.nonzero(table.isna())
    figure.add_scatter(
        x=table.columns[columns],
        y=table.index[rows],
        mode="text",
        text=["-"] * len(rows),
        textfont=_number_font(table, colours.muted, _LEAST_NUMBER_SIZE),
        hovertemplate="%{x} on %{y}: no complete run<extra></extra>",
    )


def cells_layout(table: pd.DataFrame, colours: Palette, height: int) -> Looks:
    """The columns of a table above it, its rows from the top down."""
    looks: Looks = {"showgrid": False, "fixedrange": True, "ticks": ""}
    rows = table.index.tolist()
    columns = table.columns.tolist()
    tilt = -60
    if len(columns) <= _COLUMNS_OF_LITTLE_TILT:
        tilt = -35
    x_axis: Looks = {"side": "top", "tickangle": tilt, "range": [-0.5, len(columns) - 0.5]}
    # A descending range puts the first row at the top.
    y_axis: Looks = {"range": [len(rows) - 0.5, -0.5], "ticksuffix": " "}
    return base_layout(colours, height) | {
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "hovermode": "closest",
        "showlegend": False,
        "xaxis": plain_axis("", tickvals=columns, **x_axis, **looks),
        "yaxis": plain_axis("", tickvals=rows, **y_axis, **looks),
    }


# Ranks, and how often they are those of k folds: figure 4.


SHARE_TITLES = {"same_order_percent": "same order", "same_winner_percent": "same winner"}
"""Columns of the stability frame and their names in the figure."""

RANKS = 0
"""Number of the trace that has the ranks."""
KEPT = 1
"""Number of the trace that says in how many orders of the folds the ranks are kept."""


def ranks_figure(ranks: pd.DataFrame, stability: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Ranks as a heatmap, and beside it how often they are those of k folds.

    Args:
        ranks: With alpha, dataset, algorithm, rank_k_fold and rank_e_fold.
        stability: With alpha, dataset, same_order_percent and same_winner_percent.
        dark: Whether the page is dark.
    """
    colours = palette(dark)
    alpha = ranks["alpha"].iloc[0]
    table = table_at_alpha(ranks, "rank_e_fold", alpha)
    # A second part shows in how many orders of the folds all ranks, and the winner, are kept.
    kept_shares = _kept_shares(stability, alpha, table.index)
    algorithms = len(table.columns)
    scale = rank_scale(algorithms)
    rank_looks = {"hovertemplate": _hover("rank %{text}")} | legend(scale)
    kept_looks = {"hovertemplate": _hover("in %{text} of orders"), "xaxis": "x2"}
    figure = go.Figure()
    figure.add_trace(cells_trace(table, scale, colours, **rank_looks))
    figure.add_trace(cells_trace(kept_shares, KEPT_SCALE, colours, **kept_looks))
    _add_dashes(figure, table, colours)
    layout = cells_layout(table, colours, _height(table))
    # Columns of both parts are equally wide; the gap between the parts is 0.4 columns.
    width_of_ranks = algorithms / (algorithms + len(SHARE_TITLES) + 0.4)
    layout["xaxis"]["domain"] = [0, width_of_ranks - 0.01]
    layout["xaxis2"] = layout["xaxis"] | {
        "domain": [width_of_ranks + 0.02, 1],
        "range": [-0.5, len(SHARE_TITLES) - 0.5],
        "tickvals": kept_shares.columns.tolist(),
        "anchor": "y",
    }
    return lay_out(figure, layout)


def ranks_steps(
    ranks: pd.DataFrame, stability: pd.DataFrame, alphas: Sequence[float]
) -> list[Step]:
    """What both parts show at each alpha of a slider; frames as for `ranks_figure`."""
    # The ranks by all k folds are the same at every alpha.
    k_fold_ranks = table_at_alpha(ranks, "rank_k_fold", alphas[0])
    # Two algorithms that share the ranks 2 and 3 have 2.5 each, so that a rank may be a half.
    k_fold_words = " (" + k_fold_ranks.map("{:g}".format, na_action="ignore") + ")"
    steps = []
    for alpha in alphas:
        e_fold_ranks = table_at_alpha(ranks, "rank_e_fold", alpha)
        rank_words = e_fold_ranks.map("<b>{:.1f}</b>".format, na_action="ignore") + k_fold_words
        kept_shares = _kept_shares(stability, alpha, e_fold_ranks.index)
        parts = []
        for dataset, same_ranking, same_winner in kept_shares.itertuples():
            order_words = _kept_words(same_ranking)
            parts.append(f"{dataset} order {order_words}, winner {_kept_words(same_winner)}")
        text = f"alpha {alpha_text(alpha)}"
        step = Step(
            changes={
                RANKS: {"z": _rounded(e_fold_ranks), "text": _texts(rank_words)},
                KEPT: _numbers_in_cells(kept_shares, _kept_words),
            },
            alt=f"Ranks under e-CV at {text} beside k-fold ranks. Share of the orders that keep "
            f"the k-fold ranking: {'; '.join(parts)}.",
            note=text,
        )
        steps.append(step)
    return steps


def _kept_words(percent: float) -> str:
    """How many percent of the orders keep something, without decimals where that can be."""
    return percent_text(percent / 100, ".0f")


def ranks_at(ranks: pd.DataFrame, stability: pd.DataFrame, alpha: float) -> go.Figure:
    """Both parts at one alpha."""
    ranks_here = ranks[ranks["alpha"] == alpha]
    (step,) = ranks_steps(ranks_here, stability, [alpha])
    return changed_by(step, ranks_figure(ranks_here, stability))


def _kept_shares(stability: pd.DataFrame, alpha: float, datasets: pd.Index[Any]) -> pd.DataFrame:
    """At one alpha, the shares of orders that keep the ranks; a row for each of the datasets."""
    kept = stability[stability["alpha"] == alpha].set_index("dataset")
    return kept[list(SHARE_TITLES)].rename(columns=SHARE_TITLES).reindex(datasets)


# Scores, as far as they are behind the best on their dataset.


EARLY_STOP_MARK = "†"
"""Behind the score of a run that ended at its stop."""

_BEHIND_SCALE = CellScale(
    best=0.0, worst=50.0, best_words="as good as the best", worst_words="half of it or less"
)
"""Of how far behind the best, in percent."""


def scores_figure(scores: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """A heatmap: the fainter the colour, the nearer to the dataset's best; the best is bold.

    Args:
        scores: As `figures.study_summary.scores_frame` makes it.
        dark: Whether the page is dark.
    """
    colours = palette(dark)
    cells = scores.assign(
        behind=100 - scores["of_best_percent"],
        text=scores.apply(_score_cell, axis="columns"),
        about=scores.apply(_score_words, axis="columns"),
    )
    behind = table_of(cells, "dataset", "algorithm", "behind")
    return _heatmap(
        behind,
        _BEHIND_SCALE,
        colours,
        **texts_in_cells(cells, "dataset", "algorithm"),
        hovertemplate=_hover("%{customdata}"),
        textfont=_number_font(behind, colours.ink, least=13),
    )


def scores_words(scores: pd.DataFrame) -> str:
    """Which algorithm is best on which dataset, those that win most first, as a sentence.

    Empty where there is one algorithm.
    """
    algorithm_count = scores["algorithm"].nunique()
    if algorithm_count < 2:
        return ""
    # If several are equally good on a dataset, the first of them counts as its best.
    best = scores[scores["of_best_percent"] == 100.0].drop_duplicates("dataset")
    winners = best.groupby("algorithm", sort=False).agg(
        wins=("dataset", "size"), datasets=("dataset", ", ".join)
    )
    winners = winners.sort_values("wins", ascending=False, kind="stable")
    parts = winners.index + " on " + winners["datasets"]
    metric = scores["metric"].iloc[0]
    return f"Best of {counted(algorithm_count, 'algorithm')} by {metric}: {'; '.join(parts)}."


def _score_words(row: Mapping[Any, Any]) -> str:
    """'nDCG@10 0.0702, all 10 folds', or after how many which rule ended it, and what it knew."""
    text = f"{row['metric']} {score_text(row['score'])}"
    if row["folds"] == row["k"]:
        return f"{text}, all {row['k']} folds"
    text += f", ended by its rule ({row['rule']}) after {row['folds']} of {row['k']} folds"
    if pd.notna(row["low"]):
        text += (
            f";<br>the mean of all {row['k']} is between {score_text(row['low'])} and "
            f"{score_text(row['high'])} with {percent_text(row['confidence'], 'g')} confidence"
        )
    return text


def _score_cell(row: Mapping[Any, Any]) -> str:
    """The score, bold for the best, with a mark where the run ended at its stop."""
    text = score_text(row["score"])
    if row["folds"] != row["k"]:
        text += EARLY_STOP_MARK
    if row["of_best_percent"] == 100.0:
        text = f"<b>{text}</b>"
    return text
