"""What users have -> negatives to rank their held-out items against, drawn by a seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.errors import InputError
from ecv_core.evaluation.novelty import Popularity
from ecv_core.evaluation.protocol import Protocol

USERS_AT_ONCE = 128
"""Users of one draw. Part of what a seed means: another number gives other negatives."""
SPARE = {"uniform": 2, "popularity": 3}
"""So many times the negatives are drawn at first, for those that turn out seen or repeated."""

_STREAM = 7_112  # keeps these random numbers apart from others of the same seed


def draw_negatives(
    seen: csr_array,
    held_out: csr_array,
    users: NDArray[np.intp],
    candidates: NDArray[np.bool_],
    popularity: Popularity,
    protocol: Protocol,
) -> Iterator[NDArray[np.int32]]:
    """Each user's negatives: candidates that the user has neither seen nor held out.

    Drawn one after the other without replacement, with equal chances or with chances that follow
    the training interactions. They depend on the data, the users and the seed alone.

    Args:
        seen: shape (users, items), what users have before the fold's test.
        held_out: shape (users, items).
        users: row numbers, ascending; shape (evaluated users,).
        candidates: which items may be drawn; shape (items,).
        popularity: of all items in training.
        protocol: with a number of negatives.
    Returns: blocks of up to USERS_AT_ONCE users; each of shape (block, negatives), all different
        within a row.
    Raises: InputError if a user has fewer candidates left than negatives are asked for.
    """
    wanted = protocol.negatives or 0
    chances = candidates.astype(np.float64)
    if protocol.sampling == "popularity":
        chances *= popularity.counts
    drawable = chances > 0
    _check_enough(seen, held_out, users, drawable, wanted, protocol)
    bag = _bag(drawable, popularity, protocol)
    width = min(SPARE[protocol.sampling] * wanted + 8, len(chances))
    stamps = np.empty(USERS_AT_ONCE * len(chances), dtype=np.int32)
    for start in range(0, len(users), USERS_AT_ONCE):
        part = users[start : start + USERS_AT_ONCE]
        rng = np.random.default_rng([protocol.seed, _STREAM, start])
        taken = np.concatenate([_cells(seen[part]), _cells(held_out[part])])
        negatives = _draw(rng, bag, taken, stamps, (len(part), len(chances)), width, wanted)
        short = np.flatnonzero(negatives[:, -1] < 0)
        if len(short):
            negatives[short] = _completed(rng, chances, taken, negatives, short)
        yield negatives


def _cells(matrix: csr_array) -> NDArray[np.int64]:
    """Where the matrix has entries, as positions in it when it is laid out row by row."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    cells: NDArray[np.int64] = rows * matrix.shape[1] + matrix.indices
    return cells


def _bag(
    drawable: NDArray[np.bool_], popularity: Popularity, protocol: Protocol
) -> NDArray[np.int32]:
    """Item numbers, each as often as its chance asks, so that one random place is one draw."""
    items = np.flatnonzero(drawable).astype(np.int32)
    if protocol.sampling == "popularity":
        return np.repeat(items, popularity.counts[items])
    return items


def _draw(
    rng: np.random.Generator,
    bag: NDArray[np.int32],
    taken: NDArray[np.int64],
    stamps: NDArray[np.int32],
    shape: tuple[int, int],
    width: int,
    wanted: int,
) -> NDArray[np.int32]:
    """`width` draws for each user of a block: those that are not taken, each once, -1 at the end.

    Args:
        rng: gives the draws.
        bag: what is drawn from.
        taken: cells of the block that may not be drawn.
        stamps: working space, at least one number per cell of the block.
        shape: (block, items).
        width: draws per user.
        wanted: negatives per user.
    Returns: shape (block, wanted).
    """
    rows, items = shape
    draws = bag.take(rng.integers(0, len(bag), (rows, width), dtype=np.int32))
    cells = draws + np.arange(rows, dtype=np.int64)[:, None] * items
    # Of equal draws the one written last stays, so the sequence is read from its end, where that
    # one is the first. Only cells that are written here are read: no need to clear the others.
    order = np.arange(width, dtype=np.int32)
    stamps[cells] = order
    stamps[taken] = -1
    good = (stamps.take(cells) == order)[:, ::-1]
    place = np.cumsum(good, axis=1, dtype=np.int32) - 1
    owners, columns = np.nonzero(good & (place < wanted))
    drawn = np.full((rows, wanted), -1, dtype=np.int32)
    drawn[owners, place[owners, columns]] = draws[owners, width - 1 - columns]
    return drawn


def _completed(
    rng: np.random.Generator,
    chances: NDArray[np.float64],
    taken: NDArray[np.int64],
    found: NDArray[np.int32],
    short: NDArray[np.intp],
) -> NDArray[np.int32]:
    """The rows that drawing left short, filled up as if drawing had gone on.

    An exponential waiting time per item, scaled by its chance, orders the items as draws without
    replacement do (Efraimidis, Spirakis 2006).
    """
    mine, items = found[short], len(chances)
    waits = rng.standard_exponential((len(short), items))
    with np.errstate(divide="ignore"):
        waits /= chances
    position = np.full(len(found), -1)
    position[short] = np.arange(len(short))
    rows = position[taken // items]
    waits[rows[rows >= 0], taken[rows >= 0] % items] = np.inf
    owners, columns = np.nonzero(mine >= 0)
    waits[owners, mine[owners, columns]] = np.inf
    missing = (mine < 0).sum(axis=1)
    longest = int(missing.max())
    nearest = np.argpartition(waits, longest - 1, axis=1)[:, :longest]
    nearest = np.take_along_axis(
        nearest, np.take_along_axis(waits, nearest, axis=1).argsort(axis=1), axis=1
    )
    owners, columns = np.nonzero(np.arange(longest) < missing[:, None])
    mine[owners, mine.shape[1] - missing[owners] + columns] = nearest[owners, columns]
    return mine


def _check_enough(
    seen: csr_array,
    held_out: csr_array,
    users: NDArray[np.intp],
    drawable: NDArray[np.bool_],
    wanted: int,
    protocol: Protocol,
) -> None:
    weights = drawable.astype(np.float32)
    gone = seen @ weights + held_out @ weights  # at most: an item may be in both
    left = (drawable.sum() - gone[users]).astype(int)
    if len(left) and left.min() < wanted:
        what = "with a training interaction " if protocol.sampling == "popularity" else ""
        raise InputError(
            f"{wanted:,} negatives are asked for, but the user with most interactions has only "
            f"{max(int(left.min()), 0):,} other candidate items {what}left to draw from; "
            f"ask for at most {max(int(left.min()), 0):,}, or leave the number out for full ranking"
        )
