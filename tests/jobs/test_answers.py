"""A node that answers with what cannot be a fold: each lie is named, and no fold is tried for ever.

The true answer is fold 1 of `popular` on synthetic, scored 0.34 by three users: 0.28, 0.34, 0.40.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecv_core.jobs.cluster.node import packed_answer, read_answer
from ecv_core.jobs.driver import TRIES, drive
from ecv_core.jobs.executors import Begun, Computed, Ended, Finished, WorkerDied, WrongAnswer
from ecv_core.jobs.plan import FoldTask
from ecv_core.jobs.plan_runs import PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.records.errors import EcvError, RunError
from ecv_core.records.run import FoldResult, Node, Progress, RunState, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.store.store import Store, open_store
from tests.fake_folds import SCORES, fold_result

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")
LIED = 1
"""The fold that comes back wrong."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """One database will do: nothing here depends on which it is."""
    return open_store(f"sqlite:///{tmp_path / 'runs.sqlite'}")


def true_result(fold: int) -> FoldResult:
    """A fold whose three users have scores around its own."""
    score = SCORES[fold]
    users = UserScores(
        users=np.arange(3, dtype=np.int32),
        metrics=("ndcg@10",),
        values=np.array([[score - 0.06], [score], [score + 0.06]], dtype=np.float32),
    )
    return replace(fold_result(fold, score), users=3, user_scores=users)


TRUE = true_result(LIED)
USERS = TRUE.user_scores
assert USERS is not None


class Liar:
    """A node called n7 that computes every fold but one as it should."""

    capacity = 1

    def __init__(self, answers: list[tuple[Any, Any]], ending: Exception | None = None) -> None:
        """Args: answers: what it says of the fold, each a place and a result; and how it ends."""
        self.computed: list[int] = []
        self._answers = answers
        self._ending = ending
        self._submitted_tasks: list[FoldTask] = []

    def submit(self, task: FoldTask, progress: Progress) -> None:
        self._submitted_tasks.append(task)

    def finished(self, seconds: float) -> Finished:
        task = self._submitted_tasks.pop()
        self.computed.append(task.fold)
        yield Begun(task=task, node="n7")
        if task.fold != LIED:
            yield Computed(task=task, spec_index=0, result=true_result(task.fold))
            yield Ended(task=task)
            return
        for spec_index, result in self._answers:
            yield Computed(task=task, spec_index=spec_index, result=result)
        yield Ended(task=task, error=self._ending)

    def cancel(self, task: FoldTask) -> None:
        """What it does is over."""

    def close(self) -> None:
        pass


def told(**changes: Any) -> list[tuple[Any, Any]]:
    """The true answer, but for these fields of it."""
    return [(0, replace(TRUE, **changes))]


def metered(**changes: Any) -> list[tuple[Any, Any]]:
    """Likewise, of its energy."""
    return told(energy=replace(TRUE.energy, **changes))


def scored(**changes: Any) -> list[tuple[Any, Any]]:
    """Likewise, of its users' scores."""
    return told(user_scores=replace(USERS, **changes))


def on_host(host: str) -> list[tuple[Any, Any]]:
    """Likewise, of the machine that has computed it."""
    return told(node=Node(host=host, hardware="a machine", began_at="2026-03-04T05:06:07+00:00"))


LIES: dict[str, tuple[list[tuple[Any, Any]], str]] = {
    "no folds": ([], "1 of its 1 results are missing"),
    "another fold": (told(fold=3), "it names fold 3"),
    "a fold that is none": (told(fold="1"), "it names fold '1'"),
    "another place": ([(4, TRUE)], "it names configuration 4"),
    "no place": ([(None, TRUE)], "it names configuration None"),
    "a text": ([(0, "0.34")], "it is of the type str"),
    "nothing": ([(0, None)], "it is of the type NoneType"),
    "no number": (told(score=float("nan")), "its score must be at most 1e+30, but is nan"),
    "no end": (told(score=float("inf")), "its score must be at most 1e+30, but is inf"),
    "a metric without end": (told(metrics={"ndcg@10": float("inf")}), "metrics"),
    "no score of its metric": (told(metrics={"recall@10": 0.34}), "is not its ndcg@10"),
    "another score": (told(score=0.9), "the score of fold 1 is not its ndcg@10"),
    "a score as text": (told(score="0.34"), "score must be a finite number"),
    "time that ran back": (told(total_seconds=-1.0), "total"),
    "a hundred years": (told(fit_seconds=3.2e9), "s, which is more than a year"),
    "energy from nothing": (metered(joules=-5.0), "joules"),
    "a power station": (metered(joules=1e14), "J, which is more than a machine draws"),
    "a meter that is none": (metered(source="guess"), "no source of energy is called 'guess'"),
    "a host that rings": (on_host("n7\x1b[2J\x07"), "its host must be a line of text"),
    "other users' scores": (
        scored(values=np.array([[0.9], [0.9], [0.9]], dtype=np.float32)),
        "its ndcg@10 is 0.34, and the mean of its users' scores 0.9",
    ),
    "too few users": (scored(users=np.arange(2, dtype=np.int32)), "shape (2,) instead of (3,)"),
    "a user twice": (scored(users=np.zeros(3, dtype=np.int32)), "do not name each user once"),
    "scores of another shape": (scored(metrics=("ndcg@10", "x")), "shape (3, 1) instead of (3, 2)"),
    "scores as texts": (scored(values=np.array([["a"], ["b"], ["c"]])), "are not numbers"),
}


