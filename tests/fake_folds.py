"""Folds that cost nothing, in a module that a worker process can import."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil

from ecv_core.jobs.executors import Compute, Results
from ecv_core.records.run import Energy, FoldResult, Progress, UserScores
from ecv_core.records.spec import RunSpec

SCORES = (0.30, 0.34, 0.31, 0.33, 0.32)
"""Fold scores of every fake run."""
FAR_TOO_LONG = 3600
"""Seconds that nobody waits for."""
ASLEEP = "asleep"
"""The phase of a fold that takes so long."""


class FakeMeter:
    """Hands out the energies that it was given, in turn, then none."""

    def __init__(self, energies: Sequence[Energy] = ()) -> None:
        self._energies = list(energies)

    def start(self) -> None:
        pass

    def stop(self) -> Energy:
        return self._energies.pop(0) if self._energies else Energy.none()


def fold_result(fold: int, score: float) -> FoldResult:
    return FoldResult(
        fold=fold,
        score=score,
        metrics={"ndcg@10": score},
        users=7,
        fit_seconds=0.5,
        evaluate_seconds=0.25,
        total_seconds=0.8,
        energy=Energy(
            joules=10, cpu_joules=6, gpu_joules=0, ram_joules=4, grams_co2e=0.001, source="cpu-load"
        ),
    )


def users_result(
    fold: int, values: np.ndarray, metrics: Sequence[str] = ("ndcg@10",)
) -> FoldResult:
    """A fold with scores of users 0, 1, ...; shape (users, metrics). Its own are their means."""
    values = values.astype(np.float32)
    means = {name: float(values[:, place].mean()) for place, name in enumerate(metrics)}
    scores = UserScores(
        users=np.arange(len(values), dtype=np.int32), metrics=tuple(metrics), values=values
    )
    result = fold_result(fold, means[metrics[0]])
    return replace(result, metrics=means, users=len(values), user_scores=scores)


def computing(fold: Callable[[RunSpec, int], FoldResult]) -> Compute:
    """What an executor does with a task, where this is done with each of its specs."""

    def compute(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
        for place, spec in enumerate(specs):
            yield place, fold(spec, index)

    return compute


def quick(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    for place in range(len(specs)):
        yield place, fold_result(index, SCORES[index])


def niceness(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """The score is how much of a processor the worker leaves to others."""
    yield 0, fold_result(index, float(psutil.Process().nice()))


def sleepy(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """Fold 0 is quick; the others take far longer than any test waits, and say that they began."""
    if index:
        progress(ASLEEP, 0, 0)
        time.sleep(FAR_TOO_LONG)
    yield 0, fold_result(index, SCORES[index])


def suicidal(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """Fold 1 is killed as often as ECV_TEST_DEATHS says: as when memory runs out."""
    mark = Path(os.environ["ECV_DATABASE_URL"].removeprefix("sqlite:///")).with_name("deaths")
    deaths = len(mark.read_text()) if mark.exists() else 0
    if index == 1 and deaths < int(os.environ["ECV_TEST_DEATHS"]):
        mark.write_text("x" * (deaths + 1))
        os.kill(os.getpid(), 9)
    yield 0, fold_result(index, SCORES[index])


def late(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """A second passes before it begins, as where a worker starts, or waits for the machine."""
    progress("wait for another program's fold", 0, 0)
    time.sleep(1.0)
    progress("load", 0, 0)
    yield 0, fold_result(index, SCORES[index])


def shared(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """A score says how many are computed together. Fold 2 takes longer than any test waits."""
    for place in reversed(range(len(specs))):
        yield place, fold_result(index, float(len(specs)))
    if index == 2:
        progress(ASLEEP, 0, 0)
        time.sleep(FAR_TOO_LONG)


def unpicklable_error(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    raise KeyError(lambda: None)
    yield
