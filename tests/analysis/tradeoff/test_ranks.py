"""Ranks under early stopping: brute force over all orders, ties and winners by hand."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ecv_core.analysis.tradeoff.rankings import rankings
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores


def system(algorithm, folds, dataset="d"):
    return Scores(
        name=f"{algorithm} on {dataset}",
        dataset=dataset,
        algorithm=algorithm,
        metric="nDCG@10",
        folds=np.array(folds, dtype=float),
    )


@cache
def quantile(degrees):
    """Of Student's distribution, for 95 %; a table that brute force looks up."""
    return stats.t.ppf(0.975, degrees)


def stopped_mean(scores, alpha):
    """The paper's rule, written out: the mean of the folds used."""
    k, width = len(scores), None
    for n in range(2, k + 1):
        seen = scores[:n]
        before = width
        half = quantile(n - 1) * np.std(seen, ddof=1) / math.sqrt(n)
        width = 2 * half
        if before is not None and width * abs(before - width) <= alpha:
            return math.fsum(seen) / n
    return math.fsum(scores) / k


def ranks_of(means):
    return stats.rankdata([-mean for mean in means])


def brute_force(table, alpha):
    """(mean ranks, share of orders with the same ranks, with the same winner)."""
    whole = ranks_of([math.fsum(row) / len(row) for row in table])
    found = []
    for order in itertools.permutations(range(len(table[0]))):
        found.append(ranks_of([stopped_mean([row[f] for f in order], alpha) for row in table]))
    same = [bool((ranks == whole).all()) for ranks in found]
    won = [bool(((ranks == ranks.min()) == (whole == whole.min())).all()) for ranks in found]
    return np.mean(found, axis=0), np.mean(same), np.mean(won)


@settings(max_examples=25)
@given(
    st.lists(
        st.lists(st.integers(0, 60), min_size=5, max_size=5, unique=True),
        min_size=2,
        max_size=3,
        unique_by=sum,
    ),
    st.sampled_from([1e-5, 1e-4, 3e-4, 1e-3, 1e-2]),
)
def test_few_folds_are_counted_over_every_order(table, alpha):
    # Odd thousandths: two means of different numbers of folds do not tie but for rounding.
    table = [
        [0.3 + score / 997 + row / 7919 for score in scores] for row, scores in enumerate(table)
    ]
    systems = [system(f"a{row}", scores) for row, scores in enumerate(table)]
    (found,) = rankings(systems, [alpha])
    ranks, same, won = brute_force(table, alpha)
    assert found.orders == 120
    assert found.mean_ranks_at_stop[0] == pytest.approx(ranks)
    assert found.same_order[0] == pytest.approx(same)
    assert found.same_winner[0] == pytest.approx(won)


@pytest.mark.slow
def test_many_folds_are_sampled_within_their_standard_error():
    rng = np.random.default_rng(5)
    table = rng.normal(0.3, 0.02, (3, 8)).tolist()
    systems = [system(f"a{row}", scores) for row, scores in enumerate(table)]
    (found,) = rankings(systems, [3e-4])
    # Seven folds of the eight in each order are enough of a check: all orders are 40,320.
    orders = list(itertools.permutations(range(8)))[::17]
    whole = ranks_of([math.fsum(row) / 8 for row in table])
    ranks = [
        ranks_of([stopped_mean([row[f] for f in order], 3e-4) for row in table]) for order in orders
    ]
    share = np.mean([(r == whole).all() for r in ranks])
    error = math.sqrt(found.same_order[0] * (1 - found.same_order[0]) / 5000)
    assert found.orders == 5000
    assert abs(found.same_order[0] - share) < 4 * error * math.sqrt(1 + 5000 / len(orders))
    assert 0.05 < share < 0.95  # or nothing was checked


def test_an_alpha_that_never_stops_leaves_every_rank_as_it_is():
    rng = np.random.default_rng(0)
    systems = [system(f"a{row}", rng.normal(0.3, 0.02, 10)) for row in range(4)]
    (found,) = rankings(systems, [1e-30])
    assert found.mean_ranks_at_stop[0].tolist() == found.k_fold_ranks.tolist()
    assert found.same_order.tolist() == [1.0]
    assert found.same_winner.tolist() == [1.0]


def test_equal_algorithms_share_their_ranks_whatever_the_order():
    folds = [0.30, 0.34, 0.31, 0.33, 0.32, 0.29, 0.31, 0.335]
    (found,) = rankings(
        [system("a", folds), system("b", folds), system("c", np.array(folds) - 0.2)], [1e-5, 1e-3]
    )
    assert found.k_fold_ranks.tolist() == [1.5, 1.5, 3.0]
    assert found.mean_ranks_at_stop.tolist() == [[1.5, 1.5, 3.0]] * 2
    assert found.same_order.tolist() == [1.0, 1.0]


def test_the_winner_can_stay_while_the_order_below_it_does_not():
    best = np.array([0.9, 0.91, 0.92, 0.9, 0.91])
    close = np.array([0.30, 0.40, 0.35, 0.33, 0.38])
    (found,) = rankings(
        [system("x", close), system("y", close[::-1] + 0.0001), system("z", best)], [1.0]
    )
    assert found.same_winner.tolist() == [1.0]
    assert found.same_order[0] < 1
    assert found.k_fold_ranks.tolist() == [3.0, 2.0, 1.0]


def test_a_dataset_with_one_algorithm_has_no_ranking():
    rng = np.random.default_rng(0)
    folds = rng.normal(0.3, 0.02, (3, 6))
    found = rankings(
        [system("a", folds[0], "one"), system("a", folds[1], "two"), system("b", folds[2], "two")],
        [1e-4],
    )
    assert [ranking.dataset for ranking in found] == ["two"]
    assert found[0].algorithms == ("a", "b")


def test_algorithms_with_different_folds_are_refused():
    with pytest.raises(
        InputError, match="ranked only on the same folds, but on d some have 5 folds"
    ):
        rankings([system("a", np.arange(5.0)), system("b", np.arange(6.0))], [1e-4])
