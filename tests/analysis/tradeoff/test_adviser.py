"""The adviser: the cheapest setting that keeps a promise, and how it does on data left out."""

import numpy as np
import pytest

from ecv_core.analysis.orders.outcomes import QUANTILES, Curve
from ecv_core.analysis.tradeoff.decision import cheapest, leave_one_dataset_out
from ecv_core.records.run import Scores


def curve(within, cost):
    rows = len(within)
    return Curve(
        k=3,
        settings=np.arange(1.0, rows + 1),
        stop_distribution=np.tile([0.0, 0.0, 1.0], (rows, 1)),
        mean_difference_percent=np.zeros(rows),
        difference_quantiles=np.zeros((rows, len(QUANTILES))),
        coverage=np.ones(rows),
        cost_percent=np.array(cost, dtype=float),
        within=np.array(within, dtype=float),
    )


@pytest.mark.parametrize(
    ("within", "cost", "setting"),
    [
        ([1.0, 0.96, 0.94], [100, 60, 30], 2),  # the last that keeps it is the cheapest
        ([1.0, 0.90, 0.96], [100, 60, 30], 3),  # it may hold again further on
        ([1.0, 0.95, 0.95], [100, 60, 60], 2),  # of equal cost, the more careful one
        ([0.94, 0.90, 0.10], [100, 60, 30], None),  # nothing keeps it
    ],
)
def test_the_cheapest_setting_that_keeps_the_promise(within, cost, setting):
    found = cheapest(curve(within, cost), 0.95)
    assert (found.setting if found else None) == setting


def checked(*cells):
    systems = [
        Scores(name=f"{i}", dataset=name, metric="m", folds=np.array([1.0, 2, 3]))
        for i, (name, _) in enumerate(cells)
    ]
    return leave_one_dataset_out(systems, [one for _, one in cells], 0.95)


EASY = curve([1.0, 1.0, 0.98], [100, 60, 30])
HARD = curve([1.0, 0.97, 0.60], [100, 60, 30])


def test_an_alpha_from_easy_data_breaks_the_promise_on_hard_data():
    easy, hard = checked(("easy", EASY), ("hard", HARD))
    assert (easy.dataset, easy.setting, easy.share_within, easy.keeps_promise) == (
        "easy",
        2,
        1.0,
        True,
    )
    assert (hard.dataset, hard.setting, hard.share_within, hard.keeps_promise) == (
        "hard",
        3,
        0.6,
        False,
    )


def test_a_dataset_counts_once_however_many_systems_it_has():
    # Two easy cells of one dataset do not outvote the hard one: (0.98 + 0.60) / 2 < 0.95.
    checks = checked(("easy", EASY), ("easy", EASY), ("hard", HARD), ("left", EASY))
    assert [one.setting for one in checks if one.dataset == "left"] == [2]


def test_without_an_alpha_all_folds_are_used_and_the_promise_is_kept():
    never = curve([0.9, 0.5], [100, 50])
    check = checked(("a", never), ("b", never))[0]
    assert (check.setting, check.share_within, check.keeps_promise) == (None, 1.0, True)


def test_one_dataset_has_nothing_to_be_checked_against():
    assert checked(("a", EASY), ("a", HARD)) == []