@pytest.mark.parametrize("lie", LIES)
def test_every_lie_of_a_node_is_named_and_its_fold_is_computed_three_times(
    store: Store, lie: str
) -> None:
    answers, sentence = LIES[lie]
    liar = Liar(answers)
    drive(RunPlan(SPEC), PlanRuns(store), liar)
    (run,) = store.runs()
    assert liar.computed.count(LIED) == TRIES == 3
    assert run.state is RunState.INTERRUPTED
    assert run.error is not None
    assert sentence in run.error
    assert "the answer of the node n7" in run.error
    assert run.error.isprintable()
    assert [fold.fold for fold in run.folds] == [0]


def test_a_true_answer_with_its_users_is_kept(store: Store) -> None:
    drive(RunPlan(SPEC), PlanRuns(store), Liar([(0, TRUE)]))
    (run,) = store.runs()
    assert run.state is RunState.FINISHED
    assert [fold.score for fold in run.folds] == list(SCORES)


def test_lies_and_deaths_of_a_fold_count_together(store: Store) -> None:
    class Worse(Liar):
        def finished(self, seconds: float) -> Finished:
            for message in super().finished(seconds):
                if isinstance(message, Ended) and self.computed.count(LIED) == 2:
                    message = replace(message, error=WorkerDied("signal 9"))
                yield message

    liar = Worse([])
    drive(RunPlan(SPEC), PlanRuns(store), liar)
    assert liar.computed.count(LIED) == 3


def test_after_two_lies_a_true_answer_goes_on(store: Store) -> None:
    class Better(Liar):
        def finished(self, seconds: float) -> Finished:
            if self.computed.count(LIED) == 2:
                self._answers = [(0, TRUE)]
            yield from super().finished(seconds)

    liar = Better([])
    drive(RunPlan(SPEC), PlanRuns(store), liar)
    (run,) = store.runs()
    assert (run.state, run.error) == (RunState.FINISHED, None)
    assert liar.computed == [0, 1, 1, 1, 2, 3, 4]


def test_what_comes_twice_is_kept_once(store: Store) -> None:
    drive(RunPlan(SPEC), PlanRuns(store), Liar([(0, TRUE), (0, replace(TRUE, users=4))]))
    (run,) = store.runs()
    assert run.state is RunState.FINISHED
    assert [fold.users for fold in run.folds] == [3] * 5


class Stranger(Exception):
    """An exception that is written, and cannot be read again: it needs two arguments."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(f"{what} {code}")


class StrangerOfOurs(EcvError):
    """Likewise, of a plug-in that knows our errors."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(f"{what} {code}")


class Unreadable:
    """An object that is written, and cannot be read again."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return int, ("no number",)


class Exits:
    """An object that ends whoever reads it."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return sys.exit, ("no more",)


class Unwritable:
    """An object that cannot be written."""

    def __reduce__(self) -> tuple[object, ...]:
        raise ZeroDivisionError("by zero")


@pytest.mark.parametrize("stranger", [Stranger, StrangerOfOurs])
def test_an_exception_that_cannot_be_read_elsewhere_arrives_as_its_sentence(stranger) -> None:
    def raises(call: object) -> list[object]:
        raise stranger("the licence server said", 503)

    with pytest.raises(RunError, match="the licence server said 503"):
        read_answer(packed_answer(raises, None), "the node n7")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (pickle.dumps([(0, Unreadable())]), "the answer of the node n7 cannot be read.*ValueError"),
        (pickle.dumps([(0, Exits())]), "the answer of the node n7 cannot be read.*SystemExit"),
        (b"nonsense", "the answer of the node n7 cannot be read"),
        (None, "the node n7 answered with NoneType"),
        (pickle.dumps(None), "the node n7 answered with NoneType"),
        (pickle.dumps([TRUE]), "the node n7 answered with FoldResult, not with a pair"),
        (pickle.dumps([(0, TRUE, 2)]), "the node n7 answered with tuple, not with a pair"),
    ],
)
def test_an_answer_that_cannot_be_read_is_a_wrong_one_of_its_node(answer, sentence: str) -> None:
    with pytest.raises(WrongAnswer, match=sentence):
        read_answer(answer, "the node n7")


def test_an_answer_that_cannot_be_written_is_an_error_and_no_silence() -> None:
    with pytest.raises(RunError, match="ZeroDivisionError: by zero"):
        read_answer(packed_answer(lambda call: [(0, Unwritable())], None), "the node n7")
