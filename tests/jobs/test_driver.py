"""A run goes fold by fold to its stop or its end, and whatever happens says so."""

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from ecv_core.energy.meter import country
from ecv_core.figures.words import reused_words
from ecv_core.fold.spec import make_spec
from ecv_core.jobs import plan_runs
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Compute, Computed, Ended, Finished, Here, Results
from ecv_core.jobs.plan import FoldTask
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns
from ecv_core.jobs.plans import select, study
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.jobs.plans.select import SelectPlan
from ecv_core.jobs.plans.study import StudyPlan, planned_cells
from ecv_core.jobs.plans.tune import make_tuning, tune
from ecv_core.records.errors import Cancelled, RunError, StoreError
from ecv_core.records.run import Decision, FoldResult, Progress, RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.selection.rounds import Terms
from ecv_core.store.document import run_document
from ecv_core.store.imports import RunFile, import_run
from ecv_core.store.listing import RunList
from ecv_core.store.ownership import this_process
from ecv_core.store.plans import SELECTION, stored_plan
from ecv_core.store.recorded import record, recorded_path
from ecv_core.store.results import cheap_model_spec
from ecv_core.store.store import Store, open_store
from tests.fake_folds import SCORES, computing, fold_result, quick, unpicklable_error, users_result
from tests.jobs.threads import Threads

# SCORES = 0.30 0.34 0.31 ...: after folds 2 and 3 the means are 0.32 and 0.31667, the standard
# deviations sqrt(0.0008) and sqrt(0.000433), Student's t at 95 % is 12.706 and 4.303, so the widths
# are 2*12.706*0.0282843/sqrt(2) = 0.50825 and 2*4.303*0.0208167/sqrt(3) = 0.10343, and
# c_3 * |c_2 - c_3| = 0.10343 * 0.40482 = 0.04187.
STOPS_AFTER_3 = 0.0419
GOES_ON_AFTER_3 = 0.0418


def spec(**changes: object) -> RunSpec:
    given = {"dataset": "synthetic", "algorithm": "popular", "k": 5, "alpha": STOPS_AFTER_3}
    given |= changes
    params = (("alpha", given.pop("alpha")),)
    return RunSpec(**given, rule_params=params)


def run(
    store: Store,
    spec: RunSpec,
    compute: Compute = quick,
    *,
    fold: Callable[[RunRecord], object] = lambda run: None,
    trouble: Callable[[str | None], object] = lambda sentence: None,
    **more: object,
) -> RunRecord:
    (run_id,) = store.create([spec], owner=this_process())
    callbacks = Callbacks(fold=fold, trouble=trouble)
    drive(
        RunPlan(spec),
        PlanRuns(store, runs=[store.run(run_id)], callbacks=callbacks),
        Here(compute),
        **more,
    )
    return store.run(run_id)


def test_stops_after_the_fold_that_the_rule_says(store: Store) -> None:
    done = run(store, spec())
    assert done.state is RunState.FINISHED
    assert done.stopped_at == 3
    assert [result.fold for result in done.folds] == [0, 1, 2]


def test_goes_on_while_the_rule_says_so(store: Store) -> None:
    done = run(store, spec(alpha=GOES_ON_AFTER_3))
    assert done.stopped_at != 3
    assert len(done.folds) > 3


def test_full_runs_all_folds_and_keeps_the_stop(store: Store) -> None:
    done = run(store, spec(full=True))
    assert done.stopped_at == 3
    assert [result.score for result in done.folds] == list(SCORES)


def test_never_runs_all_folds_and_the_stop_is_k(store: Store) -> None:
    done = run(store, spec(rule="never"))
    assert (done.stopped_at, len(done.folds)) == (5, 5)


