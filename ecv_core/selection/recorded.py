"""The recorded study -> the contenders of each of its datasets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ecv_core import models
from ecv_core.records import Run, UserScores
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
    user_scores: Callable[[str], dict[int, UserScores]] | None = None,
) -> list[Contender]:
    """Runs of one dataset, split and metric, as contenders named by their algorithm.

    Args:
        runs: each of another algorithm.
        folder: of recorded runs; by default the project's.
        user_scores: of a run, by its id; by default those in the folder.
    """
    scores_of = user_scores or (lambda run_id: recorded_user_scores(run_id, folder))
    users = [scores_of(run.run_id) for run in runs]
    seen = [one.users for scores in users for one in scores.values()]
    everybody = np.unique(np.concatenate(seen)) if seen else np.empty(0, dtype=np.int32)
    return [
        contender_of(
            run.spec.algorithm,
            run.folds,
            scores,
            everybody,
            k=run.spec.k,
            metric=run.spec.metric_name,
            random=models.algorithm(run.spec.algorithm).random,
        )
        for run, scores in zip(runs, users, strict=True)
    ]
