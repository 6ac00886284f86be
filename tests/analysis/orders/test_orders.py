"""The walk over every order of the folds, against brute force and cases worked by hand."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ecv_core.analysis.exploration import explore, fixed_stops
from ecv_core.analysis.orders.exact import SetMeasures
from ecv_core.analysis.orders.subsets import FoldSubsets
from ecv_core.records.run import Scores
from ecv_core.stopping import EFold, Fixed, Precision

FIELDS = ("mean_stop", "mean_difference_percent", "coverage", "cost_percent", "within")

# Scores with ties, zeros, equal and nearly equal ones. A power of two as the grid keeps equal
# intervals equal in every order, so that brute force and walk break ties alike.
score = st.integers(-64, 64).map(lambda n: n / 256)

tiny = st.integers(-4, 4).map(lambda n: 0.25 + n * 2.0**-40)

some_scores = st.lists(score, min_size=2, max_size=5) | st.lists(tiny, min_size=2, max_size=4)

# No threshold of scores on such a grid is likely to be just such a number.
alphas = st.floats(-12, -1).map(lambda power: 10**power * math.pi)

# Student's t at 97.5 %, from a printed table, for 1 to 9 degrees of freedom; none for one score
T95 = np.array(
    [np.nan, 12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306, 2.26216]
)


def same(outcome, expected):
    for name in FIELDS:
        assert getattr(outcome, name) == pytest.approx(expected[name], abs=1e-9), name
    assert outcome.stop_distribution == pytest.approx(expected["stop_distribution"], abs=1e-9)
    assert outcome.difference_quantiles == pytest.approx(
        expected["difference_quantiles"], rel=1e-6, abs=1e-9
    )
    assert sum(outcome.stop_distribution.values()) == pytest.approx(1)


@settings(max_examples=40)
@given(scores=some_scores, alpha=alphas, min_folds=st.integers(2, 5), seed=st.integers(0, 99))
def test_the_walk_is_brute_force_over_every_order(brute_force, scores, alpha, min_folds, seed):
    costs = np.random.default_rng(seed).random(len(scores)) + 0.1
    outcome = explore(
        Scores(folds=np.array(scores), joules=costs), min_folds=min_folds, confidence=0.9
    ).at(alpha, within_percent=math.e)
    rule = EFold(alpha=alpha, min_folds=min_folds, confidence=0.9)
    expected = brute_force(scores, rule, costs=costs, within=math.e, confidence=0.9)
    same(outcome, expected)


@pytest.mark.parametrize(("k", "alpha"), [(6, 1e-5), (6, 3e-4)])
def test_the_walk_is_brute_force_on_scores_as_they_come(brute_force, k, alpha):
    scores = np.random.default_rng(k).normal(0.3, 0.01, k)
    outcome = explore(Scores(folds=scores)).at(alpha, within_percent=2.0)
    same(outcome, brute_force(scores, EFold(alpha=alpha)))


@pytest.mark.slow
@settings(max_examples=15)
@given(
    seed=st.integers(0, 999),
    k=st.integers(2, 4),
    gaps=st.floats(0, 0.6),
    tolerance=st.floats(0.001, 0.5),
)
@example(seed=3, k=5, gaps=0.3, tolerance=0.05)
def test_the_precision_rule_is_brute_force_over_every_order(brute_force, seed, k, gaps, tolerance):
    rng = np.random.default_rng(seed)
    users = (rng.random((1, 20)) + 0.2 * rng.random((k, 20))).astype(np.float32)
    users[:, 3:][rng.random((k, 17)) < gaps] = np.nan
    scores = np.nanmean(users, axis=1, dtype=np.float64)
    outcome = explore(Scores(folds=scores, users=users), "precision").at(
        tolerance, within_percent=2.0
    )
    rule = Precision(tolerance=tolerance, k=k, metric="ndcg@10")
    same(outcome, brute_force(scores, rule, users=users))


@settings(max_examples=40)
@given(scores=some_scores)
def test_the_baseline_is_brute_force_over_every_order(brute_force, scores):
    curve = fixed_stops(Scores(folds=np.array(scores)), within_percent=math.e)
    assert curve.settings.tolist() == list(range(1, len(scores) + 1))
    for e in range(1, min(len(scores), 4) + 1):
        expected = brute_force(scores, Fixed(folds=e), within=math.e)
        same(curve.at(e), expected)


# By hand: 0, 0, 3 in any order. c2 = 2 * 12.7062 * s / sqrt 2: 0 for (0, 0), 38.1186 for (0, 3);
# c3 = 2 * 4.30265 * sqrt 3 / sqrt 3 = 8.6053. The rule can only stop at 3, which is k.
def test_three_folds_always_end_at_three():
    outcome = explore(Scores(folds=np.array([0.0, 0.0, 3.0]))).at(1.0)
    assert outcome.stop_distribution == {1: 0, 2: 0, 3: 1}
    assert outcome.mean_difference_percent == 0
    assert outcome.coverage == 1


# By hand: 0, 0, 0, 4, with alpha too small for anything but no width at all. The 4 comes last in
# 1/4 of the orders, and only then three equal scores stop at fold 3, with mean 0 beside 1:
# d = 200 %, and no width does not hold 1. All others go to 4.
def test_a_case_worked_by_hand():
    outcome = explore(Scores(folds=np.array([0.0, 0.0, 0.0, 4.0]))).at(1e-9, within_percent=5.0)
    assert outcome.stop_distribution == pytest.approx({1: 0, 2: 0, 3: 0.25, 4: 0.75})
    assert outcome.mean_stop == pytest.approx(3.75)
    assert outcome.mean_difference_percent == pytest.approx(50)
    assert outcome.difference_quantiles == {0.5: 0, 0.9: 200, 0.95: 200, 1.0: 200}
    assert outcome.coverage == pytest.approx(0.75)
    assert outcome.within == pytest.approx(0.75)
    assert outcome.cost_percent == pytest.approx(93.75)
    assert outcome.orders is None
    assert outcome.standard_errors == {}


# Folds 0 to 2 are equal, so fold 3 is the one saved where the rule stops: 90 of 100 units.
def test_costs_are_those_of_the_folds_used():
    scores = Scores(folds=np.array([0.0, 0.0, 0.0, 4.0]), joules=np.array([30.0, 30.0, 30.0, 10.0]))
    assert explore(scores).at(1e-9).cost_percent == pytest.approx(0.25 * 90 + 0.75 * 100)


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -0.7])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_equal_scores_stop_at_the_first_chance_and_are_never_off(value, k):
    outcome = explore(Scores(folds=np.full(k, value))).at(1e-300)
    assert outcome.mean_stop == pytest.approx(min(3, k))
    assert outcome.mean_difference_percent == 0
    assert outcome.difference_quantiles[1.0] == 0
    assert outcome.coverage == pytest.approx(1)


@given(scores=st.lists(score, min_size=3, max_size=7), alpha=alphas, power=st.integers(-8, 8))
def test_scaling_the_scores_scales_alpha_by_its_square(scores, alpha, power):
    scale = 2.0**power
    one = explore(Scores(folds=np.array(scores))).at(alpha)
    other = explore(Scores(folds=np.array(scores) * scale)).at(alpha * scale**2)
    assert one.stop_distribution == pytest.approx(other.stop_distribution)
    assert one.mean_difference_percent == pytest.approx(other.mean_difference_percent)


@given(scores=st.lists(score, min_size=3, max_size=7), alpha=alphas, data=st.data())
def test_the_order_in_which_scores_are_given_does_not_matter(scores, alpha, data):
    assume(not math.isclose(math.fsum(scores), 0, abs_tol=1e-9))  # percent of a mean of 0
    other = data.draw(st.permutations(scores))
    one = explore(Scores(folds=np.array(scores))).at(alpha)
    two = explore(Scores(folds=np.array(other))).at(alpha)
    assert one.stop_distribution == pytest.approx(two.stop_distribution)
    assert one.mean_difference_percent == pytest.approx(two.mean_difference_percent)


@given(scores=some_scores)
def test_a_larger_alpha_never_stops_later(scores):
    found = explore(Scores(folds=np.array(scores)))
    curve = found.curve(np.linspace(0, found.highest_setting_that_matters(), 50))
    beyond = 1 - np.cumsum(curve.stop_distribution, axis=1)  # P(stop > n)
    assert np.all(np.diff(beyond, axis=0) <= 1e-12)


@settings(max_examples=30)
@given(scores=st.lists(score, min_size=4, max_size=6))
def test_beyond_the_highest_change_every_order_stops_at_once(scores):
    found = explore(Scores(folds=np.array(scores)))
    highest = found.highest_setting_that_matters()
    at_it, beyond = found.curve([highest, 2 * highest + 1]).stop_distribution
    assert at_it == pytest.approx(beyond)
    assert beyond[2] == pytest.approx(1)  # the third fold is the first with two widths to compare
    if highest:
        assert found.at(highest * (1 - 1e-9)).stop_distribution[3] < 1


def test_the_curve_and_one_alpha_agree_for_ten_folds():
    found = explore(Scores(folds=np.random.default_rng(4).normal(0.3, 0.01, 10)))
    alphas = np.geomspace(1e-7, 1e-1, 25)
    curve = found.curve([0, *alphas], within_percent=1.0)
    for alpha in alphas:
        one, other = curve.at(alpha), found.at(alpha, within_percent=1.0)
        assert one.stop_distribution == pytest.approx(other.stop_distribution, abs=1e-12)
        assert one.difference_quantiles == pytest.approx(other.difference_quantiles)
        for name in FIELDS:
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-9)
    assert curve.mean_stop[0] == pytest.approx(10)  # nothing has no width
    assert curve.mean_stop[-1] == pytest.approx(3)  # everything stops at once


@pytest.mark.parametrize("alpha", [1e-5, 1e-4, 1e-3])
def test_ten_folds_agree_with_random_orders(alpha):
    scores = np.random.default_rng(8).normal(0.3, 0.01, 10)
    outcome = explore(Scores(folds=scores)).at(alpha)
    rng = np.random.default_rng(0)
    stops, differences = [], []
    for _ in range(20_000):
        drawn = rng.permutation(scores)
        n = np.arange(1, 11)
        means = np.cumsum(drawn) / n
        spread = np.cumsum(drawn**2) - n * means**2
        widths = 2 * T95[1:] * np.sqrt(spread[1:] / n[:-1] / n[1:])
        fires = widths[1:] * np.abs(np.diff(widths)) <= alpha
        stop = 3 + int(np.argmax(fires)) if fires.any() else 10
        stops.append(stop)
        differences.append(abs(means[stop - 1] - means[-1]) / (means[stop - 1] + means[-1]) * 200)
    for mine, drawn in ((outcome.mean_stop, stops), (outcome.mean_difference_percent, differences)):
        assert abs(mine - np.mean(drawn)) <= 5 * np.std(drawn) / np.sqrt(20_000) + 1e-9


@given(scores=some_scores)
def test_every_set_has_its_mean_and_spread(scores):
    subsets = FoldSubsets(scores)
    chosen = subsets.lattice.contains()
    assert np.all(np.diff(chosen.sum(axis=1)) >= 0)
    assert len(np.unique(subsets.lattice.masks)) == 2 ** len(scores)
    for row in range(1, len(chosen)):
        part = np.array(scores)[chosen[row]]
        assert subsets.means[row] == pytest.approx(part.mean(), abs=1e-12)
        if len(part) >= 2:
            assert subsets.deviations[row] == pytest.approx(part.std(ddof=1), abs=1e-9)
            if np.all(part == part[0]):
                assert subsets.deviations[row] == 0


def test_nearly_equal_scores_keep_their_spread():
    step = 2.0**-50
    subsets = FoldSubsets([1.0, 1.0 + step, 1.0 + 2 * step])
    assert subsets.deviations[-1] == pytest.approx(step, rel=1e-9, abs=0)


def test_tiny_scores_keep_their_spread():
    assert FoldSubsets([1e-200, 2e-200, 3e-200]).deviations[-1] == pytest.approx(1e-200, abs=0)


def test_the_worst_of_all_orders_counts_however_rare():
    subsets = FoldSubsets([0.1, 0.2, 0.6])
    stops = np.zeros((8, 1))
    worst = int(np.nanargmax(subsets.differences))
    stops[[7, worst], 0] = 1 - 1e-13, 1e-13
    measures = SetMeasures(subsets, subsets.half_widths(0.95))
    quantiles = measures.curve(np.array([1.0]), stops).at(1.0).difference_quantiles
    # 0.1 beside 0.3: 0.2 / 0.2 = 100 %; 0.6 beside 0.3: 0.3 / 0.45 = 66.7 %
    assert quantiles == pytest.approx({0.5: 0, 0.9: 0, 0.95: 0, 1.0: 100})
