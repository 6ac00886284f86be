"""Rules work alike where lower is better, and where scores are below zero."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ecv_core.records.errors import InputError
from ecv_core.records.run import Energy, FoldResult, UserScores
from ecv_core.stopping import EFold, Precision, StdStagnation, moments
from ecv_core.stopping.interval import difference_percent, mean_interval

# Multiples of 1/1024: sums and differences of them are exact, so turning them round is too. They
# stay below `fold_variance.NEAR_BOUND`: scores near 1 are near a bound, and turned round they are
# not, so that precision allows for users who were not seen in one case alone.
SCORES = st.lists(st.integers(1, 896).map(lambda i: i / 1024), min_size=3, max_size=10)


def results(scores):
    return [
        FoldResult(
            fold=fold,
            score=score,
            metrics={"m": score},
            users=2,
            fit_seconds=0.0,
            evaluate_seconds=0.0,
            total_seconds=0.0,
            energy=Energy.none(),
            user_scores=UserScores(
                users=np.array([0, 1]),
                metrics=("m",),
                values=np.array([[score - 0.25], [score + 0.25]], dtype=np.float32),
            ),
        )
        for fold, score in enumerate(scores)
    ]


RULES = [EFold(alpha=1e-3), StdStagnation(), Precision(tolerance=0.1, k=10, metric="m")]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@settings(max_examples=40)
@given(scores=SCORES)
def test_turning_scores_round_changes_no_decision(rule, scores):
    up = moments(rule, results(scores), 0.95)
    down = moments(rule, results([-score for score in scores]), 0.95)
    for one, other in zip(up, down, strict=True):
        assert one.mean == pytest.approx(-other.mean)
        if one.interval is not None:
            assert other.interval is not None
            assert one.interval.width == pytest.approx(other.interval.width, abs=1e-12)
    if not close_call(rule, scores):
        assert [m.decision.stop for m in up] == [m.decision.stop for m in down]


def close_call(rule, scores):
    """Whether a rule is so near its limit that the last digit decides."""
    if not isinstance(rule, EFold):
        return False
    widths = [mean_interval(scores[:n], 0.95).width for n in range(2, len(scores) + 1)]
    products = [now * abs(before - now) for before, now in pairwise(widths)]
    return any(abs(product - rule.alpha) < 1e-9 for product in products)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_difference_in_percent_is_the_same_either_way_round(x, y):
    assert difference_percent(x, y) == pytest.approx(difference_percent(-x, -y))
    assert 0 <= difference_percent(x, y) <= 200.0001


def test_difference_in_percent_of_zero_means():
    assert difference_percent(0, 0) == 0
    assert difference_percent(0, 0.5) == 200  # as far as can be
    assert difference_percent(-0.5, 0.5) == 200


@given(SCORES)
def test_precision_knows_a_mean_of_zero_only_when_nothing_is_left(scores):
    assume(len(set(scores)) > 1)
    middle = sum(scores) / len(scores)
    shifted = [score - middle for score in scores]
    rule = Precision(tolerance=0.1, k=len(scores) + 5, metric="m")
    assert not rule.decide(results([*shifted[:-1], -sum(shifted[:-1])])).stop


def test_precision_refuses_a_metric_without_users_scores():
    with pytest.raises(InputError, match="fold 0 has none of gini@10"):
        Precision(tolerance=0.1, k=10, metric="gini@10").decide(results([0.5, 0.6]))
