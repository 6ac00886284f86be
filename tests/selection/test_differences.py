from collections.abc import Callable

import numpy as np
import pytest

from ecv_core.records.run import Scores
from ecv_core.selection.evidence import EverySubset, PairedScores
from tests.selection.conftest import made


def test_the_variance_of_a_difference_by_hand() -> None:
    # Differences of the users: fold 0: 1, 3; fold 1: 3, 5. Within each user the squares about the
    # mean are 2, so within = (2 + 2) / 2 = 2; the overlap is 1, two users per fold: 2 / 2 = 1.
    # In fold 0 alone the variance between the users is 2: 2 / 2 = 1.
    users = np.array([[1.0, 3.0], [3.0, 5.0]])
    one, other = (Scores(folds=u.mean(axis=1), users=u) for u in (users, np.zeros((2, 2))))
    paired = PairedScores([one, other])
    assert paired.between(0, 1, 0b11).user_variance == pytest.approx(1.0)
    assert paired.between(0, 1, 0b01).user_variance == pytest.approx(1.0)


@pytest.mark.parametrize(("folds", "variance"), [(0b01, 1 / 9 / 10), (0b11, 1 / 10 / 10)])
def test_users_who_all_differ_by_the_same_leave_the_variance_of_one_who_does_not(
    folds: int, variance: float
) -> None:
    # Rule of three: 10 users tell 9 differences in one fold, and 10 from one fold to the other.
    users = np.linspace(0, 1, 20).reshape(2, 10)
    some = [Scores(folds=u.mean(axis=1), users=u) for u in (users + 0.1, users)]
    assert PairedScores(some).between(0, 1, folds).user_variance == pytest.approx(variance)


def test_every_subset_says_what_the_paired_scores_of_that_subset_say(
    contenders: Callable[..., list[Scores]],
) -> None:
    some = contenders([0.5, 0.4, 0.45], k=5, users=20, shared=0.1, own=2.0)
    every, paired = EverySubset(some), PairedScores(some)
    for one, other in [(0, 1), (2, 1), (1, 0)]:
        for folds in range(1, 2**5):
            a, b = every.between(one, other, folds), paired.between(one, other, folds)
            assert a.folds == b.folds
            assert a.mean == pytest.approx(b.mean, abs=1e-12)
            assert a.user_variance == pytest.approx(b.user_variance, rel=1e-6, abs=1e-15)
            assert a.fold_variance == pytest.approx(
                b.fold_variance, rel=1e-6, abs=1e-15, nan_ok=True
            )


def test_what_all_contenders_share_in_a_fold_does_not_count() -> None:
    calm, rough = (made([0.5, 0.4], shared=shared, seed=3) for shared in (0.0, 5.0))
    a, b = (PairedScores(one).between(0, 1, 0b111) for one in (calm, rough))
    assert a.mean == pytest.approx(b.mean)
    assert a.user_variance == pytest.approx(b.user_variance)
    assert a.fold_variance == pytest.approx(b.fold_variance)
