"""The folds of a run -> its scores as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ecv_core import models
from ecv_core.evaluation import METRICS
from ecv_core.records import FoldResult, Run, RunSpec, Scores, user_table


def scores_of_run(run: Run) -> Scores:
    """The scores of a run's folds so far, with users' scores where its folds carry them."""
    scores = scores_of(run.spec, run.folds)
    return replace(scores, run_id=run.run_id, other_work=bool(run.other_work))


def scores_of(spec: RunSpec, results: Iterable[FoldResult]) -> Scores:
    """The scores of some folds of a spec, named after its algorithm and dataset.

    Args:
        spec: of them all.
        results: each fold once, in any order; with users' scores where they are known.
    """
    by_fold = tuple(sorted(results, key=lambda result: result.fold))
    folds, joules = np.full(spec.k, np.nan), np.full(spec.k, np.nan)
    for result in by_fold:
        folds[result.fold] = result.score
        if result.energy.source != "none":
            joules[result.fold] = result.energy.joules
    users = [result.user_scores for result in by_fold if result.user_scores is not None]
    ids = values = None
    if users and len(users) == len(by_fold) and all(spec.metric_name in u.metrics for u in users):
        ids, table = user_table(users, spec.metric_name)
        values = np.full((spec.k, len(ids)), np.nan, dtype=np.float32)
        values[[result.fold for result in by_fold]] = table
    scores = Scores(
        folds=folds,
        joules=joules,
        users=values,
        user_ids=ids,
        results=by_fold,
        random=models.of(spec).random,
        higher_is_better=METRICS[spec.metric].higher_is_better,
        name=f"{spec.algorithm} on {spec.dataset}",
        dataset=spec.dataset,
        algorithm=spec.algorithm,
        metric=spec.metric_name,
    )
    return scores if scores.costs is None else replace(scores, source=by_fold[0].energy.source)
