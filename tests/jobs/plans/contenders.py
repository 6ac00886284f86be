"""Made-up folds of a selection, in a module that a worker process imports at once."""

import time
from collections.abc import Sequence

import numpy as np

from ecv_core.jobs.executors import Results
from ecv_core.records.run import FoldResult, Progress
from ecv_core.records.spec import RunSpec
from tests.fake_folds import ASLEEP, FAR_TOO_LONG, computing, users_result

MEANS = {"popular": 0.1, "item-knn": 0.5, "user-knn": 0.45, "ease": 0.9}
USERS = np.arange(40, dtype=np.int32)


def of_users(index: int, values: np.ndarray) -> FoldResult:
    return users_result(index, values[:, None])


def apart(spec: RunSpec, index: int) -> FoldResult:
    """The mean that the algorithm has here, with a spread over users that all share."""
    noise = np.random.default_rng([index, len(spec.algorithm)]).normal(0, 0.002, len(USERS))
    return of_users(index, MEANS[spec.algorithm] + np.sin(USERS) / 10 + noise)


def close(spec: RunSpec, index: int) -> FoldResult:
    """Nobody is better than another."""
    return of_users(index, np.random.default_rng([index, len(spec.algorithm)]).random(40))


def apart_in_a_worker(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    yield from computing(apart)(specs, index, progress)


def close_in_a_worker(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """From fold 2 on it takes far longer than any test waits."""
    if index == 2:
        progress(ASLEEP, 0, 0)
        time.sleep(FAR_TOO_LONG)
    yield from computing(close)(specs, index, progress)


def grid_in_a_worker(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """In fold 1 all but the first result take far longer than any test waits."""
    for place, spec in enumerate(specs):
        draw = np.random.default_rng([index, dict(spec.params)["neighbours"]])
        yield place, of_users(index, draw.random(40))
        if index == 1:
            progress(ASLEEP, 0, 0)
            time.sleep(FAR_TOO_LONG)
