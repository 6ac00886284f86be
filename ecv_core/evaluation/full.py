"""Full ranking: every candidate is scored, and lists are the best of them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ecv_core.evaluation.formulas import (
    GAINS,
    NOVELTY_METRICS,
    POPULARITY_METRICS,
    Graded,
    Lists,
    Ranked,
    graded_ndcg,
    log_loss,
)
from ecv_core.evaluation.metrics import METRICS, Kind
from ecv_core.evaluation.pairs import ScoredPairs
from ecv_core.evaluation.protocol import Columns, EvaluatedFold
from ecv_core.evaluation.ranking import (
    best_items,
    best_of_array,
    candidate_scores,
    hits_of,
    items_of,
)
from ecv_core.evaluation.shortcuts import USERS_AT_ONCE, ranked_blocks
from ecv_core.records.arrays import AnyFloats, Codes, Counts, Floats, Indices, Mask

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Scores of all candidates -> where held-out items are among them all, per user.


def block_auc(scores: AnyFloats, held_out: csr_array, candidates: Mask) -> Floats:
    """The share of pairs (held-out item, other candidate) in which the held-out item is higher.

    A tie counts one half. Held-out items are not compared with each other. -inf is below every
    number, and two of them tie.

    Args:
        scores: Shape (users, items); -inf where the item is no candidate.
        held_out: The users' held-out items, at least one each; shape (users, items).
        candidates: Which items are candidates of the user; shape (users, items).

    Returns:
        Shape (users,), in [0, 1]; 0.5 for a user without another candidate.
    Source: Hanley, McNeil (1982), as the Mann-Whitney statistic; per user as Rendle et al. (2009).
    """
    shares = np.full(len(scores), 0.5)
    for user, row in enumerate(scores):
        items = items_of(held_out, user)
        is_other = candidates[user].copy()
        is_other[items] = False
        others = np.sort(row[is_other])
        pairs = len(items) * len(others)
        if pairs:
            lower_others = np.searchsorted(others, row[items]).sum()
            lower_or_tied_others = np.searchsorted(others, row[items], side="right").sum()
            # A pair whose other item is lower is in both counts, and a tied one in one of them. So
            # half of their sum counts a tie one half.
            shares[user] = 1 - (pairs - (lower_others + lower_or_tied_others) / 2) / pairs
    return shares


def block_auc_of_two(scores: AnyFloats, held_out: csr_array, candidates: Mask) -> Floats:
    """As `block_auc`, but NaN for a user without another candidate, who has no AUC to weigh."""
    is_other = candidates & (held_out.toarray() == 0)
    return np.where(is_other.any(axis=1), block_auc(scores, held_out, candidates), np.nan)


def block_r_precision(scores: AnyFloats, held_out: csr_array, candidates: Mask) -> Floats:
    """Of each user's first |H| items, the share that is held out.

    Arguments as of `block_auc`.

    Returns:
        Shape (users,), in [0, 1].
    """
    shares = np.empty(len(scores))
    for user, row in enumerate(scores):
        items = items_of(held_out, user)
        best = best_of_array(row[None], len(items))
        shares[user] = np.isin(best, items).mean()
    return shares


RANK_METRICS = {
    "auc": block_auc,
    "grouped-auc": block_auc_of_two,
    "r-precision": block_r_precision,
}
"""Their kernels, by the metric's id."""


def block_log_loss(log_odds: AnyFloats, held_out: csr_array, candidates: Mask) -> Floats:
    """Mean log loss of each user's candidates; arguments as of `block_auc`; shape (users,)."""
    chosen = held_out.toarray() != 0
    losses = np.where(candidates, log_loss(log_odds, chosen), 0.0)
    return losses.sum(axis=1) / np.maximum(candidates.sum(axis=1), 1)


# All users' lists together -> how much of the catalogue they use, and how evenly.


def exposures(items: Lists, cutoffs: tuple[int, ...], n_items: int) -> Indices:
    """In how many lists of each length each item is.

    Args:
        items: The item at each rank, -1 where there is none; shape (users, n).
        cutoffs: List lengths, in ascending order, at most n.
        n_items: Items of the dataset.

    Returns:
        Shape (cutoffs, items).
    """
    counts = np.zeros((len(cutoffs), n_items), dtype=np.intp)
    start = 0
    for row, end in enumerate(cutoffs):
        # Only the ranks are counted that this list has beyond the shorter list before it. The sum
        # over the lists up to each length follows at the end.
        listed = items[:, start:end].ravel() + 1  # an empty place becomes 0 and is left out
        counts[row] = np.bincount(listed, minlength=n_items + 1)[1:]
        start = end
    return np.cumsum(counts, axis=0)


