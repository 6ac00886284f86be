"""Datasets x algorithms -> tables for print, drawn with matplotlib: figures 2, 3 and 4.

A darker cell is a worse one, in colour as in grey, and has its number in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core.figures.palette import LIGHT
from ecv_core.figures.report.plotting import COLUMN, SMALL
from ecv_core.figures.scales import KEPT_SCALE, CellScale, rank_scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = NDArray[np.float64]


def cells_picture(
    cells: pd.DataFrame,
    value: str,
    *,
    scale: CellScale,
    width: float = COLUMN,
) -> Figure:
    """Figures 2 and 3: one number per dataset and algorithm, the darker the worse.

    Args:
        cells: one row per cell with the columns dataset, algorithm and `value`.
        value: the column to show.
        scale: of the shades, with the digits of the numbers.
        width: in inches.
    """
    datasets, algorithms = list(cells["dataset"].unique()), list(cells["algorithm"].unique())
    values = _table(cells, value, algorithms, datasets)
    words = _words(values, f".{scale.digits}f")
    return _cells(datasets, algorithms, words, _shares(values, scale), scale, width)


def ranks_picture(ranks: pd.DataFrame, stability: pd.DataFrame, *, width: float = COLUMN) -> Figure:
    """Figure 4: the mean rank by the scores at the stops and, in brackets, the rank by k folds.

    Below: in how many orders of the folds all ranks, and the winner, are those of k folds.

    Args:
        ranks: of one alpha: dataset, algorithm, rank_k_fold and rank_e_fold.
        stability: of that alpha: dataset, same_order_percent and same_winner_percent.
        width: in inches.
    """
    datasets, algorithms = list(ranks["dataset"].unique()), list(ranks["algorithm"].unique())

    stopped = _table(ranks, "rank_e_fold", algorithms, datasets)
    whole = _table(ranks, "rank_k_fold", algorithms, datasets)
    words = [
        [f"{e:.1f} ({k:g})" if e == e else "-" for e, k in zip(under_e, under_k, strict=True)]
        for under_e, under_k in zip(stopped.tolist(), whole.tolist(), strict=True)
    ]
    scale = rank_scale(len(algorithms))
    kept = stability.set_index("dataset").reindex(datasets)[
        ["same_order_percent", "same_winner_percent"]
    ]
    shares = kept.to_numpy(dtype=np.float64).T
    words += [[f"{one} %" if one != "-" else one for one in row] for row in _words(shares, ".0f")]
    shades = np.vstack([_shares(stopped, scale), _shares(shares, KEPT_SCALE)])
    names = [*algorithms, "same order", "same winner"]
    return _cells(datasets, names, words, shades, scale, width, apart=2)


_ROW, _HEAD, _FOOT, _GAP = 0.19, 0.62, 0.3, 0.35
"""Inches: of a row, of the names above and the legend below; and rows between two tables."""
_LIGHTEST, _DARKEST = np.array([241, 245, 247]) / 255, np.array([0, 80, 126]) / 255


def _shade(share: float) -> tuple[tuple[float, ...], str]:
    """A cell's colour and that of its words, from 0, the lightest, to 1."""
    share = min(max(share, 0.0), 1.0)
    colour = _LIGHTEST + share * (_DARKEST - _LIGHTEST)
    return tuple(colour.tolist()), "#FFFFFF" if share > 0.55 else LIGHT.ink


def _table(frame: pd.DataFrame, value: str, rows: list[str], columns: list[str]) -> Table:
    wide = frame.pivot(index="algorithm", columns="dataset", values=value)
    return wide.reindex(index=rows, columns=columns).to_numpy(dtype=np.float64)


def _words(values: Table, form: str) -> list[list[str]]:
    return [[format(one, form) if one == one else "-" for one in row] for row in values.tolist()]


def _shares(values: Table, scale: CellScale) -> Table:
    """How bad each value is, from 0 to 1."""
    shares: Table = (values - scale.best) / ((scale.worst - scale.best) or 1.0)
    return shares


def _cells(
    columns: list[str],
    rows: list[str],
    words: list[list[str]],
    shades: Table,
    scale: CellScale,
    width: float,
    apart: int = 0,
) -> Figure:
    """Words in shaded cells, names above and at the left; the last `apart` rows stand apart."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    places = [row + (_GAP if row >= len(rows) - apart else 0.0) for row in range(len(rows))]
    end = places[-1] + 1
    figure = Figure(figsize=(width, _HEAD + _ROW * end + _FOOT))
    axes = figure.subplots()
    for row, place in enumerate(places):
        for column in range(len(columns)):
            known = words[row][column] != "-"
            fill, ink = _shade(float(shades[row, column])) if known else ("none", LIGHT.muted)
            axes.add_patch(Rectangle((column + 0.02, place + 0.04), 0.96, 0.92, fc=fill, lw=0))
            axes.text(
                column + 0.5,
                place + 0.5,
                words[row][column],
                ha="center",
                va="center",
                size=SMALL,
                color=ink,
            )
    axes.set(xlim=(0, len(columns)), ylim=(end, 0))
    axes.xaxis.tick_top()
    axes.set_xticks([column + 0.5 for column in range(len(columns))], columns)
    axes.set_yticks([place + 0.5 for place in places], rows)
    axes.tick_params(length=0, pad=2)
    for label in axes.get_xticklabels():
        label.set(rotation=35, ha="left", va="bottom", rotation_mode="anchor")
    for spine in axes.spines.values():
        spine.set_visible(False)
    handles = [
        Rectangle((0, 0), 1, 1, fc=_shade(share)[0], ec=LIGHT.muted, lw=0.4) for share in (0, 1)
    ]
    labels = [f"better: {scale.best_words}", f"worse: {scale.worst_words}"]
    figure.legend(handles, labels, loc="outside lower right", ncols=2, handlelength=1)
    return figure
