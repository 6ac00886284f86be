"""Sampled ranking: held-out items against negatives drawn for their user, alone or pooled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import scipy  # its parts load when they are used

from ecv_core.evaluation.formulas import Ranked, log_loss
from ecv_core.evaluation.full import full_ranking
from ecv_core.evaluation.metrics import METRICS, Kind
from ecv_core.evaluation.pairs import ScoredPairs
from ecv_core.evaluation.protocol import Columns, EvaluatedFold
from ecv_core.evaluation.ranking import BLOCK_CELLS, check_finite, items_of
from ecv_core.records.arrays import Codes, Counts, Floats, Indices, Mask, rows_of_entries
from ecv_core.records.errors import InputError

if TYPE_CHECKING:
    import torch
    from scipy.sparse import csr_array


# What users have -> negatives to rank their held-out items against, drawn by a seed.


USERS_AT_ONCE = 128
"""Users of one draw. Part of what a seed means: another number gives other negatives."""
DRAWS_PER_NEGATIVE = {"uniform": 2, "popularity": 3}
"""So many times the negatives are drawn at first, for those that turn out seen or repeated."""

_FURTHER_DRAWS = 8
"""So many more, which matter where few negatives are asked for."""
_STREAM_OF_NEGATIVES = 7_112
"""A part of the seed, which keeps these random numbers apart from others of the same seed."""


def draw_negatives(fold: EvaluatedFold) -> Iterator[Codes]:
    """Each user's negatives: candidates that the user has neither seen nor held out.

    They are drawn one after the other without replacement, with equal chances, or with chances in
    proportion to an item's training interactions. They depend on the data, the users and the seed
    alone.

    Args:
        fold: Under a protocol with a number of negatives.

    Returns:
        Blocks of up to USERS_AT_ONCE users; each of shape (block, negatives), all different within
        a row.

    Raises:
        InputError: If a user has fewer candidates left than negatives are asked for.
    """
    protocol = fold.protocol
    negative_count = protocol.negatives or 0
    # An item that is no candidate has the weight 0, and is never drawn.
    item_weights = fold.candidates.astype(np.intp)
    if protocol.sampling == "popularity":
        item_weights *= fold.popularity.counts
    _check_enough_negatives(fold, item_weights > 0, negative_count)
    # An item of weight 3 is in the bag three times, so that a draw from the bag gives it with three
    # times the chance of an item of weight 1.
    bag = np.repeat(np.arange(len(item_weights), dtype=np.int32), item_weights)
    # More items are drawn than are needed, because a draw of the user's own items, or of an item
    # that was drawn before, does not count. There are never more draws than items: where too few of
    # these draws count, `_fill_up` chooses the items that are missing.
    draw_count = DRAWS_PER_NEGATIVE[protocol.sampling] * negative_count + _FURTHER_DRAWS
    draw_count = min(draw_count, len(item_weights))
    for start in range(0, len(fold.users), USERS_AT_ONCE):
        users = fold.users[start : start + USERS_AT_ONCE]
        rng = np.random.default_rng([protocol.seed, _STREAM_OF_NEGATIVES, start])
        bag_indices = rng.integers(0, len(bag), (len(users), draw_count), dtype=np.int32)
        # Reversed only so that a seed keeps the negatives that it has had in earlier versions.
        draws = bag[bag_indices[:, ::-1]]
        own_items = []
        for user in users:
            own_items.append(_own_items(fold, user))
        negatives = _first_other_items(draws, own_items, negative_count, len(item_weights))
        _fill_up(negatives, own_items, item_weights, rng)  # This changes `negatives` in place.
        yield negatives


def _own_items(fold: EvaluatedFold, user: int) -> Codes:
    """The items that a user has seen or held out, which are no negatives."""
    return np.concatenate([items_of(fold.seen, user), items_of(fold.held_out, user)])


def _first_other_items(
    draws: Codes, own_items: Sequence[Codes], wanted: int, n_items: int
) -> Codes:
    """Of each user the first different items drawn that are not the user's own.

    Args:
        draws: Item numbers in the order of the draws; shape (users, draws).
        own_items: For each user, the items seen or held out, which are no negatives.
        wanted: Items of each user.
        n_items: How many there are.

    Returns:
        Shape (users, wanted); -1 at the end of a row in which too few were drawn.
    """
    negatives = np.full((len(draws), wanted), -1, dtype=np.int32)
    is_own = np.zeros(n_items, dtype=np.bool_)  # It serves one user after the other.
    for row, draws_of_user in enumerate(draws):
        is_own[own_items[row]] = True
        other_draws = draws_of_user[~is_own[draws_of_user]]
        is_own[own_items[row]] = False  # The next user begins with no item.
        # If an item was drawn several times, its first draw counts.
        _, first_draws = np.unique(other_draws, return_index=True)
        items = other_draws[np.sort(first_draws)][:wanted]
        negatives[row, : len(items)] = items
    return negatives


def _fill_up(
    negatives: Codes, own_items: Sequence[Codes], item_weights: Counts, rng: np.random.Generator
) -> None:
    """Complete, in place, the rows in which too few different items were drawn.

    Args:
        negatives: Shape (users, negatives); -1 at the end of a row where items are missing.
        own_items: For each user, the items seen or held out, which are no negatives.
        item_weights: The chances of the items, up to a factor; shape (items,).
        rng: Draws the waiting times.
    """
    short_rows = np.flatnonzero(negatives[:, -1] < 0)
    # The missing items are drawn without replacement by their weights. Items that are sorted by
    # exponential waiting times, each divided by the item's weight, come in the order of such draws
    # (Efraimidis, Spirakis 2006).
    waits_of_rows = rng.standard_exponential((len(short_rows), len(item_weights)))
    for row, waits in zip(short_rows.tolist(), waits_of_rows, strict=True):
        count = np.count_nonzero(negatives[row] >= 0)
        with np.errstate(divide="ignore"):
            waits /= item_weights
        # An item that waits forever is never drawn.
        waits[own_items[row]] = np.inf
        waits[negatives[row, :count]] = np.inf
        missing = negatives.shape[1] - count
        negatives[row, count:] = np.argsort(waits)[:missing]


def _ones_at(matrix: csr_array) -> csr_array:
    """The same matrix with 1 wherever something is stored, a zero too."""
    entries = np.ones(len(matrix.indices), dtype=np.int8)
    return scipy.sparse.csr_array((entries, matrix.indices, matrix.indptr), shape=matrix.shape)


def _check_enough_negatives(fold: EvaluatedFold, drawable: Mask, wanted: int) -> None:
    """Refuse more negatives than some user has items left to draw from. Raises: InputError.

    Args:
        fold: With users to draw for.
        drawable: Which items may be drawn; shape (items,).
        wanted: Negatives of a user.
    """
    # An item that a user has seen and that is held out as well counts only once.
    own_items = _ones_at(_ones_at(fold.seen) + _ones_at(fold.held_out))
    drawable_own_items = own_items @ drawable.astype(np.intp)
    items_to_draw = drawable.sum() - drawable_own_items[fold.users]
    most = int(items_to_draw.min(initial=wanted))
    if most < wanted:
        kind = ""
        if fold.protocol.sampling == "popularity":
            kind = "with a training interaction "
        raise InputError(
            f"{wanted:,} negatives are asked for, but the user with most interactions has only "
            f"{most:,} other candidate items {kind}left to draw from; ask for at most {most:,}, "
            "or leave the number out for full ranking"
        )


COMPARISONS_AT_ONCE = 500_000
"""Scores of held-out items and negatives compared at once: 2 MB, so that they stay in cache."""


def sampled_ranking(fold: EvaluatedFold) -> Columns:
    """The metrics of a fold whose held-out items are ranked against sampled negatives.

    Raises:
        InputError: For more negatives than there are.
        RunError: For scores that are not finite.
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
    columns_of_blocks = []
    _check_enough_negatives(fold, fold.candidates, wanted=1)
    for start in range(0, len(fold.users), USERS_AT_ONCE):
        users = fold.users[start : start + USERS_AT_ONCE]
        rng = np.random.default_rng([protocol.seed, _STREAM_OF_NEGATIVES, start])
        is_held_out = fold.held_out[users].toarray() != 0
        is_seen = fold.seen[users].toarray() != 0
        can_be_negative = fold.candidates & ~is_held_out & ~is_seen
        is_in_pool = is_held_out.copy()
        for row, items_to_draw in enumerate(can_be_negative):
            count = (protocol.negatives or 0) * int(is_held_out[row].sum())
            is_in_pool[row, rng.choice(np.flatnonzero(items_to_draw), count)] = True
        # What is in no pool counts as seen, so that a full ranking is one of the pool.
        rows, items = np.nonzero(~is_in_pool)
        not_in_pool = scipy.sparse.csr_array(
            (np.ones(len(rows)), (users[rows], items)), shape=fold.seen.shape
        )
        # The whole fold reports, not each of its blocks.
        pool = replace(fold, users=users, seen=not_in_pool, report=lambda _: None)
        columns_of_blocks.append(full_ranking(pool))
        fold.report(start + len(users))
    columns = {}
    for name in columns_of_blocks[0]:
        columns[name] = np.concatenate([block[name] for block in columns_of_blocks])
    return columns


