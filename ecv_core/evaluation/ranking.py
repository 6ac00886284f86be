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

from ecv_core.evaluation.formulas import Lists
from ecv_core.records.arrays import AnyFloats, Codes, Indices, Mask, rows_of_entries
from ecv_core.records.errors import RunError

if TYPE_CHECKING:
    import torch
    from scipy.sparse import csr_array

BLOCK_CELLS = 2_000_000
"""Scores in one block: 8 MB, so that scoring, masking and top-n find them in cache."""
COMPILED_CELLS = 20_000_000
"""Users x items from which on compiled ranking saves more than loading numba takes."""
COMPILED_LENGTH = 64
"""Items of the longest list that is filled by compiled code, item by item."""
_KERNELS = "ecv_core.evaluation.kernels"


def load_compiled(cells: int) -> bool:
    """Load the compiled ranking, which no fold should pay for, if users x items are so many.

    Returns:
        Whether it is loaded, by this call or before; never without numba. The lists are the same
        either way.
    """
    if cells >= COMPILED_CELLS and find_spec("numba"):
        import_module(_KERNELS)
    return _KERNELS in sys.modules


def candidate_scores(
    score: Callable[[Indices], AnyFloats | torch.Tensor],
    seen: csr_array,
    users: Indices,
    candidates: Mask,
) -> Iterator[tuple[Indices, AnyFloats | torch.Tensor]]:
    """Scores of blocks of users, -inf where an item is no candidate.

    Args:
        score: Users (block,) -> scores (block, items), on any device; overwritten.
        seen: Shape (users, items), nonzero where the user has the item.
        users: Row numbers of `seen`, any order; shape (users,).
        candidates: Which items may be recommended at all; shape (items,).

    Returns:
        (users (block,), scores (block, items)) in the order of `users`; an array, or a tensor where
        the scores are on a GPU.

    Raises:
        RunError: If a score is NaN or +inf.
    """
    excluded_items = np.flatnonzero(~candidates)
    size = max(1, BLOCK_CELLS // seen.shape[1])
    for start in range(0, len(users), size):
        part = users[start : start + size]
        scores = score(part)
        if not isinstance(scores, np.ndarray) and scores.device.type == "cpu":
            # The array shares the tensor's memory; only tensors on a GPU stay tensors.
            scores = scores.numpy()
        check_finite(bool(scores.max() < np.inf))
        seen_of_part = seen[part]
        scores[rows_of_entries(seen_of_part), seen_of_part.indices] = -np.inf
        if len(excluded_items):
            scores[:, excluded_items] = -np.inf
        yield part, scores


def items_of(matrix: csr_array, user: np.intp | int) -> Codes:
    """The items that a user has: the columns of the entries in the user's row."""
    return matrix.indices[matrix.indptr[user] : matrix.indptr[user + 1]]


def check_finite(are_finite: bool) -> None:
    """Refuse scores that cannot be ranked. Raises: RunError if they are not finite."""
    if not are_finite:
        raise RunError(
            "the model gave scores that are not finite (NaN or infinite), so nothing can be "
            "ranked; its training has diverged: try a lower learning rate or more regularization"
        )


def best_items(scores: AnyFloats | torch.Tensor, n: int, *, compiled: bool = False) -> Lists:
    """The n items with the highest scores, by the rule above.

    Args:
        scores: Shape (users, items), -inf where an item is no candidate.
        n: At most the number of items.
        compiled: By compiled code where that is the quicker one.
    """
    if not isinstance(scores, np.ndarray):
        return best_of_tensor(scores, n)
    if compiled and n <= COMPILED_LENGTH:
        from ecv_core.evaluation.kernels import best_of_scores, on_every_core

        def rank(part: AnyFloats) -> Lists:
            return best_of_scores(part, n)

        return on_every_core(rank, np.ascontiguousarray(scores))
    return best_of_array(scores, n)


def best_of_array(scores: AnyFloats, n: int) -> Lists:
    """As `best_items`, by numpy."""
    item_count = scores.shape[1]
    # If many numbers are equal, a whole sort is several times faster than a partition.
    nth_best_scores = np.sort(scores, axis=1)[:, item_count - n, None]
    is_in_list = scores >= nth_best_scores
    list_lengths = np.count_nonzero(is_in_list, axis=1)
    for row in np.flatnonzero(list_lengths > n):
        # Too many items have the n-th best score. Those with the highest numbers are removed.
        equal_items = np.flatnonzero(scores[row] == nth_best_scores[row])
        too_many = list_lengths[row] - n
        is_in_list[row, equal_items[-too_many:]] = False
    # Every row has n items now, so the flat indices in the block can be reshaped to rows of n.
    best = np.flatnonzero(is_in_list).reshape(-1, n) % item_count
    best_scores = np.take_along_axis(scores, best, axis=1)
    best[best_scores == -np.inf] = -1
    order = np.argsort(-best_scores, axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1)


def best_of_tensor(scores: torch.Tensor, n: int) -> Lists:
    """As `best_items`, on the device where the scores are."""
    import torch

    length = min(n + 1, scores.shape[1])  # One more is taken, for it may be equal to the last.
    best_scores, best = torch.topk(scores, length, dim=1)
    # `topk` leaves equal scores in any order: users who have such are sorted, and stably.
    has_ties = (best_scores[:, 1:] == best_scores[:, :-1]).any(dim=1)
    ordered = torch.sort(scores[has_ties], dim=1, descending=True, stable=True)
    best_scores[has_ties] = ordered.values[:, :length]
    best[has_ties] = ordered.indices[:, :length]
    return best.masked_fill(best_scores == -torch.inf, -1)[:, :n].cpu().numpy()


def hits_of(users: Indices, items: Lists, held_out: csr_array) -> Mask:
    """Which of the recommended items are held out.

    Args:
        users: Rows of `held_out`; shape (block,).
        items: The items of each, -1 for none; shape (block, n).
        held_out: Shape (users, items), nonzero where the user has the item held out.

    Returns:
        Shape (block, n).
    """
    n_items = held_out.shape[1]
    relevant = held_out[users]
    relevant.sort_indices()
    # Each pair of a row and an item is a number, so that one bisection looks all of them up.
    pairs_held_out = rows_of_entries(relevant) * n_items + relevant.indices
    rows = np.arange(len(users))[:, None]
    recommended_pairs = np.where(items < 0, -1, rows * n_items + items)
    places = np.searchsorted(pairs_held_out, recommended_pairs)
    # A pair above the last one that is held out is looked up after it. No recommended pair has the
    # number that stands there.
    no_pair = -2
    return np.append(pairs_held_out, no_pair)[places] == recommended_pairs
