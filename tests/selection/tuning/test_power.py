"""Discriminative power against numbers worked by hand, SciPy, and all draws counted out."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import ttest_rel

from ecv_core.records.errors import InputError
from ecv_core.selection.tuning.power import (
    dominance,
    dominant_parameter,
    draw_pairs,
    expected_curve,
    paired_p_values,
)


def test_a_p_value_worked_by_hand() -> None:
    # Differences 1, 2, 3: mean 2, deviation 1, t = 2 sqrt(3); with 2 degrees of freedom the
    # two-sided p is 1 - t / sqrt(t^2 + 2) = 1 - sqrt(12 / 14).
    values = np.array([[[1.0, 3.0, 5.0]], [[0.0, 1.0, 2.0]]])
    assert paired_p_values(values) == pytest.approx(np.array([[1 - math.sqrt(12 / 14)]]))


def test_every_pair_and_fold_agrees_with_scipy() -> None:
    rng = np.random.default_rng(1)
    values = rng.random((5, 3, 40)) + np.linspace(0, 0.3, 5)[:, None, None]
    values[:, 1, ::4] = np.nan  # users without anything held out in a fold
    found = paired_p_values(values)
    for place, (one, other) in enumerate(combinations(range(5), 2)):
        for fold in range(3):
            there = ~np.isnan(values[0, fold])
            expected = ttest_rel(values[one, fold, there], values[other, fold, there]).pvalue
            assert found[fold, place] == pytest.approx(expected, rel=1e-9)


def test_settings_that_give_nearly_the_same_scores_agree_with_scipy_too() -> None:
    rng = np.random.default_rng(2)
    base = rng.random(6000)
    other = base.copy()
    other[:3] += [1e-7, 2e-7, -1e-7]  # all but three users are the same to the last bit
    values = np.stack([base, other, base])[:, None]
    found = paired_p_values(values)[0]
    assert found[0] == pytest.approx(ttest_rel(base, other).pvalue, rel=1e-4)
    assert found[1] == 1.0  # exactly the same scores cannot be told apart


def test_a_constant_difference_leaves_no_doubt() -> None:
    base = np.arange(8.0)
    assert paired_p_values(np.stack([base, base + 0.5])[:, None])[0, 0] == pytest.approx(
        0, abs=1e-9
    )


def test_the_curve_is_sorted_within_each_fold_before_it_is_averaged() -> None:
    curve = expected_curve(np.array([[0.1, 0.4, 0.2], [0.6, 0.0, 0.3]]))
    # sorted: (0.4, 0.2, 0.1) and (0.6, 0.3, 0.0); deviations |a - b| / sqrt(2)
    assert curve.p_values == pytest.approx([0.5, 0.25, 0.05])
    assert curve.deviations == pytest.approx(np.array([0.2, 0.1, 0.1]) / math.sqrt(2))
    assert curve.dp == pytest.approx(0.8)
    assert curve.dp_plus_sd == pytest.approx(0.8 + 0.4 / math.sqrt(2))


def test_the_expected_curve_is_the_mean_over_all_draws_counted_out() -> None:
    p_values = np.random.default_rng(3).random((2, 7))
    draws = [np.sort(p_values[:, one])[:, ::-1].mean(axis=0) for one in combinations(range(7), 3)]
    curve = expected_curve(p_values, drawn=3)
    assert curve.p_values == pytest.approx(np.mean(draws, axis=0))
    assert curve.dp == pytest.approx(3 * p_values.mean())


def test_the_expectation_holds_for_many_pairs() -> None:
    p_values = np.random.default_rng(4).random((1, 25_200))
    assert expected_curve(p_values).dp == pytest.approx(25 * p_values.mean(), rel=1e-9)


def test_with_fewer_pairs_than_a_draw_all_of_them_are_taken() -> None:
    p_values = np.random.default_rng(5).random((2, 6))
    assert list(draw_pairs(6)) == list(range(6))
    largest_first = np.sort(p_values)[:, ::-1]
    assert expected_curve(p_values).p_values == pytest.approx(largest_first.mean(axis=0))


def test_a_draw_is_the_same_for_the_same_seed_and_without_repetition() -> None:
    assert (draw_pairs(105, seed=7) == draw_pairs(105, seed=7)).all()
    assert (draw_pairs(105, seed=7) != draw_pairs(105, seed=8)).any()
    assert len(set(draw_pairs(105).tolist())) == 25


def test_dominance_worked_by_hand() -> None:
    configurations = [{"a": a, "b": b} for a in (1, 2) for b in (10, 20)]
    # pairs: 01 share a=1, 02 share b=10, 03 nothing, 12 nothing, 13 share b=20, 23 share a=2
    p_values = np.array([[0.01, 0.5, 0.9, 0.9, 0.7, 0.03], [0.03, 0.5, 0.9, 0.9, 0.9, 0.05]])
    found = dominance(p_values, configurations)
    assert found["a"] == pytest.approx({"1": 25 * 0.02, "2": 25 * 0.04})
    assert found["b"] == pytest.approx({"10": 25 * 0.5, "20": 25 * 0.8})
    assert dominant_parameter(found) == "a"
    assert dominance(np.array([[0.5]]), [{"a": 1}, {"a": 2}]) == {}


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(InputError, match="at least 2 configurations, but got 1"):
        paired_p_values(np.zeros((1, 2, 5)))
    values = np.zeros((2, 1, 5))
    values[1, 0, 2] = np.nan
    with pytest.raises(InputError, match="scores for different users"):
        paired_p_values(values)
