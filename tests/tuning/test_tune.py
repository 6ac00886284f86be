"""A tuning fold by fold, with made-up folds: what it chooses, runs, keeps and resumes."""

import json
from collections.abc import Callable, Generator
from dataclasses import replace

import numpy as np
import pytest

from ecv_core.cli import main
from ecv_core.energy.expected import KnownCosts
from ecv_core.errors import RunError
from ecv_core.records import FoldResult, RunSpec, RunState, UserScores
from ecv_core.runs.configurations import specs_of
from ecv_core.spec import make_spec
from ecv_core.store import Store, open_store
from ecv_core.tuning.estimate import estimate
from ecv_core.tuning.scores import STUDIED, own_tuning, own_tuning_names
from ecv_core.tuning.tune import expected_of, groups, make_plan, tune
from tests.jobs import fold_result

USERS = np.arange(40, dtype=np.int32)
OWN = {"neighbours": ["10", "20", "40", "80"]}
BEST = 40


def job(database_url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
    """The nearer to BEST, the better; a spread over users that all share."""
    neighbours = dict(spec.params)["neighbours"]
    noise = np.random.default_rng([index, neighbours]).normal(0, 0.002, len(USERS))
    mean = 0.5 - abs(np.log2(neighbours / BEST)) / 10
    values = (mean + np.sin(USERS) / 10 + noise).astype(np.float32)
    scores = UserScores(
        users=USERS,
        metrics=tuple(f"{metric}@10" for metric in STUDIED),
        values=np.stack([values] * len(STUDIED), axis=1),
    )
    return replace(fold_result(index, float(values.mean())), user_scores=scores)


@pytest.fixture
def store() -> Store:
    return open_store()


class Counted:
    """The job, and what it was asked for; it fails at the n-th fold."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.asked: list[tuple[int, int]] = []
        self._fails_at = fails_at

    def __call__(self, url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
        self.asked.append((int(dict(spec.params)["neighbours"]), index))
        if len(self.asked) == self._fails_at:
            raise RunError("out of memory")
        return job(url, run_id, spec, index)


class Together:
    """The shared job, and what it was asked for; it fails after n results."""

    def __init__(self, fails_after: int | None = None) -> None:
        self.asked: list[tuple[int, int]] = []
        self.batches: list[int] = []
        self._fails_after = fails_after

    def __call__(self, url: str, run_ids: list[str], specs: list[RunSpec], index: int) -> Generator:
        self.batches.append(len(specs))
        for place in reversed(range(len(specs))):
            if len(self.asked) == self._fails_after:
                raise RunError("out of memory")
            self.asked.append((int(dict(specs[place].params)["neighbours"]), index))
            yield place, job(url, run_ids[place], specs[place], index)


def never(*asked: object) -> FoldResult:
    raise AssertionError(f"computed on its own: {asked}")


def plan(**how) -> object:
    return make_plan(dataset="synthetic", algorithm="item-knn", own=OWN, **how)


def test_a_tuning_ends_with_the_best_for_a_part_of_the_folds(store: Store) -> None:
    counted = Counted()
    found = tune(store, plan(), job=counted)
    assert found.configurations[found.best] == {"neighbours": BEST}
    assert found.live.decided
    assert len(counted.asked) == sum(found.live.folds) < 40


def test_with_all_folds_every_fold_is_run_and_the_best_mean_is_chosen(store: Store) -> None:
    counted = Counted()
    found = tune(store, plan(all_folds=True), job=counted)
    assert sorted(counted.asked) == [(n, fold) for n in (10, 20, 40, 80) for fold in range(10)]
    assert found.configurations[found.best] == {"neighbours": BEST}


@pytest.mark.parametrize("how", [{}, {"all_folds": True}, {"sampler": "tpe", "budget": 4}])
def test_one_that_was_cut_off_goes_on_and_loses_no_fold(store: Store, how: dict) -> None:
    with pytest.raises(RunError, match="out of memory"):
        tune(store, plan(**how), job=(first := Counted(fails_at=3)))
    second = Counted()
    found = tune(store, plan(**how), job=second)
    assert found.configurations[found.best] == {"neighbours": BEST}
    done = first.asked[:2]
    assert not set(done) & set(second.asked)
    tune(store, plan(**how), job=(third := Counted()))
    assert third.asked == []


def test_configurations_that_share_work_are_computed_together(store: Store) -> None:
    together = Together()
    found = tune(store, plan(all_folds=True), job=never, shared=together)
    assert together.batches == [4] * 10
    assert found.configurations[found.best] == {"neighbours": BEST}
    runs = store.runs()
    assert len(runs) == 4  # one for each configuration, not one for each of its folds
    assert all(run.state is RunState.FINISHED and len(run.folds) == 10 for run in runs)


def test_a_selection_shares_among_those_still_in_and_decides_the_same(
    store: Store, tmp_path
) -> None:
    together = Together()
    found = tune(store, plan(), job=never, shared=together)
    other = open_store(f"sqlite:///{tmp_path}/other.sqlite")
    alone = tune(other, plan(), job=job)
    assert found.best == alone.best
    assert found.live.folds == alone.live.folds
    assert found.live.played.verdict == alone.live.played.verdict
    assert together.batches[0] == 4
    assert len(together.asked) < 40


@pytest.mark.parametrize("how", [{}, {"all_folds": True}])
@pytest.mark.parametrize("after", [2, 3])
def test_shared_work_that_was_cut_off_loses_nothing_that_was_finished(
    store: Store, how: dict, after: int
) -> None:
    first = Together(fails_after=after)
    with pytest.raises(RunError, match="out of memory"):
        tune(store, plan(**how), job=job, shared=first)
    there = {
        (int(dict(run.spec.params)["neighbours"]), one.fold)
        for run in store.runs()
        for one in run.folds
    }
    assert there == set(first.asked)
    second = Together()
    own = Counted()
    found = tune(store, plan(**how), job=own, shared=second)
    assert found.configurations[found.best] == {"neighbours": BEST}
    assert not there & {*second.asked, *own.asked}
    assert not any(run.state.active for run in store.runs())


def test_a_cancel_between_two_results_keeps_the_first(store: Store) -> None:
    class Cancels(Together):
        def __call__(self, url, run_ids, specs, index):
            for place, result in super().__call__(url, run_ids, specs, index):
                yield place, result
                if len(self.asked) == 2:
                    store.request_cancel(run_ids[0])

    with pytest.raises(RunError, match="cancelled"):
        tune(store, plan(all_folds=True), job=never, shared=Cancels())
    runs = store.runs()
    assert sum(len(run.folds) for run in runs) == 3  # a cancel is seen after the next result
    assert {run.state for run in runs} == {RunState.CANCELLED}


def test_other_parameters_are_computed_apart(store: Store) -> None:
    own = {"neighbours": ["10", "40"], "shrink": ["0", "5"]}
    apart = make_plan(dataset="synthetic", algorithm="item-knn", own=own)
    assert groups(apart.spec, apart.first()) == [
        [{"neighbours": 10, "shrink": 0.0}, {"neighbours": 40, "shrink": 0.0}],
        [{"neighbours": 10, "shrink": 5.0}, {"neighbours": 40, "shrink": 5.0}],
    ]
    assert groups(apart.spec, apart.first(), share=False) == [[one] for one in apart.first()]


def test_tpe_learns_from_the_first_fold(store: Store) -> None:
    counted = Counted()
    own = {"neighbours": [str(2**at) for at in range(1, 7)]}
    found = tune(
        store,
        make_plan(dataset="synthetic", algorithm="item-knn", own=own, sampler="tpe", budget=4),
        job=counted,
    )
    assert [fold for _, fold in counted.asked[:4]] == [0, 0, 0, 0]
    assert len(found.configurations) == 4


def test_the_estimate_counts_the_folds_that_are_missing(store: Store) -> None:
    asked = plan(all_folds=True)
    assert expected_of(asked, store) is None  # nothing is known of this algorithm on these data
    tune(store, plan(), job=job)
    there = sum(len(run.folds) for run in store.runs())
    found = expected_of(asked, store)
    assert found.folds == 40 - there
    # The middle of what single folds and later folds may take is not far off what these took.
    took = found.folds * fold_result(0, 0.5).total_seconds
    assert 0.8 * took <= found.seconds <= 1.25 * took
    assert found.same_parameters == 4


def test_own_runs_with_all_folds_are_a_tuning_to_study(store: Store) -> None:
    assert own_tuning(store, "synthetic", "item-knn") is None
    assert own_tuning_names(store) == {}
    tune(store, plan(all_folds=True), job=job)
    found = own_tuning(store, "synthetic", "item-knn")
    assert found.space == {"neighbours": (10, 20, 40, 80)}
    assert own_tuning_names(store) == {"synthetic--item-knn": 40}
    assert set(found.values) == {f"{metric}@10" for metric in STUDIED}
    cube = found.values["recall@10"]
    assert cube.shape == (4, 10, 40)
    spec = replace(found.spec, params=(("neighbours", 80), ("shrink", 0.0)))
    assert (cube[3, 7] == job("", "", spec, 7).user_scores.of("recall@10")).all()


def test_the_command_finds_the_best_and_writes_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(url: str, run_id: str, spec: RunSpec, index: int, also: Callable) -> FoldResult:
        return job(url, run_id, spec, index)

    monkeypatch.setattr("ecv_core.runner.work", work)
    target = tmp_path / "tuned.json"
    grid = ["--grid", "neighbours=10,40,80"]
    assert main(["tune", "synthetic", "item-knn", "--separate", *grid, "--json", str(target)]) == 0
    document = json.loads(target.read_text())
    assert document["best"]["params"] == {"neighbours": 40}
    assert document["selection"]["winner"] == "item-knn:neighbours=40"
    assert [one["params"]["neighbours"] for one in document["configurations"]] == [10, 40, 80]
    said = capsys.readouterr()
    assert "item-knn:neighbours=40 is best on synthetic" in said.out
    assert "3 configurations x 10 folds; how long they take is not known" in said.err
    # and from the first fold it is: 0.8 s each, one of 30 is there
    assert "at most 29 folds to compute: at most about " in said.err
    assert "(1 of the 3 with the same parameters)" in said.err


def test_more_than_an_hour_asks_first(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def slow(*asked: object) -> FoldResult:
        return replace(job(*asked), total_seconds=400.0)

    tune(store, plan(), job=slow)
    command = ["tune", "synthetic", "item-knn", "--all-folds", "--grid", "neighbours=10,20,40,80"]
    assert main(command) == 2
    assert "give --yes to start it" in capsys.readouterr().err


def test_an_unknown_duration_is_found_out_from_the_first_fold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def work_shared(url: str, run_ids: list, specs: list, index: int, also: Callable) -> Generator:
        asked.append((len(specs), index))
        for place, spec in enumerate(specs):
            result = job(url, run_ids[place], spec, index)
            yield place, replace(result, total_seconds=400.0)

    monkeypatch.setattr("ecv_core.runner.work_shared", work_shared)
    command = ["tune", "synthetic", "item-knn", "--all-folds", "--grid", "neighbours=10,20,40,80"]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "is not known, for item-knn never ran on synthetic here: the first fold" in said
    assert "4 configurations, 36 folds to compute: about 3 h" in said
    assert "give --yes to start it" in said
    assert "what has run is kept" in said
    assert asked == [(4, 0)]
    assert main([*command, "--yes"]) == 0
    assert asked == [(4, fold) for fold in range(10)]


def test_iterations_of_one_training_run_take_as_long_as_the_longest() -> None:
    spec = make_spec(dataset="synthetic", algorithm="bpr-mf", rule="never", full=True)
    specs = specs_of(spec, [{"epochs": 10}, {"epochs": 20}, {"epochs": 40}])
    known = [
        KnownCosts(spec=one, seconds=(took,) * 10, joules=(1.0,) * 10)
        for one, took in zip(specs, (1.0, 2.0, 4.0), strict=True)
    ]
    assert estimate(specs, known, [0, 0, 5]).seconds == pytest.approx(10 + 20 + 20)
    assert estimate(specs, known, [0, 0, 5], going_on=[0, 0, 0]).seconds == pytest.approx(20)
    assert estimate(specs, known, [0, 0, 5], going_on=[0, None, 0]).seconds == pytest.approx(40)