def item_coverage(counts: Counts, candidates: Mask) -> Floats:
    """Share of the candidate items that are in at least one user's list.

    Args:
        counts: As from `exposures`.
        candidates: Which items may be recommended; shape (items,).

    Returns:
        Shape (cutoffs,), in [0, 1].
    Source: Ge, Delgado-Battenfeld, Jannach (2010), catalogue coverage.
    """
    return (counts[:, candidates] > 0).mean(axis=1)


def gini(counts: Counts, candidates: Mask) -> Floats:
    """How unevenly the places of all lists are spread over the candidate items.

    Arguments as for `item_coverage`.

    Returns:
        Shape (cutoffs,); 0 where every item has as many places, (m - 1) / m where one of m items
        has all of them; 0 for lists without an item.
    Source: Gini index as Adomavicius & Kwon (2012) and Castells et al. (2015) use it.
    """
    ascending = np.sort(counts[:, candidates], axis=1)
    item_count = ascending.shape[1]
    # The Gini index of sorted numbers: each weighs by how many are below it, less those above it.
    weights = 2 * np.arange(1, item_count + 1) - item_count - 1
    totals = ascending.sum(axis=1)
    return (ascending @ weights) / (item_count * np.maximum(totals, 1))


LIST_METRICS = {"coverage": item_coverage, "gini": gini}
"""Their kernels, by the metric's id."""


def full_ranking(fold: EvaluatedFold) -> Columns:
    """The fold's metrics; memory grows with users x the longest list, never users x items."""
    columns: Columns = {}
    for name in [*fold.of_kind(Kind.RANKS), *fold.of_kind(Kind.PROBABILITIES)]:
        columns[name] = np.empty(len(fold.users))
    lists = np.full((len(fold.users), max(fold.cutoffs)), -1, dtype=np.int32)
    n = min(max(fold.cutoffs), len(fold.candidates))
    if columns or fold.of_kind(Kind.PAIRS):
        # Going through these blocks below also fills the columns, and adds to the fold's pairs.
        blocks = _blocks_with_every_score(fold, n, columns)
    else:
        blocks = ranked_blocks(fold, n)
    done = 0
    for users, best in blocks:
        lists[done : done + len(users), :n] = best
        done += len(users)
        fold.report(done)
    return columns | metrics_of_lists(fold, lists)


def _blocks_with_every_score(
    fold: EvaluatedFold, n: int, columns: Columns
) -> Iterator[tuple[Indices, Lists]]:
    """All users' lists, block by block, and on the way the metrics that need every score.

    Args:
        fold: Its pairs are added to, where metrics need them.
        n: Length of a list.
        columns: Metric -> shape (users,); filled in place, block by block.
    """
    done = 0
    blocks = candidate_scores(fold.model.score, fold.seen, fold.users, fold.candidates)
    for users, scores in blocks:
        values = scores
        if not isinstance(values, np.ndarray):  # A tensor may be on a GPU.
            values = values.cpu().numpy()
        rows = slice(done, done + len(users))
        candidates = fold.seen[users].toarray() == 0
        candidates &= fold.candidates
        held_out = fold.held_out[users]
        for name in fold.of_kind(Kind.RANKS):
            columns[name][rows] = RANK_METRICS[name](values, held_out, candidates)
        for name in fold.of_kind(Kind.PROBABILITIES):
            columns[name][rows] = block_log_loss(values, held_out, candidates)
        if fold.of_kind(Kind.PAIRS):
            fold.pairs.append(block_pairs(values, users, held_out, candidates))
        yield users, best_items(scores, n, compiled=fold.compiled)
        done += len(users)


def block_pairs(
    scores: AnyFloats,
    users: Indices,
    held_out: csr_array,
    candidates: Mask,
) -> ScoredPairs:
    """What users have held out, candidates or not, and their other candidates.

    Args:
        scores, held_out, candidates: as of `block_auc`.
        users: Their numbers, shape (users,).
    """
    is_held_out = held_out.toarray() != 0
    is_pair = candidates | is_held_out
    return ScoredPairs(
        scores=scores[is_pair].astype(np.float64),
        is_held_out=is_held_out[is_pair],
        users=np.repeat(users, is_pair.sum(axis=1)),
    )


