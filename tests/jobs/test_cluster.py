"""Several nodes: which folds at once, in which order rules see them, what a site's file may say."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

import ecv_core as ecv
from ecv_core.jobs.cluster.choose import _job_settings, executor_on, places
from ecv_core.jobs.cluster.executor import Site, read_site
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Computed, Ended, Finished, Here
from ecv_core.jobs.plan import FoldTask
from ecv_core.jobs.plan_runs import PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.jobs.plans.study import StudyPlan
from ecv_core.records.errors import InputError
from ecv_core.records.run import Decision, FoldResult, Progress, RunRecord, RunState, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import this_process
from ecv_core.store.store import Store, open_store
from tests.fake_folds import SCORES, computing, fold_result, quick

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule_params=(("alpha", 0.0419),))
"""Of the scores 0.30 0.34 0.31 0.33 0.32: it stops after 3 (see test_driver)."""


class LastFirst:
    """An executor of several places: of the tasks under way the one given last ends first."""

    def __init__(self, places: int) -> None:
        self.capacity = places
        self.given: list[FoldTask] = []
        self.cancelled: list[FoldTask] = []
        self._submitted_tasks: list[FoldTask] = []

    def submit(self, task: FoldTask, progress: Progress) -> None:
        self.given.append(task)
        self._submitted_tasks.append(task)

    def finished(self, seconds: float) -> Finished:
        task = self._submitted_tasks.pop()
        yield Computed(task=task, spec_index=0, result=fold_result(task.fold, SCORES[task.fold]))
        yield Ended(task=task)

    def cancel(self, task: FoldTask) -> None:
        self.cancelled.append(task)
        self._submitted_tasks.remove(task)

    def close(self) -> None:
        pass


def run_on(store: Store, executor: object, spec: RunSpec = SPEC, speculate: int = 1) -> RunRecord:
    drive(RunPlan(spec, speculate=speculate), PlanRuns(store), executor)
    return store.runs()[0]


@pytest.mark.parametrize(
    ("given", "rule", "folds"),
    [
        # Three folds are sure to be needed, and one is a bet.
        ({}, "e-fold", [0, 1, 2, 3]),
        ({"speculate": 0}, "e-fold", [0, 1, 2]),
        ({"speculate": 2}, "e-fold", [0, 1, 2, 3, 4]),
        ({}, "never", [0, 1, 2, 3, 4]),  # all are sure
    ],
)
def test_what_is_computed_at_once(store: Store, given, rule, folds) -> None:
    spec = SPEC if rule == "e-fold" else replace(SPEC, rule=rule, rule_params=())
    tasks = RunPlan(spec, **given).next(PlanRuns(store), ())
    assert [task.fold for task in tasks] == folds
    assert [task.fold for task in tasks if task.bet] == (folds[3:] if rule == "e-fold" else [])


def test_a_rule_sees_folds_in_the_order_of_the_run_whichever_ends_first(store: Store) -> None:
    nodes = LastFirst(8)
    done = run_on(store, nodes)
    assert [task.fold for task in nodes.given] == [0, 1, 2, 3]
    assert (done.state, done.stopped_at) == (RunState.FINISHED, 3)
    # Fold 3 ended first: it came after the stop, is kept, and its cost is in the sum of all.
    assert [fold.fold for fold in done.folds] == [0, 1, 2, 3]
    assert done.joules == 4 * 10
    assert [moment.n for moment in done.moments] == [1, 2, 3, 4]
    assert done.at_stop is not None
    assert done.at_stop.mean == pytest.approx((0.30 + 0.34 + 0.31) / 3)


def test_a_bet_that_nobody_needs_any_more_is_cancelled(store: Store) -> None:
    class FirstFirst(LastFirst):
        def finished(self, seconds: float) -> Finished:
            self._submitted_tasks.reverse()
            yield from super().finished(seconds)
            self._submitted_tasks.reverse()

    nodes = FirstFirst(4)
    done = run_on(store, nodes)
    assert [fold.fold for fold in done.folds] == [0, 1, 2]
    assert [task.fold for task in nodes.cancelled] == [3]


def test_a_fold_before_its_turn_is_on_disk_and_counts_once_it_is_its_turn(store: Store) -> None:
    seen: list[tuple[list[int], list[int]]] = []

    class Watched(LastFirst):
        def finished(self, seconds: float) -> Finished:
            for said in super().finished(seconds):
                yield said
                (run,) = open_store().runs()
                seen.append(([one.fold for one in run.folds], [one.fold for one in run.ahead]))

    drive(RunPlan(SPEC, speculate=0), PlanRuns(store), Watched(3))
    assert seen[0] == ([], [2])
    assert seen[2] == ([], [2, 1])
    assert seen[4] == ([0, 1, 2], [])


def test_a_fold_whose_turn_comes_as_another_is_withdrawn_still_has_its_users(store: Store) -> None:
    have_users: list[bool] = []

    class AsksForUsers:
        needs_user_scores = True

        def decide(self, results: Sequence[FoldResult]) -> Decision:
            have_users.extend(result.user_scores is not None for result in results)
            return Decision(stop=False, reason="Go on.")

    first, second = SPEC.fold_order[:2]
    spec = replace(SPEC, only_folds=(first, second))
    (run_id,) = store.create([spec], owner=this_process())
    plan_runs = PlanRuns(store, runs=[store.run(run_id)], rule=AsksForUsers())
    plan_runs.start()
    users = UserScores(
        users=np.arange(2, dtype=np.int32),
        metrics=(spec.metric_name,),
        values=np.array([[0.2], [0.4]], dtype=np.float32),
    )
    early = replace(fold_result(second, 0.3), users=2, user_scores=users)
    plan_runs.commit(FoldTask(specs=(spec,), fold=second), 0, early)
    assert have_users == []
    plan_runs.withdraw(FoldTask(specs=(spec,), fold=first), ())
    assert [fold.fold for fold in store.run(run_id).folds] == [second]
    assert have_users == [True]


def test_a_run_that_was_cut_off_decides_on_what_came_before_its_turn(store: Store) -> None:
    class EndsAfterOne(LastFirst):
        def finished(self, seconds: float) -> Finished:
            yield from super().finished(seconds)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_on(store, EndsAfterOne(3))
    (cut,) = store.runs()
    assert ([one.fold for one in cut.ahead], cut.folds) == ([2], ())
    # Ctrl-C: `ecv runs --state interrupted` lists what can be resumed
    assert (cut.state, cut.error) == (RunState.INTERRUPTED, "it was stopped by hand, with Ctrl-C")
    asked: list[int] = []

    def noting(spec: RunSpec, index: int) -> FoldResult:
        asked.append(index)
        return fold_result(index, SCORES[index])

    drive(RunPlan(cut.spec), PlanRuns(store, runs=[cut]), Here(computing(noting)))
    done = store.run(cut.run_id)
    assert (asked, done.stopped_at) == ([0, 1], 3)
    assert [one.fold for one in done.folds] == [0, 1, 2]


def test_any_order_of_ends_gives_the_run_of_one_place(tmp_path: Path) -> None:
    class AnyFirst(LastFirst):
        def __init__(self, places: int, random: Random) -> None:
            super().__init__(places)
            self._random = random

        def finished(self, seconds: float) -> Finished:
            self._random.shuffle(self._submitted_tasks)
            yield from super().finished(seconds)

    specs = [replace(SPEC, algorithm=name) for name in ("popular", "item-knn", "ease")]
    one = open_store(f"sqlite:///{tmp_path / 'one'}.sqlite")
    drive(StudyPlan(specs), PlanRuns(one), Here(quick))
    expected = {run.spec: (run.stopped_at, run.at_stop) for run in one.runs()}
    for seed in range(8):
        store = open_store(f"sqlite:///{tmp_path / str(seed)}.sqlite")
        drive(StudyPlan(specs, speculate=2), PlanRuns(store), AnyFirst(1 + seed, Random(seed)))
        assert {run.spec: (run.stopped_at, run.at_stop) for run in store.runs()} == expected
        assert {run.state for run in store.runs()} == {RunState.FINISHED}


# -- what cannot be ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"on": "nonsense"}, "'nonsense' is not a place to compute on"),
        ({"on": "local:0"}, "starts 1 to 64 workers, but N is 0"),
        ({"on": "local:3", "nodes": 2}, "--nodes works only with slurm"),
        ({"nodes": 2}, "--nodes and --site need --on"),
        ({"on": "slurm", "nodes": 0}, "at least one node is needed, but --nodes is 0"),
        ({"on": "tcp://127.0.0.1:1"}, "no Dask scheduler answers at tcp://127.0.0.1:1"),
        ({"on": "slurm", "site": "/no/such.toml"}, "cannot be read: No such file"),
    ],
)
def test_a_place_that_cannot_be_is_one_sentence(given, sentence: str, monkeypatch) -> None:
    monkeypatch.setattr("ecv_core.jobs.cluster.choose.ANSWER_SECONDS", 0.5)
    with pytest.raises(InputError, match=sentence):
        executor_on(**given)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tls://127.0.0.1:1"])
def test_a_scheduler_that_does_not_answer_leaves_no_thread_behind(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ecv_core.jobs.cluster.choose.ANSWER_SECONDS", 0.5)
    before = set(threading.enumerate())
    for _ in range(2):
        with pytest.raises(InputError, match=f"no Dask scheduler answers at {address}"):
            executor_on(address)
    assert set(threading.enumerate()) <= before


def test_without_dask_the_sentence_says_how_to_add_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecv_core.jobs.cluster.choose.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"with: pip install 'e-fold\[cluster\]'"):
        executor_on("local:3")


@pytest.mark.parametrize(
    "ask",
    [
        lambda on: ecv.evaluate("synthetic", "popular", on=on),
        lambda on: ecv.study(["synthetic"], ["popular"], on=on),
        lambda on: ecv.select("synthetic", ["popular", "ease"], on=on),
        lambda on: ecv.tune("synthetic", "ease", on=on),
    ],
)
def test_the_library_is_told_where_too(ask) -> None:
    with pytest.raises(InputError, match="'nonsense' is not a place to compute on"):
        ask("nonsense")


def test_a_site_in_the_folder_is_a_place_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECV_SITES", str(tmp_path))
    assert places() == ["here"]
    (tmp_path / "gpu.toml").write_text('on = "tcp://127.0.0.1:1"\n')
    monkeypatch.setattr("ecv_core.jobs.cluster.choose.ANSWER_SECONDS", 0.5)
    assert places() == ["here", "gpu"]
    with pytest.raises(InputError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        executor_on("gpu")
    monkeypatch.setenv("ECV_CLUSTER", "gpu")
    assert places() == ["gpu", "here"]
    assert isinstance(executor_on("here"), Here)


def test_without_a_place_folds_are_computed_here() -> None:
    assert isinstance(executor_on(), Here)


def test_a_site_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text(
        'partition = "gpu"\nwalltime = "1-00:00:00"\ncores = 64\nlines = ["--gres=gpu:1"]\n'
    )
    assert read_site(path) == Site(
        partition="gpu", walltime="1-00:00:00", cores=64, lines=("--gres=gpu:1",)
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("partition = ", "is not valid TOML"),
        (
            "partitoin = 'gpu'",
            "has the unknown key 'partitoin'; choose from: on, nodes, part",
        ),
        ("walltime = '2 hours'", "walltime must be like 02:30:00 or 1-00:00:00, but is '2 hours'"),
        ("memory = 'much'", "memory must be like 16GB, but is 'much'"),
        ("cores = 0", "cores must be at least 1, but is 0"),
        ("nodes = 0", "nodes must be at least 1, but is 0"),
        ("cores = 'many'", "its cores must be a whole number, but is many"),
        ("exclusive = 1", "its exclusive must be true or false, but is 1"),
    ],
)
def test_a_wrong_site_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "site.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_site(path)


@pytest.mark.parametrize("exclusive", [True, False])
def test_a_job_of_a_site_keeps_its_files_where_nobody_else_can_enter(exclusive: bool) -> None:
    pytest.importorskip("dask_jobqueue")
    prologue = _job_settings(Site(exclusive=exclusive))["job_script_prologue"]
    asks = "import dask.config; print(dask.config.get('temporary-directory'))"
    script = "\n".join([*prologue, f'exec {sys.executable} -c "{asks}"'])
    told = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    folder = Path(told.stdout.strip())
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.rmdir()
