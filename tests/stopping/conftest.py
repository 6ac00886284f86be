import pytest

from ecv_core.records.run import Energy, FoldResult


def _fold_results(scores):
    """Fold results with these scores, in this order."""
    return [
        FoldResult(
            fold=fold,
            score=score,
            metrics={"ndcg@10": score},
            users=100,
            fit_seconds=1.0,
            evaluate_seconds=1.0,
            total_seconds=2.0,
            energy=Energy.none(),
        )
        for fold, score in enumerate(scores)
    ]


@pytest.fixture(scope="session")
def fold_results():
    return _fold_results
