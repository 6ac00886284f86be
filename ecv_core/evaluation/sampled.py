"""Sampled ranking: held-out items against negatives drawn for their user, alone or pooled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import scipy  # its parts load when they are used

from ecv_core.evaluation.formulas import Popularity, log_loss, per_user
from ecv_core.evaluation.full import full_ranking
from ecv_core.evaluation.metrics import Kind
from ecv_core.evaluation.pairs import ScoredPairs
from ecv_core.evaluation.protocol import Columns, EvaluatedFold, Protocol
from ecv_core.evaluation.ranking import BLOCK_CELLS, check_finite
from ecv_core.records.arrays import Codes, Counts, Floats, Indices, Mask
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
    users: Indices,
    candidates: Mask,
    popularity: Popularity,
    protocol: Protocol,
) -> Iterator[Codes]:
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


def _row(matrix: csr_array, row: np.intp) -> Codes:
    return matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]


def _drawable_in(matrix: csr_array, drawable: Mask) -> Indices:
    """How many of each row's items may be drawn; shape (users,)."""
    counts = np.concatenate(([0], np.cumsum(drawable[matrix.indices])))
    return np.diff(counts[matrix.indptr])


def _check_enough(
    seen: csr_array,
    held_out: csr_array,
    users: Indices,
    drawable: Mask,
    wanted: int,
    protocol: Protocol,
) -> None:
    gone = _drawable_in(seen, drawable) + _drawable_in(held_out, drawable)  # an item may be in both
    left = drawable.sum() - gone[users]
    if len(left) and left.min() < wanted:
        what = "with a training interaction " if protocol.sampling == "popularity" else ""
        raise InputError(
            f"{wanted:,} negatives are asked for, but the user with most interactions has only "
            f"{max(int(left.min()), 0):,} other candidate items {what}left to draw from; "
            f"ask for at most {max(int(left.min()), 0):,}, or leave the number out for full ranking"
        )


PAIRS = 500_000
"""Scores of held-out items and negatives compared at once: 2 MB, so that they stay in cache."""


def sampled_ranking(fold: EvaluatedFold) -> Columns:
    """The metrics of a fold whose held-out items are ranked against sampled negatives.

    Raises: InputError for more negatives than there are; RunError for scores that are not finite.
    """
    if fold.protocol.sampling == "pooled":
        return pooled_ranking(fold)
    return single_ranking(fold)


