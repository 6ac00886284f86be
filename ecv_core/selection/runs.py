"""Runs, recorded or in the database -> the contenders of a selection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ecv_core.evaluation import METRICS
from ecv_core.records import FoldResult, Run, Scores
from ecv_core.runs.recorded import recorded_runs
from ecv_core.runs.scores import scores_of
from ecv_core.selection.contenders import aligned, check_contenders
from ecv_core.store import PlannedContender, Results, SelectionRecord, Store


def recorded_contenders(folder: Path | None = None) -> dict[str, list[Scores]]:
    """Dataset -> its recorded runs as contenders; only datasets with at least two of them.

    Args:
        folder: of recorded runs; by default the project's.
    Raises: InputError for a damaged file.
    """
    by_dataset: defaultdict[str, list[Run]] = defaultdict(list)
    for run in recorded_runs(folder):
        by_dataset[run.spec.dataset].append(run)
    results = Results(None, folder=folder)
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


def stored_contenders(
    store: Store, record: SelectionRecord, runs: Mapping[str, Run]
) -> list[Scores]:
    """The contenders of a selection with the folds that are there, in its order.

    Args:
        store: where it is kept.
        record: the selection.
        runs: by id; of the database, and those outside it whose folds it may use.
    Raises: InputError for contenders that cannot be compared, with the reason.
    """
    results = Results(store)
    contenders = aligned(
        [
            replace(scores_of(one.spec, _folds_of(results, one, runs)), name=one.name)
            for one in record.contenders
        ]
    )
    check_contenders(contenders)
    return contenders


def _folds_of(
    results: Results, planned: PlannedContender, runs: Mapping[str, Run]
) -> list[FoldResult]:
    """All folds of a contender, from its own run and those that were there; each once."""
    folds: dict[int, FoldResult] = {}
    per_user = METRICS[planned.spec.metric].per_user
    for run_id in filter(None, (planned.run_id, *planned.known)):
        if run_id in runs:
            run = results.with_user_scores(runs[run_id]) if per_user else runs[run_id]
            for result in run.folds:
                if result.user_scores is not None or not per_user:
                    folds.setdefault(result.fold, result)
    return list(folds.values())
