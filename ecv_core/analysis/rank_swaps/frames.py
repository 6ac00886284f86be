"""Swaps -> the tidy frames of the rank table, of tau between splits, and of single pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core.analysis.rank_swaps.swaps import Swaps
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
    "low": "lower end of its bootstrap interval over users",
    "high": "upper end",
    "swaps": "pairs of algorithms that are the other way round",
    "pairs": "pairs of algorithms",
}
PAIRS_COLUMNS = {
    "dataset": "evaluated on",
    "metric": "what the score is",
    "reference": "the reference split",
    "split": "another one",
    "ahead": "the algorithm that is ahead under the reference",
    "behind": "the other one",
    "swaps": "whether the order is the other way round under the split",
    "reference_keeps_percent": "of bootstrap samples with that order under the reference",
    "split_keeps_percent": "of bootstrap samples with the split's own order under the split",
    "both_percent": "of bootstrap samples with both",
}
POINTS_COLUMNS = {
    "dataset": "evaluated on",
    "metric": "what the score is",
    "algorithm": "what was evaluated",
    "split": "across",
    "score": "under it",
    "low": "lower end of its bootstrap interval over users",
    "high": "upper end",
    "rank": "under it",
    "other": "upwards",
    "other_score": "score under the other split",
    "other_low": "lower end of its interval",
    "other_high": "upper end",
    "other_rank": "rank under the other split",
}
"""The frames' columns and what they mean."""


@with_columns(RANKS_COLUMNS)
def ranks_frame(swaps: Swaps, reference: str) -> pd.DataFrame:
    """One row per split and algorithm, with the RANKS_COLUMNS; the reference's best first.

    Args:
        swaps: what was ranked.
        reference: one of its splits, whose rows come first.
    Raises: InputError for a reference that is not among the splits.
    """
    at = swaps.number(reference)
    ranks = swaps.ranks
    low, high = interval(swaps.samples)
    order = np.lexsort((np.arange(len(swaps.algorithms)), ranks[at])).tolist()
    columns = [at] + [number for number in range(len(swaps.splits)) if number != at]
    return pd.DataFrame(
        [
            {
                "dataset": swaps.dataset,
                "metric": swaps.metric,
                "split": swaps.splits[column],
                "algorithm": swaps.algorithms[row],
                "score": swaps.scores[column, row],
                "low": low[column, row],
                "high": high[column, row],
                "rank": ranks[column, row],
                "reference_rank": ranks[at, row],
                "up": ranks[at, row] - ranks[column, row],
            }
            for column in columns
            for row in order
        ],
        columns=list(RANKS_COLUMNS),
    )


@with_columns(TAUS_COLUMNS)
def taus_frame(swaps: Swaps) -> pd.DataFrame:
    """One row per two splits, each pair once, with the TAUS_COLUMNS."""
    taus, signs = swaps.taus(), swaps.signs
    low, high = interval(swaps.sample_taus())
    return pd.DataFrame(
        [
            {
                "dataset": swaps.dataset,
                "metric": swaps.metric,
                "split": swaps.splits[one],
                "other": swaps.splits[other],
                "tau": taus[one, other],
                "low": low[one, other],
                "high": high[one, other],
                "swaps": int((signs[one] * signs[other] < 0).sum()),
                "pairs": signs.shape[1],
            }
            for one, other in itertools.combinations(range(len(swaps.splits)), 2)
        ],
        columns=list(TAUS_COLUMNS),
    )


@with_columns(POINTS_COLUMNS)
def points_frame(ranks: pd.DataFrame, split: str, other: str) -> pd.DataFrame:
    """One row per algorithm with its scores under two splits, with the POINTS_COLUMNS.

    Args:
        ranks: as `ranks_frame` makes it.
        split: one of its splits.
        other: another one, or the same.
    """
    values = ["score", "low", "high", "rank"]
    keys = ["dataset", "metric", "algorithm"]
    first = ranks.loc[ranks["split"] == split, [*keys, "split", *values]]
    second = ranks.loc[ranks["split"] == other, ["algorithm", "split", *values]]
    second = second.rename(columns={"split": "other"} | {name: f"other_{name}" for name in values})
    return first.merge(second, on="algorithm")[list(POINTS_COLUMNS)]