def test_a_broken_fold_is_said_as_soon_as_it_is_in(store: Store) -> None:
    scores = (0.300, 0.301, 0.299, 0.3005, 0.21, 0.3)
    doubts = []
    done = run(
        store,
        spec(rule="never", k=6),
        computing(lambda spec, index: fold_result(index, scores[index])),
        fold=lambda run: doubts.append(run.doubt),
    )
    assert [doubt[:39] for doubt in doubts] == ["", "", "", "", *2 * [doubts[5][:39]]]
    assert done.doubt.startswith("The 5th fold scores 30 % below the others")
    document = run_document(done)
    assert document["doubt"] == document["moments"][4]["doubt"] == done.doubt
    assert document["moments"][3]["doubt"] == ""


def test_runs_only_the_folds_asked_for_in_that_order(store: Store) -> None:
    done = run(store, spec(only_folds=(4, 1)))
    assert [result.fold for result in done.folds] == [4, 1]
    assert done.state is RunState.FINISHED


def test_resumes_at_the_next_missing_fold(store: Store) -> None:
    asked: list[int] = []

    def fails_once(spec: RunSpec, index: int) -> FoldResult:
        asked.append(index)
        if asked.count(2) == 1 and index == 2:
            raise RunError("the bus left")
        return fold_result(index, SCORES[index])

    failed = run(store, spec(rule="never"), computing(fails_once))
    assert (failed.state, failed.error, len(failed.folds)) == (RunState.FAILED, "the bus left", 2)
    drive(RunPlan(failed.spec), PlanRuns(store, runs=[failed]), Here(computing(fails_once)))
    done = store.run(failed.run_id)
    assert (done.state, done.error) == (RunState.FINISHED, None)
    assert [result.score for result in done.folds] == list(SCORES)
    assert asked == [0, 1, 2, 2, 3, 4]


def test_every_fold_is_on_disk_before_the_next_starts(store: Store) -> None:
    on_disk: list[int] = []

    def counts(spec: RunSpec, index: int) -> FoldResult:
        on_disk.append(len(open_store().runs()[0].folds))
        return fold_result(index, SCORES[index])

    run(store, spec(rule="never"), computing(counts))
    assert on_disk == [0, 1, 2, 3, 4]


def test_a_cancelled_run_keeps_its_folds(store: Store) -> None:
    def cancels(spec: RunSpec, index: int) -> FoldResult:
        if index == 2:
            raise Cancelled
        return fold_result(index, SCORES[index])

    cancelled = run(store, spec(rule="never"), computing(cancels))
    assert (cancelled.state, len(cancelled.folds)) == (RunState.CANCELLED, 2)


def test_a_cancel_between_folds_takes_effect(store: Store) -> None:
    cancelled = run(store, spec(rule="never"), fold=lambda run: store.request_cancel(run.run_id))
    assert (cancelled.state, len(cancelled.folds)) == (RunState.CANCELLED, 1)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError(), "memory ran out"),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried"), "memory ran out"),
        (ZeroDivisionError("by zero"), "an unexpected error.*ZeroDivisionError: by zero"),
    ],
)
def test_a_failure_is_one_sentence(store: Store, error: Exception, sentence: str) -> None:
    def fails(spec: RunSpec, index: int) -> FoldResult:
        raise error

    failed = run(store, spec(), computing(fails))
    assert failed.state is RunState.FAILED
    assert failed.error is not None
    assert re.search(sentence, failed.error)


def test_an_error_that_cannot_travel_still_ends_the_run(store: Store) -> None:
    assert run(store, spec(), unpicklable_error).state is RunState.FAILED


def test_a_fold_that_cannot_be_saved_waits_and_is_not_lost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_runs, "AGAIN_SECONDS", 0.01)
    save, refusals = store.add_fold, iter([True, True, False])

    def full_disk(*args: object, **kwargs: object) -> bool:
        if next(refusals, False):
            raise StoreError("the disk is full; free some disk space")
        return save(*args, **kwargs)

    monkeypatch.setattr(store, "add_fold", full_disk)
    told: list[str | None] = []
    done = run(store, spec(), trouble=told.append)
    assert [result.score for result in done.folds] == list(SCORES[:3])
    assert told[0] is not None
    assert "free some disk space" in told[0]
    assert told[-1] is None


