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

LANE = 16
"""Columns whose maximum stands for them; near sqrt(items / n), where the least is looked at."""

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
        values, items = _largest(scores, n)
        items.masked_fill_(values == -torch.inf, -1)
        yield TopN(users=part, items=items.cpu().numpy())


def _largest(scores: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """As torch.topk along rows, but looks closely at a few columns only.

    Columns are dealt to lanes of LANE columns each. The n largest scores lie in the n lanes with
    the largest maxima, and maxima are several times cheaper than topk.
    """
    import torch

    users, items = scores.shape
    lanes = items // LANE
    if lanes <= 2 * n:
        best = torch.topk(scores, n, dim=1)
        return best.values, best.indices
    maxima = scores[:, : lanes * LANE].view(users, LANE, lanes).amax(dim=1)
    chosen = torch.topk(maxima, n, dim=1, sorted=False).indices
    steps = torch.arange(0, lanes * LANE, lanes, device=scores.device)
    columns = (chosen[:, None, :] + steps[:, None]).view(users, LANE * n)
    rest = torch.arange(lanes * LANE, items, device=scores.device).expand(users, -1)
    columns = torch.cat((columns, rest), dim=1)
    best = torch.topk(scores.gather(1, columns), n, dim=1)
    return best.values, columns.gather(1, best.indices)


def _refuse_not_finite(scores: torch.Tensor) -> None:
    # A sum is finite only if all its terms are, and it is several times faster than isfinite().
    # It may overflow on huge but finite scores, so a suspect sum is looked at again.
    import torch

    if not torch.isfinite(scores.sum()) and not torch.isfinite(scores).all():
        raise RunError(
            "the model gave scores that are not finite (NaN or infinite), so nothing can be "
            "ranked; its training has diverged: try a lower learning rate or more regularization"
        )
