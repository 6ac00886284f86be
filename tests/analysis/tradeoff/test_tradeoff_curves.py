"""Curves of several systems: averages by hand, grids, and agreement with the walk."""

import numpy as np
import pytest

from ecv_core.analysis.exploration import explore
from ecv_core.analysis.orders.outcomes import QUANTILES, Curve
from ecv_core.analysis.tradeoff.alphas import slider_alphas
from ecv_core.analysis.tradeoff.curves import averaged, tradeoff
from ecv_core.analysis.tradeoff.frames import (
    FIXED,
    STOPS_COLUMNS,
    TRADEOFF_COLUMNS,
    stops_frame,
    tradeoff_frame,
)
from ecv_core.analysis.tradeoff.rule_curves import RuleCurve, axis_values, curve_of_rule
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.stopping import RULES

FOLDS = np.array([0.30, 0.34, 0.31, 0.33, 0.32, 0.29])


def system(name="one", folds=FOLDS, dataset="d", joules=None):
    return Scores(name=name, dataset=dataset, metric="nDCG@10", folds=folds, joules=joules)


def curve(stops, difference, cost, within=None):
    rows = len(stops)
    return Curve(
        k=len(stops[0]),
        settings=np.arange(1.0, rows + 1),
        stop_distribution=np.array(stops, dtype=float),
        mean_difference_percent=np.array(difference, dtype=float),
        difference_quantiles=np.tile(np.array(difference, dtype=float)[:, None], len(QUANTILES)),
        coverage=np.ones(rows),
        cost_percent=np.array(cost, dtype=float),
        within=None if within is None else np.array(within, dtype=float),
    )


def test_an_average_counts_every_system_the_same_and_pads_missing_folds():
    mean = averaged([curve([[0, 1, 0]], [2], [60], [0.5]), curve([[0, 0, 0, 1]], [1], [90], [1])])
    assert mean.k == 4
    assert mean.stop_distribution.tolist() == [[0, 0.5, 0, 0.5]]
    assert mean.mean_stop.tolist() == [3.0]
    assert mean.mean_difference_percent.tolist() == [1.5]
    assert mean.cost_percent.tolist() == [75.0]
    assert mean.within is not None
    assert mean.within.tolist() == [0.75]


def test_every_point_is_what_the_walk_says_at_that_alpha():
    found = tradeoff([system(joules=np.array([1.0, 2, 3, 4, 5, 6]))], within_percent=2.0)
    walk = explore(found.systems[0])
    for row in (0, len(found.alphas) // 2, -1):
        alpha = float(found.alphas[row])
        at = walk.at(alpha, within_percent=2.0)
        assert found.average.cost_percent[row] == pytest.approx(at.cost_percent)
        assert found.average.mean_difference_percent[row] == pytest.approx(
            at.mean_difference_percent
        )
        assert found.average.within[row] == pytest.approx(at.within)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_the_grid_goes_from_nearly_all_folds_to_the_first_possible_stop(scale):
    found = tradeoff([system(folds=FOLDS * scale)], within_percent=2.0)
    assert found.average.mean_stop[0] >= 0.97 * 6
    assert found.average.mean_stop[-1] == pytest.approx(3)
    steps = slider_alphas(found.alphas)
    for end in (found.alphas[0], found.alphas[-1], steps[0], steps[-1]):
        assert np.log10(end) == pytest.approx(round(np.log10(end)))
    assert np.all(np.diff(found.alphas) > 0)
    assert all(float(f"{step:.1e}") == step for step in steps)


def test_scores_that_stop_at_any_alpha_do_not_stretch_the_grid():
    ties = np.array([0.3, 0.3, 0.3, 0.3, 0.3, 0.29])  # half of all orders begin with three equal
    beside = tradeoff([system(), system("ties", ties)], within_percent=2.0)
    assert beside.curves[1].mean_stop[0] < 0.9 * 6
    assert beside.alphas[0] == pytest.approx(1e-5)  # alone the first has 1e-4; never all nine


def test_a_coarse_grid_has_the_steps_of_a_slider_and_the_values_of_the_fine_one():
    fine = tradeoff([system()], within_percent=2.0)
    coarse = tradeoff([system()], within_percent=2.0, every_alpha=False)
    assert coarse.alphas.tolist() == slider_alphas(fine.alphas)
    rows = fine.average.rows(coarse.alphas)
    assert np.array_equal(coarse.average.mean_stop, fine.average.mean_stop[rows])


def test_systems_of_different_k_have_no_common_fixed_e():
    found = tradeoff([system(), system("two", FOLDS[:5])], within_percent=2.0)
    assert FIXED not in tradeoff_frame(found, [])["kind"].unique()
    assert found.average.k == 6


def test_the_frame_holds_every_curve_and_the_papers_point():
    found = tradeoff([system(), system("two", FOLDS[::-1] + 0.1)], within_percent=2.0)
    precision = curve([[0, 1, 0, 0, 0, 0]], [0.5], [33])
    other = RuleCurve(rule="precision", curves={0: precision})
    frame = tradeoff_frame(found, [other])
    assert list(frame.columns) == list(TRADEOFF_COLUMNS)
    counts = frame["kind"].value_counts().to_dict()
    alphas = len(found.alphas)
    assert counts == {"average": alphas, "system": 2 * alphas, "fixed e": 6, "rule": 1, "paper": 1}
    paper = frame[frame["kind"] == "paper"].iloc[0]
    assert (paper["folds"], paper["energy_percent"], paper["difference_percent"]) == (
        4.15,
        41.5,
        1.81,
    )
    fixed = frame[frame["kind"] == "fixed e"]
    assert fixed["energy_percent"].to_numpy() == pytest.approx(np.arange(1, 7) / 6 * 100)
    assert fixed["difference_percent"].iloc[-1] == 0


def test_the_frame_of_stops_is_a_distribution_at_every_alpha():
    found = tradeoff([system()], within_percent=2.0)
    frame = stops_frame(found.average)
    assert list(frame.columns) == list(STOPS_COLUMNS)
    assert frame.groupby("alpha")["percent"].sum().to_numpy() == pytest.approx(100)
    assert (frame.groupby("n")["percent"].max()[[1, 2]] == 0).all()


def test_content_changes_with_scores_costs_and_name_only():
    assert system().fingerprint == system(folds=FOLDS.copy()).fingerprint
    others = [system(folds=FOLDS + 1e-9), system("two"), system(joules=np.ones(6))]
    assert len({one.fingerprint for one in [system(), *others]}) == 4


def test_the_precision_rule_spends_less_the_more_it_tolerates():
    rng = np.random.default_rng(0)
    users = rng.normal(0.3, 0.1, (6, 200))
    scores = Scores(folds=users.mean(axis=1), users=users)
    precision = RULES["precision"]
    found = curve_of_rule(precision, scores, axis_values(precision, 6), within_percent=2.0)
    assert found.mean_stop[0] > found.mean_stop[-1]
    assert np.all(np.diff(found.cost_percent) <= 1e-9)


def test_more_folds_than_whole_curves_can_take_are_one_sentence():
    with pytest.raises(InputError, match="at most 20 folds, but there are 21; use the first 20"):
        tradeoff([system(folds=np.arange(21.0))], within_percent=2.0)


@pytest.mark.slow
def test_many_folds_have_a_curve_at_the_sliders_alphas_only():
    found = tradeoff(
        [system(folds=np.random.default_rng(0).normal(0.3, 0.01, 17))], within_percent=2
    )
    assert found.alphas.tolist() == slider_alphas(found.alphas)
