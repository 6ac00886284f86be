"""Rules at equal energy and at equal difference: lines by hand, weights, what is out of reach."""

import math
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest

from ecv_core.analysis.exploration import explore, fixed_stops, outcome_over_orders
from ecv_core.analysis.orders.outcomes import QUANTILES, Curve
from ecv_core.analysis.tradeoff.alphas import slider_alphas
from ecv_core.analysis.tradeoff.curves import tradeoff
from ecv_core.analysis.tradeoff.recorded import recorded_curve
from ecv_core.analysis.tradeoff.rule_curves import (
    MANY_DRAWS,
    RuleCurve,
    axis_values,
    curve_of_rule,
    work_out_rule_curve,
)
from ecv_core.analysis.tradeoff.rules_compared import RULES_COLUMNS, Line, rules_frame
from ecv_core.records.run import Scores
from ecv_core.stopping import RULES, StdStagnation
from ecv_core.store.recorded import recorded_run, recorded_runs
from ecv_core.store.results import Results, scores_of_run

RNG = np.random.default_rng(3)
NOISY, CALM = RNG.normal(0.3, 0.03, 10), RNG.normal(0.4, 0.004, 10)


def system(name, folds, joules=None):
    return Scores(
        name=name,
        dataset=name,
        algorithm="a",
        metric="nDCG@10",
        folds=folds,
        joules=None if joules is None else np.full(10, joules / 10),
    )


def curve(settings, cost, difference, errors=None):
    rows = len(settings)
    return Curve(
        k=10,
        settings=np.array(settings, dtype=float),
        stop_distribution=np.zeros((rows, 10)),
        mean_difference_percent=np.array(difference, dtype=float),
        difference_quantiles=np.zeros((rows, len(QUANTILES))),
        coverage=np.ones(rows),
        cost_percent=np.array(cost, dtype=float),
        standard_errors=errors or {},
    )


def rule_curve(*curves):
    return RuleCurve(rule="fixed", curves=dict(enumerate(curves)))


def line(cost, difference):
    return Line.averaged_over_systems(
        rule_curve(curve(range(1, len(cost) + 1), cost, difference)), np.ones(1)
    )


@pytest.mark.parametrize(
    ("cost", "setting", "difference"),
    [
        (10, 1.0, 4.0),
        (15, 1.5, 3.0),  # half the runs use one setting, half the next
        (20, 2.0, 2.0),
        (60, 2.5, 1.0),
        (100, 3.0, 0.0),
    ],
)
def test_between_two_settings_lies_their_mix(cost, setting, difference):
    mean = line([10, 20, 100], [4, 2, 0])
    assert mean.at_cost(cost) == pytest.approx((setting, difference, 0.0))


def test_below_the_cheapest_setting_there_is_nothing():
    mean = line([10, 20, 100], [4, 2, 0])
    assert all(math.isnan(value) for value in mean.at_cost(9.9))


@pytest.mark.parametrize(
    ("difference", "setting", "cost"), [(3, 1.5, 15), (0, 3, 100), (1, 2.5, 60), (9, 1, 10)]
)
def test_an_equal_difference_takes_the_cheapest_mix(difference, setting, cost):
    mean = line([10, 20, 100], [4, 2, 0])
    assert mean.at_difference(difference) == pytest.approx((setting, cost, 0.0))


def test_a_line_that_gets_worse_in_between_counts_from_its_first_crossing():
    mean = line([10, 20, 30, 100], [4, 2, 3, 0])
    assert mean.at_difference(2.5)[1] == pytest.approx(17.5)


def test_weights_count_for_the_cost_and_not_for_the_difference():
    two = rule_curve(curve([1, 2], [10, 100], [4, 0]), curve([1, 2], [50, 100], [2, 0]))
    mean = Line.averaged_over_systems(two, np.array([3.0, 1.0]))
    assert mean.cost.tolist() == [20, 100]
    assert mean.difference.tolist() == [3, 0]


def test_errors_of_cells_join_as_those_of_independent_numbers():
    each = [
        {"cost_percent": np.array([cost, 0]), "mean_difference_percent": np.array([off, 0])}
        for cost, off in ((0.3, 0.06), (0.4, 0.08))
    ]
    two = rule_curve(*(curve([1, 2], [10, 100], [4, 0], errors) for errors in each))
    mean = Line.averaged_over_systems(two, np.ones(2))
    assert mean.cost_error[0] == pytest.approx(0.25)  # a half of sqrt(0.3^2 + 0.4^2)
    assert mean.at_cost(10)[2] == pytest.approx(0.05)
    # At 2 %: half way, so half of both errors; the line is 22.5 cost percent per point steep.
    assert mean.at_difference(2)[2] == pytest.approx(0.125 + 22.5 * 0.025)


def test_a_fixed_number_of_folds_costs_its_share_in_every_cell():
    systems = [system("noisy", NOISY, 5.0), system("calm", CALM, 70.0)]
    found = work_out_rule_curve(RULES["fixed"], systems, {})
    for one in found.curves.values():
        assert one.cost_percent == pytest.approx(np.arange(10, 101, 10))
    assert found.curves[0].mean_difference_percent == pytest.approx(
        fixed_stops(Scores(folds=NOISY)).mean_difference_percent
    )
    assert not found.sampled


