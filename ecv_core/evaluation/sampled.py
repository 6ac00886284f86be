"""Sampled ranking: held-out items against negatives drawn for their user, alone or pooled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import eq, gt
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # its parts load when they are used
from numpy.typing import NDArray

from ecv_core.evaluation.formulas import Floats, Popularity, log_loss, per_user
from ecv_core.evaluation.full import full_ranking
from ecv_core.evaluation.metrics import Kind
from ecv_core.evaluation.task import (
    BLOCK_CELLS,
    Columns,
    EvaluatedFold,
    Protocol,
    refuse_not_finite,
)
from ecv_core.records.errors import InputError

if TYPE_CHECKING:
    import torch
    from scipy.sparse import csr_array


# What users have -> negatives to rank their held-out items against, drawn by a seed.


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
    bag = np.flatnonzero(drawable).astype(np.int32)
    if protocol.sampling == "popularity":  # an item as often as its chance asks
        bag = np.repeat(bag, popularity.counts[bag])
    width = min(SPARE[protocol.sampling] * wanted + 8, len(chances))
    free = np.ones(len(chances), dtype=np.bool_)
    for start in range(0, len(users), USERS_AT_ONCE):
        part = users[start : start + USERS_AT_ONCE]
        rng = np.random.default_rng([protocol.seed, _STREAM, start])
        places = rng.integers(0, len(bag), (len(part), width), dtype=np.int32)
        taken = [np.concatenate([_row(seen, user), _row(held_out, user)]) for user in part]
        negatives = np.full((len(part), wanted), -1, dtype=np.int32)
        for row, not_these, draws in zip(negatives, taken, bag[places[:, ::-1]], strict=True):
            free[not_these] = False
            good = draws[free[draws]]
            free[not_these] = True
            first = np.sort(np.unique(good, return_index=True)[1])[:wanted]
            row[: len(first)] = good[first]
        # What drawing left short is filled up as if it had gone on: an exponential waiting time
        # per item, scaled by its chance, orders the items as draws without replacement do
        # (Efraimidis, Spirakis 2006).
        short = np.flatnonzero(negatives[:, -1] < 0)
        for place, waits in zip(
            short, rng.standard_exponential((len(short), len(chances))), strict=True
        ):
            mine = negatives[place]
            count = np.count_nonzero(mine >= 0)
            with np.errstate(divide="ignore"):
                waits /= chances
            waits[taken[place]] = waits[mine[:count]] = np.inf
            mine[count:] = np.argsort(waits)[: wanted - count]
        yield negatives


def _row(matrix: csr_array, row: np.intp) -> NDArray[np.int32]:
    return matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]


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


PAIRS = 500_000
"""Scores of held-out items and negatives compared at once: 2 MB, so that they stay in cache."""


def pooled_ranking(task: EvaluatedFold) -> Columns:
    """The task's metrics; a user has one list, of all held-out items and of negatives for each.

    Negatives are drawn with equal chances and with repetition; one drawn twice is there once.
    Source: RecBole (2020), its evaluation setting uniN.
    """
    protocol, found = task.protocol, []
    _check_enough(task.seen, task.held_out, task.users, task.candidates, 1, protocol)
    for start in range(0, len(task.users), USERS_AT_ONCE):
        users = task.users[start : start + USERS_AT_ONCE]
        rng = np.random.default_rng([protocol.seed, _STREAM, start])
        own = task.held_out[users].toarray() != 0
        free = task.candidates & ~own & (task.seen[users].toarray() == 0)
        outside = ~own
        for row, items in enumerate(free):
            count = (protocol.negatives or 0) * int(own[row].sum())
            outside[row, rng.choice(np.flatnonzero(items), count)] = False
        rows, items = np.nonzero(outside)
        hidden = scipy.sparse.csr_array(
            (np.ones(len(rows)), (users[rows], items)), shape=task.seen.shape
        )
        found.append(full_ranking(replace(task, users=users, seen=hidden, report=lambda _: None)))
        task.report(start + len(users))
    return {name: np.concatenate([one[name] for one in found]) for name in found[0]}


def sampled_ranking(task: EvaluatedFold) -> Columns:
    """The task's metrics; every held-out item has a list of its own, averaged over a user's lists.

    Raises: InputError for more negatives than there are; RunError for scores that are not finite.
    """
    import torch

    if task.protocol.sampling == "pooled":
        return pooled_ranking(task)
    negatives = draw_negatives(
        task.seen, task.held_out, task.users, task.candidates, task.popularity, task.protocol
    )
    blocks = max(1, BLOCK_CELLS // (task.seen.shape[1] * USERS_AT_ONCE))
    found: list[tuple[NDArray[Any], ...]] = []
    done = 0
    while drawn := list(islice(negatives, blocks)):
        items = np.concatenate(drawn)
        users = task.users[done : done + len(items)]
        scores = torch.as_tensor(task.model.score(users))
        refuse_not_finite(scores)
        found.append(_compare(scores, items, task, users, done))
        done += len(items)
        task.report(done)
    owners, higher, tied, losses = map(np.concatenate, zip(*found, strict=True))
    everything = Against(owners=owners, higher=higher, tied=tied, negatives=items.shape[1])
    seed = task.protocol.seed
    hits = task.of_kind(Kind.HITS)
    columns = dict(sampled_hits(everything, done, task.cutoffs, hits, seed))
    columns |= {name: sampled_auc(everything, done) for name in task.of_kind(Kind.RANKS)}
    columns |= {name: losses for name in task.of_kind(Kind.PROBABILITIES)}
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
    return np.bincount(against.owners, weights=wins, minlength=users) / owned


def _counts(
    held: torch.Tensor, others: torch.Tensor, rows: torch.Tensor
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of each held-out item's negatives, others[row], those that are higher and those that tie."""
    import torch

    counts: list[torch.Tensor] = []
    size = max(1, PAIRS // others.shape[1])
    for mine, row in zip(torch.split(held, size), torch.split(rows, size), strict=True):
        theirs = others[row]
        # As floats, because torch adds them up several times faster than booleans.
        above, equal = (compare(theirs, mine[:, None]).float().sum(dim=1) for compare in (gt, eq))
        counts.append(torch.stack((above, equal)))
    higher, tied = torch.cat(counts, dim=1).long().cpu().numpy()
    return higher, tied


def _compare(
    scores: torch.Tensor,
    items: NDArray[np.int32],
    task: EvaluatedFold,
    users: NDArray[np.intp],
    start: int,
) -> tuple[NDArray[Any], ...]:
    """Owners, higher and tied as of `Against`, of a block of users from position `start` on; and
    the users' losses, empty where nobody wants them."""
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
    return owners + start, higher, tied, loss
