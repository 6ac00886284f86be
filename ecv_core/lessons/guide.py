"""Recorded runs -> the one run that the chapters follow, and its scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import InputError
from ecv_core.records.run import Run
from ecv_core.store.recorded import recorded_runs

GUIDE = ("hetrec-lastfm", "user-knn")
"""Its fold scores differ enough to be seen from the last row."""
CONFIDENCE = 0.95


def complete_runs() -> list[Run]:
    """The recorded runs of which every fold is in, ordered by name.

    Raises: InputError if there is none, or for a damaged file.
    """
    runs = [run for run in recorded_runs() if run.whole and run.k >= 4]
    if not runs:
        raise InputError(
            "no recorded run came with this copy, and this chapter is told with one; restore "
            "data/recorded, or record runs with: python -m ecv_core study --folder data/recorded"
        )
    return runs


def guide_run(runs: Sequence[Run]) -> Run:
    """The run GUIDE; the first one where it is missing."""
    for run in runs:
        if (run.spec.dataset, run.spec.algorithm) == GUIDE:
            return run
    return runs[0]


def scores_of(run: Run) -> NDArray[np.float64]:
    """The fold scores by fold index; shape (k,)."""
    return np.array([fold.score for fold in run.folds_in_order])
