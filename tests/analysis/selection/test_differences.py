import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecv_core.analysis.selection import EverySubset, PairedScores
from ecv_core.analysis.selection.differences import Difference, moderated, paired_variance
from ecv_core.records.run import Scores
from ecv_core.stopping.fold_variance import user_variance
from tests.analysis.selection.conftest import made


def test_moderated_variance_weighs_users_and_folds_by_their_degrees_of_freedom() -> None:
    # fold differences 1, 2, 3: variance 1, two degrees of freedom; users say 0.4
    by_fold = np.array([1.0, 2.0, 3.0])
    assert moderated(0.4, by_fold, random=True) == (pytest.approx((2 * 0.4 + 2 * 1) / 4), 4)
    assert moderated(0.4, by_fold, random=False) == (pytest.approx((16 * 0.4 + 2 * 1) / 18), 18)


def test_one_fold_is_judged_by_its_users_alone() -> None:
    assert moderated(0.4, np.array([7.0]), random=True) == (0.4, 2)


def test_without_users_the_folds_alone_tell_and_one_fold_tells_nothing() -> None:
    assert moderated(math.nan, np.array([1.0, 3.0]), random=False) == (2.0, 1)
    variance, freedom = moderated(math.nan, np.array([1.0]), random=False)
    assert math.isnan(variance)
    assert freedom == 0


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (8, 2.306), (30, 2.042)],  # t tables, 0.975
)
def test_half_width_is_students_t_with_the_finite_number_of_folds(
    freedom: float, quantile: float
) -> None:
    found = Difference(mean=0.0, variance=4.0, freedom=freedom, folds=2)
    assert found.half_width(0.025, 10) == pytest.approx(
        quantile * 2 * math.sqrt(1 / 2 - 1 / 10), rel=1e-3
    )
    assert found.half_width(0.025, None) == pytest.approx(quantile * 2 * math.sqrt(0.5), rel=1e-3)


def test_all_folds_leave_no_doubt_about_their_own_mean() -> None:
    assert Difference(mean=0.0, variance=4.0, freedom=9, folds=10).half_width(0.025, 10) == 0.0


def test_what_cannot_be_known_is_endlessly_wide() -> None:
    assert Difference(mean=0, variance=math.nan, freedom=0, folds=1).half_width(0.1, 10) == math.inf


def test_paired_variance_of_the_same_users_in_two_folds_by_hand() -> None:
    # Differences of the users: fold 0: 1, 3; fold 1: 3, 5. Within each user the squares about the
    # mean are 2, so within = (2 + 2) / 2 = 2; the overlap is 1, two users per fold: 2 / 2 = 1.
    one = np.array([[1.0, 3.0], [3.0, 5.0]])
    assert paired_variance(one, np.zeros((2, 2)), [0, 1]) == pytest.approx(1.0)


def test_paired_variance_of_one_fold_by_hand() -> None:
    # Differences 1, 3, 5: variance 4 between users, three users.
    one = np.array([[1.0, 3.0, 5.0]])
    assert paired_variance(one, np.zeros((1, 3)), [0]) == pytest.approx(4 / 3)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), gaps=st.floats(0, 0.7))
def test_paired_variance_is_user_variance_of_the_differences(seed: int, gaps: float) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.random((2, 5, 12))
    absent = rng.random((5, 12)) < gaps
    one[absent] = other[absent] = np.nan
    rows = np.flatnonzero(rng.random(5) < 0.6)
    if not len(rows) or (~absent[rows]).sum(axis=1).min() < 2:
        return
    chosen = np.isin(np.arange(5), rows)[None, :]
    expected = float(user_variance(one - other, chosen)[0][0])
    found = paired_variance(one, other, rows.tolist())
    assert found == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_every_subset_says_what_the_paired_scores_of_that_subset_say(
    contenders: Callable[..., list[Scores]],
) -> None:
    some = contenders([0.5, 0.4, 0.45], k=5, users=20, shared=0.1, own=2.0, random=[1, 0, 0])
    every, paired = EverySubset(some), PairedScores(some)
    for one, other in [(0, 1), (2, 1), (1, 0)]:
        for folds in range(1, 2**5):
            a, b = every.between(one, other, folds), paired.between(one, other, folds)
            assert (a.freedom, a.folds) == (b.freedom, b.folds)
            assert a.mean == pytest.approx(b.mean, abs=1e-12)
            assert a.variance == pytest.approx(b.variance, rel=1e-6, abs=1e-15)


def test_what_all_contenders_share_in_a_fold_does_not_count() -> None:
    calm, rough = (made([0.5, 0.4], shared=shared, seed=3) for shared in (0.0, 5.0))
    a, b = (PairedScores(one).between(0, 1, 0b111) for one in (calm, rough))
    assert a.mean == pytest.approx(b.mean)
    assert a.variance == pytest.approx(b.variance)
