"""Sampled ranking: each held-out item alone against negatives drawn for its user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.evaluation.metrics import Kind
from ecv_core.evaluation.negatives import USERS_AT_ONCE, draw_negatives
from ecv_core.evaluation.ranking import Floats, per_user
from ecv_core.evaluation.rating import log_loss
from ecv_core.evaluation.task import Columns, Task
from ecv_core.evaluation.topn import BLOCK_CELLS, refuse_not_finite

if TYPE_CHECKING:
    import torch

PAIRS = 500_000
"""Scores of held-out items and negatives compared at once: 2 MB, so that they stay in cache."""


def sampled_ranking(task: Task) -> Columns:
    """The task's metrics; every held-out item has a list of its own, averaged over a user's lists.

    Raises: InputError for more negatives than there are; RunError for scores that are not finite.
    """
    negatives = draw_negatives(
        task.seen, task.held_out, task.users, task.candidates, task.popularity, task.protocol
    )
    blocks = max(1, BLOCK_CELLS // (task.seen.shape[1] * USERS_AT_ONCE))
    found: list[Against] = []
    losses: list[Floats] = []
    done = 0
    while drawn := list(islice(negatives, blocks)):
        items = np.concatenate(drawn)
        users = task.users[done : done + len(items)]
        scores = task.score(users)
        refuse_not_finite(scores)
        against, loss = _compare(scores, items, task, users, done)
        found.append(against)
        losses.append(loss)
        done += len(items)
        task.report(done)
    everything = Against.all_of(found)
    seed = task.protocol.seed
    hits = task.of_kind(Kind.HITS)
    columns = dict(sampled_hits(everything, done, task.cutoffs, hits, seed))
    columns |= {name: sampled_auc(everything, done) for name in task.of_kind(Kind.RANKS)}
    columns |= {name: np.concatenate(losses) for name in task.of_kind(Kind.PROBABILITIES)}
    return columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Against:
    """How each held-out item compares with its user's negatives; all of shape (held-out items,).

    `owners` are positions of users from 0; every user has at least one held-out item.
    """

    owners: NDArray[np.intp]
    higher: NDArray[np.intp]
    """Negatives with a higher score."""
    tied: NDArray[np.intp]
    """Negatives with the same score."""
    negatives: int

    @classmethod
    def all_of(cls, parts: Sequence[Against]) -> Against:
        """Several blocks of users as one."""
        return cls(
            owners=np.concatenate([part.owners for part in parts]),
            higher=np.concatenate([part.higher for part in parts]),
            tied=np.concatenate([part.tied for part in parts]),
            negatives=parts[0].negatives,
        )

    def ranks(self, seed: int) -> NDArray[np.intp]:
        """The item's rank in its list, from 1; its place among equal scores is drawn."""
        rng = np.random.default_rng([seed, 1])
        before: NDArray[np.intp] = rng.integers(0, self.tied, endpoint=True)
        return 1 + self.higher + before


def sampled_hits(
    against: Against, users: int, cutoffs: Sequence[int], metrics: Sequence[str], seed: int
) -> Mapping[str, Floats]:
    """Metrics of lists of one held-out item and its negatives, averaged over a user's lists.

    With one relevant item a metric depends on its rank alone, so each is looked up by rank.

    Args:
        against: of all held-out items.
        users: how many own them.
        cutoffs: list lengths, in ascending order.
        metrics: of `ranking.HIT_METRICS`.
        seed: orders ties.
    Returns: metric -> shape (users, cutoffs), in [0, 1].
    """
    n = max(cutoffs)
    by_rank = per_user(
        np.eye(n + 1, n, dtype=np.bool_), np.ones(n + 1, dtype=np.intp), cutoffs, metrics
    )
    rows = np.minimum(against.ranks(seed), n + 1) - 1
    counts = np.bincount(against.owners * (n + 1) + rows, minlength=users * (n + 1))
    share = counts.reshape(users, n + 1) / np.bincount(against.owners, minlength=users)[:, None]
    return {metric: share @ values for metric, values in by_rank.items()}


def sampled_auc(against: Against, users: int) -> Floats:
    """Share of pairs (held-out item, negative) with the held-out item higher; a tie is one half.

    Returns: shape (users,), in [0, 1].
    """
    wins = 1 - (against.higher + against.tied / 2) / against.negatives
    owned = np.bincount(against.owners, minlength=users)
    share: Floats = np.bincount(against.owners, weights=wins, minlength=users) / owned
    return share


def _counts(
    held: torch.Tensor, others: torch.Tensor, rows: torch.Tensor
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of each held-out item's negatives, others[row], those that are higher and those that tie."""
    import torch

    higher = torch.empty(len(held), dtype=torch.int64, device=held.device)
    tied = torch.empty_like(higher)
    size = max(1, PAIRS // others.shape[1])
    theirs = torch.empty((min(size, len(held)), others.shape[1]), device=held.device)
    marks = torch.empty_like(theirs)
    for start in range(0, len(held), size):
        part = slice(start, start + size)
        mine = held[part, None]
        there, here = theirs[: len(mine)], marks[: len(mine)]
        torch.index_select(others, 0, rows[part], out=there)
        # As floats, because torch adds them up several times faster than booleans.
        higher[part] = torch.gt(there, mine, out=here).sum(dim=1)
        tied[part] = torch.eq(there, mine, out=here).sum(dim=1)
    return higher.cpu().numpy(), tied.cpu().numpy()


def _compare(
    scores: torch.Tensor, items: NDArray[np.int32], task: Task, users: NDArray[np.intp], start: int
) -> tuple[Against, Floats]:
    """A block of users from position `start` on; the losses are empty where nobody wants them."""
    import torch

    own: csr_array = task.held_out[users]
    owners = np.repeat(np.arange(len(users)), np.diff(own.indptr))
    device = scores.device
    rows = torch.from_numpy(owners).to(device)
    held = scores[rows, torch.from_numpy(own.indices.astype(np.int64)).to(device)]
    others = scores.gather(1, torch.from_numpy(items.astype(np.int64)).to(device))
    higher, tied = _counts(held, others, rows)
    outside = ~task.candidates[own.indices]
    higher[outside], tied[outside] = items.shape[1], 0  # it cannot be recommended: the last
    loss = np.empty(0)
    if task.of_kind(Kind.PROBABILITIES):
        of_held = log_loss(held.cpu().numpy(), True)
        mean = np.bincount(owners, weights=of_held) / np.bincount(owners)
        loss = (mean + log_loss(others.cpu().numpy(), False).sum(axis=1)) / (items.shape[1] + 1)
    against = Against(owners=owners + start, higher=higher, tied=tied, negatives=items.shape[1])
    return against, loss
