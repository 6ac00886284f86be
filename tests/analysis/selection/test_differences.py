from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecv_core.analysis.selection import EverySubset, PairedScores
from ecv_core.analysis.selection.differences import paired_variance
from ecv_core.records.run import Scores
from ecv_core.stopping.fold_variance import user_variance
from tests.analysis.selection.conftest import made


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
    some = contenders([0.5, 0.4, 0.45], k=5, users=20, shared=0.1, own=2.0)
    every, paired = EverySubset(some), PairedScores(some)
    for one, other in [(0, 1), (2, 1), (1, 0)]:
        for folds in range(1, 2**5):
            a, b = every.between(one, other, folds), paired.between(one, other, folds)
            assert a.folds == b.folds
            assert a.mean == pytest.approx(b.mean, abs=1e-12)
            assert a.users == pytest.approx(b.users, rel=1e-6, abs=1e-15)
            assert a.observed == pytest.approx(b.observed, rel=1e-6, abs=1e-15, nan_ok=True)


def test_what_all_contenders_share_in_a_fold_does_not_count() -> None:
    calm, rough = (made([0.5, 0.4], shared=shared, seed=3) for shared in (0.0, 5.0))
    a, b = (PairedScores(one).between(0, 1, 0b111) for one in (calm, rough))
    assert a.mean == pytest.approx(b.mean)
    assert a.users == pytest.approx(b.users)
    assert a.observed == pytest.approx(b.observed)