def test_a_run_ends_when_its_time_is_over_and_keeps_its_folds(store: Store) -> None:
    done = run(store, spec(rule="never"), seconds=1.5)  # folds of 0.8 s each
    assert done.state is RunState.CANCELLED
    assert done.error == "a run may take 1.5 s here, and this run has taken that long"
    assert [result.fold for result in done.folds] == [0, 1]
    assert run(store, spec(rule="never", seed=7), seconds=5).state is RunState.FINISHED


class SlowToBegin:
    """On a clock of its own, a fold takes 0.8 s, and its start and its waiting 10 s each."""

    capacity = 1

    def __init__(self) -> None:
        self.clock_seconds = 0.0
        self._messages: list[list[Computed | Ended]] = []
        """What the next calls of `finished` give."""

    def monotonic(self) -> float:
        return self.clock_seconds

    def submit(self, task: FoldTask, progress: Progress) -> None:
        self.clock_seconds += 10
        progress("wait for another program's fold", 0, 0)
        self.clock_seconds += 10
        progress("load", 0, 0)
        self.clock_seconds += 0.8
        result = fold_result(task.fold, SCORES[task.fold])
        self._messages = [[], [Computed(task=task, spec_index=0, result=result), Ended(task=task)]]

    def finished(self, seconds: float) -> Finished:
        yield from self._messages.pop(0)

    def cancel(self, task: FoldTask) -> None:
        self._messages = []

    def close(self) -> None: ...


def test_a_workers_start_and_its_waiting_do_not_count_towards_the_time_of_a_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = SlowToBegin()
    monkeypatch.setattr("ecv_core.jobs.driver.time", executor)
    plan_runs = PlanRuns(store)
    drive(RunPlan(spec(rule="never")), plan_runs, executor, seconds=4.1)  # folds of 0.8 s
    (done,) = store.runs()
    assert (done.state, len(done.folds)) == (RunState.FINISHED, 5)


# -- several places -----------------------------------------------------------------------------


def drawn(spec: RunSpec, index: int) -> FoldResult:
    """A score that depends on the model and the fold, after a while that is drawn."""
    draw = Random(f"{spec.algorithm} {dict(spec.params)} {index}")
    time.sleep(draw.uniform(0, 0.02))
    return users_result(index, np.array([[draw.uniform(0.3, 0.32)] for _ in range(20)]))


def stood(store: Store) -> list[tuple[object, ...]]:
    """What became of every run, in an order that says nothing."""
    return sorted(
        (
            run.spec.algorithm,
            run.state,
            run.stopped_at,
            [(fold.fold, fold.score) for fold in run.folds],
            [moment.mean for moment in run.moments],
        )
        for run in store.runs()
    )


def test_with_three_places_a_study_has_the_scores_and_stops_that_it_has_with_one(
    tmp_path: Path,
) -> None:
    names = ("popular", "item-knn", "user-knn", "ease", "nmf")
    specs = [spec(algorithm=name, alpha=3e-6) for name in names]
    one, three = (open_store(f"sqlite:///{tmp_path / name}.sqlite") for name in ("one", "three"))
    drive(StudyPlan(specs), PlanRuns(one), Here(computing(drawn)))
    threads = Threads(computing(drawn))
    drive(StudyPlan(specs), PlanRuns(three), threads)
    assert threads.most == 3
    assert stood(three) == stood(one)
    assert {run.stopped_at for run in one.runs()} > {5}  # some stop early
    for run in three.runs():
        assert [fold.fold for fold in run.folds] == list(range(len(run.folds)))


