"""Recorded runs -> the contenders of a selection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from ecv_core.analysis.selection.contenders import aligned
from ecv_core.records.run import Run, Scores
from ecv_core.store.recorded import recorded_runs
from ecv_core.store.results import Results


def recorded_contenders() -> dict[str, list[Scores]]:
    """Dataset -> its recorded runs as contenders; only datasets with at least two of them.

    Raises: InputError for a damaged file.
    """
    by_dataset: defaultdict[str, list[Run]] = defaultdict(list)
    for run in recorded_runs():
        by_dataset[run.spec.dataset].append(run)
    results = Results(None)
    return {
        dataset: contenders_of(runs, results)
        for dataset, runs in by_dataset.items()
        if len(runs) > 1
    }


def contenders_of(runs: Sequence[Run], results: Results) -> list[Scores]:
    """Runs of one dataset, split and metric, as contenders named by their algorithm.

    Args:
        runs: each of another algorithm.
        results: where users' scores are.
    """
    return aligned([replace(results.scores(run), name=run.spec.algorithm) for run in runs])
