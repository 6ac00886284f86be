"""Runs with made-up fold scores, as if they had been recorded."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest

from ecv_core.fold.spec import make_spec
from ecv_core.records.run import Energy, FoldResult, RunRecord, RunState


@pytest.fixture
def make_run() -> Callable[..., RunRecord]:
    return recorded


def recorded(
    scores: Sequence[float],
    joules: Sequence[float] | None = None,
    *,
    dataset: str = "synthetic",
    algorithm: str = "popular",
) -> RunRecord:
    costs = joules or [10.0] * len(scores)
    folds = tuple(
        FoldResult(
            fold=index,
            score=score,
            metrics={},
            users=10,
            fit_seconds=1.0,
            evaluate_seconds=1.0,
            total_seconds=2.0,
            energy=Energy(
                joules=cost,
                cpu_joules=cost,
                gpu_joules=0.0,
                ram_joules=0.0,
                grams_co2e=0.0,
                source="cpu-load",
            ),
        )
        for index, (score, cost) in enumerate(zip(scores, costs, strict=True))
    )
    return RunRecord(
        run_id=f"{dataset}-{algorithm}",
        spec=make_spec(dataset=dataset, algorithm=algorithm, k=len(scores)),
        state=RunState.FINISHED,
        folds=folds,
        created_at=datetime.now(UTC),
    )
