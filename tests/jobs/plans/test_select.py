"""A selection computed fold by fold, with made-up folds: what is run, spared, kept and resumed."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, islice
from random import Random

import numpy as np
import pytest
import sqlalchemy as sa

from ecv_core.cli import main
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Here, Results
from ecv_core.jobs.manager import RunManager, plan_of
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.jobs.plans.select import (
    SelectionState,
    SelectPlan,
    begin,
    comparable_contenders,
    compute_selection,
    go_on,
    results_of,
    selection_runs,
)
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.run import FoldResult, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.selection.contenders import parse_contender
from ecv_core.selection.replay import select_in_order
from ecv_core.selection.rounds import Budget, Terms
from ecv_core.store.ownership import this_process
from ecv_core.store.plans import SELECTION, stored_plan
from ecv_core.store.store import Store, open_store
from tests.fake_folds import ASLEEP, computing, fold_result
from tests.jobs.plans.contenders import (
    USERS,
    apart,
    apart_in_a_worker,
    close,
    close_in_a_worker,
    grid_in_a_worker,
    of_users,
)
from tests.jobs.plans.in_memory import InMemory, played, sure

TERMS = Terms(k=10)


def duel(spec: RunSpec, index: int) -> FoldResult:
    """Two who are alike up to what users make of it; two who are far behind, apart."""
    mean = {"ease": 0.5, "item-knn": 0.499, "user-knn": 0.2, "popular": 0.1}[spec.algorithm]
    own = np.random.default_rng([index, len(spec.algorithm)]).normal(0, 0.02, len(USERS))
    return of_users(index, mean + np.sin(USERS) / 10 + own)


def of_a_ladder(spec: RunSpec, index: int, seed: int) -> FoldResult:
    """Twelve, each a step better than the one before, with noise of a fold and of users."""
    size = dict(spec.params)["factors"]
    own = np.random.default_rng([seed, index, size]).normal(0, 0.05, len(USERS))
    return of_users(index, 0.3 + 0.006 * size + np.sin(USERS) / 10 + own)


@pytest.fixture
def store() -> Store:
    return open_store()


def specs(*algorithms: str) -> list[tuple[str, RunSpec]]:
    return [(one, make_spec(dataset="synthetic", algorithm=one)) for one in algorithms]


def look(store: Store, selection_id: str) -> SelectionState:
    """Where a selection is now."""
    record = stored_plan(store, SELECTION, selection_id)
    return SelectPlan.of(record).state_after(results_of(store, record))


def go(
    store: Store, selection_id: str, fold: Callable[..., FoldResult] = apart, most: int = 100
) -> SelectionState:
    """Go on until it is decided, or `most` folds have been computed."""
    record = stored_plan(store, SELECTION, selection_id)
    for _ in range(most):
        plan_runs = selection_runs(store, record)
        drive(SelectPlan.of(record), plan_runs, Here(computing(fold)), gives_way=True)
    return look(store, selection_id)


def test_each_contender_runs_only_the_folds_it_needs(store: Store) -> None:
    found = go(store, begin(store, specs("popular", "item-knn", "ease"), TERMS))
    assert found.decided
    assert found.folds_needed == (1, 1, 1)
    assert [run.spec.only_folds for run in store.runs()] == [(0,), (0,), (0,)]
    assert found.result.joules == 30
    assert found.result.joules_of_all_folds == 300
    said = found.sentence(["Popularity", "ItemKNN", "EASE"], "Synthetic")
    assert said.startswith("EASE is best on Synthetic: ")
    assert "10 % of the energy. ItemKNN" in said


def test_terms_are_kept_under_the_names_that_databases_have(store: Store) -> None:
    terms = Terms(k=10, budget=Budget.parse("20 folds"), has_worst_score=False)
    selection_id = begin(store, specs("item-knn", "ease"), terms)
    kept = stored_plan(store, SELECTION, selection_id)
    assert set(kept.content.terms) == {
        "recorded", "k", "confidence", "indifference", "until", "higher_is_better", "bounded",
        "budget_amount", "budget_unit",
    }  # fmt: skip
    assert kept.content.terms["bounded"] is False
    assert SelectPlan.of(kept).terms == terms


def test_the_next_fold_is_the_one_the_round_lacks(store: Store) -> None:
    selection_id = begin(store, specs("item-knn", "user-knn"), TERMS)
    assert look(store, selection_id).missing_turn == (0, 0)
    assert go(store, selection_id, most=1).missing_turn == (1, 0)
    before = look(store, selection_id)
    assert before.result is None
    assert before.sentence(["a", "b"]) == "Every contender needs its first fold: 1 of 2 ran."


def test_one_contender_may_come_twice_in_a_row(store: Store) -> None:
    """As in the dashboard: who is cheaper begins the next round, and may have ended the last."""

    def costs(spec: RunSpec, index: int) -> FoldResult:
        result = close(spec, index)
        joules = 1.0 if spec.algorithm == "ease" else 100.0
        return replace(result, energy=replace(result.energy, joules=joules))

    selection_id = begin(store, specs("item-knn", "ease"), TERMS)
    record = stored_plan(store, SELECTION, selection_id)
    computed = []
    for _ in range(4):
        go_on(store, selection_id)
        plan_runs, plan = selection_runs(store, record), SelectPlan.of(record)
        drive(plan, plan_runs, Here(computing(costs)), gives_way=True)
        computed.append(look(store, selection_id).folds_needed)
        (waits,) = plan_runs.queue_next(plan)
        assert store.run(waits).state is RunState.QUEUED
    assert computed == [(1, 0), (1, 1), (1, 2), (2, 2)]


def test_nothing_is_queued_twice_while_a_fold_is_going(store: Store) -> None:
    selection_id = begin(store, specs("item-knn", "user-knn"), TERMS)
    (run_id,) = go_on(store, selection_id)
    assert store.run(run_id).state is RunState.QUEUED
    assert go_on(store, selection_id) == []


def test_programs_that_make_the_run_of_a_contender_at_once_make_one(each_database: None) -> None:
    """Whatever one has read, the other may have made the run before anything is written."""
    store = open_store()
    gap = 0
    gap_count = 1
    while gap < gap_count:
        selection_id = begin(store, specs("item-knn", "user-knn"), TERMS)
        record = stored_plan(store, SELECTION, selection_id)
        slow_store = open_store()
        gaps = count()

        def go_on_in_gap(*_connection: object, gap=gap, gaps=gaps, record=record) -> None:
            # A connection is given back where a transaction has ended.
            if next(gaps) == gap:
                selection_runs(store, record).queue_next(SelectPlan.of(record))

        sa.event.listen(slow_store._engine, "checkin", go_on_in_gap)
        (run_id,) = selection_runs(slow_store, record).queue_next(SelectPlan.of(record))
        assert [run.run_id for run in store.group(selection_id)] == [run_id]
        gap_count = next(gaps)
        gap += 1


def test_contenders_that_share_work_are_queued_together(store: Store) -> None:
    grid = [("item-knn", {"neighbours": 10}), ("ease", {}), ("item-knn", {"neighbours": 20})]
    named = [
        (f"{name}{params}", make_spec(dataset="synthetic", algorithm=name, params=params))
        for name, params in grid
    ]
    together = go_on(store, begin(store, named, TERMS))
    assert [dict(store.run(one).spec.params)["neighbours"] for one in together] == [10, 20]
    assert {store.run(one).spec.only_folds for one in together} == {(0,)}
    assert len(store.runs()) == 2


def test_folds_that_are_there_are_not_computed_again(store: Store) -> None:
    (run_id,) = store.create([specs("ease")[0][1]], owner=this_process())
    whole = store.run(run_id)
    drive(RunPlan(whole.spec), PlanRuns(store, runs=[whole]), Here(computing(apart)))
    found = go(store, begin(store, specs("popular", "ease"), TERMS))
    assert found.decided
    assert sorted(run.spec.algorithm for run in store.runs()) == ["ease", "popular"]


@pytest.mark.slow
def test_a_failed_fold_is_the_only_one_lost(store: Store) -> None:
    def breaks(spec: RunSpec, index: int) -> FoldResult:
        if spec.algorithm == "user-knn":
            raise MemoryError
        return apart(spec, index)

    selection_id = begin(store, specs("item-knn", "user-knn", "ease"), TERMS)
    go(store, selection_id, breaks, most=2)
    stuck = store.runs()[0]
    assert stuck.state is RunState.FAILED
    assert "memory ran out" in (stuck.error or "")
    resumed = go(store, selection_id)
    assert resumed.decided
    assert resumed.folds_needed == (1, 1, 1)
    assert len(store.runs()) == 3


def test_a_fold_that_fails_ends_the_selection_with_its_reason(store: Store) -> None:
    def breaks(spec: RunSpec, index: int) -> FoldResult:
        raise RunError("the bus left")

    with pytest.raises(RunError, match="the bus left"):
        compute_selection(store, specs("item-knn", "ease"), TERMS, executor=Here(computing(breaks)))
    (run,) = store.runs()
    assert run.state is RunState.FAILED


def test_a_contender_that_another_program_computes_is_left_to_it(store: Store) -> None:
    selection_id = begin(store, specs("item-knn", "ease"), TERMS)
    (run_id,) = go_on(store, selection_id)
    elsewhere = open_store()
    assert elsewhere.start(run_id, owner=this_process())
    found = go(store, selection_id, most=1)
    assert store.run(run_id).state is RunState.RUNNING
    assert found.missing_turn == (0, 0)


def test_cancelled_in_the_middle_it_says_what_is_known(store: Store) -> None:
    found = go(store, begin(store, specs("item-knn", "ease"), TERMS), close, most=4)
    assert not found.decided
    assert found.result is not None
    assert len(found.result.rounds) == 2
    gap = next(iter(found.result.rounds[-1].gaps.values()))
    assert gap.low < 0 < gap.high
    assert "leads after 2 folds; 1 other can still win." in found.sentence(["ItemKNN", "EASE"])


# -- the plan alone -----------------------------------------------------------------------------


def random_folds(seed: int, *algorithms: str) -> dict[tuple[str, int], FoldResult]:
    """Fold scores of contenders that are some deviations apart, and what each fold took."""
    draw = np.random.default_rng(seed)
    taste = draw.normal(0.3, 0.1, 40)
    found = {}
    for place, algorithm in enumerate(algorithms):
        for index in range(10):
            result = of_users(index, taste + 0.01 * place + draw.normal(0, 0.03, 40))
            energy = replace(result.energy, joules=float(draw.uniform(1, 9)))
            found[algorithm, index] = replace(result, energy=energy)
    return found


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("until", ["winner", "order"])
def test_it_stops_where_its_replay_on_all_scores_stops(seed: int, until: str) -> None:
    named = comparable_contenders(specs("popular", "item-knn", "user-knn", "ease"))
    folds = random_folds(seed, *(name for name, _ in named))
    terms = Terms(k=10, until=until)
    plan, known = SelectPlan(named, terms), InMemory()
    asked = played(plan, lambda spec, index: folds[spec.algorithm, index], known=known)
    found = plan.state_after(known)
    everything = InMemory()
    everything.elsewhere = {(s, i): folds[s.algorithm, i] for _, s in named for i in range(10)}
    whole = plan.state_after(everything)
    replay = select_in_order(whole.scores, terms, range(10))
    assert found.missing_turn is None
    assert found.result is not None
    assert found.result.verdict == replay.verdict
    assert found.folds_needed == replay.folds_used
    assert len(asked) == sum(replay.folds_used)  # and nothing else was computed


def test_it_asks_the_same_whatever_order_its_folds_came_in() -> None:
    named = comparable_contenders(specs("popular", "item-knn", "ease"))
    folds = random_folds(3, *(name for name, _ in named))
    there = {(spec, i): folds[spec.algorithm, i] for _, spec in named for i in range(2)}
    asked = set()
    for seed in range(6):
        known = InMemory()
        places = list(there)
        Random(seed).shuffle(places)
        known.elsewhere = {place: there[place] for place in places}
        asked.update(sure(SelectPlan(named, TERMS).next(known, ())))
    assert len(asked) == 1


def test_it_asks_for_nothing_more_once_the_run_that_it_needs_has_ended() -> None:
    named = comparable_contenders(specs("item-knn", "ease"))
    known = InMemory()
    assert list(SelectPlan(named, TERMS).next(known, ()))
    known.failed.add(named[0][1])
    assert not list(SelectPlan(named, TERMS).next(known, ()))


def test_what_is_likely_to_follow_is_begun_first_and_decides_nothing() -> None:
    named = comparable_contenders(specs("popular", "item-knn", "user-knn", "ease"))
    known = InMemory()
    for _, spec in named:
        known.put(spec, duel(spec, 0))
    tasks = list(SelectPlan(named, TERMS).next(known, ()))
    # Two are alike and need fold after fold; the others are far behind: theirs come last.
    turns = [(task.specs[0].algorithm, task.fold) for task in tasks]
    likely = [turn for turn in turns if turn[0] in ("ease", "item-knn")]
    assert turns[: len(likely)] == likely
    assert [fold for _, fold in likely] == sorted(fold for _, fold in likely)
    assert len(likely) > 4
    assert [task.bet for task in tasks] == [False] + [True] * (len(tasks) - 1)
    for places in (1, 6):
        plan, plan_runs = SelectPlan(named, TERMS), InMemory()
        played(plan, duel, known=plan_runs, places=places)
        found = plan.state_after(plan_runs)
        if places == 1:
            alone = found
    assert found.result.verdict == alone.result.verdict
    assert found.folds_needed == alone.folds_needed


@pytest.mark.parametrize("amount", ["9 folds", "12 seconds", "90 J"])
def test_a_budget_holds_on_several_places_in_any_unit(amount: str) -> None:
    named = comparable_contenders(specs("popular", "item-knn", "user-knn", "ease"))
    terms = Terms(k=10, budget=Budget.parse(amount))
    found = []
    for places in (1, 4):
        plan, plan_runs = SelectPlan(named, terms), InMemory()
        played(plan, duel, known=plan_runs, places=places)
        found.append(plan.state_after(plan_runs))
    assert found[0].folds_needed == found[1].folds_needed
    assert found[0].result.verdict == found[1].result.verdict


@pytest.mark.slow
def test_six_places_take_less_than_a_quarter_of_the_steps_of_one_and_few_folds_more() -> None:
    named = comparable_contenders(
        [
            (
                str(size),
                make_spec(dataset="synthetic", algorithm="bpr-mf", params={"factors": size}),
            )
            for size in range(1, 13)
        ]
    )
    steps, folds = Counter(), Counter()
    for seed in range(3):
        for places in (1, 6):
            plan, known = SelectPlan(named, TERMS), InMemory()
            while tasks := list(islice(plan.next(known, ()), places)):
                steps[places] += 1
                folds[places] += len(tasks)
                for task in tasks:
                    known.put(task.specs[0], of_a_ladder(task.specs[0], task.fold, seed))
    # 12, 2, 2, ... folds at least: what was known beforehand would take a sixth of the steps.
    assert steps[6] <= 0.25 * steps[1]
    assert folds[6] <= 1.1 * folds[1]


def test_folds_without_users_scores_are_not_used() -> None:
    named = comparable_contenders(specs("item-knn", "ease"))
    known = InMemory()
    known.elsewhere = {(named[0][1], 0): fold_result(0, 0.5)}
    (task,) = sure(SelectPlan(named, TERMS).next(known, ()))
    assert (task.specs[0].algorithm, task.fold) == ("item-knn", 0)


# -- in the background --------------------------------------------------------------------------


@pytest.fixture
def manage(store: Store) -> Iterator[Callable[..., RunManager]]:
    made: list[RunManager] = []

    def make(compute: Callable[..., Results]) -> RunManager:
        made.append(RunManager(store, compute=compute))
        return made[-1]

    yield make
    for manager in made:
        manager.close()


def soon(what: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_after_each_fold_it_goes_on_by_itself_and_gives_way_to_runs_that_wait(
    store: Store, manage: Callable[..., RunManager]
) -> None:
    selection_id = begin(store, specs("popular", "item-knn", "ease"), TERMS)
    (first,) = go_on(store, selection_id)
    (waits,) = store.create([specs("user-knn")[0][1]], owner=this_process())
    manage(apart_in_a_worker)
    soon(lambda: look(store, selection_id).decided and not store.active())
    by_start = sorted(store.runs(), key=lambda run: run.started_at)
    assert [run.run_id for run in by_start[:2]] == [first, waits]
    assert [run.state for run in by_start] == [RunState.FINISHED] * 4
    assert look(store, selection_id).folds_needed == (1, 1, 1)


@pytest.mark.slow
def test_in_the_background_it_is_cancelled_in_the_middle_of_a_fold_and_goes_on_when_asked(
    store: Store, manage: Callable[..., RunManager]
) -> None:
    selection_id = begin(store, specs("item-knn", "ease"), TERMS)
    go_on(store, selection_id)
    manager = manage(close_in_a_worker)

    def asleep() -> bool:
        return any(run.progress and run.progress.phase == ASLEEP for run in store.active())

    soon(asleep)
    for _ in range(2):
        (going,) = store.active()
        manager.cancel(going.run_id)
        soon(lambda: not store.active())
        assert store.run(going.run_id).state is RunState.CANCELLED
        assert look(store, selection_id).folds_needed == (2, 2)
        assert go_on(store, selection_id) == [going.run_id]
        manager.wake()
        soon(asleep)


def test_a_selection_that_cannot_be_worked_out_fails_and_the_queue_goes_on(
    store: Store, manage: Callable[..., RunManager], monkeypatch: pytest.MonkeyPatch
) -> None:
    (run_id,) = go_on(store, begin(store, specs("item-knn", "ease"), TERMS))
    (waits,) = store.create([specs("user-knn")[0][1]], owner=this_process())

    def broken(*args: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(SelectPlan, "state_after", broken)
    manage(apart_in_a_worker)
    soon(lambda: not store.active())
    assert store.run(run_id).state is RunState.FAILED
    assert "ZeroDivisionError: by zero" in (store.run(run_id).error or "")
    assert store.run(waits).state is RunState.FINISHED


def test_those_that_share_work_are_computed_together_and_cancelled_together(
    store: Store, manage: Callable[..., RunManager]
) -> None:
    named = [
        (str(n), make_spec(dataset="synthetic", algorithm="item-knn", params={"neighbours": n}))
        for n in (10, 20, 40)
    ]
    selection_id = begin(store, named, TERMS)
    assert len(go_on(store, selection_id)) == 3
    manager = manage(grid_in_a_worker)
    soon(lambda: sum(len(run.folds) for run in store.runs()) == 4)  # the first of fold 1 too
    manager.cancel(store.active()[-1].run_id)
    soon(lambda: not store.active())
    # The one whose fold 1 came has all that it was asked for.
    assert sorted((run.state, len(run.folds)) for run in store.runs()) == [
        (RunState.CANCELLED, 1),
        (RunState.CANCELLED, 1),
        (RunState.FINISHED, 2),
    ]


def test_one_that_leaves_the_queue_ends_only_itself(
    store: Store, manage: Callable[..., RunManager]
) -> None:
    """Those that share work wait for one task: the others are computed without it."""
    named = [
        (str(n), make_spec(dataset="synthetic", algorithm="item-knn", params={"neighbours": n}))
        for n in (10, 20, 40)
    ]
    queued = go_on(store, begin(store, named, TERMS))
    store.request_cancel(queued[1])
    manage(grid_in_a_worker)
    soon(lambda: not store.active())
    states = [(store.run(one).state, len(store.run(one).folds)) for one in queued]
    done, left = (RunState.FINISHED, 1), (RunState.CANCELLED, 0)
    assert states == [done, left, done]


# -- what is refused ----------------------------------------------------------------------------


def test_contenders_that_share_no_folds_are_refused(store: Store) -> None:
    one = specs("ease")
    other = [("other", make_spec(dataset="synthetic", algorithm="popular", seed=7))]
    with pytest.raises(InputError, match="'other' and 'ease' do not share"):
        begin(store, one + other, TERMS)
    with pytest.raises(InputError, match="at least two contenders, but has 1"):
        begin(store, one, TERMS)
    with pytest.raises(InputError, match="'ease' is given twice"):
        begin(store, one + one, TERMS)
    with pytest.raises(InputError, match="same algorithm with the same parameters"):
        begin(store, [*one, ("again", one[0][1])], TERMS)


def test_folds_in_the_order_of_time_are_no_ground_to_drop_anybody(store: Store) -> None:
    windows = [
        (name, make_spec(dataset="synthetic", algorithm=name, split="temporal-windows"))
        for name in ("popular", "ease")
    ]
    with pytest.raises(InputError, match=r"windows of the split .* a selection must not drop"):
        begin(store, windows, Terms(k=5))


def test_a_contender_is_written_as_its_algorithm_with_parameters() -> None:
    assert parse_contender("ease") == ("ease", {})
    assert parse_contender("item-knn:neighbours=50,shrink=10") == (
        "item-knn",
        {"neighbours": "50", "shrink": "10"},
    )
    with pytest.raises(InputError, match="has 'fifty', which is not of the form name=value"):
        parse_contender("item-knn:fifty")


def test_select_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["select", "synthetic", "item-knn", "popular", "ease:regularization=100", "--json", "-"]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["contenders"] == ["item-knn", "popular", "ease:regularization=100"]
    assert document["metric"] == "ndcg@10"
    assert "popular" not in document["tied"]
    assert document["winner"] != "popular"
    assert sum(document["folds_used"].values()) < 30
    assert document["joules_of_all_folds"] >= document["joules"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["synthetic"], "name at least two contenders"),
        (["synthetic", "ease"], "at least two contenders"),
        (["synthetic", "ease", "esae"], "esae"),
        (["synthetic", "ease", "vbcar"], "no baskets (a column 'basket'), which vbcar learns from"),
        (["synthetic", "ease", "item-knn:neighbours=x"], "neighbours"),
        (["nowhere", "ease", "popular"], "nowhere"),
        (["synthetic", "ease", "popular", "--orders", "5"], "--orders"),
    ],
)
def test_bad_contenders_are_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["select", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_run_by_which_a_selection_goes_on_waits_no_longer_once_that_is_decided(
    store: Store,
) -> None:
    """As `ecv resume` does: its program was killed after its fold, before it could say so."""
    go(store, begin(store, specs("popular", "ease"), TERMS))
    popular = next(run for run in store.runs() if run.spec.algorithm == "popular")
    assert store.requeue(popular.run_id, popular.spec, owner=this_process())
    plan, plan_runs = plan_of(store, store.run(popular.run_id), Callbacks())
    drive(plan, plan_runs, Here(computing(apart)))
    assert {run.state for run in store.runs()} == {RunState.FINISHED}


def test_two_programs_that_go_on_with_a_selection_make_one_run_of_each_contender(
    store: Store,
) -> None:
    record = stored_plan(store, SELECTION, begin(store, specs("popular", "ease"), TERMS))
    plan_runs = [selection_runs(store, record) for _ in range(2)]
    (task, *_) = SelectPlan.of(record).next(plan_runs[0], ())
    assert [runs_of_program.claim(task) for runs_of_program in plan_runs] == [True, False]
    assert len(store.runs()) == 1
