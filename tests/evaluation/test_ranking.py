from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.evaluation.formulas import HIT_METRICS, Ranked
from ecv_core.evaluation.metrics import METRICS


def per_user(hits, held_out, cutoffs):
    """Every metric of hits; each of shape (users, cutoffs)."""
    ranked = Ranked(hits=hits, held_out=held_out, cutoffs=tuple(cutoffs))
    return {name: METRICS[name].at_cutoffs(ranked) for name in HIT_METRICS}


D2, D3, D4 = 1 / log2(3), 1 / log2(4), 1 / log2(5)  # discounts of ranks 2, 3, 4; rank 1 has 1

# hits by rank, held-out items, n -> each metric, worked by hand from the definitions
HAND_WORKED = [
    ("1000", 1, 4, dict(ndcg=1, recall=1, precision=1 / 4, mrr=1, hit=1, map=1)),
    ("0100", 1, 4, dict(ndcg=D2, recall=1, precision=1 / 4, mrr=1 / 2, hit=1, map=1 / 2)),
    ("0000", 3, 4, dict(ndcg=0, recall=0, precision=0, mrr=0, hit=0, map=0)),
    (
        "0101",
        2,
        4,
        dict(ndcg=(D2 + D4) / (1 + D2), recall=1, precision=1 / 2, mrr=1 / 2, hit=1, map=1 / 2),
    ),
    # five held out, but a list of 2 can hold only two of them: nDCG and MAP divide by 2
    ("10", 5, 2, dict(ndcg=1 / (1 + D2), recall=1 / 5, precision=1 / 2, mrr=1, hit=1, map=1 / 2)),
    (
        "1010",
        3,
        4,
        dict(
            ndcg=(1 + D3) / (1 + D2 + D3),
            recall=2 / 3,
            precision=1 / 2,
            mrr=1,
            hit=1,
            map=(1 + 2 / 3) / 3,
        ),
    ),
    # the hit at rank 3 is outside a list of 2
    ("0010", 1, 2, dict(ndcg=0, recall=0, precision=0, mrr=0, hit=0, map=0)),
]


@pytest.mark.parametrize(("pattern", "held_out", "n", "expected"), HAND_WORKED)
def test_hand_worked_cases(pattern, held_out, n, expected):
    hits = np.array([[character == "1" for character in pattern]])
    scores = per_user(hits, np.array([held_out]), [n])
    assert {metric: scores[metric][0, 0] for metric in expected} == pytest.approx(expected)


def naive(hits, held_out, n):
    """Every metric again, in plain loops over one user's list."""
    hits = hits[:n]
    ranks = [rank for rank, found in enumerate(hits, start=1) if found]
    reachable = min(n, held_out)
    return dict(
        ndcg=sum(1 / log2(r + 1) for r in ranks)
        / sum(1 / log2(r + 1) for r in range(1, reachable + 1)),
        recall=len(ranks) / held_out,
        precision=len(ranks) / n,
        mrr=1 / ranks[0] if ranks else 0,
        hit=1 if ranks else 0,
        map=sum(sum(hits[:r]) / r for r in ranks) / reachable,
    )


@st.composite
def ranked_users(draw):
    """Hits and held-out counts that can be: never more hits than held-out items."""
    n = draw(st.integers(1, 12))
    rows = draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=1, max_size=6))
    held_out = [max(1, sum(row)) + draw(st.integers(0, 15)) for row in rows]
    cutoffs = sorted(draw(st.sets(st.integers(1, n), min_size=1)))
    return np.array(rows), np.array(held_out), cutoffs


@given(ranked_users())
def test_agrees_with_a_naive_implementation(case):
    hits, held_out, cutoffs = case
    scores = per_user(hits, held_out, cutoffs)
    for user in range(len(hits)):
        for column, n in enumerate(cutoffs):
            expected = naive(hits[user].tolist(), int(held_out[user]), n)
            actual = {metric: scores[metric][user, column] for metric in expected}
            assert actual == pytest.approx(expected)


@given(ranked_users())
def test_every_metric_is_within_its_range(case):
    for name, values in per_user(*case).items():
        metric = METRICS[name]
        assert ((values >= metric.low) & (values <= metric.high + 1e-12)).all()


@given(ranked_users())
def test_recall_hit_and_mrr_never_fall_as_the_list_grows(case):
    scores = per_user(*case)
    for metric in ("recall", "hit", "mrr"):
        assert (np.diff(scores[metric], axis=1) >= 0).all()


@given(st.integers(1, 15), st.integers(1, 15))
def test_perfect_list_scores_1(n, held_out):
    hits = np.arange(n)[None] < held_out
    scores = per_user(hits, np.array([held_out]), [n])
    for metric in ("ndcg", "mrr", "hit", "map"):
        assert scores[metric][0, 0] == pytest.approx(1)


@given(ranked_users())
def test_cutoffs_in_one_pass_agree_with_one_at_a_time(case):
    hits, held_out, cutoffs = case
    together = per_user(hits, held_out, cutoffs)
    for column, n in enumerate(cutoffs):
        alone = per_user(hits[:, :n], held_out, [n])
        for metric, values in together.items():
            np.testing.assert_allclose(values[:, column], alone[metric][:, 0])
