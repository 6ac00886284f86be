"""Scores of blocks of users -> each user's best items, never users x items at once.

Equal scores: the item with the lower number comes first, before any list is cut, so that a short
list is the beginning of a longer one. An item with the score -inf is in no list.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.arrays import Indices, Mask
from ecv_core.records.errors import RunError

if TYPE_CHECKING:
    import torch
    from scipy.sparse import csr_array

Lists = NDArray[np.int64]
"""Items, best first, -1 where no candidate is left; shape (users, n)."""

BLOCK_CELLS = 2_000_000
"""Scores in one block: 8 MB, so that scoring, masking and top-n find them in cache."""
COMPILED_CELLS = 20_000_000
"""Users x items from which on compiled ranking saves more than loading numba takes."""
COMPILED_LENGTH = 64
"""Items of the longest list that is filled by compiled code, item by item."""
_KERNELS = "ecv_core.evaluation.kernels"


def load_compiled(cells: int) -> bool:
    """Load the compiled ranking, which no fold should pay for, if users x items are so many.

    Returns: whether it is loaded, by this call or before; never without numba. The lists are the
        same either way.
    """
    if cells >= COMPILED_CELLS and find_spec("numba"):
        import_module(_KERNELS)
    return _KERNELS in sys.modules


def candidate_scores(
    score: Callable[[Indices], NDArray[np.floating] | torch.Tensor],
    seen: csr_array,
    users: Indices,
    candidates: Mask | None = None,
) -> Iterator[tuple[Indices, NDArray[np.floating] | torch.Tensor]]:
    """Scores of blocks of users, -inf where an item is no candidate.

    Args:
        score: users (block,) -> scores (block, items), on any device; overwritten.
        seen: shape (users, items), nonzero where the user has the item.
        users: row numbers of `seen`, any order; shape (users,).
        candidates: which items may be recommended at all; shape (items,); by default every one.
    Returns: (users (block,), scores (block, items)) in the order of `users`; an array, or a tensor
        where the scores are on a GPU.
    Raises: RunError if a score is NaN or +inf.
    """
    outside = np.empty(0, np.intp)
    if candidates is not None:
        outside = np.flatnonzero(~candidates)
    size = max(1, BLOCK_CELLS // seen.shape[1])
    for start in range(0, len(users), size):
        part = users[start : start + size]
        scores = score(part)
        if not isinstance(scores, np.ndarray) and scores.device.type == "cpu":
            scores = scores.numpy()  # of the same memory; only on a GPU tensors stay tensors
        check_finite(bool(scores.max() < np.inf))
        own = seen[part]
        rows = np.repeat(np.arange(len(part)), np.diff(own.indptr))
        scores[rows, own.indices] = -np.inf
        if len(outside):
            scores[:, outside] = -np.inf
        yield part, scores


def check_finite(finite: bool) -> None:
    """Refuse scores that cannot be ranked. Raises: RunError if they are not finite."""
    if not finite:
        raise RunError(
            "the model gave scores that are not finite (NaN or infinite), so nothing can be "
            "ranked; its training has diverged: try a lower learning rate or more regularization"
        )


def best_items(
    scores: NDArray[np.floating] | torch.Tensor, n: int, *, compiled: bool = False
) -> Lists:
    """The n items with the highest scores, by the rule above.

    Args:
        scores: shape (users, items), -inf where an item is no candidate.
        n: at most the number of items.
        compiled: by compiled code where that is the quicker one.
    """
    if not isinstance(scores, np.ndarray):
        return best_of_tensor(scores, n)
    if compiled and n <= COMPILED_LENGTH:
        from ecv_core.evaluation.kernels import best_of_scores, on_every_core

        def rank(part: NDArray[np.floating]) -> Lists:
            return best_of_scores(part, n)

        return on_every_core(rank, np.ascontiguousarray(scores))
    return best_of_array(scores, n)


def best_of_array(scores: NDArray[np.floating], n: int) -> Lists:
    """As `best_items`, by numpy."""
    items = scores.shape[1]
    # Of many equal numbers a whole sort is several times faster than a partition.
    nth_scores = np.sort(scores, axis=1)[:, items - n, None]
    chosen = scores >= nth_scores
    chosen_counts = np.count_nonzero(chosen, axis=1)
    for row in np.flatnonzero(chosen_counts > n):
        # Of the items that are equal to the n-th those with the highest numbers are too many.
        equal_items = np.flatnonzero(scores[row] == nth_scores[row])
        too_many = chosen_counts[row] - n
        chosen[row, equal_items[-too_many:]] = False
    best = np.flatnonzero(chosen).reshape(-1, n) % items
    worth = np.take_along_axis(scores, best, axis=1)
    best[worth == -np.inf] = -1
    order = np.argsort(-worth, axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1)


def best_of_tensor(scores: torch.Tensor, n: int) -> Lists:
    """As `best_items`, where the scores are: `torch.topk` leaves equal ones in any order."""
    import torch

    wide = min(n + 1, scores.shape[1])  # one more, for it may be equal to the last
    worth, best = torch.topk(scores, wide, dim=1)
    tied = (worth[:, 1:] == worth[:, :-1]).any(dim=1)
    ordered = torch.sort(scores[tied], dim=1, descending=True, stable=True)
    worth[tied] = ordered.values[:, :wide]
    best[tied] = ordered.indices[:, :wide]
    lists: Lists = best.masked_fill(worth == -torch.inf, -1)[:, :n].cpu().numpy()
    return lists


_LAST_BITS = (1 << 20) - 1


def hits_of(users: Indices, items: NDArray[np.integer], held_out: csr_array) -> Mask:
    """Which of the recommended items are held out.

    Args:
        users: rows of `held_out`; shape (block,).
        items: of each, -1 for none; shape (block, n).
        held_out: shape (users, items), nonzero where the user has the item held out.
    Returns: shape (block, n).
    """
    columns = held_out.shape[1]
    relevant = held_out[users]
    if not relevant.has_sorted_indices:
        relevant.sort_indices()
    rows = np.arange(len(users))
    # One number per cell of the block, so that one sorted search looks all of them up.
    rows_held_out = np.repeat(rows, np.diff(relevant.indptr))
    cells_held_out = rows_held_out * columns + relevant.indices
    cells_in_lists = np.where(items < 0, -1, rows[:, None] * columns + items)
    # Most cells are not held out, and the last bits of most of these are those of none that is.
    has_last_bits = np.zeros(_LAST_BITS + 1, dtype=np.bool_)
    has_last_bits[cells_held_out & _LAST_BITS] = True
    candidates = np.nonzero(has_last_bits[cells_in_lists & _LAST_BITS])
    candidate_cells = cells_in_lists[candidates]
    positions = np.searchsorted(cells_held_out, candidate_cells)
    no_cell = -2  # stands behind the last one, where a cell above all would be
    hits = np.zeros(cells_in_lists.shape, dtype=np.bool_)
    hits[candidates] = np.append(cells_held_out, no_cell)[positions] == candidate_cells
    return hits
