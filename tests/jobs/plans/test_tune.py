"""A tuning fold by fold, with made-up folds: what it chooses, runs, keeps and resumes."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from ecv_core.cli import main
from ecv_core.energy.meter import NoMeter
from ecv_core.jobs.executors import Compute, Here, Results
from ecv_core.jobs.plans.tune import Tuning, groups, make_tuning, tune
from ecv_core.records.errors import RunError
from ecv_core.records.run import FoldResult, Progress, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.selection.tuning.metrics_study import STUDIED, folds_of_own_tunings, own_tuning
from ecv_core.store.configurations import specs_of
from ecv_core.store.store import Store, open_store
from tests.fake_folds import computing, users_result

USERS = np.arange(40, dtype=np.int32)
OWN = {"neighbours": ["10", "20", "40", "80"]}
BEST = 40


def fold(spec: RunSpec, index: int) -> FoldResult:
    """The nearer to BEST, the better; a spread over users that all share."""
    neighbours = dict(spec.params)["neighbours"]
    noise = np.random.default_rng([index, neighbours]).normal(0, 0.002, len(USERS))
    mean = 0.5 - abs(np.log2(neighbours / BEST)) / 10
    values = (mean + np.sin(USERS) / 10 + noise).astype(np.float32)
    metrics = [f"{metric}@10" for metric in STUDIED]
    assert metrics[0] == "ndcg@10"
    return users_result(index, np.stack([values] * len(STUDIED), axis=1), metrics)


@pytest.fixture
def store() -> Store:
    return open_store()


class Counted:
    """Computes folds and notes which; it fails at one, or after so many results."""

    def __init__(self, *, fails_at: int | None = None, fails_after: int | None = None) -> None:
        self.asked: list[tuple[int, int]] = []
        """Neighbours and fold."""
        self.batches: list[int] = []
        """How many were computed together."""
        self._fails_at, self._fails_after = fails_at, fails_after

    def __call__(self, specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
        self.batches.append(len(specs))
        for place in reversed(range(len(specs))):
            if len(self.asked) == self._fails_after:
                raise RunError("out of memory")
            self.asked.append((int(dict(specs[place].params)["neighbours"]), index))
            if len(self.asked) == self._fails_at:
                raise RunError("out of memory")
            yield place, fold(specs[place], index)


def tuning(**how: object) -> Tuning:
    return make_tuning(dataset="synthetic", algorithm="item-knn", own_values=OWN, **how)


def tuned(store: Store, compute: Compute, **how: object):
    return tune(store, tuning(**how), executor=Here(compute))


@pytest.fixture
def fake_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands compute made-up folds, and no hardware is probed."""
    put_in_place(monkeypatch, fold)


def put_in_place(monkeypatch: pytest.MonkeyPatch, made: Callable[[RunSpec, int], FoldResult]):
    """Folds of a run, and of several that share work, are made so."""

    def together(specs: Sequence[RunSpec], index: int, **_: object):
        return enumerate([made(spec, index) for spec in specs])

    monkeypatch.setattr(
        "ecv_core.jobs.executors.run_fold", lambda spec, index, **_: made(spec, index)
    )
    monkeypatch.setattr("ecv_core.fold.computing.run_shared_fold", together)
    monkeypatch.setattr("ecv_core.energy.real_meters.meter_for", lambda spec: NoMeter())


def test_a_tuning_ends_with_the_best_for_a_part_of_the_folds(store: Store) -> None:
    counted = Counted()
    found = tuned(store, counted)
    assert found.configurations[found.best_index] == {"neighbours": BEST}
    assert found.selection.decided
    assert sum(found.selection.folds_needed) <= len(counted.asked) < 40


def test_with_all_folds_every_fold_is_run_and_the_best_mean_is_chosen(store: Store) -> None:
    counted = Counted()
    found = tuned(store, counted, all_folds=True)
    assert sorted(counted.asked) == [(n, fold) for n in (10, 20, 40, 80) for fold in range(10)]
    assert found.configurations[found.best_index] == {"neighbours": BEST}


@pytest.mark.parametrize("how", [{}, {"all_folds": True}, {"sampler": "tpe", "budget": 4}])
def test_one_that_was_cut_off_goes_on_and_loses_no_fold(store: Store, how: dict) -> None:
    with pytest.raises(RunError, match="out of memory"):
        tuned(store, first := Counted(fails_at=3), **how)
    second = Counted()
    found = tuned(store, second, **how)
    assert found.configurations[found.best_index] == {"neighbours": BEST}
    done = first.asked[:2]
    assert not set(done) & set(second.asked)
    tuned(store, third := Counted(), **how)
    assert third.asked == []


