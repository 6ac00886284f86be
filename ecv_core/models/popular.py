"""Popularity: every user gets the items with most training interactions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models.base import Algorithm
from ecv_core.records.run import Progress, no_progress


class Popular:
    """Scores an item by its number of training interactions, the same for every user."""

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        counts = np.bincount(train.indices, minlength=train.shape[1])
        self._scores = counts.astype(np.float32)  # exact: no item has 2^24 users here
        progress("fit", 1, 1)

    def score(self, users: NDArray[np.intp]) -> NDArray[np.float32]:
        return np.tile(self._scores, (len(users), 1))


POPULAR = Algorithm(
    id="popular",
    title="Popularity",
    summary=(
        "Recommends the items with most training interactions to everyone. "
        "Costs next to nothing; the baseline that any personal model has to beat."
    ),
    paper="Cremonesi, Koren, Turrin (2010): Performance of recommender algorithms on top-N tasks",
    parameters=(),
    build=lambda _: Popular(),
    random=False,
    with_torch=False,
)
