"""Full ranking: every candidate is scored, and lists are the best of them all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy  # its parts load when they are used
from numpy.typing import NDArray

from ecv_core.evaluation.formulas import HIT_METRICS, NOVELTY_METRICS, Floats, Ranked, log_loss
from ecv_core.evaluation.metrics import METRICS, Kind
from ecv_core.evaluation.protocol import Columns, EvaluatedFold
from ecv_core.evaluation.ranking import Lists, best_items, candidate_scores, hits_of
from ecv_core.evaluation.shortcuts import USERS_AT_ONCE, ranked_blocks

# Scores of all candidates -> where held-out items are among them all, per user.


def block_auc(
    scores: NDArray[np.floating], held_out: scipy.sparse.csr_array, candidates: NDArray[np.bool_]
) -> Floats:
    """The share of pairs (held-out item, other candidate) in which the held-out item is higher.

    A tie counts one half. Held-out items are not compared with each other. -inf is below every
    number, and two of them tie.

    Args:
        scores: shape (users, items); -inf where the item is no candidate.
        held_out: the users' held-out items, at least one each; shape (users, items).
        candidates: which items are candidates of the user; shape (users, items).
    Returns: shape (users,), in [0, 1]; 0.5 for a user without another candidate.
    Source: Hanley, McNeil (1982), as the Mann-Whitney statistic; per user as Rendle et al. (2009).
    """
    shares = np.full(len(scores), 0.5)
    for user, row in enumerate(scores):
        items = held_out.indices[held_out.indptr[user] : held_out.indptr[user + 1]]
        is_other = candidates[user].copy()
        is_other[items] = False
        others = np.sort(row[is_other])
        pairs = len(items) * len(others)
        if pairs:
            below = np.searchsorted(others, row[items]).sum()
            no_higher = np.searchsorted(others, row[items], side="right").sum()
            shares[user] = 1 - (pairs - (below + no_higher) / 2) / pairs
    return shares


def block_log_loss(
    log_odds: NDArray[np.floating], held_out: scipy.sparse.csr_array, candidates: NDArray[np.bool_]
) -> Floats:
    """Mean log loss of each user's candidates; arguments as of `block_auc`; shape (users,)."""
    chosen = held_out.toarray() != 0
    losses = np.where(candidates, log_loss(log_odds, chosen), 0.0)
    return losses.sum(axis=1) / np.maximum(candidates.sum(axis=1), 1)


# All users' lists together -> how much of the catalogue they use, and how evenly.


def exposures(
    items: NDArray[np.integer], cutoffs: tuple[int, ...], n_items: int
) -> NDArray[np.intp]:
    """In how many lists of each length each item is.

    Args:
        items: the item at each rank, -1 where there is none; shape (users, n).
        cutoffs: list lengths, in ascending order, at most n.
        n_items: items of the dataset.
    Returns: shape (cutoffs, items).
    """
    counts = np.zeros((len(cutoffs), n_items), dtype=np.intp)
    start = 0
    for row, end in enumerate(cutoffs):
        listed = items[:, start:end].ravel() + 1  # an empty place becomes 0 and is left out
        counts[row] = np.bincount(listed, minlength=n_items + 1)[1:]
        start = end
    return np.cumsum(counts, axis=0)


def item_coverage(counts: NDArray[np.intp], candidates: NDArray[np.bool_]) -> Floats:
    """Share of the candidate items that are in at least one user's list.

    Args:
        counts: as from `exposures`.
        candidates: which items may be recommended; shape (items,).
    Returns: shape (cutoffs,), in [0, 1].
    Source: Ge, Delgado-Battenfeld, Jannach (2010), catalogue coverage.
    """
    return (counts[:, candidates] > 0).mean(axis=1)


def gini(counts: NDArray[np.intp], candidates: NDArray[np.bool_]) -> Floats:
    """How unevenly the places of all lists are spread over the candidate items.

    Arguments as for `item_coverage`.
    Returns: shape (cutoffs,); 0 where every item has as many places, (m - 1) / m where one of m
        items has all of them; 0 for lists without an item.
    Source: Gini index as Adomavicius & Kwon (2012) and Castells et al. (2015) use it.
    """
    ordered = np.sort(counts[:, candidates], axis=1)
    m = ordered.shape[1]
    weights = 2 * np.arange(1, m + 1) - m - 1
    places = ordered.sum(axis=1)
    return (ordered @ weights) / (m * np.maximum(places, 1))


