"""Folds of configurations as a plan: each once, those that share work together."""

from random import Random

import pytest

from ecv_core.fold.spec import make_spec
from ecv_core.jobs.plans.tune import FoldsPlan
from ecv_core.records.run import FoldResult
from ecv_core.records.spec import RunSpec
from ecv_core.store.configurations import specs_of
from tests.fake_folds import fold_result
from tests.jobs.plans.in_memory import InMemory, played

USUAL = make_spec(dataset="synthetic", algorithm="item-knn", rule="never", full=True)
GRID = specs_of(
    USUAL, [{"neighbours": n, "shrink": shrink} for n in (10, 20, 40) for shrink in (0.0, 5.0)]
)


def fold(spec: RunSpec, index: int) -> FoldResult:
    return fold_result(index, 0.1 * index + dict(spec.params)["neighbours"] / 1000)


@pytest.mark.parametrize("places", [1, 3])
def test_every_fold_that_is_missing_is_asked_for_once(places: int) -> None:
    known = InMemory()
    known.elsewhere = {(GRID[0], 1): fold(GRID[0], 1), (GRID[5], 0): fold(GRID[5], 0)}
    plan = FoldsPlan(GRID, range(3))
    asked = played(plan, fold, known=known, places=places, random=Random(places))
    missing = {(spec, index) for spec in GRID for index in range(3)} - {*known.elsewhere}
    assert sorted(asked, key=repr) == sorted(missing, key=repr)


def test_those_that_share_work_are_one_task_and_a_run_lacks_what_it_still_needs() -> None:
    known = InMemory()
    known.elsewhere = {(GRID[0], 0): fold(GRID[0], 0)}
    task = next(iter(FoldsPlan(GRID, range(2)).next(known, ())))
    assert task.fold == 0
    assert [dict(spec.params)["neighbours"] for spec in task.specs] == [20, 40]
    assert {dict(spec.params)["shrink"] for spec in task.specs} == {0.0}
    assert {spec.only_folds for spec in task.specs} == {(0, 1)}


def test_nothing_comes_after_a_run_that_has_failed() -> None:
    known = InMemory()
    known.failed.add(GRID[3])
    assert list(FoldsPlan(GRID, range(3)).next(known, ())) == []
