"""What the next run takes, from runs that are known, by hand."""

from dataclasses import replace

import pytest

from ecv_core.energy.savings import KnownCosts, sum_of_expected
from ecv_core.energy.savings import expected_costs as expected_in
from ecv_core.fold.spec import make_spec
from ecv_core.stopping import folds_planned

SPEC = make_spec(dataset="ml-100k", algorithm="item-knn", rule="e-fold", k=10)


def known(seconds, joules, spec=SPEC):
    return KnownCosts(spec=spec, seconds=seconds, joules=joules)


def expected_costs(spec, runs):
    return expected_in(spec, runs, folds_planned(spec))


def test_from_the_fewest_folds_at_the_lowest_cost_to_the_most_at_the_highest():
    found = expected_costs(SPEC, [known((9, 2, 4), (90, 20, 40))])
    assert found.folds == (3, 10)
    # The 9 s pay start-up too, and after three folds another may be off by 30 %.
    assert found.seconds == pytest.approx((3 * 2 * 0.7, 10 * 4 * 1.3))
    assert found.joules == pytest.approx((3 * 20 * 0.7, 10 * 40 * 1.3))
    assert (found.runs, found.same_parameters) == (1, True)


def test_several_runs_widen_the_range_and_those_without_a_meter_say_only_time():
    runs = [known((9, 2), (90, 20)), known((9, 6), (0, 0))]
    found = expected_costs(SPEC, runs)
    # After two folds another may be off by 50 %.
    assert found.seconds == pytest.approx((3 * 2 * 0.5, 10 * 6 * 1.5))
    assert found.joules == pytest.approx((3 * 20 * 0.5, 10 * 20 * 1.5))
    assert expected_costs(SPEC, runs[1:]).joules is None


def test_runs_with_the_same_parameters_go_first():
    other = replace(SPEC, params=(("neighbours", 7),))
    both = [known((1, 1), (1, 1), other), known((5, 5), (5, 5))]
    assert expected_costs(SPEC, both).seconds == pytest.approx((3 * 5 * 0.5, 10 * 5 * 1.5))
    alone = expected_costs(SPEC, both[:1])
    assert alone.seconds == pytest.approx((3 * 0.5, 10 * 1.5))
    assert not alone.same_parameters


def test_nothing_is_known_from_other_datasets_algorithms_or_runs_without_a_fold():
    others = [
        known((1,), (1,), replace(SPEC, dataset="ml-1m")),
        known((1,), (1,), replace(SPEC, algorithm="popular")),
        known((), ()),
    ]
    assert expected_costs(SPEC, others) is None


@pytest.mark.parametrize(
    ("settings", "folds"),
    [
        ({"rule": "e-fold", "min_folds": 4}, (4, 10)),
        ({"rule": "e-fold", "full": True}, (10, 10)),
        ({"rule": "never"}, (10, 10)),
        ({"rule": "fixed", "min_folds": 5}, (5, 5)),
        ({"rule": "never", "only_folds": (0, 3)}, (2, 2)),
    ],
)
def test_how_many_folds_a_run_may_need(settings, folds):
    assert folds_planned(replace(SPEC, **settings)) == folds


def test_runs_one_after_the_other_add_up():
    one = expected_costs(SPEC, [known((9, 2, 4), (90, 20, 40))])
    both = sum_of_expected([one, one])
    assert both.folds == (6, 20)
    assert both.seconds == pytest.approx((2 * 4.2, 2 * 52))
    assert sum_of_expected([one, replace(one, joules=None)]).joules is None