def pooled_ranking(fold: EvaluatedFold) -> Columns:
    """The fold's metrics; a user has one list, of all held-out items and of negatives for each.

    Negatives are drawn with equal chances and with repetition; one drawn twice is there once.
    Source: RecBole (2020), its evaluation setting uniN.
    """
    protocol = fold.protocol
    parts: list[Columns] = []
    _check_enough(fold.seen, fold.held_out, fold.users, fold.candidates, 1, protocol)
    for start in range(0, len(fold.users), USERS_AT_ONCE):
        users = fold.users[start : start + USERS_AT_ONCE]
        rng = np.random.default_rng([protocol.seed, _STREAM, start])
        is_held_out = fold.held_out[users].toarray() != 0
        is_seen = fold.seen[users].toarray() != 0
        can_be_negative = fold.candidates & ~is_held_out & ~is_seen
        is_in_pool = is_held_out.copy()
        for row, negatives in enumerate(can_be_negative):
            count = (protocol.negatives or 0) * int(is_held_out[row].sum())
            is_in_pool[row, rng.choice(np.flatnonzero(negatives), count)] = True
        # What is in no pool counts as seen, so that a full ranking is one of the pool.
        rows, items = np.nonzero(~is_in_pool)
        not_in_pool = scipy.sparse.csr_array(
            (np.ones(len(rows)), (users[rows], items)), shape=fold.seen.shape
        )
        pool = replace(fold, users=users, seen=not_in_pool, report=lambda _: None)
        parts.append(full_ranking(pool))
        fold.report(start + len(users))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def single_ranking(fold: EvaluatedFold) -> Columns:
    """The fold's metrics; every held-out item has a list of its own, averaged over a user's lists.

    Of equal scores the item with the lower number comes first, and -inf is in no list.
    """
    import torch

    negatives = draw_negatives(
        fold.seen, fold.held_out, fold.users, fold.candidates, fold.popularity, fold.protocol
    )
    blocks = max(1, BLOCK_CELLS // (fold.seen.shape[1] * USERS_AT_ONCE))
    parts: list[Against] = []
    losses: list[Floats] = []
    done = 0
    while drawn := list(islice(negatives, blocks)):
        items = np.concatenate(drawn)
        users = fold.users[done : done + len(items)]
        scores = torch.as_tensor(fold.model.score(users))
        check_finite(bool(scores.max() < torch.inf))
        held_out: csr_array = fold.held_out[users]
        block = _compare(scores, items, held_out, fold.candidates)
        parts.append(replace(block, owners=block.owners + done))
        for _ in fold.of_kind(Kind.PROBABILITIES):
            losses.append(_log_loss(scores, items, held_out))
        if fold.of_kind(Kind.PAIRS):
            fold.pairs.append(_pairs(scores, users, items, held_out))
        done += len(items)
        fold.report(done)
    columns = _columns_of(fold, Against.joined(parts), done)
    for name in fold.of_kind(Kind.PROBABILITIES):
        columns[name] = np.concatenate(losses)
    return columns


def _columns_of(fold: EvaluatedFold, against: Against, users: int) -> Columns:
    """The metrics of lists of one held-out item, of so many users."""
    columns = dict(sampled_hits(against, users, fold.cutoffs, fold.of_kind(Kind.HITS)))
    for name in fold.of_kind(Kind.GAINS):
        columns[name] = sampled_graded_ndcg(against, users, fold)
    for name in fold.of_kind(Kind.RANKS):
        columns[name] = RANK_METRICS[name](against, users)
    return columns


NOWHERE = np.iinfo(np.intp).max
"""The rank of an item that is in no list."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Against:
    """How each held-out item compares with its user's negatives; all of shape (held-out items,).

    `owners` are positions of users from 0; every user has at least one held-out item.
    """

    owners: Indices
    higher: Counts
    """Negatives with a higher score."""
    tied: Counts
    """Negatives with the same score."""
    ranks: Counts
    """The item's place in its list, from 1; NOWHERE for an item that is never recommended."""
    negatives: int

    @classmethod
    def joined(cls, parts: Sequence[Against]) -> Against:
        """All held-out items of some users and of others, who have as many negatives each."""
        owners = np.concatenate([part.owners for part in parts])
        higher = np.concatenate([part.higher for part in parts])
        tied = np.concatenate([part.tied for part in parts])
        ranks = np.concatenate([part.ranks for part in parts])
        negatives = parts[0].negatives
        return cls(owners=owners, higher=higher, tied=tied, ranks=ranks, negatives=negatives)


def sampled_hits(
    against: Against, users: int, cutoffs: Sequence[int], metrics: Sequence[str]
) -> Mapping[str, Floats]:
    """Metrics of lists of one held-out item and its negatives, averaged over a user's lists.

    With one relevant item a metric depends on its rank alone, so each is looked up by rank.

    Args:
        against: of all held-out items.
        users: how many own them.
        cutoffs: list lengths, in ascending order.
        metrics: of `ranking.HIT_METRICS`.
    Returns: metric -> shape (users, cutoffs), in [0, 1].
    """
    n = max(cutoffs)
    # A list for each rank from 1 to n with the item there, and one without it.
    hits_by_rank = np.eye(n + 1, n, dtype=np.bool_)
    one_held_out = np.ones(n + 1, dtype=np.intp)
    values_by_rank = per_user(hits_by_rank, one_held_out, cutoffs, metrics)
    # How many of a user's held-out items have each of these ranks, then which share of them.
    rank_places = np.minimum(against.ranks, n + 1) - 1
    cells = against.owners * (n + 1) + rank_places
    counts = np.bincount(cells, minlength=users * (n + 1)).reshape(users, n + 1)
    lists = np.bincount(against.owners, minlength=users)
    shares = counts / lists[:, None]
    return {metric: shares @ values for metric, values in values_by_rank.items()}


def sampled_auc(against: Against, users: int) -> Floats:
    """Share of pairs (held-out item, negative) with the held-out item higher; a tie is one half.

    Returns: shape (users,), in [0, 1].
    """
    wins = 1 - (against.higher + against.tied / 2) / against.negatives
    owned = np.bincount(against.owners, minlength=users)
    return np.bincount(against.owners, weights=wins, minlength=users) / owned


def sampled_r_precision(against: Against, users: int) -> Floats:
    """Share of the lists in which the held-out item is the first; shape (users,), in [0, 1]."""
    return sampled_hits(against, users, [1], ["hit"])["hit"][:, 0]


RANK_METRICS = {
    "auc": sampled_auc,
    "grouped-auc": sampled_auc,
    "r-precision": sampled_r_precision,
}
"""Their kernels for lists of one held-out item, by the metric's id."""


def sampled_graded_ndcg(against: Against, users: int, fold: EvaluatedFold) -> Floats:
    """Graded nDCG of lists of one held-out item and its negatives, whatever the gain.

    Such a list is perfect where the item is the first, so this is nDCG; but an item that is not
    rated above 0 gains nothing.

    Returns: shape (users, cutoffs), in [0, 1].
    """
    assert fold.ratings is not None  # `evaluate` has looked
    gains = fold.ratings[fold.users].data > 0
    ranks = np.where(gains, against.ranks, NOWHERE)
    gaining = replace(against, ranks=ranks)
    return sampled_hits(gaining, users, fold.cutoffs, ["ndcg"])["ndcg"]


def _compare(
    scores: torch.Tensor,
    negatives: Codes,
    held_out: csr_array,
    candidates: Mask,
) -> Against:
    """How the held-out items of a block of users compare with their negatives.

    Args:
        scores: shape (users, items).
        negatives: item numbers; shape (users, negatives).
        held_out: shape (users, items).
        candidates: which items may be recommended; shape (items,).
    """
    import torch

    device = scores.device
    count = negatives.shape[1]
    owners = np.repeat(np.arange(len(negatives)), np.diff(held_out.indptr))
    rows = torch.from_numpy(owners).to(device)
    items = torch.from_numpy(held_out.indices.astype(np.int64)).to(device)
    of_held = scores[rows, items]
    of_held[torch.from_numpy(~candidates[held_out.indices]).to(device)] = -torch.inf
    others = torch.from_numpy(negatives.astype(np.int64)).to(device)
    of_others = scores.gather(1, others)
    counts: list[torch.Tensor] = []
    size = max(1, PAIRS // count)
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        row = rows[part]
        mine = of_held[part, None]
        theirs = of_others[row]
        # As floats, because torch adds them up several times faster than booleans.
        higher = (theirs > mine).float().sum(dim=1)
        equal = theirs == mine
        tied = equal.float().sum(dim=1)
        before = (equal & (others[row] < items[part, None])).float().sum(dim=1)
        counts.append(torch.stack((higher, tied, before)))
    higher, tied, before = torch.cat(counts, dim=1).long().cpu().numpy()
    ranks = 1 + higher + before
    ranks[(of_held == -torch.inf).cpu().numpy()] = NOWHERE
    return Against(owners=owners, higher=higher, tied=tied, ranks=ranks, negatives=count)


def _log_loss(scores: torch.Tensor, negatives: Codes, held_out: csr_array) -> Floats:
    """Mean log loss of each user's lists; arguments as of `_compare`; shape (users,)."""
    values = scores.cpu().numpy()
    owners = np.repeat(np.arange(len(negatives)), np.diff(held_out.indptr))
    of_held = log_loss(values[owners, held_out.indices], True)
    of_others = log_loss(np.take_along_axis(values, negatives.astype(np.int64), axis=1), False)
    mean = np.bincount(owners, weights=of_held) / np.bincount(owners)
    return (mean + of_others.sum(axis=1)) / (negatives.shape[1] + 1)


def _pairs(
    scores: torch.Tensor,
    users: Indices,
    negatives: Codes,
    held_out: csr_array,
) -> ScoredPairs:
    """What users have held out, and their negatives; `users` as numbers, others of `_compare`."""
    values = scores.cpu().numpy().astype(np.float64)
    rows = np.repeat(np.arange(len(users)), np.diff(held_out.indptr))
    of_held = values[rows, held_out.indices]
    of_others = np.take_along_axis(values, negatives.astype(np.int64), axis=1)
    is_held = np.repeat([True, False], [of_held.size, of_others.size])
    owners_of_others = np.repeat(users, negatives.shape[1])
    return ScoredPairs(
        scores=np.concatenate([of_held, of_others.ravel()]),
        chosen=is_held,
        owners=np.concatenate([users[rows], owners_of_others]),
    )
