"""Runs with the scores that a test wants, without computing."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunRecord, RunState, UserScores
from tests.fake_folds import fold_result

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def a_run():
    """A complete run under a split, every fold with these metrics."""

    def make(split, algorithm, metrics, *, dataset="synthetic", **settings):
        spec = make_spec(dataset=dataset, algorithm=algorithm, split=split, full=True, **settings)
        folds = [replace(fold_result(fold, 0.0), metrics=metrics) for fold in range(spec.k)]
        return RunRecord(
            run_id=f"{dataset}-{algorithm}-{split}-{spec.k}",
            spec=spec,
            state=RunState.FINISHED,
            folds=tuple(folds),
            created_at=MOMENT,
        )

    return make


@pytest.fixture
def users_like():
    """Per-user scores of a run that spread evenly around each metric's mean."""

    def make(run, users=60, spread=0.02, seed=3):
        noise = np.random.default_rng(seed).normal(scale=spread, size=users)
        noise -= noise.mean()
        names = tuple(name for name in run.folds[0].metrics if not name.startswith("gini"))
        values = np.stack([run.folds[0].metrics[name] + noise for name in names], axis=1)
        scores = UserScores(
            users=np.arange(users, dtype=np.int32), metrics=names, values=values.astype(np.float32)
        )
        return {fold.fold: scores for fold in run.folds}

    return make
