"""Scores of all candidates -> how often a held-out item is ranked above the others, per user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

if TYPE_CHECKING:
    import torch

CELLS = 1_000_000
"""Comparisons held at once: 1 MB, so that they stay in cache."""
AT_ONCE = 127
"""Held-out items of a user that are counted together: each adds up to 2 to a byte."""


def block_auc(scores: torch.Tensor, held_out: csr_array) -> NDArray[np.float64]:
    """The share of pairs (held-out item, other candidate) in which the held-out item is higher.

    A tie counts one half. Held-out items are not compared with each other.

    Args:
        scores: float32, shape (users, items); -inf where the item is no candidate.
        held_out: the users' held-out items, at least one each; shape (users, items). One that is
            no candidate is below all candidates.
    Returns: shape (users,), in [0, 1]; 0.5 for a user without another candidate.
    Source: Hanley, McNeil (1982), as the Mann-Whitney statistic; per user as Rendle et al. (2009).
    """
    values: NDArray[np.float32] = scores.cpu().numpy()
    sizes = np.diff(held_out.indptr).astype(np.int64)
    inside, twice_higher = _twice_higher(values, held_out, sizes)
    # Every candidate ties with itself; two held-out candidates make one pair, whoever is higher;
    # and one that is no candidate is below all that are.
    among = inside / 2 + inside * (inside - 1) / 2 + (sizes - inside) * inside
    others = np.isfinite(values).sum(axis=1) - inside
    pairs = sizes * others
    share: NDArray[np.float64] = 1 - (twice_higher / 2 - among) / np.maximum(pairs, 1)
    return np.where(pairs > 0, share, 0.5)


def _twice_higher(
    values: NDArray[np.float32], held_out: csr_array, sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many held-out items are candidates; how many candidates are higher, a tie as one half.

    The second counts every held-out item and all candidates, itself too, and is doubled.
    """
    users, items = values.shape
    owners = np.repeat(np.arange(users), sizes)
    places = np.arange(held_out.nnz) - np.repeat(held_out.indptr[:-1].astype(np.int64), sizes)
    mine = np.full((users, int(sizes.max(initial=1))), np.inf, dtype=np.float32)
    own = values[owners, held_out.indices]
    # A held-out item that is no candidate must not tie with the other places that are none.
    mine[owners, places] = np.maximum(own, np.finfo(np.float32).min)
    total = np.zeros(users, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")  # alike users together, so that little is padded
    wins = np.empty(max(CELLS, items * AT_ONCE), dtype=np.bool_)
    for first in range(0, mine.shape[1], AT_ONCE):
        left = order[sizes[order] > first]
        start = 0
        while start < len(left):
            width = min(int(sizes[left[start]]) - first, AT_ONCE)
            rows = left[start : start + max(1, CELLS // (width * items))]
            start += len(rows)
            marks = mine[rows, first : first + width, None]
            part = values[rows][:, None, :]
            won = wins[: len(rows) * width * items].reshape(len(rows), width, items)
            # Adding up whole rows of bytes is several times faster than counting along each.
            above = np.add.reduce(np.greater(part, marks, out=won).view(np.uint8), 1, np.uint8)
            above += np.add.reduce(
                np.greater_equal(part, marks, out=won).view(np.uint8), 1, np.uint8
            )
            total[rows] += above.sum(axis=1, dtype=np.int64)
    return np.bincount(owners[np.isfinite(own)], minlength=users), total
