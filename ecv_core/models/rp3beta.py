"""RP3beta: a random walk of three steps over users and items, with popular items held back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models.neighbourhood import check_neighbours, nearest
from ecv_core.models.parameters import Algorithm, Parameter
from ecv_core.models.shared_neighbours import Nearness, share_counts
from ecv_core.models.training_parameters import SEARCH
from ecv_core.models.voting import Voting
from ecv_core.records import ParamValue, Progress, no_progress

if TYPE_CHECKING:
    import torch

DEFAULT_NEIGHBOURS = 200


class RP3Beta:
    """The chance to walk from a user to an item, to another user, to a new item.

    Every step's chance, one over the number of ways there are, is raised to `alpha`, and the
    item reached is divided by its number of users to the `beta`. All three steps from a user are
    the sum, over the user's items i, of the weight from i to j: the sum over the users u of both of
    (1 / items(u))^alpha, times (1 / users(i))^alpha / users(j)^beta. The first step is the same for
    all items of a user, and so left out. Of the weights to an item only the largest are kept.
    """

    def __init__(self, *, neighbours: int, alpha: float, beta: float) -> None:
        self._neighbours = neighbours
        self._alpha = alpha
        self._beta = beta

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        progress("fit", 0, 2)
        check_neighbours(self._neighbours, train.shape[1], "items", DEFAULT_NEIGHBOURS)
        votes = nearest(*_walk(train, self._alpha, self._beta), neighbours=self._neighbours)
        progress("fit", 1, 2)
        self._voting = Voting(train, votes)
        progress("fit", 2, 2)

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        return self._voting.score(users)


def _walk(
    train: csr_array, alpha: float, beta: float
) -> tuple[csr_array, NDArray[np.float32], NDArray[np.float32]]:
    """Steps from users to items, and what divides an item that is reached, and one set out from."""
    sizes = np.diff(train.indptr)
    # Half of a step over a user goes into each of the two items, so that their product has it.
    half = np.maximum(sizes, 1).astype(np.float32) ** np.float32(-alpha / 2)
    steps = csr_array((np.repeat(half, sizes), train.indices, train.indptr), shape=train.shape)
    popularity = np.bincount(train.indices, minlength=train.shape[1]).astype(np.float32)
    popularity = np.maximum(popularity, 1)
    return steps, popularity ** np.float32(beta), popularity ** np.float32(alpha)


def _near(train: csr_array, params: Mapping[str, ParamValue], most: int) -> Nearness:
    check_neighbours(most, train.shape[1], "items", DEFAULT_NEIGHBOURS)
    return Nearness(*_walk(train, float(params["alpha"]), float(params["beta"])), most=most)


def _voting(train: csr_array, near: Nearness, most: int) -> Callable[[int], Voting]:
    return lambda count: Voting(train, near.keep(count))


def build(params: Mapping[str, ParamValue]) -> RP3Beta:
    """An unfitted model with these parameters."""
    return RP3Beta(
        neighbours=int(params["neighbours"]),
        alpha=float(params["alpha"]),
        beta=float(params["beta"]),
    )


RP3BETA = Algorithm(
    id="rp3beta",
    title="RP3beta",
    summary=(
        "Walks from a user over an item and another user to a new item, and holds popular items "
        "back. A second or two of fitting; the graph model that studies of reproducibility found "
        "hard to beat."
    ),
    paper="Paudel, Christoffel, Newell, Bernstein (2017): Updatable, accurate, diverse, scalable",
    parameters=(
        Parameter(
            name="neighbours",
            default=DEFAULT_NEIGHBOURS,
            low=1,
            high=100_000,
            help="Items from which each item can be reached: those with the largest weights.",
            source=SEARCH,
        ),
        Parameter(
            name="alpha",
            default=0.5,
            low=0,
            high=2,
            help="Power of each step's chance: less evens out how much busy nodes spread.",
            source=SEARCH,
        ),
        Parameter(
            name="beta",
            default=0.4,
            low=0,
            high=2,
            help="Power of an item's number of users that divides its score; 0 holds none back.",
            source=SEARCH,
        ),
    ),
    build=build,
    sharing=share_counts(_near, _voting),
    random=False,
    paper_default={"alpha": 1.0},  # the paper tunes beta for each dataset, and so has none
)
