"""A run with scores whose means are easy to work out by hand."""

from datetime import UTC, datetime

import pytest

from ecv_core.fold.spec import make_spec
from ecv_core.records.run import Energy, FoldResult, RunRecord, RunState
from ecv_core.stopping import LazyMoments


def fold_result(index, score, source="cpu-load"):
    """36 J each, which is 10 mWh; 0.5 g."""
    return FoldResult(
        fold=index,
        score=score,
        metrics={"ndcg@10": score, "recall@10": score / 2},
        users=943,
        fit_seconds=1.0,
        evaluate_seconds=0.5,
        total_seconds=2.0,
        energy=Energy(
            joules=36, cpu_joules=16, gpu_joules=0, ram_joules=20, grams_co2e=0.5, source=source
        ),
    )


@pytest.fixture
def a_run():
    def make(scores=(0.3, 0.32, 0.34), *, stopped_at=3, source="cpu-load", **settings):
        spec = make_spec(
            **{"dataset": "synthetic", "algorithm": "item-knn", "alpha": 1e-4, "k": 10} | settings
        )
        folds = tuple(fold_result(i, score, source) for i, score in enumerate(scores))
        return RunRecord(
            run_id="0123456789ab",
            spec=spec,
            state=RunState.FINISHED,
            folds=folds,
            moments=LazyMoments(spec, folds, stopped_at),
            created_at=datetime(2026, 3, 4, 5, 6, tzinfo=UTC),
            stopped_at=stopped_at,
        )

    return make


@pytest.fixture
def known():
    return {"e_fold": "0.1.0", "machine": "x86_64", "cores": 2, "python": "3.11.7"}