LIST_METRICS = {"coverage": item_coverage, "gini": gini}
"""Their kernels, by the metric's id."""


def full_ranking(fold: EvaluatedFold) -> Columns:
    """The fold's metrics; memory grows with users x the longest list, never users x items."""
    of_scores = [*fold.of_kind(Kind.RANKS), *fold.of_kind(Kind.PROBABILITIES)]
    columns = {name: np.empty(len(fold.users)) for name in of_scores}
    lists = np.full((len(fold.users), max(fold.cutoffs)), -1, dtype=np.int32)
    n = min(max(fold.cutoffs), len(fold.candidates))
    blocks = ranked_blocks(fold, n)
    if of_scores:
        blocks = _scored_blocks(fold, n, columns)
    done = 0
    for users, best in blocks:
        lists[done : done + len(users), :n] = best
        done += len(users)
        fold.report(done)
    return columns | of_lists(fold, lists)


def _scored_blocks(
    fold: EvaluatedFold, n: int, columns: Columns
) -> Iterator[tuple[NDArray[np.intp], Lists]]:
    """All users' lists, block by block, and on the way the metrics that need every score.

    Args:
        n: length of a list.
        columns: metric -> shape (users,); filled.
    """
    done = 0
    blocks = candidate_scores(fold.model.score, fold.seen, fold.users, fold.candidates)
    for users, scores in blocks:
        values = scores if isinstance(scores, np.ndarray) else scores.cpu().numpy()
        rows = slice(done, done + len(users))
        candidates = fold.seen[users].toarray() == 0
        candidates &= fold.candidates
        held_out = fold.held_out[users]
        for name in fold.of_kind(Kind.RANKS):
            columns[name][rows] = block_auc(values, held_out, candidates)
        for name in fold.of_kind(Kind.PROBABILITIES):
            columns[name][rows] = block_log_loss(values, held_out, candidates)
        yield users, best_items(scores, n, compiled=fold.compiled)
        done += len(users)


def of_lists(fold: EvaluatedFold, items: NDArray[np.int32]) -> Columns:
    """Those of the fold's metrics that follow from users' lists.

    Args:
        fold: its users own the lists.
        items: best first, -1 where a list is shorter; shape (users, at least the longest cut-off).
    """
    of_hits = fold.of_kind(Kind.HITS)
    novel = fold.of_kind(Kind.NOVELTY)
    of_all_lists = fold.of_kind(Kind.LISTS)
    shape = (len(fold.users), len(fold.cutoffs))
    columns: Columns = {name: np.zeros(shape) for name in (*of_hits, *novel)}
    held = np.diff(fold.held_out.indptr)[fold.users].astype(np.intp)
    for start in range(0, len(fold.users), USERS_AT_ONCE):
        part = slice(start, start + USERS_AT_ONCE)
        hits = hits_of(fold.users[part], items[part], fold.held_out)
        every = Ranked(hits=hits, held_out=held[part], cutoffs=fold.cutoffs)
        hit = np.flatnonzero(hits.any(axis=1))  # without a hit, the project's metrics are 0
        ranked = Ranked(hits=hits[hit], held_out=held[part][hit], cutoffs=fold.cutoffs)
        for name in of_hits:
            if METRICS[name].is_own:
                columns[name][part] = HIT_METRICS[name](every)
            else:
                columns[name][start + hit] = HIT_METRICS[name](ranked)
        for name in novel:
            columns[name][start + hit] = NOVELTY_METRICS[name](
                ranked, items[start + hit], fold.popularity
            )
    if of_all_lists:
        counts = exposures(items, fold.cutoffs, len(fold.candidates))
        columns |= {name: LIST_METRICS[name](counts, fold.candidates) for name in of_all_lists}
    return columns
