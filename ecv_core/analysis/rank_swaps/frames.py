"""Ranks of algorithms under several splits -> tidy frames of ranks, of tau and of swapped pairs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ecv_core.analysis.rank_swaps.bootstrap import percentile_interval
from ecv_core.analysis.rank_swaps.swaps import Swaps
from ecv_core.analysis.ranking import pair_numbers, taus_of
from ecv_core.records.arrays import Mask
from ecv_core.records.frames import with_columns

RANKS_COLUMNS = {
    "dataset": "evaluated on",
    "metric": "what the score is",
    "split": "the strategy",
    "algorithm": "what is ranked",
    "score": "mean over folds",
    "low": "lower end of its bootstrap interval over users; empty where users are not known",
    "high": "upper end",
    "rank": "1 is best, equals share the mean of their ranks",
    "reference_rank": "under the reference split",
    "up": "ranks gained against the reference; negative where lost",
}
TAUS_COLUMNS = {
    "dataset": "evaluated on",
    "metric": "what the score is",
    "split": "one strategy",
    "other": "another one",
    "tau": "Kendall's tau-b between their rankings of the algorithms",
    "low": "95 % of bootstrap samples of users have a tau from here",
    "high": "to here",
    "swaps": "pairs of algorithms that are the other way round",
    "pairs": "pairs of algorithms",
}
"""The frames' columns and what they mean."""


@with_columns(RANKS_COLUMNS)
def ranks_frame(swaps: Swaps, reference: str) -> pd.DataFrame:
    """One row for each split and algorithm, with the RANKS_COLUMNS.

    Args:
        swaps: What was ranked.
        reference: One of its splits, whose rows come first; its best algorithm is first under
            every split.

    Raises:
        InputError: For a reference that is not among the splits.
    """
    reference_row = swaps.row_of(reference)
    ranks = swaps.ranks
    low, high = percentile_interval(swaps.samples)
    best_first = np.argsort(ranks[reference_row], kind="stable")
    algorithms = np.array(swaps.algorithms)[best_first]
    reference_ranks = ranks[reference_row, best_first]
    other_rows = list(range(len(swaps.splits)))
    other_rows.remove(reference_row)
    frames = []
    for row in [reference_row, *other_rows]:
        frame = pd.DataFrame(
            {
                "dataset": swaps.dataset,
                "metric": swaps.metric,
                "split": swaps.splits[row],
                "algorithm": algorithms,
                "score": swaps.scores[row, best_first],
                "low": low[row, best_first],
                "high": high[row, best_first],
                "rank": ranks[row, best_first],
                "reference_rank": reference_ranks,
                "up": reference_ranks - ranks[row, best_first],
            }
        )
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


@with_columns(TAUS_COLUMNS)
def taus_frame(swaps: Swaps) -> pd.DataFrame:
    """One row for every two splits, each pair once, with the TAUS_COLUMNS."""
    splits = np.array(swaps.splits)
    # The rows of the frame are pairs of splits. The signs have a row for each split and a column
    # for each pair of algorithms: 1 or -1, whichever of the two algorithms is ahead.
    split, other = pair_numbers(len(splits))
    low, high = percentile_interval(taus_of(swaps.sample_signs))
    signs = swaps.signs
    # Its shape is (pairs of splits, pairs of algorithms).
    is_swapped = signs[split] * signs[other] < 0
    return pd.DataFrame(
        {
            "dataset": swaps.dataset,
            "metric": swaps.metric,
            "split": splits[split],
            "other": splits[other],
            "tau": taus_of(signs)[split, other],
            "low": low[split, other],
            "high": high[split, other],
            "swaps": is_swapped.sum(axis=1),
            "pairs": len(swaps.pairs),
        }
    )


def swapped_frame(swaps: Swaps, reference: str) -> pd.DataFrame:
    """One row for each split and pair of algorithms whose order differs from the reference.

    Returns:
        Split; ahead and behind: the pair as the reference orders it; both_percent: the share of
        bootstrap samples in which the two splits order the pair as they do with all users, missing
        where users are not known.

    Raises:
        InputError: For a reference that is not among the splits.
    """
    reference_row = swaps.row_of(reference)
    signs = swaps.signs
    sample_signs = swaps.sample_signs
    # A sample may order a pair as all users do. This has the shape (splits, resamples, pairs).
    keeps_order: Mask = np.equal(sample_signs, signs[:, None])
    # A sample counts if every algorithm has one. This has the shape (splits, resamples).
    has_sample = np.logical_and.reduce(np.isfinite(sample_signs), axis=2)
    rows = []
    # A pair is swapped where its signs are opposite.
    for split, pair in np.argwhere(signs * signs[reference_row] < 0).tolist():
        ahead, behind = swaps.pairs[pair]
        if signs[reference_row, pair] < 0:  # the second of the pair is ahead
            behind, ahead = swaps.pairs[pair]
        both_keep_order = keeps_order[reference_row, :, pair] & keeps_order[split, :, pair]
        both_have_sample = has_sample[reference_row] & has_sample[split]
        percent = math.nan
        if both_have_sample.any():
            percent = 100.0 * float(both_keep_order[both_have_sample].mean())
        rows.append((swaps.splits[split], ahead, behind, percent))
    return pd.DataFrame(rows, columns=["split", "ahead", "behind", "both_percent"])
