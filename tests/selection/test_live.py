"""A selection computed fold by fold, with made-up folds: what is run, spared, kept and resumed."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ecv_core.cli import main
from ecv_core.errors import InputError
from ecv_core.records import FoldResult, RunSpec, RunState, UserScores
from ecv_core.runner import InProcess, execute, this_process
from ecv_core.selection import Terms
from ecv_core.selection.live import Live, advance, begin, go_on_after, look
from ecv_core.selection.names import parse_contender
from ecv_core.selection.sharing import queued_together
from ecv_core.spec import make_spec
from ecv_core.store import Store, open_store
from tests.jobs import fold_result

MEANS = {"popular": 0.1, "item-knn": 0.5, "user-knn": 0.45, "ease": 0.9}
USERS = np.arange(40, dtype=np.int32)


def job(database_url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
    """The mean that the algorithm has here, with a spread over users that all share."""
    noise = np.random.default_rng([index, len(spec.algorithm)]).normal(0, 0.002, len(USERS))
    values = (MEANS[spec.algorithm] + np.sin(USERS) / 10 + noise).astype(np.float32)
    scores = UserScores(users=USERS, metrics=("ndcg@10",), values=values[:, None])
    return replace(fold_result(index, float(values.mean())), user_scores=scores)


@pytest.fixture
def store() -> Store:
    return open_store()


def specs(*algorithms: str) -> list[tuple[str, RunSpec]]:
    return [(one, make_spec(dataset="synthetic", algorithm=one)) for one in algorithms]


def compute(store: Store, selection_id: str, job: Callable = job, most: int = 100) -> Live:
    """Go on until it is decided, or `most` folds have been computed."""
    while most and (run_id := advance(store, selection_id, owner=this_process())) is not None:
        execute(store, run_id, InProcess(), job=job)
        most -= 1
    return look(store, selection_id)


def test_each_contender_runs_only_the_folds_it_needs(store: Store) -> None:
    selection_id = begin(store, specs("popular", "item-knn", "ease"), Terms(k=10))
    found = compute(store, selection_id)
    assert found.decided
    assert found.folds == (1, 1, 1)
    assert [run.spec.only_folds for run in store.runs()] == [(0,), (0,), (0,)]
    assert found.joules == 30
    assert found.joules_expected == 300
    said = found.sentence(["Popularity", "ItemKNN", "EASE"], "Synthetic")
    assert said.startswith(
        "EASE is best on Synthetic: decided after 1 fold each, 10 % of the energy; ItemKNN"
    )


def test_the_next_fold_is_the_one_the_round_lacks(store: Store) -> None:
    selection_id = begin(store, specs("item-knn", "user-knn"), Terms(k=10))
    assert look(store, selection_id).needed == (0, 0)
    assert compute(store, selection_id, most=1).needed == (1, 0)
    before = look(store, selection_id)
    assert before.played is None
    assert before.sentence(["a", "b"]) == "Every contender needs its first fold: 1 of 2 ran."


def test_nothing_is_queued_twice_while_a_fold_is_going(store: Store) -> None:
    selection_id = begin(store, specs("item-knn", "user-knn"), Terms(k=10))
    assert advance(store, selection_id, owner="me") is not None
    assert advance(store, selection_id, owner="me") is None
    assert look(store, selection_id).going


def test_contenders_that_share_work_are_queued_together(store: Store) -> None:
    grid = [("item-knn", {"neighbours": 10}), ("ease", {}), ("item-knn", {"neighbours": 20})]
    named = [
        (f"{name}{params}", make_spec(dataset="synthetic", algorithm=name, params=params))
        for name, params in grid
    ]
    selection_id = begin(store, named, Terms(k=10))
    first = advance(store, selection_id, owner="me", share=True)
    assert first is not None
    together = queued_together(store, first)
    assert together[0] == first
    assert [dict(store.run(one).spec.params)["neighbours"] for one in together] == [10, 20]
    assert {store.run(one).spec.only_folds for one in together} == {(0,)}
    assert len(store.runs()) == 2
    store.finish(together[1], RunState.CANCELLED)
    assert queued_together(store, first) == [first]


def test_folds_that_are_there_are_not_computed_again(store: Store) -> None:
    whole = make_spec(dataset="synthetic", algorithm="ease", rule="never")
    execute(store, store.create([whole], owner=this_process())[0], InProcess(), job=job)
    selection_id = begin(store, specs("popular", "ease"), Terms(k=10), known=store.runs())
    found = compute(store, selection_id)
    assert found.decided
    assert sorted(run.spec.algorithm for run in store.runs()) == ["ease", "popular"]


def test_a_failed_fold_is_the_only_one_lost(store: Store) -> None:
    def breaks(url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
        if spec.algorithm == "user-knn":
            raise MemoryError
        return job(url, run_id, spec, index)

    selection_id = begin(store, specs("item-knn", "user-knn", "ease"), Terms(k=10))
    stuck = compute(store, selection_id, breaks, most=2)
    assert stuck.run is not None
    assert stuck.run.state is RunState.FAILED
    assert "memory ran out" in (stuck.run.error or "")
    assert not go_on_after(store, stuck.run.run_id, owner="me")
    resumed = compute(store, selection_id)
    assert resumed.decided
    assert resumed.folds == (1, 1, 1)
    assert len(store.runs()) == 3


def test_after_a_fold_the_selection_goes_on_by_itself(store: Store) -> None:
    selection_id = begin(store, specs("item-knn", "ease"), Terms(k=10))
    run_id = advance(store, selection_id, owner=this_process())
    assert run_id is not None
    execute(store, run_id, InProcess(), job=job)
    assert go_on_after(store, run_id, owner=this_process())
    assert look(store, selection_id).run.spec.algorithm == "ease"  # type: ignore[union-attr]


def test_cancelled_in_the_middle_it_says_what_is_known(store: Store) -> None:
    def close(url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
        values = np.random.default_rng([index, len(spec.algorithm)]).random(40)
        scores = UserScores(
            users=USERS, metrics=("ndcg@10",), values=values.astype(np.float32)[:, None]
        )
        return replace(fold_result(index, float(values.mean())), user_scores=scores)

    selection_id = begin(store, specs("item-knn", "ease"), Terms(k=10))
    found = compute(store, selection_id, close, most=4)
    assert not found.decided
    assert found.played is not None
    assert len(found.played.rounds) == 2
    gap = next(iter(found.played.rounds[-1].gaps.values()))
    assert gap.low < 0 < gap.high
    assert "leads after 2 folds; 1 other can still win." in found.sentence(["ItemKNN", "EASE"])


def test_contenders_that_share_no_folds_are_refused(store: Store) -> None:
    one = specs("ease")
    other = [("other", make_spec(dataset="synthetic", algorithm="popular", seed=7))]
    with pytest.raises(InputError, match="'other' and 'ease' do not share"):
        begin(store, one + other, Terms(k=10))
    with pytest.raises(InputError, match="at least two contenders, but has 1"):
        begin(store, one, Terms(k=10))
    with pytest.raises(InputError, match="'ease' is there twice"):
        begin(store, one + one, Terms(k=10))
    with pytest.raises(InputError, match="same algorithm with the same parameters"):
        begin(store, [*one, ("again", one[0][1])], Terms(k=10))


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
    with pytest.raises(InputError, match="has 'fifty', which is no name=value"):
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
