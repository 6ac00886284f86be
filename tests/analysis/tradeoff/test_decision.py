"""How many folds: every option that keeps a promise, cheapest first, worked out by hand.

Folds 10, 20, 30 have the mean 20. One fold is 10 or 30 in two of three orders, |10 - 20| / 15 =
66.7 % and |30 - 20| / 25 = 40 % away, and exactly right in the third. Two folds are 15, 20 or 25:
5 / 17.5 = 28.57 %, 0 % and 5 / 22.5 = 22.22 % away.
"""

import numpy as np
import pytest

from ecv_core.analysis.orders.outcomes import QUANTILES, Curve
from ecv_core.analysis.tradeoff.decision import decide, fixed_folds, tolerance_for_k_minus_1_folds
from ecv_core.analysis.tradeoff.rule_curves import RuleCurve
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores


def system(folds=(10.0, 20.0, 30.0), *, dataset="d", joules=None):
    return Scores(
        name=f"s on {dataset}",
        dataset=dataset,
        metric="m",
        folds=np.array(folds),
        joules=None if joules is None else np.array(joules, dtype=float),
    )


def rule(name, within, cost, *, systems=1):
    """A rule with the settings 1, 2, ... that does the same on every system."""
    rows = len(within)
    curve = Curve(
        k=3,
        settings=np.arange(1.0, rows + 1),
        stop_distribution=np.tile([0.0, 1.0, 0.0], (rows, 1)),
        mean_difference_percent=np.zeros(rows),
        difference_quantiles=np.zeros((rows, len(QUANTILES))),
        coverage=np.ones(rows),
        cost_percent=np.array(cost, dtype=float),
        within=np.array(within, dtype=float),
    )
    return RuleCurve(rule=name, curves=dict.fromkeys(range(systems), curve))


def of(systems, limit, share, *more):
    fixed = fixed_folds(systems, within_percent=limit)
    return decide(systems, [fixed, *more], within_percent=limit, share=share)


@pytest.mark.parametrize(
    ("limit", "share", "folds"),
    [
        (30, 1.0, 2),  # both ends of two folds are within 30 %
        (25, 2 / 3, 2),  # 28.57 % is not, the other two are
        (40, 2 / 3, 1),  # 40 % and 0 % are within 40 %: one fold is enough
        (70, 1.0, 1),
        (0.1, 1 / 3, 1),  # the middle fold alone is the k-fold mean
    ],
)
def test_the_least_number_of_folds_that_keeps_the_promise(limit, share, folds):
    found = of([system()], limit, share)
    assert found.best.rule == "fixed"
    assert found.best.outcome.setting == folds
    assert found.best.outcome.cost_percent == pytest.approx(100 * folds / 3)
    assert found.best.systems_keeping_promise == 1
    assert [one.rule for one in found.options] == ["fixed", "never"]


def test_nothing_but_all_folds_says_what_would_keep_it():
    found = of([system()], 5, 0.95)
    assert [one.rule for one in found.options] == ["never"]
    assert found.best.outcome.cost_percent == pytest.approx(100)
    assert found.failing == ("fixed",)
    assert found.percent_that_saves_a_fold == pytest.approx(5 / 17.5 * 100)


@pytest.mark.parametrize(
    ("share", "needed"), [(1.0, 500 / 17.5), (0.6, 500 / 22.5), (1 / 3, 0.0), (0.01, 0.0)]
)
def test_the_difference_that_would_have_to_be_accepted(share, needed):
    assert tolerance_for_k_minus_1_folds([system()], share) == pytest.approx(needed)


def test_systems_count_the_same_whatever_their_number_of_folds():
    # (10, 30): one fold is 66.7 % or 40 % away, each in half of its orders, a quarter of all;
    # the other system has 28.57, 22.22 and 0 %, each in a sixth of all.
    two = [system(), system((10.0, 30.0), dataset="e")]
    assert tolerance_for_k_minus_1_folds(two, 1.0) == pytest.approx(1000 / 15)
    assert tolerance_for_k_minus_1_folds(two, 0.75) == pytest.approx(40)
    assert tolerance_for_k_minus_1_folds(two, 0.5) == pytest.approx(500 / 17.5)
    # With two folds the second system has all of its own, and never differs.
    second = of(two, 30, 1.0).best
    assert (second.outcome.setting, second.systems_keeping_promise) == (2, 2)
    assert second.outcome.cost_percent == pytest.approx((200 / 3 + 100) / 2)


def test_options_come_cheapest_first_of_equal_costs_too():
    rules = [rule("precise", [1.0, 0.96], [80, 66.5]), rule("cheap", [0.95, 0.9], [40, 20])]
    found = of([system()], 30, 0.95, *rules)
    assert [(one.rule, one.outcome.setting) for one in found.options] == [
        ("cheap", 1),
        ("precise", 2),
        ("fixed", 2),
        ("never", None),
    ]
    tied = of([system()], 30, 0.95, rule("precise", [1.0], [66.5]))
    assert tied.best.rule == "precise"


def test_of_equal_costs_the_simpler_rule_comes_first():
    found = of([system()], 30, 0.95, rule("other", [1.0], [200 / 3]))
    assert [one.rule for one in found.options] == ["fixed", "other", "never"]


def test_energy_decides_where_it_is_known():
    # The first fold costs 6 of 8 J: two folds of three cost 7, 7 or 2 J, 5.33 J on average.
    found = of([system(joules=(6, 1, 1))], 30, 1.0)
    assert found.best.outcome.cost_percent == pytest.approx(100 * 16 / 3 / 8)


def test_the_promise_is_about_the_average_and_says_who_keeps_it_alone():
    steady = system((20.0, 20.0, 20.1), dataset="steady")
    # Two folds: all orders of the steady one and 2/3 of the other's are within 25 %: 5/6.
    found = of([system(), steady], 25, 0.8)
    assert (found.best.outcome.setting, found.best.systems_keeping_promise) == (2, 1)
    assert found.best.outcome.within == pytest.approx(5 / 6)


def test_a_setting_is_checked_on_the_dataset_it_was_not_chosen_on():
    steady = [system((20.0, 20.0, 20.1), dataset=name) for name in ("a", "b")]
    found = of([*steady, system(dataset="hard")], 30, 0.75)
    checks = {one.dataset: one for one in found.best.checks}
    # Chosen on a and b, one fold is enough; on the hard one a third of the orders is within 30 %.
    assert (checks["hard"].setting, checks["hard"].keeps_promise) == (1, False)
    assert checks["hard"].share_within == pytest.approx(1 / 3)
    # Chosen on one steady and the hard one: (1 + 1/3) / 2 < 0.75, so two folds.
    assert (checks["a"].setting, checks["a"].keeps_promise) == (2, True)


def test_one_dataset_has_no_check():
    assert of([system()], 30, 1.0).best.checks == ()


@pytest.mark.parametrize("share", [0.0, 1.01, -1])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(InputError, match="share of fold orders must be above 0"):
        of([system()], 2, share)