def single_ranking(fold: EvaluatedFold) -> Columns:
    """The fold's metrics; every held-out item has a list of its own, averaged over a user's lists.

    Of equal scores the item with the lower number comes first, and -inf is in no list.
    """
    import torch

    blocks = []
    losses = []
    done = 0
    for negatives in _blocks_of_negatives(fold):
        users = fold.users[done : done + len(negatives)]
        scores = torch.as_tensor(fold.model.score(users))
        check_finite(bool(scores.max() < torch.inf))
        held_out: csr_array = fold.held_out[users]
        blocks.append(_compare_with_negatives(scores, negatives, held_out, fold.candidates))
        if fold.of_kind(Kind.PROBABILITIES):
            losses.append(_log_loss(scores, negatives, held_out))
        if fold.of_kind(Kind.PAIRS):
            fold.pairs.append(_scored_pairs(scores, users, negatives, held_out))
        done += len(users)
        fold.report(done)
    columns = _metric_columns(fold, Comparisons.joined(blocks))
    for name in fold.of_kind(Kind.PROBABILITIES):
        columns[name] = np.concatenate(losses)
    return columns


def _blocks_of_negatives(fold: EvaluatedFold) -> Iterator[Codes]:
    """The negatives of as many users as are scored at once; shape (users, negatives)."""
    # Each draw is of USERS_AT_ONCE users. As many draws are joined as can be scored at once.
    draws = draw_negatives(fold)
    draws_at_once = max(1, BLOCK_CELLS // (fold.seen.shape[1] * USERS_AT_ONCE))
    block = list(islice(draws, draws_at_once))
    while block:
        yield np.concatenate(block)
        block = list(islice(draws, draws_at_once))


def _metric_columns(fold: EvaluatedFold, comparisons: Comparisons) -> Columns:
    """The metrics of lists of one held-out item."""
    columns = dict(sampled_hits(comparisons, fold.cutoffs, fold.of_kind(Kind.HITS)))
    for name in fold.of_kind(Kind.GAINS):
        columns[name] = sampled_graded_ndcg(comparisons, fold)
    for name in fold.of_kind(Kind.RANKS):
        columns[name] = RANK_METRICS[name](comparisons)
    return columns


NOWHERE = np.iinfo(np.intp).max
"""The rank of an item that is in no list."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparisons:
    """How each held-out item compares with its user's negatives; arrays: shape (held-out items,).

    Every user has at least one held-out item.
    """

    user_count: int
    user_rows: Indices
    """The user's place among these users, from 0."""
    higher: Counts
    """Negatives with a higher score."""
    tied: Counts
    """Negatives with the same score."""
    ranks: Counts
    """The item's place in its list, from 1; NOWHERE for an item that is never recommended."""
    negatives_per_user: int

    @classmethod
    def joined(cls, blocks: Sequence[Comparisons]) -> Comparisons:
        """Those of one block of users after the other, who have as many negatives each."""
        user_count = 0
        user_rows = []
        for block in blocks:
            user_rows.append(block.user_rows + user_count)
            user_count += block.user_count
        return cls(
            user_count=user_count,
            user_rows=np.concatenate(user_rows),
            higher=np.concatenate([block.higher for block in blocks]),
            tied=np.concatenate([block.tied for block in blocks]),
            ranks=np.concatenate([block.ranks for block in blocks]),
            negatives_per_user=blocks[0].negatives_per_user,
        )


def sampled_hits(
    comparisons: Comparisons, cutoffs: Sequence[int], metrics: Sequence[str]
) -> Mapping[str, Floats]:
    """Metrics of lists of one held-out item and its negatives, averaged over a user's lists.

    With one relevant item a metric depends on its rank alone, so each is looked up by rank.

    Args:
        comparisons: The comparisons of all held-out items.
        cutoffs: List lengths, in ascending order.
        metrics: Metrics of hits.

    Returns:
        Metric -> shape (users, cutoffs), in [0, 1].
    """
    # A list has one relevant item, so its value depends on that item's rank alone and is looked up.
    # There is a list for each rank from 1 to n with the item there, and a last one without it.
    n = max(cutoffs)
    hits_by_rank = np.eye(n + 1, n, dtype=np.bool_)
    one_held_out = np.ones(n + 1, dtype=np.intp)
    ranked = Ranked(hits=hits_by_rank, held_out=one_held_out, cutoffs=tuple(cutoffs))
    # A user's value is the mean over the user's lists: that of each rank, times the share of the
    # user's held-out items that have the rank.
    rank_columns = np.minimum(comparisons.ranks, n + 1) - 1
    counts = np.zeros((comparisons.user_count, n + 1))
    np.add.at(counts, (comparisons.user_rows, rank_columns), 1)
    lists_of_users = counts.sum(axis=1, keepdims=True)
    shares = counts / lists_of_users
    return {name: shares @ METRICS[name].at_cutoffs(ranked) for name in metrics}


def sampled_auc(comparisons: Comparisons) -> Floats:
    """Share of pairs (held-out item, negative) with the held-out item higher; a tie is one half.

    Returns:
        Shape (users,), in [0, 1].
    """
    wins = 1 - (comparisons.higher + comparisons.tied / 2) / comparisons.negatives_per_user
    held_out_items = np.bincount(comparisons.user_rows)
    return np.bincount(comparisons.user_rows, weights=wins) / held_out_items


def sampled_r_precision(comparisons: Comparisons) -> Floats:
    """Share of the lists in which the held-out item is the first; shape (users,), in [0, 1]."""
    return sampled_hits(comparisons, [1], ["hit"])["hit"][:, 0]


RANK_METRICS = {
    "auc": sampled_auc,
    "grouped-auc": sampled_auc,
    "r-precision": sampled_r_precision,
}
"""Their kernels for lists of one held-out item, by the metric's id."""


def sampled_graded_ndcg(comparisons: Comparisons, fold: EvaluatedFold) -> Floats:
    """Graded nDCG of lists of one held-out item and its negatives, whatever the gain.

    Such a list is perfect where the item is the first, so this is nDCG; but an item that is not
    rated above 0 gains nothing.

    Returns:
        Shape (users, cutoffs), in [0, 1].
    """
    assert fold.ratings is not None  # without ratings `evaluate` refuses metrics of gains
    has_gain = fold.ratings[fold.users].data > 0
    # A list has one held-out item, whose gain also is the best list's: it cancels out, and leaves
    # plain nDCG. An item without a gain scores 0, as one does that the list leaves out.
    ranks = np.where(has_gain, comparisons.ranks, NOWHERE)
    comparisons_with_gain = replace(comparisons, ranks=ranks)
    return sampled_hits(comparisons_with_gain, fold.cutoffs, ["ndcg"])["ndcg"]


def _compare_with_negatives(
    scores: torch.Tensor,
    negatives: Codes,
    held_out: csr_array,
    candidates: Mask,
) -> Comparisons:
    """How the held-out items of a block of users compare with their negatives.

    Args:
        scores: Shape (users, items).
        negatives: Item numbers; shape (users, negatives).
        held_out: Shape (users, items).
        candidates: Which items may be recommended; shape (items,).
    """
    import torch

    device = scores.device
    negatives_per_user = negatives.shape[1]
    user_rows = rows_of_entries(held_out)
    rows = torch.from_numpy(user_rows).to(device)
    held_out_items = torch.from_numpy(held_out.indices.astype(np.int64)).to(device)
    held_out_scores = scores[rows, held_out_items]
    is_no_candidate = torch.from_numpy(~candidates[held_out.indices]).to(device)
    held_out_scores[is_no_candidate] = -torch.inf
    negative_items = torch.from_numpy(negatives.astype(np.int64)).to(device)
    negative_scores = scores.gather(1, negative_items)
    # Each held-out item is compared with all negatives of its user: as many items at once as fit.
    counts = []
    items_at_once = max(1, COMPARISONS_AT_ONCE // negatives_per_user)
    for start in range(0, len(rows), items_at_once):
        block = slice(start, start + items_at_once)
        counts_of_block = _count_negatives(
            held_out_items[block],
            held_out_scores[block],
            negative_items[rows[block]],
            negative_scores[rows[block]],
        )
        counts.append(counts_of_block)
    higher, tied, tied_before = torch.cat(counts, dim=1).long().cpu().numpy()
    # Items with equal scores come in the order of their numbers.
    ranks = 1 + higher + tied_before
    is_in_no_list = (held_out_scores == -torch.inf).cpu().numpy()
    ranks[is_in_no_list] = NOWHERE
    return Comparisons(
        user_count=len(negatives),
        user_rows=user_rows,
        higher=higher,
        tied=tied,
        ranks=ranks,
        negatives_per_user=negatives_per_user,
    )


def _count_negatives(
    items: torch.Tensor,
    scores: torch.Tensor,
    negative_items: torch.Tensor,
    negative_scores: torch.Tensor,
) -> torch.Tensor:
    """How many of its user's negatives each held-out item has above it, and on a par.

    Args:
        items: Numbers of held-out items; shape (items,).
        scores: Their scores; shape (items,).
        negative_items: The negatives of each item's user; shape (items, negatives).
        negative_scores: Their scores; shape (items, negatives).

    Returns:
        Shape (3, items): the negatives with a higher score; those with the same score; and of the
        latter those with a lower number than the item.
    """
    import torch

    is_higher = negative_scores > scores[:, None]
    is_tied = negative_scores == scores[:, None]
    is_tied_before = is_tied & (negative_items < items[:, None])
    # As floats, because torch adds them up several times faster than booleans.
    higher = is_higher.float().sum(dim=1)
    tied = is_tied.float().sum(dim=1)
    tied_before = is_tied_before.float().sum(dim=1)
    return torch.stack((higher, tied, tied_before))


def _log_loss(scores: torch.Tensor, negatives: Codes, held_out: csr_array) -> Floats:
    """Mean log loss of each user's lists, shape (users,); see `_compare_with_negatives`."""
    log_odds = scores.cpu().numpy()
    user_rows = rows_of_entries(held_out)
    held_out_losses = log_loss(log_odds[user_rows, held_out.indices], chosen=True)
    held_out_counts = np.bincount(user_rows)
    mean_loss = np.bincount(user_rows, weights=held_out_losses) / held_out_counts
    negative_log_odds = np.take_along_axis(log_odds, negatives.astype(np.int64), axis=1)
    negative_losses = log_loss(negative_log_odds, chosen=False)
    # Every list of a user has one held-out item and the same negatives.
    return (mean_loss + negative_losses.sum(axis=1)) / (negatives.shape[1] + 1)


def _scored_pairs(
    scores: torch.Tensor,
    users: Indices,
    negatives: Codes,
    held_out: csr_array,
) -> ScoredPairs:
    """What users have held out, and their negatives.

    Args:
        users: Their numbers; the other arguments are those of `_compare_with_negatives`.
    """
    values = scores.cpu().numpy().astype(np.float64)
    user_rows = rows_of_entries(held_out)
    held_out_scores = values[user_rows, held_out.indices]
    negative_scores = np.take_along_axis(values, negatives.astype(np.int64), axis=1)
    users_of_negatives = np.repeat(users, negatives.shape[1])
    return ScoredPairs(
        scores=np.concatenate([held_out_scores, negative_scores.ravel()]),
        is_held_out=np.repeat([True, False], [held_out_scores.size, negative_scores.size]),
        users=np.concatenate([users[user_rows], users_of_negatives]),
    )