def test_with_three_places_a_tuning_and_its_selection_are_those_of_one(tmp_path: Path) -> None:
    grid = {"neighbours": ["5", "10", "20", "40"], "shrink": ["0", "5"]}
    found = []
    for name, executor in (("one", Here(computing(drawn))), ("three", Threads(computing(drawn)))):
        store = open_store(f"sqlite:///{tmp_path / name}.sqlite")
        tuning = make_tuning(
            dataset="synthetic", algorithm="item-knn", own_values=grid, k=5, all_folds=True
        )
        tuned = tune(store, tuning, executor=executor)
        found.append(
            (tuned.best_index, tuned.selection.folds_needed, tuned.selection.result.verdict)
        )
        assert {len(run.folds) for run in store.runs()} == {5}
    assert found[0] == found[1]


def test_two_runs_that_are_adjusted_by_the_same_model_compute_it_once(tmp_path: Path) -> None:
    asked: list[tuple[str, int]] = []

    def noting(spec: RunSpec, index: int) -> FoldResult:
        asked.append((spec.algorithm, index))
        return drawn(spec, index)

    given = {"rule": "precision", "rule_params": ADJUSTED, "min_folds": 1}
    specs = [replace(spec(algorithm=name), **given) for name in ("item-knn", "user-knn")]
    store = open_store(f"sqlite:///{tmp_path / 'runs'}.sqlite")
    drive(StudyPlan(specs), PlanRuns(store), Threads(computing(noting)))
    assert sorted(one for one in asked if one[0] == "popular") == [
        ("popular", index) for index in range(5)
    ]
    assert len(asked) == len(set(asked))
    assert {run.state for run in store.runs()} == {RunState.FINISHED}
    (cheap,) = (run for run in store.runs() if run.spec.algorithm == "popular")
    assert cheap.spec == cheap_model_spec(specs[0], "popular")  # a run as any other


def test_a_fold_of_a_cheap_model_that_is_under_way_is_not_asked_for_again() -> None:
    """Fold 1 is kept before fold 0, so that the model is asked for the folds that it lacks."""
    given = {"rule": "precision", "rule_params": ADJUSTED, "min_folds": 1}
    specs = [replace(spec(algorithm=name), **given) for name in ("item-knn", "user-knn")]
    cheap = cheap_model_spec(specs[0], "popular")

    class Known:
        def run_of(self, spec: RunSpec) -> None:
            return None

        def has_ended_incomplete(self, spec: RunSpec) -> bool:
            return False

        def folds_with_users(self, spec: RunSpec) -> dict[int, FoldResult]:
            return {1: drawn(spec, 1)}

    submitted_tasks = [FoldTask(specs=(cheap,), fold=fold) for fold in (0, 2)]
    asked = StudyPlan(specs).next(Known(), submitted_tasks)
    assert [(task.specs[0].algorithm, task.fold) for task in asked] == [
        ("popular", 3),
        ("popular", 4),
    ]


# -- what a failure and a cancel end ------------------------------------------------------------

ADJUSTED = (("adjust_by", "popular"), ("tolerance", 0.5))
"""By a model that needs all its folds first."""


def failing(name: str, at: int = 0) -> Compute:
    def fold(spec: RunSpec, index: int) -> FoldResult:
        if spec.algorithm == name and index == at:
            raise RunError("the bus left")
        return drawn(spec, index)

    return computing(fold)


def test_in_a_study_a_run_that_fails_ends_only_itself(store: Store) -> None:
    specs = [spec(algorithm=name, rule="never") for name in ("popular", "item-knn", "ease")]
    drive(StudyPlan(specs), PlanRuns(store), Here(failing("item-knn", 2)))
    found = {run.spec.algorithm: (run.state, len(run.folds)) for run in store.runs()}
    assert found == {
        "popular": (RunState.FINISHED, 5),
        "item-knn": (RunState.FAILED, 2),
        "ease": (RunState.FINISHED, 5),
    }


