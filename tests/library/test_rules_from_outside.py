"""A rule that the package does not know: over every order, registered, in the tables of rules."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import ecv_core as ecv
from ecv_core.analysis.tradeoff.curves import tradeoff
from ecv_core.analysis.tradeoff.frames import tradeoff_frame
from ecv_core.analysis.tradeoff.rule_curves import DRAWS, compared_curves, registered_curves
from ecv_core.analysis.tradeoff.rules_compared import Line, rules_frame
from ecv_core.figures.tradeoff import tradeoff_figure
from ecv_core.figures.words import setting_words
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.stopping import RULES, rule_for

SCORES = [0.30, 0.34, 0.31, 0.37, 0.33]
ROOT = Path(__file__).resolve().parents[2]


def by_brute_force(rule, scores):
    """Share of all orders that stop after each fold, and the mean difference to the whole mean."""
    shares, differences = dict.fromkeys(range(1, len(scores) + 1), 0), []
    whole = np.mean(scores)
    orders = list(itertools.permutations(scores))
    for order in orders:
        results = [Result(score) for score in order]
        n = next((n for n in range(1, len(order)) if rule.decide(results[:n]).stop), len(order))
        shares[n] += 1 / len(orders)
        mean = np.mean(order[:n])
        differences.append(abs(mean - whole) / ((mean + whole) / 2) * 100)
    return shares, np.mean(differences)


@dataclass
class Result:
    score: float


def test_any_other_rule_is_sampled_and_near_brute_force(rising):
    shares, difference = by_brute_force(rising, SCORES)
    found = ecv.orders(SCORES, rising, draws=4000, seed=3)
    assert found.orders == 4000
    off = abs(found.mean_difference_percent - difference)
    assert off < 5 * found.standard_errors["mean_difference_percent"]
    assert found.stop_distribution[2] == pytest.approx(shares[2], abs=0.04)


@pytest.mark.parametrize(
    ("rule", "stops"),
    [(ecv.Fixed(folds=2), {2: 1.0}), (ecv.Never(), {5: 1.0}), (ecv.Fixed(folds=9), {5: 1.0})],
)
def test_fixed_and_never_stop_where_they_say(rule, stops):
    found = ecv.orders(SCORES, rule)
    shares = {n: share for n, share in found.stop_distribution.items() if share}
    assert shares == pytest.approx(stops)


def test_a_registered_rule_is_found_by_its_id_and_stops_runs(range_of_two):
    known = ecv.register_rule(range_of_two)
    assert (known.id, known.title) == ("range-of-two", "Range of two")
    assert known.help == "Stops when the newest score is within 0.015 of the lowest so far."
    run = ecv.evaluate("synthetic", "popular", rule="range-of-two", k=5)
    assert run.spec.rule == "range-of-two"
    assert rule_for(run.spec) is range_of_two
    assert [one.run_id for one in ecv.runs()] == [run.run_id]


def test_registering_again_replaces_and_another_rules_id_is_refused(range_of_two, rising):
    ecv.register_rule(range_of_two)
    again = type(range_of_two)()
    assert ecv.register_rule(again).instance is again
    assert RULES["range-of-two"].instance is again
    with pytest.raises(InputError, match="'range-of-two' exists already"):
        ecv.register_rule(rising, id="range-of-two")
    with pytest.raises(InputError, match="'e-fold' exists already"):
        ecv.register_rule(rising, id="e-fold")


@pytest.mark.parametrize("bad", [object(), int, "e-fold"])
def test_what_cannot_decide_is_no_rule(bad):
    with pytest.raises(InputError, match="an object with a method decide"):
        ecv.register_rule(bad)


def test_an_id_that_no_address_can_hold_is_refused(rising):
    with pytest.raises(InputError, match="small letters, digits and hyphens, but is 'My rule'"):
        ecv.register_rule(rising, id="My rule")


@pytest.fixture
def systems():
    rng = np.random.default_rng(5)
    return [
        Scores(name=name, dataset=name, metric="m", folds=rng.normal(0.3, sd, 6))
        for name, sd in (("a", 0.02), ("b", 0.01))
    ]


def test_it_is_a_line_in_the_table_of_rules(range_of_two, systems):
    ecv.register_rule(range_of_two)
    lines = {one.rule: one for one in compared_curves(systems, {})}
    assert list(lines) == ["fixed", "e-fold-relative", "std-stagnation", "range-of-two"]
    for number, system in enumerate(systems):
        alone = ecv.orders(system.folds, range_of_two, draws=DRAWS, seed=number)
        line = Line.averaged_over_systems(lines["range-of-two"], np.eye(2)[number])
        assert line.cost.tolist() == pytest.approx([alone.cost_percent, 100])
        own = lines["range-of-two"].curves[number]
        assert own.mean_difference_percent.tolist() == [alone.mean_difference_percent]
    explored = tradeoff(systems, within_percent=2.0)
    frame = rules_frame(explored, list(lines.values()), [float(explored.alphas[10])])
    assert list(frame["rule"]) == ["e-fold", *lines]


def test_it_is_on_the_chart_of_all_alphas(range_of_two, rising, systems):
    ecv.register_rule(range_of_two)
    ecv.register_rule(rising)
    curves = registered_curves(systems, {}, within_percent=2.0)
    assert {one.rule: one.sampled for one in curves} == {
        "e-fold-relative": False,
        "std-stagnation": True,
        "range-of-two": True,
        "rising": True,
    }
    explored = tradeoff(systems, within_percent=2.0)
    figure = tradeoff_figure(tradeoff_frame(explored, curves))
    drawn = {trace.name: trace for trace in figure.data}
    alone = [
        ecv.orders(one.folds, range_of_two, draws=DRAWS, seed=number).cost_percent
        for number, one in enumerate(systems)
    ]
    assert drawn["Range of two"].x[0] == pytest.approx(np.mean(alone))
    assert "Rising" in drawn


def test_a_rule_whose_users_scores_are_missing_is_left_out(systems):
    class NeedsUsers:
        needs_user_scores = True

        def decide(self, results):
            raise InputError("fold 0 was recorded without users' scores")

    ecv.register_rule(NeedsUsers())
    assert "needs-users" not in [one.rule for one in compared_curves(systems, {})]
    assert "needs-users" not in [
        one.rule for one in registered_curves(systems, {}, within_percent=2)
    ]


@pytest.mark.parametrize(
    ("rule_id", "value", "words"),
    [
        ("fixed", 3.5, "3.5 folds"),
        ("precision", 0.021, "tolerance 2.1 %"),
        ("std-stagnation", 4.0, "at least 4 folds"),
        ("e-fold", 1e-4, "alpha 1e-4"),
        ("e-fold", 0.0, "all folds"),
        ("rising", 1.0, "as registered"),
        ("rising", 0.25, "in 25 % of the runs, otherwise all folds"),
    ],
)
def test_a_setting_is_said_in_words(rising, rule_id, value, words):
    ecv.register_rule(rising)
    assert setting_words(rule_id, value) == words


@pytest.mark.slow
def test_the_command_line_knows_the_rules_of_ecv_rules(tmp_path: Path):
    (tmp_path / "my_rules.py").write_text(
        "import ecv_core as ecv\n\n\n"
        "class SecondFold:\n"
        "    '''Stops after the second fold.'''\n\n"
        "    def decide(self, results):\n"
        "        return ecv.Decision(stop=len(results) > 1, reason='After two: stop.')\n\n\n"
        "ecv.register_rule(SecondFold())\n"
        "ecv.register_metric(ecv.Metric('upper', lambda hits, held: hits[:, :5].sum(axis=1)))\n"
        "ecv.register_split(ecv.Strategy('by-item', lambda data, k, *_: data.users % k))\n",
        encoding="utf-8",
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    command = [sys.executable, "-m", "ecv_core", "run", "synthetic", "popular", "--rule"]
    done = subprocess.run(
        [*command, "second-fold", "--metric", "upper", "--split", "by-item"],
        env=os.environ | {"ECV_PLUGINS": "my_rules", "PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "popular on synthetic, Upper@10\nStopped after 2 of 10 folds" in done.stdout, done.stderr
    done = subprocess.run(
        [*command, "fixed"],
        env=os.environ | {"ECV_RULES": "no_such_rules"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: ECV_RULES names 'no_such_rules', which cannot be imported"
    )
