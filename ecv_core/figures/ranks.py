"""Rank frames -> figure 4: each algorithm's rank under e-CV beside k-fold, and what stays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.heatmap import (
    NO_MARKS,
    Marks,
    cells_layout,
    cells_trace,
    grid,
    height_of,
    labels,
    legend,
    missing_cells,
    rounded,
)
from ecv_core.figures.palette import lay_out, palette
from ecv_core.figures.scales import KEPT_SCALE, rank_scale
from ecv_core.figures.steps import Steps

SAME = {"same_order_percent": "same order", "same_winner_percent": "same winner"}
"""Columns of the stability frame and their names in the figure."""

RANKS, KEPT = 0, 1
"""Numbers of the traces that move."""


def ranks_figure(
    ranks: pd.DataFrame, stability: pd.DataFrame, *, marks: Marks = NO_MARKS, dark: bool = False
) -> go.Figure:
    """Ranks as a heatmap, and beside it how often they are those of k folds.

    Args:
        ranks: with alpha, dataset, algorithm, rank_k_fold and rank_e_fold.
        stability: with alpha, dataset, same_order_percent and same_winner_percent.
        marks: of cells without a rank.
        dark: colours for a dark page.
    """
    colours = palette(dark)
    first = [ranks["alpha"].iloc[0]]
    datasets, algorithms, values = grid(ranks, "rank_e_fold", first)
    scale = rank_scale(len(algorithms))
    figure = go.Figure()
    figure.add_trace(
        cells_trace(
            datasets,
            algorithms,
            values[0],
            scale,
            "rank %{text}",
            dark,
            **legend(scale),
        )
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
    missing_cells(figure, datasets, algorithms, values[0], colours, marks)
    layout = cells_layout(datasets, algorithms, colours, height_of(ranks))
    share = len(algorithms) / (len(algorithms) + len(SAME) + 0.4)
    layout["xaxis"] |= {"domain": [0, share - 0.01]}
    layout["xaxis2"] = layout["xaxis"] | {
        "domain": [share + 0.02, 1],
        "range": [-0.5, len(SAME) - 0.5],
        "tickvals": list(SAME.values()),
        "anchor": "y",
    }
    lay_out(figure, layout)
    return figure


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
                labels(at, lambda rank: f"{rank:.1f}"), labels(whole, _rank), strict=True
            )
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


def _rank(rank: float) -> str:
    """'2', and '2.5' for two that share the ranks 2 and 3."""
    return f"{rank:g}"


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