@pytest.mark.parametrize("together", [False, True], ids=["a run", "a study"])
def test_a_run_whose_cheap_model_fails_says_so(store: Store, together: bool) -> None:
    adjusted = replace(spec(algorithm="ease"), rule="precision", rule_params=ADJUSTED, min_folds=1)
    plan = StudyPlan([adjusted, spec(algorithm="item-knn")]) if together else RunPlan(adjusted)
    plan_runs = PlanRuns(store)
    drive(plan, plan_runs, Here(failing("popular", 3)))
    found = {run.spec.algorithm: run for run in store.runs()}
    assert (found["popular"].error, len(found["popular"].folds)) == ("the bus left", 3)
    assert found["ease"].state is RunState.FAILED
    assert found["ease"].error == "'popular', which it is adjusted by, failed: the bus left"
    assert found["ease"].folds == ()
    if together:
        assert found["item-knn"].state is RunState.FINISHED
    with pytest.raises(RunError, match="the bus left"):
        plan_runs.check_finished()
    drive(plan, PlanRuns(store, runs=store.runs()), Here(computing(drawn)))  # it goes on
    assert {run.state for run in store.runs()} == {RunState.FINISHED}
    assert sorted(fold.fold for fold in found["popular"].folds) == [0, 1, 2]


def test_cheap_models_of_which_some_folds_are_there_run_the_others(store: Store) -> None:
    adjusted = replace(spec(algorithm="ease"), rule="precision", rule_params=ADJUSTED, min_folds=1)
    run(store, replace(cheap_model_spec(adjusted, "popular"), only_folds=(1, 3)), computing(drawn))
    asked: list[tuple[str, int]] = []

    def noting(spec: RunSpec, index: int) -> FoldResult:
        asked.append((spec.algorithm, index))
        return drawn(spec, index)

    done = run(store, adjusted, computing(noting))
    assert done.state is RunState.FINISHED
    assert asked[:3] == [("popular", 0), ("popular", 2), ("popular", 4)]
    assert {one.state for one in store.runs()} == {RunState.FINISHED}


def test_in_a_study_a_run_that_is_cancelled_between_folds_ends_only_itself(store: Store) -> None:
    specs = [spec(algorithm=name, rule="never") for name in ("popular", "ease")]

    def cancels(run: RunRecord) -> None:
        if run.spec.algorithm == "popular" and len(run.folds) == 2:
            store.request_cancel(run.run_id)

    drive(
        StudyPlan(specs), PlanRuns(store, callbacks=Callbacks(fold=cancels)), Here(computing(drawn))
    )
    found = {run.spec.algorithm: (run.state, len(run.folds)) for run in store.runs()}
    assert found == {"popular": (RunState.CANCELLED, 2), "ease": (RunState.FINISHED, 5)}


def test_in_a_study_a_run_that_is_cancelled_in_a_fold_ends_only_itself(store: Store) -> None:
    specs = [spec(algorithm=name, rule="never") for name in ("popular", "ease")]
    never = threading.Event()

    def waits(spec: RunSpec, index: int) -> FoldResult:
        if spec.algorithm == "popular" and index == 1:
            (run,) = (run for run in store.runs() if run.spec.algorithm == "popular")
            store.request_cancel(run.run_id)
            never.wait(120)
        return drawn(spec, index)

    drive(StudyPlan(specs), PlanRuns(store), Threads(computing(waits), 2))
    never.set()
    found = {run.spec.algorithm: (run.state, len(run.folds)) for run in store.runs()}
    assert found == {"popular": (RunState.CANCELLED, 1), "ease": (RunState.FINISHED, 5)}


def test_a_run_that_was_cancelled_while_its_plan_was_worked_out_stays_cancelled(
    store: Store,
) -> None:
    named = [(name, spec(algorithm=name)) for name in ("item-knn", "ease")]
    selection_id = select.begin(store, named, Terms(k=5))
    (run_id,) = select.go_on(store, selection_id)
    record = stored_plan(store, SELECTION, selection_id)
    plan_runs = select.selection_runs(store, record)
    store.request_cancel(run_id)  # after the manager has taken it from the queue
    drive(SelectPlan.of(record), plan_runs, Here(computing(drawn)), gives_way=True)
    assert store.run(run_id).state is RunState.CANCELLED
    assert len(store.runs()) == 1


