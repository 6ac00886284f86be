"""Jobs for runner tests, in a module that a worker process can import."""

import os
import time
from pathlib import Path

from ecv_core.records import Energy, FoldResult, RunSpec

SCORES = (0.30, 0.34, 0.31, 0.33, 0.32)
"""Fold scores of every fake run."""


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
    """Fold 0 is quick; the others take far longer than any test waits."""
    if index:
        time.sleep(60)
    return fold_result(index, SCORES[index])


def suicidal(database_url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
    """Fold 1 is killed, once: as when memory runs out."""
    mark = Path(database_url.removeprefix("sqlite:///")).with_name(f"{run_id}.died")
    if index == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), 9)
    return fold_result(index, SCORES[index])


def unpicklable_error(database_url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
    raise KeyError(lambda: None)
