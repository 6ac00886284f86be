"""Datasets x algorithms -> heatmaps of numbers, of ranks and of scores (figures 2, 3 and 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from ecv_core.figures.palette import (
    KEPT_SCALE,
    CellScale,
    Palette,
    Steps,
    base_layout,
    lay_out,
    palette,
    plain_axis,
    rank_scale,
    stepped,
)
from ecv_core.figures.words import counted

ROW_HEIGHT, LOW_ROW, ABOVE, BELOW = 44, 24, 108, 46
"""Pixels per dataset, or where there are many; for names above them, and for the legend below."""

_ROOMY = 6
"""Columns up to which their names need little tilt."""

_SHORT = 14
"""Pixels of numbers of at most four signs, which fit into the narrowest column."""


def number_size(columns: int, least: int = 11) -> int:
    """Pixels of the numbers' type: two of them side by side must not touch.

    Args: least: what many columns get; longer numbers less than short ones.
    """
    return min(16, max(least, 128 // max(1, columns)))


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
    frame: pd.DataFrame, *, value: str, scale: CellScale, hover: str, dark: bool = False
) -> go.Figure:
    """The frame at its first alpha; a stronger colour is worse.

    Args:
        frame: see `grid`.
        value: the column to show.
        scale: of the colours; the same for all alphas.
        hover: what the number is, with `%{text}` for it.
    """
    datasets, algorithms, values = grid(frame, value, [frame["alpha"].iloc[0]])
    return _heatmap(datasets, algorithms, values[0], scale, hover, dark)


def _heatmap(
    datasets: Sequence[str],
    algorithms: Sequence[str],
    values: NDArray[np.float64],
    scale: CellScale,
    hover: str,
    dark: bool,
    **more: Any,  # noqa: ANN401  any attribute of a trace
) -> go.Figure:
    """Cells of short numbers with their legend, and dashes where there is none."""
    colours = palette(dark)
    type_ = {"size": number_size(len(algorithms), _SHORT), "color": colours.ink}
    looks = legend(scale) | {"textfont": type_} | more
    figure = go.Figure(cells_trace(datasets, algorithms, values, scale, hover, dark, **looks))
    missing_cells(figure, datasets, algorithms, values, colours)
    return lay_out(figure, cells_layout(datasets, algorithms, colours, _height(len(datasets))))


def _height(datasets: int) -> int:
    """Of the figure: twenty datasets are seen at once too, in lower rows."""
    return ABOVE + datasets * max(LOW_ROW, min(ROW_HEIGHT, 480 // datasets)) + BELOW


def heatmap_steps(
    frame: pd.DataFrame,
    alphas: Sequence[float],
    texts: Sequence[str],
    *,
    value: str,
    digits: int,
    title: str,
) -> Steps:
    """What the cells show at each alpha of a slider.

    Args:
        frame: see `grid`.
        alphas: each one in the frame.
        texts: each alpha as shown.
        value: the column to show.
        digits: of the numbers below ten, after the point; others have at most one.
        title: what the numbers are, for those who do not see the figure.
    """

    def label(number: float) -> str:
        return f"{number:.{digits if number < 9.95 else min(digits, 1)}f}"

    datasets, algorithms, values = grid(frame, value, alphas)
    names = [f"{algorithm} on {dataset}" for dataset in datasets for algorithm in algorithms]
    patches, alts = [], []
    for at, text in zip(values, texts, strict=True):
        patches.append({0: {"z": rounded(at), "text": labels(at, label)}})
        scored = [(v, name) for v, name in zip(at.ravel().tolist(), names, strict=True) if v == v]
        (low, least), (high, most) = min(scored), max(scored)
        mean = sum(v for v, _ in scored) / len(scored)
        alts.append(
            f"{title} at alpha {text}, {counted(len(scored), 'cell')}: from {label(low)} ({least}) "
            f"to {label(high)} ({most}), mean {label(mean)}."
        )
    return Steps(patches=patches, alts=alts, notes=[f"alpha {text}" for text in texts])


def heatmap_at(frame: pd.DataFrame, alpha: float, *, value: str, scale: CellScale) -> go.Figure:
    """The frame at one alpha, with its numbers; arguments as above."""
    here = frame[frame["alpha"] == alpha]
    steps = heatmap_steps(here, [alpha], [""], value=value, digits=scale.digits, title="")
    return stepped(heatmap_figure(here, value=value, scale=scale, hover=""), steps)


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
            "colorscale": palette(dark).cells,
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
) -> None:
    """A dash where there is no run."""
    gaps = [(datasets[row], algorithms[column]) for row, column in np.argwhere(np.isnan(values))]
    figure.add_scatter(
        x=[algorithm for _, algorithm in gaps],
        y=[dataset for dataset, _ in gaps],
        mode="text",
        text=["-"] * len(gaps),
        textfont={"size": number_size(len(algorithms), _SHORT), "color": colours.muted},
        hovertemplate="%{x} on %{y}: no complete run<extra></extra>",
    )


def cells_layout(
    datasets: Sequence[str], algorithms: Sequence[str], colours: Palette, height: int
) -> dict[str, Any]:
    """Algorithms above, datasets from the top down."""
    looks: dict[str, Any] = {"showgrid": False, "fixedrange": True, "ticks": ""}
    return base_layout(colours, height) | {
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "hovermode": "closest",
        "showlegend": False,
        "xaxis": plain_axis(
            "",
            side="top",
            tickangle=-35 if len(algorithms) <= _ROOMY else -60,
            range=[-0.5, len(algorithms) - 0.5],
            tickvals=list(algorithms),
            **looks,
        ),
        "yaxis": plain_axis(
            "", range=[len(datasets) - 0.5, -0.5], tickvals=list(datasets), ticksuffix=" ", **looks
        ),
    }


SAME = {"same_order_percent": "same order", "same_winner_percent": "same winner"}
"""Columns of the stability frame and their names in the figure."""

RANKS, KEPT = 0, 1
"""Numbers of the traces that move."""


def ranks_figure(ranks: pd.DataFrame, stability: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Ranks as a heatmap, and beside it how often they are those of k folds.

    Args:
        ranks: with alpha, dataset, algorithm, rank_k_fold and rank_e_fold.
        stability: with alpha, dataset, same_order_percent and same_winner_percent.
    """
    colours = palette(dark)
    first = [ranks["alpha"].iloc[0]]
    datasets, algorithms, values = grid(ranks, "rank_e_fold", first)
    scale = rank_scale(len(algorithms))
    figure = go.Figure()
    figure.add_trace(
        cells_trace(datasets, algorithms, values[0], scale, "rank %{text}", dark, **legend(scale))
    )
    figure.add_trace(
        cells_trace(
            datasets,
            list(SAME.values()),
            _kept(stability, datasets, first)[0],
            KEPT_SCALE,
            "in %{text} of orders",
            dark,
            xaxis="x2",
        )
    )
    missing_cells(figure, datasets, algorithms, values[0], colours)
    layout = cells_layout(datasets, algorithms, colours, _height(len(datasets)))
    share = len(algorithms) / (len(algorithms) + len(SAME) + 0.4)
    layout["xaxis"] |= {"domain": [0, share - 0.01]}
    layout["xaxis2"] = layout["xaxis"] | {
        "domain": [share + 0.02, 1],
        "range": [-0.5, len(SAME) - 0.5],
        "tickvals": list(SAME.values()),
        "anchor": "y",
    }
    return lay_out(figure, layout)