def test_stagnation_can_never_be_cheaper_than_its_fourth_fold_and_says_how_sure_it_is():
    systems = [system("noisy", NOISY)]
    found = work_out_rule_curve(RULES["std-stagnation"], systems, {}, draws=MANY_DRAWS)
    mean = Line.averaged_over_systems(found, np.ones(1))
    assert mean.settings.tolist() == [4, 5, 6, 7, 8, 9, 10]
    assert np.all(np.diff(mean.cost) > 0)
    assert mean.cost[0] >= 40
    assert (mean.cost[-1], mean.difference[-1]) == (pytest.approx(100), pytest.approx(0))
    rule = StdStagnation(min_folds=4)
    alone = outcome_over_orders(Scores(folds=NOISY), rule, draws=MANY_DRAWS, seed=0)
    assert found.sampled
    assert mean.cost_error[0] == alone.standard_errors["cost_percent"]


def test_every_rule_is_compared_with_e_fold_over_its_own_cells():
    systems = [system("noisy", NOISY, 10.0), system("calm", CALM, 90.0)]
    explored = tradeoff(systems, within_percent=2.0)
    alphas = slider_alphas(explored.alphas)
    precision = RuleCurve(rule="precision", curves={1: curve([0.01, 0.05], [40, 10], [0.2, 0.5])})
    fixed = work_out_rule_curve(RULES["fixed"], systems, {})
    frame = rules_frame(explored, [fixed, precision], alphas)
    assert list(frame.columns) == list(RULES_COLUMNS)
    alpha = min(alphas, key=lambda one: abs(np.log(one / 1e-4)))
    at = {(row.weighting, row.rule): row for row in frame[frame["alpha"] == alpha].itertuples()}
    noisy, calm = (explore(one).at(alpha) for one in systems)
    both = (noisy.cost_percent + calm.cost_percent) / 2
    assert at["cells", "e-fold"].energy_percent == pytest.approx(both)
    assert at["joules", "e-fold"].energy_percent == pytest.approx(
        0.1 * noisy.cost_percent + 0.9 * calm.cost_percent
    )
    assert at["cells", "fixed"].equal_energy_setting == pytest.approx(both / 10)
    assert at["cells", "fixed"].equal_difference_energy_percent == pytest.approx(
        10 * at["cells", "fixed"].equal_difference_setting
    )
    assert at["cells", "precision"].cells == 1
    assert at["joules", "precision"].energy_percent == pytest.approx(calm.cost_percent)
    assert at["cells", "precision"].difference_percent == pytest.approx(
        calm.mean_difference_percent
    )


def test_precision_ends_where_all_folds_are_used():
    systems = [system("calm", CALM)]
    explored = tradeoff(systems, within_percent=2.0)
    lowest = [float(explored.alphas[0])]
    precision = RuleCurve(rule="precision", curves={0: curve([0.01, 0.05], [40, 10], [0.2, 0.5])})
    frame = rules_frame(explored, [precision], lowest)
    row = frame[frame["rule"] == "precision"].iloc[0]
    # At nearly all folds: between the 40 % of tolerance 1 % and the 100 % of tolerance 0.
    assert 0 < row["equal_energy_setting"] < 0.01
    assert row["equal_energy_difference_percent"] == pytest.approx(
        0.2 * (100 - row["energy_percent"]) / 60
    )
    assert row["least_energy_percent"] == 10
    assert set(frame["weighting"]) == {"cells"}  # no joules are known here


def test_without_any_energy_only_cells_are_weighted():
    systems = [system("noisy", NOISY, 10.0), system("calm", CALM)]
    explored = tradeoff(systems, within_percent=2.0)
    assert set(rules_frame(explored, [], [1e-4])["weighting"]) == {"cells"}


def no_curves():
    return SimpleNamespace(run_numbers={}, fields_by_rule={})


def test_recorded_curves_are_those_that_the_rules_give_today(monkeypatch):
    """Where they are not, `python -m scripts.record_curves` works them out anew."""
    runs = [run for run in recorded_runs() if run.whole]
    systems = {run.run_id: scores_of_run(run) for run in runs}
    alphas = tradeoff(list(systems.values()), within_percent=2.0).alphas
    kept = {}
    for rule in RULES.values():
        if rule.decides_by_scores:
            settings = alphas if rule.id == "e-fold" else axis_values(rule, 10)
            for run_id, system in systems.items():
                kept[rule.id, run_id] = recorded_curve(system, rule.id, settings, 2.0)
                assert kept[rule.id, run_id] is not None
    assert kept
    assert recorded_curve(next(iter(systems.values())), "e-fold", alphas, 3.0) is None
    assert recorded_curve(system, "e-fold", [1.01e-4], 2.0) is None
    assert recorded_curve(replace(system, joules=None), "e-fold", alphas, 2.0) is None

    monkeypatch.setattr("ecv_core.analysis.tradeoff.recorded._stored_curves", no_curves)
    some = ["ml-100k--popular", "hetrec-lastfm--bpr-mf", "amazon-instant-video--ease"]
    for run in filter(None, map(recorded_run, some)):
        scores, number = Results(None).scores(run), [one.run_id for one in runs].index(run.run_id)
        anew = {"e-fold": explore(scores).curve(alphas, within_percent=2.0)}
        for rule_id in ("e-fold-relative", "precision", "std-stagnation"):
            rule = RULES[rule_id]
            settings = axis_values(rule, 10)
            anew[rule_id] = curve_of_rule(rule, scores, settings, seed=number, within_percent=2.0)
        for rule, curve in anew.items():
            for field in fields(Curve):
                now, then = (getattr(one, field.name) for one in (curve, kept[rule, run.run_id]))
                if field.name == "standard_errors":
                    assert now.keys() == then.keys()
                    now, then = list(now.values()), list(then.values())
                np.testing.assert_allclose(then, now, rtol=1e-6, atol=1e-9)
