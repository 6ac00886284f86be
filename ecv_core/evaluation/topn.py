"""A model and training data -> each user's top-n items, block by block, never users x items."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.evaluation.without_torch import best_of
from ecv_core.records.errors import RunError

if TYPE_CHECKING:
    import torch

BLOCK_CELLS = 2_000_000
"""Scores in one block: 8 MB, so that scoring, masking and top-n find them in cache."""

ScoreBlock = Callable[[NDArray[np.intp]], "NDArray[np.float32] | torch.Tensor"]


def candidate_scores(
    score: ScoreBlock,
    seen: csr_array,
    users: NDArray[np.intp],
    candidates: NDArray[np.bool_] | None = None,
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32] | torch.Tensor]]:
    """Scores of blocks of users, -inf where an item is no candidate.

    Args:
        score: users (block,) -> float32 scores (block, items), on any device; overwritten. An
            array becomes a tensor where torch is loaded.
        seen: shape (users, items), nonzero where the user has the item; sorted indices.
        users: row numbers of `seen`, any order; shape (users,).
        candidates: which items may be recommended at all; shape (items,); by default every one.
    Returns: (users (block,), scores (block, items)) in the order of `users`.
    Raises: RunError if a score is not finite.
    """
    outside = np.flatnonzero(~candidates) if candidates is not None else None
    size = max(1, BLOCK_CELLS // seen.shape[1])
    for start in range(0, len(users), size):
        part = users[start : start + size]
        scores = score(part)
        own = seen[part]
        cells = np.repeat(np.arange(len(part)), np.diff(own.indptr)) * seen.shape[1] + own.indices
        if "torch" in sys.modules:
            import torch

            scores = torch.as_tensor(scores).contiguous()
            refuse_not_finite(scores)
            places = torch.from_numpy(cells).to(scores.device)
            scores.view(-1).index_fill_(0, places, -torch.inf)
            if outside is not None:
                scores.index_fill_(1, torch.from_numpy(outside).to(scores.device), -torch.inf)
        else:
            scores = cast("NDArray[np.float32]", scores)
            refuse_not_finite(scores)
            np.put(scores, cells, -np.inf)
            if outside is not None:
                scores[:, outside] = -np.inf
        yield part, scores


def best_items(scores: NDArray[np.float32] | torch.Tensor, n: int) -> NDArray[np.int64]:
    """The n items with the highest scores, best first, -1 where no candidate is left.

    Args:
        scores: shape (users, items), -inf where an item is no candidate.
        n: at most the number of items.
    Returns: shape (users, n).
    """
    if isinstance(scores, np.ndarray):
        return best_of(scores, n)
    import torch

    best = torch.topk(scores, n, dim=1)
    items: NDArray[np.int64] = (
        best.indices.masked_fill_(best.values == -torch.inf, -1).cpu().numpy()
    )
    return items


def refuse_not_finite(scores: NDArray[np.float32] | torch.Tensor) -> None:
    """Raises: RunError if a score is NaN or infinite."""
    if isinstance(scores, np.ndarray):
        finite = bool(np.isfinite(scores).all())
    else:
        import torch

        # A sum is finite only if all its terms are, and it is several times faster than isfinite().
        # It may overflow on huge but finite scores, so a suspect sum is looked at again.
        finite = bool(torch.isfinite(scores.sum()) or torch.isfinite(scores).all())
    if not finite:
        raise RunError(
            "the model gave scores that are not finite (NaN or infinite), so nothing can be "
            "ranked; its training has diverged: try a lower learning rate or more regularization"
        )


def hits_of(
    users: NDArray[np.intp], items: NDArray[np.integer], held_out: csr_array
) -> NDArray[np.bool_]:
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
    row = np.arange(len(users))
    # One number per cell of the block, so that one sorted search looks all of them up.
    known = np.repeat(row, np.diff(relevant.indptr)) * columns + relevant.indices
    wanted = np.where(items < 0, -1, row[:, None] * columns + items)
    at = np.searchsorted(known, wanted)
    found: NDArray[np.bool_] = np.append(known, -2)[at] == wanted
    return found
