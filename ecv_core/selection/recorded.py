"""The recorded study -> the contenders of each of its datasets."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from ecv_core import models
from ecv_core.records import Run
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


def contenders_of(runs: list[Run], folder: Path | None = None) -> list[Contender]:
    """Recorded runs of one dataset, split and metric, as contenders named by their algorithm."""
    users = [recorded_user_scores(run.run_id, folder) for run in runs]
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
