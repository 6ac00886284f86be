"""Pairs of algorithms under several splits -> what the ranking does, in plain sentences."""

from __future__ import annotations

import numpy as np

from ecv_core.analysis.rank_swaps.frames import swapped_frame
from ecv_core.analysis.rank_swaps.swaps import Swaps
from ecv_core.records.parameters import listed

SURE_PERCENT = 95.0
"""Share of bootstrap samples from which on a swap is not put down to the choice of users."""


def winners(swaps: Swaps) -> str:
    """Say which algorithm is first under which splits.

    Returns:
        'ease wins under 8 of 10 splits; neu-mf under 'temporal-global' and ...': the algorithm that
        wins most often comes first, with a count; the others with their splits.
    """
    # Those that share the first rank under a split are its winners together.
    splits_won: dict[tuple[str, ...], list[str]] = {}
    for split, ranks in zip(swaps.splits, swaps.ranks, strict=True):
        first = np.flatnonzero(ranks == ranks.min())
        algorithms = tuple(swaps.algorithms[number] for number in first)
        splits_won.setdefault(algorithms, []).append(f"'{split}'")

    def wins(algorithms: tuple[str, ...]) -> int:
        return len(splits_won[algorithms])

    top_winners, *others = sorted(splits_won, key=wins, reverse=True)
    count = len(swaps.splits)
    won_splits = f"{wins(top_winners)} of {count} splits"
    if wins(top_winners) == count:
        won_splits = f"all {count} splits"
        if count == 2:
            won_splits = "both splits"
    elif wins(top_winners) == 1:
        won_splits = splits_won[top_winners][0]
    verb = "wins"
    if len(top_winners) > 1:
        verb = "share the first rank"
    clauses = [f"{listed(top_winners)} {verb} under {won_splits}"]
    for algorithms in others:
        clauses.append(f"{listed(algorithms)} under {listed(splits_won[algorithms])}")
    return f"{'; '.join(clauses)}."


def headline(swaps: Swaps, reference: str) -> str:
    """Name the surest swap, and say how many pairs swap.

    Raises:
        InputError: For a reference that is not among the splits.
    """
    swapped = swapped_frame(swaps, reference)
    others = len(swaps.splits) - 1
    other_splits = f"{others} others"
    if others == 1:
        other_splits = "the other split"
    between = f"between '{reference}' and {other_splits}"
    if swapped.empty:
        return f"No pair of algorithms swaps {between}."
    # 'both_percent' says how sure a swap is: in how many percent of the bootstrap samples of users
    # both splits order the pair as they do with all users.
    surest = swapped.sort_values("both_percent", ascending=False, kind="stable").iloc[0]
    percent_by_pair = swapped.groupby(["ahead", "behind"], sort=False)["both_percent"].max()
    pairs = len(percent_by_pair)
    text = (
        f"Under '{surest['split']}', {surest['behind']} beats {surest['ahead']}; under "
        f"'{reference}' it is the other way round. Pairs of algorithms that swap {between}: "
        f"{pairs} of {len(swaps.pairs)}"
    )
    if percent_by_pair.isna().all():
        return f"{text}; without the users' scores, which of them are due to chance is not known."
    sure_pairs = int((percent_by_pair >= SURE_PERCENT).sum())
    text += (
        f", {sure_pairs or 'none'} of them in at least {SURE_PERCENT:g} % of the bootstrap samples"
    )
    if sure_pairs == pairs:
        return f"{text}."
    if sure_pairs:
        return f"{text}; the others may be due to chance."
    if pairs == 1:
        return f"{text}; it may be due to chance."
    return f"{text}; all may be due to chance."