@with_columns(PAIRS_COLUMNS)
def pairs_frame(swaps: Swaps, reference: str) -> pd.DataFrame:
    """One row per pair of algorithms and split beside the reference, with the PAIRS_COLUMNS.

    Args:
        swaps: what was ranked.
        reference: one of its splits. Pairs that are equal under it have no order to lose.
    Raises: InputError for a reference that is not among the splits.
    """
    at = swaps.number(reference)
    signs, samples = swaps.signs, swaps.sample_signs
    kept = samples == signs[:, None]  # (splits, resamples, pairs)
    known = np.logical_and.reduce(np.isfinite(samples), axis=2)
    rows = []
    for split, name in enumerate(swaps.splits):
        for pair, (first, second) in enumerate(swaps.pairs):
            order = signs[at, pair]
            if split == at or order == 0:
                continue
            both = kept[at, :, pair] & kept[split, :, pair]
            rows.append(
                {
                    "dataset": swaps.dataset,
                    "metric": swaps.metric,
                    "reference": reference,
                    "split": name,
                    "ahead": first if order > 0 else second,
                    "behind": second if order > 0 else first,
                    "swaps": bool(order * signs[split, pair] < 0),
                    "reference_keeps_percent": _percent(kept[at, :, pair], known[at]),
                    "split_keeps_percent": _percent(kept[split, :, pair], known[split]),
                    "both_percent": _percent(both, known[at] & known[split]),
                }
            )
    # Without a row, a column of nothing would not be taken for yes and no.
    return pd.DataFrame(rows, columns=list(PAIRS_COLUMNS)).astype({"swaps": bool})


def interval(samples: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of the 95 % percentile interval over the last axis; NaN where there is no sample.

    Args:
        samples: shape (..., resamples); NaN does not count.
    """
    known = ~np.isnan(samples).all(axis=-1)
    ends = np.full((2, *known.shape), np.nan)
    if known.any():
        ends[:, known] = np.nanquantile(samples[known], [0.025, 0.975], axis=-1)
    return ends[0], ends[1]


def _percent(yes: NDArray[np.bool_], known: NDArray[np.bool_]) -> float:
    return 100.0 * float(yes[known].mean()) if known.any() else float("nan")


# Pairs of algorithms under several splits -> what the ranking does, in plain sentences.


SURE_PERCENT = 95.0
"""Share of bootstrap samples from which on a swap is called no accident of the users."""


def winners(swaps: Swaps) -> str:
    """Who is first where: 'ease wins under 8 of 10 splits, neu-mf under temporal-global and ...'.

    The algorithm that wins most often comes first, with a count; the others with their splits.
    """
    first = swaps.ranks == swaps.ranks.min(axis=1, keepdims=True)
    where: dict[str, list[str]] = {}
    for split, row in zip(swaps.splits, first, strict=True):
        best = [name for name, wins in zip(swaps.algorithms, row, strict=True) if wins]
        where.setdefault(_listed(best), []).append(split)
    often = sorted(where, key=lambda names: len(where[names]), reverse=True)
    count = len(swaps.splits)
    if len(often) == 1:
        return (
            f"{often[0]} {_win(often[0])} under {'both' if count == 2 else f'all {count}'} splits."
        )
    most = len(where[often[0]])
    usual = where[often[0]][0] if most == 1 else f"{most} of {count} splits"
    rest = "; ".join(f"{names} under {_listed(where[names])}" for names in often[1:])
    return f"{often[0]} {_win(often[0])} under {usual}; {rest}."


def headline(swaps: Swaps, reference: str) -> str:
    """The surest swap by name, and how many pairs swap.

    Raises: InputError for a reference that is not among the splits.
    """
    pairs = pairs_frame(swaps, reference)
    others = len(swaps.splits) - 1
    between = f"between {reference} and {'the other split' if others == 1 else f'{others} others'}"
    swapped = pairs[pairs["swaps"]]
    if swapped.empty:
        return f"No pair of algorithms swaps {between}."
    best = swapped.sort_values("both_percent", ascending=False, kind="stable").iloc[0]
    each = swapped.groupby(["ahead", "behind"], sort=False)["both_percent"].max()
    text = (
        f"Under {best['split']}, {best['behind']} beats {best['ahead']}; under {reference} it is "
        f"the other way round. Pairs of algorithms that swap {between}: {len(each)} of "
        f"{len(swaps.pairs)}"
    )
    if each.isna().all():
        return f"{text}; without the users' scores nobody knows which of them are chance."
    sure = int((each >= SURE_PERCENT).sum())
    rest = "" if sure == len(each) else "; the others may be chance"
    return f"{text}, {sure} of them in at least {SURE_PERCENT:g} % of the bootstrap samples{rest}."


def _listed(names: list[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _win(names: str) -> str:
    return "share the first rank" if " and " in names else "wins"
