"""What is known of a difference, against hand-worked values and against drawn numbers."""

import math

import numpy as np
import pytest

from ecv_core.selection.evidence import (
    Difference,
    Prior,
    Spread,
    expected_excess,
    level_of_looks,
    spread_of,
)

PRIOR = Prior(ratio_freedom=2, user_freedom=2, user_freedom_same_algorithm=6)


def difference(users: float, own: float, folds: int, mean: float = 1.0) -> Difference:
    return Difference(mean=mean, user_variance=users, fold_variance=own, folds=folds)


def test_one_fold_of_two_contenders_is_judged_by_users_and_the_prior_alone() -> None:
    found = spread_of([difference(0.4, math.nan, 1)], [False], PRIOR)
    assert found.variances[0] == pytest.approx(0.4)
    assert found.freedom[0] == pytest.approx(1 / (1 / 2 + 1 / 2))


def test_own_folds_and_users_are_weighed_by_their_degrees_of_freedom() -> None:
    # No other contender: Q = 1, d = 1; two degrees of freedom of its own folds say 3.
    found = spread_of([difference(0.6, 3.0, 3)], [False], PRIOR)
    assert found.variances[0] == pytest.approx((1 * 0.6 + 2 * 3.0) / 3)
    assert found.freedom[0] == pytest.approx(3)


def test_a_contender_with_one_fold_learns_from_the_folds_of_another() -> None:
    # The other: variance of folds 4 times that of users, two degrees of freedom. So
    # Q = (2 + 2 * 4) / 4 = 2.5 and, of one algorithm, d = 1 / (1/6 + 1/4) = 2.4.
    pair = [difference(0.5, math.nan, 1), difference(1.0, 4.0, 3)]
    found = spread_of(pair, [True, True], PRIOR)
    assert found.variances[0] == pytest.approx(2.5 * 0.5)
    assert found.freedom[0] == pytest.approx(2.4)


def test_several_others_count_less_than_their_number_for_they_share_the_leader() -> None:
    # Two others of 2 degrees of freedom each, squared correlation 1/4: D = 16 / (4 + 2 * 0.5).
    some = [difference(0.5, math.nan, 1), difference(1.0, 4.0, 3), difference(1.0, 1.0, 3)]
    known = 2 + 16 / 5
    found = spread_of(some, [False] * 3, PRIOR)
    assert found.variances[0] == pytest.approx(0.5 * (2 + 16 / 5 * 2.5) / known)
    assert found.freedom[0] == pytest.approx(1 / (1 / 2 + 1 / known))


def test_without_users_the_folds_alone_tell_and_one_fold_tells_nothing() -> None:
    some = [difference(math.nan, math.nan, 1), difference(math.nan, 2.0, 2)]
    found = spread_of(some, [False] * 2, PRIOR)
    assert math.isinf(found.half_widths(0.1, 10)[0])
    assert (found.variances[1], found.freedom[1]) == (2.0, 1)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (8, 2.306), (30, 2.042)],  # t tables, 0.975
)
def test_half_width_is_students_t_with_the_finite_number_of_folds(
    freedom: float, quantile: float
) -> None:
    found = spread(0.0, 4.0, freedom, 2)
    finite, endless = (found.half_widths(0.025, k)[0] for k in (10, None))
    assert finite == pytest.approx(quantile * 2 * math.sqrt(1 / 2 - 1 / 10), rel=1e-3)
    assert endless == pytest.approx(quantile * 2 * math.sqrt(0.5), rel=1e-3)


def spread(mean: float, variance: float, freedom: float, folds: int) -> Spread:
    return Spread(
        means=np.array([mean]),
        variances=np.array([variance]),
        freedom=np.array([float(freedom)]),
        folds=np.array([float(folds)]),
    )


def test_all_folds_leave_no_doubt_about_their_own_mean() -> None:
    assert spread(0.3, 4.0, 9, 10).half_widths(0.025, 10)[0] == 0
    assert spread(0.3, 4.0, 9, 10).expected_losses(10)[0] == 0
    assert spread(-0.3, 4.0, 9, 10).expected_losses(10)[0] == pytest.approx(0.3)


