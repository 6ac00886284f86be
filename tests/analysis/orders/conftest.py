import itertools

import numpy as np
import pytest

from ecv_core.records.run import Energy, FoldResult, UserScores
from ecv_core.stopping import difference_percent, moments, stop_of


def _results(scores, users=None):
    found = []
    for fold, score in enumerate(scores):
        user_scores = None
        if users is not None:
            present = np.flatnonzero(~np.isnan(users[fold])).astype(np.int32)
            values = users[fold, present][:, None].astype(np.float32)
            user_scores = UserScores(users=present, metrics=("ndcg@10",), values=values)
        found.append(
            FoldResult(
                fold=fold,
                score=float(score),
                metrics={},
                users=1,
                fit_seconds=0.0,
                evaluate_seconds=0.0,
                total_seconds=0.0,
                energy=Energy.none(),
                user_scores=user_scores,
            )
        )
    return found


def _brute_force(scores, rule, *, users=None, costs=None, within=2.0, confidence=0.95):
    """Every order, one after the other, by the rule itself as it runs live."""
    k = len(scores)
    goal = float(np.mean(scores))
    costs = np.ones(k) if costs is None else np.asarray(costs)
    results = _results(scores, users)
    rows = []
    for order in itertools.permutations(range(k)):
        way = moments(rule, [results[fold] for fold in order], confidence)
        stop = stop_of(way, k)
        mean, interval = way[stop - 1].mean, way[stop - 1].interval
        difference = 0.0 if stop == k else difference_percent(mean, goal)
        covered = stop == k or (interval is not None and interval.low <= goal <= interval.high)
        spent = costs[list(order[:stop])].sum() / costs.sum() * 100
        rows.append((stop, difference, covered, spent, difference <= within))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    stops, differences, covered, spent, close = columns

    return {
        "stop_distribution": {n: float(np.mean(stops == n)) for n in range(1, k + 1)},
        "mean_stop": float(stops.mean()),
        "mean_difference_percent": float(differences.mean()),
        "difference_quantiles": {
            share: float(np.quantile(differences, share, method="inverted_cdf"))
            for share in (0.5, 0.9, 0.95, 1.0)
        },
        "coverage": float(covered.mean()),
        "cost_percent": float(spent.mean()),
        "within": float(close.mean()),
    }


@pytest.fixture(scope="session")
def brute_force():
    return _brute_force
