"""Whatever fails, is cancelled or is cut off: no fold is computed twice, and none is lost."""

from __future__ import annotations

import tempfile
from contextlib import closing as closed_after
from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from ecv_core.fold.spec import make_spec
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Compute, Computed, Ended, Finished
from ecv_core.jobs.plan import FoldTask
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.jobs.plans.study import StudyPlan
from ecv_core.jobs.plans.tune import FoldsPlan
from ecv_core.records.errors import RunError
from ecv_core.records.run import FoldResult, Progress, RunRecord, RunState, no_progress
from ecv_core.records.spec import RunSpec
from ecv_core.store.configurations import specs_of
from ecv_core.store.store import Store, open_store
from tests.fake_folds import computing, fold_result

NAMES = ("popular", "item-knn", "ease")
K = 4
STOPS = st.sampled_from([None, 1, 2, 3])
"""Folds of the rule 'fixed'; None: the rule 'never'."""


def score(spec: RunSpec, index: int) -> float:
    return Random(f"{spec.algorithm} {index}").uniform(0.2, 0.4)


class Drawn:
    """An executor of several places in one thread: which task is computed next is drawn."""

    def __init__(self, compute: Compute, places: int, random: Random) -> None:
        self.capacity = places
        self._compute, self._random = compute, random
        self._given: list[FoldTask] = []

    def submit(self, task: FoldTask, progress: Progress) -> None:
        assert len(self._given) < self.capacity
        self._given.append(task)

    def finished(self, seconds: float) -> Finished:
        task = self._given.pop(self._random.randrange(len(self._given)))
        error: Exception | None = None
        try:
            with closed_after(self._compute(task.specs, task.fold, no_progress)) as results:
                for spec_index, result in results:
                    yield Computed(task=task, spec_index=spec_index, result=result)
        except RunError as raised:
            error = raised
        yield Ended(task=task, error=error)

    def cancel(self, task: FoldTask) -> None:
        self._given = [given for given in self._given if given != task]

    def close(self) -> None:
        self._given.clear()


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["fails", "cancels", "ends"]), st.sampled_from(NAMES), st.integers(0, K - 1)
    ),
    max_size=4,
)
"""What happens at a fold of a run, in one program: it fails, it cancels its run once it is there,
or the program is told to end."""


@settings(max_examples=10)
@given(
    st.lists(STOPS, min_size=1, max_size=len(NAMES)),
    st.lists(EVENTS, max_size=3),
    st.integers(1, 3),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_every_fold_is_computed_once_and_kept(stops, programs, places, as_study, random) -> None:
    specs = [
        RunSpec(
            dataset="synthetic",
            algorithm=name,
            k=K,
            rule="never" if folds is None else "fixed",
            min_folds=folds or 1,
        )
        for name, folds in zip(NAMES, stops, strict=False)
    ]
    computed: list[tuple[str, int]] = []

    def compute_all(store: Store, events: list[tuple[str, str, int]]) -> None:
        told_to_end = False

        def fold(spec: RunSpec, index: int) -> FoldResult:
            nonlocal told_to_end
            if ("fails", spec.algorithm, index) in events:
                raise RunError("the bus left")
            told_to_end |= ("ends", spec.algorithm, index) in events
            computed.append((spec.algorithm, index))
            return fold_result(index, score(spec, index))

        def said(run: RunRecord) -> None:
            if ("cancels", run.spec.algorithm, run.folds[-1].fold) in events:
                store.request_cancel(run.run_id)

        plans = [StudyPlan(specs)] if as_study else [RunPlan(spec) for spec in specs]
        for plan in plans:
            plan_runs = PlanRuns(store, runs=store.runs(), callbacks=Callbacks(fold=said))
            drive(
                plan,
                plan_runs,
                Drawn(computing(fold), places, random),
                is_closing=lambda: told_to_end,
            )
        assert not store.active()
        every = [(run, fold) for run in store.runs() for fold in (*run.folds, *run.ahead)]
        kept = {(run.spec.algorithm, fold.fold) for run, fold in every}
        assert kept == set(computed)

    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/runs.sqlite")
        for events in programs:
            compute_all(store, events)
        compute_all(store, [])
        assert len(computed) == len(set(computed))
        runs = {run.spec.algorithm: run for run in store.runs()}
        assert len(runs) == len(store.runs()) == len(specs)
        for spec, folds in zip(specs, stops, strict=False):
            run = runs[spec.algorithm]
            assert run.state is RunState.FINISHED
            assert [one.fold for one in run.folds] == list(range(folds or K))
            assert [one.score for one in run.folds] == [score(spec, i) for i in range(folds or K)]
            assert run.stopped_at == (folds or K)


GRID = specs_of(
    make_spec(dataset="synthetic", algorithm="item-knn", k=K, rule="never", full=True),
    [{"neighbours": n, "shrink": shrink} for n in (5, 10) for shrink in (0.0, 5.0)],
)
"""Two groups of two that share work."""
RESULTS = st.integers(1, 2 * len(GRID))


@settings(max_examples=6)
@given(
    st.lists(st.tuples(st.sampled_from(["fails", "cancels", "ends"]), RESULTS), max_size=3),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_of_shared_work_every_result_is_computed_once_and_kept(programs, places, random) -> None:
    computed: list[tuple[int, int]] = []

    def compute_all(store: Store, event: str, after: int) -> None:
        """Everything, but that something happens after so many results."""
        count = 0

        def fold(spec: RunSpec, index: int) -> FoldResult:
            nonlocal count
            if event == "fails" and count == after:
                raise RunError("the bus left")
            count += 1
            computed.append((GRID.index(replace(spec, only_folds=())), index))
            return fold_result(index, score(spec, index))

        def said(run: RunRecord) -> None:
            if event == "cancels" and count == after:
                store.request_cancel(random.choice(store.active()).run_id)

        drive(
            FoldsPlan(GRID, range(K)),
            PlanRuns(store, callbacks=Callbacks(fold=said)),
            Drawn(computing(fold), places, random),
            is_closing=lambda: event == "ends" and count >= after,
        )
        assert not store.active()
        kept = {
            (GRID.index(replace(run.spec, only_folds=(), full=True)), one.fold)
            for run in store.runs()
            for one in (*run.folds, *run.ahead)
        }
        assert kept == set(computed)

    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/runs.sqlite")
        for event, after in programs:
            compute_all(store, event, after)
        compute_all(store, "nothing", 0)
        assert sorted(computed) == [(place, i) for place in range(len(GRID)) for i in range(K)]
        assert sum(len((*run.folds, *run.ahead)) for run in store.runs()) == len(GRID) * K