def test_a_run_that_waits_for_a_fold_that_another_has_computed_meanwhile_computes_the_next(
    store: Store,
) -> None:
    named = [(name, spec(algorithm=name)) for name in ("item-knn", "ease")]
    first, second = (select.begin(store, named, Terms(k=5)) for _ in range(2))
    for selection_id in (first, second):
        select.go_on(store, selection_id)
    for selection_id in (first, second, second, first, second):
        record = stored_plan(store, SELECTION, selection_id)
        plan_runs = select.selection_runs(store, record)
        drive(SelectPlan.of(record), plan_runs, Here(computing(drawn)), gives_way=True)
    assert not {run.state for run in store.runs()} & {RunState.INTERRUPTED, RunState.RUNNING}
    folds = [(run.spec.algorithm, fold.fold) for run in store.runs() for fold in run.folds]
    assert len(folds) == len(set(folds)) == 5


def test_what_cannot_be_said_to_the_caller_is_raised(store: Store) -> None:
    def breaks(run: RunRecord) -> None:
        raise ValueError("no bar")

    with pytest.raises(RunError, match="ValueError: no bar"):
        run(store, spec(), fold=breaks)
    (left,) = store.runs()
    assert (left.state, len(left.folds)) == (RunState.FAILED, 1)


# -- folds that are there already ---------------------------------------------------------------


