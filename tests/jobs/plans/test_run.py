"""A run as a plan: which fold comes next, by the folds that are there alone."""

from dataclasses import replace

import numpy as np
import pytest

from ecv_core.jobs.plan import FoldTask
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.records.run import FoldResult
from ecv_core.records.spec import RunSpec
from ecv_core.store.results import cheap_model_spec
from tests.fake_folds import SCORES, users_result
from tests.jobs.plans.in_memory import InMemory, played, sure

# As worked out in tests/jobs/test_driver.py: the rule of the paper stops after 3 folds.
STOPS_AFTER_3 = (("alpha", 0.0419),)
SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule_params=STOPS_AFTER_3)
ADJUSTED = replace(
    SPEC,
    algorithm="item-knn",
    rule="precision",
    rule_params=(("adjust_by", "popular,ease"), ("tolerance", 0.001)),
    min_folds=1,
)


def fold(spec: RunSpec, index: int) -> FoldResult:
    return users_result(index, np.full((3, 1), SCORES[index]))


@pytest.mark.parametrize(
    ("changes", "folds"),
    [
        ({}, [0, 1, 2]),
        ({"full": True}, [0, 1, 2, 3, 4]),
        ({"rule": "never", "rule_params": ()}, [0, 1, 2, 3, 4]),
        ({"rule": "never", "rule_params": (), "only_folds": (4, 1)}, [4, 1]),
    ],
)
def test_folds_come_in_their_order_until_the_rule_says_stop(changes, folds) -> None:
    spec = replace(SPEC, **changes)
    assert [index for _, index in played(RunPlan(spec), fold)] == folds


def test_it_waits_for_the_folds_that_are_under_way() -> None:
    plan = RunPlan(SPEC)
    tasks = sure(plan.next(InMemory(), ()))
    # the rule cannot stop before its third fold, so these are sure to be needed
    assert tasks == [FoldTask(specs=(SPEC,), fold=index) for index in range(SPEC.min_folds)]
    assert sure(plan.next(InMemory(), tuple(tasks))) == []


def test_it_asks_for_nothing_more_of_a_run_that_has_ended() -> None:
    known = InMemory()
    known.put(SPEC, fold(SPEC, 0))
    known.failed.add(SPEC)
    assert sure(RunPlan(SPEC).next(known, ())) == []


def test_one_that_ended_at_its_stop_goes_on_where_all_folds_are_asked_for() -> None:
    known = InMemory()
    played(RunPlan(SPEC), fold, known=known)
    known.runs[replace(SPEC, full=True)] = known.runs[SPEC]
    tasks = sure(RunPlan(replace(SPEC, full=True)).next(known, ()))
    assert [task.fold for task in tasks] == [3, 4]


def test_cheap_models_run_all_folds_first_and_only_those_that_lack() -> None:
    cheap = [cheap_model_spec(ADJUSTED, name) for name in ("popular", "ease")]
    known = InMemory()
    known.elsewhere = {(cheap[0], index): fold(cheap[0], index) for index in (0, 2)}
    plan, asked = RunPlan(ADJUSTED), []
    while (tasks := plan.next(known, ()))[0].specs[0].algorithm != "item-knn":
        asked.append((tasks[0].specs[0].algorithm, tasks[0].specs[0].only_folds, tasks[0].fold))
        known.put(tasks[0].specs[0], fold(ADJUSTED, tasks[0].fold))
    assert asked[:3] == [("popular", (1, 3, 4), 1), ("popular", (3, 4), 3), ("popular", (4,), 4)]
    assert [(name, index) for name, _, index in asked[3:]] == [("ease", i) for i in range(5)]


def test_once_a_cheap_model_has_failed_no_other_is_asked_for() -> None:
    known = InMemory()
    known.failed.add(cheap_model_spec(ADJUSTED, "popular"))
    (task,) = sure(RunPlan(ADJUSTED).next(known, ()))
    assert task.specs == (ADJUSTED,)  # whoever claims it says why it cannot go on
