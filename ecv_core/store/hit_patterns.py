"""What six ranking metrics of a user say together: which ranks were hits, and of how many items.

nDCG, MAP, recall, precision, MRR and hit rate at one n follow from the hits among the first n
ranks and the number of held-out items. Those two integers are a tenth of the six floats. The
formulas here are those of `evaluation.ranking` and must never change: what was written is read by
them. Whoever writes checks that they give every bit back; where they do not, the floats are kept as
they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

LONGEST = 12
"""Of a list of n ranks there are 2^n patterns of hits."""
_FOLLOW = ("ndcg", "map", "recall", "precision", "mrr", "hit")
_NEEDED = ("ndcg", "map", "recall", "precision")

Bits = NDArray[np.uint32]
Floats = NDArray[np.float64]


def following(metrics: Sequence[str]) -> tuple[int, list[int]]:
    """The n of the metrics that follow from hits, and their places; no places where there is none.

    Args:
        metrics: as in UserScores.metrics.
    """
    lengths = {length for name in metrics if (length := name.partition("@")[2]).isdecimal()}
    if len(lengths) != 1 or not 1 <= (n := int(lengths.pop())) <= LONGEST:
        return 0, []
    if any(f"{name}@{n}" not in metrics for name in _NEEDED):
        return 0, []
    return n, [at for at, name in enumerate(metrics) if name.partition("@")[0] in _FOLLOW]


def patterns_of(bits: Bits, metrics: Sequence[str], n: int) -> tuple[Bits, Bits] | None:
    """Hits and held-out items of each user; None where the scores do not follow from any.

    Args:
        bits: of the float32 scores, shape (users, metrics).
        metrics: of the columns, all of those that follow from hits at n.
        n: length of the list.
    Returns: hits, the lowest bit for the first rank, and how many items were held out (0 for a user
        without a hit, whose scores are all 0); shape (users,) each.
    """
    of = {name.partition("@")[0]: at for at, name in enumerate(metrics)}
    values = bits.view(np.float32)
    with np.errstate(all="ignore"):
        count = np.rint(values[:, of["precision"]].astype(np.float64) * n)
        held_out = np.rint(count / values[:, of["recall"]].astype(np.float64))
    known = (count > 0) & np.isfinite(held_out) & (held_out >= 1) & (held_out < 1 << 31)
    held_out = np.where(known, held_out, 0).astype(np.uint32)
    hits = np.zeros(len(bits), np.uint32)
    keys = _key(bits[:, of["ndcg"]], bits[:, of["map"]])
    for reachable in np.unique(np.minimum(held_out, n)):
        if reachable:
            mine = np.minimum(held_out, n) == reachable
            table, order = _table(n, int(reachable))
            places = np.searchsorted(table, keys[mine]).clip(max=len(table) - 1)
            hits[mine] = order[places]
    same = np.array_equal(scores_of(hits, held_out, metrics, n), bits)
    return (hits, held_out) if same else None


def scores_of(hits: Bits, held_out: Bits, metrics: Sequence[str], n: int) -> Bits:
    """The bits of the float32 scores that follow; shape (users, metrics)."""
    hit = (hits[:, None] >> np.arange(n, dtype=np.uint32) & 1).astype(bool)
    some = held_out > 0
    reachable = np.minimum(np.maximum(held_out, 1), n)
    precise = np.zeros(len(hits))
    first = np.zeros(len(hits))
    count = np.zeros(len(hits))
    for rank in range(1, n + 1):
        now = hit[:, rank - 1]
        first = np.where(now & (count == 0), 1 / rank, first)
        count = count + now
        precise = precise + now * (count / rank)
    found = {
        "ndcg": _gained(hit, n) / np.cumsum(_discounts(n))[reachable - 1],
        "map": precise / reachable,
        "recall": count / np.maximum(held_out, 1),
        "precision": count / n,
        "mrr": first,
        "hit": (count > 0).astype(np.float64),
    }
    columns = [np.where(some, found[name.partition("@")[0]], 0.0) for name in metrics]
    return np.stack(columns, axis=1).astype("<f4").view("<u4")


def gains(hits: Bits, n: int) -> Floats:
    """The DCG of each user's hits, divided by that of n hits; shape (users,), in [0, 1]."""
    hit = (hits[:, None] >> np.arange(n, dtype=np.uint32) & 1).astype(bool)
    gained: Floats = _gained(hit, n) / np.cumsum(_discounts(n))[-1]
    return gained


def _gained(hit: NDArray[np.bool_], n: int) -> Floats:
    gained = np.zeros(len(hit))
    for rank, discount in enumerate(_discounts(n)):
        gained = gained + hit[:, rank] * discount
    return gained


@lru_cache(maxsize=32)
def _table(n: int, reachable: int) -> tuple[NDArray[np.uint64], Bits]:
    """nDCG and MAP of every pattern, as one key, ascending; and the patterns in that order."""
    hits = np.arange(1 << n, dtype=np.uint32)
    bits = scores_of(hits, np.full(len(hits), reachable, np.uint32), ("ndcg", "map"), n)
    keys = _key(bits[:, 0], bits[:, 1])
    order = np.argsort(keys, kind="stable")
    return keys[order], hits[order]


def _key(first: Bits, second: Bits) -> NDArray[np.uint64]:
    return first.astype(np.uint64) << np.uint64(32) | second


@lru_cache(maxsize=8)
def _discounts(n: int) -> tuple[float, ...]:
    """1 / log2(rank + 1), rounded from 40 digits: the same on every machine."""
    with localcontext() as context:
        context.prec = 40
        two = Decimal(2).ln()
        return tuple(float(two / Decimal(rank + 1).ln()) for rank in range(1, n + 1))
