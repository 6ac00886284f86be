"""How far splits agree on configurations, as scripts/record_spaces.py works it out."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from ecv_core.store.configurations import recorded_spaces
from scripts.record_spaces import EPOCHS, agreements, fits

NO = np.nan


def table(*rows):
    return np.array(rows, dtype=np.float32)[:, None]


def test_agreement_is_worked_out_by_hand():
    # Means 3, 2, 1 under the one; 1, 4, 2 under the other, where the third user has no score.
    one = table([3, 3, 3], [2, 2, 2], [1, 1, 1])
    other = table([1, 1, NO], [4, 4, NO], [2, 2, NO])
    (found,) = agreements({"last item": one, "last basket": other})
    assert found["splits"] == ["last item", "last basket"]
    assert found["tau"] == pytest.approx(-1 / 3)  # one of three pairs in the same order
    assert found["best_loss_percent"] == pytest.approx(75)  # 1 in place of 4
    assert found["interval"] == pytest.approx([-1 / 3, -1 / 3])  # all users say the same


def test_the_interval_is_as_wide_as_users_differ():
    # By the first user the order is the same, by the second it is turned round.
    one, other = table([2, 2], [1, 1]), table([2, 1], [1, 2.5])
    (found,) = agreements({"a": one, "b": other})
    assert found["tau"] == -1
    assert found["interval"] == [-1, 1]


@pytest.mark.parametrize("name", ["ml-100k", "ta-feng"])
def test_recorded_taus_are_those_of_the_recorded_means(name):
    found = recorded_spaces()[name]
    for one in found["agreements"]:
        first, second = (np.array(found["scores"][split]) for split in one["splits"])
        # Means have six digits in the file: equal ones can be a tie there alone.
        assert one["tau"] == pytest.approx(kendalltau(first, second).statistic, abs=2e-3)
        low, high = one["interval"]
        assert low < one["tau"] < high
        loss = 100 * (1 - second[first.argmax()] / second.max())
        assert one["best_loss_percent"] == pytest.approx(loss, abs=0.01)


def test_there_are_as_many_configurations_as_in_the_paper():
    assert len(fits()) * len(EPOCHS) == 230
    assert len(set(recorded_spaces()["ta-feng"]["configurations"])) == 230
