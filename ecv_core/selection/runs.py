"""Runs, recorded or in the database -> the contenders of a selection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ecv_core import models
from ecv_core.records import FoldResult, Run, RunSpec, UserScores
from ecv_core.runs.recorded import recorded_runs, recorded_user_scores
from ecv_core.selection.contenders import Contender, contender_of


def recorded_contenders(folder: Path | None = None) -> dict[str, list[Contender]]:
    """Dataset -> its recorded runs as contenders; only datasets with at least two of them.

    Args:
        folder: of recorded runs; by default the project's.
    Raises: InputError for a damaged file.
    """
    by_dataset: defaultdict[str, list[Run]] = defaultdict(list)
    for run in recorded_runs(folder):
        by_dataset[run.spec.dataset].append(run)
    return {
        dataset: contenders_of(runs, folder)
        for dataset, runs in by_dataset.items()
        if len(runs) > 1
    }


def contenders_of(
    runs: Sequence[Run],
    folder: Path | None = None,
    user_scores: Callable[[Run], dict[int, UserScores]] | None = None,
) -> list[Contender]:
    """Runs of one dataset, split and metric, as contenders named by their algorithm.

    Args:
        runs: each of another algorithm.
        folder: of recorded runs; by default the project's.
        user_scores: of a run; by default those in the folder.
    """
    scores_of = user_scores or (lambda run: recorded_user_scores(run, folder))
    return _contenders([(run.spec.algorithm, run.spec, run.folds, scores_of(run)) for run in runs])


def _contenders(
    found: Sequence[tuple[str, RunSpec, Sequence[FoldResult], Mapping[int, UserScores]]],
) -> list[Contender]:
    """Name, spec, folds and per-user scores of each -> contenders over the same users."""
    seen = [one.users for *_, users in found for one in users.values()]
    everybody = np.unique(np.concatenate(seen)) if seen else np.empty(0, dtype=np.int32)
    return [
        contender_of(
            name,
            folds,
            users,
            everybody,
            k=spec.k,
            metric=spec.metric_name,
            random=models.of(spec).random,
        )
        for name, spec, folds, users in found
    ]