def test_configurations_that_share_work_are_computed_together(store: Store) -> None:
    together = Counted()
    found = tuned(store, together, all_folds=True)
    assert together.batches == [4] * 10
    assert found.configurations[found.best_index] == {"neighbours": BEST}
    runs = store.runs()
    assert len(runs) == 4  # one for each configuration, not one for each of its folds
    assert all(run.state is RunState.FINISHED and len(run.folds) == 10 for run in runs)


@pytest.mark.parametrize("how", [{}, {"all_folds": True}])
@pytest.mark.parametrize("after", [2, 3])
def test_shared_work_that_was_cut_off_loses_nothing_that_was_finished(
    store: Store, how: dict, after: int
) -> None:
    first = Counted(fails_after=after)
    with pytest.raises(RunError, match="out of memory"):
        tuned(store, first, **how)
    there = {
        (int(dict(run.spec.params)["neighbours"]), one.fold)
        for run in store.runs()
        for one in run.folds
    }
    assert there == set(first.asked)
    second = Counted()
    found = tuned(store, second, **how)
    assert found.configurations[found.best_index] == {"neighbours": BEST}
    assert not there & {*second.asked}
    assert not any(run.state.active for run in store.runs())


def test_a_cancel_between_two_results_keeps_what_came_before(store: Store) -> None:
    class Cancels(Counted):
        def __call__(self, specs, index, progress):
            for place, result in super().__call__(specs, index, progress):
                yield place, result
                if len(self.asked) == 2:
                    store.request_cancel(store.runs()[0].run_id)

    with pytest.raises(RunError, match="cancelled"):
        tuned(store, Cancels(), all_folds=True)
    runs = store.runs()
    assert sum(len(run.folds) for run in runs) == 3  # a cancel is seen after the next result
    assert {run.state for run in runs} == {RunState.CANCELLED}


def test_other_parameters_are_computed_apart() -> None:
    own = {"neighbours": ["10", "40"], "shrink": ["0", "5"]}
    apart = make_tuning(dataset="synthetic", algorithm="item-knn", own_values=own)
    specs = specs_of(apart.spec, apart.drawn_without_scores())

    def params(found: list[list[RunSpec]]) -> list[list[tuple[object, ...]]]:
        return [[tuple(dict(spec.params).values()) for spec in group] for group in found]

    assert params(groups(specs)) == [[(10, 0.0), (40, 0.0)], [(10, 5.0), (40, 5.0)]]


def test_tpe_learns_from_the_first_fold(store: Store) -> None:
    counted = Counted()
    own = {"neighbours": [str(2**at) for at in range(1, 7)]}
    asked = make_tuning(
        dataset="synthetic", algorithm="item-knn", own_values=own, sampler="tpe", budget=4
    )
    found = tune(store, asked, executor=Here(counted))
    assert [fold for _, fold in counted.asked[:4]] == [0, 0, 0, 0]
    assert len(found.configurations) == 4


def test_own_runs_with_all_folds_are_a_tuning_to_study(store: Store) -> None:
    assert own_tuning(store, "synthetic", "item-knn") is None
    assert folds_of_own_tunings(store) == {}
    tuned(store, computing(fold), all_folds=True)
    found = own_tuning(store, "synthetic", "item-knn")
    assert found.space == {"neighbours": (10, 20, 40, 80)}
    assert folds_of_own_tunings(store) == {"synthetic--item-knn": 40}
    assert set(found.user_scores) == {f"{metric}@10" for metric in STUDIED}
    cube = found.user_scores["recall@10"]
    assert cube.shape == (4, 10, 40)
    spec = replace(found.spec, params=(("neighbours", 80), ("shrink", 0.0)))
    assert (cube[3, 7] == fold(spec, 7).user_scores.of("recall@10")).all()


@pytest.mark.usefixtures("fake_folds")
def test_the_command_finds_the_best_and_writes_it(
    tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "tuned.json"
    grid = ["--grid", "neighbours=10,40,80"]
    assert main(["tune", "synthetic", "item-knn", *grid, "--json", str(target)]) == 0
    document = json.loads(target.read_text())
    assert document["best"]["params"] == {"neighbours": 40}
    assert document["selection"]["winner"] == "item-knn:neighbours=40"
    assert [one["params"]["neighbours"] for one in document["configurations"]] == [10, 40, 80]
    said = capsys.readouterr()
    assert "item-knn:neighbours=40 is best on synthetic" in said.out
    assert "3 configurations, at most 30 folds" in said.err