def ranks_steps(
    ranks: pd.DataFrame, stability: pd.DataFrame, alphas: Sequence[float], texts: Sequence[str]
) -> Steps:
    """What both parts show at each alpha of a slider; frames as for `ranks_figure`."""
    datasets, _, stopped = grid(ranks, "rank_e_fold", alphas)
    whole = grid(ranks, "rank_k_fold", alphas[:1])[2][0]
    kept = _kept(stability, datasets, alphas)
    patches, alts = [], []
    for at, same, text in zip(stopped, kept, texts, strict=True):
        words = [
            [f"<b>{e}</b> ({k})" if e else "" for e, k in zip(under_e, under_k, strict=True)]
            for under_e, under_k in zip(
                labels(at, "{:.1f}".format), labels(whole, "{:g}".format), strict=True
            )  # two that share the ranks 2 and 3 have 2.5
        ]
        patches.append(
            {
                RANKS: {"z": rounded(at), "text": words},
                KEPT: {"z": rounded(same), "text": labels(same, lambda share: f"{share:.0f} %")},
            }
        )
        parts = [
            f"{dataset} order {order:.0f} %, winner {winner:.0f} %"
            for dataset, (order, winner) in zip(datasets, same.tolist(), strict=True)
        ]
        alts.append(
            f"Ranks under e-CV at alpha {text} beside k-fold ranks. Of the orders, these keep the "
            f"k-fold ranking: {'; '.join(parts)}."
        )
    return Steps(patches=patches, alts=alts, notes=[f"alpha {text}" for text in texts])


def ranks_at(ranks: pd.DataFrame, stability: pd.DataFrame, alpha: float) -> go.Figure:
    """Both parts at one alpha."""
    ranks, stability = (frame[frame["alpha"] == alpha] for frame in (ranks, stability))
    steps = ranks_steps(ranks, stability, [alpha], [""])
    return stepped(ranks_figure(ranks, stability), steps)


def _kept(
    stability: pd.DataFrame, datasets: Sequence[str], alphas: Sequence[float]
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Shape (alphas, datasets, 2)."""
    parts = [
        stability.pivot(index="alpha", columns="dataset", values=column)
        .reindex(index=list(alphas), columns=list(datasets))
        .to_numpy(dtype=np.float64)
        for column in SAME
    ]
    return np.stack(parts, axis=-1)


EARLY = "†"
"""Behind the score of a run that ended at its stop."""

_SCALE = CellScale(
    best=0.0, worst=50.0, best_words="as good as the best", worst_words="half of it or less"
)
"""Of how far behind the best, in percent."""


def scores_figure(scores: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """A heatmap: the fainter the colour, the nearer to the dataset's best; the best is bold.

    Args: scores: as `figures.study_summary.scores_frame` makes it.
    """
    datasets, algorithms = list(scores["dataset"].unique()), list(scores["algorithm"].unique())
    shape = (len(datasets), len(algorithms))
    values = np.full(shape, np.nan)
    words, about = (np.full(shape, "", dtype=object) for _ in range(2))
    for row in scores.to_dict("records"):
        at = datasets.index(row["dataset"]), algorithms.index(row["algorithm"])
        values[at] = 100 - row["of_best_percent"]
        words[at], about[at] = _cell(row), score_words(row)
    return _heatmap(
        datasets,
        algorithms,
        values,
        _SCALE,
        "",
        dark,
        text=words.tolist(),
        customdata=about.tolist(),
        hovertemplate="%{x} on %{y}<br>%{customdata}<extra></extra>",
        textfont={"size": number_size(len(algorithms), 13), "color": palette(dark).ink},
    )


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
    return (
        f"Best of {counted(count, 'algorithm')} by {scores['metric'].iloc[0]}: {'; '.join(parts)}."
    )


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
