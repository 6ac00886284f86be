"""Full ranking: every candidate is scored, and lists are the best of them all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ecv_core.evaluation.auc import block_auc
from ecv_core.evaluation.coverage import LIST_METRICS, exposures
from ecv_core.evaluation.metrics import Kind
from ecv_core.evaluation.novelty import NOVELTY_METRICS
from ecv_core.evaluation.ranking import HIT_METRICS, Ranked
from ecv_core.evaluation.rating import log_loss
from ecv_core.evaluation.task import Columns, Floats, Task
from ecv_core.evaluation.topn import best_items, candidate_scores, hits_of

USERS_AT_ONCE = 8192
"""Users whose metrics are computed together, to bound the memory of long lists."""


def full_ranking(task: Task) -> Columns:
    """The task's metrics; memory grows with users x the longest list, never users x items."""
    users, n = len(task.users), max(task.cutoffs)
    auc, loss = task.of_kind(Kind.RANKS), task.of_kind(Kind.PROBABILITIES)
    lists = len(task.metrics) > len(auc) + len(loss)
    items = np.full((users, n), -1, dtype=np.int32)
    hits = np.zeros((users, n), dtype=np.bool_)
    columns: Columns = {name: np.empty(users) for name in (*auc, *loss)}
    done = 0
    everything = None if task.candidates.all() else task.candidates
    for part, scores in candidate_scores(task.score, task.seen, task.users, everything):
        rows = slice(done, done + len(part))
        for name in auc:
            columns[name][rows] = block_auc(scores, task.held_out[part])
        for name in loss:
            columns[name][rows] = _loss(scores.float().cpu().numpy(), task, part)
        if lists:
            best = best_items(scores, n)
            items[rows] = best
            hits[rows] = hits_of(part, best, task.held_out)
        done += len(part)
        task.report(done)
    return columns | of_lists(task, items, hits)


def of_lists(task: Task, items: NDArray[np.int32], hits: NDArray[np.bool_]) -> Columns:
    """Those of the task's metrics that follow from users' lists.

    Args:
        task: its users own the lists.
        items: best first, -1 where a list is shorter; shape (users, at least the longest cut-off).
        hits: whether they are held out; same shape.
    """
    of_hits, novel = task.of_kind(Kind.HITS), task.of_kind(Kind.NOVELTY)
    columns: Columns = {
        name: np.empty((len(task.users), len(task.cutoffs))) for name in (*of_hits, *novel)
    }
    held = np.diff(task.held_out.indptr)[task.users].astype(np.intp)
    for start in range(0, len(task.users), USERS_AT_ONCE):
        part = slice(start, start + USERS_AT_ONCE)
        ranked = Ranked(hits=hits[part], held_out=held[part], cutoffs=task.cutoffs)
        for name in of_hits:
            columns[name][part] = HIT_METRICS[name](ranked)
        for name in novel:
            columns[name][part] = NOVELTY_METRICS[name](ranked, items[part], task.popularity)
    if names := task.of_kind(Kind.LISTS):
        counts = exposures(items, task.cutoffs, len(task.candidates))
        columns |= {name: LIST_METRICS[name](counts, task.candidates) for name in names}
    return columns


def _loss(scores: NDArray[np.float32], task: Task, users: NDArray[np.intp]) -> Floats:
    """Mean log loss of each user's candidates."""
    chosen = np.zeros(scores.shape, dtype=np.bool_)
    own = task.held_out[users]
    chosen[np.repeat(np.arange(len(users)), np.diff(own.indptr)), own.indices] = True
    counts = np.isfinite(scores)
    losses = np.where(counts, log_loss(np.where(counts, scores, 0.0), chosen), 0.0)
    mean: Floats = losses.sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
    return mean
