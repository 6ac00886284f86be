"""A dataset as a task needs it, ready to be split: implicit and 5-core, or ratings as given."""

from __future__ import annotations

from functools import lru_cache

from ecv_core.datasets import prepare
from ecv_core.datasets._catalogue import entry
from ecv_core.datasets._hashing import source_key
from ecv_core.datasets._load import load
from ecv_core.datasets._places import cache_dir
from ecv_core.datasets.rated import scale_of
from ecv_core.records import Interactions, Task

CORE = 5
"""Users and items with fewer interactions are pruned, as in the paper."""


def prepared(dataset: str) -> Interactions:
    """A dataset ready to be split: implicit, 5-core; kept on disk and in memory by its content.

    Raises: DatasetError if it is not on disk, damaged, or not what the catalogue promises.
    """
    return _prepared(dataset, f"{source_key(dataset)}-{CORE}core")


@lru_cache(maxsize=2)
def _prepared(dataset: str, key: str) -> Interactions:
    interactions = _pruned(dataset, key, CORE)
    entry(dataset).check_prepared(interactions)
    return interactions


def ratings(dataset: str) -> Interactions:
    """A dataset with every rating as it is given, no k-core; kept as `prepared` is.

    Raises: DatasetError as `prepared`; or if it has no ratings that could be predicted.
    """
    return _ratings(dataset, f"{source_key(dataset)}-ratings")


@lru_cache(maxsize=2)
def _ratings(dataset: str, key: str) -> Interactions:
    interactions = _pruned(dataset, key, 0)
    known = entry(dataset)
    scale_of(interactions, known.scale)
    known.check_rated(interactions)
    return interactions


def _pruned(dataset: str, key: str, core: int) -> Interactions:
    return prepare.cached(key, cache_dir(), lambda: prepare.prepare(load(dataset), core=core))


def for_task(dataset: str, task: Task) -> Interactions:
    """As the task needs it: `ratings` or `prepared`. Raises: DatasetError as these."""
    return ratings(dataset) if task is Task.RATINGS else prepared(dataset)
