"""Comparisons -> a tidy frame."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ecv_core.analysis.comparison.pairs import Comparison
from ecv_core.frames import with_columns

FRAME_COLUMNS = {
    "dataset": "what both ran on",
    "metric": "their metric",
    "better": "the run with the better mean",
    "worse": "the run that it is compared with",
    "difference": "by how much it is better, mean over the pairs",
    "low": "lower end of the difference's interval, for this comparison alone",
    "high": "upper end",
    "p": "two-sided p of the t test, not corrected",
    "p_holm": "corrected for all comparisons of the table",
    "wilcoxon_p_holm": "of Wilcoxon's signed-rank test, corrected; missing over folds",
    "effect": "Cohen's d of the differences: mean / standard deviation",
    "over": "what is paired: users or folds",
    "pairs": "how many",
    "wins": "pairs in which the better run is better",
    "ties": "pairs without a difference",
    "losses": "pairs in which it is worse",
    "folds": "the folds that both have",
}
"""The frame's columns and what they mean."""


@with_columns(FRAME_COLUMNS)
def comparison_frame(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """One row per comparison with the FRAME_COLUMNS."""
    rows = [
        {
            "dataset": one.dataset,
            "metric": one.metric,
            "better": one.first,
            "worse": one.second,
            "difference": one.test.difference,
            "low": one.test.low,
            "high": one.test.high,
            "p": one.test.p,
            "p_holm": one.p_holm,
            "wilcoxon_p_holm": one.wilcoxon_holm,
            "effect": one.test.effect,
            "over": one.test.over,
            "pairs": one.test.pairs,
            "wins": one.test.wins,
            "ties": one.test.ties,
            "losses": one.test.losses,
            "folds": " ".join(map(str, one.folds)),
        }
        for one in comparisons
    ]
    frame = pd.DataFrame(rows, columns=list(FRAME_COLUMNS))
    return frame.astype({"wilcoxon_p_holm": "float64", "effect": "float64"})
