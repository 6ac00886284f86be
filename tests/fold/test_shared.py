"""Folds of several configurations together: the scores of separate ones, what is spent once."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ecv_core.energy.savings import KnownCosts
from ecv_core.figures.words import shared_words
from ecv_core.fold.computing import run_fold, run_shared_fold, sharing_key
from ecv_core.fold.costs import Costs
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.driver import drive
from ecv_core.jobs.plan_runs import PlanRuns
from ecv_core.jobs.plans.tune import FoldsPlan
from ecv_core.records.run import Energy, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.configurations import specs_of
from ecv_core.store.document import run_document
from ecv_core.store.imports import read_run
from ecv_core.store.listing import RunList
from ecv_core.store.store import open_store
from tests.fake_folds import FakeMeter

GRIDS = {
    "item-knn": ("neighbours", (40, 5, 100)),
    "user-knn": ("neighbours", (40, 5, 100)),
    "ease": ("regularization", (10.0, 250.0)),
    "bpr-mf": ("epochs", (3, 1, 2)),
}
SMALL = {"bpr-mf": {"factors": 4}}


def energy(joules: float) -> Energy:
    return replace(
        Energy.none(), joules=joules, cpu_joules=joules, grams_co2e=joules / 10, source="cpu-load"
    )


def specs(algorithm: str) -> list[RunSpec]:
    params = SMALL.get(algorithm)
    spec = make_spec(
        dataset="synthetic", algorithm=algorithm, rule="never", full=True, params=params
    )
    name, values = GRIDS[algorithm]
    return specs_of(spec, [{name: value} for value in values])


@pytest.mark.parametrize("algorithm", sorted(GRIDS))
def test_scores_are_bit_for_bit_those_of_separate_folds(algorithm: str) -> None:
    wanted = specs(algorithm)
    assert len({sharing_key(spec) for spec in wanted}) == 1
    found = dict(run_shared_fold(wanted, 3))
    assert sorted(found) == list(range(len(wanted)))
    for place, spec in enumerate(wanted):
        alone = run_fold(spec, 3)
        assert found[place].metrics == alone.metrics
        assert found[place].score == alone.score
        assert (found[place].user_scores.users == alone.user_scores.users).all()
        assert np.array_equal(found[place].user_scores.values, alone.user_scores.values)
        assert alone.shared is None


@pytest.mark.parametrize("algorithm", ["item-knn", "bpr-mf"])
def test_what_is_spent_is_counted_once(algorithm: str) -> None:
    found = [
        result
        for _, result in run_shared_fold(
            specs(algorithm), 0, meter=FakeMeter([energy(90), energy(20), energy(40)])
        )
    ]
    assert sum(one.energy.joules for one in found) == pytest.approx(150)
    assert sum(one.energy.grams_co2e for one in found) == pytest.approx(15)
    assert {one.energy.source for one in found} == {"cpu-load"}
    for one in found:
        assert one.shared.configurations == 3
        assert one.shared.alone_joules > one.energy.joules
        assert one.shared.alone_seconds > one.total_seconds >= one.fit_seconds > 0
    # On its own the last of a run of iterations needs all but what the others are evaluated for.
    if algorithm == "bpr-mf":
        others = sum(one.evaluate_seconds for one in found[:-1])
        whole = sum(one.total_seconds for one in found)
        assert found[-1].shared.alone_seconds == pytest.approx(whole - others)


Found = list[tuple[float, float]]


@pytest.fixture
def costs_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Found]:
    """Joules borne and joules alone of each configuration, by seconds of the parts; 1 W."""
    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)

    def costs_of(laps: list[dict[str, float]], *, goes_on: bool) -> Found:
        nonlocal now
        costs = Costs(len(laps), steps_build_on_each_other=goes_on)
        found = []
        for lap in laps:
            costs.start_clock()
            for part, seconds in lap.items():
                now += seconds
                costs.end_part(part)
            costs.finish_configuration(energy(sum(lap.values())))
            fold = costs.share_of_last()
            found.append((fold["energy"].joules, fold["shared"].alone_joules))
        return found

    return costs_of


def test_what_comes_first_is_divided_equally(costs_of: Callable[..., Found]) -> None:
    laps = [{"split": 1, "start": 8, "step": 2, "evaluate": 1}, {"step": 5, "evaluate": 1}]
    laps.append({"step": 1, "evaluate": 1})
    found = costs_of(laps, goes_on=False)
    assert found == [(pytest.approx(6), pytest.approx(12)), (9, 15), (5, 11)]


def test_iterations_are_borne_by_those_that_need_them(costs_of: Callable[..., Found]) -> None:
    laps = [{"split": 0, "start": 3, "step": 6, "evaluate": 1}, {"step": 4, "evaluate": 1}]
    laps.append({"step": 10, "evaluate": 1})
    found = costs_of(laps, goes_on=True)
    # 3 / 3 + 6 / 3; + 4 / 2; + 10: and a second each for its own evaluation.
    assert [one for one, _ in found] == pytest.approx([4, 6, 16])
    assert [one for _, one in found] == pytest.approx([10, 14, 24])


def test_a_meter_is_stopped_when_nobody_asks_for_the_rest() -> None:
    class Counting(FakeMeter):
        going = 0

        def start(self) -> None:
            self.going += 1

        def stop(self) -> Energy:
            self.going -= 1
            return energy(1)

    meter = Counting()
    folds = run_shared_fold(specs("item-knn"), 0, meter=meter)
    next(folds)
    folds.close()
    assert meter.going == 0


def test_configurations_of_other_algorithms_share_nothing() -> None:
    ratings = make_spec(dataset="ml-100k", algorithm="biased-als", rule="never")
    assert sharing_key(ratings) is None
    assert sharing_key(make_spec(dataset="synthetic", algorithm="popular")) is None
    item, user = specs("item-knn")[0], specs("user-knn")[0]
    assert sharing_key(item) != sharing_key(user)


def test_the_record_of_a_run_says_what_was_shared() -> None:
    store = open_store()
    drive(FoldsPlan(specs("item-knn"), (0, 4)), PlanRuns(store))
    runs = store.runs()[::-1]
    assert len(runs) == 3
    assert {run.state for run in runs} == {RunState.FINISHED}
    for run in runs:
        assert [one.fold for one in run.folds] == [0, 4]
        assert [one.shared.configurations for one in run.folds] == [3, 3]
        assert "2 folds shared work with up to 2 other" in shared_words(run)
        again = read_run(json.dumps(run_document(run)).encode(), "run.json").run
        assert [one.shared for one in again.folds] == [one.shared for one in run.folds]
        known = KnownCosts.of(run)
        assert known.seconds == tuple(one.shared.alone_seconds for one in run.folds)
    for row, run in zip(reversed(RunList(store).rows()), runs, strict=True):
        assert row.joules == pytest.approx(sum(one.energy.joules for one in run.folds))
        assert row.fold_seconds == KnownCosts.of(run).seconds
        assert row.fold_joules == KnownCosts.of(run).joules
    assert shared_words(replace(runs[0], folds=())) == ""
