"""A model and training data -> each user's top-n items, block by block, never users x items."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.errors import RunError

if TYPE_CHECKING:
    import torch

BLOCK_CELLS = 2_000_000
"""Scores in one block: 8 MB, so that scoring, masking and top-n find them in cache."""

ScoreBlock = Callable[[NDArray[np.intp]], "torch.Tensor"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopN:
    """The best items of a block of users.

    `users` has shape (block,). `items` has shape (block, n), best first, -1 where the user has no
    candidate left.
    """

    users: NDArray[np.intp]
    items: NDArray[np.int64]


def recommend(
    score: ScoreBlock,
    train: csr_array,
    users: NDArray[np.intp],
    n: int,
    *,
    block: int | None = None,
) -> Iterator[TopN]:
    """The top-n lists of these users among all items but those they have in training.

    Args:
        score: users (block,) -> float32 scores (block, items), on any device; overwritten.
        train: shape (users, items), nonzero where the user has the item; sorted indices.
        users: row numbers of `train`, any order; shape (users,).
        n: list length, at most the number of items.
        block: users scored at once; by default as many as make BLOCK_CELLS scores.
    Returns: blocks in the order of `users`.
    Raises: RunError if a score is not finite.
    """
    import torch

    size = block or max(1, BLOCK_CELLS // train.shape[1])
    for start in range(0, len(users), size):
        part = users[start : start + size]
        scores = score(part).contiguous()
        seen = train[part]
        rows = np.repeat(np.arange(len(part)), np.diff(seen.indptr))
        cells = torch.from_numpy(rows * train.shape[1] + seen.indices).to(scores.device)
        _refuse_not_finite(scores)
        scores.view(-1).index_fill_(0, cells, -torch.inf)
        best = torch.topk(scores, n, dim=1)
        items = best.indices.masked_fill_(best.values == -torch.inf, -1)
        yield TopN(users=part, items=items.cpu().numpy())


def _refuse_not_finite(scores: torch.Tensor) -> None:
    # A sum is finite only if all its terms are, and it is several times faster than isfinite().
    # It may overflow on huge but finite scores, so a suspect sum is looked at again.
    import torch

    if not torch.isfinite(scores.sum()) and not torch.isfinite(scores).all():
        raise RunError(
            "the model gave scores that are not finite (NaN or infinite), so nothing can be "
            "ranked; its training has diverged: try a lower learning rate or more regularization"
        )