@pytest.mark.parametrize(("x", "freedom"), [(0.0, 3.0), (1.0, 5.0), (2.5, 8.0), (-1.0, 4.0)])
def test_expected_excess_is_the_average_over_drawn_values_of_t(x: float, freedom: float) -> None:
    drawn = np.random.default_rng(1).standard_t(freedom, 4_000_000)
    excess = np.maximum(drawn - x, 0)
    found = expected_excess(np.array([x]), np.array([freedom]))[0]
    assert found == pytest.approx(excess.mean(), abs=5 * excess.std() / 2000)


def test_expected_excess_of_many_degrees_of_freedom_is_that_of_the_normal() -> None:
    # phi(x) - x (1 - Phi(x)): 0.39894 at 0, 0.08332 at 1 (tables of the unit normal loss).
    found = expected_excess(np.array([0.0, 1.0]), np.full(2, 1e7))
    assert found == pytest.approx([0.39894, 0.08332], abs=1e-5)
    assert math.isinf(expected_excess(np.array([5.0]), np.array([1.0]))[0])


def test_gain_is_that_of_the_difference_of_all_folds_drawn() -> None:
    rng = np.random.default_rng(2)
    error = math.sqrt(4.0 * (1 / 3 - 1 / 10))
    gained = np.maximum(error * rng.standard_t(6, 2_000_000) - 0.7, 0)
    found = spread(0.7, 4.0, 6, 3).expected_losses(10)[0]
    assert found == pytest.approx(gained.mean(), rel=0.01)


@pytest.mark.parametrize(
    ("k", "endless", "shares"),
    [
        (10, False, np.arange(1, 10) / 10),
        (5, True, np.arange(1, 6) / 5),
        pytest.param(100, True, np.arange(1, 101) / 100, marks=pytest.mark.slow),
        pytest.param(300, False, np.arange(1, 300) / 300, marks=pytest.mark.slow),
    ],
)
def test_all_looks_together_have_the_error_that_is_allowed(
    k: int, endless: bool, shares: np.ndarray
) -> None:
    level = level_of_looks(0.05, k, new_data=endless)
    assert 0.05 / len(shares) < level < 0.05
    steps = np.random.default_rng(3).standard_normal((200_000 if k < 100 else 40_000, k))
    sums = steps.cumsum(axis=1)
    looks = sums[:, : len(shares)]
    if endless:
        at = looks / np.sqrt(np.arange(1, k + 1))
    else:
        at = (looks - shares * sums[:, -1:]) / np.sqrt(k * shares * (1 - shares))
    from scipy.special import ndtri

    passed = (at.max(axis=1) > -ndtri(level)).mean()
    assert passed == pytest.approx(0.05, abs=0.002 if k < 100 else 0.004)


@pytest.mark.parametrize("error", [0.05, 1e-12, 1e-12 / 435, 1e-16 / 435])
def test_two_looks_have_the_error_that_is_allowed_however_small(error: float) -> None:
    # With three folds one looks twice, and a bridge's standardised distances at 1/3 and 2/3 have
    # the correlation 1/2: the chance of either is that of both apart, less that of both together.
    from scipy.integrate import quad
    from scipy.special import ndtr, ndtri

    limit = -ndtri(level_of_looks(error, 3))

    def density_of_both(x: float) -> float:
        density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        return float(density * ndtr((x / 2 - limit) / np.sqrt(0.75)))

    both, _ = quad(density_of_both, limit, limit + 10, epsabs=0, epsrel=1e-9)
    assert 2 * ndtr(-limit) - both == pytest.approx(error, rel=1e-4)


def test_the_constant_of_two_contenders_and_ten_folds() -> None:
    # 2.38, simulated as the maximum of a Brownian bridge by others; Bonferroni would be 2.54.
    from scipy.special import ndtri

    assert -ndtri(level_of_looks(0.05, 10)) == pytest.approx(2.38, abs=0.005)
