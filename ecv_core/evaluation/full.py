"""Full ranking: every candidate is scored, and lists are the best of them all."""

from __future__ import annotations

import numpy as np
import scipy  # its parts load when they are used
from numpy.typing import NDArray

from ecv_core.evaluation.formulas import HIT_METRICS, NOVELTY_METRICS, Floats, Ranked, log_loss
from ecv_core.evaluation.metrics import METRICS, Kind
from ecv_core.evaluation.task import (
    Columns,
    EvaluatedFold,
    best_items,
    best_without_scores,
    candidate_scores,
    hits_of,
)

# Scores of all candidates -> how often a held-out item is ranked above the others, per user.


def block_auc(values: NDArray[np.float32], held_out: scipy.sparse.csr_array) -> NDArray[np.float64]:
    """The share of pairs (held-out item, other candidate) in which the held-out item is higher.

    A tie counts one half. Held-out items are not compared with each other.

    Args:
        values: scores, shape (users, items); -inf where the item is no candidate.
        held_out: the users' held-out items, at least one each; shape (users, items). One that is
            no candidate is below all candidates.
    Returns: shape (users,), in [0, 1]; 0.5 for a user without another candidate.
    Source: Hanley, McNeil (1982), as the Mann-Whitney statistic; per user as Rendle et al. (2009).
    """
    shares = np.full(len(values), 0.5)
    for user, row in enumerate(values):
        items = held_out.indices[held_out.indptr[user] : held_out.indptr[user + 1]]
        others = np.delete(row, items)
        others = np.sort(others[others > -np.inf])
        pairs = len(items) * len(others)
        if pairs:
            below = np.searchsorted(others, row[items]).sum()
            no_higher = np.searchsorted(others, row[items], side="right").sum()
            shares[user] = 1 - (pairs - (below + no_higher) / 2) / pairs
    return shares


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


USERS_AT_ONCE = 8192
"""Users whose metrics are computed together, to bound the memory of long lists."""


def full_ranking(task: EvaluatedFold) -> Columns:
    """The task's metrics; memory grows with users x the longest list, never users x items."""
    users, n = len(task.users), max(task.cutoffs)
    auc, loss = task.of_kind(Kind.RANKS), task.of_kind(Kind.PROBABILITIES)
    lists = len(task.metrics) > len(auc) + len(loss)
    items = np.full((users, n), -1, dtype=np.int32)
    columns: Columns = {name: np.empty(users) for name in (*auc, *loss)}
    done = 0
    ranked = None if auc or loss else best_without_scores(task, n)
    while ranked is not None and done < users:
        part = task.users[done : done + USERS_AT_ONCE]
        items[done : done + len(part)] = ranked(part)
        done += len(part)
        task.report(done)
    everything = None if task.candidates.all() else task.candidates
    for part, scores in candidate_scores(
        task.model.score, task.seen, task.users[done:], everything
    ):
        rows = slice(done, done + len(part))
        if auc or loss:
            values = scores if isinstance(scores, np.ndarray) else scores.float().cpu().numpy()
        for name in auc:
            columns[name][rows] = block_auc(values, task.held_out[part])
        for name in loss:
            columns[name][rows] = _loss(values, task, part)
        if lists:
            items[rows] = best_items(scores, n)
        done += len(part)
        task.report(done)
    return columns | of_lists(task, items)


def of_lists(task: EvaluatedFold, items: NDArray[np.int32]) -> Columns:
    """Those of the task's metrics that follow from users' lists.

    Args:
        task: its users own the lists.
        items: best first, -1 where a list is shorter; shape (users, at least the longest cut-off).
    """
    of_hits, novel = task.of_kind(Kind.HITS), task.of_kind(Kind.NOVELTY)
    columns: Columns = {
        name: np.zeros((len(task.users), len(task.cutoffs))) for name in (*of_hits, *novel)
    }
    held = np.diff(task.held_out.indptr)[task.users].astype(np.intp)
    for start in range(0, len(task.users), USERS_AT_ONCE):
        part = slice(start, start + USERS_AT_ONCE)
        hits = hits_of(task.users[part], items[part], task.held_out)
        some = np.flatnonzero(hits.any(axis=1))  # without a hit, the project's metrics are 0
        ranked = Ranked(hits=hits[some], held_out=held[part][some], cutoffs=task.cutoffs)
        every = Ranked(hits=hits, held_out=held[part], cutoffs=task.cutoffs)
        for name in of_hits:
            if METRICS[name].is_own:
                columns[name][part] = HIT_METRICS[name](every)
            else:
                columns[name][start + some] = HIT_METRICS[name](ranked)
        for name in novel:
            columns[name][start + some] = NOVELTY_METRICS[name](
                ranked, items[start + some], task.popularity
            )
    if names := task.of_kind(Kind.LISTS):
        counts = exposures(items, task.cutoffs, len(task.candidates))
        columns |= {name: LIST_METRICS[name](counts, task.candidates) for name in names}
    return columns


def _loss(scores: NDArray[np.float32], task: EvaluatedFold, users: NDArray[np.intp]) -> Floats:
    """Mean log loss of each user's candidates."""
    chosen = np.zeros(scores.shape, dtype=np.bool_)
    own = task.held_out[users]
    chosen[np.repeat(np.arange(len(users)), np.diff(own.indptr)), own.indices] = True
    counts = np.isfinite(scores)
    losses = np.where(counts, log_loss(np.where(counts, scores, 0.0), chosen), 0.0)
    return losses.sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
