"""Jobs for runner tests, in a module that a worker process can import."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from ecv_core.records import Energy, FoldResult, RunSpec

SCORES = (0.30, 0.34, 0.31, 0.33, 0.32)
"""Fold scores of every fake run."""
FAR_TOO_LONG = 3600
"""Seconds that nobody waits for."""


def began(database_url: str, run_id: str) -> Path:
    """The file that is there once a fold of `sleepy` sleeps."""
    return Path(database_url.removeprefix("sqlite:///")).with_name(f"{run_id}.began")


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


def quick(database_url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
    return fold_result(index, SCORES[index])


def sleepy(database_url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
    """Fold 0 is quick; the others take far longer than any test waits, and say that they began."""
    if index:
        began(database_url, run_id).touch()
        time.sleep(FAR_TOO_LONG)
    return fold_result(index, SCORES[index])


def suicidal(database_url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
    """Fold 1 is killed, once: as when memory runs out."""
    mark = Path(database_url.removeprefix("sqlite:///")).with_name(f"{run_id}.died")
    if index == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), 9)
    return fold_result(index, SCORES[index])


def shared(
    database_url: str, run_ids: Sequence[str], specs: Sequence[RunSpec], index: int
) -> Iterator[tuple[int, FoldResult]]:
    """A score says how many are computed together. Fold 2 takes longer than any test waits."""
    for place in reversed(range(len(run_ids))):
        yield place, fold_result(index, float(len(run_ids)))
    if index == 2:
        time.sleep(FAR_TOO_LONG)


def unpicklable_error(database_url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
    raise KeyError(lambda: None)