def metrics_of_lists(fold: EvaluatedFold, items: Codes) -> Columns:
    """Those of the fold's metrics that follow from users' lists.

    Args:
        fold: Its users own the lists.
        items: Best first, -1 where a list is shorter; shape (users, at least the longest cut-off).
    """
    columns: Columns = {}
    for kind in (Kind.HITS, Kind.GAINS, Kind.NOVELTY, Kind.POPULARITY):
        for name in fold.of_kind(kind):
            columns[name] = np.zeros((len(fold.users), len(fold.cutoffs)))
    for start in range(0, len(fold.users), USERS_AT_ONCE):
        rows = np.arange(start, min(start + USERS_AT_ONCE, len(fold.users)))
        ranked = _ranked_lists(fold, rows, items[rows])
        for name, values in _metrics_of_every_list(fold, ranked, items[rows]).items():
            columns[name][rows] = values
        # The other metrics are 0 without a hit, and most lists have none.
        has_hit = ranked.hits.any(axis=1)
        rows = rows[has_hit]
        ranked = replace(ranked, hits=ranked.hits[has_hit], held_out=ranked.held_out[has_hit])
        for name, values in _metrics_of_lists_with_hits(fold, rows, ranked, items[rows]).items():
            columns[name][rows] = values
    metrics_of_all_lists = fold.of_kind(Kind.LISTS)
    if metrics_of_all_lists:
        counts = exposures(items, fold.cutoffs, len(fold.candidates))
        for name in metrics_of_all_lists:
            columns[name] = LIST_METRICS[name](counts, fold.candidates)
    return columns


def _ranked_lists(fold: EvaluatedFold, rows: Indices, items: Lists) -> Ranked:
    """The lists of some users of a fold against what they have held out.

    Args:
        fold: Its users own the lists.
        rows: Which of them; shape (users,).
        items: Best first; shape (users, n).
    """
    users = fold.users[rows]
    held_out = fold.held_out.indptr[users + 1] - fold.held_out.indptr[users]
    return Ranked(
        hits=hits_of(users, items, fold.held_out),
        held_out=held_out.astype(np.intp),
        cutoffs=fold.cutoffs,
    )


def _metrics_of_every_list(fold: EvaluatedFold, ranked: Ranked, items: Lists) -> Columns:
    """Metrics that a list without a hit has too, of some users' lists."""
    columns = {}
    for name in fold.of_kind(Kind.HITS):
        # A custom metric is a function of somebody else, which need not give 0 without a hit.
        if METRICS[name].is_custom:
            columns[name] = METRICS[name].at_cutoffs(ranked)
    for name in fold.of_kind(Kind.POPULARITY):
        columns[name] = POPULARITY_METRICS[name](items, fold.cutoffs, fold.popularity)
    return columns


def _metrics_of_lists_with_hits(
    fold: EvaluatedFold, rows: Indices, ranked: Ranked, items: Lists
) -> Columns:
    """Metrics that are 0 without a hit, of some lists with hits.

    Args:
        fold: Its users own the lists.
        rows: Which of them; shape (users,).
        ranked: Their lists.
        items: Best first; shape (users, n).
    """
    columns = {}
    for name in fold.of_kind(Kind.HITS):
        if not METRICS[name].is_custom:  # custom ones are computed for every list
            columns[name] = METRICS[name].at_cutoffs(ranked)
    for name in fold.of_kind(Kind.NOVELTY):
        columns[name] = NOVELTY_METRICS[name](ranked, items, fold.popularity)
    graded_metrics = fold.of_kind(Kind.GAINS)
    if graded_metrics:
        graded = graded_lists(fold, fold.users[rows], items, ranked.hits)
        for name in graded_metrics:
            columns[name] = graded_ndcg(graded, GAINS[name])
    return columns


def graded_lists(
    fold: EvaluatedFold,
    users: Indices,
    items: Lists,
    hits: Mask,
) -> Graded:
    """The ratings of what users' lists hit, and those of perfect lists.

    Args:
        fold: With ratings.
        users: Whose lists they are; shape (users,).
        items: Best first; shape (users, n).
        hits: Which of them are held out; same shape.
    """
    assert fold.ratings is not None  # without ratings `evaluate` refuses metrics of gains
    rows, ranks = np.nonzero(hits)
    ratings = np.zeros(hits.shape)
    ideal = np.zeros(hits.shape)
    ratings[rows, ranks] = fold.ratings[users[rows], items[rows, ranks]]
    ratings_of_users = fold.ratings[users]
    starts = ratings_of_users.indptr
    for row in range(len(users)):
        ratings_of_user = ratings_of_users.data[starts[row] : starts[row + 1]]
        highest = np.sort(ratings_of_user)[::-1][: hits.shape[1]]
        ideal[row, : len(highest)] = highest
    return Graded(ratings=ratings, ideal=ideal, cutoffs=fold.cutoffs)
