"""User k-nearest-neighbours: the users most similar to a user vote for their own items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models.neighbourhood import check_neighbours, cosine_neighbours
from ecv_core.models.parameters import PAPER_COUNTS, Algorithm, Parameter
from ecv_core.models.shared_neighbours import Nearness, share_counts
from ecv_core.records import ParamValue, Progress, no_progress

if TYPE_CHECKING:
    import torch

DEFAULT_NEIGHBOURS = 100


class UserKNN:
    """Cosine user-user neighbourhoods.

    Every user has one set of `neighbours` most similar users; an item's score is the sum of the
    similarities of those who have it. LensKit's UserKNNScorer takes other neighbours for each
    item, the nearest among those who have it, so that rare items are scored by far-off users; that
    ranks worse (benchmarks/README.md), and it scores one user at a time.
    """

    def __init__(self, *, neighbours: int, shrink: float) -> None:
        self._neighbours = neighbours
        self._shrink = shrink

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        progress("fit", 0, 1)
        check_neighbours(self._neighbours, train.shape[0], "users", DEFAULT_NEIGHBOURS)
        voters = cosine_neighbours(
            csr_array(train.T.tocsr()), neighbours=self._neighbours, shrink=self._shrink
        )
        self._votes = _Votes(train, voters)
        progress("fit", 1, 1)

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        return self._votes.score(users)


class _Votes:
    """What voters have, weighted by how similar they are to a user."""

    def __init__(self, train: csr_array, voters: csr_array) -> None:
        self._train = train
        self._voters = voters

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        import torch

        return torch.from_numpy((self._voters[users] @ self._train).toarray())


def _near(train: csr_array, params: Mapping[str, ParamValue], most: int) -> Nearness:
    check_neighbours(most, train.shape[0], "users", DEFAULT_NEIGHBOURS)
    by_item = csr_array(train.T.tocsr())
    return Nearness.cosine(by_item, shrink=float(params["shrink"]), most=most)


def _voting(train: csr_array, near: Nearness, most: int) -> Callable[[int], _Votes]:
    return lambda count: _Votes(train, near.keep(count))


def build(params: Mapping[str, ParamValue]) -> UserKNN:
    """An unfitted model with these parameters."""
    return UserKNN(neighbours=int(params["neighbours"]), shrink=float(params["shrink"]))


_SEARCH = "own search on inner validation folds, benchmarks/README.md"

USER_KNN = Algorithm(
    id="user-knn",
    title="UserKNN",
    summary=(
        "Recommends what the users most similar to a user have (cosine similarity). "
        "Fits in seconds or less, but the work grows with the square of the users."
    ),
    paper="Herlocker, Konstan, Borchers, Riedl (1999): An algorithmic framework for CF",
    parameters=(
        Parameter(
            name="neighbours",
            default=DEFAULT_NEIGHBOURS,
            low=1,
            high=100000,
            help="Most similar users who vote for each user.",
            source=_SEARCH,
        ),
        Parameter(
            name="shrink",
            default=0.0,
            low=0,
            high=1e6,
            help="Added to the cosine's denominator: distrusts users who share few items.",
            source=_SEARCH,
        ),
    ),
    build=build,
    sharing=share_counts(_near, _voting),
    random=False,
    spaces={
        "default": {"neighbours": (20, 50, 100, 200, 400)},
        "paper": {"neighbours": PAPER_COUNTS},
    },
    limits=lambda data: {"neighbours": max(data.n_users, DEFAULT_NEIGHBOURS)},
)
