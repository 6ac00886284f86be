"""User k-nearest-neighbours: the users most similar to a user vote for their own items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models import training_parameters as common
from ecv_core.models.base import PAPER_COUNTS, Algorithm, with_source
from ecv_core.models.neighbourhood import SHARED_NEIGHBOURS, Closeness, NeighbourModel, cosine
from ecv_core.records.parameters import Parameter

if TYPE_CHECKING:
    import torch

    from ecv_core.models.base import Fitted

DEFAULT_NEIGHBOURS = 100


class UserKNN(NeighbourModel):
    """Cosine user-user neighbourhoods.

    Every user has one set of `neighbours` most similar users; an item's score is the sum of the
    similarities of those who have it. LensKit's UserKNNScorer takes other neighbours for each
    item, the nearest among those who have it, so that rare items are scored by far-off users; that
    ranks worse (benchmarks/README.md), and it scores one user at a time.
    """

    who = "users"
    default_neighbours = DEFAULT_NEIGHBOURS

    def closeness(self, train: csr_array) -> Closeness:
        return cosine(csr_array(train.T.tocsr()), shrink=self.params["shrink"])

    def voting(self, train: csr_array, near: csr_array) -> Fitted:
        return _Votes(train, near)


class _Votes:
    """What voters have, weighted by how similar they are to a user."""

    def __init__(self, train: csr_array, voters: csr_array) -> None:
        self._train = train
        self._voters = voters

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        import torch

        return torch.from_numpy((self._voters[users] @ self._train).toarray())


USER_KNN = Algorithm(
    id="user-knn",
    title="UserKNN",
    summary=(
        "Recommends what the users most similar to a user have (cosine similarity). "
        "Fits in seconds or less, but the work grows with the square of the users."
    ),
    paper="Herlocker, Konstan, Borchers, Riedl (1999): An algorithmic framework for CF",
    parameters=with_source(
        common.SEARCH,
        Parameter(
            "neighbours",
            DEFAULT_NEIGHBOURS,
            "Most similar users who vote for each user.",
            low=1,
            high=100000,
        ),
        Parameter(
            "shrink",
            0.0,
            "Added to the cosine's denominator: distrusts users who share few items.",
            low=0,
            high=1e6,
        ),
    ),
    build=UserKNN,
    sharing=SHARED_NEIGHBOURS,
    random=False,
    spaces={
        "default": {"neighbours": (20, 50, 100, 200, 400)},
        "paper": {"neighbours": PAPER_COUNTS},
    },
    limits=lambda data: {"neighbours": max(data.n_users, DEFAULT_NEIGHBOURS)},
)
