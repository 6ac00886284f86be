"""Pairs of algorithms under several splits -> what the ranking does, in plain sentences."""

from __future__ import annotations

import pandas as pd

from ecv_core.analysis.rank_swaps.frames import pairs_frame
from ecv_core.analysis.rank_swaps.swaps import Swaps

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
    count = len(swaps.pairs)
    swapped = pairs[pairs["swaps"]]
    others = len(swaps.splits) - 1
    beside = "the other split" if others == 1 else f"any of the {others} other splits"
    if swapped.empty:
        where = "the other split" if others == 1 else f"each of the {others} other splits"
        pairs_of = "the one pair" if count == 1 else f"all {count} pairs"
        return (
            f"No pair of algorithms swaps: {where} has {pairs_of} in the order of {reference}, or "
            "level."
        )
    best = swapped.sort_values("both_percent", ascending=False, kind="stable").iloc[0]
    each = swapped.groupby(["ahead", "behind"], sort=False)["both_percent"].max()
    verb = "swaps" if len(each) == 1 else "swap"
    many = "pair" if count == 1 else "pairs"
    text = (
        f"Under {best['split']}, {best['behind']} beats {best['ahead']}; under {reference} it is "
        f"the other way round. {len(each)} of {count} {many} of algorithms {verb} between "
        f"{reference} and {beside}"
    )
    return text + _sure(each)


def _sure(shares: pd.Series[float]) -> str:
    if shares.isna().all():
        return "; without the users' scores nobody knows which of them are chance."
    sure = int((shares >= SURE_PERCENT).sum())
    samples = f"in at least {SURE_PERCENT:g} % of the bootstrap samples"
    if len(shares) == 1:
        return f", {samples}." if sure else f", but not {samples}, so it may be chance."
    if sure == len(shares):
        return f", all of them {samples}."
    if not sure:
        return f", none of them {samples}, so each may be chance."
    return f", {sure} of them {samples}."


def _listed(names: list[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _win(names: str) -> str:
    return "share the first rank" if " and " in names else "wins"
