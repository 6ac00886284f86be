"""The folds of a run: its data as its task needs them, how they are dealt, files of folds.

What computes a fold is in `fold.computing`.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ecv_core.untrusted.bounded as bounded
from ecv_core import dataset as datasets
from ecv_core import splits, stopping
from ecv_core.dataset import DatasetEntry
from ecv_core.dataset.preparation import filtering_words, for_task
from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Folds, Interactions, Need
from ecv_core.records.parameters import Params
from ecv_core.records.spec import RunSpec
from ecv_core.records.tasks import Task


def entry_of(spec: RunSpec) -> DatasetEntry:
    """The dataset of a run.

    Raises:
        DatasetError: For data of one's own that is gone, or not what it was when the run was made;
            UnknownName.
    """
    datasets.check_content(spec.dataset, spec.data_sha256)
    return datasets.entry(spec.dataset)


def data_of(spec: RunSpec) -> Interactions:
    """What a run splits into folds: a dataset as its task needs it.

    Raises:
        DatasetError; also for data of one's own that is not what it was when the run was made.
    """
    return for_task(entry_of(spec), spec.task)


def check_needs(spec: RunSpec) -> None:
    """Refuse a dataset without what the algorithm learns from, before anything is computed.

    Reads the data only where the algorithm needs more than who interacted with what.

    Raises:
        DatasetError: For the dataset, or if it is not on disk.
        InputError: For a tracked run.
    """
    from ecv_core import evaluation, models

    algorithms = [models.computing(spec)]
    # Cheap models run on the same folds, as their scores adjust the mean of the run.
    for name in stopping.cheap_model_ids(spec):
        algorithms.append(models.algorithm(name))
    for algorithm in algorithms:
        # All data tell who interacted with what, so they need not be read for an algorithm that
        # ranks by that alone. Ratings, targets and features are not in all data.
        learns_from_interactions_alone = spec.task.ranks and algorithm.needs is Need.NOTHING
        if not learns_from_interactions_alone:
            algorithm.check(data_of(spec))
    metric = evaluation.metric_of(spec)
    if metric.needs_ratings:
        data = data_of(spec)
        evaluation.check_gains(metric, data.dataset, has_ratings=data.ratings is not None)


def check_data(spec: RunSpec) -> None:
    """Refuse data that a run cannot do with: bad input, and not a run that fails.

    Raises:
        DatasetError: For data that cannot be read.
        FoldsError: For data that cannot be split so; as `check_needs`.
    """
    data_of(spec)
    check_needs(spec)
    folds_of(spec)


def folds_folder() -> Path:
    """Where imported fold files are kept, each under the hash of its content."""
    return datasets.data_dir() / "folds"


class ImportedFolds(NamedTuple):
    """A fold file of which a copy is kept."""

    sha256: str
    k: int


def import_folds(
    dataset: str, path_or_sha256: str | Path, task: Task = Task.TOP_N
) -> ImportedFolds:
    """Check a fold file or a split archive against a dataset, as its task needs it; keep a copy.

    Args:
        dataset: Its id.
        path_or_sha256: Where the file is, or the hash of one that was imported before.
        task: The task of the runs that are to have these folds.

    Raises:
        FoldsError: If the file does not fit the dataset.
    """
    # The module loads pyarrow, which takes a while, so it is imported only here.
    from ecv_core.splits import exchange

    path = Path(path_or_sha256)
    if not path.exists() and re.fullmatch("[0-9a-f]{64}", str(path)):
        path = exchange.stored_folds_path(folds_folder(), str(path))
    entry = datasets.entry(dataset)
    # Loaded first, the data do not count as memory that reading the file takes.
    load_data = partial(for_task, entry, task)
    return bounded.read(_read_and_keep, path, entry, task, error=FoldsError, load_first=load_data)


def _read_and_keep(path: Path, entry: DatasetEntry, task: Task) -> ImportedFolds:
    from ecv_core.splits import exchange

    folds = exchange.read_split(path, for_task(entry, task))
    return ImportedFolds(exchange.store_folds(path, folds_folder()), folds.k)


def export_folds(spec: RunSpec, path: Path) -> None:
    """Write a run's folds as `user_id,item_id,fold`, so that others can use the very same ones."""
    from ecv_core.splits import exchange

    data = data_of(spec)
    exchange.write_folds(path, data, folds_of_data(data, spec))


def split_archive(spec: RunSpec) -> bytes:
    """A run's split as a ZIP archive for others, with a README; see `exchange.split_archive`."""
    from ecv_core.splits import exchange

    data = data_of(spec)
    return exchange.split_archive(data, folds_of_data(data, spec), facts=_dataset_facts(spec))


def _dataset_facts(spec: RunSpec) -> list[tuple[str, str]]:
    """What others must know of the data, for the README of an exported split."""
    entry = datasets.entry(spec.dataset)
    facts = [
        ("Title", entry.title),
        ("Please cite", entry.citation),
        ("Licence of the data", entry.licence),
        ("Where from", entry.homepage),
        ("Filtering", filtering_words(entry, spec.task)),
    ]
    if spec.folds_sha256:
        facts.append(("Split file", f"SHA-256 {spec.folds_sha256}"))
    return [(name, text) for name, text in facts if text]


def folds_of(spec: RunSpec) -> Folds:
    """The folds of a run, the same for the same spec.

    Raises:
        FoldsError: If the data cannot be split so.
    """
    return folds_of_data(data_of(spec), spec)


def folds_of_data(data: Interactions, spec: RunSpec) -> Folds:
    """As `folds_of`, of data that `data_of` has given. Raises: FoldsError."""
    if spec.folds_sha256 is None:
        return _split(data, spec.split, spec.k, spec.seed, spec.split_params)
    return _read_folds(data, spec.folds_sha256, spec.k)


@lru_cache(maxsize=2)
def _split(data: Interactions, split: str, k: int, seed: int, params: Params) -> Folds:
    return splits.split(data, split, k, seed, dict(params))


@lru_cache(maxsize=2)
def _read_folds(data: Interactions, file_sha256: str, k: int) -> Folds:
    from ecv_core.splits import exchange

    folds = exchange.read_split(exchange.stored_folds_path(folds_folder(), file_sha256), data)
    if folds.k != k:
        raise FoldsError(f"the fold file has {folds.k} folds, but the run asks for {k}")
    return folds


def fold_seed(seed: int, index: int) -> int:
    """The seed of a fold's model: differs from fold to fold, always the same for the same fold."""
    return int(np.random.SeedSequence([seed, index]).generate_state(1)[0])