class Counting:
    """Computes folds, and notes which."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def __call__(self, specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
        for place, one in enumerate(specs):
            self.asked.append((one.algorithm, index))
            yield place, drawn(one, index)


def test_single_folds_and_then_the_whole_run_compute_every_fold_once(store: Store) -> None:
    counting = Counting()
    for index in range(4):
        run(store, spec(rule="never", only_folds=(index,)), counting)
    whole = run(store, spec(rule="never"), counting)
    assert counting.asked == [("popular", index) for index in range(5)]
    assert [fold.reused for fold in whole.folds] == [True] * 4 + [False]
    assert [fold.fold for fold in whole.folds] == [0, 1, 2, 3, 4]
    # What they took is in the list of runs once, not twice.
    rows = RunList(store).rows()
    assert sum(spent.energy.joules for row in rows for spent in row.spent) == 5 * 10
    assert store.user_scores(whole.run_id)[2].users.tolist() == list(range(20))


def test_another_rule_uses_the_folds_and_stops_where_it_would_have(store: Store) -> None:
    counting = Counting()
    run(store, spec(rule="never"), counting)
    stopped = run(store, spec(alpha=1.0), counting)
    assert (stopped.stopped_at, len(counting.asked)) == (3, 5)
    assert all(fold.reused for fold in stopped.folds)


def test_folds_used_again_have_the_emissions_of_the_country_that_is_asked_for(store: Store) -> None:
    counting = Counting()
    run(store, spec(rule="never", country="DEU"), counting)
    poland = run(store, spec(rule="never", country="POL", processor_watts=65), counting)
    per_joule = country("POL").grams_co2e_per_kwh / 3.6e6
    for fold in poland.folds:
        assert (fold.reused, fold.energy.joules) == (True, 10)
        assert fold.energy.grams_co2e == pytest.approx(10 * per_joule)
    assert "that was set then" in reused_words(poland.folds)


def test_anew_computes_every_fold(store: Store) -> None:
    counting = Counting()
    run(store, spec(rule="never"), counting)
    (run_id,) = store.create([spec(rule="never")], owner=this_process(), anew=True)
    drive(
        RunPlan(spec(rule="never")),
        PlanRuns(store, runs=[store.run(run_id)], compute_every_fold=True),
        Here(counting),
    )
    assert len(counting.asked) == 10
    assert not any(fold.reused for fold in store.run(run_id).folds)


def gini(spec: RunSpec, index: int) -> FoldResult:
    """A fold with a metric that no user has one of."""
    return replace(fold_result(index, SCORES[index]), metrics={"gini@10": SCORES[index]})


def test_folds_that_were_computed_elsewhere_are_never_committed_as_own(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ecv_core.store.recorded.FOLDER", tmp_path)
    other = open_store(f"sqlite:///{tmp_path / 'other'}.sqlite")
    asked = spec(rule="never", metric="gini")  # which no user has one of, so that none is missed
    known = run(other, asked, computing(gini))
    import_run(store, RunFile(run=known, name="theirs.json", made_with={}))
    record(known, recorded_path(tmp_path, "synthetic", "popular"))
    indices: list[int] = []

    def counted(spec: RunSpec, index: int) -> FoldResult:
        indices.append(index)
        return gini(spec, index)

    drive(RunPlan(asked), PlanRuns(store, with_recorded=True), Here(computing(counted)))
    assert len(indices) == 5
    (own,) = (one for one in store.runs() if one.run_id != known.run_id)
    assert not any(fold.reused for fold in own.folds)


def test_a_fold_without_users_scores_is_computed_again_where_its_metric_has_them(
    store: Store,
) -> None:
    run(store, spec(rule="never"))  # made-up folds without users' scores
    counting = Counting()
    done = run(store, spec(rule="never"), counting)
    assert len(counting.asked) == 5
    assert not any(fold.reused for fold in done.folds)


def test_a_run_a_study_a_selection_and_a_tuning_use_each_others_folds(
    store: Store, tmp_path: Path
) -> None:
    counting = Counting()
    here = Here(counting)
    own = make_spec(dataset="synthetic", algorithm="item-knn", k=5, rule="never")
    run(store, own, counting)
    named = [("item-knn", own), ("ease", make_spec(dataset="synthetic", algorithm="ease", k=5))]
    select.compute_selection(store, named, Terms(k=5, until="order"), executor=here)
    assert [one for one in counting.asked if one[0] == "item-knn"] == [
        ("item-knn", index) for index in range(5)
    ]
    before = len(counting.asked)
    cells = planned_cells(["synthetic"], ["item-knn", "ease"], k=5, full=True, folder=tmp_path)
    done = study.compute_study(store, cells, executor=here)
    assert [cell.run.state for cell in done] == [RunState.FINISHED] * 2
    new = counting.asked[before:]
    assert not [one for one in new if one[0] == "item-knn"]
    assert len({*counting.asked}) == len(counting.asked) == 10  # ease has all folds, each once
    usual = str(dict(own.params)["neighbours"])
    tuning = make_tuning(
        dataset="synthetic",
        algorithm="item-knn",
        own_values={"neighbours": ["3", usual]},
        k=5,
        all_folds=True,
    )
    before = len(counting.asked)
    tune(store, tuning, executor=here)
    assert counting.asked[before:] == [("item-knn", index) for index in range(5)]


def test_what_was_said_after_a_fold_stays_though_the_rule_says_something_else_today(store):
    asked = spec(full=True)
    (run_id,) = store.create([asked], owner=this_process())
    plan_runs = PlanRuns(store, runs=[store.run(run_id)])
    plan_runs.start()
    plan_runs.commit(FoldTask(specs=(asked,), fold=0), 0, fold_result(0, SCORES[0]))
    (first,) = store.run(run_id).moments
    earlier = replace(first, decision=Decision(stop=True, reason="An earlier version: stop."))
    store.add_fold(run_id, fold_result(0, SCORES[0]), stopped_at=1, changed_moments=[earlier])
    assert store.run(run_id).moments == (earlier,)
    plan_runs = PlanRuns(store, runs=[store.run(run_id)])
    plan_runs.commit(FoldTask(specs=(asked,), fold=1), 0, fold_result(1, SCORES[1]))
    run = store.run(run_id)
    assert run.stopped_at == 1
    assert run.moments[0] == earlier
    assert not run.moments[1].decision.stop
