"""A dataset -> what a task splits into folds: implicit and 5-core, ratings as given, or samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from ecv_core.dataset.array_file import read_or_make
from ecv_core.dataset.entries import DatasetEntry, entry
from ecv_core.dataset.folders import cache_dir
from ecv_core.dataset.loading import load_source
from ecv_core.dataset.pruning import CORE, WITHOUT_PRUNING, prepare
from ecv_core.dataset.rating_scale import scale_of
from ecv_core.dataset.sources import Source, source_of
from ecv_core.dataset.tables import read_table
from ecv_core.records.interactions import Interactions
from ecv_core.records.tasks import Task


def prepared(dataset_id: str) -> Interactions:
    """A dataset ready to be ranked: implicit, 5-core; kept on disk and in memory by its content.

    Raises:
        DatasetError: If it is not on disk, damaged, or not what the catalogue promises.
    """
    return for_task(entry(dataset_id), Task.TOP_N)


def for_task(dataset: DatasetEntry, task: Task) -> Interactions:
    """A dataset as the task needs it, kept in memory by its content.

    Raises:
        DatasetError: If it is not on disk, damaged, or cannot serve.
    """
    source = source_of(dataset)
    return _load_for_task(_KeyedSource(key=source.key, task=task, source=source))


def filtering_words(dataset: DatasetEntry, task: Task) -> str:
    """In words, what `for_task` makes of the rows of a dataset."""
    if task.of_table:
        return f"{dataset.target} is predicted for every row"
    if task.ranks:
        return (
            "every interaction counts as positive feedback; of repeated interactions of a user "
            f"with an item, the earliest is kept; users and items with fewer than {CORE} "
            f"interactions are removed until none is left ({CORE}-core)"
        )
    return (
        "ratings are used unchanged; of repeated ratings of an item by a user, the earliest is "
        "kept; no user or item is removed"
    )


@dataclass(frozen=True, kw_only=True)
class _KeyedSource:
    """A source and a task, equal to another of the same content and task, whatever its entry."""

    key: str
    """Of its content, see `Source.key`."""
    task: Task
    source: Source = field(compare=False)


@lru_cache(maxsize=4)
def _load_for_task(keyed: _KeyedSource) -> Interactions:
    dataset = keyed.source.dataset
    if keyed.task.of_table:
        return read_table(keyed.source)
    if keyed.task.ranks:
        # Every interaction counts as positive feedback, whatever its rating: ratings, timestamps,
        # baskets and sequence travel along for splits and exports, and no model sees them.
        interactions = _load_k_core(keyed.source, f"{keyed.key}-{CORE}core", CORE)
    else:
        interactions = _load_k_core(keyed.source, f"{keyed.key}-ratings", WITHOUT_PRUNING)
        # This is called only for its check. It refuses data without ratings, or with some beyond
        # the scale.
        scale_of(interactions, dataset.scale)
    dataset.check_counts(keyed.task, interactions)
    return interactions


def _load_k_core(source: Source, key: str, core: int) -> Interactions:
    """The k-core of a dataset, kept on disk under this key where the data are not in memory."""

    def make() -> Interactions:
        return prepare(load_source(source), core)

    if source.dataset.in_memory is not None:
        return make()
    return read_or_make(key, cache_dir(), make)
