"""Datasets x algorithms -> a heatmap with the numbers in its cells, following alpha (fig. 2, 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from ecv_core.figures.palette import Palette, base_layout, lay_out, palette
from ecv_core.figures.scales import CellScale
from ecv_core.figures.steps import Steps

ROW_HEIGHT, ABOVE, BELOW = 56, 108, 46
"""Pixels per dataset, for the algorithms' names above them, and for the legend below."""

# One colour of type is easy to read on all of a scale, so that a step need not change it.
_LIGHT = [[0.0, "#F1F5F7"], [1.0, "#3E9BD3"]]
_DARK = [[0.0, "#1C2833"], [1.0, "#1B6699"]]
_ROOMY = 6
"""Columns up to which their names need little tilt."""

_SHORT = 14
"""Pixels of numbers of at most four signs, which fit into the narrowest column."""

Marks = Mapping[tuple[str, str], tuple[str, str]]
"""(Dataset, algorithm) -> what stands in a cell without a number, and why."""
NO_MARKS: Marks = {}


def number_size(columns: int, least: int = 11) -> int:
    """Pixels of the numbers' type: two of them side by side must not touch.

    Args:
        columns: of the table.
        least: what many columns get; longer numbers less than short ones.
    """
    return min(16, max(least, 128 // max(1, columns)))


def height_of(frame: pd.DataFrame) -> int:
    """Pixels that a heatmap of this frame takes."""
    return ABOVE + ROW_HEIGHT * int(frame["dataset"].nunique()) + BELOW


def grid(
    frame: pd.DataFrame, value: str, alphas: Sequence[float]
) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """A tidy frame as a table per alpha.

    Args:
        frame: with the columns alpha, dataset, algorithm and `value`.
        value: the column to show.
        alphas: each one in the frame.
    Returns: datasets and algorithms in the order in which they come; values of shape (alphas,
        datasets, algorithms), NaN where there is no such cell.
    """
    datasets, algorithms = list(frame["dataset"].unique()), list(frame["algorithm"].unique())
    wide = frame.pivot(index="alpha", columns=["dataset", "algorithm"], values=value)
    cells = pd.MultiIndex.from_product([datasets, algorithms])
    values = wide.reindex(index=list(alphas), columns=cells).to_numpy(dtype=np.float64)
    return datasets, algorithms, values.reshape(len(alphas), len(datasets), len(algorithms))


def heatmap_figure(
    frame: pd.DataFrame,
    *,
    value: str,
    scale: CellScale,
    hover: str,
    marks: Marks = NO_MARKS,
    dark: bool = False,
) -> go.Figure:
    """The frame at its first alpha; a stronger colour is worse.

    Args:
        frame: see `grid`.
        value: the column to show.
        scale: of the colours; the same for all alphas.
        hover: what the number is, with `%{text}` for it.
        marks: of cells without a number.
        dark: colours for a dark page.
    """
    colours = palette(dark)
    datasets, algorithms, values = grid(frame, value, [frame["alpha"].iloc[0]])
    figure = go.Figure()
    figure.add_trace(
        cells_trace(
            datasets,
            algorithms,
            values[0],
            scale,
            hover,
            dark,
            **legend(scale),
            textfont={"size": number_size(len(algorithms), _SHORT), "color": colours.ink},
        )
    )
    missing_cells(figure, datasets, algorithms, values[0], colours, marks)
    lay_out(figure, cells_layout(datasets, algorithms, colours, height_of(frame)))
    return figure


def heatmap_steps(
    frame: pd.DataFrame,
    alphas: Sequence[float],
    texts: Sequence[str],
    *,
    value: str,
    label: Callable[[float], str],
    title: str,
) -> Steps:
    """What the cells show at each alpha of a slider.

    Args:
        frame: see `grid`.
        alphas: each one in the frame.
        texts: each alpha as shown.
        value: the column to show.
        label: a number as its cell shows it.
        title: what the numbers are, for those who do not see the figure.
    """
    datasets, algorithms, values = grid(frame, value, alphas)
    names = [f"{algorithm} on {dataset}" for dataset in datasets for algorithm in algorithms]
    patches, alts = [], []
    for at, text in zip(values, texts, strict=True):
        patches.append({0: {"z": rounded(at), "text": labels(at, label)}})
        scored = [(v, name) for v, name in zip(at.ravel().tolist(), names, strict=True) if v == v]
        (low, least), (high, most) = min(scored), max(scored)
        mean = sum(v for v, _ in scored) / len(scored)
        alts.append(
            f"{title} at alpha {text}, {len(scored)} cells: from {label(low)} ({least}) to "
            f"{label(high)} ({most}), mean {label(mean)}."
        )
    return Steps(patches=patches, alts=alts, notes=[f"alpha {text}" for text in texts])


def rounded(values: NDArray[np.float64]) -> list[list[float | None]]:
    """As JSON can hold it, with None where there is no cell."""
    return [[None if v != v else round(v, 4) for v in row] for row in values.tolist()]


def labels(values: NDArray[np.float64], label: Callable[[float], str]) -> list[list[str]]:
    """The words in the cells; empty where there is none."""
    return [["" if v != v else label(v) for v in row] for row in values.tolist()]


def cells_trace(
    datasets: Sequence[str],
    algorithms: Sequence[str],
    values: NDArray[np.float64],
    scale: CellScale,
    hover: str,
    dark: bool,
    **more: Any,  # noqa: ANN401  any attribute of a trace
) -> go.Heatmap:
    """The coloured cells; what they say comes with the steps."""
    return go.Heatmap(
        **{
            "x": list(algorithms),
            "y": list(datasets),
            "z": rounded(values),
            "text": labels(values, lambda _: ""),
            "texttemplate": "%{text}",
            "textfont": {"size": number_size(len(algorithms)), "color": palette(dark).ink},
            "zmin": min(scale.best, scale.worst),
            "zmax": max(scale.best, scale.worst),
            "reversescale": scale.best > scale.worst,
            "colorscale": _DARK if dark else _LIGHT,
            "showscale": False,
            "xgap": 3,
            "ygap": 3,
            "hoverongaps": False,
            "hovertemplate": "%{x} on %{y}<br>" + hover + "<extra></extra>",
        }
        | more
    )


def legend(scale: CellScale) -> dict[str, Any]:
    """Below the cells, what their colours mean: attributes of their trace."""
    quarter = (scale.worst - scale.best) / 4  # the words stay below the bar, however narrow it is
    return {
        "showscale": True,
        "colorbar": {
            "orientation": "h",
            "thickness": 10,
            "len": 0.72,
            "x": 0.5,
            "xanchor": "center",
            "y": 0,
            "yanchor": "top",
            "ypad": 8,
            "tickvals": [scale.best + quarter, scale.worst - quarter],
            "ticktext": [f"better: {scale.best_words}", f"worse: {scale.worst_words}"],
            "ticks": "",
            "tickfont": {"size": 13},
            "outlinewidth": 0,
        },
    }


def missing_cells(
    figure: go.Figure,
    datasets: Sequence[str],
    algorithms: Sequence[str],
    values: NDArray[np.float64],
    colours: Palette,
    marks: Marks = NO_MARKS,
) -> None:
    """A dash where there is no run, and the mark of a cell that has one."""
    gaps = [(datasets[row], algorithms[column]) for row, column in np.argwhere(np.isnan(values))]
    marked = [marks.get(gap, ("-", "no complete run")) for gap in gaps]
    figure.add_scatter(
        x=[algorithm for _, algorithm in gaps],
        y=[dataset for dataset, _ in gaps],
        mode="text",
        text=[mark for mark, _ in marked],
        customdata=[why for _, why in marked],
        textfont={"size": number_size(len(algorithms), _SHORT), "color": colours.muted},
        hovertemplate="%{x} on %{y}: %{customdata}<extra></extra>",
    )


def cells_layout(
    datasets: Sequence[str], algorithms: Sequence[str], colours: Palette, height: int
) -> dict[str, Any]:
    """Algorithms above, datasets from the top down."""
    return base_layout(colours, height) | {
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "hovermode": "closest",
        "showlegend": False,
        "xaxis": {
            "side": "top",
            "tickangle": -35 if len(algorithms) <= _ROOMY else -60,
            "range": [-0.5, len(algorithms) - 0.5],
            "tickvals": list(algorithms),
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
            "fixedrange": True,
            "ticks": "",
        },
        "yaxis": {
            "range": [len(datasets) - 0.5, -0.5],
            "tickvals": list(datasets),
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
            "fixedrange": True,
            "ticks": "",
            "ticksuffix": " ",
        },
    }
